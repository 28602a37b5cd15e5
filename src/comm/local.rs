//! Ranks as threads of one process (placeholder filled by its own change).
