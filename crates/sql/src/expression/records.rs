//! Rows as values, compiled: the name of a table of the scope, `table.*`, `ROW(…)` and `(a, b)`, and the fields of such
//! values.
//!
//! A name is a table only if no column, of this query or of one around it, has the name: PostgreSQL looks in this order.

use super::coercion::padded;
use super::compile::Compiler;
use super::functions::{ROW, ROW_IS_NULL};
use super::{Case, Expr, Function, ScopeColumn, ScopeTable, Typed};
use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::types::SqlType;
use crate::values::records::{FIELDS_MAX, described, fields_of};
use sardonyx::schema::Value;
use sqlparser::ast::{
    self, AccessExpr, Expr as Tree, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName,
};
use std::borrow::Cow;

/// The last part of the name of a whole row, as in `table.*`.
const ALL: &str = "*";

/// A row of fields with their names. It is null where `presence` is.
fn row_value<'n>(
    presence: Expr,
    names: impl Iterator<Item = &'n str>,
    mut values: Vec<Typed>,
) -> Typed {
    for value in &mut values {
        // They are shown by their names.
        if value.kind().is_object() {
            let parts = vec![
                super::functions::element_number(value.kind()),
                value.expr.clone(),
            ];
            let name = Expr::Call(Function(&super::functions::OBJECT_NAME), parts);
            *value = Typed::new(name, SqlType::Text);
        }
    }
    let fields = names.zip(values.iter().map(Typed::kind));
    let described = Expr::Literal(Value::Bytes(described(fields)));
    let mut parts = Vec::with_capacity(2 + values.len());
    parts.extend([described, presence]);
    parts.extend(values.into_iter().map(padded));
    Typed::new(Expr::Call(Function(&ROW), parts), SqlType::Record)
}

/// A row of a table of a scope as a value.
pub(crate) fn whole_row(table: &ScopeTable) -> Typed {
    let value = |column: &ScopeColumn| Typed {
        expr: column.expr(),
        spec: column.spec,
    };
    if let ([column], true) = (table.columns.as_slice(), table.is_scalar) {
        return value(column);
    }
    let presence = match (table.may_be_missing, table.presence) {
        (false, _) => Expr::Literal(Value::Bool(true)),
        (true, Some(place)) => Expr::Column(place),
        (true, None) => {
            let is_null = |column: &ScopeColumn| Expr::IsNull(Box::new(column.expr()));
            let not_null = |column| Expr::Not(Box::new(is_null(column)));
            let any = table.columns.iter().map(not_null).collect();
            let case = Case {
                arms: vec![(Expr::Or(any), Expr::Literal(Value::Bool(true)))],
                otherwise: Expr::Literal(Value::Null),
            };
            Expr::Case(Box::new(case))
        }
    };
    let names = table.columns.iter().enumerate();
    let names = names.map(|(at, column)| table.fields.get(at).unwrap_or(&column.name).as_str());
    let values = table.columns.iter().map(value).collect();
    row_value(presence, names, values)
}

/// The fields of an expression that is a row: their names and values.
pub(crate) fn fields_in(expr: &Expr) -> Option<Vec<(String, Typed)>> {
    let Expr::Call(function, parts) = expr else {
        return None;
    };
    let [Expr::Literal(Value::Bytes(described)), _, values @ ..] = parts.as_slice() else {
        return None;
    };
    if *function != Function(&ROW) {
        return None;
    }
    let fields = fields_of(described).ok()?.into_iter().zip(values);
    let fields =
        fields.map(|((name, kind), value)| (name.to_string(), Typed::new(value.clone(), kind)));
    Some(fields.collect())
}

/// An expression that is null where a row as a value is, for `count`: the fields are not computed.
pub(super) fn counted(expr: Expr) -> Expr {
    match expr {
        Expr::Call(function, mut parts) if function == Function(&ROW) && parts.len() > 1 => {
            parts.swap_remove(1)
        }
        expr => expr,
    }
}

/// True if an expression is a row as a value.
pub(crate) fn is_row(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(function, _) if *function == Function(&ROW))
}

/// `IS NULL` of a record, or `IS NOT NULL`.
pub(super) fn record_is_null(record: Expr, negated: bool) -> Typed {
    let wanted = Expr::Literal(Value::Bool(!negated));
    let call = Expr::Call(Function(&ROW_IS_NULL), vec![record, wanted]);
    Typed::new(call, SqlType::Bool)
}

/// The arguments of a call, with `table.*` as names of whole rows.
pub(super) fn with_whole_rows(given: &[FunctionArg]) -> Cow<'_, [FunctionArg]> {
    let is_one = |argument: &FunctionArg| {
        matches!(
            argument,
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_))
        )
    };
    if !given.iter().any(is_one) {
        return Cow::Borrowed(given);
    }
    let named = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) => {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(whole_row_tree(table)))
        }
        other => other.clone(),
    };
    given.iter().map(named).collect()
}

fn whole_row_tree(table: &ObjectName) -> Tree {
    let parts = table.0.iter().filter_map(|part| part.as_ident().cloned());
    let star = Ident::new(ALL);
    Tree::CompoundIdentifier(parts.chain([star]).collect())
}

/// The row of which an expression has all fields: `(row).*`.
pub(crate) fn row_of_fields(tree: &Tree) -> Option<&Tree> {
    match tree {
        Tree::CompoundFieldAccess { root, access_chain } => match access_chain.as_slice() {
            [AccessExpr::Dot(Tree::Identifier(name))]
                if name.quote_style.is_none() && name.value == ALL =>
            {
                Some(root)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The tables whose whole rows are arguments of a call, as `table.*`.
pub(super) fn whole_rows(function: &ast::Function) -> Vec<String> {
    let FunctionArguments::List(list) = &function.args else {
        return Vec::new();
    };
    let named = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) => {
            table.0.last()?.as_ident().map(name_of)
        }
        _ => None,
    });
    named.collect()
}

/// The table of a name of a whole row: `table.*`.
pub(super) fn of_whole_row(names: &[ast::Ident]) -> Option<&[ast::Ident]> {
    let (last, table) = names.split_last()?;
    (last.quote_style.is_none() && last.value == ALL && !table.is_empty()).then_some(table)
}

impl Compiler<'_> {
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
                    match fields_in(&row.expr) {
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
        let mut inner = root;
        while let Tree::Nested(next) = inner {
            inner = next;
        }
        let Tree::Identifier(table) = inner else {
            return None;
        };
        let name = name_of(table);
        let is_table = || {
            let mut tables = self.scope.tables.iter();
            tables.any(|table| table.is_named(None, &name) && !table.is_scalar)
        };
        let is_own = self.scope.find(None, &name).is_err() && is_table();
        is_own.then(|| Tree::CompoundIdentifier(vec![table.clone(), field.clone()]))
    }

    /// A field of a row that is a value.
    ///
    /// # Errors
    /// `42703` if it has no such field, or if its fields are not known before it is computed.
    pub(super) fn field_of(&mut self, record: &Typed, field: &str) -> Result<Typed, SqlError> {
        let fields = fields_in(&record.expr).unwrap_or_default().into_iter();
        let mut found = fields.filter(|(name, _)| name == field);
        match found.next() {
            Some((_, value)) => Ok(value),
            None => Err(SqlError::new(
                code::UNKNOWN_COLUMN,
                format!("could not identify column \"{field}\" in record data type"),
            )),
        }
    }
}

/// The error of a row whose fields are known only when it is computed.
#[cold]
pub(crate) fn not_known() -> SqlError {
    SqlError::unsupported("record type has not been registered")
        .hint("The fields of a row that comes from another query are not known here.")
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
