//! The floor: what bare loops reach on this machine, measured in the same run as whatever is
//! compared.
//!
//! Machines differ and are shared, so a figure means little alone. Beside every benchmark stand the
//! figures of code that does the least one could do: the debit-credit transaction on plain arrays
//! ([`bare_loop`]), the same with a log that is really written ([`bare_pipeline`]), one durable
//! write ([`sync_latency`]) and a stream of them ([`sequential_writes`]). The ratio to these
//! carries from machine to machine.
//!
//! For transactions on mapped memory the comparison is an older one's recipe, built again
//! ([`libxac::Recipe`]), and what each of its steps, and of the steps that kernels offer since,
//! costs by itself ([`decomposition::decompose`]).
//!
//! None of this is an engine: there is no recovery, no abort, no client. What it claims to have
//! written durably, it has (write-through, or an error).
//!
//! Files are made in the directory that the caller names and are unlinked as soon as they are open,
//! so they are gone at the end whatever happens.
//!
//! ```no_run
//! use sardonyx_lab::floor::bare_loop;
//! use std::time::Duration;
//!
//! let bare_loop = bare_loop(1_000_000, Duration::from_secs(2))?;
//! println!("{:.0} ns a transaction", bare_loop.batched_nanoseconds);
//! # Ok::<(), sardonyx_lab::floor::FloorError>(())
//! ```

mod bank;
mod bare_loop;
pub mod decomposition;
mod distribution;
mod durable;
mod error;
mod fault_handler;
pub mod libxac;
mod mapping;
mod options;
mod pipeline;
mod prefetch;
mod region;
mod ring_file;
mod spinner;
mod write_tracking;

pub use bare_loop::{BareLoop, bare_loop};
pub use distribution::Distribution;
pub use durable::{Face, Latency, SequentialWrites, SyncLatency, sequential_writes, sync_latency};
pub use error::FloorError;
pub use options::Options;
pub use pipeline::{BarePipeline, bare_pipeline};
pub use spinner::Spinner;

/// All figures of one run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Floor {
    /// One thread, nothing durable.
    pub bare_loop: BareLoop,
    /// Two threads, durable.
    pub bare_pipeline: BarePipeline,
    /// One durable write of 4 KiB at a time, in both faces of the disk.
    pub sync_latency: SyncLatency,
    /// Durable writes of 1 MiB, one after the other.
    pub sequential_writes: SequentialWrites,
}

/// Measures everything, one after the other.
///
/// # Errors
/// [`FloorError`] if the bank cannot be built, if memory or a thread is refused, or if a file in
/// the directory cannot be made or written; the files are gone then too.
pub fn measure(options: &Options) -> Result<Floor, FloorError> {
    Ok(Floor {
        bare_loop: bare_loop(options.accounts, options.time())?,
        bare_pipeline: bare_pipeline(options.accounts, options.time(), &options.directory)?,
        sync_latency: sync_latency(&options.directory, options.writes)?,
        sequential_writes: sequential_writes(&options.directory, options.time())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_leaves_no_file_and_serializes() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            directory: directory.path().to_path_buf(),
            ..crate::experiment::options("--accounts 1000 --seconds 0 --writes 3")
        };
        let floor = measure(&options).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let json = serde_json::to_value(&floor).unwrap();
        for figure in [
            "/bare_loop/batched_nanoseconds",
            "/bare_pipeline/transactions_per_second",
            "/sync_latency/idle/median_microseconds",
            "/sync_latency/busy/p99_microseconds",
            "/sequential_writes/gigabytes_per_second",
        ] {
            assert!(
                json.pointer(figure).unwrap().as_f64().unwrap() > 0.0,
                "{figure} in {json}"
            );
        }
    }

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
