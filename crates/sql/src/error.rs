//! The error of a statement: one type for all of SQL, with the code that clients act upon (SQLSTATE) and the fields of
//! PostgreSQL's protocol.
//!
//! An error of the engine gets PostgreSQL's code; its text stays the engine's.

mod of_engine;
pub(crate) use of_engine::mixed_nulls;

use crate::path::{local, shown, split};
use crate::types::SqlType;
use sardonyx::schema::Value;
use sardonyx_base::memory::Exhausted;
use sardonyx_base::waiting::Reason;
use std::fmt::Display;
use std::ops::{Deref, DerefMut};

/// The codes in use, by their names in PostgreSQL's list.
pub mod code {
    macro_rules! codes {
        ($($name:ident = $code:literal;)*) => {$(
            #[doc = concat!("`", $code, "`")]
            pub const $name: &str = $code;
        )*};
    }
    codes! {
        PROTOCOL_VIOLATION = "08P01";
        FEATURE_NOT_SUPPORTED = "0A000";
        CARDINALITY_VIOLATION = "21000";
        DATA_EXCEPTION = "22000";
        STRING_TOO_LONG = "22001";
        OUT_OF_RANGE = "22003";
        INVALID_DATETIME = "22007";
        DATETIME_OVERFLOW = "22008";
        INVALID_TIME_ZONE = "22009";
        DIVISION_BY_ZERO = "22012";
        INVALID_BYTES = "22021";
        INVALID_PARAMETER_VALUE = "22023";
        INVALID_TEXT = "22P02";
        INVALID_BINARY = "22P03";
        BAD_COPY = "22P04";
        NULL_NOT_ALLOWED = "22004";
        INVALID_FRAME_OFFSET = "22013";
        INVALID_NTILE_ARGUMENT = "22014";
        INVALID_NTH_VALUE_ARGUMENT = "22016";
        NOT_NULL = "23502";
        FOREIGN_KEY = "23503";
        UNIQUE = "23505";
        CHECK = "23514";
        ACTIVE_TRANSACTION = "25001";
        READ_ONLY_TRANSACTION = "25006";
        NO_TRANSACTION = "25P01";
        FAILED_TRANSACTION = "25P02";
        INSUFFICIENT_PRIVILEGE = "42501";
        UNKNOWN_PREPARED_STATEMENT = "26000";
        DEPENDENT_OBJECTS = "2BP01";
        RAISED = "P0001";
        NO_SAVEPOINT = "3B001";
        UNKNOWN_SCHEMA = "3F000";
        NAME_TOO_LONG = "42622";
        SERIALIZATION_FAILURE = "40001";
        SYNTAX = "42601";
        AMBIGUOUS_COLUMN = "42702";
        UNKNOWN_COLUMN = "42703";
        INVALID_GRANT = "0LP01";
        UNKNOWN_OBJECT = "42704";
        DUPLICATE_OBJECT = "42710";
        DUPLICATE_COLUMN = "42701";
        INVALID_COLUMN_REFERENCE = "42P10";
        DATATYPE_MISMATCH = "42804";
        GROUPING = "42803";
        CANNOT_COERCE = "42846";
        INVALID_SAMPLE = "2202H";
        INVALID_SAMPLE_SEED = "2202G";
        UNKNOWN_DATABASE = "3D000";
        UNKNOWN_FUNCTION = "42883";
        UNKNOWN_TABLE = "42P01";
        INVALID_RECURSION = "42P19";
        COLLATION_MISMATCH = "42P21";
        INDETERMINATE_COLLATION = "42P22";
        UNKNOWN_PARAMETER = "42P02";
        DUPLICATE_PREPARED_STATEMENT = "42P05";
        DUPLICATE_TABLE = "42P07";
        DUPLICATE_SCHEMA = "42P06";
        INVALID_NAME = "42602";
        RESERVED_NAME = "42939";
        INDETERMINATE_TYPE = "42P18";
        WINDOWING = "42P20";
        WRONG_OBJECT_TYPE = "42809";
        INVALID_TABLE_DEFINITION = "42P16";
        INVALID_OBJECT_DEFINITION = "42P17";
        GENERATED_ALWAYS = "428C9";
        INVALID_FOREIGN_KEY = "42830";
        INSUFFICIENT_RESOURCES = "53000";
        DISK_FULL = "53100";
        OUT_OF_MEMORY = "53200";
        DEADLOCK = "40P01";
        PROGRAM_LIMIT = "54000";
        TOO_COMPLEX = "54001";
        NOT_IN_PREREQUISITE_STATE = "55000";
        LOCK_NOT_AVAILABLE = "55P03";
        CONFIGURATION_LIMIT = "53400";
        CONNECTION_FAILURE = "08006";
        QUERY_CANCELED = "57014";
        SHUTDOWN = "57P01";
        CANNOT_CONNECT_NOW = "57P03";
        IO_ERROR = "58030";
        INTERNAL = "XX000";
        DATA_CORRUPTED = "XX001";
    }
}

