//! What a program says of a table's rows beside what the database has: where they differ, and what to do.

use crate::columns::RecordColumn;
use crate::error::TableError;
use crate::record::Record;
use crate::schema::{Column, IndexKind, Schema, Type};
use sardonyx_storage::catalogue::{Definition, Kind};
use std::fmt::Write;

/// A line of the comparison: a column as the database has it, as the program has it.
type Line<'a> = (Option<&'a Column>, Option<&'a RecordColumn>);

/// Whether records of this type are the rows of a table with this schema and definition.
///
/// Columns are compared by name, type and place. A field of bytes, `[u8; N]`, where the table has no column, only
/// fills.
///
/// # Errors
/// [`TableError::SchemaDiffers`].
pub(crate) fn compare<R: Record>(
    schema: &Schema,
    definition: &Definition,
) -> Result<(), TableError> {
    let differs = |text| {
        Err(TableError::SchemaDiffers {
            table: definition.name.clone(),
            text,
        })
    };
    if !schema.earlier_shapes.is_empty() {
        return differs(
            "columns were added to it, so its pages have rows of several shapes, of which a plain record is only one; \
             declare the type with `#[derive(Record)]`, or use rows"
                .to_string(),
        );
    }
    if let Some(fields) = R::columns() {
        let lines = lines(schema, &fields);
        if schema.row_bytes != size_of::<R>() || lines.iter().any(|line| !agrees(schema, *line)) {
            return differs(both_sides(schema, size_of::<R>(), &lines));
        }
    }
    let key = Kind::Table {
        key_offset: R::KEY_OFFSET,
        key_bytes: size_of::<R::Key>(),
    };
    if schema.primary.kind != IndexKind::Hash {
        return differs(
            "its primary key is ordered, a plain record's is found by its hash; declare the type with \
             `#[derive(Record)]`, or use rows"
                .to_string(),
        );
    }
    if definition.kind != key || schema.row_bytes != size_of::<R>() {
        let declared = Definition {
            name: definition.name.clone(),
            record_bytes: size_of::<R>(),
            kind: key,
        };
        let there = Definition {
            record_bytes: schema.row_bytes,
            ..definition.clone()
        };
        return differs(format!(
            "the database has {}, the program {}",
            there.describe(),
            declared.describe()
        ));
    }
    Ok(())
}

/// The columns of both, those of one name beside each other, in the order in which they stand.
fn lines<'a>(schema: &'a Schema, fields: &'a [RecordColumn]) -> Vec<Line<'a>> {
    let there = schema.live_columns().map(|(_, column)| {
        let field = fields.iter().find(|field| field.name == column.name);
        (Some(column), field)
    });
    let only_fields = fields
        .iter()
        .filter(|field| schema.column(&field.name).is_none());
    let mut lines: Vec<Line<'a>> = there
        .chain(only_fields.map(|field| (None, Some(field))))
        .collect();
    lines.sort_by_key(|(column, field)| {
        let of_field = field.map(|field| field.offset);
        column.map(|column| column.offset).or(of_field)
    });
    lines
}

fn agrees(schema: &Schema, line: Line<'_>) -> bool {
    match line {
        (Some(column), Some(field)) => {
            column.kind == field.kind && column.offset == field.offset && column.null.is_none()
        }
        (None, Some(field)) => {
            let field_end = field.offset + field.kind.bytes();
            field.is_bytes()
                && schema.live_columns().all(|(_, column)| {
                    let end = column.offset + column.kind.bytes();
                    let null = column.null.map_or(usize::MAX, |null| null.byte as usize);
                    (end <= field.offset || field_end <= column.offset)
                        && !(field.offset..field_end).contains(&null)
                })
        }
        _ => false,
    }
}

/// A table of both sides, with a mark before the lines that differ.
fn both_sides(schema: &Schema, program_bytes: usize, lines: &[Line<'_>]) -> String {
    let column = |column: &Column| {
        let nullable = if column.is_nullable() {
            ", nullable"
        } else {
            ""
        };
        format!("{} at {}{nullable}", kind(column.kind), column.offset)
    };
    let field = |field: &RecordColumn| format!("{} at {}", kind(field.kind), field.offset);
    let rows: Vec<[String; 3]> = lines
        .iter()
        .map(|(in_database, in_program)| {
            let name = in_database.map(|c| &c.name).or(in_program.map(|f| &f.name));
            [
                name.cloned().unwrap_or_default(),
                in_database.map_or("-".to_string(), column),
                in_program.map_or("-".to_string(), field),
            ]
        })
        .collect();
    let width = |at: usize, least: &str| {
        let longest = rows.iter().map(|row| row[at].chars().count()).max();
        longest.unwrap_or(0).max(least.len())
    };
    let (first, second) = (width(0, "column"), width(1, "in the database"));
    let mut text = format!(
        "\n  {:first$}  {:second$}  in the program",
        "column", "in the database"
    );
    for (line, [name, database, program]) in lines.iter().zip(&rows) {
        let mark = if agrees(schema, *line) { ' ' } else { '*' };
        let _ = write!(
            text,
            "\n{mark} {name:first$}  {database:second$}  {program}"
        );
    }
    if schema.row_bytes != program_bytes {
        let database = format!("{} bytes", schema.row_bytes);
        let _ = write!(
            text,
            "\n* {:first$}  {database:second$}  {program_bytes} bytes",
            "(row)"
        );
    }
    text.push_str(
        "\ndeclare the type as the database has it, or change the table (add, drop, rename or widen columns), or give \
         the type a table of its own",
    );
    text
}

/// A type, with what tells plain data of one size apart.
fn kind(kind: Type) -> String {
    match kind {
        Type::Plain {
            bytes, fingerprint, ..
        } => format!("plain({bytes}, {:04x})", fingerprint as u16),
        other => other.to_string(),
    }
}
