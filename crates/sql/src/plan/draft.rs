//! Drafts: queries before the access paths to their rows are chosen; the queries that `WITH` names.

use super::output::Item;
use super::row_lock::RowLocks;
use super::tree::{JoinKind, Recursion, Series, SetCall, SetOperation, SharedQuery};
use crate::aggregate::Grouping;
use crate::expression::window::WindowCall;
use crate::expression::{Expr, Scope, SortKey};
use crate::relation::Relation;
use crate::types::{SqlType, TypeSpec};
use crate::virtual_tables::ComputeRows;
use sqlparser::ast;
use std::ops::Range;
use std::sync::Arc;

/// A query before the access paths to its rows are chosen.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub from: Option<FromNode>,
    /// The name of its first table.
    pub table: String,
    /// The names of the columns of `from`.
    pub scope: Scope,
    pub condition: Option<Expr>,
    pub grouping: Option<Grouping>,
    pub having: Option<Expr>,
    /// Literals and parameters among them may have no type yet.
    pub items: Vec<Item>,
    pub sort: Vec<SortKey>,
    pub is_distinct: bool,
    pub distinct_on: Vec<Expr>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub with_ties: bool,
    pub has_subqueries: bool,
    pub locks: RowLocks,
}

/// A tree of joins in `FROM`, before the access paths are chosen.
#[derive(Debug)]
pub(crate) enum FromNode {
    /// One item, with the places of its columns in the whole row.
    Leaf(FromTable, Range<usize>),
    Join(Box<FromJoin>),
}

/// A join, before the access paths to its rows are chosen.
#[derive(Debug)]
pub(crate) struct FromJoin {
    pub left: FromNode,
    pub right: FromNode,
    pub kind: JoinKind,
    pub on: Option<Expr>,
}

/// An item of `FROM`, before the access path to its rows is chosen.
#[derive(Debug)]
pub(crate) enum FromTable {
    Relation(Box<Relation>),
    Virtual(&'static str, ComputeRows),
    Derived(Box<Draft>),
    /// A subquery, with the values that it reads of the rows before it.
    Lateral(Box<Draft>, Vec<Expr>),
    Shared(Arc<SharedQuery>),
    Series(Series),
    Rows(Vec<Vec<Expr>>),
    Sets(Box<SetsDraft>),
    Recursion(Box<Recursion>),
    /// The previous round's rows of the recursive query with this number.
    LastRound(usize),
    Expanded(Box<ExpandedDraft>),
    Windowed(Box<WindowedDraft>),
}

/// A part of `FROM`, with the scope of its columns.
pub(crate) type Planned = (FromNode, Scope);

/// A chain of set operations, before the access paths are chosen.
#[derive(Debug)]
pub(crate) struct SetsDraft {
    pub first: Draft,
    pub rest: Vec<(SetOperation, Draft)>,
    pub own_keys: Vec<(usize, SqlType)>,
}

/// A query with window functions, before the access paths are chosen.
#[derive(Debug)]
pub(crate) struct WindowedDraft {
    pub below: Draft,
    pub calls: Vec<WindowCall>,
}

/// A query with set-returning functions, before the access paths are chosen.
#[derive(Debug)]
pub(crate) struct ExpandedDraft {
    pub below: Draft,
    pub calls: Vec<SetCall>,
}

/// A query that `WITH` names.
#[derive(Debug)]
pub(crate) struct NamedQuery {
    pub name: String,
    pub alias: ast::TableAlias,
    pub kind: NamedKind,
    /// The number of named queries, and of outer queries, at its definition.
    pub named: usize,
    pub outer: usize,
}

/// The way in which a named query is run.
#[derive(Debug)]
pub(crate) enum NamedKind {
    /// Run once for the statement; its rows are kept.
    Shared(Arc<SharedQuery>),
    /// A part of the statement that writes, without `RETURNING`.
    Unreturned,
    /// Planned at each place that names it.
    Inlined(Box<ast::Query>),
    /// A recursive query, planned at each place that names it.
    Recursive(Box<ast::Cte>),
    /// The recursive query itself, in its step.
    LastRound(LastRound),
}

/// The previous round's rows, as the step of a recursive query reads them.
#[derive(Clone, Debug)]
pub(crate) struct LastRound {
    /// The query's number in the statement.
    pub number: usize,
    pub columns: Vec<(String, TypeSpec)>,
    /// The nesting depth of named queries at the step.
    pub naming: usize,
    /// The number of queries around the step.
    pub outer: usize,
}
