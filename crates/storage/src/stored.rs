//! State that can be made again from the pages. A clean close leaves it beside the checkpoint, so that the next opening
//! need not make it: the indexes of tables.
//!
//! The file is believed only if it belongs to the very state that the opening finds ([`ClosedAt`]): of this database, of
//! the opening before this one, and up to the same end of the log. Each opening that may write counts the incarnation
//! up, durably, before it appends anything. So a file from an earlier close, or of a copy that has moved on, never fits.
//!
//! Invariant: nothing depends on the file. Checksums cover all that is read of it, so it is not synced: a torn, cut,
//! damaged, stale or missing file is ignored, and the state is made from the pages. It may be removed at any time.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::disk::{Access, Create, Disk, DiskError, DiskFile};
use crate::log::LogPosition;
use crate::manifest::Manifest;
use crate::page::PAGE_SIZE;
use crate::position;
use crate::supervisor::on_threads;
use sardonyx_base::bytes::{at, u32_at, u64_at};
use sardonyx_base::crc32c;
use sardonyx_base::events;
use sardonyx_base::sync::futex::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The file.
pub const INDEXES_FILE: &str = "INDEXES";

/// The version of the file's format. The description in it has a version of its own.
const FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"SdxIndex";
const CHECKSUM_AT: usize = 12;
const HEAD_BYTES: usize = PAGE_SIZE;

/// The pages that one checksum covers, and that are read at once.
const PIECE_BYTES: usize = 1 << 20;

/// The longest description that is read, in bytes.
const DESCRIPTION_BYTES_MAX: u64 = 1 << 30;

/// The state of a database at a clean close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClosedAt {
    identity: u64,
    /// The manifest's incarnation of the opening that was closed.
    incarnation: u32,
    compactions: u32,
    /// The end of the durable log.
    end: LogPosition,
    /// A close may not take longer.
    until: Option<Instant>,
}

impl ClosedAt {
    /// The state that a manifest records.
    pub fn of(manifest: &Manifest) -> ClosedAt {
        ClosedAt {
            identity: manifest.identity,
            incarnation: manifest.incarnation,
            compactions: manifest.compacted.map_or(0, |compacted| compacted.number),
            end: manifest.log_end,
            until: None,
        }
    }

