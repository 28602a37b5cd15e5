//! A file library for the tests of PIO.

pub(crate) mod fake;
