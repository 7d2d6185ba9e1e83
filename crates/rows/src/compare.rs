//! Comparison of the rows that a program declares with the table in the database: the differences, and how to resolve
//! them.

use crate::columns::{RecordColumn, schema_of};
use crate::error::{TableError, check_name};
use crate::fields::{check_fields, differs};
use crate::plain::PlainLayout;
use crate::record::{Record, definition_of_plain};
use crate::schema::{Column, IndexKind, Schema, Type};
use sardonyx_storage::catalogue::{Catalogue, Definition, Kind};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A line of the comparison: a column as the database has it, as the program has it.
type Line<'a> = (Option<&'a Column>, Option<&'a RecordColumn>);

/// The number of a record type's table, if it is declared, for every way of running transactions. Its columns are
/// compared with the type's fields if a schema of it is `stored`, otherwise the catalogue's entry is.
///
/// # Errors
/// [`TableError::Catalogue`] (`LayoutDiffers`) or [`TableError::SchemaDiffers`] if it is declared with
/// another layout; [`TableError::ReservedName`].
pub fn table_of<'s, R: Record>(
    catalogue: &Catalogue,
    stored: impl FnOnce(u16) -> Option<&'s Schema>,
) -> Result<Option<u16>, TableError> {
    check_name(R::TABLE)?;
    let named = catalogue.definitions.named(R::TABLE);
    let schema = named.and_then(|number| Some((number, stored(number)?)));
    match (schema, R::PLAIN) {
        (Some((number, schema)), Some(plain)) => {
            compare(&plain, schema, &catalogue.definitions[usize::from(number)])?;
            Ok(Some(number))
        }
        (Some((number, schema)), None) => {
            check_fields::<R>(schema)?;
            Ok(Some(number))
        }
        (None, Some(plain)) => Ok(catalogue.number_of(&definition_of_plain(R::TABLE, &plain))?),
        (None, None) if named.is_some() => {
            let text =
                "there is something else of this name, or a table whose columns are not known";
            Err(differs(R::TABLE, text.to_string()))
        }
        (None, None) => Ok(None),
    }
}

/// The number of a record type's table, if it is declared, for a way of running transactions that maintains only rows;
/// `schemas` are all that are stored.
///
/// # Errors
/// The errors of [`table_of`]; [`TableError::BeyondRecords`] if the table has more than rows.
pub fn records_of<R: Record>(
    catalogue: &Catalogue,
    schemas: &BTreeMap<u16, Schema>,
) -> Result<Option<u16>, TableError> {
    let found = table_of::<R>(catalogue, |number| schemas.get(&number))?;
    let Some(number) = found else {
        return Ok(None);
    };
    // A record's bytes would be taken for references to texts.
    let has_texts = |schema: &Schema| schema.variable_columns().next().is_some();
    let texts = schemas.get(&number).is_some_and(has_texts) && R::PLAIN.is_some();
    let texts = texts.then_some("text or bytes of any length");
    match beyond_rows(number, schemas).or(texts) {
        None => Ok(Some(number)),
        Some(what) => Err(TableError::BeyondRecords {
            table: R::TABLE.to_string(),
            what,
        }),
    }
}

/// The schema of a new table of a record type that is not plain data, for a way of running transactions that maintains
/// only rows.
///
/// # Errors
/// [`TableError::BeyondRecords`] if the type declares more; [`TableError::Schema`] if no table can have it.
pub fn declared_rows<R: Record>() -> Result<Schema, TableError> {
    let declared = R::declared();
    let schema = declared.rows().map_err(|source| TableError::Schema {
        table: R::TABLE.to_string(),
        source: Box::new(source),
    })?;
    let references = declared.reference_names().next();
    let references = references.map(|_| "references to other tables");
    match schema.beyond_rows().or(references) {
        None => Ok(schema),
        Some(what) => Err(TableError::BeyondRecords {
            table: R::TABLE.to_string(),
            what,
        }),
    }
}

/// The first thing that a table has beyond rows that depend on nothing else, if any; `schemas` are all that are stored.
#[inline]
pub fn beyond_rows(number: u16, schemas: &BTreeMap<u16, Schema>) -> Option<&'static str> {
    let own = schemas.get(&number).and_then(Schema::beyond_rows);
    own.or_else(|| {
        let mut references = schemas.values().flat_map(|schema| &schema.foreign_keys);
        let is_referenced = references.any(|reference| reference.table == number);
        is_referenced.then_some("references from other tables")
    })
}

/// Checks that records of this type are the rows of a table with this schema, in any store.
///
/// # Errors
/// [`TableError::SchemaDiffers`].
pub(crate) fn check_record<R: Record>(table: &str, schema: &Schema) -> Result<(), TableError> {
    match R::PLAIN {
        Some(plain) => compare(&plain, schema, &schema.definition(table)),
        None => check_fields::<R>(schema),
    }
}

