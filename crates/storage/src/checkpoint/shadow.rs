//! DB' of one stripe: a second copy of the stripe's blocks, kept by applying durable commit groups.
//!
//! With one stripe it has the whole database at the same addresses; with more it has its own blocks side
//! by side. Its records are found once per group, for all stripes (`log::split`).
//!
//! Invariants: I2 (only durable groups are applied), I3.
//! Source: TPK paper, section 2, "Checkpointing" (the update phase).

use super::StripeLayout;
use super::install::{InstallError, Installed, install, install_split};
use super::source::used_bytes;
use crate::log::pool::DurableGroup;
use crate::log::record::RecordError;
use crate::log::split::{Split, Stripes};
use crate::page::PAGE_SIZE;
use crate::store::{PageStore, StoreError};
use crate::supervisor::on_threads;
use sardonyx_base::sync::futex::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// A group that is applied.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Applied<'a> {
    /// The payload of one that only this stripe is given.
    Alone(&'a [u8]),
    /// One that the stripes share: its records are sorted by stripe once, for all of them.
    Shared(&'a DurableGroup),
}

impl<'a> Applied<'a> {
    /// The group's payload.
    pub(super) fn payload(&self) -> &'a [u8] {
        match self {
            Applied::Alone(payload) => payload,
            Applied::Shared(group) => group.payload(),
        }
    }

    fn split(&self, stripes: Stripes) -> Result<Arc<Split>, RecordError> {
        match self {
            Applied::Alone(payload) => Split::of(payload, stripes).map(Arc::new),
            Applied::Shared(group) => group.split(stripes),
        }
    }
}

/// The pages of one stripe.
#[derive(Debug)]
pub struct Shadow {
    layout: StripeLayout,
    store: PageStore,
}

impl Shadow {
    /// An empty stripe of a database of at most `memory_max_bytes`.
    pub fn reserve(layout: StripeLayout, memory_max_bytes: u64) -> Result<Self, StoreError> {
        let block_bytes = u64::from(layout.block_bytes);
        let bytes = if layout.stripes == 1 {
            memory_max_bytes
        } else {
            let blocks = memory_max_bytes.div_ceil(block_bytes);
            let blocks = blocks.div_ceil(u64::from(layout.stripes));
            blocks.saturating_mul(block_bytes)
        };
        Ok(Shadow {
            layout,
            store: PageStore::reserve(bytes)?,
        })
    }

    /// Installs a group's writes to this stripe; journal records go, encoded, to `journal`.
    pub(crate) fn apply(
        &mut self,
        group: Applied<'_>,
        mut journal: impl FnMut(&[u8]),
    ) -> Result<Installed, InstallError> {
        let payload = group.payload();
        if self.layout.stripes == 1 {
            return install(&mut self.store, payload, journal);
        }
        let split = group.split(Stripes {
            count: self.layout.stripes,
            block_bytes: self.layout.block_bytes,
        })?;
        let writes = &split.writes[self.layout.stripe as usize];
        install_split(&mut self.store, payload, writes)?;
        for &(start, end) in &split.journal {
            journal(&payload[start as usize..end as usize]);
        }
        Ok(Installed {
            transactions: split.transactions,
            writes: writes.len() as u64,
            journal_rows: split.journal.len() as u64,
        })
    }

