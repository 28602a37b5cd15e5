//! Maps as text files.
