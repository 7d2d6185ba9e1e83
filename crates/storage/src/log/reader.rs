//! Reading the log back, and telling its end from corruption.
