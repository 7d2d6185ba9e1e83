//! The manifest.

use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::places::{self, Place, PlacesError};
use serde::Serialize;
use std::io::Write;

/// The manifest as it is printed.
#[derive(Debug, Serialize)]
pub struct Listing {
    format_version: u32,
    identity: String,
    page_bytes: u32,
    segment_bytes: u64,
    block_bytes: u32,
    stripes: u32,
    incarnation: u32,
    journal: String,
    /// The directories that have parts of the database.
    elsewhere: Vec<Elsewhere>,
}

/// A directory with parts of the database.
#[derive(Debug, Serialize)]
struct Elsewhere {
    directory: String,
    parts: String,
}

impl Listing {
    /// The manifest, with the places of parts in other directories.
    pub fn of(disk: &dyn Disk, manifest: &Manifest) -> Result<Self, PlacesError> {
        let elsewhere = places::listed(disk, manifest)?.into_iter();
        Ok(Listing {
            format_version: manifest.format_version,
            identity: format!("{:016x}", manifest.identity),
            page_bytes: manifest.page_bytes,
            segment_bytes: manifest.segment_bytes,
            block_bytes: manifest.block_bytes,
            stripes: manifest.stripes,
            incarnation: manifest.incarnation,
            journal: manifest.journal.to_string(),
            elsewhere: elsewhere
                .map(|Place { directory, parts }| Elsewhere { directory, parts })
                .collect(),
        })
    }

    /// Adds it to a sheet.
    pub fn print(&self, sheet: &mut Sheet) {
        sheet.heading("Manifest");
        sheet.figure("format version", self.format_version.to_string());
        sheet.figure("identity", self.identity.clone());
        sheet.figure("page", units::bytes(self.page_bytes.into()));
        sheet.figure("log segment", units::bytes(self.segment_bytes));
        sheet.figure("backup block", units::bytes(self.block_bytes.into()));
        sheet.figure("backup stripes", self.stripes.to_string());
        sheet.remarked(
            "incarnation",
            self.incarnation.to_string(),
            "times opened for writing",
        );
        sheet.figure("journal rows kept", self.journal.clone());
        for Elsewhere { directory, parts } in &self.elsewhere {
            sheet.figure("elsewhere", format!("{directory}: {parts}"));
        }
    }
}

/// Prints the manifest.
pub fn print(disk: &dyn Disk, output: &mut Output) -> anyhow::Result<()> {
    let listing = Listing::of(disk, &Manifest::read(disk)?)?;
    if output.is_json() {
        return output.value(&listing);
    }
    let mut sheet = Sheet::default();
    listing.print(&mut sheet);
    Ok(write!(output, "{sheet}")?)
}
