//! Bytes written to the disk, as the system counts them: those of the devices of given directories. If the system does
//! not count such a device (a memory file system, an overlay), those of this process.
//!
//! A device counts all writes to it: also the file system's journal and those of other programs.

use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of a sector in the system's counters, for any device.
const SECTOR_BYTES: u64 = 512;

/// The source of a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CountedBy {
    /// All writes to the devices.
    Device,
    /// This process's, to any device.
    Process,
}

/// A counter of the writes to some directories.
#[derive(Clone, Debug)]
pub struct Counter {
    /// Major and minor numbers; empty: this process is counted.
    devices: BTreeSet<(u32, u32)>,
}

impl Counter {
    /// The counter of the writes to these directories; for one that does not exist, to the nearest existing parent.
    pub fn of<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Counter {
        let table = fs::read_to_string("/proc/diskstats").unwrap_or_default();
        let found = directories.into_iter().map(|directory| {
            let device = directory.ancestors().find_map(|at| {
                let at = if at.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    at
                };
                Some(fs::metadata(at).ok()?.dev())
            })?;
            let numbers = (rustix::fs::major(device), rustix::fs::minor(device));
            sectors_written(&table, numbers).map(|_| numbers)
        });
        Counter {
            devices: found.collect::<Option<_>>().unwrap_or_default(),
        }
    }

    /// The source of its counts.
    pub fn counted_by(&self) -> CountedBy {
        match self.devices.is_empty() {
            true => CountedBy::Process,
            false => CountedBy::Device,
        }
    }

    /// The bytes so far; `None` if the system does not report them.
    pub fn read(&self) -> Option<u64> {
        if self.devices.is_empty() {
            let table = fs::read_to_string("/proc/self/io").ok()?;
            return bytes_of_process(&table);
        }
        let table = fs::read_to_string("/proc/diskstats").ok()?;
        let sectors = (self.devices.iter()).map(|device| sectors_written(&table, *device));
        Some(sectors.sum::<Option<u64>>()? * SECTOR_BYTES)
    }
}

/// Sectors written to a device, in the system's table of them.
fn sectors_written(table: &str, (major, minor): (u32, u32)) -> Option<u64> {
    let numbers = (major.to_string(), minor.to_string());
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_it = words.next() == Some(&*numbers.0) && words.next() == Some(&*numbers.1);
        // The fields are the name; reads, merged, sectors, time; writes, merged, sectors.
        is_it.then(|| words.nth(7)?.parse().ok())?
    })
}

/// Bytes that a process caused to be written to devices, from the system's table of it.
fn bytes_of_process(table: &str) -> Option<u64> {
    let line = table
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes:"));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_read_where_the_system_writes_them() {
        let table = "   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11\n \
                     254       0 vda 857 378 2586 664 219 126 28274 990 0 63 784 13 1 19 6 8 1\n \
                     254       1 vda1 1 1 1 1 1 1 55 1 0 1 1\n";
        assert_eq!(sectors_written(table, (254, 0)), Some(28274));
        assert_eq!(sectors_written(table, (254, 1)), Some(55));
        assert_eq!(sectors_written(table, (7, 0)), Some(7));
        assert_eq!(sectors_written(table, (254, 2)), None);
        let table = "rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4096\n\
                     cancelled_write_bytes: 5\n";
        assert_eq!(bytes_of_process(table), Some(4096));
        assert_eq!(bytes_of_process("rchar: 1\n"), None);
    }

    #[test]
    fn a_directory_without_a_device_of_its_own_is_counted_by_the_process() {
        let counter = Counter::of([Path::new("/proc/self")]);
        assert_eq!(counter.counted_by(), CountedBy::Process);
        // A directory that exists, and one that does not yet.
        let here = Counter::of([Path::new("."), Path::new("not/there")]);
        assert_eq!(
            here.devices.len(),
            usize::from(here.counted_by() == CountedBy::Device)
        );
    }
}
