//! The end of the durable log, published for readers in other processes: a small file beside the log, written anew
//! after each group that is durable, and never synced.
//!
//! A group in the log need not be durable: a reader that believed a whole group could show a transaction that a power
//! cut undoes. A later group proves that it was durable, but comes too late while no program commits. So the writer
//! publishes its durable end here, through the page cache, which all processes of the machine share. That costs the
//! writer a system call for each group, some hundred nanoseconds, and no write to the disk that is waited for.
//!
//! A killed process leaves the file unchanged: every acknowledged transaction is before that end, since the end is
//! published before. A power cut may leave an older end, or none. Then less is shown until the database is opened
//! again, and never too much. (With [`DurableAt::Remote`](crate::engine::DurableAt::Remote) a group is acknowledged
//! when the store has it, and published later, when it is stable here.)
//!
//! With a log in a store, too, the file says which part of it is known to be there. Another host continues with that in any
//! case, so it is never cut off. With [`DurableAt::Local`](crate::engine::DurableAt::Local) the end is before the store's.
//!
//! An end that is not the newest must not pass for it. So the file names the opening that publishes, by the manifest's
//! incarnation, and a writer that cannot write the file removes it.
//!
//! Invariants: I1 (no end is published beyond the log that is stable here *and* acknowledged), I13 (no reader is known
//! to the writer).

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::LogPosition;
use crate::disk::{Access, Create, Disk, DiskError, DiskFile};
use crate::manifest::Manifest;
use crate::position::{self, POSITION_BYTES};
use sardonyx_base::bytes::{u32_at, u64_at};
use sardonyx_base::crc32c;
use sardonyx_base::events;
use sardonyx_base::sync::Mutex;
use sardonyx_base::user_code::message_of;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file, in the database's own directory.
pub const DURABLE_FILE: &str = "DURABLE";

const MAGIC: u64 = u64::from_le_bytes(*b"SdxDurbl");
const BYTES: usize = 64;

/// So often a file that is being written is read before it counts as unreadable.
const READINGS_MAX: usize = 16;

/// The end of a database's durable log, as the file has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DurableEnd {
    /// The database's identity.
    pub identity: u64,
    /// Everything before here is durable and acknowledged.
    pub position: LogPosition,
    /// The number of compactions that the database has had: each replaces all pages.
    pub compactions: u32,
    /// The manifest's incarnation at the opening that publishes.
    pub opening: u32,
    /// The groups before this number are in the database's store, too; `None`: that is not known, or there is no store.
    pub stored_before: Option<u64>,
}

impl DurableEnd {
    fn of(manifest: &Manifest, position: LogPosition) -> Self {
        DurableEnd {
            identity: manifest.identity,
            position,
            compactions: compactions(manifest),
            opening: manifest.incarnation,
            stored_before: None,
        }
    }

    /// True if this is an end of the log of the manifest's database, since its last compaction.
    pub fn is_of(&self, manifest: &Manifest) -> bool {
        (self.identity, self.compactions) == (manifest.identity, compactions(manifest))
    }

    /// The same, and the last opening has published it: nothing that was acknowledged before the manifest was read is
    /// behind it.
    pub fn is_newest(&self, manifest: &Manifest) -> bool {
        self.is_of(manifest) && self.opening == manifest.incarnation
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.identity.to_le_bytes());
        bytes[16..16 + POSITION_BYTES].copy_from_slice(&position::encode(self.position));
        bytes[48..52].copy_from_slice(&self.compactions.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.opening.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.not_stored().to_le_bytes());
        let checksum = crc32c::crc32c(&bytes);
        bytes[60..64].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The number of groups before the end that the store is not known to have, plus one; 0: that is not known.
    fn not_stored(&self) -> u32 {
        let missing = |stored_before| self.position.group.saturating_sub(stored_before);
        let missing = self.stored_before.map(missing);
        let missing = missing.and_then(|missing| u32::try_from(missing).ok());
        missing
            .and_then(|missing| missing.checked_add(1))
            .unwrap_or(0)
    }

