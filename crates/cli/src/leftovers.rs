//! `leftovers`: the shared memory that killed processes left.

use crate::nodes::leftovers as of_nodes;
use sardonyx_base::leftovers::Leftover;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_mapped::leftovers as of_memory;
use sardonyx_results::table::Table;
use sardonyx_results::units;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// List or remove shared memory of killed processes.
///
/// Memory that processes share, and that of closely coupled nodes, is a file in a memory file system. Killed processes
/// leave theirs. It is removed when the database, or any other one with memory in the same place, is opened again. The
/// memory of a database holds nothing that the database's directory lacks. Memory without a database ("volatile") is
/// lost when it is removed.
///
/// Examples:
///   sardonyx leftovers
///   sardonyx leftovers --remove
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The directory of shared memory
    #[arg(long, value_name = "DIRECTORY", default_value = "/dev/shm")]
    shared_memory: PathBuf,
    /// Remove the leftovers
    #[arg(long)]
    remove: bool,
}

#[derive(Debug, Serialize)]
struct Line {
    path: String,
    bytes: u64,
    /// True if it belongs to a database.
    durable: bool,
    removed: bool,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let place = &self.shared_memory;
        if !place.is_dir() {
            let text = format!(
                "{} is not a directory: name the directory of shared memory, such as /dev/shm",
                place.display()
            );
            return Err(UsageError::NotThere(text).into());
        }
        let mut found = match self.remove {
            true => of_memory::remove(place)?,
            false => of_memory::find(place)?,
        };
        found.extend(match self.remove {
            true => of_nodes::remove(place)?,
            false => of_nodes::find(place)?,
        });
        if output.is_json() {
            let line = |leftover: &Leftover| Line {
                path: leftover.path.display().to_string(),
                bytes: leftover.bytes,
                durable: leftover.durable,
                removed: self.remove,
            };
            found.iter().try_for_each(|one| output.line(&line(one)))?;
            return Ok(Exit::Done);
        }
        if found.is_empty() {
            let place = self.shared_memory.display();
            writeln!(output, "no process left any shared memory in {place}")?;
            return Ok(Exit::Done);
        }
        let mut table = Table::new(["file", "#MiB", "of"]);
        for leftover in &found {
            let of = match leftover.durable {
                true => "a database",
                false => "volatile",
            };
            let mib = units::count(leftover.bytes.div_ceil(1 << 20));
            table.row([leftover.path.display().to_string(), mib, of.into()]);
        }
        writeln!(output, "{table}")?;
        let said = match self.remove {
            true => "removed",
            false => "unused; --remove removes them",
        };
        writeln!(output, "{said}")?;
        Ok(Exit::Done)
    }
}
