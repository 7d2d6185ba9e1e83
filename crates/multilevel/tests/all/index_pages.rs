//! The effects of the ordered index on pages: the locks on them and the few bytes that it writes. Damaged pages are
//! errors.

use proptest::prelude::*;
use sardonyx_multilevel::index::{IndexError, OrderedIndex};
use sardonyx_multilevel::pages::Change;
use sardonyx_multilevel::{
    Area, LockSpace, Mode, Operation, PAGE_SIZE, Page, PageId, Pages, PlainPages, Stop,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;

/// Plain pages that note the calls.
struct Watched {
    pages: PlainPages,
    shared: RefCell<BTreeSet<PageId>>,
    exclusive: RefCell<BTreeSet<PageId>>,
    /// True if a page was locked shared and then exclusively.
    converted: Cell<bool>,
    written: usize,
    reads_left: RefCell<u64>,
}

impl Watched {
    fn new(pages: PlainPages) -> Watched {
        Watched {
            pages,
            shared: RefCell::default(),
            exclusive: RefCell::default(),
            converted: Cell::default(),
            written: 0,
            reads_left: RefCell::new(u64::MAX),
        }
    }

    /// The number of pages that an operation locks shared, the number that it locks exclusively, and the number of
    /// bytes it writes.
    fn costs<O: Operation<Error = IndexError>>(&mut self, operation: &O) -> (usize, usize, usize) {
        self.shared.get_mut().clear();
        self.exclusive.get_mut().clear();
        self.converted.set(false);
        self.written = 0;
        assert!(operation.execute(self).is_ok());
        let exclusive = self.exclusive.get_mut();
        assert!(
            exclusive.len() > 1 || !self.converted.get(),
            "two that do so deadlock"
        );
        let shared = self.shared.get_mut().difference(exclusive).count();
        (shared, exclusive.len(), self.written)
    }

    fn lock_exclusively(&self, page: PageId) {
        if self.exclusive.borrow_mut().insert(page) && self.shared.borrow().contains(&page) {
            self.converted.set(true);
        }
    }

    fn count(&self) {
        let mut left = self.reads_left.borrow_mut();
        *left = left.checked_sub(1).expect("an endless loop");
    }
}

impl Pages for Watched {
    fn page(&self, area: Area, index: u64) -> Result<PageId, Stop> {
        self.pages.page(area, index)
    }

    fn pages_of(&self, area: Area) -> Result<u64, Stop> {
        self.pages.pages_of(area)
    }

    fn grow(&mut self, area: Area, pages: u64) -> Result<(), Stop> {
        self.pages.grow(area, pages)
    }

    fn read(&self, page: PageId) -> Result<&Page, Stop> {
        self.count();
        self.shared.borrow_mut().insert(page);
        self.pages.read(page)
    }

    fn read_to_write(&self, page: PageId) -> Result<&Page, Stop> {
        self.count();
        self.lock_exclusively(page);
        self.pages.read_to_write(page)
    }

    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], Stop> {
        self.lock_exclusively(page);
        self.written += range.len();
        self.pages.write(page, range)
    }

    fn lock(&mut self, _: &'static LockSpace, _: u64, _: Mode) -> Result<(), Stop> {
        Ok(())
    }

    fn reserve(&mut self, _: &'static LockSpace, _: u64, _: Change) -> Result<(), Stop> {
        unreachable!("the index has no quantities")
    }
}

/// Even numbers as keys, so that all leaves have room and gaps.
fn built(entries: u64) -> (PlainPages, OrderedIndex) {
    let mut pages = PlainPages::new();
    let index = OrderedIndex::of(pages.area(0));
    for number in (0..entries).map(|n| n.wrapping_mul(7_919) % entries * 2) {
        index
            .insert(&number.to_be_bytes(), &[1; 20])
            .execute(&mut pages)
            .unwrap();
    }
    (pages, index)
}

