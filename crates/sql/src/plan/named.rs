//! The resolution of a name in `FROM`: a query of `WITH`, a table, a view, or one of the catalogue's tables, in this
//! order.
//!
//! A view sees the names that are visible at its definition, not those at the place that names it. The same holds for a
//! query of `WITH` that is planned at each such place.

use super::draft::{FromNode, FromTable, NamedKind, NamedQuery, Planned};
use super::from::derived_from;
use super::planning::Planning;
use super::query::draft_query;
use super::recursion::draft_recursion;
use super::sampled::condition;
use super::scopes::{placed, scope_of, scope_of_all, scope_of_columns};
use super::target::key_columns;
use crate::error::{SqlError, code};
use crate::expression::functions::{SEQUENCE_IS_CALLED, SEQUENCE_LAST};
use crate::expression::{Expr, Function, ScopeColumn, ScopeTable};
use crate::names::{name_of, qualified};
use crate::path::schema_of;
use crate::plan::views::{draft_by_itself, draft_view, kept_query, query_of};
use crate::types::{SqlType, TypeSpec};
use crate::views::ViewDefinition;
use crate::virtual_tables::{Contents, virtual_table};
use sardonyx::schema::Value;
use sqlparser::ast::{self, SetExpr, TableAlias, TableFactor};
use std::sync::Arc;

/// A table, a view, a query of `WITH`, or one of the catalogue's tables.
///
/// # Errors
/// `42P01` if there is no such table.
pub(crate) fn named_table(
    planning: &mut Planning<'_>,
    name: &ast::ObjectName,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    let (schema, plain) = qualified(name)?;
    let alias_name = alias.map_or_else(|| plain.clone(), |alias| name_of(&alias.name));
    let mut named = planning.queries.named.iter().rev();
    let found = named.find(|named| schema.is_none() && named.name == plain);
    let named = found.cloned();
    if let Some(named) = named {
        return named_query(planning, &named, &alias_name, alias, start);
    }
    let (table, of, width) = match virtual_table(schema.as_deref(), &plain) {
        Some(found) if schema.is_some() || planning.source.table_named(&plain).is_none() => {
            let of = found.scope(&alias_name);
            let table = match found.contents {
                Contents::Rows(rows) => FromTable::Virtual(found.name, rows),
                Contents::Query(text) => {
                    let mut draft = draft_by_itself(planning, &*kept_query(text)?)?;
                    draft.locks.is_named = true;
                    FromTable::Derived(Box::new(draft))
                }
            };
            (table, of, found.columns.len())
        }
        _ => {
            let relation = match planning.relation(name) {
                Err(error) if error.code == code::UNKNOWN_TABLE => {
                    return match planning.view(name)? {
                        Some((name, view)) => {
                            named_view(planning, (&name, &view), &alias_name, alias, start)
                        }
                        None => match planning.sequence(name)? {
                            Some(kept) => named_sequence(&kept, &alias_name, alias, start),
                            None => Err(error),
                        },
                    };
                }
                found => found?,
            };
            let of = scope_of(&relation, &alias_name);
            let width = relation.schema.columns.len();
            (FromTable::Relation(Box::new(relation)), of, width)
        }
    };
    let node = FromNode::Leaf(table, start..start + width);
    Ok((node, placed(of, alias, start)?))
}

/// The row of a sequence.
fn named_sequence(
    kept: &str,
    alias_name: &str,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    let of_sequence = |function| {
        let name = Expr::Literal(Value::Text(kept.to_string()));
        Expr::Call(Function(function), vec![name])
    };
    let row = vec![
        of_sequence(&SEQUENCE_LAST),
        // Numbers that are logged ahead are those that were drawn.
        Expr::Literal(Value::Int(0)),
        of_sequence(&SEQUENCE_IS_CALLED),
    ];
    let columns = [
        ("last_value", SqlType::Int8),
        ("log_cnt", SqlType::Int8),
        ("is_called", SqlType::Bool),
    ];
    let columns = columns.map(|(name, kind)| (name.to_string(), TypeSpec::plain(kind)));
    let of = ScopeTable {
        schema: Some(schema_of(kept).to_string()),
        ..scope_of_columns(alias_name, columns.to_vec())
    };
    let places = start..start + of.columns.len();
    let node = FromNode::Leaf(FromTable::Rows(vec![row]), places);
    Ok((node, placed(of, alias, start)?))
}

