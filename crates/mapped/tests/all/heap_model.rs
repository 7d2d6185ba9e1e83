//! The heap against a model: allocations keep their bytes, roots are found, an abort undoes all of it, and the heap is
//! whole all the time.

use proptest::prelude::*;
use sardonyx_mapped::heap::{HeapError, Root};
use sardonyx_mapped::memory::PlainMemory;
use sardonyx_mapped::{Heap, Memory, MemoryAccess, P, Slice};
use std::collections::BTreeMap;

/// So little that some runs fill it.
const LIMIT: u64 = 12 << 20;

#[derive(Clone, Debug)]
enum Step {
    Allocate { arena: u64, bytes: u64, align: u64 },
    Free { which: usize, arena: u64 },
    FreeMany { from: usize, count: usize },
    SetRoot { name: usize, which: usize },
    RemoveRoot { name: usize },
    Commit,
    Abort,
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0u64..200,
        4 => 0u64..2100,
        3 => 2000u64..30_000,
        1 => 30_000u64..900_000,
        1 => 2_000_000u64..5_000_000,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let align = prop_oneof![6 => 0u32..5, 1 => 5u32..13].prop_map(|log| 1u64 << log);
    prop_oneof![
        12 => (0u64..3, bytes(), align)
            .prop_map(|(arena, bytes, align)| Step::Allocate { arena, bytes, align }),
        7 => (any::<usize>(), 0u64..3).prop_map(|(which, arena)| Step::Free { which, arena }),
        1 => (any::<usize>(), 0usize..60).prop_map(|(from, count)| Step::FreeMany { from, count }),
        2 => (0usize..40, any::<usize>()).prop_map(|(name, which)| Step::SetRoot { name, which }),
        1 => (0usize..40).prop_map(|name| Step::RemoveRoot { name }),
        1 => Just(Step::Commit),
        1 => Just(Step::Abort),
    ]
}

/// Names of all lengths, so that 40 of them need several pages.
fn name(number: usize) -> String {
    format!("{number:02}{}", "é".repeat(number * 3))
}

#[derive(Clone, Debug, PartialEq)]
struct Thing {
    place: P<u8>,
    bytes: u64,
    align: u64,
    seed: u64,
}

impl Thing {
    fn slice(&self) -> Slice<u8> {
        Slice {
            start: self.place,
            length: self.bytes,
        }
    }

    /// The bytes that must be there: all of a small thing, both ends of a large one.
    fn expected(&self, at: u64) -> u8 {
        (self
            .seed
            .wrapping_add(at)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            >> 56) as u8
    }

    fn places(&self) -> impl Iterator<Item = u64> {
        let bytes = self.bytes;
        (0..bytes.min(5000)).chain(bytes.saturating_sub(5000).max(5000)..bytes)
    }

    fn fill(&self, memory: &mut PlainMemory) {
        let bytes = memory.slice_mut(self.slice()).unwrap();
        for at in self.places() {
            bytes[at as usize] = self.expected(at);
        }
    }

    fn verify(&self, memory: &PlainMemory) {
        let bytes = memory.slice(self.slice()).unwrap();
        for at in self.places() {
            assert_eq!(bytes[at as usize], self.expected(at), "{self:?} at {at}");
        }
    }
}

#[derive(Clone, Default)]
struct Model {
    things: Vec<Thing>,
    roots: BTreeMap<String, u64>,
    next_seed: u64,
}

struct World {
    memory: PlainMemory,
    heap: Heap,
    model: Model,
    committed: (Vec<u8>, Model),
}

impl World {
    fn new() -> World {
        let mut memory = PlainMemory::new(LIMIT).unwrap();
        let heap = Heap::format(&mut memory).unwrap();
        let committed = (memory.bytes().to_vec(), Model::default());
        World {
            memory,
            heap,
            model: Model::default(),
            committed,
        }
    }