    /// The same, of a close that may take until then.
    pub(crate) fn until(self, until: Option<Instant>) -> ClosedAt {
        ClosedAt { until, ..self }
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// The file's first bytes.
struct Head {
    closed: ClosedAt,
    description_bytes: u64,
    page_bytes: u64,
    /// Of the description and the checksums of the pieces.
    checksum: u32,
}

impl Head {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(FORMAT_VERSION.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.closed.identity.to_le_bytes());
        bytes.extend(self.closed.incarnation.to_le_bytes());
        bytes.extend(self.closed.compactions.to_le_bytes());
        bytes.extend(position::encode(self.closed.end));
        bytes.extend(self.description_bytes.to_le_bytes());
        bytes.extend(self.page_bytes.to_le_bytes());
        bytes.extend(self.checksum.to_le_bytes());
        bytes.resize(HEAD_BYTES, 0);
        let checksum = crc32c::crc32c(&bytes).to_le_bytes();
        let place = bytes.iter_mut().skip(CHECKSUM_AT);
        place.zip(checksum).for_each(|(to, from)| *to = from);
        bytes
    }

    /// The head, if its checksum is right.
    fn decode(bytes: &[u8; HEAD_BYTES]) -> Option<Head> {
        let mut unsummed = *bytes;
        let place = unsummed.iter_mut().skip(CHECKSUM_AT);
        place.take(4).for_each(|byte| *byte = 0);
        let is_sound = at::<0, 8, _>(bytes) == MAGIC
            && u32_at::<8, _>(bytes) == FORMAT_VERSION
            && u32_at::<CHECKSUM_AT, _>(bytes) == crc32c::crc32c(&unsummed);
        is_sound.then(|| Head {
            closed: ClosedAt {
                identity: u64_at::<16, _>(bytes),
                incarnation: u32_at::<24, _>(bytes),
                compactions: u32_at::<28, _>(bytes),
                end: position::decode(&at::<32, _, _>(bytes)),
                until: None,
            },
            description_bytes: u64_at::<64, _>(bytes),
            page_bytes: u64_at::<72, _>(bytes),
            checksum: u32_at::<80, _>(bytes),
        })
    }

    /// The checksums' bytes.
    fn sums_bytes(&self) -> u64 {
        self.page_bytes.div_ceil(PIECE_BYTES as u64) * 4
    }

    /// The start of the pages in the file.
    fn pages_at(&self) -> u64 {
        let before = HEAD_BYTES as u64 + self.description_bytes + self.sums_bytes();
        before.next_multiple_of(PAGE_SIZE as u64)
    }
}

/// Stores pages with their description for the next opening. Returns false if the time of the close was over before;
/// then there is no file.
///
/// # Errors
/// The disk's; a file that is left is not believed.
pub fn store(
    disk: &dyn Disk,
    closed: ClosedAt,
    description: &[u8],
    pages: &[u8],
) -> Result<bool, DiskError> {
    forget(disk)?;
    let file = disk.open(INDEXES_FILE, Access::Buffered, Create::New)?;
    let mut head = Head {
        closed,
        description_bytes: description.len() as u64,
        page_bytes: pages.len() as u64,
        checksum: 0,
    };
    let mut place = head.pages_at();
    let mut described = description.to_vec();
    for piece in pages.chunks(PIECE_BYTES) {
        if closed.is_over() {
            forget(disk)?;
            return Ok(false);
        }
        described.extend(crc32c::crc32c(piece).to_le_bytes());
        file.write_at(place, piece)?;
        place += piece.len() as u64;
    }
    head.checksum = crc32c::crc32c(&described);
    file.write_at(HEAD_BYTES as u64, &described)?;
    file.write_at(0, &head.encode())?;
    Ok(true)
}

/// Removes the file, if there is one.
///
/// # Errors
/// The disk's.
pub fn forget(disk: &dyn Disk) -> Result<(), DiskError> {
    match disk.list("")?.iter().any(|name| name == INDEXES_FILE) {
        true => disk.remove(INDEXES_FILE),
        false => Ok(()),
    }
}

/// Removes the file unless it belongs to this state. Room on the disk is all that it would cost.
pub(crate) fn forget_others(disk: &dyn Disk, closed: Option<ClosedAt>) {
    let kept = closed.and_then(|closed| Stored::open(disk, closed));
    if kept.is_none()
        && let Err(error) = forget(disk)
    {
        events::warn!(%error, "stored indexes that are not valid any more were not removed");
    }
}

/// The stored pages of a closed state, and their description.
#[derive(Debug)]
pub struct Stored {
    file: Box<dyn DiskFile>,
    description: Vec<u8>,
    sums: Vec<u32>,
    pages_at: u64,
    page_bytes: u64,
}

impl Stored {
    /// The file of a closed state; `None` if there is none that is sound so far.
    pub fn open(disk: &dyn Disk, closed: ClosedAt) -> Option<Stored> {
        let opened = Self::try_open(disk, closed);
        opened.unwrap_or_else(|error| {
            events::warn!(%error, "stored indexes cannot be read, and are built");
            None
        })
    }

