//! One simulated file: the contents for the running process, the contents certain after a crash,
//! and the unsynced writes in between. The latter are kept as whole sectors in the order in which
//! they were made.
//!
//! A write enters the unsynced list as images of the sectors it touches. So a sector that survives
//! a crash always existed at some time: a later image of a sector contains the earlier ones, as in
//! a page cache.

use super::super::SECTOR_SIZE;
use super::bytes::Bytes;
use sardonyx_base::random::Random;
use std::sync::Arc;

/// The unsynced things that survive a crash, or a failed sync. Data, lengths and directory entries
/// each have their own, since each may reach the disk without the others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Survival {
    Nothing,
    Everything,
    /// Every sector of every write on its own, with a chance of so many eighths.
    Sectors(u64),
    /// Every write on its own: lost, whole, or torn between sectors.
    Writes,
}

impl Survival {
    pub(super) fn draw(random: &mut Random) -> Survival {
        match random.below(6) {
            0 => Survival::Nothing,
            1 => Survival::Everything,
            2 | 3 => Survival::Sectors([1, 4, 7][random.below(3) as usize]),
            _ => Survival::Writes,
        }
    }

    /// True if one indivisible thing survives.
    pub(super) fn keeps(self, random: &mut Random) -> bool {
        match self {
            Survival::Nothing => false,
            Survival::Everything => true,
            Survival::Sectors(eighths) => random.chance(eighths, 8),
            Survival::Writes => random.chance(1, 2),
        }
    }

    /// The survival of the sectors of one write.
    fn of_sectors(self, random: &mut Random) -> Survival {
        match self {
            Survival::Writes => match random.below(3) {
                0 => Survival::Nothing,
                1 => Survival::Everything,
                _ => Survival::Sectors(4),
            },
            other => other,
        }
    }
}

/// A write that is not stable yet: the images of the sectors it touched.
#[derive(Clone, Debug)]
struct UnsyncedWrite {
    first_sector: usize,
    images: Arc<Vec<u8>>,
}

impl UnsyncedWrite {
    fn end_sector(&self) -> usize {
        self.first_sector + self.images.len() / SECTOR_SIZE
    }

    /// The part of this write in some sectors; `None` if it touched none of them.
    fn part(&self, from_sector: usize, to_sector: usize) -> Option<UnsyncedWrite> {
        let from = from_sector.max(self.first_sector);
        let to = to_sector.min(self.end_sector());
        if from >= to {
            return None;
        }
        let bytes =
            (from - self.first_sector) * SECTOR_SIZE..(to - self.first_sector) * SECTOR_SIZE;
        Some(UnsyncedWrite {
            first_sector: from,
            images: Arc::new(self.images[bytes].to_vec()),
        })
    }

    fn apply(&self, durable: &mut Bytes) {
        self.apply_sectors(self.first_sector, self.end_sector(), durable);
    }

    fn apply_sectors(&self, from_sector: usize, to_sector: usize, durable: &mut Bytes) {
        let (from, to) = (from_sector * SECTOR_SIZE, to_sector * SECTOR_SIZE);
        if durable.len() < to {
            durable.set_length(to);
        }
        let start = self.first_sector * SECTOR_SIZE;
        durable.write(from, &self.images[from - start..to - start]);
    }

    fn apply_survivors(&self, durable: &mut Bytes, survival: Survival, random: &mut Random) {
        match survival.of_sectors(random) {
            Survival::Nothing => {}
            Survival::Everything => self.apply(durable),
            sectors => {
                for sector in self.first_sector..self.end_sector() {
                    if sectors.keeps(random) {
                        self.apply_sectors(sector, sector + 1, durable);
                    }
                }
            }
        }
    }
}

/// A file's bytes, twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    live: Bytes,
    /// May reach beyond `durable_length`: such bytes are lost in a crash unless a length that
    /// covers them survives.
    durable: Bytes,
    durable_length: usize,
    unsynced: Vec<UnsyncedWrite>,
    /// The live length, if it is not stable yet.
    unsynced_length: Option<usize>,
}

impl Content {
    pub(super) fn live(&self) -> &Bytes {
        &self.live
    }

