//! `COPY`: many rows at once, in PostgreSQL's text format, as CSV, or in its binary format.

pub(crate) mod binary;
mod fields;
pub(crate) mod options;

use crate::binary::{as_text, decode_binary, encode_field};
use crate::column::ResultColumn;
use crate::copy::options::CopyFormat;
use crate::error::{SqlError, code};
use crate::expression::{Environment, Parameters};
use crate::incoming::{Incoming, value_of};
use crate::memory::WRITTEN;
use crate::names::{name_of, quoted};
use crate::path::local;
use crate::plan::planning::Planning;
use crate::plan::query::plan_query;
use crate::prepared::Prepared;
use crate::relation::StoredColumn;
use crate::result::CopyData;
use crate::running::once_for;
use crate::source::Source;
use crate::text::encode_text_in;
use crate::values::zones::SessionZone;
use crate::write_target::WriteTarget;
use binary::Tuples;
use fields::{Field, Records, write_field};
use options::Options;
use sardonyx::schema::{Value, ValueRef};
use sqlparser::ast::{CopySource, CopyTarget, Ident, ObjectName, Query, Statement};
use std::borrow::Cow;
use std::cell::Cell;

/// The source or target of a `COPY`.
enum Of<'s> {
    Table(&'s ObjectName, &'s [Ident]),
    Query(&'s Query),
}

fn parts(prepared: &Prepared) -> Result<(Of<'_>, bool, Options), SqlError> {
    let Some(Statement::Copy {
        source,
        to,
        target,
        options,
        legacy_options,
        ..
    }) = prepared.statement()
    else {
        return Err(SqlError::syntax("COPY is expected"));
    };
    if !matches!(target, CopyTarget::Stdin | CopyTarget::Stdout) {
        return Err(SqlError::unsupported(
            "COPY is supported from STDIN and to STDOUT: the server reads and writes no files",
        ));
    }
    let options = Options::of(options, legacy_options)?;
    let of = match source {
        CopySource::Table {
            table_name,
            columns,
        } => Of::Table(table_name, columns),
        CopySource::Query(query) => Of::Query(query),
    };
    Ok((of, *to, options))
}

/// Checks a statement before it runs. Returns its number of columns.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn check(prepared: &Prepared, source: &dyn Source) -> Result<usize, SqlError> {
    let (of, to, options) = parts(prepared)?;
    if !to && !options.quoted.is_empty() {
        let text = "COPY force quote only available using COPY TO";
        return Err(SqlError::unsupported(text));
    }
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, &prepared.rights())?;
    match (of, to) {
        (Of::Table(name, columns), _) => {
            let relation = match to {
                true => planning.relation(name)?,
                false => planning.relation_to_change(name)?,
            };
            let mut rest = columns.iter();
            while let Some(column) = rest.next() {
                let name = name_of(column);
                if relation.column(&name)?.is_generated {
                    return Err(SqlError::new(
                        code::INVALID_COLUMN_REFERENCE,
                        format!("column \"{name}\" is a generated column"),
                    )
                    .detail("Generated columns cannot be used in COPY."));
                }
                if rest.clone().any(|other| name_of(other) == name) {
                    return Err(SqlError::new(
                        code::DUPLICATE_COLUMN,
                        format!("column \"{name}\" specified more than once"),
                    ));
                }
            }
            let is_copied = |name: &str| match columns.is_empty() {
                true => relation
                    .column(name)
                    .is_ok_and(|column| !column.is_generated),
                false => columns.iter().any(|column| name_of(column) == name),
            };
            options.check_columns(|name| relation.column(name).is_ok(), is_copied)?;
            Ok(match columns.len() {
                0 => relation
                    .columns
                    .iter()
                    .filter(|there| !there.is_generated)
                    .count(),
                some => some,
            })
        }
        (Of::Query(query), true) => {
            let plan = plan_query(&mut planning, query)?;
            let given = &plan.output.columns;
            let exists = |name: &str| given.iter().any(|column| column.name == name);
            options.check_columns(exists, |_| true)?;
            Ok(given.len())
        }
        (Of::Query(_), false) => Err(SqlError::syntax("COPY FROM needs a table")),
    }
}

/// The number of the table into which a statement copies.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn table_of(prepared: &Prepared, source: &dyn Source) -> Result<u16, SqlError> {
    match parts(prepared)?.0 {
        Of::Table(name, _) => {
            let mut parameters = Parameters::default();
            let mut planning = Planning::new(source, &mut parameters, &prepared.rights())?;
            Ok(planning.relation_to_change(name)?.number)
        }
        Of::Query(_) => Err(SqlError::syntax("COPY FROM needs a table")),
    }
}

