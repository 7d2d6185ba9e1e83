//! The differences between a table's schema in the database and a program's, for the error that refuses it.

use super::{
    Column, ForeignKey, IndexDefinition, IndexKind, KeyPart, OnDelete, Schema, Unchecked, Value,
};
use std::fmt::Write as _;

/// True if a table has the schema that a program declares. Declarations of SQL, and changes that references do not check, are not
/// compared: the program does not know them.
#[inline]
pub fn is_as_said(stored: &Schema, said: &Schema) -> bool {
    if stored == said {
        return true;
    }
    let mut undeclared = stored.clone();
    if said.declared.is_empty() {
        undeclared.declared.clear();
    }
    for key in &mut undeclared.foreign_keys {
        key.unchecked = Unchecked::default();
    }
    undeclared == *said
}

/// The differences, a sentence each; `table` names the tables that references are of.
pub fn differences(stored: &Schema, said: &Schema, table: impl Fn(u16) -> String) -> Vec<String> {
    let mut found = Vec::new();
    columns(stored, said, &mut found);
    let key = |schema: &Schema| {
        let key = shown_key(schema, &schema.primary.key);
        format!("{key}{}", shown_kind(&schema.primary))
    };
    let (there, here) = (key(stored), key(said));
    if there != here {
        found.push(format!(
            "the primary key is {there} in the database, {here} in the program"
        ));
    }
    let index = |schema: &Schema, index: &IndexDefinition| {
        let unique = match (index.unique, index.deferrable) {
            (true, _) => "unique ",
            (false, true) => "deferrable unique ",
            (false, false) => "",
        };
        let key = shown_key(schema, &index.key);
        let nulls = if index.nulls_equal {
            ", nulls equal"
        } else {
            ""
        };
        (
            index.name.clone(),
            format!("{unique}{key}{}{nulls}", shown_kind(index)),
        )
    };
    let indexes = |schema: &Schema| -> Vec<_> {
        schema
            .indexes
            .iter()
            .map(|one| index(schema, one))
            .collect()
    };
    named("index", &indexes(stored), &indexes(said), &mut found);
    let reference = |schema: &Schema, key: &ForeignKey| {
        let columns = key.columns.iter().map(|column| name_of(schema, *column));
        let columns: Vec<_> = columns.collect();
        let cascade = match key.on_delete {
            OnDelete::Cascade => ", deleted with it",
            OnDelete::Restrict => "",
            OnDelete::SetNull => ", set to null with it",
            OnDelete::SetDefault => ", set to the default with it",
        };
        let text = format!(
            "({}) of {:?}{cascade}",
            columns.join(", "),
            table(key.table)
        );
        (key.name.clone(), text)
    };
    let references = |schema: &Schema| -> Vec<_> {
        let keys = schema.foreign_keys.iter();
        keys.map(|key| reference(schema, key)).collect()
    };
    named(
        "reference",
        &references(stored),
        &references(said),
        &mut found,
    );
    named("condition", &stored.checks, &said.checks, &mut found);
    if found.is_empty() {
        // Such as columns at other offsets, or shapes that the table had before.
        found.push("its rows are laid out otherwise than those of a new table".to_string());
    }
    found
}

#[inline]
fn columns(stored: &Schema, said: &Schema, found: &mut Vec<String>) {
    for (_, column) in stored.live_columns() {
        let Some(number) = said.column(&column.name) else {
            found.push(format!(
                "the database has column {}, which the program does not name",
                described(column)
            ));
            continue;
        };
        let other = &said.columns[number];
        let (there, here) = (kind_of(column), kind_of(other));
        if there != here {
            found.push(format!(
                "column {:?} is {there} in the database, {here} in the program",
                column.name
            ));
        }
    }
    for (_, column) in said.live_columns() {
        if stored.column(&column.name).is_none() {
            found.push(format!(
                "the program names column {}, which the database does not have",
                described(column)
            ));
        }
    }
    let names = |schema: &Schema, other: &Schema| -> Vec<String> {
        let columns = schema.live_columns().map(|(_, column)| column.name.clone());
        columns
            .filter(|name| other.column(name).is_some())
            .collect()
    };
    let (there, here) = (names(stored, said), names(said, stored));
    if there != here {
        found.push(format!(
            "the columns are in the order {} in the database, {} in the program",
            there.join(", "),
            here.join(", ")
        ));
    }
}

/// A column's name and declaration.
#[inline]
fn described(column: &Column) -> String {
    format!("{:?} {}", column.name, kind_of(column))
}

/// A column's type, and the rest of its declaration.
#[inline]
fn kind_of(column: &Column) -> String {
    let mut text = column.kind.to_string();
    if column.is_nullable() {
        text.push_str(" (nullable)");
    }
    if column.default != Value::Null {
        let _ = write!(text, " with the default {:?}", column.default.to_string());
    }
    text
}

fn name_of(schema: &Schema, column: usize) -> String {
    let column = schema.columns.get(column);
    column.map_or_else(String::new, |column| column.name.clone())
}

#[inline]
fn shown_key(schema: &Schema, key: &[KeyPart]) -> String {
    let parts = key.iter().map(|part| {
        let order = if part.descending { " desc" } else { "" };
        name_of(schema, part.column) + order
    });
    format!("({})", parts.collect::<Vec<_>>().join(", "))
}

fn shown_kind(index: &IndexDefinition) -> &'static str {
    match index.kind {
        IndexKind::Hash => ", by hash",
        IndexKind::Ordered => ", ordered",
    }
}

/// Parts of schemas by their names.
#[inline]
fn named(
    what: &str,
    stored: &[(String, String)],
    said: &[(String, String)],
    found: &mut Vec<String>,
) {
    for (name, there) in stored {
        match said.iter().find(|(other, _)| other == name) {
            None => found.push(format!(
                "the database has {what} {name:?} {there}, which the program does not name"
            )),
            Some((_, here)) if here != there => found.push(format!(
                "{what} {name:?} is {there} in the database, {here} in the program"
            )),
            Some(_) => {}
        }
    }
    for (name, here) in said {
        if !stored.iter().any(|(other, _)| other == name) {
            found.push(format!(
                "the program names {what} {name:?} {here}, which the database does not have"
            ));
        }
    }
}
