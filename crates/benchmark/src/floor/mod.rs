//! The floor: the rate of bare loops and bare writes on this machine, measured in the same run as the figure beside it.
//!
//! Machines differ and are shared, so a figure means little alone. Every benchmark also reports code with the least
//! possible work: the debit-credit transaction on plain arrays ([`bare_loop`]), the same with a log that is really
//! written ([`bare_pipeline`]), one durable write ([`sync_latency`]) and a stream of them ([`sequential_writes`]). The
//! ratio to these is comparable between machines.
//!
//! None of this is an engine: there is no recovery, no abort, no client. But a write that counts as durable is durable
//! (write-through, or an error).
//!
//! Files are created in the directory that the caller names and unlinked as soon as they are open. So the system
//! removes them however the process ends.
//!
//! ```no_run
//! use sardonyx_benchmark::floor::bare_loop;
//! use std::time::Duration;
//!
//! let bare_loop = bare_loop(1_000_000, Duration::from_secs(2))?;
//! println!("{:.0} ns a transaction", bare_loop.batched_nanoseconds);
//! # Ok::<(), sardonyx_benchmark::floor::FloorError>(())
//! ```

mod bank;
mod bare_loop;
mod durable;
mod error;
mod pipeline;
mod prefetch;
mod region;
mod ring_file;
mod spinner;

pub use bare_loop::{BareLoop, bare_loop};
pub use durable::{Face, Latency, SequentialWrites, SyncLatency, sequential_writes, sync_latency};
pub use error::FloorError;
pub use pipeline::{BarePipeline, bare_pipeline};
pub use spinner::Spinner;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let directory = tempfile::tempdir().unwrap().path().join("missing");
        let error = sync_latency(&directory, 1).unwrap_err().to_string();
        assert!(
            error.contains("missing") && error.contains("create"),
            "{error}"
        );
    }
}
