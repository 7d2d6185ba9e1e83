//! The sliding backup: every slot of every stripe, the blocks' checksums included.

use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::table::{Sheet, Table};
use sardonyx_results::units;
use sardonyx_storage::checkpoint::StripeLayout;
use sardonyx_storage::checkpoint::slot::SlotState;
use sardonyx_storage::disk::{Disk, DiskError};
use sardonyx_storage::inspect::{SlotListing, slots};
use sardonyx_storage::manifest::Manifest;
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;

/// A slot as it is printed.
#[derive(Debug, Serialize)]
struct Line {
    stripe: u32,
    slot: u64,
    offset: u64,
    /// `empty`, `valid`, `torn` (its header or its block), or `foreign`.
    state: &'static str,
    #[serde(flatten)]
    version: Option<Version>,
}

/// The header of a slot.
#[derive(Debug, Serialize)]
struct Version {
    block: u64,
    checkpoint: u64,
    used_bytes: u32,
    /// The log must be applied to this version from here.
    lsn: u64,
    group: u64,
    blocks_of_checkpoint: u64,
    complete_checkpoint_before: u64,
}

impl Line {
    fn of(stripe: u32, listing: &SlotListing) -> Self {
        let (state, version) = match listing.state {
            SlotState::Empty => ("empty", None),
            SlotState::Damaged => ("torn", None),
            SlotState::Foreign => ("foreign", None),
            SlotState::Valid(header) => {
                let state = if listing.data_is_valid == Some(true) {
                    "valid"
                } else {
                    "torn"
                };
                let version = Version {
                    block: header.block,
                    checkpoint: header.checkpoint,
                    used_bytes: header.used_bytes,
                    lsn: header.position.lsn.0,
                    group: header.position.group,
                    blocks_of_checkpoint: header.blocks,
                    complete_checkpoint_before: header.complete.number,
                };
                (state, Some(version))
            }
        };
        Line {
            stripe,
            slot: listing.slot,
            offset: listing.offset,
            state,
            version,
        }
    }
}

fn lines(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Result<Vec<Line>, DiskError> {
    let mut lines = Vec::new();
    for stripe in 0..manifest.stripes {
        let listings = slots(&**disk, StripeLayout::of(manifest, stripe), true)?;
        lines.extend(listings.iter().map(|listing| Line::of(stripe, listing)));
    }
    Ok(lines)
}

/// Prints every slot.
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
        "#stripe",
        "#slot",
        "#offset",
        "state",
        "#block",
        "#checkpoint",
        "#used bytes",
        "#group",
        "#LSN",
    ];
    let mut table = Table::new(names);
    for line in &lines {
        let of = |figure: fn(&Version) -> u64| {
            line.version
                .as_ref()
                .map_or_else(|| "-".into(), |version| figure(version).to_string())
        };
        table.row([
            line.stripe.to_string(),
            line.slot.to_string(),
            line.offset.to_string(),
            line.state.into(),
            of(|version| version.block),
            of(|version| version.checkpoint),
            of(|version| version.used_bytes.into()),
            of(|version| version.group),
            of(|version| version.lsn),
        ]);
    }
    write!(output, "{table}")?;
    Ok(Exit::Done)
}

/// The backup in a few figures.
#[derive(Debug, Serialize)]
pub struct Summary {
    slots: u64,
    valid: u64,
    torn: u64,
    foreign: u64,
    /// The newest checkpoint of which there is a block, of the stripe that has the oldest.
    newest_checkpoint: u64,
}

impl Summary {
    /// Reads every slot.
    pub fn of(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Result<Self, DiskError> {
        let lines = lines(disk, manifest)?;
        let count = |state| lines.iter().filter(|line| line.state == state).count() as u64;
        let newest = |stripe| {
            let lines = lines.iter().filter(move |line| line.stripe == stripe);
            lines
                .filter_map(|line| line.version.as_ref())
                .map(|v| v.checkpoint)
                .max()
                .unwrap_or(0)
        };
        Ok(Summary {
            slots: lines.len() as u64,
            valid: count("valid"),
            torn: count("torn"),
            foreign: count("foreign"),
            newest_checkpoint: (0..manifest.stripes).map(newest).min().unwrap_or(0),
        })
    }

    /// Adds it to a sheet.
    pub fn print(&self, sheet: &mut Sheet) {
        sheet.heading("Backup");
        let remark = format!("{} whole versions of blocks", units::count(self.valid));
        sheet.remarked("slots", units::count(self.slots), remark);
        if self.torn + self.foreign > 0 {
            let remark = format!("{} of another database", self.foreign);
            sheet.remarked("torn slots", units::count(self.torn), remark);
        }
        sheet.figure("newest checkpoint", self.newest_checkpoint.to_string());
    }
}
