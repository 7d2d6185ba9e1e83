//! What a statement answers, as a shell shows it: texts, whoever ran it.

/// What came back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Rows.
    Rows(Rows),
    /// What was done, such as `INSERT 0 1`.
    Done(String),
    /// What `COPY … TO STDOUT` sends.
    Copied(Vec<u8>),
    /// Something that is told besides, such as a warning.
    Notice(String),
}

/// The rows of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    /// What they are.
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

/// What a column has, as far as that changes how it is shown.
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
