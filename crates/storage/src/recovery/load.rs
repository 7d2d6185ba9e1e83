//! Loading the backup: for each block the newest whole version, read directly to its place in
//! memory.
//!
//! Two passes. The *survey* reads every slot's header and sorts each block's versions, newest
//! first. The *load* reads the newest version of each block and falls back to an older one if it is
//! torn. Then each stripe is judged: the complete checkpoint, missing blocks, and the position from which the log must
//! be applied. The cases:
//!
//! - *Every block of the newest checkpoint is there:* it is complete; redo from its start. (Also
//!   right after completion, before the log was freed.)
//! - *Some are older:* the newest checkpoint was being written. Every block of the last complete
//!   checkpoint must have a version at least that new, else [`RecoveryError::MissingBlock`]. Redo
//!   from the oldest version's position.
//! - *A block that was added since the last complete checkpoint has none.* Everything in it was written since, so the
//!   log has it; redo from the start of the last complete checkpoint.
//! - *No block at all:* the first checkpoint was not begun, or torn in its first block; redo from
//!   the log's start.
//! - *A block of a complete checkpoint is damaged later:* this looks like the second case. If the older version still
//!   exists (in the free slot) and so does the log, that is enough and loses nothing; else a block or the log is
//!   missing, and both are errors.
//!
//! *Beside a writer* the slots change under the reader: a slot of the survey is written anew as soon as its block has a
//! newer version elsewhere. Then the slots are surveyed again, and the blocks that came out torn or too old are loaded
//! from where they are now. That ends when no such block is left, or when two surveys find the same: then it is damage.
//!
//! Source: TPK paper, section 2, "Recovery" and "Performance" (reading with many disks).

use super::error::RecoveryError;
use super::report::StripeReport;
use crate::checkpoint::slot::{CompleteCheckpoint, SlotHeader, SlotState};
use crate::checkpoint::slot_map::SlotMap;
use crate::checkpoint::{BackupFile, StripeLayout};
use crate::disk::{AlignedBuffer, Disk, DiskError};
use crate::log::LogPosition;
use crate::page::{PAGE_SIZE, holds_anything};
use crate::store::PageStore;
use crate::supervisor::on_threads;
use sardonyx_base::sync::futex::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Reading headers waits for the disk, not for the processor: more threads than processors.
/// (A small file is not worth a thread.)
const SURVEY_THREADS: usize = 8;

/// The number of surveys of a backup that a writer goes on with. Each survey leaves fewer blocks, or the reader is
/// slower than the writer and may as well begin anew.
const SURVEYS_MAX: usize = 32;

/// A version of a block: its header and its slot.
type Version = (SlotHeader, u64);

#[derive(Debug)]
pub(super) struct LoadedStripe {
    pub layout: StripeLayout,
    pub ring: SlotMap,
    pub complete: CompleteCheckpoint,
    /// The newest position of a block: the log must reach there.
    pub newest_position: LogPosition,
    pub report: StripeReport,
}

/// The content of a stripe's file, judged by the slots' headers.
#[derive(Debug)]
struct Survey {
    layout: StripeLayout,
    file: Option<BackupFile>,
    file_name: String,
    /// The versions of each block, newest first.
    versions: Vec<Vec<Version>>,
    damaged_offsets: Vec<u64>,
    /// The header with the largest checkpoint number.
    newest: Option<SlotHeader>,
}

/// Loads all stripes into an empty store, growing it as needed. With `make_stable` the loaded data is made stable
/// first, since later work builds on it; the time for that is added. With `beside_writer` a writer may go on with the
/// backup meanwhile.
pub(super) fn load(
    disk: &dyn Disk,
    layouts: &[StripeLayout],
    store: &mut PageStore,
    workers: usize,
    mut make_stable: Option<&mut Duration>,
    beside_writer: bool,
) -> Result<Vec<LoadedStripe>, RecoveryError> {
    let mut surveys = Vec::with_capacity(layouts.len());
    for &layout in layouts {
        let survey = survey(disk, layout)?;
        if let (Some(file), Some(time)) = (&survey.file, &mut make_stable) {
            let started = Instant::now();
            file.make_stable(survey.written_last())?;
            **time += started.elapsed();
        }
        surveys.push(survey);
    }
    let mut loaded: Vec<_> = layouts.iter().map(|_| Loaded::default()).collect();
    load_blocks(&surveys, &mut loaded, store, workers)?;
    for _ in 1..SURVEYS_MAX {
        let mut pairs = surveys.iter().zip(&loaded);
        if !beside_writer || pairs.all(|(survey, loaded)| loaded.missing(survey).is_none()) {
            break;
        }
        let mut again = Vec::with_capacity(layouts.len());
        for before in &surveys {
            again.push(survey(disk, before.layout)?.after(before));
        }
        let is_same = (surveys.iter().zip(&again)).all(|(before, after)| before.finds_same(after));
        if is_same {
            break;
        }
        surveys = again;
        load_blocks(&surveys, &mut loaded, store, workers)?;
    }
    let stripes = surveys.into_iter().zip(loaded);
    stripes
        .map(|(survey, loaded)| judge(survey, loaded, beside_writer))
        .collect()
}