    /// The contents certain after a crash now.
    pub(super) fn surely_durable(&self) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        bytes.set_length(self.durable_length);
        bytes.to_vec()
    }

    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        usize::try_from(offset).map_or(0, |offset| self.live.read(offset, into))
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let write = self.write_live(offset, bytes);
        self.unsynced.extend(write);
    }

    /// Lengthens the file with zeroes, which need no write to be zero.
    pub(super) fn extend(&mut self, length: usize) {
        if length > self.live.len() {
            self.live.set_length(length);
            self.unsynced_length = Some(length);
        }
    }

    /// Writes bytes that are stable at once, except for the length.
    pub(super) fn write_durable(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(write) = self.write_live(offset, bytes) {
            self.supersede(&write);
            write.apply(&mut self.durable);
        }
    }

    /// A durable write that failed: some of its sectors are stable, and no later sync will make the
    /// others so.
    pub(super) fn write_durable_failing(
        &mut self,
        offset: usize,
        bytes: &[u8],
        random: &mut Random,
    ) {
        if let Some(write) = self.write_live(offset, bytes) {
            self.supersede(&write);
            write.apply_survivors(&mut self.durable, Survival::draw(random), random);
        }
    }

    fn write_live(&mut self, offset: usize, bytes: &[u8]) -> Option<UnsyncedWrite> {
        if bytes.is_empty() {
            return None;
        }
        let end = offset + bytes.len();
        self.extend(end);
        // A length that a failed sync forgot is written again with the bytes that it covers.
        if end > self.durable_length.max(self.unsynced_length.unwrap_or(0)) {
            self.unsynced_length = Some(end);
        }
        self.live.write(offset, bytes);
        let first_sector = offset / SECTOR_SIZE;
        let from = first_sector * SECTOR_SIZE;
        let to = end.next_multiple_of(SECTOR_SIZE);
        // Beyond the end of the file they are zero.
        let mut images = vec![0; to - from];
        self.live.read(from, &mut images);
        Some(UnsyncedWrite {
            first_sector,
            images: Arc::new(images),
        })
    }

    /// Forgets older unsynced images of a write's sectors.
    fn supersede(&mut self, newer: &UnsyncedWrite) {
        let (from, to) = (newer.first_sector, newer.end_sector());
        let overlaps = |write: &UnsyncedWrite| write.first_sector < to && from < write.end_sector();
        if self.unsynced.iter().any(overlaps) {
            let older = std::mem::take(&mut self.unsynced);
            let parts = older
                .iter()
                .flat_map(|write| [write.part(0, from), write.part(to, usize::MAX)]);
            self.unsynced = parts.flatten().collect();
        }
    }

    pub(super) fn sync(&mut self) {
        for write in self.unsynced.drain(..) {
            write.apply(&mut self.durable);
        }
        if let Some(length) = self.unsynced_length.take() {
            self.durable_length = length;
        }
    }

    /// A sync that failed: some sectors are stable, and no later sync will make the others so, nor
    /// the length: the system has them for clean. Every reader still sees them all, this process
    /// and the next; only writing them again helps.
    pub(super) fn sync_failing(&mut self, random: &mut Random) {
        self.survive(random);
    }

    /// The file as a crash leaves it.
    pub(super) fn after_crash(&self, random: &mut Random) -> Content {
        let mut after = Content {
            live: Bytes::default(),
            durable: self.durable.clone(),
            durable_length: self.durable_length,
            unsynced: self.unsynced.clone(),
            unsynced_length: self.unsynced_length,
        };
        after.survive(random);
        // Bytes beyond the length are lost with it; a length without its bytes reads as zeroes.
        after.durable.set_length(after.durable_length);
        after.live.clone_from(&after.durable);
        after
    }

    fn survive(&mut self, random: &mut Random) {
        let survival = Survival::draw(random);
        for write in self.unsynced.drain(..) {
            write.apply_survivors(&mut self.durable, survival, random);
        }
        let Some(length) = self.unsynced_length.take() else {
            return;
        };
        let extension = length - self.durable_length;
        let kept = match random.below(4) {
            0 => 0,
            1 => random.below(extension as u64 + 1) as usize,
            _ => extension,
        };
        self.durable_length += kept;
    }

    /// Changes the bytes without any operation, on the stable medium too.
    pub(super) fn damage(&mut self, change: impl FnOnce(&mut Bytes)) {
        change(&mut self.live);
        self.durable.clone_from(&self.live);
        self.durable_length = self.live.len();
        self.unsynced.clear();
        self.unsynced_length = None;
    }
}