#[test]
fn inner_nodes_are_locked_shared_and_one_leaf_as_the_operation_means_it() {
    let (pages, index) = built(30_000);
    let shape = index.check(&pages).unwrap();
    assert_eq!(shape.height, 3);
    let mut watched = Watched::new(pages);
    let (mut neighbours, mut moved) = (0, 0);
    for number in (0..60_000_u64).step_by(977) {
        let (there, absent) = ((number & !1).to_be_bytes(), (number | 1).to_be_bytes());
        // If the next key is in the next leaf, that is read as well, and perhaps the node above.
        let mut leaf_to_read = |shared: usize, least: usize| {
            neighbours += usize::from(shared > least);
            assert!(
                (least..=least + 2).contains(&shared),
                "{shared} locked shared"
            );
        };
        assert_eq!(watched.costs(&index.get(&there)), (3, 0, 0));
        let (shared, exclusive, written) = watched.costs(&index.get(&absent));
        assert_eq!((exclusive, written), (0, 0));
        leaf_to_read(shared, 3);
        assert_eq!(watched.costs(&index.put(&there, &[2; 20])), (2, 1, 20));
        assert_eq!(
            watched.costs(&index.put(&there, &[2; 20])),
            (2, 1, 0),
            "the same value"
        );
        let (shared, exclusive, written) = watched.costs(&index.insert(&absent, &[3; 20]));
        if exclusive == 1 {
            leaf_to_read(shared, 2);
            // The cell, 6 bytes of the header, and at most 2 for each of 119 other cells; seldom
            // the cells, moved together where a split or a deletion left holes.
            assert!(
                (4 + 8 + 20 + 6 + 2..PAGE_SIZE).contains(&written),
                "{written} bytes"
            );
            moved += usize::from(written >= 40 + 2 * 119);
        } else {
            // A split: its two leaves, their parent, and the page that knows which are used.
            assert_eq!(exclusive, 4);
            assert!(written < PAGE_SIZE, "{written} bytes");
        }
        let (shared, exclusive, written) = watched.costs(&index.delete(&absent));
        assert_eq!(exclusive, 1);
        leaf_to_read(shared, 2);
        assert!(written <= 6 + 2 * 119, "{written} bytes");
    }
    assert!(
        neighbours < 10 && moved < 10,
        "{neighbours} and {moved} times of 62"
    );
}

#[test]
fn ascending_keys_write_little_more_than_themselves() {
    let (pages, index) = built(10_000);
    let mut watched = Watched::new(pages);
    let mut written = 0;
    for number in 20_000..40_000_u64 {
        written += watched
            .costs(&index.insert(&number.to_be_bytes(), &[1; 20]))
            .2;
    }
    // 4 bytes of cell, 8 of key, 20 of value, 6 of header, 2 of slot; and a leaf in 120 of them.
    assert!(written / 20_000 <= 41, "{written} bytes");
}

/// An index of three levels, of few pages: long keys that differ in their last byte.
fn small() -> (PlainPages, OrderedIndex) {
    let mut pages = PlainPages::new();
    let index = OrderedIndex::of(pages.area(0));
    for number in 0..120_u8 {
        let key = [&[7; 500][..], &[number.wrapping_mul(83)]].concat();
        index
            .insert(&key, &[number; 300])
            .execute(&mut pages)
            .unwrap();
    }
    for number in (0..120_u8).step_by(3) {
        let key = [&[7; 500][..], &[number.wrapping_mul(83)]].concat();
        index.delete(&key).execute(&mut pages).unwrap();
    }
    assert!(index.check(&pages).unwrap().height >= 3);
    (pages, index)
}

/// Executes all operations on pages that may be damaged; every error but damage is an error here.
fn use_all(pages: &PlainPages, index: OrderedIndex) -> usize {
    let mut damages = 0;
    let mut judge = |pages: &PlainPages, error: Option<IndexError>| match error {
        None => {}
        Some(IndexError::Damaged { page, offset, .. }) => {
            assert!(pages.read(page).is_ok() && offset < PAGE_SIZE);
            damages += 1;
        }
        Some(other) => panic!("{other}"),
    };
    judge(pages, index.check(pages).err());
    for number in (0..=255_u8).step_by(5) {
        let key = [&[7; 500][..], &[number]].concat();
        let mut watched = Watched::new(pages.clone());
        *watched.reads_left.get_mut() = 20_000;
        judge(pages, index.get(&key).execute(&mut watched).err());
        judge(
            pages,
            index.put(&key, &[1; 900]).execute(&mut watched).err(),
        );
        judge(pages, index.delete(&key).execute(&mut watched).err());
        judge(
            pages,
            index.scan(&key[..]..).limit(9).execute(&mut watched).err(),
        );
        let down = index.scan(..&key[..]).descending().limit(9);
        judge(pages, down.execute(&mut watched).err());
    }
    judge(pages, index.scan(..).execute(&mut pages.clone()).err());
    damages
}