fn survey(disk: &dyn Disk, layout: StripeLayout) -> Result<Survey, RecoveryError> {
    let mut survey = Survey {
        layout,
        file: BackupFile::open_for_reading(disk, layout)?,
        file_name: disk.display_name(&layout.file_name()),
        versions: Vec::new(),
        damaged_offsets: Vec::new(),
        newest: None,
    };
    let Some(file) = &survey.file else {
        return Ok(survey);
    };
    for (slot, state) in read_headers(file)? {
        match state {
            SlotState::Empty => {}
            SlotState::Damaged => survey.damaged_offsets.push(file.offset(slot)),
            SlotState::Foreign => {
                let (file, offset) = (survey.file_name, file.offset(slot));
                return Err(RecoveryError::ForeignSlot { file, offset });
            }
            SlotState::Valid(header) => {
                // Checked with the header: a block is below the checkpoint's number of blocks, and those were all in
                // this file once, so this is bounded by the written blocks.
                let block = header.block as usize;
                if block >= survey.versions.len() {
                    survey.versions.resize(block + 1, Vec::new());
                }
                let versions = &mut survey.versions[block];
                let newer = |(there, _): &Version| there.checkpoint >= header.checkpoint;
                let at = versions.partition_point(newer);
                versions.insert(at, (header, slot));
                if survey
                    .newest
                    .is_none_or(|newest| newest.checkpoint < header.checkpoint)
                {
                    survey.newest = Some(header);
                }
            }
        }
    }
    Ok(survey)
}

/// Reads the headers of all slots, in slot order.
fn read_headers(file: &BackupFile) -> Result<Vec<(u64, SlotState)>, DiskError> {
    let next = AtomicU64::new(0);
    let read = || {
        let mut buffer = AlignedBuffer::with_capacity(crate::checkpoint::slot::SLOT_HEADER_BYTES);
        let mut states = Vec::new();
        loop {
            let slot = next.fetch_add(1, Ordering::Relaxed);
            if slot >= file.slots() {
                return Ok(states);
            }
            states.push((slot, file.read_header(slot, &mut buffer)?));
        }
    };
    let mut states = Vec::new();
    for part in on_threads(SURVEY_THREADS.min(file.slots().div_ceil(16) as usize), read) {
        states.extend(part?);
    }
    states.sort_unstable_by_key(|&(slot, _)| slot);
    Ok(states)
}

impl Survey {
    /// This survey of a file that was surveyed before: which checkpoint was begun is not forgotten if its header is being
    /// written over.
    fn after(mut self, before: &Survey) -> Survey {
        let both = [self.newest, before.newest].into_iter().flatten();
        self.newest = both.max_by_key(|header| header.checkpoint);
        self
    }

    /// True if no slot was written between two surveys.
    fn finds_same(&self, other: &Survey) -> bool {
        let of = |survey: &Survey| survey.file.as_ref().map(BackupFile::slots);
        of(self) == of(other)
            && self.versions == other.versions
            && self.damaged_offsets == other.damaged_offsets
    }

    /// The version that was written last, if it is whole: each is durable before the next is begun.
    fn written_last(&self) -> Option<Version> {
        let versions = self.versions.iter().flatten().copied();
        versions.max_by_key(|(header, _)| (header.checkpoint, header.block))
    }

    /// The pages that the store must have for all versions.
    fn store_pages(&self) -> u64 {
        let block_pages = u64::from(self.layout.block_bytes) / PAGE_SIZE as u64;
        let end = |(header, _): &Version| {
            let used = u64::from(header.used_bytes) / PAGE_SIZE as u64;
            if used == 0 {
                0
            } else {
                self.layout.store_block(header.block) * block_pages + used
            }
        };
        self.versions.iter().flatten().map(end).max().unwrap_or(0)
    }
}