/// A violated constraint, as the engine knows it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Violation {
    /// A key exists already.
    Key {
        table: String,
        /// `None` for the primary key.
        index: Option<String>,
        values: Vec<Value>,
        /// The columns of an index to build, `None` for a hidden one: existing rows have one key.
        built_of: Option<Vec<Option<KeyName>>>,
    },
    /// A reference does not hold.
    Reference {
        table: String,
        name: String,
        values: Vec<Value>,
        /// True if the row to which others refer was to be deleted.
        is_referenced: bool,
    },
    /// A value is outside a domain: the numbers of the domain, and of its condition.
    Domain { domain: u32, check: u32 },
}

/// The reason for which a statement failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", .0.fields.message)]
pub struct SqlError(Box<Raised>);

/// An error on its way through the statements.
#[derive(Clone, Debug)]
struct Raised {
    fields: ErrorFields,
    /// The constraint whose detail [`crate::violations`] adds later.
    violation: Option<Violation>,
    /// The interruption that ended the statement.
    interrupted: Option<Reason>,
    /// True if its transaction was ended at a bound.
    is_end: bool,
    /// True if the changes are more than one transaction of the log may have.
    is_too_large: bool,
}

/// The fields of a [`SqlError`], as PostgreSQL's protocol has them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ErrorFields {
    /// SQLSTATE: five characters.
    pub code: &'static str,
    /// The message, one sentence.
    pub message: String,
    /// More of it.
    pub detail: Option<String>,
    /// Advice to the user.
    pub hint: Option<String>,
    /// The place in the statement's text: the number of the character, from 1.
    pub position: Option<usize>,
    /// The schema of the table.
    pub schema: Option<String>,
    /// Without its schema, in the field `t`.
    pub table: Option<String>,
    /// In the field `c`.
    pub column: Option<String>,
    /// In the field `n`.
    pub constraint: Option<String>,
    /// The part of the client's message that the error is about: a parameter, or a line and column of a copy.
    pub context: Option<String>,
}

impl Deref for SqlError {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.0.fields
    }
}

impl DerefMut for SqlError {
    fn deref_mut(&mut self) -> &mut ErrorFields {
        &mut self.0.fields
    }
}

/// The message of a prepared statement whose result has other types since its tables have changed.
pub(crate) const CHANGED_RESULT: &str = "cached plan must not change result type";

