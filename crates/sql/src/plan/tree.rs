//! The plan of a query: where its rows come from, and what is computed of them. Other files make these trees of a draft,
//! run them and explain them.

use super::access::Access;
use super::output::Output;
use crate::aggregate::Grouping;
use crate::expression::window::WindowCall;
use crate::expression::{Expr, Scope, SortKey};
use crate::types::SqlType;
use crate::virtual_tables::ComputeRows;
use std::ops::Range;
use std::sync::Arc;

/// Where the rows come from.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a table is the input of most plans"
)]
pub(crate) enum Input {
    /// One row without columns.
    Nothing,
    Table(Access),
    /// The table of the catalogue with this name.
    Virtual(&'static str, ComputeRows),
    Join(Box<JoinPlan>),
    /// Rows that the statement says.
    Rows(Vec<Vec<Expr>>),
    /// Those of a query.
    Derived(Box<SelectPlan>),
    /// Those of a query for each row before it in `FROM`, with what it asks for of that.
    Lateral(Box<SelectPlan>, Vec<Expr>),
    /// Those of a query that is run once for the statement.
    Shared(Arc<SharedQuery>),
    Series(Series),
    Sets(Box<SetOperations>),
    Recursion(Box<Recursion>),
    /// The rows of the round before, of the recursive query of this number.
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
    /// Empty if rows come in order.
    pub sort: Vec<SortKey>,
    pub is_distinct: bool,
    /// `DISTINCT ON`: of the rows that are the same in these the first is given.
    pub distinct_on: Vec<Expr>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub has_subqueries: bool,
}

/// A query whose rows are kept, with its number in the statement.
#[derive(Debug)]
pub(crate) struct SharedQuery {
    pub number: usize,
    pub name: String,
    pub plan: SelectPlan,
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

/// One thing of `FROM`, with what is tested of its rows alone.
#[derive(Debug)]
pub(crate) struct Side {
    pub input: Input,
    pub filter: Option<Expr>,
    pub places: Range<usize>,
    /// The numbers of its columns that are read.
    pub columns: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct JoinStep {
    pub left: JoinNode,
    pub right: JoinNode,
    /// The places of the right side that are read.
    pub kept: Vec<usize>,
    /// Of an inner join whose sides were exchanged, the places of the left side that are read: if the right one takes too
    /// much memory the left one is kept instead.
    pub other: Option<Vec<usize>>,
    /// Of an inner join the way to the left side's rows by an index, for each row of the right one: instead of reading them
    /// all, if the right one has few rows.
    pub sought: Option<Box<Side>>,
    pub kind: JoinKind,
    /// Equal values: of the left side, and of the right one.
    pub keys: Vec<(Expr, Expr)>,
    /// What else is to hold of both.
    pub condition: Option<Expr>,
    /// True if the right side is read for each row of the left one.
    pub is_lateral: bool,
    /// How many rows are to be expected.
    pub expected: f64,
}

/// How two sides are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JoinKind {
    Inner,
    /// Rows of the left side are kept that have no other.
    Left,
    Right,
    Full,
}

/// Rows that functions give, side by side: with nulls where one has ended before another.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// The function's name.
    pub name: String,
    pub of: Vec<SeriesOf>,
    /// True if the number of each row stands behind its values.
    pub is_numbered: bool,
}

/// Values that a function gives, each in a row.
#[derive(Clone, Debug)]
pub(crate) enum SeriesOf {
    /// `generate_series`: whole numbers from one to another, by steps.
    Numbers { from: Expr, to: Expr, step: Expr },
    /// The elements of an array, and their type.
    Elements(Expr, SqlType),
    /// One value.
    Value(Expr),
}

/// A query some of whose columns are arrays whose elements become rows.
#[derive(Debug)]
pub(crate) struct Expansion {
    pub plan: SelectPlan,
    /// Of each column the type of its elements, if it is one of those.
    pub elements: Vec<Option<SqlType>>,
}

/// A query that reads its own rows.
#[derive(Debug)]
pub(crate) struct Recursion {
    /// Its number in the statement, by which the step finds the rows of the round before.
    pub number: usize,
    pub first: SelectPlan,
    pub step: SelectPlan,
    /// Of columns whose values are told apart by keys of their own.
    pub own_keys: Vec<(usize, SqlType)>,
    /// True if rows that were there already come again.
    pub is_all: bool,
}

/// The rows of the first query, and what becomes of them with those of each other.
#[derive(Debug)]
pub(crate) struct SetOperations {
    pub first: SelectPlan,
    pub rest: Vec<(SetOperation, SelectPlan)>,
    /// The columns that are not compared by their texts, but without blanks at their ends, or by keys of their own.
    pub own_keys: Vec<(usize, SqlType)>,
}

/// How rows are put together.
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

/// A query whose rows get the values of window functions behind them.
#[derive(Debug)]
pub(crate) struct Windowed {
    pub plan: SelectPlan,
    pub calls: Vec<WindowCall>,
    pub sorts: Vec<WindowSort>,
}

/// Rows in an order, with the window functions that are computed of them in it.
#[derive(Debug)]
pub(crate) struct WindowSort {
    /// First those of the partition.
    pub keys: Vec<SortKey>,
    /// How many they are.
    pub partition: usize,
    /// By their numbers.
    pub calls: Vec<usize>,
}
