//! The holders of an advisory lock, by the system's own table of locks, for messages.
//!
//! Nothing is written into the lock's file for it. Its content could be left over from an ended holder, and
//! a file system that is only read takes nothing. If the table is absent, or names no process (of another
//! host, or of another name space of processes), the holder is unknown.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The table of locks: a line for each, `1: FLOCK ADVISORY WRITE 4711 fe:00:1234 0 EOF`.
const TABLE: &str = "/proc/locks";

/// The kernel returns the table in pieces, each in its state of that moment. While other locks come and go, one that
/// is held all the time can be missed between two pieces. So it is read in few pieces, and again if the lock seems to
/// have no holder.
const READINGS: usize = 8;

/// Bytes of the table that are read at once; the kernel may give out less.
const PIECE_BYTES: usize = 64 << 10;

/// The processes that hold a lock (`flock`) on the file at this path.
pub(super) fn of_lock(path: &Path) -> Vec<u32> {
    (0..READINGS)
        .map(|_| once(path))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// The result of one reading of the table.
fn once(path: &Path) -> Vec<u32> {
    let mut table = Vec::with_capacity(PIECE_BYTES);
    let read = File::open(TABLE).and_then(|mut file| file.read_to_end(&mut table));
    let (Ok(file), Ok(_)) = (std::fs::metadata(path), read) else {
        return Vec::new();
    };
    let table = String::from_utf8_lossy(&table);
    let device = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let mut found = Vec::new();
    for (process, of_device, number) in table.lines().filter_map(holder) {
        if number == file.ino() && (of_device == device || has_open(process, &file)) {
            found.push(process);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The process, the file's device and its number, in a line of the table.
fn holder(line: &str) -> Option<(u32, (u32, u32), u64)> {
    let mut words = line.split_whitespace().skip(1);
    // `->` in its place is a waiting process.
    if words.next() != Some("FLOCK") {
        return None;
    }
    let process = words.nth(2)?.parse().ok().filter(|process| *process > 0)?;
    let mut file = words.next()?.split(':');
    let mut hexadecimal = || u32::from_str_radix(file.next()?, 16).ok();
    let device = (hexadecimal()?, hexadecimal()?);
    Some((process, device, file.next()?.parse().ok()?))
}

/// True if a process has this file open. A file system of several devices (subvolumes, layers) has one in the table
/// and another one in the file's metadata.
fn has_open(process: u32, file: &Metadata) -> bool {
    let Ok(open) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
        return false;
    };
    let is_it = |found: Metadata| (found.dev(), found.ino()) == (file.dev(), file.ino());
    open.flatten()
        .any(|entry| std::fs::metadata(entry.path()).is_ok_and(is_it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_holder_and_no_waiter_and_no_lock_of_another_kind() {
        let line = "1: FLOCK  ADVISORY  WRITE 29827 fe:0a:9977961 0 EOF";
        assert_eq!(holder(line), Some((29827, (0xfe, 0x0a), 9_977_961)));
        for other in [
            "1: -> FLOCK  ADVISORY  WRITE 29828 fe:00:9977961 0 EOF",
            "2: POSIX  ADVISORY  WRITE 29827 fe:00:9977961 0 EOF",
            "3: OFDLCK ADVISORY  READ -1 fe:00:9977961 0 EOF",
            "4: FLOCK  ADVISORY  WRITE 0 fe:00:9977961 0 EOF",
            "5: FLOCK  ADVISORY  WRITE",
            "",
        ] {
            assert_eq!(holder(other), None, "{other}");
        }
    }
}