/// The part of a stripe that was loaded.
#[derive(Debug, Default)]
struct Loaded {
    /// By block.
    chosen: Vec<Option<Version>>,
    /// Slots whose block was torn when it was read last.
    torn: Vec<u64>,
}

impl Loaded {
    fn version(&self, block: u64) -> Option<SlotHeader> {
        let chosen = self.chosen.get(block as usize).copied().flatten();
        chosen.map(|(header, _)| header)
    }

    /// True if a block has no version, or one from before the last complete checkpoint.
    fn lacks(&self, survey: &Survey, block: u64) -> bool {
        let needed = survey.newest.map_or(0, |newest| newest.complete.number);
        self.version(block)
            .is_none_or(|header| header.checkpoint < needed)
    }

    /// The first block of the last complete checkpoint that is lacking.
    fn missing(&self, survey: &Survey) -> Option<u64> {
        let blocks = survey.newest.map_or(0, |newest| newest.complete.blocks);
        (0..blocks).find(|&block| self.lacks(survey, block))
    }
}

/// The loaded part of a block.
#[derive(Debug)]
struct LoadedBlock {
    stripe: usize,
    block: u64,
    version: Option<Version>,
    /// Slots whose block was torn.
    torn: Vec<u64>,
}

struct Wanted<'a> {
    stripe: usize,
    block: u64,
    survey: &'a Survey,
    versions: &'a [Version],
    place: &'a mut [u8],
    /// True if the place has an older version.
    is_filled: bool,
}

/// Loads the blocks of all stripes that are lacking.
fn load_blocks(
    surveys: &[Survey],
    into: &mut [Loaded],
    store: &mut PageStore,
    workers: usize,
) -> Result<(), RecoveryError> {
    let Some(first) = surveys.first() else {
        return Ok(());
    };
    let pages = surveys.iter().map(Survey::store_pages).max().unwrap_or(0);
    store.grow_to(pages.max(store.pages()))?;
    let block_bytes = first.layout.block_bytes as usize;
    let sparse = store.is_sparse();
    let mut places: Vec<Option<&mut [u8]>> = store
        .bytes_mut()
        .chunks_mut(block_bytes)
        .map(Some)
        .collect();
    let mut work = Vec::new();
    for (stripe, (survey, loaded)) in surveys.iter().zip(&*into).enumerate() {
        for (block, versions) in survey.versions.iter().enumerate() {
            if !loaded.lacks(survey, block as u64) {
                continue;
            }
            let store_block = survey.layout.store_block(block as u64) as usize;
            // A stripe's only block may be empty and beyond the store's end.
            let place = places
                .get_mut(store_block)
                .and_then(Option::take)
                .unwrap_or_default();
            work.push(Wanted {
                stripe,
                block: block as u64,
                survey,
                versions,
                place,
                is_filled: loaded.version(block as u64).is_some(),
            });
        }
    }
    // In the order of the slots, which is that of the file.
    work.sort_unstable_by_key(|wanted| wanted.versions.first().map(|&(_, slot)| slot));
    let work = Mutex::new(work.into_iter());
    let failed = AtomicBool::new(false);
    let load = || {
        let mut loaded = Vec::new();
        // Read elsewhere first, so that pages that hold nothing are not touched.
        let mut aside = sparse.then(|| AlignedBuffer::zeroed(block_bytes));
        while !failed.load(Ordering::Relaxed) {
            let next = work.lock().next();
            let Some(wanted) = next else {
                break;
            };
            let result = load_block(wanted, aside.as_deref_mut());
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            loaded.push(result?);
        }
        Ok::<_, DiskError>(loaded)
    };
    for (survey, loaded) in surveys.iter().zip(&mut *into) {
        let blocks = survey.versions.len().max(loaded.chosen.len());
        loaded.chosen.resize(blocks, None);
        loaded.torn.clear();
    }
    for part in on_threads(workers, load) {
        for found in part? {
            let loaded = &mut into[found.stripe];
            loaded.torn.extend(found.torn);
            loaded.chosen[found.block as usize] = found.version;
        }
    }
    Ok(())
}