    /// `None` if these bytes are no published end.
    #[inline]
    fn decode(bytes: &[u8; BYTES]) -> Option<Self> {
        let mut unsigned = *bytes;
        unsigned[60..64].fill(0);
        let is_sound =
            u64_at::<0, _>(bytes) == MAGIC && crc32c::crc32c(&unsigned) == u32_at::<60, _>(bytes);
        let position = bytes[16..].first_chunk().map(position::decode)?;
        let missing = u32_at::<56, _>(bytes).checked_sub(1);
        is_sound.then(|| DurableEnd {
            identity: u64_at::<8, _>(bytes),
            position,
            compactions: u32_at::<48, _>(bytes),
            opening: u32_at::<52, _>(bytes),
            stored_before: missing.map(|missing| position.group.saturating_sub(missing.into())),
        })
    }

    /// Reads the file. `None` if it does not exist, or it is not whole: a power cut may have left it so, and the next
    /// writer writes it anew.
    ///
    /// # Errors
    /// The disk's.
    #[inline]
    pub fn read(disk: &dyn Disk) -> Result<Option<Self>, DiskError> {
        let mut bytes = [0; BYTES];
        for _ in 0..READINGS_MAX {
            let file = match disk.open(DURABLE_FILE, Access::Buffered, Create::No) {
                Ok(file) => file,
                Err(error) if error.source.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            if file.read_at(0, &mut bytes)? == BYTES
                && let Some(end) = Self::decode(&bytes)
            {
                return Ok(Some(end));
            }
            // It may have been read in the middle of a write.
            std::hint::spin_loop();
        }
        Ok(None)
    }
}

/// Removes the file, if it is there: the log that follows in this directory ends earlier. A manifest that is written later
/// must not be found beside it.
///
/// # Errors
/// The disk's.
pub(crate) fn forget(home: &dyn Disk) -> Result<(), DiskError> {
    if home.list("")?.iter().any(|name| name == DURABLE_FILE) {
        home.remove(DURABLE_FILE)?;
        home.sync_directory("")?;
    }
    Ok(())
}

/// The number of compactions that a database has had.
pub(crate) fn compactions(manifest: &Manifest) -> u32 {
    manifest.compacted.map_or(0, |compacted| compacted.number)
}

/// The part of a published log that the database's store has, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "hosts"), allow(dead_code))]
pub(crate) enum Stored {
    /// There is no store.
    NoStore,
    /// All of it: a group is published when the store has it.
    All,
    /// The groups before this number.
    Before(u64),
}

/// The file, for the writer of the log.
#[derive(Debug)]
pub(crate) struct PublishedEnd {
    disk: Arc<dyn Disk>,
    publishing: Mutex<Publishing>,
    /// The published end, of which the rest changes.
    of: DurableEnd,
    /// True if groups are published before the store has them.
    is_ahead: bool,
    has_failed: AtomicBool,
}

/// The state of the file.
#[derive(Debug)]
struct Publishing {
    /// Opened anew after a failure.
    file: Option<Box<dyn DiskFile>>,
    end: LogPosition,
    stored: Stored,
}

impl PublishedEnd {
    /// Publishes where the log of a database that was just opened ends, and the part of it that its store has.
    pub fn create(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        end: LogPosition,
        stored: Stored,
    ) -> Self {
        let published = PublishedEnd {
            disk: disk.clone(),
            publishing: Mutex::new(Publishing {
                file: None,
                end,
                stored,
            }),
            of: DurableEnd::of(manifest, end),
            is_ahead: matches!(stored, Stored::Before(_)),
            has_failed: AtomicBool::new(false),
        };
        published.publish(end);
        published
    }

    /// Everything before here is durable and acknowledged, or about to be. Called by one at a time, with one end after the
    /// other. If that fails, or the disk's code panics, the database works without, and readers are not misled.
    pub fn publish(&self, end: LogPosition) {
        self.change(|publishing| publishing.end = end);
    }

    /// The same; the store has all of it.
    #[cfg_attr(not(feature = "hosts"), allow(dead_code))]
    pub fn publish_stored(&self, end: LogPosition) {
        self.change(|publishing| {
            publishing.end = end;
            publishing.stored = Stored::All;
        });
    }