    /// Makes this stripe a copy of its part of a whole store, with so many threads. Of a sparse one only touched pages
    /// are read and take memory.
    pub fn copy_from(&mut self, whole: &PageStore, workers: usize) -> Result<(), StoreError> {
        let block_bytes = self.layout.block_bytes as usize;
        let (stripe, stripes) = (self.layout.stripe as usize, self.layout.stripes as usize);
        let mine = || {
            whole
                .bytes()
                .chunks(block_bytes)
                .skip(stripe)
                .step_by(stripes)
        };
        let bytes: usize = mine().map(<[u8]>::len).sum();
        self.store.set_sparse(whole.is_sparse());
        self.store.grow_to((bytes / PAGE_SIZE) as u64)?;
        let touched = whole.is_sparse().then(|| whole.touched());
        if stripes == 1 {
            self.store.expect(touched.as_deref().unwrap_or_default());
        }
        let blocks = (stripe..).step_by(stripes);
        let pairs = self.store.bytes_mut().chunks_mut(block_bytes).zip(mine());
        let pairs = Mutex::new(blocks.zip(pairs));
        let copy = || {
            loop {
                let pair = pairs.lock().next();
                let Some((block, (to, from))) = pair else {
                    break;
                };
                let Some(touched) = &touched else {
                    to[..from.len()].copy_from_slice(from);
                    continue;
                };
                let start = block * block_bytes;
                for part in parts(touched, start..start + from.len()) {
                    to[part.clone()].copy_from_slice(&from[part]);
                }
            }
        };
        on_threads(workers, copy);
        Ok(())
    }

    /// The end of the database as far as this stripe has it: its length, if no stripe has more.
    pub fn end_in_whole(&self) -> u64 {
        let block_bytes = u64::from(self.layout.block_bytes);
        let Some(last) = self.blocks().checked_sub(1) else {
            return 0;
        };
        let in_whole = last * u64::from(self.layout.stripes) + u64::from(self.layout.stripe);
        in_whole * block_bytes + (self.stored_bytes() - last * block_bytes)
    }

    /// Copies this stripe's blocks to their places in a whole store that is long enough, with so many threads.
    pub fn copy_to(&self, whole: &mut PageStore, workers: usize) {
        let block_bytes = self.layout.block_bytes as usize;
        let (stripe, stripes) = (self.layout.stripe as usize, self.layout.stripes as usize);
        let blocks = whole.bytes_mut().chunks_mut(block_bytes);
        let mine = blocks.skip(stripe).step_by(stripes);
        let pairs = Mutex::new(mine.zip(self.store.bytes().chunks(block_bytes)));
        on_threads(workers, || {
            loop {
                let pair = pairs.lock().next();
                let Some((to, from)) = pair else { break };
                to[..from.len()].copy_from_slice(from);
            }
        });
    }

    /// The bytes of a block up to the last page that holds anything.
    pub fn used_part(&self, block: u64) -> &[u8] {
        let bytes = self.block(block);
        &bytes[..used_bytes(bytes)]
    }

    /// The number of its blocks, a partly used one included.
    pub fn blocks(&self) -> u64 {
        (self.store.bytes().len() as u64).div_ceil(u64::from(self.layout.block_bytes))
    }

    /// The number of its blocks' bytes.
    pub fn stored_bytes(&self) -> u64 {
        self.store.bytes().len() as u64
    }

    /// The bytes of a block that are in use; empty for a block that does not exist.
    pub fn block(&self, block: u64) -> &[u8] {
        let bytes = self.store.bytes();
        let block_bytes = self.layout.block_bytes as usize;
        let from = (block as usize * block_bytes).min(bytes.len());
        &bytes[from..(from + block_bytes).min(bytes.len())]
    }

    /// The stripe's layout.
    pub fn layout(&self) -> StripeLayout {
        self.layout
    }

    /// The stripe's pages, side by side.
    pub fn store(&self) -> &PageStore {
        &self.store
    }
}

/// The part of a range of bytes in these runs of pages, relative to its start.
fn parts(runs: &[Range<u64>], bytes: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let in_bytes = |run: &Range<u64>| run.start as usize * PAGE_SIZE..run.end as usize * PAGE_SIZE;
    let first = runs.partition_point(|run| in_bytes(run).end <= bytes.start);
    let runs = runs[first..].iter().map(in_bytes);
    let end = bytes.end;
    let runs = runs.take_while(move |run| run.start < end);
    runs.map(move |run| {
        run.start.max(bytes.start) - bytes.start..run.end.min(bytes.end) - bytes.start
    })
}
