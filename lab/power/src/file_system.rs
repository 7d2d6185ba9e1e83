//! The file systems on the drive.

use clap::ValueEnum;
use serde::Serialize;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

/// A file system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSystem {
    /// Its journal holds metadata; data is written before (`data=ordered`).
    Ext4,
    /// Its log holds metadata; needs 300 MiB.
    Xfs,
    /// Copies on write; checksums data.
    Btrfs,
}

impl FileSystem {
    /// Its name, as the kernel calls it.
    pub fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
            FileSystem::Btrfs => "btrfs",
        }
    }

    /// The program that makes it.
    pub fn maker(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "mkfs.ext4",
            FileSystem::Xfs => "mkfs.xfs",
            FileSystem::Btrfs => "mkfs.btrfs",
        }
    }

    pub fn make(self, device: &Path) -> Command {
        let mut command = Command::new(self.maker());
        match self {
            // No work is left for a thread of the kernel at a later time.
            FileSystem::Ext4 => {
                let extended = "lazy_itable_init=0,lazy_journal_init=0";
                command.args(["-q", "-F", "-b", "4096", "-E", extended])
            }
            FileSystem::Xfs | FileSystem::Btrfs => command.args(["-q", "-f"]),
        };
        command.arg(device);
        command
    }

    /// The ranges that it needs to be written whole, in bytes of the drive. btrfs has one checksum over the 4096 bytes
    /// of each of its superblocks and writes them all at once: a drive that tears one of them tears the whole file
    /// system, with any content.
    pub fn whole(self) -> Vec<Range<u64>> {
        let superblocks: &[u64] = match self {
            FileSystem::Ext4 | FileSystem::Xfs => &[],
            FileSystem::Btrfs => &[64 << 10, 64 << 20],
        };
        superblocks.iter().map(|&at| at..at + 4096).collect()
    }

    /// Returns true if this kernel has it, as far as that can be seen without loading a module.
    pub fn is_known(self) -> bool {
        let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        known.lines().any(|line| line.trim() == self.name())
    }
}
