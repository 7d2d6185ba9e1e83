//! The place in a stripe's file of the next version of a block.
//!
//! The TPK paper keeps n blocks in a ring of n+1 slots and moves every block one slot down at each
//! checkpoint. The reason it works is only this: *a block's newest durable version is never overwritten
//! before its next version is durable.* This structure keeps that property directly, with a map from
//! blocks to slots and a queue of free slots. So n may change at any time, and a half-written checkpoint
//! needs no special case. While n is constant, the slots are used in the paper's order: one after
//! another, each freed by the block written just before.
//!
//! It does no I/O. Its property is tested in `the_newest_durable_version_is_never_overwritten`.
//!
//! Source: TPK paper, section 2, "Recovery".

use std::collections::VecDeque;

/// The slots of one stripe.
#[derive(Clone, Debug, Default)]
pub struct SlotMap {
    /// The slot of each block's newest durable version.
    newest: Vec<Option<u64>>,
    /// Slots that hold no newest version, in the order in which they became free.
    free: VecDeque<u64>,
    slots: u64,
    writing: Option<Write>,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    block: u64,
    slot: u64,
}

impl SlotMap {
    /// Without slots.
    pub fn new() -> Self {
        Self::default()
    }

    /// The slots of a file with `slots` slots, where `newest[b]` is the slot of block b's newest
    /// valid version, if it has one. All other slots are free.
    ///
    /// # Panics
    /// If two blocks have the same slot, or a slot is not below `slots`.
    pub fn resume(newest: Vec<Option<u64>>, slots: u64) -> Self {
        let mut taken = vec![false; usize::try_from(slots).expect("a slot count")];
        for &slot in newest.iter().flatten() {
            let taken = &mut taken[slot as usize];
            assert!(
                !*taken,
                "slot {slot} holds the newest version of two blocks"
            );
            *taken = true;
        }
        let free = (0..slots).filter(|&slot| !taken[slot as usize]).collect();
        SlotMap {
            newest,
            free,
            slots,
            writing: None,
        }
    }

    /// Chooses the slot for the next version of a block: one that no block needs, if there is one,
    /// else a new one at the file's end. Call [`SlotMap::finish_write`] when the block is durable there,
    /// and never if that failed; [`SlotMap::abandon_write`] if it is going to be tried again.
    ///
    /// # Panics
    /// If the write begun before was not finished.
    pub fn begin_write(&mut self, block: u64) -> u64 {
        assert!(
            self.writing.is_none(),
            "one write at a time: {:?}",
            self.writing
        );
        let slot = self.free.pop_front().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.writing = Some(Write { block, slot });
        slot
    }

    /// The version begun is durable; the slot of the older one is free from now on.
    ///
    /// # Panics
    /// If no write was begun.
    pub fn finish_write(&mut self) {
        let Write { block, slot } = self.writing.take().expect("a write was begun");
        let block = block as usize;
        if block >= self.newest.len() {
            self.newest.resize(block + 1, None);
        }
        if let Some(older) = self.newest[block].replace(slot) {
            self.free.push_back(older);
        }
    }

    /// The version begun is not there, and its slot may hold anything: it is the next one chosen.
    ///
    /// # Panics
    /// If no write was begun.
    pub fn abandon_write(&mut self) {
        let Write { slot, .. } = self.writing.take().expect("a write was begun");
        self.free.push_front(slot);
    }

    /// The slots in use, free or not.
    pub fn slots(&self) -> u64 {
        self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn with_a_constant_size_it_is_the_tpk_papers_ring() {
        let n = 5;
        let mut slots = SlotMap::new();
        for checkpoint in 0..20u64 {
            for block in 0..n {
                let slot = slots.begin_write(block);
                slots.finish_write();
                // The TPK paper: block k at k, then one slot down at each checkpoint, modulo n + 1.
                assert_eq!(slot, (block + checkpoint * n) % (n + 1));
            }
        }
        assert_eq!(slots.slots(), n + 1);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Write { block: u64 },
        Grow,
        CrashDuringWrite { block: u64 },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => any::<u64>().prop_map(|block| Step::Write { block }),
            1 => Just(Step::Grow),
            1 => any::<u64>().prop_map(|block| Step::CrashDuringWrite { block }),
        ];
        proptest::collection::vec(step, 1..200)
    }

    /// The file as a crash would leave it: the version of a block in each slot, or torn bytes.
    type File = Vec<Option<(u64, u64)>>;

    fn newest(file: &File, blocks: u64) -> Vec<Option<u64>> {
        let newest_of = |block| {
            let versions = file.iter().enumerate().filter_map(|(slot, content)| {
                content
                    .filter(|&(b, _)| b == block)
                    .map(|(_, version)| (version, slot as u64))
            });
            versions.max().map(|(_, slot)| slot)
        };
        (0..blocks).map(newest_of).collect()
    }

    fn tear(file: &mut File, slot: u64) {
        let slot = slot as usize;
        if slot >= file.len() {
            file.resize(slot + 1, None);
        }
        file[slot] = None;
    }

    proptest! {
        #[test]
        fn the_newest_durable_version_is_never_overwritten(steps in steps()) {
            let (mut slots, mut file) = (SlotMap::new(), File::new());
            let mut durable: Vec<u64> = vec![0];
            let mut version = 0;
            for step in steps {
                version += 1;
                match step {
                    Step::Grow => durable.push(0),
                    Step::Write { block } => {
                        let block = block % durable.len() as u64;
                        let slot = slots.begin_write(block);
                        tear(&mut file, slot);
                        file[slot as usize] = Some((block, version));
                        durable[block as usize] = version;
                        slots.finish_write();
                    }
                    Step::CrashDuringWrite { block } => {
                        let block = block % durable.len() as u64;
                        let slot = slots.begin_write(block);
                        tear(&mut file, slot);
                        let found = newest(&file, durable.len() as u64);
                        slots = SlotMap::resume(found, file.len() as u64);
                    }
                }
                for (block, &expected) in durable.iter().enumerate() {
                    let slot = newest(&file, durable.len() as u64)[block];
                    let found = slot.map_or(0, |slot| file[slot as usize].unwrap().1);
                    prop_assert_eq!(found, expected, "block {}", block);
                }
                prop_assert!(slots.slots() <= durable.len() as u64 + 1);
            }
        }
    }
}
