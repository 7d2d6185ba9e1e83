//! Transactions on plain memory.
