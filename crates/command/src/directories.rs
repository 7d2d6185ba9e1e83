//! The arguments that place the parts of a database on disks.

use sardonyx_storage::places::Directories as Places;
use std::path::PathBuf;

/// The directories of the log and the backup, if not in the database's directory.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Directories {
    /// The directory of the log, for a disk of its own [default: in the database's]
    #[arg(long, value_name = "DIR", help_heading = "Disks")]
    pub log_directory: Option<PathBuf>,
    /// The directory of the checkpoints, for a disk of their own [default: in the database's]
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "stripe_directory",
        help_heading = "Disks"
    )]
    pub backup_directory: Option<PathBuf>,
    /// A directory of one part (stripe) of the checkpoints; repeated, one for each stripe
    #[arg(long, value_name = "DIR", help_heading = "Disks")]
    pub stripe_directory: Vec<PathBuf>,
}

impl Directories {
    /// These directories, in the storage's form.
    pub fn places(&self) -> Places {
        let one = self.backup_directory.iter();
        Places {
            log: self.log_directory.clone(),
            backup: one.chain(&self.stripe_directory).cloned().collect(),
        }
    }
}
