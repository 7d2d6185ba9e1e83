//! The slots against a plain list of each one's entries.

use super::*;
use proptest::prelude::*;
use sardonyx_storage::page::PAGE_SIZE;
use std::collections::BTreeMap;

struct Memory(Vec<Page>);

impl WriteBytes for Memory {
    fn write(&mut self, page: PageId, offset: usize, bytes: &[u8]) {
        self.0[page.0 as usize][offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

impl Memory {
    fn read(&self) -> Result<(UndoArea, Vec<Loser>), UndoDamage> {
        let places = (0..self.0.len() as u64).map(PageId).collect();
        UndoArea::read(places, |page| &self.0[page.0 as usize])
    }

    fn make_room(&mut self, area: &mut UndoArea, slot: Option<SlotNumber>, data: usize) {
        let needed = area.needed_places(slot, 1, entry_bytes(data));
        let missing = needed.saturating_sub(area.spare_places());
        let old = self.0.len() as u64;
        self.0.resize(self.0.len() + missing, [0; PAGE_SIZE]);
        area.grown((old..self.0.len() as u64).map(PageId));
    }
}

type Running = BTreeMap<u64, (SlotNumber, BTreeMap<u64, (u32, Vec<u8>)>)>;

#[derive(Clone, Debug)]
enum Step {
    Begin,
    Undo { whose: usize, length: usize },
    Cancel { whose: usize },
    End { whose: usize },
    Reopen,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Begin),
        6 => (0..4_usize, prop_oneof![0..50_usize, 3000..9000_usize])
            .prop_map(|(whose, length)| Step::Undo { whose, length }),
        3 => (0..4_usize).prop_map(|whose| Step::Cancel { whose }),
        2 => (0..4_usize).prop_map(|whose| Step::End { whose }),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #[test]
    fn what_is_not_cancelled_and_not_ended_is_found_again(
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        let mut memory = Memory(vec![[0; PAGE_SIZE]; 9]);
        let (mut area, _) = memory.read().unwrap();
        let mut running = Running::new();
        let mut scratch = Vec::new();
        for (n, step) in steps.into_iter().enumerate() {
            let n = n as u64 + 1;
            let chosen = |whose: usize, running: &Running| {
                running.keys().nth(whose % running.len().max(1)).copied()
            };
            match step {
                Step::Begin => {
                    // A slot's first entry is in the unit that takes it into use.
                    memory.make_room(&mut area, None, 1);
                    let slot = area.acquire(n, &mut memory);
                    let bytes = vec![n as u8];
                    let entry = Entry::Undo { sequence: n, operation: 2, bytes: &bytes };
                    area.append(slot, &entry, &mut scratch, &mut memory);
                    running.insert(n, (slot, BTreeMap::from([(n, (2, bytes))])));
                }
                Step::Undo { whose, length } => {
                    let Some(begin) = chosen(whose, &running) else { continue };
                    let (slot, entries) = running.get_mut(&begin).unwrap();
                    memory.make_room(&mut area, Some(*slot), length);
                    let bytes = vec![n as u8; length];
                    let entry = Entry::Undo { sequence: n, operation: 3, bytes: &bytes };
                    area.append(*slot, &entry, &mut scratch, &mut memory);
                    entries.insert(n, (3, bytes));
                }
                Step::Cancel { whose } => {
                    let Some(begin) = chosen(whose, &running) else { continue };
                    let (slot, entries) = running.get_mut(&begin).unwrap();
                    // No room is made: it was reserved.
                    if let Some((sequence, _)) = entries.pop_last() {
                        let entry = Entry::<Vec<u8>>::Cancelled { sequence };
                        area.append(*slot, &entry, &mut scratch, &mut memory);
                    }
                }
                Step::End { whose } => {
                    let Some(begin) = chosen(whose, &running) else { continue };
                    let (slot, _) = running.remove(&begin).unwrap();
                    area.release(slot, &mut memory);
                }
                Step::Reopen => {
                    let losers;
                    (area, losers) = memory.read().unwrap();
                    prop_assert_eq!(losers.len(), running.len());
                    for loser in losers {
                        let begin = area.slots[loser.slot.0].begin;
                        running.get_mut(&begin).unwrap().0 = loser.slot;
                    }
                }
            }
            let (_, losers) = memory.read().unwrap();
            let mut found: Vec<_> = losers.into_iter().map(|loser| loser.entries).collect();
            let mut expected: Vec<Vec<_>> = running
                .values()
                .map(|(_, entries)| {
                    let entries = entries.iter();
                    entries.map(|(n, (operation, bytes))| (*n, *operation, bytes.clone())).collect()
                })
                .collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn damaged_pages_are_read_or_refused(
        at in 0..5 * PAGE_SIZE, byte in any::<u8>(), small in any::<bool>(),
    ) {
        let mut memory = Memory(vec![[0; PAGE_SIZE]; 14]);
        let (mut area, _) = memory.read().unwrap();
        let mut scratch = Vec::new();
        for begin in 1..3 {
            let slot = area.acquire(begin, &mut memory);
            for sequence in 10 * begin..10 * begin + 3 {
                let bytes = vec![7; 2000];
                let entry = Entry::Undo { sequence, operation: 1, bytes };
                area.append(slot, &entry, &mut scratch, &mut memory);
            }
        }
        let at = if small { at / PAGE_SIZE * PAGE_SIZE + at % 64 } else { at };
        memory.0[9 + at / PAGE_SIZE][at % PAGE_SIZE] = byte;
        if let Err(damage) = memory.read() {
            prop_assert!((9..14).contains(&damage.page) && damage.offset < PAGE_SIZE);
        }
    }
}
