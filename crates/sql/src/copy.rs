//! `COPY`: many rows at once, in PostgreSQL's text format, as CSV, or in its binary format.

pub(crate) mod binary;
mod fields;
mod options;

use crate::binary::{as_text, decode_binary, encode_field};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Parameters};
use crate::names::name_of;
use crate::plan::ResultColumn;
use crate::plan::insert::{InsertPlan, plan_insert};
use crate::plan::planning::Planning;
use crate::plan::query::plan_query;
use crate::prepared::Prepared;
use crate::result::{CopyData, CopyFormat};
use crate::source::Source;
use crate::text::{decode_text, encode_text};
use crate::types::{SqlType, TypeSpec};
use binary::Tuples;
use fields::{Field, Records, write_field};
use options::Options;
use sardonyx::Transaction;
use sardonyx::schema::{Value, ValueRef};
use sqlparser::ast::{CopySource, CopyTarget, Ident, ObjectName, Query, Statement};
use std::borrow::Cow;
use std::cell::Cell;

/// What a `COPY` is of.
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

/// Checks a statement before it is run. Returns how many columns it has.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(prepared: &Prepared, source: &Source<'_>) -> Result<usize, SqlError> {
    let (of, to, _) = parts(prepared)?;
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(*source, &mut parameters, prepared.rights());
    match (of, to) {
        (Of::Table(name, columns), _) => {
            let relation = match to {
                true => planning.relation(name)?,
                false => planning.relation_to_change(name)?,
            };
            for column in columns {
                relation.column(&name_of(column))?;
            }
            Ok(match columns.len() {
                0 => relation.columns.len(),
                some => some,
            })
        }
        (Of::Query(query), true) => {
            let plan = plan_query(&mut planning, query)?;
            Ok(plan.output.columns.len())
        }
        (Of::Query(_), false) => Err(SqlError::syntax("COPY FROM needs a table")),
    }
}

/// The format of a `COPY`; text of what is none, or cannot be run.
pub(crate) fn format_of(statement: Option<&Statement>) -> CopyFormat {
    match statement {
        Some(Statement::Copy {
            options,
            legacy_options,
            ..
        }) => Options::of(options, legacy_options).map_or(CopyFormat::Text, |found| found.format),
        _ => CopyFormat::Text,
    }
}

/// Stores what a client sent. Returns how many rows.
///
/// # Errors
/// `22P04` if it cannot be read, with the line and the column; what cannot be stored.
pub(crate) fn from_client(
    tx: &mut Transaction<'_>,
    prepared: &Prepared,
    _version: u64,
    data: &CopyData,
    with: &Environment<'_>,
) -> Result<u64, SqlError> {
    let (of, _, options) = parts(prepared)?;
    let Of::Table(name, columns) = of else {
        return Err(SqlError::syntax("COPY FROM needs a table"));
    };
    let (plan, targets) = insert_plan(tx, prepared, name, columns)?;
    let line = Cell::new(0_u64);
    let stored = match options.format {
        CopyFormat::Binary => {
            let (mut tuples, mut rest) = (Tuples::new(targets.len()), &data.0[..]);
            let rows = std::iter::from_fn(|| {
                line.update(|line| line + 1);
                let tuple = match tuples.next(&mut rest) {
                    Ok(None) => tuples.finish(rest).err().map(Err)?,
                    Ok(Some(tuple)) => Ok(tuple),
                    Err(error) => Err(error),
                };
                Some(tuple.and_then(|fields| {
                    row_of(&plan, &targets, fields, decode_binary, line.get(), with)
                }))
            });
            plan.insert_rows(tx, with, rows)
        }
        CopyFormat::Text | CopyFormat::Csv => {
            let text = as_text(&data.0)?;
            let mut records = Records::new(text, &options);
            if options.header && records.next().transpose()?.is_some() {
                line.set(1);
            }
            let rows = std::iter::from_fn(|| {
                line.update(|line| line + 1);
                let record = records.next()?;
                Some(record.and_then(|fields| {
                    let fields = fields.into_iter().map(Field::into_text).collect();
                    let decode = |kind, text: Cow<'_, str>| decode_text(kind, &text);
                    row_of(&plan, &targets, fields, decode, line.get(), with)
                }))
            });
            plan.insert_rows(tx, with, rows)
        }
    };
    let place = || format!("COPY {}, line {}", plan.table, line.get());
    stored.map_err(|error| error.within(place))
}

