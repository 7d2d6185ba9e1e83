//! Steps of a session, and their outcomes.

use crate::column::ResultColumn;
use crate::copy::options::CopyFormat;
use crate::error::SqlError;
use crate::prepared::Prepared;
use crate::rows::Table;
use crate::stream::{SnapshotPortions, SnapshotStream};
use crate::values::zones::SessionZone;
use sardonyx::schema::Value;
use sardonyx_base::memory::Share;
use std::fmt;
use std::sync::Arc;

/// The state of a session's transaction, as the protocol writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionStatus {
    /// In no transaction: `I`.
    Idle,
    /// In one: `T`.
    Open,
    /// In one that failed: `E`.
    Failed,
}

impl TransactionStatus {
    /// The letter of PostgreSQL's protocol.
    pub fn letter(self) -> u8 {
        match self {
            TransactionStatus::Idle => b'I',
            TransactionStatus::Open => b'T',
            TransactionStatus::Failed => b'E',
        }
    }
}

/// A step of a flight: a client sends the steps of a flight together.
#[derive(Debug)]
pub enum Step {
    /// Run a statement.
    Execute {
        /// The statement to run.
        statement: Arc<Prepared>,
        /// The values of its parameters, each of its parameter's type.
        parameters: Vec<Value>,
        /// The most rows that are sent at once; 0 for all.
        rows_max: u64,
    },
    /// Run `COPY … FROM STDIN` with the client's data.
    Copy {
        /// The statement to run.
        statement: Arc<Prepared>,
        /// The client's data, all of it.
        data: CopyData,
    },
    /// Nothing: the sender of the flight found an error here, such as in a message. It counts as a failed statement.
    Fail(SqlError),
    /// The end of a unit of work: errors skip until here, and an implicit transaction ends here.
    Sync,
}

/// The data that a client sent for `COPY … FROM STDIN`, or gets of `COPY … TO STDOUT`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CopyData(pub Vec<u8>);

impl CopyData {
    /// Divides the data into the messages of the protocol: one a line or a row, and one for the end. A row has
    /// `columns` values.
    pub fn pieces(&self, format: CopyFormat, columns: usize) -> Vec<&[u8]> {
        match format {
            CopyFormat::Binary => crate::copy::binary::pieces(&self.0, columns),
            CopyFormat::Text | CopyFormat::Csv => {
                self.0.split_inclusive(|&byte| byte == b'\n').collect()
            }
        }
    }
}

/// The answer to a step.
#[derive(Debug)]
pub enum Outcome {
    /// The step succeeded, and this is its end.
    Done(Complete),
    /// It failed; all steps to the next [`Step::Sync`] are skipped. For a [`Step::Sync`]: steps of several flights
    /// before it could not be committed.
    Failed(SqlError),
    /// It did not run, since one before it failed.
    Skipped,
    /// For [`Step::Sync`]: the state of the session's transaction.
    Synced(TransactionStatus),
}

/// The result of a statement.
#[derive(Debug)]
pub struct Complete {
    /// The protocol's name of it: `INSERT 0 1`. If more rows follow in a stream, it counts the rows here.
    pub tag: Tag,
    /// The rows, if the statement gives rows.
    pub rows: Option<Rows>,
    /// Warnings and notices for the client.
    pub notices: Vec<Notice>,
    /// The data of `COPY … TO STDOUT`.
    pub copy_out: Option<Box<CopyData>>,
    /// The memory of the rows and the data: keep it as long as them.
    pub memory: Option<Share>,
}

impl Complete {
    pub(crate) fn of(tag: Tag) -> Complete {
        Complete {
            tag,
            rows: None,
            notices: Vec::new(),
            copy_out: None,
            memory: None,
        }
    }

    pub(crate) fn with_notice(mut self, notice: Option<Notice>) -> Complete {
        self.notices.extend(notice);
        self
    }
}

