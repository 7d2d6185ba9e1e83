//! `COPY`: many rows at once, in PostgreSQL's text format or as CSV.

mod fields;
mod options;

use crate::error::{SqlError, code};
use crate::expression::{Environment, Parameters};
use crate::names::name_of;
use crate::plan::insert::{InsertPlan, plan_insert};
use crate::plan::planning::Planning;
use crate::plan::query::plan_query;
use crate::prepared::Prepared;
use crate::result::CopyData;
use crate::source::Source;
use crate::text::{decode_text, encode_text};
use crate::types::TypeSpec;
use fields::{Field, Records, write_field};
use options::Options;
use sardonyx::Transaction;
use sardonyx::schema::{Value, ValueRef};
use sqlparser::ast::{CopySource, CopyTarget, Ident, ObjectName, Query, Statement};

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

/// Stores what a client sent. Returns how many rows.
///
/// # Errors
/// `22P04` if it cannot be read, with the line; what cannot be stored.
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
    let text = std::str::from_utf8(&data.0).map_err(|error| {
        SqlError::new(
            "22021",
            format!("what was sent is not UTF-8 at byte {}", error.valid_up_to()),
        )
    })?;
    let mut records = Records::new(text, &options);
    let mut line = 0_u64;
    if options.header && records.next().transpose()?.is_some() {
        line += 1;
    }
    let rows = std::iter::from_fn(|| {
        let record = records.next()?;
        line += 1;
        let row = record.and_then(|fields| row_of(&plan, &targets, &fields, with));
        Some(row.map_err(|error| {
            let place = format!("COPY {}, line {line}", plan.table);
            match &error.detail {
                Some(_) => error,
                None => error.detail(place),
            }
        }))
    });
    plan.insert_rows(tx, with, rows)
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

fn row_of(
    plan: &InsertPlan,
    targets: &[(usize, TypeSpec)],
    fields: &[Field<'_>],
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
    for (field, (place, spec)) in fields.iter().zip(targets) {
        given.push((
            *place,
            match field {
                Field::Null => Value::Null,
                Field::Text(text) => decode_text(spec.kind, text)?,
            },
        ));
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
    let mut out = String::new();
    if options.header {
        for (at, column) in select.output.columns.iter().enumerate() {
            if at > 0 {
                out.push(options.delimiter);
            }
            write_field(Some(&column.name), &options, &mut out);
        }
        out.push('\n');
    }
    let mut field = String::new();
    for row in table.values.chunks(table.width.max(1)) {
        for (at, (value, column)) in row.iter().zip(select.output.columns.iter()).enumerate() {
            if at > 0 {
                out.push(options.delimiter);
            }
            field.clear();
            let value = value.as_ref();
            encode_text(column.spec.kind, &value, &mut field);
            let is_null = value == ValueRef::Null;
            write_field((!is_null).then_some(&*field), &options, &mut out);
        }
        out.push('\n');
    }
    Ok((table.rows, CopyData(out.into_bytes())))
}
