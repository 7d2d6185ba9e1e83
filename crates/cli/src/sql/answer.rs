//! Answers of statements as texts, the same for both kinds of connection.

/// A part of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Rows(Rows),
    /// The statement's tag, such as `INSERT 0 1`.
    Done(String),
    /// The data of `COPY … TO STDOUT`.
    Copied(Vec<u8>),
    /// A message besides the result, such as a warning.
    Notice(String),
}

/// The rows of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    pub columns: Vec<Column>,
    /// A text for each column; `None` is null.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A column of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub name: String,
    pub kind: ColumnKind,
}

/// The kind of a column, as far as it changes how values are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    Number,
    Truth,
    /// A document: `json`.
    #[cfg_attr(
        not(any(feature = "shell", test)),
        expect(dead_code, reason = "only servers answer so")
    )]
    Json,
    Other,
}