    /// The store has the groups before this number. Called by one at a time.
    #[cfg_attr(not(feature = "hosts"), allow(dead_code))]
    pub fn store_has(&self, before: u64) {
        if self.is_ahead {
            self.change(|publishing| publishing.stored = Stored::Before(before));
        }
    }

    fn change(&self, change: impl FnOnce(&mut Publishing)) {
        let cause = match catch_unwind(AssertUnwindSafe(|| self.write(change))) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(payload) => {
                #[cfg(test)]
                let payload = crate::exploration::mortal::unless_killed(payload);
                message_of(payload)
            }
        };
        // The end before this one must not pass for the newest.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.disk.remove(DURABLE_FILE))) {
            let _ = message_of(payload);
        }
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            // The next group tries again. Logged once: a full disk of some kinds refuses this for long.
            events::warn!(%cause, "readers in other processes do not see new commits");
        }
    }

    fn write(&self, change: impl FnOnce(&mut Publishing)) -> Result<(), DiskError> {
        let mut publishing = self.publishing.lock();
        change(&mut publishing);
        let position = publishing.end;
        let stored_before = match publishing.stored {
            Stored::NoStore => None,
            Stored::All => Some(position.group),
            Stored::Before(before) => Some(before),
        };
        let end = DurableEnd {
            position,
            stored_before,
            ..self.of
        };
        let open = match publishing.file.take() {
            Some(open) => open,
            None => (self.disk).open(DURABLE_FILE, Access::Buffered, Create::IfAbsent)?,
        };
        open.write_at(0, &end.encode())?;
        publishing.file = Some(open);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Faults, SimulatedDisk};
    use crate::log::Lsn;

    fn end(group: u64) -> LogPosition {
        LogPosition {
            lsn: Lsn(group * 4096),
            group,
            transactions: 3 * group,
            incarnation: 2,
        }
    }

    #[test]
    fn what_is_published_is_read_and_any_flipped_bit_is_noticed() {
        let disk = SimulatedDisk::new(1, Faults::default());
        assert_eq!(DurableEnd::read(&disk).unwrap(), None, "no file");
        let manifest = Manifest::new(7);
        let any: Arc<dyn Disk> = Arc::new(disk.clone());
        let published = PublishedEnd::create(&any, &manifest, end(1), Stored::NoStore);
        for group in 2..9 {
            published.publish(end(group));
            let read = DurableEnd::read(&disk).unwrap().unwrap();
            assert_eq!(read, DurableEnd::of(&manifest, end(group)));
        }
        for bit in 0..8 * BYTES {
            disk.corrupt(DURABLE_FILE, bit as u64 / 8, |byte| byte ^ 1 << (bit % 8))
                .unwrap();
            assert_eq!(DurableEnd::read(&disk).unwrap(), None, "bit {bit}");
            published.publish(end(9));
            assert!(DurableEnd::read(&disk).unwrap().is_some(), "written anew");
        }
    }
    #[test]
    fn the_part_that_the_store_has_is_read_as_it_was_written() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let manifest = Manifest::new(7);
        let any: Arc<dyn Disk> = Arc::new(disk.clone());
        let stored = || DurableEnd::read(&disk).unwrap().unwrap().stored_before;
        PublishedEnd::create(&any, &manifest, end(9), Stored::NoStore).store_has(3);
        assert_eq!(stored(), None);
        let published = PublishedEnd::create(&any, &manifest, end(9), Stored::All);
        assert_eq!(stored(), Some(9));
        published.publish(end(10));
        published.store_has(3);
        assert_eq!(stored(), Some(10));
        let published = PublishedEnd::create(&any, &manifest, end(10), Stored::Before(10));
        for group in 11..14 {
            published.publish(end(group));
            assert_eq!(stored(), Some(10));
        }
        published.publish_stored(end(13));
        assert_eq!(stored(), Some(13));
        published.store_has(12);
        assert_eq!(stored(), Some(12));
        // So many groups have no number in the file.
        published.publish(end(12 + u64::from(u32::MAX)));
        assert_eq!(stored(), None);
    }
}