impl SqlError {
    /// The function of PostgreSQL that raises the error, if clients recognise it by that: ActiveRecord prepares a statement
    /// again.
    pub fn routine(&self) -> Option<&'static str> {
        (self.message == CHANGED_RESULT).then_some("RevalidateCachedQuery")
    }

    /// An error with a code and a sentence.
    #[cold]
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        SqlError(Box::new(Raised {
            fields: ErrorFields {
                code,
                message: message.into(),
                ..ErrorFields::default()
            },
            violation: None,
            interrupted: None,
            is_end: false,
            is_too_large: false,
        }))
    }

    /// The error of an unsupported feature: `0A000`.
    #[cold]
    pub(crate) fn unsupported(what: impl Display) -> Self {
        SqlError::new(code::FEATURE_NOT_SUPPORTED, format!("{what}"))
    }

    /// The error of a failed transaction, in which no statement runs before its end: `25P02`.
    #[cold]
    pub fn in_failed_transaction() -> Self {
        SqlError::new(
            code::FAILED_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
        )
    }

    /// The error of a transaction that is to write where all only read: `0A000`, as on a standby of PostgreSQL.
    #[cold]
    pub(crate) fn no_read_write() -> Self {
        SqlError::unsupported(
            "cannot set transaction read-write mode during recovery: this server follows the database and only reads it",
        )
    }

    /// The error of an ended statement: `57014`, `57P01` at the end of the server, `08006` at that of the connection.
    #[cold]
    pub fn interrupted(reason: Reason) -> Self {
        let (code, text) = match reason {
            Reason::Request => (
                code::QUERY_CANCELED,
                "canceling statement due to user request",
            ),
            Reason::Timeout => (
                code::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            ),
            Reason::Disconnected => (code::CONNECTION_FAILURE, "connection to client lost"),
            Reason::Shutdown => (
                code::SHUTDOWN,
                "terminating connection due to administrator command",
            ),
            Reason::Elsewhere => (code::INTERNAL, "a wait was ended that nobody repeats"),
            Reason::TooLong => (code::INTERNAL, "a long statement runs in no other way"),
        };
        let mut error = SqlError::new(code, text);
        error.0.interrupted = Some(reason);
        error
    }

    /// True if the statement's session is to end, or the server.
    pub fn ends_session(&self) -> bool {
        self.0.interrupted == Some(Reason::Shutdown)
    }

    /// The interruption that ended the statement, if this is its error.
    pub(crate) fn interruption(&self) -> Option<Reason> {
        self.0.interrupted
    }

    /// True if the statement walked over more rows than the stage tries.
    pub(crate) fn is_too_long(&self) -> bool {
        self.0.interrupted == Some(Reason::TooLong)
    }

    /// The error of a transaction that meets another one.
    #[cold]
    pub(crate) fn not_serializable() -> Self {
        let text = "could not serialize access due to concurrent update";
        SqlError::new(code::SERIALIZATION_FAILURE, text)
            .hint("The transaction might succeed if retried.")
    }

    /// True if the changes are more than one transaction of the log may have. A next content is made in several.
    pub(crate) fn is_too_large(&self) -> bool {
        self.0.is_too_large
    }

    /// The error of a transaction that was ended at a bound on memory, and may succeed when it is run again: `40001`.
    #[cold]
    pub(crate) fn ended(message: impl Into<String>) -> Self {
        let mut error = SqlError::new(code::SERIALIZATION_FAILURE, message);
        error.hint = Some("The transaction might succeed if retried.".into());
        error.0.is_end = true;
        error
    }

    /// True for an error of [`SqlError::ended`].
    pub(crate) fn is_end(&self) -> bool {
        self.0.is_end
    }

    /// True if the statement was ended from outside: by a request, a timeout, or the end of connection or server.
    pub(crate) fn is_interruption(&self) -> bool {
        let codes = [
            code::QUERY_CANCELED,
            code::CONNECTION_FAILURE,
            code::SHUTDOWN,
        ];
        codes.contains(&self.code)
    }

    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        SqlError::new(code::SYNTAX, message)
    }

    pub(crate) fn unknown_table(name: &str) -> Self {
        SqlError::new(
            code::UNKNOWN_TABLE,
            format!("relation \"{}\" does not exist", shown(name)),
        )
    }

    pub(crate) fn unknown_column(name: &str) -> Self {
        let text = format!("column \"{name}\" does not exist");
        SqlError::new(code::UNKNOWN_COLUMN, text).of_unknown_column(name)
    }

    /// With a hint if the column is one that PostgreSQL has in every table.
    #[must_use]
    pub(crate) fn of_unknown_column(self, name: &str) -> Self {
        match ["cmax", "cmin", "xmax", "xmin"].contains(&name) {
            true => self.hint(
                "This system column is not supported. The version of a row can be a column of its own that each UPDATE counts up.",
            ),
            false => self,
        }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub(crate) fn at(mut self, position: Option<usize>) -> Self {
        self.position = self.position.or(position);
        self
    }

    /// Adds the part of the client's message that the error is about, unless it has one.
    #[must_use]
    pub fn within(mut self, context: impl FnOnce() -> String) -> Self {
        self.context.get_or_insert_with(context);
        self
    }

    /// True if there was no memory, or no room within a bound.
    pub(crate) fn is_for_memory(&self) -> bool {
        [code::PROGRAM_LIMIT, code::OUT_OF_MEMORY].contains(&self.code)
    }

    /// True if it is about the engine, or a cancel request, and not about the statement.
    pub(crate) fn is_of_the_engine(&self) -> bool {
        let classes = ["53", "54", "57", "58", "XX"];
        self.0.is_end || classes.iter().any(|class| self.code.starts_with(class))
    }

    #[must_use]
    pub(crate) fn of_table(mut self, table: &str) -> Self {
        let (schema, table) = split(table);
        self.schema = Some(schema.to_string());
        self.table = Some(table.to_string());
        self
    }

    /// The error of a constraint, without its detail.
    #[must_use]
    fn of_violation(mut self, violation: Violation) -> Self {
        self.0.violation = Some(violation);
        self
    }

    /// The constraint whose detail is still missing.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.0.violation.as_ref()
    }

    pub(crate) fn take_violation(&mut self) -> Option<Violation> {
        self.0.violation.take()
    }

    /// The same, for an index of these columns built of existing rows.
    #[must_use]
    pub(crate) fn of_index_build(mut self, columns: Vec<Option<KeyName>>) -> Self {
        if let Some(Violation::Key { built_of, .. }) = &mut self.0.violation {
            *built_of = Some(columns);
        }
        self
    }

    #[must_use]
    pub(crate) fn of_column(mut self, column: &str) -> Self {
        self.column = Some(column.to_string());
        self
    }

    #[must_use]
    pub(crate) fn of_constraint(mut self, constraint: &str) -> Self {
        self.constraint = Some(constraint.to_string());
        self
    }
}

