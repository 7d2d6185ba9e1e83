//! Conditions and expressions that are kept in a schema, with the names that the columns have now.

use super::trees::parts_of_tree;
use crate::names::{name_of, quoted};
use crate::parse::parse_expression;
use crate::position::{of_location, resolve};
use sardonyx::schema::Schema;
use sardonyx_rows::condition::SqlCheck;
use sqlparser::ast::{Expr as Tree, Ident};

/// A condition as people read it, with the names that its columns have now.
pub(crate) fn shown_check(text: &str, schema: &Schema) -> String {
    let Ok(Some(check)) = SqlCheck::parse(text) else {
        return text.to_string();
    };
    with_names(&check.text, &|names| {
        let name = name_of(names.last()?);
        let column = check.columns.iter().find(|column| column.name == name)?;
        let now = schema.columns.get(column.number)?;
        (now.name != name).then(|| quoted(&now.name))
    })
}

/// The text of an expression with other names for columns, where there are others.
pub(crate) fn with_names(text: &str, other: &dyn Fn(&[Ident]) -> Option<String>) -> String {
    let Ok(tree) = parse_expression(text) else {
        return text.to_string();
    };
    let mut changes = Vec::new();
    let mut rest = vec![&tree];
    while let Some(tree) = rest.pop() {
        rest.extend(parts_of_tree(tree));
        let names = match tree {
            Tree::Identifier(name) => std::slice::from_ref(name),
            Tree::CompoundIdentifier(names) => names,
            _ => continue,
        };
        let (Some(first), Some(last)) = (names.first(), names.last()) else {
            continue;
        };
        let place = |location| Some(resolve(text, of_location(location)?).saturating_sub(1));
        let span = (place(first.span.start), place(last.span.end));
        if let ((Some(start), Some(end)), Some(name)) = (span, other(names)) {
            changes.push((start..end, name));
        }
    }
    changes.sort_by_key(|(range, _)| range.start);
    let (mut changed, mut at) = (String::new(), 0);
    let mut characters = text.chars();
    for (range, name) in changes {
        let before = range.start.saturating_sub(at);
        changed.extend(characters.by_ref().take(before));
        changed += &name;
        characters
            .by_ref()
            .take(range.end - range.start)
            .for_each(drop);
        at = range.end;
    }
    changed.extend(characters);
    changed
}
