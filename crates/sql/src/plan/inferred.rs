//! The unique index that `ON CONFLICT` means: by its columns and expressions, and by its condition.

use super::choice::parts_of;
use super::insert::Target;
use super::planning::Planning;
use crate::error::SqlError;
use crate::expression::Scope;
use crate::index_names::seen_key;
use crate::indexed::Indexed;
use crate::names::name_of;
use crate::parse::{parse_expression, written_expression};
use crate::relation::Relation;
use sardonyx::schema::IndexDefinition;
use sqlparser::ast::{self, Expr as Tree};

/// The unique index with these columns and expressions, covering at least the rows that meet a condition.
pub(super) fn inferred(
    planning: &mut Planning<'_>,
    relation: &Relation,
    scope: &Scope,
    names: &[ast::Ident],
    predicate: Option<&Tree>,
) -> Result<Option<Target>, SqlError> {
    let indexed = Indexed::of(&relation.schema);
    let predicate = predicate.map(|tree| planning.without_routines(tree));
    let predicate = predicate.transpose()?;
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        columns.push(match written_expression(name) {
            None => vec![relation.column(&name_of(name))?.number],
            Some(text) => {
                let tree = parse_expression(text)?;
                let tree = planning.without_routines(&tree)?;
                let typed = planning.compiler(scope).compile(&tree)?;
                indexed.columns_of(&typed.expr)
            }
        });
    }
    let mut compiler = planning.compiler(scope);
    let condition = predicate.map(|tree| compiler.condition(&tree, "WHERE"));
    let parts = parts_of(condition.transpose()?);
    let covering = indexed.covering(&parts);
    let schema = &relation.schema;
    Ok(unique_index(relation, |index, _| {
        let key: Vec<usize> = seen_key(schema, index).map(|part| part.column).collect();
        let is_named = |part: &usize| columns.iter().any(|named| named.contains(part));
        let is_in_key = |named: &Vec<usize>| named.iter().any(|column| key.contains(column));
        let mut first = index.key.first().into_iter();
        let mut holds = || first.any(|part| covering.contains(&part.column));
        key.iter().all(is_named)
            && columns.iter().all(is_in_key)
            && (!schema.is_partial(index) || holds())
    }))
}

/// The unique index for which something holds: it is called with the index and the name of its constraint.
pub(super) fn unique_index(
    relation: &Relation,
    is_it: impl Fn(&IndexDefinition, &str) -> bool,
) -> Option<Target> {
    let primary = relation.primary_constraint().unwrap_or_default();
    let mut indexes = unique_indexes(relation);
    let found = indexes.find(|(index, target)| match &target.index {
        None => is_it(index, &primary),
        Some(name) => is_it(index, name),
    });
    found.map(|(_, target)| target)
}

/// All unique indexes, the primary key first.
pub(super) fn unique_indexes(
    relation: &Relation,
) -> impl Iterator<Item = (&IndexDefinition, Target)> {
    let schema = &relation.schema;
    let columns = |index: &IndexDefinition| index.key.iter().map(|part| part.column).collect();
    let primary = (!relation.notes.hidden_key).then(|| {
        let target = Target {
            index: None,
            columns: columns(&schema.primary),
            nulls_equal: false,
        };
        (&schema.primary, target)
    });
    let others = schema.indexes.iter().filter(|index| index.tells_apart());
    let others = others.map(move |index| {
        let target = Target {
            index: Some(index.name.clone()),
            columns: columns(index),
            nulls_equal: index.nulls_equal,
        };
        (index, target)
    });
    primary.into_iter().chain(others)
}