    fn try_open(disk: &dyn Disk, closed: ClosedAt) -> Result<Option<Stored>, DiskError> {
        if !disk.list("")?.iter().any(|name| name == INDEXES_FILE) {
            return Ok(None);
        }
        let file = disk.open(INDEXES_FILE, Access::Buffered, Create::No)?;
        let mut bytes = [0; HEAD_BYTES];
        file.read_at(0, &mut bytes)?;
        let Some(head) = Head::decode(&bytes) else {
            events::warn!("stored indexes are damaged, and are built");
            return Ok(None);
        };
        let expected = closed.until(None);
        if head.closed != expected || head.description_bytes > DESCRIPTION_BYTES_MAX {
            return Ok(None);
        }
        // Both are bounded by the file's length, so that a damaged one takes no memory.
        let ends = head.pages_at().checked_add(head.page_bytes);
        if ends.is_none_or(|end| end > file.len().unwrap_or(0)) {
            events::warn!("stored indexes are cut, and are built");
            return Ok(None);
        }
        let described = head.description_bytes + head.sums_bytes();
        let mut described = vec![0; usize::try_from(described).unwrap_or(0)];
        file.read_at(HEAD_BYTES as u64, &mut described)?;
        if crc32c::crc32c(&described) != head.checksum {
            events::warn!("the description of stored indexes is damaged, and they are built");
            return Ok(None);
        }
        let sums = described.split_off(head.description_bytes as usize);
        let words = sums.as_chunks::<4>().0.iter();
        Ok(Some(Stored {
            file,
            description: described,
            sums: words.map(|word| u32::from_le_bytes(*word)).collect(),
            pages_at: head.pages_at(),
            page_bytes: head.page_bytes,
        }))
    }

    /// Bytes of the caller that it stored beside the pages.
    pub fn description(&self) -> &[u8] {
        &self.description
    }

    /// The length of the buffer for [`Stored::read`].
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Reads the pages, with so many threads. Returns false if they are not the stored ones; then `into` has any bytes.
    pub fn read(&self, into: &mut [u8], workers: usize) -> bool {
        if into.len() as u64 != self.page_bytes {
            return false;
        }
        let pieces = into.chunks_mut(PIECE_BYTES).zip(&self.sums).enumerate();
        let pieces = Mutex::new(pieces);
        let is_sound = AtomicBool::new(true);
        let read = || {
            while is_sound.load(Ordering::Relaxed) {
                let Some((number, (piece, sum))) = pieces.lock().next() else {
                    break;
                };
                let place = self.pages_at + (number * PIECE_BYTES) as u64;
                let reason = match self.file.read_at(place, piece) {
                    Ok(_) if crc32c::crc32c(piece) == *sum => continue,
                    Ok(_) => "a checksum is wrong".to_string(),
                    Err(error) => error.to_string(),
                };
                is_sound.store(false, Ordering::Relaxed);
                let file = self.file.display_name();
                events::warn!(%file, place, %reason, "stored indexes are damaged, and are built");
            }
        };
        on_threads(workers, read);
        is_sound.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Faults, SimulatedDisk};
    use crate::log::Lsn;

    const PAGES: usize = 2 * PIECE_BYTES + 3 * PAGE_SIZE;

    fn closed() -> ClosedAt {
        let end = LogPosition {
            lsn: Lsn(8192),
            group: 3,
            transactions: 7,
            incarnation: 2,
        };
        ClosedAt {
            identity: 0x5eed,
            incarnation: 4,
            compactions: 1,
            end,
            until: None,
        }
    }

    fn pages() -> Vec<u8> {
        (0..PAGES).map(|n| (n / 7 % 251) as u8).collect()
    }

    fn stored() -> SimulatedDisk {
        let disk = SimulatedDisk::new(1, Faults::default());
        let is_stored = store(&disk, closed(), b"a description", &pages());
        assert!(is_stored.expect("stored"));
        disk
    }

    /// The description and the pages, if they are believed.
    fn read(disk: &SimulatedDisk, closed: ClosedAt) -> Option<(Vec<u8>, Vec<u8>)> {
        let stored = Stored::open(disk, closed)?;
        let mut pages = vec![0; stored.page_bytes() as usize];
        let is_sound = stored.read(&mut pages, 2);
        is_sound.then(|| (stored.description().to_vec(), pages))
    }

