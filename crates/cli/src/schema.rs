//! `schema`: the SQL that creates a database's tables and other objects.

use crate::space::{Found, Readable, look_at};
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_sql::{Declaration, declarations};
use sardonyx_storage::catalogue::{Definitions, Kind};
use serde_json::json;
use std::io::Write;

/// Print the schema as SQL.
///
/// The statements create tables, sequences, views and procedures, with their comments. Run in a new database (sardonyx
/// sql new.sdx --create < schema.sql), they give the same schema; they can also be run in PostgreSQL. Sequences
/// continue after the last number that may have been used. Read-only; while a program has the database open, the schema
/// of one recent state is printed, with --follow that of its last commit. Journals and areas are comments; unsigned
/// integers are the next larger type with a condition.
///
/// Example: sardonyx schema bank.sdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    database: Readable,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let source = self.database.source(output)?;
        let found = look_at(&source, |found| match found {
            Found::Committed(snapshot) => {
                Ok((others(snapshot.definitions()), declarations(&snapshot)?))
            }
            Found::Tables(space) => Ok((others(space.definitions()), declarations(&space.view())?)),
            Found::OfNodes(tables) => crate::nodes::declared(tables, others),
        });
        let (others, declarations) = found?.unwrap_or_default();
        if output.is_json() {
            let declarations = declarations.iter().map(|declaration| {
                let Declaration {
                    kind, name, sql, ..
                } = declaration;
                json!({ "kind": kind, "name": name, "sql": sql })
            });
            output.value(&declarations.collect::<Vec<_>>())?;
            return Ok(Exit::Done);
        }
        for comment in others {
            writeln!(output, "{comment}")?;
        }
        for (number, declaration) in declarations.iter().enumerate() {
            let is_table = declaration.kind == "table" && number > 0;
            writeln!(
                output,
                "{}{}",
                if is_table { "\n" } else { "" },
                declaration.sql
            )?;
        }
        Ok(Exit::Done)
    }
}

/// Definitions without a statement in SQL, as comments.
fn others(definitions: &Definitions) -> Vec<String> {
    let seen = definitions.iter().filter(|definition| {
        let name = &definition.name;
        !name.starts_with("sardonyx.") && !name.starts_with('.')
    });
    seen.filter_map(|definition| match definition.kind {
        Kind::Journal if definition.record_bytes == 0 => Some(format!(
            "-- journal {:?}: rows of any length",
            definition.name
        )),
        Kind::Journal => Some(format!(
            "-- journal {:?}: rows of {} bytes",
            definition.name, definition.record_bytes
        )),
        Kind::Area => Some(format!("-- area {:?}", definition.name)),
        _ => None,
    })
    .collect()
}
