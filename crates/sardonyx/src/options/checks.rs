//! Options of tables that cannot work are refused by name, before anything is opened.

use super::Options;
use sardonyx_serial::Shape;
use sardonyx_storage::engine::OpenError;

/// Threads of one stage, at most: there are never so many processors for it.
const STAGE_THREADS_MAX: usize = 256;

/// Bytes that open transactions keep together, at least: with fewer one could not change a row of usual length.
const OPEN_BYTES_LEAST: usize = 1 << 16;

impl Options {
    /// Bounds at which no transaction could do anything are refused.
    pub(super) fn check_open_transactions(&self) -> Result<(), OpenError> {
        let [number, bytes, rows] = self.open_transactions;
        let (option, value, requirement) = match (number, bytes) {
            (0, _) => ("open_transactions_max", 0, "at least 1"),
            _ if rows == 0 => ("open_transaction_rows_max", 0, "at least 1"),
            (_, 0..OPEN_BYTES_LEAST) => (
                "open_transactions_bytes_max",
                bytes as u64,
                "at least 65536",
            ),
            _ => return Ok(()),
        };
        Err(OpenError::Option {
            option,
            value,
            requirement,
        })
    }

    /// A thread that the system cannot start would be noticed in the middle of opening.
    pub(super) fn check_shape(&self) -> Result<(), OpenError> {
        let Shape::Pipelined {
            input_threads,
            output_threads,
        } = self.shape
        else {
            return Ok(());
        };
        let threads = [
            ("input_threads", input_threads),
            ("output_threads", output_threads),
        ];
        match threads
            .into_iter()
            .find(|(_, threads)| *threads > STAGE_THREADS_MAX)
        {
            None => Ok(()),
            Some((option, threads)) => Err(OpenError::Option {
                option,
                value: threads as u64,
                requirement: "at most 256",
            }),
        }
    }
}
