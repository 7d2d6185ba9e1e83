//! The floor as an experiment, and the floor of transactions on mapped memory.
//!
//! Bare loops and bare writes are the benchmark crate's ([`sardonyx_benchmark::floor`]); the verb `floor` measures all
//! of them. For transactions on mapped memory the comparison is an older recipe, built again ([`libxac::Recipe`]).
//! [`decomposition::decompose`] measures each of its steps, and of the steps that kernels offer since.

pub mod decomposition;
mod distribution;
mod fault_handler;
pub mod libxac;
mod mapping;
mod options;
mod write_tracking;

pub use distribution::Distribution;
pub use options::Options;
pub use sardonyx_benchmark::floor::*;

/// All figures of one run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Floor {
    /// One thread, nothing durable.
    pub bare_loop: BareLoop,
    /// Two threads, durable.
    pub bare_pipeline: BarePipeline,
    /// One durable write of 4 KiB at a time, in both states of the disk.
    pub sync_latency: SyncLatency,
    /// Durable writes of 1 MiB, one after the other.
    pub sequential_writes: SequentialWrites,
}

/// Measures everything, one after the other.
///
/// # Errors
/// [`FloorError`] if the bank cannot be built, memory or a thread is refused, or a file in the directory cannot be
/// created or written. The files are removed then, too.
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
}