/// Rows of a result.
#[derive(Debug)]
pub struct Rows {
    /// Row after row, `width` values each.
    pub values: Vec<Value>,
    /// The number of values of a row. It may be 0.
    pub width: usize,
    /// Counts the rows here, without the stream's.
    pub count: u64,
    /// The names and types of the values.
    pub columns: Arc<[ResultColumn]>,
    /// The stream of further rows, if these are not all.
    pub more: Option<RowStream>,
    /// The time zone in which moments are shown; UTC if there is none.
    pub zone: Option<Box<SessionZone>>,
}

impl Rows {
    pub(crate) fn all(table: Table, columns: Arc<[ResultColumn]>) -> Rows {
        Rows {
            values: table.values,
            width: table.width,
            count: table.rows,
            columns,
            more: None,
            zone: None,
        }
    }
}

/// Further rows of a result, to be taken in portions.
///
/// Rows of a snapshot are read as they are taken. The snapshot is kept meanwhile, up to the engine's bound on memory
/// for snapshots.
#[derive(Debug)]
pub struct RowStream(Rest);

#[derive(Debug)]
enum Rest {
    /// In memory.
    Held {
        rest: std::vec::IntoIter<Value>,
        width: usize,
        rows: u64,
    },
    Snapshot(Box<SnapshotPortions>),
}

impl RowStream {
    pub(crate) fn held(values: Vec<Value>, width: usize, rows: u64) -> RowStream {
        RowStream(Rest::Held {
            rest: values.into_iter(),
            width,
            rows,
        })
    }

    pub(crate) fn of_snapshot(stream: SnapshotStream, width: usize) -> RowStream {
        RowStream(Rest::Snapshot(Box::new(SnapshotPortions::of(
            stream, width,
        ))))
    }

    /// Waits until the next rows can be taken at once, if another thread computes them.
    pub async fn ready(&mut self) {
        match &mut self.0 {
            Rest::Held { .. } => {}
            Rest::Snapshot(stream) => stream.ready().await,
        }
    }

    /// Adds the next rows, at most `most` (0: all), to `out`. Returns their number, and true if there may be more.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn next(&mut self, most: u64, out: &mut Vec<Value>) -> Result<(u64, bool), SqlError> {
        let most = if most == 0 { u64::MAX } else { most };
        match &mut self.0 {
            Rest::Held { rest, width, rows } => {
                let taken = most.min(*rows);
                let values = usize::try_from(taken).unwrap_or(usize::MAX);
                out.extend(rest.by_ref().take(values.saturating_mul(*width)));
                *rows -= taken;
                Ok((taken, *rows > 0))
            }
            Rest::Snapshot(stream) => stream.next(most, out),
        }
    }
}

/// The protocol's name of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag {
    /// `INSERT`, `CREATE TABLE`, …
    pub word: &'static str,
    /// The number of rows, if the statement counts them.
    pub rows: Option<u64>,
}

impl Tag {
    pub(crate) fn plain(word: &'static str) -> Tag {
        Tag { word, rows: None }
    }

    pub(crate) fn rows(word: &'static str, rows: u64) -> Tag {
        Tag {
            word,
            rows: Some(rows),
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rows {
            None => f.write_str(self.word),
            // The number of a row, which none has.
            Some(rows) if self.word == "INSERT" => write!(f, "INSERT 0 {rows}"),
            Some(rows) => write!(f, "{} {rows}", self.word),
        }
    }
}

/// A message for the client besides a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// `WARNING`, `NOTICE`, …
    pub severity: &'static str,
    /// SQLSTATE.
    pub code: &'static str,
    /// The sentence.
    pub message: String,
}

impl Notice {
    pub(crate) fn warning(code: &'static str, message: &str) -> Notice {
        Notice {
            severity: "WARNING",
            code,
            message: message.to_string(),
        }
    }

    pub(crate) fn note(code: &'static str, message: String) -> Notice {
        Notice {
            severity: "NOTICE",
            code,
            message,
        }
    }
}