impl From<Exhausted> for SqlError {
    #[cold]
    fn from(error: Exhausted) -> Self {
        let hint = match error {
            Exhausted::Budget { .. } => {
                "Ask for fewer rows at a time; try again when other clients have read theirs."
            }
            Exhausted::Process => {
                "Delete rows, or give the server more memory (memory_max, or its cgroup's limit)."
            }
        };
        SqlError::new(code::OUT_OF_MEMORY, error.to_string()).hint(hint)
    }
}

/// The beginning of a text of a client, for a message.
pub(crate) fn shortened(text: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    let mut short: String = text.chars().take(CHARACTERS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// A text of a client.
///
/// # Errors
/// `22021` if it is not UTF-8.
pub fn as_text(bytes: &[u8]) -> Result<&str, SqlError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let rest = bytes.get(error.valid_up_to()..).unwrap_or_default();
        let shown = rest.iter().take(error.error_len().unwrap_or(rest.len()));
        let shown: Vec<String> = shown.map(|byte| format!("0x{byte:02x}")).collect();
        SqlError::new(
            code::INVALID_BYTES,
            format!(
                "invalid byte sequence for encoding \"UTF8\": {}",
                shown.join(" ")
            ),
        )
    })
}

/// The error of a text that is no value of a type.
#[cold]
pub(crate) fn invalid(kind: SqlType, text: &str) -> SqlError {
    SqlError::new(
        code::INVALID_TEXT,
        format!(
            "invalid input syntax for type {}: \"{}\"",
            kind.name(),
            shortened(text)
        ),
    )
}

/// The error of bytes that are no value of a type, with the reason.
#[cold]
pub(crate) fn malformed(why: impl Into<String>) -> SqlError {
    SqlError::new(code::INVALID_BINARY, "incorrect binary data format").detail(why)
}

/// The error of a null in a column that must have a value.
pub(crate) fn not_null(table: &str, column: &str) -> SqlError {
    SqlError::new(
        code::NOT_NULL,
        format!(
            "null value in column \"{column}\" of relation \"{}\" violates not-null constraint",
            local(table)
        ),
    )
    .of_table(table)
    .of_column(column)
}

/// A column of a key, as errors name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyName {
    pub name: String,
    pub kind: SqlType,
}
