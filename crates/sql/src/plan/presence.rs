//! Places of items of outer joins that are null only if the join found no row of the item: the row of such an item is null
//! as a value, and `count` does not count it. A row that was found is not null, though all its columns may be.
//!
//! A table has a column that is never null, or each of its rows gets such a value where it is joined. A row of functions has
//! its number. Other items are queries with one column more.

use super::draft::{Draft, FromNode, FromTable, Planned};
use super::output::Item;
use crate::expression::{Expr, ScopeTable, Typed};
use crate::relation::Relation;
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use std::ops::Range;

/// An item of an outer join with such a place.
pub(super) fn with_presence((node, mut scope): Planned) -> Planned {
    let (table, mut places) = match node {
        FromNode::Leaf(table, places) => (table, places),
        // Its items have one each.
        join => return (join, scope),
    };
    let [of] = scope.tables.as_mut_slice() else {
        return (FromNode::Leaf(table, places), scope);
    };
    // The value of a function is a row by itself.
    if of.is_scalar {
        return (FromNode::Leaf(table, places), scope);
    }
    let table = match table {
        FromTable::Relation(relation) => {
            of.presence = Some(of_table(&relation, of, &mut places));
            FromTable::Relation(relation)
        }
        FromTable::Derived(mut draft) => {
            of.presence = Some(of_query(&mut draft, &mut places));
            FromTable::Derived(draft)
        }
        FromTable::Lateral(mut draft, arguments) => {
            of.presence = Some(of_query(&mut draft, &mut places));
            FromTable::Lateral(draft, arguments)
        }
        // Their arguments may be of the rows before them. The number of a row is never null.
        FromTable::Series(mut series) => {
            if !series.is_numbered {
                series.is_numbered = true;
                places.end += 1;
            }
            of.presence = Some(places.end - 1);
            FromTable::Series(series)
        }
        table => {
            let columns = of.columns.iter();
            let columns = columns.map(|column| (column.name.clone(), column.spec));
            let mut draft = Draft::of_rows(table, &of.alias, columns.collect());
            of.presence = Some(of_query(&mut draft, &mut places));
            FromTable::Derived(Box::new(draft))
        }
    };
    (FromNode::Leaf(table, places), scope)
}

fn of_table(relation: &Relation, of: &ScopeTable, places: &mut Range<usize>) -> usize {
    let mut columns = relation.columns.iter();
    let not_null = columns.find(|column| column.not_null);
    let not_null = not_null.map(|column| places.start + column.number);
    of.key.first().copied().or(not_null).unwrap_or_else(|| {
        places.end += 1;
        places.end - 1
    })
}

fn of_query(draft: &mut Draft, places: &mut Range<usize>) -> usize {
    draft.items.push(Item {
        typed: Typed {
            expr: Expr::Literal(Value::Bool(true)),
            spec: TypeSpec::plain(SqlType::Bool),
        },
        name: String::new(),
        origin: None,
    });
    places.end += 1;
    places.end - 1
}
