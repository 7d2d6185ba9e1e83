//! The rows that `UPDATE` and `DELETE` change: those of a table that meet a condition, joined to `FROM` or `USING`.
//!
//! All rows are found before the first is changed, so that no change is found again. The table comes first in the row,
//! so its columns keep the places that they have in the table alone. A row that is joined to several others is changed
//! once, by the first match.

use super::draft::{FromNode, FromTable};
use super::from::plan_behind;
use super::join::plan_join;
use super::planning::Planning;
use super::scopes::scope_of;
use super::tree::Input;
use crate::claims::TableId;
use crate::error::SqlError;
use crate::expression::{Environment, Expr, Scope};
use crate::lock_modes::RowMode;
use crate::names::{name_of, qualified};
use crate::relation::Relation;
use crate::rows::{InputRow, Values};
use crate::source::Source;
use crate::values::equality_keys::key_of_row;
use sardonyx::schema::Value;
use sqlparser::ast::{self, Expr as Tree, TableFactor, TableWithJoins};
use std::collections::HashSet;

/// The rows of its table that a statement processes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Among<'k> {
    /// The rows that its plan finds.
    All,
    /// The rows with one of these keys; each key occurs once.
    Keys(&'k [Vec<Value>]),
}

/// A callback for each row to change.
pub(crate) type EachTarget<'e> = &'e mut dyn FnMut(&dyn InputRow) -> Result<(), SqlError>;

/// The tables of `UPDATE` or `DELETE`, before the condition is compiled.
#[derive(Debug)]
pub(crate) struct TargetDraft {
    pub relation: Relation,
    alias: String,
    /// The columns of the table, and of the tables joined to it.
    pub scope: Scope,
    pub(super) node: FromNode,
}

/// The rows to change.
#[derive(Debug)]
pub(crate) struct Target {
    /// The table's name in the statement.
    pub alias: String,
    /// The names of the table's columns, and of the columns joined to it.
    pub scope: Scope,
    /// The table's number.
    pub number: u16,
    /// The columns of the engine's primary key.
    pub key: Vec<usize>,
    /// The number of columns of a row, including the columns joined to it.
    pub width: usize,
    pub input: Input,
    /// The condition that is still tested on each row.
    pub filter: Option<Expr>,
    /// The mode in which rows are claimed.
    pub mode: RowMode,
}

/// The one table that a statement changes, and its alias.
fn one_table<'t>(
    table: &'t TableWithJoins,
    what: &str,
) -> Result<(&'t ast::ObjectName, Option<String>), SqlError> {
    crate::kept::table(&table.relation)?;
    match &table.relation {
        TableFactor::Table {
            sample: Some(_), ..
        } => Err(SqlError::syntax("syntax error at or near \"tablesample\"")),
        TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } if table.joins.is_empty() => Ok((name, alias.as_ref().map(|alias| name_of(&alias.name)))),
        _ => Err(SqlError::unsupported(format!(
            "{what} changes one table: others stand behind FROM in UPDATE, and behind USING in DELETE"
        ))),
    }
}

/// The columns of the engine's primary key.
pub(crate) fn key_columns(relation: &Relation) -> Vec<usize> {
    let key = relation.schema.primary.key.iter();
    key.map(|part| part.column).collect()
}

impl TargetDraft {
    /// Drafts the table that `what` changes, and the tables joined to it.
    ///
    /// # Errors
    /// Invalid SQL.
    pub fn new(
        planning: &mut Planning<'_>,
        what: &str,
        table: &TableWithJoins,
        others: &[TableWithJoins],
    ) -> Result<TargetDraft, SqlError> {
        let (name, alias) = one_table(table, what)?;
        let relation = planning.relation_to_change(name)?;
        // The name as written: a name with a point may be older than schemas.
        let plain = qualified(name)?.1;
        let alias = alias.unwrap_or(plain);
        let scope = Scope {
            tables: vec![scope_of(&relation, &alias)],
        };
        let places = 0..relation.schema.columns.len();
        let leaf = FromNode::Leaf(FromTable::Relation(Box::new(relation.clone())), places);
        let (node, scope) = plan_behind(planning, (leaf, scope), others)?;
        Ok(TargetDraft {
            relation,
            alias,
            scope,
            node,
        })
    }

    /// Chooses the access path for the rows that meet a condition.
    ///
    /// # Errors
    /// An invalid condition.
    pub fn finish(
        self,
        planning: &mut Planning<'_>,
        condition: Option<&Tree>,
    ) -> Result<Target, SqlError> {
        let mut compiler = planning.compiler(&self.scope);
        let condition = condition.map(|tree| compiler.condition(tree, "WHERE"));
        let condition = condition.transpose()?;
        let width = self.node.places().end;
        let (input, filter) = match self.node {
            FromNode::Leaf(table, _) => {
                let chosen = table.input(condition, None, false);
                (chosen.input, chosen.filter)
            }
            node => {
                let (join, rest) = plan_join(node, condition, false);
                (Input::Join(Box::new(join)), rest)
            }
        };
        Ok(Target {
            alias: self.alias,
            scope: self.scope,
            number: self.relation.number,
            key: key_columns(&self.relation),
            width,
            input,
            filter,
            mode: RowMode::Update,
        })
    }
}

impl Target {
    /// True if few rows are read.
    pub fn is_short(&self) -> bool {
        match &self.input {
            Input::Table(access) => access.is_short(),
            _ => false,
        }
    }

    /// Returns the key of a row.
    ///
    /// # Errors
    /// Read errors.
    pub fn key_of(&self, row: &dyn InputRow) -> Result<Vec<Value>, SqlError> {
        let mut key = Vec::with_capacity(self.key.len());
        for column in &self.key {
            key.push(row.value(*column)?.to_value());
        }
        Ok(key)
    }

    /// Claims a row that is to be changed, if the transaction may stay open.
    pub fn claim(
        &self,
        source: &dyn Source,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let claims = with.context.claims.as_ref();
        if let Some(claims) = claims.filter(|claims| claims.claims_changes()) {
            let key = key_of_row(&self.key_of(row)?);
            let table = TableId::of(source.definitions(), self.number);
            claims.changes(table, &key, self.mode);
        }
        Ok(())
    }

    /// Calls `each` with the rows, once for each row of the table.
    ///
    /// # Errors
    /// Errors of `each`; read and evaluation errors; `53200` if rows take too much memory.
    pub fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        among: Among<'_>,
        each: EachTarget<'_>,
    ) -> Result<(), SqlError> {
        if let Among::Keys(keys) = among {
            return self.walk_among(source, with, keys, each);
        }
        let mut memory = with.memory();
        let mut found: HashSet<Vec<u8>> = HashSet::new();
        let may_repeat = matches!(self.input, Input::Join(_));
        let mut changed = |row: &dyn InputRow| {
            if let Some(filter) = &self.filter
                && !filter.holds(row, with)?
            {
                return Ok(true);
            }
            if may_repeat {
                let bytes = key_of_row(&self.key_of(row)?);
                memory.take_bytes(bytes.len() + size_of::<Vec<u8>>())?;
                if !found.insert(bytes) {
                    return Ok(true);
                }
            }
            self.claim(source, row, with)?;
            each(row)?;
            Ok(true)
        };
        self.input.walk(source, with, &Values(&[]), &mut changed)
    }
}
