//! The log's files.