    fn allocate(&mut self, arena: u64, bytes: u64, align: u64) {
        let heap = self.heap.in_arena(arena);
        match heap.allocate_bytes(&mut self.memory, bytes, align) {
            Ok(place) => {
                assert!(place.offset().is_multiple_of(align) && !place.is_null());
                let seed = self.model.next_seed;
                self.model.next_seed += 1 << 32;
                let thing = Thing {
                    place,
                    bytes,
                    align,
                    seed,
                };
                thing.fill(&mut self.memory);
                self.model.things.push(thing);
            }
            Err(HeapError::Grow(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }

    fn free(&mut self, which: usize, arena: u64) {
        if self.model.things.is_empty() {
            return;
        }
        let which = which % self.model.things.len();
        let thing = self.model.things.swap_remove(which);
        thing.verify(&self.memory);
        let heap = self.heap.in_arena(arena);
        let free = |memory: &mut PlainMemory| {
            heap.free_bytes(memory, thing.place, thing.bytes, thing.align)
        };
        free(&mut self.memory).unwrap();
        // A second time it is refused, and changes nothing.
        match free(&mut self.memory) {
            Err(HeapError::DoubleFree { .. } | HeapError::NotAllocated { .. }) => {}
            other => panic!("{thing:?} is freed twice: {other:?}"),
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Allocate {
                arena,
                bytes,
                align,
            } => self.allocate(arena, bytes, align),
            Step::Free { which, arena } => self.free(which, arena),
            Step::FreeMany { from, count } => {
                for which in 0..count {
                    self.free(from.wrapping_add(which * 7), 0);
                }
            }
            Step::SetRoot {
                name: number,
                which,
            } => {
                let things = &self.model.things;
                let place = match things.len() {
                    0 => P::null(),
                    length => things[which % length].place,
                };
                match self
                    .heap
                    .set_root(&mut self.memory, &name(number), place, "bytes")
                {
                    Ok(()) => {
                        self.model.roots.insert(name(number), place.offset());
                    }
                    Err(HeapError::Grow(_)) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            Step::RemoveRoot { name: number } => {
                let there = self
                    .heap
                    .remove_root(&mut self.memory, &name(number))
                    .unwrap();
                assert_eq!(there, self.model.roots.remove(&name(number)).is_some());
            }
            Step::Commit => {
                self.committed = (self.memory.bytes().to_vec(), self.model.clone());
            }
            Step::Abort => {
                let (bytes, model) = &self.committed;
                let now = self.memory.bytes_mut();
                now[..bytes.len()].copy_from_slice(bytes);
                now[bytes.len()..].fill(0);
                self.model = model.clone();
            }
        }
    }

    fn verify(&self) {
        let report = self.heap.check(&self.memory).unwrap();
        let usage = self.heap.usage(&self.memory).unwrap();
        assert_eq!(report.small + report.large, self.model.things.len() as u64);
        assert_eq!(report.roots, self.model.roots.len() as u64);
        assert_eq!(usage.free, report.free_pages * 4096);
        assert_eq!(usage.arenas, report.arena_pages * 4096);
        assert_eq!(usage.large, (report.large_pages + report.name_pages) * 4096);
        for thing in &self.model.things {
            thing.verify(&self.memory);
        }
        let roots = self.heap.roots(&self.memory).unwrap();
        let roots: BTreeMap<String, u64> = roots
            .into_iter()
            .map(|Root { name, offset, .. }| (name, offset))
            .collect();
        assert_eq!(roots, self.model.roots);
        for (name, offset) in &roots {
            let place: P<u8> = self
                .heap
                .root(&self.memory, name, "bytes")
                .unwrap()
                .unwrap();
            assert_eq!(place.offset(), *offset);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sardonyx_base::random::cases(32), ..ProptestConfig::default() })]

    #[test]
    fn the_heap_is_as_the_model(steps in prop::collection::vec(step(), 1..250)) {
        let mut world = World::new();
        for (number, step) in steps.iter().enumerate() {
            world.step(step);
            if number % 16 == 15 {
                world.verify();
            }
        }
        world.verify();
        while !world.model.things.is_empty() {
            world.free(number_of(&world.model), 1);
        }
        world.verify();
        let report = world.heap.check(&world.memory).unwrap();
        prop_assert_eq!((report.small, report.small_bytes, report.large_pages), (0, 0, 0));
    }
}

/// Something to free in no order.
fn number_of(model: &Model) -> usize {
    model.things.len() * 7 / 3
}

/// Allocating and freeing for ever needs no more memory than at first.
#[test]
fn churn_does_not_grow_the_heap() {
    let mut world = World::new();
    let mut high_water = 0;
    for round in 0..40u64 {
        for number in 0..600u64 {
            let bytes = (number * 37 + round * 11) % 3000;
            world.allocate(number % 3, bytes, 8);
        }
        for number in 0..600 {
            world.free(number * 13, 0);
        }
        assert!(world.model.things.is_empty());
        if round == 4 {
            high_water = world.heap.usage(&world.memory).unwrap().high_water;
        }
    }
    world.verify();
    let after = world.heap.usage(&world.memory).unwrap().high_water;
    assert!(
        after <= high_water + high_water / 4,
        "{high_water} bytes became {after}"
    );
}