/// The schema of a table of plain records: the type's fields, or only the key if it does not declare them; `None` if
/// they are not plain.
pub fn record_schema<R: Record>() -> Option<Schema> {
    let definition = definition_of_plain(R::TABLE, &R::PLAIN?);
    Some(schema_of::<R>().unwrap_or_else(|| Schema::of_definition(&definition)))
}

/// Checks that records of this type are the rows of a table with this schema and definition. If columns were added,
/// the rows need only begin with such a record.
///
/// Columns are compared by name, type and place. A field of bytes, `[u8; N]`, where the table has no column, only
/// fills.
///
/// # Errors
/// [`TableError::SchemaDiffers`].
fn compare(
    plain: &PlainLayout,
    schema: &Schema,
    definition: &Definition,
) -> Result<(), TableError> {
    let differs = |text| {
        Err(TableError::SchemaDiffers {
            table: definition.name.clone(),
            text,
        })
    };
    let row_bytes = first_row_bytes(schema);
    if let Some(fields) = (plain.columns)() {
        let lines = lines(schema, &fields);
        if row_bytes != plain.bytes || lines.iter().any(|line| !agrees(schema, *line)) {
            return differs(both_sides(schema, plain.bytes, &lines));
        }
    } else if !schema.begins_with_records() {
        return differs(
            "columns were dropped or widened, and others added, but the type does not declare its fields; name \
             them all in `record!`, or declare the type with `#[derive(Record)]`, or use rows"
                .to_string(),
        );
    }
    let key = Kind::Table {
        key_offset: plain.key_offset,
        key_bytes: plain.key_bytes,
    };
    if schema.primary.kind != IndexKind::Hash {
        return differs(
            "its primary key is ordered, a plain record's is found by its hash; declare the type with \
             `#[derive(Record)]`, or use rows"
                .to_string(),
        );
    }
    if definition.kind != key || row_bytes != plain.bytes {
        let declared = Definition {
            name: definition.name.clone(),
            record_bytes: plain.bytes,
            kind: key,
        };
        let there = Definition {
            record_bytes: row_bytes,
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

/// Bytes of a row of the first shape, with which the others begin.
fn first_row_bytes(schema: &Schema) -> usize {
    schema.row_bytes_of_shape(0).unwrap_or(schema.row_bytes)
}

/// The columns of both, those of one name beside each other, in the order of their offsets.
fn lines<'a>(schema: &'a Schema, fields: &'a [RecordColumn]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::with_capacity(schema.columns.len());
    for (_, column) in schema.live_columns() {
        let field = fields.iter().find(|field| field.name == column.name);
        lines.push((Some(column), field));
    }
    for field in fields {
        if schema.column(&field.name).is_none() {
            lines.push((None, Some(field)));
        }
    }
    lines.sort_by_key(|(column, field)| {
        let of_field = field.map(|field| field.offset);
        column.map(|column| column.offset).or(of_field)
    });
    lines
}

fn agrees(schema: &Schema, line: Line<'_>) -> bool {
    match line {
        (Some(column), Some(field)) => {
            column.kind == field.kind
                && column.offset == field.offset
                && column.null.is_none()
                && column.since_shape == 0
        }
        // New records get its default.
        (Some(column), None) => column.since_shape > 0 && column.is_filled(),
        (None, Some(field)) => {
            let field_end = field.offset + field.kind.bytes();
            // While there is one shape only, filler may cover a dropped column.
            let matters = |column: &&Column| !column.dropped || !schema.begins_with_records();
            field.is_bytes()
                && schema.columns.iter().filter(matters).all(|column| {
                    let end = column.offset + column.kind.bytes();
                    let null = column.null.map_or(usize::MAX, |null| null.byte as usize);
                    (end <= field.offset || field_end <= column.offset)
                        && !(field.offset..field_end).contains(&null)
                })
        }
        (None, None) => true,
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
        let added = if column.since_shape > 0 {
            ", added"
        } else {
            ""
        };
        format!(
            "{} at {}{nullable}{added}",
            kind(column.kind),
            column.offset
        )
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
    let row_bytes = first_row_bytes(schema);
    if row_bytes != program_bytes {
        let database = format!("{row_bytes} bytes");
        let _ = write!(
            text,
            "\n* {:first$}  {database:second$}  {program_bytes} bytes",
            "(row)"
        );
    }
    text.push_str(match schema.earlier_shapes.is_empty() {
        true => {
            "\ndeclare the type as the database has it, or change the table (add, drop, rename or widen columns), or \
             give the type a table of its own"
        }
        false => {
            "\nrows from before a column was added do not have it, so a plain record can only be their beginning: \
             declare the type without the added columns, if no other was dropped or widened, or with \
             `#[derive(Record)]`, or use rows"
        }
    });
    text
}

/// A type, with the size and fingerprint of plain data.
fn kind(kind: Type) -> String {
    match kind {
        Type::Plain {
            bytes, fingerprint, ..
        } => format!("plain({bytes}, {:04x})", fingerprint as u16),
        other => other.to_string(),
    }
}
