//! Areas: the catalogue in memory equals the one that its writes make in the pages. Areas and tables grow beside each
//! other and never into each other. Everything impossible is a typed error that has changed nothing.

use crate::support;
use crate::support::{Large, STORE_BYTES, Sample, Small, World, in_detail};
use proptest::prelude::*;
use sardonyx_rows::TableError;
use sardonyx_rows::layout::PageLayout;
use sardonyx_storage::catalogue::{
    CATALOGUE_PAGES, Catalogue, CatalogueError, EXTENT_PAGES_MAX, Kind, NAME_BYTES_MAX, UNDO_AREA,
    Write, unfinished,
};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::store::PageStore;
use sardonyx_table::TableSpace;
use std::collections::BTreeMap;

/// A catalogue on a store, whose writes are stored at once.
struct Pages {
    store: PageStore,
    catalogue: Catalogue,
}

impl Pages {
    fn of(mut store: PageStore) -> Self {
        let catalogue = Catalogue::read(&mut store).expect("a sound catalogue");
        Pages { store, catalogue }
    }

    fn new() -> Self {
        Self::of(PageStore::reserve(STORE_BYTES).expect("reserve"))
    }

    fn store(&mut self, writes: Vec<Write>) {
        self.store.grow_to(self.catalogue.pages).expect("grow");
        for Write { address, bytes } in writes {
            let end = address.offset_in_page() + bytes.len();
            let page = address.page().0;
            let own = self.catalogue.own_runs();
            let is_own =
                page < CATALOGUE_PAGES || own.iter().any(|(from, to)| (*from..*to).contains(&page));
            assert!(end <= PAGE_SIZE && is_own);
            self.store.bytes_mut()[address.0 as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        let read = Catalogue::read(&mut self.store).expect("a sound catalogue");
        assert_eq!(format!("{read:?}"), format!("{:?}", self.catalogue));
    }

    fn declare(&mut self, name: &str) -> u16 {
        let (number, writes) = self.catalogue.declare_area(name).expect("declare");
        self.store(writes);
        number
    }

    fn extend(&mut self, number: u16, pages_at_least: u64) -> u64 {
        let expected = self.catalogue.next_extent(number, pages_at_least);
        let (extent, writes) = self.catalogue.extend(number, pages_at_least).expect("room");
        assert_eq!(extent, expected.expect("room"));
        self.store(writes);
        let first = extent.first_page.address().0 as usize;
        let bytes = &self.store.bytes()[first..][..extent.pages as usize * PAGE_SIZE];
        assert!(bytes.iter().all(|&byte| byte == 0), "new pages are zeroes");
        extent.pages
    }
}

#[test]
fn an_area_is_declared_once_and_grows_by_doubling_or_by_what_is_asked_for() {
    let mut pages = Pages::new();
    assert_eq!(pages.catalogue.area("a").expect("no error"), None);
    let number = pages.declare("a");
    let (again, writes) = pages.catalogue.declare_area("a").expect("declared");
    assert!(again == number && writes.is_empty());
    assert_eq!(pages.catalogue.area("a").expect("no error"), Some(number));
    assert_eq!(pages.catalogue.pages, CATALOGUE_PAGES);
    let asked = [0, 1, 16, 17, 200, 7];
    let given: Vec<u64> = asked
        .map(|pages_at_least| pages.extend(number, pages_at_least))
        .into();
    assert_eq!(given, [16, 16, 32, 64, 200, 328]);
    let extents: Vec<_> = pages.catalogue.extents_of(number).collect();
    assert_eq!(extents.last().expect("six").end(), pages.catalogue.pages);
    assert_eq!(pages.catalogue.extents_of(number + 1).count(), 0);
    assert_eq!(pages.catalogue.definitions[0].kind, Kind::Area);
    assert_eq!(
        pages.catalogue.definitions[0].describe(),
        "an area of pages"
    );
}

#[test]
fn an_extent_is_at_most_a_gibibyte_unless_more_is_asked_for() {
    let mut catalogue = Catalogue::default();
    let (number, _) = catalogue.declare_area("a").expect("declare");
    let mut extend = |pages| catalogue.extend(number, pages).expect("room").0.pages;
    assert_eq!(extend(EXTENT_PAGES_MAX * 2), EXTENT_PAGES_MAX * 2);
    assert_eq!(extend(1), EXTENT_PAGES_MAX);
}

/// Runs a change that is refused, and checks that it has changed nothing.
fn refused<T>(
    catalogue: &mut Catalogue,
    run: impl FnOnce(&mut Catalogue) -> Result<T, CatalogueError>,
) -> CatalogueError {
    let before = format!("{catalogue:?}");
    let error = run(catalogue).err().expect("refused");
    assert_eq!(before, format!("{catalogue:?}"));
    error
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let (mut world, tables) = World::new();
    world.commit(|tx| tx.declare_journal::<support::Event>().expect("declare"));
    let mut pages = Pages::of(world.space.into_store());
    let catalogue = &mut pages.catalogue;
    for name in ["small", "events"] {
        let error = refused(catalogue, |c| c.declare_area(name));
        assert!(
            matches!(error, CatalogueError::LayoutDiffers { .. }),
            "{error}"
        );
        let error = refused(catalogue, |c| c.area(name));
        assert!(
            matches!(error, CatalogueError::LayoutDiffers { .. }),
            "{error}"
        );
    }
    let error = refused(catalogue, |c| {
        c.declare_area(&"n".repeat(NAME_BYTES_MAX + 1))
    });
    assert!(
        matches!(error, CatalogueError::Limit { value: 105, .. }),
        "{error}"
    );
    for number in [tables.small.number(), 4, 5, u16::MAX] {
        let error = refused(catalogue, |c| c.extend(number, 1));
        assert!(matches!(error, CatalogueError::NoArea { .. }), "{error}");
    }
    let (number, _) = catalogue.declare_area("area").expect("declare");
    for pages in [u64::MAX, u64::MAX / PAGE_SIZE as u64, 1 << 31] {
        let error = refused(catalogue, |c| c.extend(number, pages));
        assert!(matches!(error, CatalogueError::Limit { .. }), "{error}");
    }
}

#[test]
fn a_table_of_the_name_of_an_area_is_refused() {
    let mut pages = Pages::new();
    pages.declare("small");
    let mut world = World::with_memory(STORE_BYTES);
    world.set_redone(pages.store.bytes().to_vec());
    (world.space, _) = TableSpace::open(pages.store, 1).expect("open");
    let result = in_detail(world.commit(|tx| tx.declare_table::<Small>()));
    assert!(
        matches!(
            result,
            Err(TableError::Catalogue(CatalogueError::LayoutDiffers { .. }))
        ),
        "{result:?}"
    );
}

/// An extent has its area's number twice: its pages do not have it.
#[test]
fn every_bit_of_an_areas_extents_is_checked() {
    let (mut world, tables) = World::new();
    world.commit(|tx| {
        tx.insert(tables.small, &Small::sample(1, 1))
            .expect("insert");
    });
    let mut pages = Pages::of(world.space.into_store());
    let areas = [pages.declare("a"), pages.declare("b")];
    for number in areas {
        pages.extend(number, 1);
    }
    let first = PAGE_SIZE * 9;
    for at in first..first + 3 * 32 - 8 {
        if (24..32).contains(&((at - first) % 32)) {
            continue;
        }
        // In the first two bits, another table: its pages show it.
        let bits = if at == first { 2..8 } else { 0..8 };
        for bit in bits {
            pages.store.bytes_mut()[at] ^= 1 << bit;
            let read = Catalogue::read(&mut pages.store);
            assert!(
                matches!(read, Err(CatalogueError::Damaged { .. })),
                "byte {at}, bit {bit}"
            );
            pages.store.bytes_mut()[at] ^= 1 << bit;
        }
    }
    Catalogue::read(&mut pages.store).expect("as it was");
}

#[derive(Clone, Debug)]
enum Step {
    Insert { large: bool, key: u32, count: u32 },
    Delete { large: bool, below: u32 },
    Declare { name: u8 },
    Extend { name: u8, pages: u64 },
    Reopen { workers: usize },
    Pack,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (any::<bool>(), 0u32..2000, 1u32..40).prop_map(|(large, key, count)| Step::Insert {
            large,
            key,
            count
        }),
        (any::<bool>(), 0u32..2000).prop_map(|(large, below)| Step::Delete { large, below }),
        (0u8..4).prop_map(|name| Step::Declare { name }),
        (0u8..4, 0u64..60).prop_map(|(name, pages)| Step::Extend { name, pages }),
        (1usize..3).prop_map(|workers| Step::Reopen { workers }),
        Just(Step::Pack),
    ]
}

/// Stores a word at the beginning of an area's page.
fn set_word(pages: &mut Pages, number: u16, place: usize, word: u64) {
    let mut all = pages
        .catalogue
        .extents_of(number)
        .flat_map(|e| e.first_page.0..e.end());
    let at = all.nth(place).expect("the area has the page") as usize * PAGE_SIZE;
    drop(all);
    pages.store.bytes_mut()[at..][..8].copy_from_slice(&word.to_le_bytes());
}

/// Opens them as tables, which must work if there are no unfinished transactions, and only then.
fn open_with_unfinished(pages: Pages, expected: u64) -> Pages {
    let counted = unfinished::count(pages.store.bytes(), &pages.catalogue);
    assert_eq!(counted, expected);
    let mut store = PageStore::reserve(STORE_BYTES).expect("reserve");
    store.grow_to(pages.catalogue.pages).expect("grow");
    store.bytes_mut().copy_from_slice(pages.store.bytes());
    let any = unfinished::refuse_in_any(&mut store);
    let opened = TableSpace::open(store, 2).map(|_| ());
    for result in [any.map_err(TableError::from), opened] {
        match result {
            Ok(()) => assert_eq!(expected, 0),
            Err(TableError::Catalogue(CatalogueError::Unfinished { transactions })) => {
                assert_eq!(transactions, expected)
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    pages
}

#[test]
fn unfinished_transactions_are_counted_by_the_heads_of_their_slots() {
    let (world, _) = World::new();
    let mut pages = open_with_unfinished(Pages::of(world.space.into_store()), 0);
    let undo = pages.declare(UNDO_AREA);
    let mut pages = open_with_unfinished(pages, 0);
    pages.extend(undo, 1);
    let other = pages.declare("other");
    pages.extend(other, 1);
    pages.extend(undo, 1);
    let mut pages = open_with_unfinished(pages, 0);
    // The header is no slot, and neither is another area's page.
    for place in 0..unfinished::HEADER_PAGES {
        set_word(&mut pages, undo, place, 7);
    }
    for place in 0..16 {
        set_word(&mut pages, other, place, 7);
    }
    let mut pages = open_with_unfinished(pages, 0);
    // On both sides of the other area.
    let mut expected = 0;
    for place in [9, 15, 16, 31] {
        set_word(&mut pages, undo, place, 1 << place);
        expected += 1;
        pages = open_with_unfinished(pages, expected);
    }
    set_word(&mut pages, undo, 15, unfinished::CONTINUATION);
    pages = open_with_unfinished(pages, 3);
    for place in [9, 16, 31] {
        set_word(&mut pages, undo, place, unfinished::UNUSED);
    }
    open_with_unfinished(pages, 0);
}

#[test]
fn pages_without_tables_have_no_unfinished_transactions_and_damaged_ones_cannot_tell() {
    let mut pages = Pages::new();
    unfinished::refuse_in_any(&mut pages.store).expect("there is nothing");
    pages.declare("a");
    pages.store.bytes_mut()[16] ^= 1;
    let result = unfinished::refuse_in_any(&mut pages.store);
    assert!(
        matches!(result, Err(CatalogueError::Damaged { .. })),
        "{result:?}"
    );
    // Bytes of something else.
    pages.store.bytes_mut()[0] ^= 1;
    unfinished::refuse_in_any(&mut pages.store).expect("no tables");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(32)))]

    /// Tables are changed by transactions and areas by the functions of the catalogue, in turns: the
    /// pages of each are its own.
    #[test]
    fn tables_and_areas_grow_beside_each_other(steps in prop::collection::vec(step(), 1..24)) {
        let (mut world, tables) = World::new();
        let mut smalls = BTreeMap::new();
        let mut larges = BTreeMap::new();
        let mut areas: BTreeMap<u16, u64> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Insert { large, key, count } => world.commit(|tx| {
                    for key in key..key + count {
                        let fresh = if large {
                            tx.insert(tables.large, &Large::sample(key, 5)).is_ok()
                                && larges.insert(key, ()).is_none()
                        } else {
                            tx.insert(tables.small, &Small::sample(key, 5)).is_ok()
                                && smalls.insert(key, ()).is_none()
                        };
                        assert!(fresh || smalls.contains_key(&key) || larges.contains_key(&key));
                    }
                }),
                Step::Declare { name } | Step::Extend { name, .. } => {
                    in_store(&mut world, |pages| {
                        let number = pages.declare(&name.to_string());
                        areas.entry(number).or_default();
                        if let Step::Extend { pages: at_least, .. } = step {
                            *areas.entry(number).or_default() += pages.extend(number, at_least);
                            mark(pages, number);
                        }
                    });
                }
                Step::Delete { large, below } => world.commit(|tx| {
                    let keys = if large { &mut larges } else { &mut smalls };
                    let kept = keys.split_off(&below);
                    for key in std::mem::replace(keys, kept).into_keys() {
                        match large {
                            true => tx.delete(tables.large, Large::sample_key(key)).map(drop),
                            false => tx.delete(tables.small, Small::sample_key(key)).map(drop),
                        }
                        .expect("it is there");
                    }
                }),
                Step::Reopen { workers } => {
                    world.reopen(workers);
                }
                Step::Pack => {
                    let before = world.space.pages().len();
                    let packed = world.space.packed(STORE_BYTES).expect("packed");
                    assert!(packed.bytes().len() <= before);
                    world.set_redone(packed.bytes().to_vec());
                    let again = TableSpace::open(packed, 2).expect("sound").0;
                    let least = again.packed(STORE_BYTES).expect("packed");
                    assert!(least.bytes() == again.pages(), "nothing is left to pack");
                    world.space = again;
                    for (table, records) in [
                        (tables.small.number(), smalls.len()),
                        (tables.large.number(), larges.len()),
                    ] {
                        let extents = world.space.catalogue().extents_of(table);
                        let pages: u64 = extents.map(|extent| extent.pages).sum();
                        let bytes = world.space.schema(table).expect("a table").row_bytes;
                        let layout = PageLayout::new("t", bytes).expect("sound");
                        assert_eq!(pages, records.div_ceil(layout.records) as u64);
                    }
                    for record in world.space.view().scan(tables.large).expect("read").map(|record| record.expect("a record")) {
                        assert_eq!(*record, Large::sample(record.number(), 5));
                    }
                }
            }
            let view = world.space.view();
            assert_eq!(view.count(tables.small).expect("read"), smalls.len() as u64);
            assert_eq!(view.count(tables.large).expect("read"), larges.len() as u64);
            check_marks(&world.space, &areas);
        }
    }
}

