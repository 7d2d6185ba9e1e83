//! Traces in both forms: written and read again, and damaged.

mod trace_forms;