/// A page, an offset in it, and the byte to put there.
fn byte_below(offset: usize) -> impl Strategy<Value = (prop::sample::Index, usize, u8)> {
    (any::<prop::sample::Index>(), 0..offset, any::<u8>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sardonyx_base::random::cases(60), ..ProptestConfig::default() })]

    #[test]
    fn damaged_pages_are_errors_and_never_more(
        damage in prop::collection::vec(byte_below(40), 1..6),
        far in prop::collection::vec(byte_below(PAGE_SIZE), 0..6),
    ) {
        let (mut pages, index) = small();
        prop_assert_eq!(use_all(&pages, index), 0);
        let there = pages.pages_of(index.area()).unwrap();
        for (page, at, byte) in damage.into_iter().chain(far) {
            let page = pages.page(index.area(), page.index(there as usize) as u64).unwrap();
            pages.write(page, at..at + 1).unwrap()[0] = byte;
        }
        use_all(&pages, index);
    }
}

/// The offsets of the pages of an inner node's children in it.
fn child_offsets(node: &Page) -> Vec<usize> {
    let short = |at: usize| usize::from(u16::from_le_bytes([node[at], node[at + 1]]));
    let cells = (0..short(4)).map(|slot| short(16 + 2 * slot));
    let values = cells.map(|cell| cell + 4 + short(cell));
    std::iter::once(12).chain(values).collect()
}

#[test]
fn a_child_that_is_any_other_page_leads_nowhere_twice() {
    let (pages, index) = small();
    let there = pages.pages_of(index.area()).unwrap();
    let (mut tried, mut refused) = (0, 0);
    for page in 1..there {
        let id = pages.page(index.area(), page).unwrap();
        let node = *pages.read(id).unwrap();
        if node[..3] != *b"ixn" || node[3] == 0 {
            continue;
        }
        for at in child_offsets(&node) {
            for child in 0..there as u8 + 1 {
                let mut pages = pages.clone();
                let place = pages.write(id, at..at + 1).unwrap();
                if std::mem::replace(&mut place[0], child) == child {
                    continue;
                }
                assert!(
                    index.check(&pages).is_err(),
                    "byte {at} of page {page}: {child}"
                );
                let mut watched = Watched::new(pages);
                *watched.reads_left.get_mut() = 5_000;
                let up = index.scan(..).execute(&mut watched);
                let down = index.scan(..).descending().execute(&mut watched);
                for (found, up) in [(&up, true), (&down, false)] {
                    let Ok(found) = found else {
                        refused += 1;
                        continue;
                    };
                    assert!(found.is_sorted_by(|a, b| (a.0 < b.0) == up && a.0 != b.0));
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 1_000 && refused > tried, "{refused} of {tried}");
}

#[test]
fn every_byte_of_the_headers_is_checked() {
    let (pages, index) = small();
    let all = index.scan(..).execute(&mut pages.clone()).unwrap();
    let there = pages.pages_of(index.area()).unwrap();
    for page in 0..there {
        let id = pages.page(index.area(), page).unwrap();
        if pages.read(id).unwrap()[..3] == [0; 3] {
            continue;
        }
        for at in 0..10 {
            let mut pages = pages.clone();
            pages.write(id, at..at + 1).unwrap()[0] ^= 0x55;
            let found = index.scan(..).execute(&mut pages.clone());
            let noticed = index.check(&pages).is_err() || found != Ok(all.clone());
            let free = pages.read(id).unwrap()[2] == b'f' && at > 7;
            assert!(noticed || free, "byte {at} of page {page}");
        }
    }
}

#[test]
fn a_program_that_does_not_know_the_version_says_so() {
    let (mut pages, index) = small();
    let first = pages.page(index.area(), 0).unwrap();
    pages.write(first, 3..4).unwrap()[0] = 2;
    let error = index.check(&pages).unwrap_err();
    let expected = "byte 3 of page 0 is not of an ordered index: a version that this program does \
                    not know; restore a backup";
    assert_eq!(error.to_string(), expected);
}
