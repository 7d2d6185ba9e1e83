//! The columns of a statement's result.

use super::figured::name_of_tree;
use crate::column::ResultColumn;
use crate::error::{SqlError, code};
use crate::expression::functions::{names_tables, object_name};
use crate::expression::{
    Compiler, Environment, Expr, Scope, ScopeColumn, Typed, not_known, row_of_fields,
};
use crate::names::{name_of, parts_of};
use crate::rows::InputRow;
use crate::types::{SqlType, TypeSpec};
use crate::values::objects;
use sardonyx::schema::{Value, ValueRef};
use sqlparser::ast::{Expr as Tree, SelectItem, SelectItemQualifiedWildcardKind};
use std::sync::Arc;

/// The most columns of a result.
const COLUMNS_MAX: usize = 1664;

/// Expressions with the names of their columns.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub expressions: Vec<Expr>,
    pub columns: Arc<[ResultColumn]>,
}

/// An item of a list, with the name and the source of its column.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub typed: Typed,
    pub name: String,
    pub origin: Option<(u32, i16)>,
}

/// Compiles the items of a list. A literal or a parameter among them may have no type yet: see [`decide`].
///
/// # Errors
/// Errors of [`Compiler::compile`]; `54000` for more than [`COLUMNS_MAX`] columns.
pub(crate) fn compile_items(
    compiler: &mut Compiler<'_>,
    scope: &Scope,
    items: &[SelectItem],
) -> Result<Vec<Item>, SqlError> {
    let mut compiled = Vec::with_capacity(items.len());
    for item in items {
        match item {
            SelectItem::UnnamedExpr(tree) if let Some(row) = row_of_fields(tree) => {
                compiled.extend(fields_of_row(compiler, row)?);
            }
            SelectItem::UnnamedExpr(tree) => {
                let name = name_of_tree(tree);
                compiled.push(compile_item(compiler, scope, tree, name)?);
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                compiled.push(compile_item(compiler, scope, expr, name_of(alias))?);
            }
            SelectItem::Wildcard(_) => {
                if scope.tables.is_empty() {
                    let text = "SELECT * with no tables specified is not valid";
                    return Err(SqlError::syntax(text));
                }
                for column in scope.all() {
                    compiled.push(compile_column(compiler, column)?);
                }
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let mut parts = parts_of(name)?;
                let alias = parts.pop().unwrap_or_default();
                let found = match parts.pop() {
                    Some(schema) => scope.table_in(&schema, &alias)?,
                    None => scope.tables.iter().find(|table| table.alias == alias),
                };
                let Some(table) = found else {
                    return Err(SqlError::unknown_table(&alias));
                };
                for column in &table.columns {
                    compiled.push(compile_column(compiler, column)?);
                }
            }
            other => {
                return Err(SqlError::unsupported(format!(
                    "{other} is not supported here"
                )));
            }
        }
        if compiled.len() > COLUMNS_MAX {
            return Err(SqlError::new(
                code::PROGRAM_LIMIT,
                format!("a result has at most {COLUMNS_MAX} columns"),
            ));
        }
    }
    Ok(compiled)
}

/// Gives items without a type the type text.
///
/// # Errors
/// Currently none.
pub(crate) fn decide(compiler: &mut Compiler<'_>, items: &mut [Item]) -> Result<(), SqlError> {
    for item in items {
        if item.typed.kind() == SqlType::Unknown {
            item.typed = compiler.as_decided(item.typed.clone())?;
        }
    }
    Ok(())
}

fn compile_item(
    compiler: &mut Compiler<'_>,
    scope: &Scope,
    tree: &Tree,
    name: String,
) -> Result<Item, SqlError> {
    let typed = compiler.compile(tree)?;
    let found = match tree {
        Tree::Identifier(name) => scope.find(None, &name_of(name)).ok(),
        Tree::CompoundIdentifier(names) => match names.as_slice() {
            [.., table, name] => scope.find(Some(&name_of(table)), &name_of(name)).ok(),
            _ => None,
        },
        _ => None,
    };
    let origin = found.and_then(|column| column.origin);
    Ok(Item {
        typed,
        name,
        origin,
    })
}