/// A sample of a table's rows.
///
/// # Errors
/// `0A000` for views and queries of `WITH`; the errors of the table and of the sample.
pub(super) fn sampled_table(
    planning: &mut Planning<'_>,
    (name, sample): (&ast::ObjectName, &ast::TableSampleKind),
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    let mut query = query_of("SELECT * FROM t")?;
    if let SetExpr::Select(select) = &mut *query.body
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Table { name: there, .. } = &mut from.relation
    {
        *there = name.clone();
    }
    let mut draft = draft_query(planning, &query)?;
    let Some(FromNode::Leaf(FromTable::Relation(relation), places)) = &draft.from else {
        return Err(SqlError::unsupported(
            "TABLESAMPLE clause can only be applied to tables and materialized views",
        ));
    };
    let first = places.start;
    let key = key_columns(relation).into_iter();
    let key = key.map(|column| first + column);
    draft.condition = Some(condition(planning, sample, key)?);
    let alias_name = match alias {
        Some(alias) => name_of(&alias.name),
        None => qualified(name)?.1,
    };
    let of = scope_of_all(relation, &alias_name);
    let (table, _) = derived_from(planning, draft)?;
    let places = start..start + of.columns.len();
    Ok((FromNode::Leaf(table, places), placed(of, alias, start)?))
}

fn named_view(
    planning: &mut Planning<'_>,
    view: (&str, &ViewDefinition),
    alias_name: &str,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    let (draft, columns) = draft_view(planning, view.1)?;
    let places = start..start + draft.items.len();
    let columns = columns.into_iter();
    let columns = columns.map(|column| ScopeColumn::new(&column.name, column.spec, column.place));
    let of = ScopeTable {
        alias: alias_name.to_string(),
        columns: columns.collect(),
        schema: Some(schema_of(view.0).to_string()),
        ..ScopeTable::default()
    };
    let node = FromNode::Leaf(FromTable::Derived(Box::new(draft)), places);
    Ok((node, placed(of, alias, start)?))
}

fn named_query(
    planning: &mut Planning<'_>,
    named: &Arc<NamedQuery>,
    alias_name: &str,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    let (table, columns) = match &named.kind {
        NamedKind::Shared(shared) => {
            let queries = &mut planning.queries;
            queries.read_parts.insert(shared.number);
            let read = queries.reads.get(&shared.number).into_iter();
            queries.read_parts.extend(read.flatten());
            let columns = shared.columns.iter();
            let columns = columns.map(|column| (column.name.clone(), column.spec));
            (FromTable::Shared(shared.clone()), columns.collect())
        }
        NamedKind::Unreturned => {
            let text = format!(
                "WITH query \"{}\" does not have a RETURNING clause",
                named.name
            );
            return Err(SqlError::unsupported(text));
        }
        NamedKind::Inlined(query) => {
            let draft = where_it_stands(planning, named, |planning| draft_query(planning, query));
            let mut draft = draft?;
            draft.locks.is_named = true;
            derived_from(planning, draft)?
        }
        NamedKind::Recursive(query) => {
            let draft =
                where_it_stands(planning, named, |planning| draft_recursion(planning, query));
            let mut draft = draft?.ok_or_else(|| SqlError::unknown_table(&named.name))?;
            draft.locks.is_named = true;
            derived_from(planning, draft)?
        }
        NamedKind::LastRound(last) => {
            last.check(&named.name, planning)?;
            planning.queries.last_rounds.push(last.number);
            (FromTable::LastRound(last.number), last.columns.clone())
        }
    };
    let of = scope_of_columns(alias_name, columns);
    let places = start..start + of.columns.len();
    let mut scope = placed(of, Some(&named.alias), start)?;
    // The alias at this place takes precedence.
    if let Some(of) = scope.tables.pop() {
        scope = placed(of, alias, 0)?;
    }
    Ok((FromNode::Leaf(table, places), scope))
}

/// Plans a named query with the names that are visible at its definition.
fn where_it_stands<'a, R>(
    planning: &mut Planning<'a>,
    named: &NamedQuery,
    plan: impl FnOnce(&mut Planning<'a>) -> Result<R, SqlError>,
) -> Result<R, SqlError> {
    let later = planning.queries.named.split_off(named.named);
    let inner = planning.queries.around.outer.split_off(named.outer);
    let planned = plan(planning);
    planning.queries.named.extend(later);
    planning.queries.around.outer.extend(inner);
    planned
}
