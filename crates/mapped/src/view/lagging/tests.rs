//! Random histories of commits, folds and looks, beside a model that keeps the newest pages whole.

use super::*;
use crate::shared::region::RegionSize;
use crate::shared::ring;
use sardonyx_storage::log::record::{append_write, mark_end};
use sardonyx_storage::page::Address;
use sardonyx_workload::random::Random;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

const PAGES: u64 = 700;

struct World {
    region: Region,
    lagging: Lagging,
    /// Every page at every end of a frame, as far as it changed there.
    newest: BTreeMap<u64, Box<[u8; PAGE_SIZE]>>,
    ends: Vec<u64>,
    folded: u64,
    snapshot: u64,
    random: Random,
}

impl World {
    fn new(seed: u64) -> Self {
        let size = RegionSize {
            ring_bytes: 2 << 20,
            pages_max: PAGES,
        };
        let region = Region::create(None, size, false).unwrap();
        region.grow(PAGES).unwrap();
        let lagging = Lagging::new(&region).unwrap();
        World {
            region,
            lagging,
            newest: BTreeMap::new(),
            ends: vec![0],
            folded: 0,
            snapshot: 0,
            random: Random::new(seed),
        }
    }

    /// A frame of records on some pages; some pages have several runs.
    fn commit(&mut self) {
        let (mut records, mut last) = (Vec::new(), 0);
        for _ in 0..1 + self.random.below(6) {
            // Few pages are changed often, many seldom.
            let page = match self.random.chance(50) {
                true => self.random.below(4),
                false => self.random.below(PAGES),
            };
            for _ in 0..1 + self.random.below(3) {
                last = records.len();
                let offset = self.random.below(500) * 8;
                let bytes = [self.random.next_u64() as u8; 96];
                let bytes = &bytes[..8 * (1 + self.random.below(12)) as usize];
                let address = page * PAGE_SIZE as u64 + offset;
                append_write(&mut records, Address(address), bytes);
                let newest = self.newest.entry(page);
                let newest = newest.or_insert_with(|| Box::new([0; PAGE_SIZE]));
                newest[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
            }
        }
        mark_end(&mut records, last);
        self.ends
            .push(ring::publish(&self.region, (0, 1), &records));
    }

    /// Brings base pages forward to one of the frames' ends, at most the snapshot.
    fn fold(&mut self) {
        let ends = self.ends.iter().copied();
        let later: Vec<u64> = ends
            .filter(|end| (self.folded..=self.snapshot).contains(end))
            .collect();
        let to = later[self.random.below(later.len() as u64) as usize];
        // SAFETY: nothing of the ring is used again here.
        for frame in unsafe { Frames::new(&self.region, self.folded, to) } {
            for change in changes(frame.records) {
                apply(self.region.base(change.page).cast(), change);
            }
        }
        self.folded = to;
    }

    fn follow(&mut self) {
        self.snapshot = self.region.control().tail.load(Ordering::SeqCst);
        self.lagging
            .follow(&self.region, self.folded, self.snapshot);
    }

    fn check(&mut self, page: u64) {
        let mut scratch = [0; PAGE_SIZE];
        let found = self.lagging.committed(&self.region, page, &raw mut scratch);
        // SAFETY: a whole page, which does not change.
        let found = unsafe { &*found.cast::<[u8; PAGE_SIZE]>() };
        match self.newest.get(&page) {
            Some(newest) => assert!(found == &**newest, "page {page}"),
            None => assert!(found.iter().all(|byte| *byte == 0), "page {page}"),
        }
    }
}

#[test]
fn each_page_is_what_was_committed_and_what_is_kept_is_what_base_pages_lack() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        for _ in 0..400 {
            (0..world.random.below(4)).for_each(|_| world.commit());
            if world.random.chance(30) {
                world.fold();
            }
            world.follow();
            for _ in 0..world.random.below(12) {
                let page = world.random.below(PAGES);
                world.check(page);
                let page = world.random.below(4);
                world.check(page);
            }
        }
        (0..PAGES).for_each(|page| world.check(page));
        let (pages, copies) = (world.lagging.lagging, world.lagging.copies.used);
        assert!(copies <= (copies_max(2 << 20) / PAGE_SIZE as u64) as usize);
        assert!(world.lagging.listed.len() <= 2 * pages + 1024);
        world.folded = world.snapshot;
        world.follow();
        assert_eq!((world.lagging.lagging, world.lagging.notes.len()), (0, 0));
    }
}

#[test]
fn i13_what_is_new_is_looked_at_and_not_what_is_old() {
    let mut world = World::new(1);
    let mut most = [0; 2];
    for round in 0..2000 {
        let before = planted::looked();
        world.commit();
        world.follow();
        (0..4).for_each(|page| world.check(page));
        let half = &mut most[round / 1000];
        *half = (planted::looked() - before).max(*half);
    }
    assert!(world.snapshot < crate::shared::region::HOT_BYTES);
    // The pages that are looked at each time have copies by then.
    assert!(most[1] <= most[0].max(4096), "{most:?}");
}
