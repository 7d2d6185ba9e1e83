//! The catalogue: every table, journal and area. It is in the pages, which are recovered in memory only.

use crate::catalogue_figures::CatalogueFigures;
use crate::target::Files;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::recovery::recover;
use sardonyx_table::TableSpace;
use std::io::Write;

/// Prints every definition, and the number of unfinished multi-level transactions.
pub fn print(files: &Files, output: &mut Output) -> anyhow::Result<Exit> {
    let read = || {
        let manifest = Manifest::read(&*files.disk)?;
        let mut recovered = recover(&files.disk, &manifest, files.dry_run())?;
        let mut figures = CatalogueFigures::of_store(&mut recovered.store)?;
        // Tables that are damaged, or that only their program can open, are listed, too.
        if let Some(figures) = &mut figures
            && let Ok((space, _)) = TableSpace::open(recovered.store, 1)
        {
            figures.look_into(&space);
        }
        Ok(figures)
    };
    let figures = files.read(read, |_| None)?;
    if output.is_json() {
        output.value(&figures)?;
        return Ok(Exit::Done);
    }
    let Some(figures) = figures else {
        writeln!(
            output,
            "No tables: the database is empty, or the mapped way created it."
        )?;
        return Ok(Exit::Done);
    };
    write!(output, "{}", figures.table())?;
    if let Some(warning) = figures.warning() {
        writeln!(output, "\nUNFINISHED: {warning}.")?;
    }
    Ok(Exit::Done)
}
