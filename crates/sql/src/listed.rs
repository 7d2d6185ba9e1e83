//! The prepared statements and the cursors of a session, as its catalogue lists them.

use crate::types::SqlType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A cursor of a session, which its server keeps.
#[derive(Clone, Debug)]
pub struct ListedCursor {
    /// In lower case, unless it was quoted.
    pub name: String,
    /// The text of its query.
    pub statement: Arc<str>,
    /// True for `WITH HOLD`.
    pub is_holdable: bool,
    /// True for `SCROLL`.
    pub is_scrollable: bool,
    /// When it was declared, in microseconds since 1970.
    pub created: i64,
}

/// A prepared statement with a name.
#[derive(Clone, Debug)]
pub(crate) struct ListedStatement {
    pub statement: Arc<str>,
    /// When it was prepared, in microseconds since 1970.
    pub prepared: i64,
    pub parameters: Vec<SqlType>,
    /// True for `PREPARE`; false for the protocol.
    pub of_sql: bool,
}

/// The open statements and cursors of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed {
    pub statements: BTreeMap<String, ListedStatement>,
    pub cursors: Vec<ListedCursor>,
}