    #[test]
    fn pages_read_back_for_the_state_that_they_were_stored_of_and_no_other() {
        let disk = stored();
        let found = read(&disk, closed()).expect("there");
        assert_eq!(found.0, b"a description");
        assert!(found.1 == pages());
        let end = closed().end;
        let moved = |end| ClosedAt { end, ..closed() };
        let others = [
            ClosedAt {
                identity: 1,
                ..closed()
            },
            ClosedAt {
                incarnation: 5,
                ..closed()
            },
            ClosedAt {
                compactions: 0,
                ..closed()
            },
            moved(LogPosition {
                lsn: Lsn(12288),
                ..end
            }),
            moved(LogPosition { group: 4, ..end }),
            moved(LogPosition {
                transactions: 8,
                ..end
            }),
            moved(LogPosition {
                incarnation: 3,
                ..end
            }),
        ];
        for other in others {
            assert!(read(&disk, other).is_none(), "{other:?}");
        }
        forget_others(&disk, Some(closed()));
        assert!(read(&disk, closed()).is_some());
        forget_others(&disk, Some(moved(LogPosition::START)));
        assert!(disk.read_all(INDEXES_FILE).is_none());
        // Without a file nothing is believed, and forgetting one is no error.
        assert!(read(&disk, closed()).is_none());
        forget(&disk).expect("nothing to do");
    }

    #[test]
    fn any_damaged_byte_and_any_cut_is_noticed() {
        let whole = stored().read_all(INDEXES_FILE).expect("there");
        let head = Head {
            closed: closed(),
            description_bytes: 13,
            page_bytes: PAGES as u64,
            checksum: 0,
        };
        let pages_at = head.pages_at() as usize;
        let described = HEAD_BYTES + 13 + 3 * 4;
        let disk = SimulatedDisk::new(1, Faults::default());
        disk.open(INDEXES_FILE, Access::Buffered, Create::New)
            .expect("made");
        let heads = 0..HEAD_BYTES;
        let pieces = (pages_at..whole.len()).step_by(40_961);
        let last = whole.len() - 1;
        for byte in heads
            .chain(HEAD_BYTES..described)
            .chain(pieces)
            .chain([last])
        {
            let mut damaged = whole.clone();
            damaged[byte] ^= 1 << (byte % 8);
            disk.replace(INDEXES_FILE, &damaged).expect("replaced");
            assert!(read(&disk, closed()).is_none(), "byte {byte}");
        }
        for length in [
            0,
            1,
            8,
            100,
            HEAD_BYTES,
            described,
            pages_at,
            last - 4096,
            last,
        ] {
            disk.replace(INDEXES_FILE, &whole[..length]).expect("cut");
            assert!(read(&disk, closed()).is_none(), "cut at {length}");
        }
        disk.replace(INDEXES_FILE, &whole).expect("replaced");
        assert!(read(&disk, closed()).is_some());
    }

    #[test]
    fn a_crash_or_a_failing_disk_while_it_is_written_leaves_the_pages_or_nothing() {
        let steps = stored().steps();
        assert!(steps > 4);
        for step in 1..=steps {
            let crash = Faults {
                crash_at_step: Some(step),
                ..Faults::default()
            };
            let full = Faults {
                full_steps: Some((step, step + 2)),
                ..Faults::default()
            };
            let fails = Faults {
                fail_write_at: Some(step),
                ..Faults::default()
            };
            for (seed, faults) in [(1, crash), (2, crash), (3, crash), (4, full), (5, fails)] {
                let disk = SimulatedDisk::new(seed * 100 + step, faults);
                let outcome = store(&disk, closed(), b"a description", &pages());
                let disk = disk.restart(Faults::default());
                let found = read(&disk, closed());
                let is_same = found.is_none_or(|(description, found)| {
                    description == b"a description" && found == pages()
                });
                assert!(is_same, "step {step}, {outcome:?}");
            }
        }
    }

    #[test]
    fn a_close_that_has_no_time_left_stores_nothing() {
        let disk = stored();
        let over = closed().until(Some(Instant::now()));
        let is_stored = store(&disk, over, b"a description", &pages());
        assert!(!is_stored.expect("no error"));
        assert!(disk.read_all(INDEXES_FILE).is_none());
    }
}