/// Stores the rows that a client sent. Returns their number.
///
/// # Errors
/// `22P04` if they cannot be read, with the line and the column; an error of storing a row.
pub(crate) fn from_client(
    tx: &mut dyn WriteTarget,
    prepared: &Prepared,
    _version: u64,
    data: &CopyData,
    with: &Environment<'_>,
) -> Result<u64, SqlError> {
    let (of, _, options) = parts(prepared)?;
    let Of::Table(name, columns) = of else {
        return Err(SqlError::syntax("COPY FROM needs a table"));
    };
    let columns: Vec<String> = columns.iter().map(name_of).collect();
    let incoming = Incoming::of(&*tx, &prepared.rights(), &name.to_string(), &columns)?;
    let plan = &incoming.plan;
    let table = local(&plan.table);
    let line = Cell::new(0_u64);
    let placed = |column: &StoredColumn, error: SqlError| {
        let (line, column) = (line.get(), &column.name);
        error.within(|| format!("COPY {table}, line {line}, column {column}"))
    };
    let failed = &mut |_, error| Err(error);
    let stored = match options.format {
        CopyFormat::Binary => {
            let (mut tuples, mut rest) = (Tuples::new(incoming.width()), &data.0[..]);
            let rows = std::iter::from_fn(|| {
                line.update(|line| line + 1);
                let tuple = match tuples.next(&mut rest) {
                    Ok(None) => tuples.finish(rest).err().map(Err)?,
                    Ok(Some(tuple)) => Ok(tuple),
                    Err(error) => Err(error),
                };
                let decode = |column: &StoredColumn, field| {
                    decode_binary(column.spec.kind, field).map_err(|error| placed(column, error))
                };
                Some(tuple.and_then(|fields| incoming.row(fields, decode, with)))
            });
            once_for(tx, &plan.statement_triggers(), with, |tx| {
                plan.insert_rows(tx, with, rows, failed)
            })
        }
        CopyFormat::Text | CopyFormat::Csv => {
            let text = as_text(&data.0)?;
            let mut records = Records::new(text, &options);
            let zone = with.context.zone();
            if options.header && records.next().transpose()?.is_some() {
                line.set(1);
            }
            let rows = std::iter::from_fn(|| {
                line.update(|line| line + 1);
                let record = records.next()?;
                Some(record.and_then(|fields| {
                    let fields = fields.into_iter().map(Field::into_text).collect();
                    let decode = |column: &StoredColumn, text: Cow<'_, str>| {
                        value_of(column, &text, zone.as_ref())
                            .map_err(|error| placed(column, error))
                    };
                    incoming.row(fields, decode, with)
                }))
            });
            once_for(tx, &plan.statement_triggers(), with, |tx| {
                plan.insert_rows(tx, with, rows, failed)
            })
        }
    };
    let place = || format!("COPY {table}, line {}", line.get());
    stored.map_err(|error| error.within(place))
}

/// The rows of a table or query, as they are sent. Returns their number.
///
/// # Errors
/// An error of the query.
pub(crate) fn to_client(
    prepared: &Prepared,
    _version: u64,
    source: &dyn Source,
    with: &Environment<'_>,
) -> Result<(u64, CopyData), SqlError> {
    let (of, _, options) = parts(prepared)?;
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, &prepared.rights())?;
    let select = match of {
        Of::Query(query) => plan_query(&mut planning, query)?,
        Of::Table(name, columns) => {
            let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
            let relation = planning.relation(name)?;
            let generated = relation.columns.iter().any(|column| column.is_generated);
            let columns = match columns.is_empty() {
                true if generated => {
                    let columns = relation.columns.iter();
                    let own = columns.filter(|column| !column.is_generated);
                    own.map(|column| quoted(&column.name))
                        .collect::<Vec<_>>()
                        .join(", ")
                }
                true => "*".to_string(),
                false => columns.join(", "),
            };
            let text = format!("select {columns} from {name}");
            match crate::parse::parse_kept(&text)?.pop() {
                Some(Statement::Query(query)) => plan_query(&mut planning, &query)?,
                _ => return Err(SqlError::unknown_table(&name.to_string())),
            }
        }
    };
    let table = select.run(source, with)?;
    let columns = &select.output.columns;
    let mut memory = with.memory();
    memory.take(&table.values)?;
    memory.reserve(memory.bytes().saturating_mul(WRITTEN))?;
    let rows = table.values.chunks(table.width.max(1));
    let data = match options.format {
        CopyFormat::Binary => binary_of(columns, rows)?,
        CopyFormat::Text | CopyFormat::Csv => {
            let zone = with.context.zone();
            text_of(columns, rows, &options, zone.as_ref()).into_bytes()
        }
    };
    Ok((table.rows, CopyData(data)))
}

fn binary_of<'r>(
    columns: &[ResultColumn],
    rows: impl Iterator<Item = &'r [Value]>,
) -> Result<Vec<u8>, SqlError> {
    let (mut out, mut scratch) = (Vec::new(), String::new());
    binary::write_header(&mut out);
    for row in rows {
        binary::begin_tuple(columns.len(), &mut out);
        for (value, column) in row.iter().zip(columns) {
            encode_field(column.spec.kind, &value.as_ref(), &mut scratch, &mut out)?;
        }
    }
    binary::write_trailer(&mut out);
    Ok(out)
}

fn text_of<'r>(
    columns: &[ResultColumn],
    rows: impl Iterator<Item = &'r [Value]>,
    options: &Options,
    zone: Option<&SessionZone>,
) -> String {
    let (mut out, is_alone) = (String::new(), columns.len() == 1);
    if options.header {
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.push(options.delimiter);
            }
            write_field(Some(&column.name), (is_alone, false), options, &mut out);
        }
        out.push('\n');
    }
    let quoted: Vec<bool> = columns
        .iter()
        .map(|column| options.quotes(&column.name))
        .collect();
    let mut field = String::new();
    for row in rows {
        let columns = columns.iter().zip(&quoted);
        for (at, (value, (column, is_quoted))) in row.iter().zip(columns).enumerate() {
            if at > 0 {
                out.push(options.delimiter);
            }
            field.clear();
            let value = value.as_ref();
            encode_text_in(column.spec.kind, &value, zone, &mut field);
            let is_null = value == ValueRef::Null;
            let shown = (!is_null).then_some(&*field);
            write_field(shown, (is_alone, *is_quoted), options, &mut out);
        }
        out.push('\n');
    }
    out
}
