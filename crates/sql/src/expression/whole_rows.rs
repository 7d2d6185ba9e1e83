//! Rows as values: the expression of a row, the fields of such an expression, and the syntax that means whole rows.

use super::cast::{Coercion, can_cast};
use super::comparable::as_record;
use super::functions::{OBJECT_NAME, PADDED, ROW, ROW_FIELD, ROW_IS_NULL};
use super::{Case, Expr, Function, ScopeColumn, ScopeTable, Typed};
use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::types::{CompositeType, SqlType, TypeSpec};
use crate::values::records::{described, fields_of};
use sardonyx::schema::Value;
use sqlparser::ast::{
    self, AccessExpr, Expr as Tree, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName,
};
use std::borrow::Cow;

/// The last part of the name of a whole row, as in `table.*`.
const ALL: &str = "*";

/// A row of fields with their names. It is null where `presence` is.
pub(super) fn row_value<'n>(
    presence: Expr,
    names: impl Iterator<Item = &'n str>,
    mut values: Vec<Typed>,
) -> Typed {
    for value in &mut values {
        // They are shown by their names.
        if value.kind().is_object() {
            let parts = vec![
                Expr::Literal(Value::Int(value.kind().number().into())),
                value.expr.clone(),
            ];
            let name = Expr::Call(Function(&OBJECT_NAME), parts);
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

/// The text of a row of these values.
pub(crate) fn text_of_row(values: Vec<Typed>) -> Expr {
    let names = std::iter::repeat_n("", values.len());
    let row = row_value(Expr::Literal(Value::Bool(true)), names, values);
    let text = TypeSpec::plain(SqlType::Text);
    Expr::Cast(Box::new(row.expr), SqlType::Record, text, true)
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

/// The field of a record at a place.
pub(super) fn field_at(record: &Expr, at: usize) -> Expr {
    let parts = vec![record.clone(), Expr::Literal(Value::Int(at as i128))];
    Expr::Call(Function(&ROW_FIELD), parts)
}

/// The fields of an expression that is a row: their names and values.
pub(super) fn fields_in(typed: &Typed) -> Option<Vec<(String, Typed)>> {
    let expr = &typed.expr;
    if let SqlType::Composite(of) = typed.kind() {
        let record = as_record(typed.clone()).expr;
        let fields = of.fields().iter().enumerate().map(|(at, field)| {
            let expr = field_at(&record, at);
            let spec = field.spec;
            (field.name.clone(), Typed { expr, spec })
        });
        return Some(fields.collect());
    }
    if let Expr::Subquery(subquery) = expr {
        let fields = subquery.query.fields().iter().enumerate();
        let fields =
            fields.map(|(at, (name, kind))| (name.clone(), Typed::new(field_at(expr, at), *kind)));
        return Some(fields.collect()).filter(|fields: &Vec<_>| !fields.is_empty());
    }
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

/// Checks that the fields of a row that is written become those of a type. Literals and parameters have no type of their
/// own yet.
///
/// # Errors
/// `42846` if a field has no such cast.
pub(super) fn check_fields(expr: &Expr, of: CompositeType, how: Coercion) -> Result<(), SqlError> {
    let Expr::Call(function, parts) = expr else {
        return Ok(());
    };
    let [Expr::Literal(Value::Bytes(described)), _, values @ ..] = parts.as_slice() else {
        return Ok(());
    };
    let columns = of.fields();
    if *function != Function(&ROW) || values.len() != columns.len() {
        return Ok(());
    }
    let fields = fields_of(described)?.into_iter().zip(values).zip(columns);
    for (at, (((_, from), value), column)) in fields.enumerate() {
        let to = column.spec.kind;
        let is_free = from.is_text() && matches!(value, Expr::Literal(_) | Expr::Parameter(_));
        if let (SqlType::Record, SqlType::Composite(of)) = (from, to) {
            check_fields(value, of, how)?;
        } else if !is_free && !can_cast(from, to, how) {
            let text = format!(
                "cannot cast type record to {}",
                SqlType::Composite(of).name()
            );
            let (from, to) = (from.name(), to.name());
            let detail = format!("Cannot cast type {from} to {to} in column {}.", at + 1);
            return Err(SqlError::new(code::CANNOT_COERCE, text).detail(detail));
        }
    }
    Ok(())
}

/// The row of which an expression is a field that is found when it is computed; other expressions unchanged.
pub(crate) fn row_of_field(expr: &Expr) -> &Expr {
    match expr {
        Expr::Call(function, parts) if *function == Function(&ROW_FIELD) => match parts.first() {
            Some(Expr::Cast(row, SqlType::Composite(_), ..)) => row,
            row => row.unwrap_or(expr),
        },
        expr => expr,
    }
}

/// An expression that is null where a row as a value is, for `count`: fields that are columns are not computed.
pub(super) fn counted(expr: Expr) -> Expr {
    let are_columns = |parts: &[Expr]| match parts {
        [_, _, fields @ ..] => fields.iter().all(|field| matches!(field, Expr::Column(_))),
        _ => false,
    };
    match expr {
        Expr::Call(function, mut parts) if function == Function(&ROW) && are_columns(&parts) => {
            parts.swap_remove(1)
        }
        expr => expr,
    }
}

/// The type of the texts of rows, for a function that writes texts: the bytes of a record are no text, and the moments in
/// rows have the session's zone.
pub(crate) fn text_of_rows(function: &str, kind: SqlType) -> Option<SqlType> {
    if !matches!(kind.single(), SqlType::Record | SqlType::Composite(_)) {
        return None;
    }
    match function {
        "concat" | "concat_ws" | "format" | "quote_literal" | "quote_nullable" => {
            Some(SqlType::Text)
        }
        "array_to_string" if kind.element().is_some() => Some(SqlType::TextArray),
        _ => None,
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

/// The error of a row whose fields are known only when it is computed.
#[cold]
pub(crate) fn not_known() -> SqlError {
    SqlError::unsupported("record type has not been registered")
        .hint("The fields of a row that comes from another query are not known here.")
}

/// A `char(n)` with its blanks; other values unchanged.
pub(super) fn padded(typed: Typed) -> Expr {
    match (typed.kind(), typed.spec.length()) {
        (SqlType::Char, Some(length)) => {
            let length = Expr::Literal(Value::Int(length as i128));
            Expr::Call(Function(&PADDED), vec![typed.expr, length])
        }
        _ => typed.expr,
    }
}
