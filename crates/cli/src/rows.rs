//! `rows`: the rows of a table that meet a condition.

use crate::space::{Found as Tables, Readable, look_at};
use anyhow::Context;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_interchange::value_to_json;
use sardonyx_results::table::Table;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_sql::RowFilter;
use std::io::Write;

/// Print the rows of a table.
///
/// The rows are in no particular order. The database is not changed; while a program has it open, the verb prints a
/// state that the database had meanwhile. With --follow that is its last commit, found in its log at any write rate. A
/// condition is any expression of SQL on the columns, without queries, with literals such as 12.5, 'text', date
/// '2026-01-31', '\x0aff' for bytes; names with capital letters are written in "quotes". A table without declared
/// columns has the columns before, key and after, as bytes. Tables of nodes are read, too. With --json a row is an
/// object in a line.
///
/// Examples:
///   sardonyx rows bank.sdx accounts --limit 10
///   sardonyx rows bank.sdx accounts --follow
///   sardonyx rows bank.sdx accounts --where "balance < 0 and owner like 'A%'" --columns id,balance --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    database: Readable,
    /// The table
    table: String,
    /// Print only rows that meet this condition
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Print only these columns
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    columns: Vec<String>,
    /// Print at most this many rows [default: all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Rows that were found.
struct Found {
    names: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let source = self.database.source(output)?;
        let found = look_at(&source, |tables| self.find(tables))?;
        let Some(Found { names, rows }) = found else {
            anyhow::bail!(sardonyx_storage::catalogue::CatalogueError::UnknownTable {
                name: self.table.clone()
            });
        };
        if output.is_json() {
            for row in rows {
                let values = row.iter().map(|value| value_to_json(value.as_ref()));
                let object: serde_json::Map<_, _> = names.iter().cloned().zip(values).collect();
                output.line(&object)?;
            }
            return Ok(Exit::Done);
        }
        let mut table = Table::new(names.iter().map(String::as_str));
        for row in &rows {
            table.row(row.iter().map(shown));
        }
        write!(output, "{table}")?;
        Ok(Exit::Done)
    }

    fn find(&self, mut tables: Tables<'_>) -> anyhow::Result<Found> {
        let schema = &tables.schema(&self.table)?;
        let columns = numbers_of(schema, &self.columns)?;
        let condition = self.condition.as_deref();
        let condition = condition
            .map(|text| RowFilter::parse(text, schema))
            .transpose();
        let condition = condition.context("--where")?;
        let asked = condition.as_ref().map_or(Vec::new(), RowFilter::columns);
        let mut found = Vec::new();
        tables.each_row(&self.table, &mut |row| {
            if self.limit.is_some_and(|limit| found.len() >= limit) {
                return Ok(false);
            }
            let mut values = vec![ValueRef::Null; schema.columns.len()];
            for column in &asked {
                values[*column] = row.cell(*column)?;
            }
            let holds = match &condition {
                Some(condition) => condition.holds(&values).context("--where")?,
                None => true,
            };
            if holds {
                let values = columns
                    .iter()
                    .map(|column| Ok(row.cell(*column)?.to_value()));
                found.push(values.collect::<anyhow::Result<Vec<Value>>>()?);
            }
            Ok(true)
        })?;
        let names = columns
            .iter()
            .map(|column| schema.columns[*column].name.clone());
        Ok(Found {
            names: names.collect(),
            rows: found,
        })
    }
}

/// The numbers of the columns with these names; of all visible columns if no name is given.
pub fn numbers_of(schema: &Schema, names: &[String]) -> anyhow::Result<Vec<usize>> {
    if names.is_empty() {
        let seen = schema.live_columns();
        let seen = seen.filter(|(number, _)| !sardonyx_sql::is_hidden(schema, *number));
        return Ok(seen.map(|(number, _)| number).collect());
    }
    let number = |name: &String| {
        let number = schema.column(name);
        number.ok_or_else(|| anyhow::anyhow!("--columns: there is no column {name:?}"))
    };
    names.iter().map(number).collect()
}

/// A value as a cell; one with several lines is shown in one.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Text(text) if text.contains(char::is_control) => text.escape_debug().to_string(),
        other => other.to_string(),
    }
}
