//! File systems on which an acknowledged stable write can be lost.
//!
//! btrfs of Linux 6.18 reports success for writes that a *failing* drive then loses, when several are under way at
//! once. That happened in 6 of 120 trials of a plain program, and in none on ext4 and xfs (docs/architecture.md, "Known
//! weaknesses"). Nothing here can detect that it happened, so opening a database there logs a warning.

use rustix::fs::statfs;
use sardonyx_base::events;
use std::path::Path;

/// The number of btrfs in `statfs`.
const BTRFS: u64 = 0x9123_683e;

/// Warns, if this directory is on such a file system.
pub(super) fn warn_of(root: &Path) {
    let Ok(found) = statfs(root) else { return };
    if let Some(name) = doubtful(found.f_type as u64) {
        events::warn!(
            directory = %root.display(),
            file_system = name,
            "this file system can lose writes that it reported as stable, if its drive fails: put the log on ext4 \
             or xfs"
        );
    }
}

/// Its name, if it is one.
fn doubtful(number: u64) -> Option<&'static str> {
    // The number has 32 bits, and a sign in some systems.
    (number as u32 == BTRFS as u32).then_some("btrfs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn btrfs_is_known_by_its_number_and_others_are_not_warned_of() {
        assert_eq!(doubtful(BTRFS), Some("btrfs"));
        assert_eq!(doubtful(BTRFS as u32 as i32 as i64 as u64), Some("btrfs"));
        for (number, name) in [
            (0xef53, "ext4"),
            (0x5846_5342, "xfs"),
            (0x0102_1994, "tmpfs"),
        ] {
            assert_eq!(doubtful(number), None, "{name}");
        }
        warn_of(Path::new("/"));
        warn_of(Path::new("/there is no such directory"));
    }
}
