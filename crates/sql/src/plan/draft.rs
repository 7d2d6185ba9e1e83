//! Queries before the ways to their rows are chosen, and the queries that `WITH` names.

use super::output::Item;
use super::tree::{Expansion, JoinKind, Recursion, Series, SetOperation, SharedQuery};
use crate::aggregate::Grouping;
use crate::expression::window::WindowCall;
use crate::expression::{Expr, Scope, SortKey};
use crate::relation::Relation;
use crate::types::{SqlType, TypeSpec};
use crate::virtual_tables::ComputeRows;
use sqlparser::ast;
use std::ops::Range;
use std::sync::Arc;

/// A query before the ways to its rows are chosen.
#[derive(Debug)]
pub(crate) struct Draft {
    pub from: Option<FromNode>,
    /// The name of its first table.
    pub table: String,
    /// The names of the columns of `from`.
    pub scope: Scope,
    pub condition: Option<Expr>,
    pub grouping: Option<Grouping>,
    pub having: Option<Expr>,
    /// A literal or a parameter among them may have no type yet.
    pub items: Vec<Item>,
    pub sort: Vec<SortKey>,
    pub is_distinct: bool,
    pub distinct_on: Vec<Expr>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub has_subqueries: bool,
}

/// What `FROM` says, before the ways to the rows are chosen.
#[derive(Debug)]
pub(crate) enum FromNode {
    /// One thing, with its columns' places in the whole row.
    Leaf(FromTable, Range<usize>),
    Join(Box<FromJoin>),
}

/// A join, before the ways to its rows are chosen.
#[derive(Debug)]
pub(crate) struct FromJoin {
    pub left: FromNode,
    pub right: FromNode,
    pub kind: JoinKind,
    pub on: Option<Expr>,
}

/// What stands in `FROM`, before the ways to its rows are chosen.
#[derive(Debug)]
pub(crate) enum FromTable {
    Relation(Box<Relation>),
    Virtual(&'static str, ComputeRows),
    Derived(Box<Draft>),
    /// A query, with what it asks for of the rows before it.
    Lateral(Box<Draft>, Vec<Expr>),
    Shared(Arc<SharedQuery>),
    Series(Series),
    Rows(Vec<Vec<Expr>>),
    Sets(Box<SetsDraft>),
    Recursion(Box<Recursion>),
    /// The rows of the round before, of the recursive query of this number.
    LastRound(usize),
    Expanded(Box<Expansion>),
    Windowed(Box<WindowedDraft>),
}

/// A part of `FROM`, with the scope of its columns.
pub(crate) type Planned = (FromNode, Scope);

/// Queries whose rows are put together, before the ways to them are chosen.
#[derive(Debug)]
pub(crate) struct SetsDraft {
    pub first: Draft,
    pub rest: Vec<(SetOperation, Draft)>,
    pub own_keys: Vec<(usize, SqlType)>,
}

/// The same before the ways to its rows are chosen.
#[derive(Debug)]
pub(crate) struct WindowedDraft {
    pub below: Draft,
    pub calls: Vec<WindowCall>,
}

/// A query that `WITH` names.
#[derive(Debug)]
pub(crate) struct NamedQuery {
    pub name: String,
    pub alias: ast::TableAlias,
    pub kind: NamedKind,
    /// How many queries were named, and how many were around it, where it stands.
    pub named: usize,
    pub outer: usize,
}

/// How a query that is named is run.
#[derive(Debug)]
pub(crate) enum NamedKind {
    /// Once for the statement, and its rows are kept.
    Shared(Arc<SharedQuery>),
    /// Planned at each place that names it.
    Inlined(Box<ast::Query>),
    /// The same of one that names itself.
    Recursive(Box<ast::Cte>),
    /// The recursive query itself, in its step.
    LastRound(LastRound),
}

/// The rows of the round before, as the step of a recursive query sees them.
#[derive(Clone, Debug)]
pub(crate) struct LastRound {
    /// The query's number in the statement.
    pub number: usize,
    pub columns: Vec<(String, TypeSpec)>,
    /// How many queries were being named where the step stands.
    pub naming: usize,
    /// How many queries are around the step.
    pub outer: usize,
}