/// Changes the pages without the tables, as the multi-level way does.
fn in_store(world: &mut World, run: impl FnOnce(&mut Pages)) {
    let empty = TableSpace::open(PageStore::reserve(0).expect("reserve"), 1).expect("open");
    let space = std::mem::replace(&mut world.space, empty.0);
    let mut pages = Pages::of(space.into_store());
    run(&mut pages);
    world.set_redone(pages.store.bytes().to_vec());
    (world.space, _) = TableSpace::open(pages.store, 1).expect("open");
}

/// Fills all pages of an area with its number, all bytes of them.
fn mark(pages: &mut Pages, number: u16) {
    let extents: Vec<_> = pages.catalogue.extents_of(number).collect();
    for extent in extents {
        let Address(first) = extent.first_page.address();
        let bytes = &mut pages.store.bytes_mut()[first as usize..];
        bytes[..extent.pages as usize * PAGE_SIZE].fill(0x80 + number as u8);
    }
}

fn check_marks(space: &TableSpace, areas: &BTreeMap<u16, u64>) {
    for (&number, &expected) in areas {
        let mut pages = 0;
        for extent in space.catalogue().extents_of(number) {
            let first = extent.first_page.address().0 as usize;
            let bytes = &space.pages()[first..][..extent.pages as usize * PAGE_SIZE];
            assert!(bytes.iter().all(|&byte| byte == 0x80 + number as u8));
            pages += extent.pages;
        }
        assert_eq!(pages, expected);
    }
}