/// The plan of an insert into columns, and the places of those.
fn insert_plan(
    tx: &Transaction<'_>,
    prepared: &Prepared,
    name: &ObjectName,
    columns: &[Ident],
) -> Result<(InsertPlan, Vec<(usize, TypeSpec)>), SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(Source::Live(tx.view()), &mut parameters, prepared.rights());
    // As `insert into t default values` is planned: what is not given has its default.
    let text = format!("insert into {name} default values");
    let statement = crate::parse::parse_kept(&text)?.pop();
    let plan = match &statement {
        Some(Statement::Insert(insert)) => plan_insert(&mut planning, insert)?,
        _ => return Err(SqlError::unknown_table(&name.to_string())),
    };
    let mut targets = Vec::with_capacity(columns.len());
    for column in columns {
        let name = name_of(column);
        let place = plan
            .columns
            .iter()
            .position(|(there, _)| there.name == name);
        let place = place.ok_or_else(|| SqlError::unknown_column(&name))?;
        targets.push((place, plan.columns[place].0.spec));
    }
    if columns.is_empty() {
        let all = plan.columns.iter().enumerate();
        targets = all
            .map(|(place, (column, _))| (place, column.spec))
            .collect();
    }
    Ok((plan, targets))
}

/// The row of a line's fields, each of which is read for its column.
fn row_of<F>(
    plan: &InsertPlan,
    targets: &[(usize, TypeSpec)],
    fields: Vec<Option<F>>,
    decode: impl Fn(SqlType, F) -> Result<Value, SqlError>,
    line: u64,
    with: &Environment<'_>,
) -> Result<Vec<Value>, SqlError> {
    if fields.len() != targets.len() {
        return Err(SqlError::new(
            code::BAD_COPY,
            format!(
                "a line has {} columns, and {} are expected",
                fields.len(),
                targets.len()
            ),
        ));
    }
    let mut given = Vec::with_capacity(fields.len());
    for (field, (place, spec)) in fields.into_iter().zip(targets) {
        let value = match field {
            None => Value::Null,
            Some(field) => decode(spec.kind, field).map_err(|error| {
                let column = plan.columns.get(*place).map(|(column, _)| &*column.name);
                let column = column.unwrap_or_default();
                error.within(|| format!("COPY {}, line {line}, column {column}", plan.table))
            })?,
        };
        given.push((*place, value));
    }
    plan.complete(given, with)
}

/// The rows of a table or query, as they are sent. Returns how many there are.
///
/// # Errors
/// What is wrong with the query.
pub(crate) fn to_client(
    prepared: &Prepared,
    _version: u64,
    source: &Source<'_>,
    with: &Environment<'_>,
) -> Result<(u64, CopyData), SqlError> {
    let (of, _, options) = parts(prepared)?;
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(*source, &mut parameters, prepared.rights());
    let select = match of {
        Of::Query(query) => plan_query(&mut planning, query)?,
        Of::Table(name, columns) => {
            let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
            let columns = match columns.is_empty() {
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
    let rows = table.values.chunks(table.width.max(1));
    let data = match options.format {
        CopyFormat::Binary => binary_of(columns, rows)?,
        CopyFormat::Text | CopyFormat::Csv => text_of(columns, rows, &options).into_bytes(),
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
) -> String {
    let mut out = String::new();
    if options.header {
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.push(options.delimiter);
            }
            write_field(Some(&column.name), options, &mut out);
        }
        out.push('\n');
    }
    let mut field = String::new();
    for row in rows {
        for (at, (value, column)) in row.iter().zip(columns).enumerate() {
            if at > 0 {
                out.push(options.delimiter);
            }
            field.clear();
            let value = value.as_ref();
            encode_text(column.spec.kind, &value, &mut field);
            let is_null = value == ValueRef::Null;
            write_field((!is_null).then_some(&*field), options, &mut out);
        }
        out.push('\n');
    }
    out
}
