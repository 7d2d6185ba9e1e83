//! Rows as values, compiled: the name of a table of the scope, `table.*`, `ROW(…)` and `(a, b)`, and the fields of such
//! values.
//!
//! A name is a table only if no column, of this query or of one around it, has the name: PostgreSQL looks in this order.

use super::compile::Compiler;
use super::row_calls::number_of;
use super::whole_rows::{
    field_at, fields_in, not_known, of_whole_row, row_value, whole_row, with_whole_rows,
};
use super::{Expr, ScopeTable, Typed};
use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::types::SqlType;
use crate::values::records::FIELDS_MAX;
use sardonyx::schema::Value;
use sqlparser::ast::{self, Expr as Tree, FunctionArg, FunctionArgExpr, FunctionArguments};

impl Compiler<'_> {
    /// A name alone: of a column, a word that means a function without parentheses, or a table's row.
    pub(super) fn column_or_row(&mut self, name: &ast::Ident) -> Result<Typed, SqlError> {
        let (plain, quoted) = (name_of(name), name.quote_style.is_some());
        match self.column(None, &plain) {
            Err(error) if error.code == code::UNKNOWN_COLUMN => match plain.as_str() {
                "current_date" | "current_timestamp" | "current_user" | "session_user" | "user"
                | "localtimestamp" | "localtime" | "current_time" | "current_role"
                | "current_catalog" | "current_schema"
                    if !quoted =>
                {
                    self.call(&plain, Vec::new())
                }
                _ => self.row_named(None, &plain)?.ok_or(error),
            },
            found => found,
        }
    }

    /// The row of a table that has this name, in this query or one around it.
    ///
    /// # Errors
    /// `42803` if the query is grouped otherwise.
    pub(super) fn row_named(
        &mut self,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<Typed>, SqlError> {
        let is_it = |table: &&ScopeTable| table.is_named(schema, name);
        if let Some(table) = self.scope.tables.iter().find(is_it) {
            let row = whole_row(table);
            return match &self.grouping {
                None => Ok(Some(row)),
                Some(grouping) => match grouping.key(&row) {
                    Some(key) => Ok(Some(key)),
                    None => Err(ungrouped(name)),
                },
            };
        }
        let Some(nested) = &mut self.nested else {
            return Ok(None);
        };
        let found = nested.queries.around_mut().outer_row(schema, name);
        Ok(found.map(|(expr, spec)| Typed { expr, spec }))
    }

    /// The row of a table by the parts of its name.
    ///
    /// # Errors
    /// As [`Compiler::row_named`]; `42P01` if there is no such table.
    pub(super) fn row_of_table(&mut self, names: &[ast::Ident]) -> Result<Typed, SqlError> {
        let (schema, name) = match names {
            [name] => (None, name_of(name)),
            [.., schema, name] => (Some(name_of(schema)), name_of(name)),
            [] => (None, String::new()),
        };
        let found = self.row_named(schema.as_deref(), &name)?;
        found.ok_or_else(|| {
            SqlError::new(
                code::UNKNOWN_TABLE,
                format!("missing FROM-clause entry for table \"{name}\""),
            )
        })
    }

    /// `ROW(…)`, or `(a, b)`: a row of values, whose fields are f1, f2 and so on.
    ///
    /// # Errors
    /// `54011` for too many fields; the errors of the values.
    pub(super) fn row(&mut self, trees: &[&Tree]) -> Result<Typed, SqlError> {
        let mut values = Vec::with_capacity(trees.len());
        for tree in trees {
            match tree {
                Tree::CompoundIdentifier(names) if let Some(table) = of_whole_row(names) => {
                    let row = self.row_of_table(table)?;
                    match self.fields_of(&row) {
                        Some(fields) => values.extend(fields.into_iter().map(|(_, field)| field)),
                        None if row.kind() == SqlType::Record => return Err(not_known()),
                        None => values.push(row),
                    }
                }
                tree => values.push(self.decided(tree)?),
            }
        }
        if values.len() > FIELDS_MAX {
            return Err(SqlError::new(
                "54011",
                format!("ROW expressions can have at most {FIELDS_MAX} entries"),
            ));
        }
        let names: Vec<String> = (1..=values.len()).map(|at| format!("f{at}")).collect();
        let present = Expr::Literal(Value::Bool(true));
        Ok(row_value(present, names.iter().map(String::as_str), values))
    }

    /// The values of a call of `ROW` with `table.*` among them.
    pub(super) fn row_call(&mut self, function: &ast::Function) -> Result<Typed, SqlError> {
        let FunctionArguments::List(list) = &function.args else {
            return Err(SqlError::syntax("ROW needs values in parentheses"));
        };
        let given = with_whole_rows(&list.args);
        let mut trees = Vec::with_capacity(given.len());
        for argument in given.iter() {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) => trees.push(tree),
                other => {
                    let text = format!("the value {other} of ROW is not supported");
                    return Err(SqlError::unsupported(text));
                }
            }
        }
        self.row(&trees)
    }

    /// The name of a column, if an expression in parentheses is the name of a table: `(table).column`.
    pub(super) fn column_of_row(&mut self, root: &Tree, field: &ast::Ident) -> Option<Tree> {
        let name = match self.table_of(root) {
            Some((name, _)) => name,
            None => self.table_around(root)?,
        };
        Some(Tree::CompoundIdentifier(vec![name.clone(), field.clone()]))
    }

    /// The table of this query that a name means, also in parentheses: no column has the name.
    pub fn table_of<'t>(&self, mut tree: &'t Tree) -> Option<(&'t ast::Ident, &ScopeTable)> {
        while let Tree::Nested(inner) = tree {
            tree = inner;
        }
        let Tree::Identifier(ident) = tree else {
            return None;
        };
        let name = name_of(ident);
        let mut tables = self.scope.tables.iter();
        let table = tables.find(|table| table.is_named(None, &name) && !table.is_scalar)?;
        (self.scope.find(None, &name).is_err()).then_some((ident, table))
    }

    /// The table of a query around this one that a name means, also in parentheses: neither this query nor one between
    /// them has a column of the name.
    fn table_around<'t>(&self, mut tree: &'t Tree) -> Option<&'t ast::Ident> {
        while let Tree::Nested(inner) = tree {
            tree = inner;
        }
        let Tree::Identifier(ident) = tree else {
            return None;
        };
        let name = name_of(ident);
        let around = self.nested.as_ref()?.queries.around();
        (self.scope.find(None, &name).is_err() && around.has_row(&name)).then_some(ident)
    }

    /// The fields of a row that is a value: their names and values. Those of a set-returning function's rows are fields of
    /// the value that it has in each of them.
    pub fn fields_of(&self, row: &Typed) -> Option<Vec<(String, Typed)>> {
        let number = match row.expr {
            Expr::Column(place) => number_of(place),
            _ => None,
        };
        let called = number.and_then(|number| self.sets.as_ref()?.calls.get(number));
        let Some(called) = called.filter(|_| row.kind() == SqlType::Record) else {
            return fields_in(row);
        };
        let fields = fields_in(&Typed::new(called.expr.clone(), called.kind))?;
        let fields = fields.into_iter().enumerate().map(|(at, (name, field))| {
            let expr = field_at(&row.expr, at);
            let spec = field.spec;
            (name, Typed { expr, spec })
        });
        Some(fields.collect())
    }

    /// A field of a row that is a value.
    ///
    /// # Errors
    /// `42703` if it has no such field, or if its fields are not known before it is computed.
    pub(super) fn field_of(&mut self, record: &Typed, field: &str) -> Result<Typed, SqlError> {
        let fields = self.fields_of(record).unwrap_or_default().into_iter();
        let mut found = fields.filter(|(name, _)| name == field);
        match found.next() {
            Some((_, value)) => Ok(value),
            None => Err(SqlError::new(
                code::UNKNOWN_COLUMN,
                match record.kind() {
                    kind @ SqlType::Composite(_) => {
                        format!("column \"{field}\" not found in data type {}", kind.name())
                    }
                    _ => format!("could not identify column \"{field}\" in record data type"),
                },
            )),
        }
    }
}

/// The error of a row of a table in a query that is grouped otherwise.
#[cold]
fn ungrouped(name: &str) -> SqlError {
    SqlError::new(
        code::GROUPING,
        format!(
            "column \"{name}.*\" must appear in the GROUP BY clause or be used in an aggregate function"
        ),
    )
}
