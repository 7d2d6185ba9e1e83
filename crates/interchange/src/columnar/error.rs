//! Errors of the Arrow and Parquet crates as errors of this crate. An error of the disk keeps its kind.

use crate::InterchangeError;
use ::parquet::errors::ParquetError;
use arrow_schema::ArrowError;
use std::io;

impl InterchangeError {
    /// The fault of a file of Arrow data; an error of its disk stays unchanged.
    pub(crate) fn of_arrow(format: crate::Format, error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                InterchangeError::Io(error)
            }
            error => InterchangeError::Damaged {
                format,
                reason: error.to_string(),
            },
        }
    }

    /// The same of a Parquet file.
    pub(crate) fn of_parquet(error: ParquetError) -> Self {
        let error = match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => return InterchangeError::Io(*error),
                Err(error) => ParquetError::External(error),
            },
            error => error,
        };
        InterchangeError::Damaged {
            format: crate::Format::Parquet,
            reason: error.to_string(),
        }
    }
}
