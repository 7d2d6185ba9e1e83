//! Conditions and expressions that are kept in a schema, with the names that the columns have now.

use super::labels::with_labels;
use super::trees::parts_of_tree;
use crate::changed_text::{Change, changes_at, with_changes};
use crate::names::{name_of, quoted};
use crate::parse::{parse_expression, shown_text};
use crate::types::EnumType;
use sardonyx::schema::Schema;
use sardonyx_rows::condition::{Condition, SqlCheck};
use sqlparser::ast::{Expr as Tree, Ident};
use sqlparser::tokenizer::Span;

/// A condition for people, with the present names of its columns, and with the labels of enum types.
pub(crate) fn shown_check(text: &str, schema: &Schema, types: &[EnumType]) -> String {
    let Ok(Some(check)) = SqlCheck::parse(text) else {
        // A program may have declared it.
        return Condition::in_sql(text, quoted).unwrap_or_else(|_| text.to_string());
    };
    let shown = with_names(&check.text, &|names| {
        let name = name_of(names.last()?);
        let column = check.columns.iter().find(|column| column.name == name)?;
        let now = schema.columns.get(column.number)?;
        (now.name != name).then(|| quoted(&now.name))
    });
    shown_text(with_labels(shown, types))
}

/// The text of an expression with the new names of columns that have one.
pub(crate) fn with_names(text: &str, other: &dyn Fn(&[Ident]) -> Option<String>) -> String {
    let changes = changes_of(text, &|tree| {
        let names = match tree {
            Tree::Identifier(name) => std::slice::from_ref(name),
            Tree::CompoundIdentifier(names) => names,
            _ => return None,
        };
        let span = Span::new(names.first()?.span.start, names.last()?.span.end);
        Some((span, other(names)?))
    });
    with_changes(text, &changes)
}

/// The changes of the parts of an expression, in their order. There are none if the text is no expression.
pub(super) fn changes_of(
    text: &str,
    other: &dyn Fn(&Tree) -> Option<(Span, String)>,
) -> Vec<Change> {
    let Ok(tree) = parse_expression(text) else {
        return Vec::new();
    };
    let mut spans = Vec::new();
    let mut rest = vec![&tree];
    while let Some(tree) = rest.pop() {
        rest.extend(parts_of_tree(tree));
        spans.extend(other(tree));
    }
    changes_at(text, spans)
}
