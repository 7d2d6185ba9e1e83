//! The plan of a query: the source of its rows and the expressions computed from them. Other files build these trees
//! from drafts, run them and explain them.

use super::access::Access;
use super::output::Output;
use super::row_lock::RowLock;
use crate::aggregate::Grouping;
use crate::column::ResultColumn;
use crate::expression::window::WindowCall;
use crate::expression::{Expr, Scope, SortKey, Subquery};
use crate::types::{CompositeType, SqlType};
use crate::virtual_tables::ComputeRows;
use std::ops::Range;
use std::sync::Arc;

/// The source of a query's rows.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a table is the input of most plans"
)]
pub(crate) enum Input {
    /// One row without columns.
    Nothing,
    Table(Access),
    /// The catalogue's table of this name.
    Virtual(&'static str, ComputeRows),
    Join(Box<JoinPlan>),
    /// The rows of `VALUES`.
    Rows(Vec<Vec<Expr>>),
    /// The rows of a subquery.
    Derived(Box<SelectPlan>),
    /// The rows of a subquery, run for each row before it in `FROM`; the expressions are the values that it reads of
    /// that row.
    Lateral(Box<SelectPlan>, Vec<Expr>),
    /// The rows of a query that runs once for the statement.
    Shared(Arc<SharedQuery>),
    Series(Series),
    Sets(Box<SetOperations>),
    Recursion(Box<Recursion>),
    /// The previous round's rows of the recursive query with this number.
    LastRound(usize),
    Expanded(Box<Expansion>),
    Windowed(Box<Windowed>),
}

/// A compiled `SELECT`.
#[derive(Debug)]
pub(crate) struct SelectPlan {
    pub input: Input,
    pub table: String,
    /// The names of its columns.
    pub scope: Scope,
    pub filter: Option<Expr>,
    pub grouping: Option<Grouping>,
    pub having: Option<Expr>,
    pub output: Output,
    /// Empty if the input already has the order.
    pub sort: Vec<SortKey>,
    pub is_distinct: bool,
    /// `DISTINCT ON`: only the first row of those with equal values of these is returned.
    pub distinct_on: Vec<Expr>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    /// `WITH TIES`: rows that are equal in order to the last one are returned, too.
    pub with_ties: bool,
    pub has_subqueries: bool,
    /// The tables whose rows it locks.
    pub locks: Vec<RowLock>,
}

/// A query whose rows are kept, with its number in the statement.
#[derive(Debug)]
pub(crate) struct SharedQuery {
    pub number: usize,
    pub name: String,
    pub columns: Arc<[ResultColumn]>,
    /// `None` if the rows are those of `RETURNING`, of a part of the statement that has run before.
    pub plan: Option<SelectPlan>,
}

/// A join, compiled.
#[derive(Debug)]
pub(crate) struct JoinPlan {
    pub root: JoinNode,
    pub width: usize,
}

#[derive(Debug)]
pub(crate) enum JoinNode {
    Side(Box<Side>),
    Join(Box<JoinStep>),
}

/// One item of `FROM`, with the conditions on its rows alone.
#[derive(Debug)]
pub(crate) struct Side {
    pub input: Input,
    pub filter: Option<Expr>,
    pub places: Range<usize>,
    /// The numbers of the columns that are read.
    pub columns: Vec<usize>,
    /// The number behind the columns whose place is true for each row, which outer joins ask for.
    pub presence: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct JoinStep {
    pub left: JoinNode,
    pub right: JoinNode,
    /// The places of the right side's columns that are read.
    pub kept: Vec<usize>,
    /// The places of the left side's columns that are read, for an inner join whose sides were exchanged. If the right
    /// side takes too much memory, the left one is kept instead.
    pub other: Option<Vec<usize>>,
    /// An inner join's access to the left side's rows by an index, for each row of the right side. It replaces the full
    /// read if the right side has few rows.
    pub sought: Option<Box<Side>>,
    pub kind: JoinKind,
    /// Expressions that must be equal: one of the left side, one of the right side.
    pub keys: Vec<(Expr, Expr)>,
    /// The remaining condition on both sides.
    pub condition: Option<Expr>,
    /// True if the right side is read for each row of the left one.
    pub is_lateral: bool,
    /// The estimated number of rows.
    pub expected: f64,
    /// True if it is based on the numbers of values of unique columns, and else a guess.
    pub is_counted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JoinKind {
    Inner,
    /// Keeps unmatched rows of the left side.
    Left,
    Right,
    Full,
}

/// Rows of set-returning functions side by side; a function that ends early is continued with nulls.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub name: String,
    pub of: Vec<SeriesOf>,
    /// True for `WITH ORDINALITY`: each row's number follows its values.
    pub is_numbered: bool,
}

/// A function's values: one in each row, or the columns of a row.
#[derive(Clone, Debug)]
pub(crate) enum SeriesOf {
    /// `generate_series`: integers from one to another, by steps.
    Numbers { from: Expr, to: Expr, step: Expr },
    /// The elements of an array, and their type.
    Elements(Expr, SqlType),
    /// The elements of an array of rows, whose fields are the columns.
    Rows(Expr, CompositeType),
    /// The value of a scalar function.
    Value(Expr),
    /// The rows of a function of a user.
    Routine(Box<Subquery>),
}

/// A query whose rows are extended by the values of set-returning functions.
#[derive(Debug)]
pub(crate) struct Expansion {
    pub plan: SelectPlan,
    pub calls: Vec<SetCall>,
}

/// A set-returning function, called for each row of a query.
#[derive(Debug)]
pub(crate) struct SetCall {
    pub of: SeriesOf,
    /// Calls of one level run side by side, in the rows of the level before.
    pub level: usize,
}

/// A recursive query.
#[derive(Debug)]
pub(crate) struct Recursion {
    /// The query's number in the statement, by which the step finds the previous round's rows.
    pub number: usize,
    pub first: SelectPlan,
    pub step: SelectPlan,
    /// The columns that are compared by keys of their own, with their types.
    pub own_keys: Vec<(usize, SqlType)>,
    /// True for `UNION ALL`: rows that were returned before are returned again.
    pub is_all: bool,
}

/// The rows of the first query, and the set operations applied to them in order.
#[derive(Debug)]
pub(crate) struct SetOperations {
    pub first: SelectPlan,
    pub rest: Vec<(SetOperation, SelectPlan)>,
    /// The columns that are not compared by their texts, but without trailing blanks or by keys of their own.
    pub own_keys: Vec<(usize, SqlType)>,
}

/// The kind of a set operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SetOperation {
    pub operator: Operator,
    pub is_all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Union,
    Intersect,
    Except,
}

/// A query whose rows are extended by the values of window functions.
#[derive(Debug)]
pub(crate) struct Windowed {
    pub plan: SelectPlan,
    pub calls: Vec<WindowCall>,
    pub sorts: Vec<WindowSort>,
}

/// A sort order, with the window functions that are computed in that order.
#[derive(Debug)]
pub(crate) struct WindowSort {
    /// The keys of the partition come first.
    pub keys: Vec<SortKey>,
    /// The number of partition keys.
    pub partition: usize,
    /// The numbers of the window functions.
    pub calls: Vec<usize>,
}
