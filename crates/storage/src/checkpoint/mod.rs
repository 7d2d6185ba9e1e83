//! The checkpoint: a second copy of the pages (DB'), kept by applying the log, and its sliding backup on disk. It is a
//! consumer of the log and never reads the live pages. So it stops no transaction and can live in another thread,
//! process or host. By option, its blocks are read from page snapshots instead, without a second copy
//! ([`Checkpoints`]).
//!
//! - [`shadow`]: DB' of one stripe;
//! - `source`: the source of blocks, DB' or snapshots of the live pages;
//! - [`slot_map`]: the slot of the backup file for a block. The newest durable version of a block is never overwritten
//!   before its next one is durable;
//! - [`slot`]: a slot's header, with the position from which the log must be applied to a version of a block;
//! - [`checkpointer`]: the two phases, update and writeout, as a state machine without threads;
//! - [`CheckpointInterval`]: the distance of checkpoints, and the spread of their blocks;
//! - [`CheckpointStage`]: the checkpointers of all stripes, on threads or pumped;
//! - `ledger`: the progress of the checkpointers, the wanted checkpoints, and the obstacles to them, in every place;
//! - `settle`: checkpoints that an orderly end takes;
//! - [`CheckpointPlace`]: here, or left to a follower of the log in a store (the TPK paper's configuration C).
//!
//! **Better than the source.** In the TPK paper the log accumulates in a queue while DB' is written
//! out. Here every block carries its own log position, so groups are applied between two block
//! writes and the queue does not grow with the writeout. The ring is an explicit map instead of
//! modular arithmetic, so the database may grow between and during checkpoints. Each stripe is
//! written by its own checkpointer with its own checkpoint numbers, which is "disk striping" and
//! "multiple checkpointing threads" in one.
//!
//! Invariants: I2 (only durable groups are applied to DB'), I3, I6.
//!
//! Source: TPK paper, section 2, "Checkpointing", "Recovery" and "Performance"; sliding
//! monoplexed backups after Hagmann and after Salem & Garcia-Molina.

mod backup;
pub mod checkpointer;
mod error;
mod install;
mod interval;
mod ledger;
mod place;
mod settle;
pub mod shadow;
pub mod slot;
pub mod slot_map;
mod source;
mod stage;

pub use checkpointer::{CheckpointStatistics, Checkpointer, Progress};
pub use error::CheckpointError;
pub use interval::CheckpointInterval;
pub use ledger::{CheckpointTotals, RecordsStore, Waiting};
pub use place::CheckpointPlace;
pub use source::{Checkpoints, FreezesPages, Freezing, FrozenPages};
pub use stage::CheckpointStage;

pub(crate) use stage::Lent;

pub(crate) use backup::BackupFile;
pub(crate) use install::{InstallError, install, pass_over};

/// The directory of the backup's stripe files.
pub const BACKUP_DIRECTORY: &str = "backup";

/// The stripe of a file in [`BACKUP_DIRECTORY`]; `None` if it is no stripe's file.
pub fn stripe_of_file(name: &str) -> Option<u32> {
    Some(stripe_and_compaction_of_file(name)?.0)
}

/// The stripe of a file in [`BACKUP_DIRECTORY`], and the number of the compaction that made it; 0 for none.
pub(crate) fn stripe_and_compaction_of_file(name: &str) -> Option<(u32, u32)> {
    let name = name.strip_prefix("stripe-")?;
    match name.split_once('.') {
        None => Some((name.parse().ok()?, 0)),
        Some((stripe, compaction)) => Some((stripe.parse().ok()?, compaction.parse().ok()?)),
    }
}

/// The blocks of the page store in a stripe, and their layout in its file.
///
/// Block `b` of the page store (its bytes `b * block_bytes..(b + 1) * block_bytes`) is block
/// `b / stripes` of stripe `b % stripes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StripeLayout {
    /// The database's identity.
    pub identity: u64,
    /// This stripe's number, from 0.
    pub stripe: u32,
    /// Blocks are dealt to so many files in turn.
    pub stripes: u32,
    /// Bytes of pages in a block; a multiple of the page size.
    pub block_bytes: u32,
    /// The number of the compaction that made the stripe's file; 0 for none.
    pub compaction: u32,
}

impl StripeLayout {
    /// The layout of one stripe of a database.
    pub fn of(manifest: &crate::manifest::Manifest, stripe: u32) -> Self {
        StripeLayout {
            identity: manifest.identity,
            stripe,
            stripes: manifest.stripes,
            block_bytes: manifest.block_bytes,
            compaction: manifest.compacted.map_or(0, |compacted| compacted.number),
        }
    }

    /// Bytes of a slot in the stripe's file: a header and a block.
    pub fn slot_bytes(&self) -> u64 {
        slot::SLOT_HEADER_BYTES as u64 + u64::from(self.block_bytes)
    }

    /// The number in the page store of this stripe's block `block`.
    pub fn store_block(&self, block: u64) -> u64 {
        block * u64::from(self.stripes) + u64::from(self.stripe)
    }

    /// The stripe's file.
    pub fn file_name(&self) -> String {
        match self.compaction {
            0 => format!("{BACKUP_DIRECTORY}/stripe-{:03}", self.stripe),
            number => format!("{BACKUP_DIRECTORY}/stripe-{:03}.{number}", self.stripe),
        }
    }
}