/// Reads a block's newest whole version to its place, directly or by way of `aside`.
fn load_block(wanted: Wanted<'_>, mut aside: Option<&mut [u8]>) -> Result<LoadedBlock, DiskError> {
    let Wanted {
        survey,
        versions,
        place,
        ..
    } = wanted;
    if wanted.is_filled {
        place.fill(0);
    }
    let mut loaded = LoadedBlock {
        stripe: wanted.stripe,
        block: wanted.block,
        version: None,
        torn: Vec::new(),
    };
    for &(header, slot) in versions {
        let file = survey.file.as_ref().expect("versions come from a file");
        let bytes = header.used_bytes as usize;
        let used = match &mut aside {
            None => &mut place[..bytes],
            Some(aside) => &mut aside[..bytes],
        };
        file.read_data(slot, used)?;
        if header.data_is_valid(used) {
            if let Some(aside) = aside {
                copy_used_pages(&aside[..bytes], place);
            }
            loaded.version = Some((header, slot));
            break;
        }
        used.fill(0);
        loaded.torn.push(slot);
    }
    Ok(loaded)
}

/// Copies pages that hold anything to a place of zeroes.
fn copy_used_pages(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.chunks(PAGE_SIZE).zip(to.chunks_mut(PAGE_SIZE)) {
        if holds_anything(from) {
            to.copy_from_slice(from);
        }
    }
}

fn judge(
    survey: Survey,
    loaded: Loaded,
    beside_writer: bool,
) -> Result<LoadedStripe, RecoveryError> {
    let mut damaged_offsets = survey.damaged_offsets.clone();
    let slot_bytes = survey.layout.slot_bytes();
    damaged_offsets.extend(loaded.torn.iter().map(|slot| slot * slot_bytes));
    damaged_offsets.sort_unstable();
    let version = |block: u64| loaded.version(block);
    let chosen = &loaded.chosen;
    let (mut blocks, mut bytes) = (0, 0);
    let (mut oldest, mut newest_position): (Option<LogPosition>, Option<LogPosition>) =
        (None, None);
    for (header, _) in chosen.iter().flatten() {
        let position = header.position;
        blocks += 1;
        bytes += u64::from(header.used_bytes);
        if oldest.is_none_or(|oldest| position.group < oldest.group) {
            oldest = Some(position);
        }
        if newest_position.is_none_or(|newest| position.group >= newest.group) {
            newest_position = Some(position);
        }
    }
    let (complete, redo_start) = match &survey.newest {
        None => (CompleteCheckpoint::NONE, LogPosition::START),
        Some(newest) => {
            let is_new = |b| version(b).is_some_and(|h| h.checkpoint == newest.checkpoint);
            if (0..newest.blocks).all(is_new) {
                let SlotHeader {
                    checkpoint: number,
                    blocks,
                    redo_start,
                    ..
                } = *newest;
                (
                    CompleteCheckpoint {
                        number,
                        blocks,
                        redo_start,
                    },
                    redo_start,
                )
            } else {
                let complete = newest.complete;
                if let Some(block) = loaded.missing(&survey) {
                    return Err(RecoveryError::MissingBlock {
                        file: survey.file_name,
                        block,
                        checkpoint: complete.number,
                        damaged_offsets,
                    });
                }
                let all = (complete.blocks..newest.blocks).all(|b| version(b).is_some());
                let oldest = match oldest {
                    Some(oldest) if oldest.group <= newest.redo_start.group => oldest,
                    _ => newest.redo_start,
                };
                let redo_start = if all { oldest } else { complete.redo_start };
                // With the present versions, the log before `redo_start` is not needed any more, and may have been
                // freed: a successor must not ask for it.
                match all && complete.number > 0 {
                    false => (complete, redo_start),
                    true => (
                        CompleteCheckpoint {
                            blocks: newest.blocks,
                            redo_start,
                            ..complete
                        },
                        redo_start,
                    ),
                }
            }
        }
    };
    let report = StripeReport {
        stripe: survey.layout.stripe,
        file: survey.file_name,
        slots: survey.file.as_ref().map_or(0, BackupFile::slots),
        damaged_offsets,
        newest_checkpoint: survey.newest.map_or(0, |newest| newest.checkpoint),
        complete_checkpoint: complete.number,
        blocks,
        bytes,
        redo_start,
    };
    let slots = chosen
        .iter()
        .map(|version| version.map(|(_, slot)| slot))
        .collect();
    let ring = match beside_writer {
        // A slot may have had two of the blocks, one after the other; no checkpointer continues with them.
        true => SlotMap::new(),
        false => SlotMap::resume(slots, report.slots),
    };
    Ok(LoadedStripe {
        layout: survey.layout,
        ring,
        complete,
        newest_position: newest_position.unwrap_or(LogPosition::START),
        report,
    })
}