/// The fields of a row as a value: `(table).*`.
fn fields_of_row(compiler: &mut Compiler<'_>, tree: &Tree) -> Result<Vec<Item>, SqlError> {
    if let Some((_, table)) = compiler.table_of(tree) {
        // As `table.*`: its columns have more than a type, such as lengths and collations.
        let columns = table.columns.clone();
        return (columns.iter())
            .map(|column| compile_column(compiler, column))
            .collect();
    }
    let row = compiler.compile(tree)?;
    let kind = row.kind();
    let fields = compiler.fields_of(&row).ok_or_else(|| match kind {
        SqlType::Record => not_known(),
        kind => SqlError::new(
            code::WRONG_OBJECT_TYPE,
            format!("type {} is not composite", kind.name()),
        ),
    })?;
    let items = fields.into_iter().map(|(name, typed)| Item {
        typed,
        name,
        origin: None,
    });
    Ok(items.collect())
}

fn compile_column(compiler: &mut Compiler<'_>, column: &ScopeColumn) -> Result<Item, SqlError> {
    let plain = Typed {
        expr: column.expr(),
        spec: column.spec,
    };
    let typed = match &compiler.grouping {
        None => plain,
        Some(grouping) => grouping.key(&plain).ok_or_else(|| {
            SqlError::new(
                code::GROUPING,
                format!(
                    "column \"{}\" must appear in the GROUP BY clause or be used in an aggregate function",
                    compiler.scope.qualified(None, &column.name)
                ),
            )
        })?,
    };
    Ok(Item {
        typed,
        name: column.name.clone(),
        origin: column.origin,
    })
}

impl Output {
    /// The output of compiled items.
    pub fn new(items: Vec<Item>) -> Output {
        let columns = items.iter().map(|item| {
            let (table, column) = item.origin.unwrap_or_default();
            ResultColumn {
                name: item.name.clone(),
                spec: item.typed.spec,
                table,
                column,
            }
        });
        Output {
            columns: columns.collect(),
            expressions: items.into_iter().map(|item| item.typed.expr).collect(),
        }
    }

    /// The number of columns of a row.
    pub fn width(&self) -> usize {
        self.expressions.len()
    }

    /// True if an expression computes a value, instead of only taking one from the row.
    pub fn computes(&self) -> bool {
        let mut expressions = self.expressions.iter();
        !expressions.all(|of| matches!(of, Expr::Column(_) | Expr::Literal(_) | Expr::Outer(_)))
    }

    /// True if it shows the name of a table, or finds one by its name.
    pub fn names_tables(&self) -> bool {
        let mut kinds = self.columns.iter().map(|column| column.spec.kind);
        kinds.any(|kind| kind == SqlType::Regclass) || self.expressions.iter().any(names_tables)
    }

    /// Adds a row's output values in the form that other queries and statements read.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn push(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
        values: &mut Vec<Value>,
    ) -> Result<(), SqlError> {
        for expression in &self.expressions {
            values.push(expression.evaluate(row, with)?.into_value());
        }
        Ok(())
    }

    /// Adds a row's output values in the form that clients see.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn push_shown(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
        values: &mut Vec<Value>,
    ) -> Result<(), SqlError> {
        let from = values.len();
        self.push(row, with, values)?;
        self.show(values.get_mut(from..).unwrap_or_default(), with);
        Ok(())
    }

    /// Converts the values of a row to the form that clients see.
    pub fn show(&self, values: &mut [Value], with: &Environment<'_>) {
        for (value, column) in values.iter_mut().zip(self.columns.iter()) {
            match (value.as_ref(), column.spec.kind) {
                (ValueRef::Text(text), SqlType::Char) => *value = padded(text, column.spec),
                (ValueRef::Int(number), kind) if kind.is_object() => {
                    let number = u32::try_from(number).unwrap_or(0);
                    if let Ok(Some(name)) = object_name(kind, number, with) {
                        *value = Value::Bytes(objects::named(number, &name));
                    }
                }
                (ValueRef::Decimal(..), SqlType::Numeric) if column.spec.modifier < 0 => {
                    let taken = std::mem::replace(value, Value::Null);
                    *value = shown(taken, column.spec);
                }
                _ => {}
            }
        }
    }
}

/// The text of a `char(n)`, padded with trailing blanks.
fn padded(text: &str, spec: TypeSpec) -> Value {
    let length = spec.length().unwrap_or(0);
    Value::Text(format!("{text:<length$}"))
}

/// A value as clients see it: a `numeric` without a scale has as many digits as it needs.
fn shown(value: Value, spec: TypeSpec) -> Value {
    match value {
        Value::Decimal(units, crate::types::FREE_SCALE)
            if spec.kind == SqlType::Numeric && spec.modifier < 0 =>
        {
            let (units, scale) =
                crate::values::arithmetic::without_zeros(units, crate::types::FREE_SCALE);
            Value::Decimal(units, scale)
        }
        other => other,
    }
}
