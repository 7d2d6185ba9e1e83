//! Data structures in plain memory.
