//! The journal's archive: every chunk of every file.

use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::table::{Sheet, Table};
use sardonyx_results::units;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::inspect::{ChunkListing, chunks};
use sardonyx_storage::journal::JournalError;
use sardonyx_storage::journal::archive::ChunkState;
use sardonyx_storage::manifest::Manifest;
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;

/// A chunk as it is printed, or the state of its place.
#[derive(Debug, Serialize)]
struct Line {
    file: String,
    offset: u64,
    /// `valid`, or why it is no chunk.
    state: &'static str,
    #[serde(flatten)]
    chunk: Option<Chunk>,
}

#[derive(Debug, Serialize)]
struct Chunk {
    chunk: u64,
    rows: u64,
    bytes: u64,
    from_group: u64,
    to_group: u64,
    from_lsn: u64,
    to_lsn: u64,
}

fn lines(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Result<Vec<Line>, JournalError> {
    let listings = chunks(&**disk, manifest.identity)?;
    let line = |listing: ChunkListing| {
        let ChunkListing {
            file,
            offset,
            state,
            ..
        } = listing;
        match state {
            ChunkState::End => None,
            ChunkState::Invalid(state) => Some(Line {
                file,
                offset,
                state,
                chunk: None,
            }),
            ChunkState::Valid(header) => {
                let chunk = Chunk {
                    chunk: header.number,
                    rows: header.rows,
                    bytes: header.bytes_on_disk() as u64,
                    from_group: header.from.group,
                    to_group: header.to.group,
                    from_lsn: header.from.lsn.0,
                    to_lsn: header.to.lsn.0,
                };
                Some(Line {
                    file,
                    offset,
                    state: "valid",
                    chunk: Some(chunk),
                })
            }
        }
    };
    Ok(listings.into_iter().filter_map(line).collect())
}

/// Prints every chunk.
pub fn print(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let lines = lines(disk, manifest)?;
    if output.is_json() {
        lines.iter().try_for_each(|line| output.line(line))?;
        return Ok(Exit::Done);
    }
    let names = [
        "file",
        "#offset",
        "#chunk",
        "#rows",
        "#bytes",
        "#from group",
        "#to group",
        "state",
    ];
    let mut table = Table::new(names);
    for line in &lines {
        let of = |figure: fn(&Chunk) -> u64| {
            line.chunk
                .as_ref()
                .map_or_else(|| "-".into(), |chunk| figure(chunk).to_string())
        };
        table.row([
            line.file.clone(),
            line.offset.to_string(),
            of(|chunk| chunk.chunk),
            of(|chunk| chunk.rows),
            of(|chunk| chunk.bytes),
            of(|chunk| chunk.from_group),
            of(|chunk| chunk.to_group),
            line.state.into(),
        ]);
    }
    write!(output, "{table}")?;
    Ok(Exit::Done)
}

/// The archive in a few figures.
#[derive(Debug, Serialize)]
pub struct Summary {
    chunks: u64,
    rows: u64,
    bytes: u64,
    /// Places that hold something other than a chunk.
    torn: u64,
}

impl Summary {
    /// Reads every chunk.
    pub fn of(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Result<Self, JournalError> {
        let lines = lines(disk, manifest)?;
        let chunks = || lines.iter().filter_map(|line| line.chunk.as_ref());
        Ok(Summary {
            chunks: chunks().count() as u64,
            rows: chunks().map(|chunk| chunk.rows).sum(),
            bytes: chunks().map(|chunk| chunk.bytes).sum(),
            torn: lines.iter().filter(|line| line.chunk.is_none()).count() as u64,
        })
    }

    /// Adds it to a sheet.
    pub fn print(&self, sheet: &mut Sheet) {
        sheet.heading("Journal archive");
        let remark = format!("in {} chunks, {}", self.chunks, units::bytes(self.bytes));
        sheet.remarked("rows", units::count(self.rows), remark);
        if self.torn > 0 {
            sheet.figure("torn chunks", units::count(self.torn));
        }
    }
}
