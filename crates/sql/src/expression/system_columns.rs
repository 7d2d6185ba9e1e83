//! The columns that every table has without declaring them: `ctid` and `tableoid`.
//!
//! The engine has no places of rows that a statement could name. A row's `ctid` is a text of its primary key, which tells the rows
//! of a table from each other as PostgreSQL's does. A table without a key has a hidden one.

use super::{Case, Expr, ScopeColumn, Typed};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use std::sync::OnceLock;

/// These columns of a table of a scope. They are made when a statement first asks for a name that no column has.
#[derive(Clone, Debug, Default)]
pub(crate) struct SystemColumns {
    /// The places and types of the engine's primary key; none if the rows are not those of a table.
    key: Vec<(usize, TypeSpec)>,
    table: u32,
    /// Makes the text of a row. Rows of a table of the catalogue are computed, and have no `ctid`.
    text: Option<fn(Vec<Typed>) -> Expr>,
    made: OnceLock<Vec<ScopeColumn>>,
}

impl SystemColumns {
    /// The system columns of a table with this number and key, and the maker of a row's text.
    pub fn of(
        table: u32,
        key: Vec<(usize, TypeSpec)>,
        text: fn(Vec<Typed>) -> Expr,
    ) -> SystemColumns {
        SystemColumns {
            key,
            table,
            text: Some(text),
            made: OnceLock::new(),
        }
    }

    /// The system columns of a table of the catalogue, whose first column is never null.
    pub fn of_catalogue(table: u32) -> SystemColumns {
        SystemColumns {
            key: vec![(0, TypeSpec::plain(SqlType::Oid))],
            table,
            ..SystemColumns::default()
        }
    }

    /// Moves the places of the key.
    pub fn shift(&mut self, start: usize) {
        self.key.iter_mut().for_each(|(place, _)| *place += start);
        self.made = OnceLock::new();
    }

    pub fn columns(&self) -> &[ScopeColumn] {
        self.made.get_or_init(|| self.make())
    }

    fn make(&self) -> Vec<ScopeColumn> {
        let Some((first, _)) = self.key.first() else {
            return Vec::new();
        };
        let zero = Typed::new(Expr::Literal(Value::Int(0)), SqlType::Int4);
        let mut values = vec![zero];
        values.extend(self.key.iter().map(|(place, spec)| Typed {
            expr: Expr::Column(*place),
            spec: *spec,
        }));
        let oid = Expr::Literal(Value::Int(self.table.into()));
        let of = |name: &str, kind: SqlType, value: Expr| ScopeColumn {
            merged: Some(if_present(*first, value)),
            ..ScopeColumn::new(name, TypeSpec::plain(kind), *first)
        };
        let mut columns = vec![of("tableoid", SqlType::Oid, oid)];
        if let Some(text) = self.text {
            columns.push(of("ctid", SqlType::Text, text(values)));
        }
        columns
    }
}

/// A value, or null in a row that an outer join did not find: a part of its key is null only there.
fn if_present(key: usize, value: Expr) -> Expr {
    let is_missing = Expr::IsNull(Box::new(Expr::Column(key)));
    Expr::Case(Box::new(Case {
        arms: vec![(Expr::Not(Box::new(is_missing)), value)],
        otherwise: Expr::Literal(Value::Null),
    }))
}
