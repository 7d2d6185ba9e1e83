//! Catalogues with more definitions and extents than their first 25 pages have room for: the step to version 3, changes
//! beside a model, damage, and ten thousand tables.

use crate::support::{STORE_BYTES, World, hash, in_detail, store_of};
use sardonyx_base::random::{Random, stride};
use sardonyx_base::seeds::Seeds;
use sardonyx_rows::TableError;
use sardonyx_rows::schema::{IntoSchema, Schema, Type, ValueRef};
use sardonyx_storage::catalogue::{
    CATALOGUE_PAGES, Catalogue, CatalogueError, DEFINITIONS_MAX, Definition, Kind, Write,
};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::PageStore;
use sardonyx_table::{TableSpace, Transaction};
use std::collections::BTreeMap;
use std::sync::LazyLock;

fn schema() -> impl IntoSchema {
    Schema::new()
        .column("id", Type::I64)
        .column("amount", Type::I64)
        .primary_key(["id"])
}

fn create(tx: &mut Transaction<'_>, name: &str) -> u16 {
    tx.create_table(name, schema()).expect("created")
}

fn insert(tx: &mut Transaction<'_>, name: &str, ids: std::ops::Range<i64>) {
    let mut rows = tx.rows(name).expect("a table");
    for id in ids {
        let row = [("id", id.into()), ("amount", (id * 3).into())];
        rows.insert(&row).expect("inserted");
    }
}

fn ids(space: &TableSpace, name: &str) -> Vec<i64> {
    let rows = space.view().rows(name).expect("a table");
    let mut ids: Vec<i64> = rows
        .scan()
        .map(|row| {
            let row = row.expect("a row");
            let number = |column| match row.get(column).expect("a value") {
                ValueRef::Int(number) => number as i64,
                other => panic!("{other:?}"),
            };
            assert_eq!(number("amount"), number("id") * 3);
            number("id")
        })
        .collect();
    ids.sort_unstable();
    ids
}

fn pages_of(space: &TableSpace, name: &str) -> u64 {
    let catalogue = space.catalogue();
    let number = catalogue.table_named(name).expect("a table");
    catalogue
        .extents_of(number)
        .map(|extent| extent.pages)
        .sum()
}

/// A database with as many definitions as version 2 has room for: tables `t0` to `t254`, and that of schemas.
fn full() -> World {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| {
        for number in 0..255 {
            create(tx, &format!("t{number}"));
        }
    });
    assert_eq!(world.space.definitions().len(), 256);
    world
}

#[test]
fn one_definition_more_makes_the_catalogue_large_unless_it_is_undone() {
    let mut world = full();
    let root = |world: &World| world.space.pages()[..256].to_vec();
    let (before, pages) = (root(&world), world.space.catalogue().pages);
    let catalogue = world.space.catalogue().clone();
    assert!(catalogue.version() < 3 && catalogue.own_runs().is_empty());
    {
        let mut tx = world.space.begin(&mut world.log);
        create(&mut tx, "one more");
        insert(&mut tx, "one more", 0..10);
    }
    world.redo();
    assert!(*world.space.catalogue() == catalogue && root(&world) == before);
    world.commit(|tx| {
        insert(tx, "t0", 0..1);
        create(tx, "one more");
        insert(tx, "one more", 0..1);
    });
    assert_eq!(world.space.catalogue().version(), 3);
    assert_eq!(pages_of(&world.space, "t0"), 16);
    assert_eq!(pages_of(&world.space, "one more"), 1);
    // Extents of 16 pages and of 1, and 8 pages of definitions.
    assert_eq!(world.space.catalogue().pages, pages + 16 + 1 + 8);
    // It grows by doubling.
    world.commit(|tx| insert(tx, "one more", 1..2000));
    let catalogue = world.space.catalogue();
    let number = catalogue.table_named("one more").expect("a table");
    let extents: Vec<u64> = catalogue.extents_of(number).map(|e| e.pages).collect();
    assert_eq!(extents, [1, 1, 2, 4]);
    for workers in 1..3 {
        assert_eq!(world.reopen(workers).tables, 257);
        assert_eq!(ids(&world.space, "one more"), (0..2000).collect::<Vec<_>>());
    }
    let mut store = store_of(world.space.pages());
    store.bytes_mut()[8] = 4;
    match TableSpace::open(store, 1) {
        Err(TableError::Catalogue(CatalogueError::Damaged { reason, .. })) => {
            assert_eq!(reason, "an unknown version of the catalogue: 4");
        }
        other => panic!("{other:?}"),
    }
}

/// A transaction without room for the pages of the larger catalogue is refused, and nothing has changed.
#[test]
fn a_store_without_room_for_more_pages_refuses_the_definition() {
    let full = full();
    let catalogue = full.space.catalogue();
    let mut store = PageStore::reserve(catalogue.pages * PAGE_SIZE as u64).expect("reserve");
    store.grow_to(catalogue.pages).expect("grow");
    store
        .bytes_mut()
        .copy_from_slice(&full.space.pages()[..catalogue.pages as usize * PAGE_SIZE]);
    let mut world = World::with_memory(STORE_BYTES);
    world.set_redone(store.bytes().to_vec());
    (world.space, _) = TableSpace::open_with(store, 1, hash()).expect("open");
    let refused = in_detail(world.commit(|tx| tx.create_table("one more", schema())));
    assert!(matches!(refused, Err(TableError::Store(_))), "{refused:?}");
    assert!(world.space.catalogue().version() < 3);
}

/// Names beside the first tables, changed at random, and their rows.
type Model = BTreeMap<String, Vec<i64>>;

fn step(random: &mut Random, tx: &mut Transaction<'_>, model: &mut Model) {
    let name = format!("n{}", random.below(40));
    let there = model.contains_key(&name);
    match random.below(10) {
        0..4 if !there => {
            create(tx, &name);
            model.insert(name, Vec::new());
        }
        0..6 if there => {
            let rows = model.get_mut(&name).expect("there");
            let first = rows.last().map_or(0, |last| last + 1);
            let behind = first + 1 + random.below(600) as i64;
            insert(tx, &name, first..behind);
            rows.extend(first..behind);
        }
        6 if there => {
            tx.drop_table(&name).expect("dropped");
            model.remove(&name);
        }
        7 if there => {
            tx.truncate(&name).expect("emptied");
            model.insert(name, Vec::new());
        }
        8 if there => {
            let to = format!("n{}", random.below(40));
            match tx.rename_table(&name, &to) {
                Ok(()) => {
                    assert!(to == name || !model.contains_key(&to));
                    let rows = model.remove(&name).expect("there");
                    model.insert(to, rows);
                }
                Err(_) => assert!(model.contains_key(&to)),
            }
        }
        _ => {}
    }
}

/// Tables are declared, filled, dropped, emptied and renamed by transactions that commit or not, from just below the
/// former limit on. After each, the pages, those made by the log alone, a follower's and those read again are the model's.
#[test]
fn tables_beyond_the_former_limit_are_those_of_a_model() {
    Seeds::new(0, 6).explore(|seed| {
        let mut random = Random::new(seed);
        let (mut world, mut model) = (full(), Model::new());
        let dropped = random.below(20);
        world.commit(|tx| {
            for number in 0..dropped {
                tx.drop_table(&format!("t{number}")).expect("dropped");
            }
        });
        for _ in 0..30 {
            let mut after = model.clone();
            let commits = random.below(4) > 0;
            let mut tx = world.space.begin(&mut world.log);
            for _ in 0..1 + random.below(8) {
                step(&mut random, &mut tx, &mut after);
            }
            if commits {
                tx.commit();
                model = after;
            } else {
                drop(tx);
            }
            world.redo();
            if random.below(6) == 0 {
                world.reopen(1 + random.below(2) as usize);
            }
            if random.below(12) == 0 {
                let packed = world.space.packed(STORE_BYTES).expect("packed");
                world.set_redone(packed.bytes().to_vec());
                (world.space, _) = TableSpace::open_with(packed, 1, hash()).expect("sound");
            }
            let mut store = store_of(world.space.pages());
            let read = Catalogue::read(&mut store).expect("a sound catalogue");
            assert!(read == *world.space.catalogue(), "seed {seed}");
            let definitions = world.space.definitions();
            let named = definitions.iter().filter(|d| d.name.starts_with('n'));
            assert_eq!(named.count(), model.len(), "seed {seed}");
            for (name, rows) in &model {
                assert_eq!(ids(&world.space, name), *rows, "seed {seed}, {name}");
            }
        }
    });
}

/// A catalogue alone, whose writes are stored at once.
struct Pages {
    store: PageStore,
    catalogue: Catalogue,
}

impl Pages {
    fn put(&mut self, writes: Vec<Write>) {
        self.store.grow_to(self.catalogue.pages).expect("grow");
        for Write { address, bytes } in writes {
            assert!(address.offset_in_page() + bytes.len() <= PAGE_SIZE);
            self.store.bytes_mut()[address.0 as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
    }

    /// Reads it again: it is the one in memory, with the same extents of each.
    fn check(&mut self) {
        let read = Catalogue::read(&mut self.store).expect("a sound catalogue");
        assert!(read == self.catalogue);
        assert_eq!(read.free_pages(), self.catalogue.free_pages());
        for number in 0..read.definitions.len() as u16 {
            assert!(
                read.extents_of(number)
                    .eq(self.catalogue.extents_of(number))
            );
            let extents = read.extents().filter(|(of, _)| *of == number).count();
            assert_eq!(read.extents_of(number).count(), extents);
        }
        for (number, definition) in read.definitions.iter().enumerate() {
            let named = read.definitions.named(&definition.name);
            let is_there = definition.kind != Kind::Dropped;
            assert_eq!(named, is_there.then_some(number as u16));
        }
    }
}

fn table(name: String) -> Definition {
    Definition {
        name,
        record_bytes: 8,
        kind: Kind::Table {
            key_offset: 0,
            key_bytes: 8,
        },
    }
}

/// Extents are given, freed and taken again around the former limit on their number; each owner keeps their order.
#[test]
fn extents_beyond_the_former_limit_are_those_of_a_model() {
    Seeds::new(0, 4).explore(|seed| {
        let mut random = Random::new(seed);
        let store = PageStore::reserve(1 << 30).expect("reserve");
        let catalogue = Catalogue::default();
        let mut pages = Pages { store, catalogue };
        for number in 0..30 {
            let (_, writes) = pages
                .catalogue
                .declare(table(number.to_string()))
                .expect("room");
            pages.put(writes);
        }
        let mut model: Vec<Vec<(u64, u64)>> = vec![Vec::new(); 30];
        for round in 0..3600 {
            let number = random.below(30) as u16;
            let extents = &mut model[usize::from(number)];
            let wanted = 1 + random.below(3);
            let taken = match random.below(400) {
                0 => {
                    let writes = pages.catalogue.truncate_table(number).expect("a table");
                    pages.put(writes);
                    extents.clear();
                    None
                }
                1..100 => {
                    let last_resort = random.below(2) == 0;
                    let found = pages
                        .catalogue
                        .extend_table_by_free(number, wanted, last_resort);
                    found.expect("a table")
                }
                _ => Some(pages.catalogue.extend_table(number, wanted).expect("room")),
            };
            if let Some((extent, writes)) = taken {
                pages.put(writes);
                extents.push((extent.first_page.0, extent.pages));
            }
            let now = pages.catalogue.extents_of(number);
            let now: Vec<_> = now
                .map(|extent| (extent.first_page.0, extent.pages))
                .collect();
            assert_eq!(now, *extents, "seed {seed}, round {round}");
            if round % 100 == 0 || round > 3590 {
                pages.check();
            }
        }
        assert_eq!(pages.catalogue.version(), 3, "seed {seed}");
        assert_eq!(pages.catalogue.own_runs().len(), 1);
    });
}

/// The pages of a large database, small enough to be damaged everywhere.
static LARGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut world = full();
    world.commit(|tx| {
        for number in 0..4 {
            let name = format!("more {number}");
            create(tx, &name);
            insert(tx, &name, 0..300);
        }
    });
    world.commit(|tx| {
        tx.drop_table("more 1").expect("dropped");
        tx.truncate("more 2").expect("emptied");
        insert(tx, "more 2", 0..3);
    });
    world.space.pages().to_vec()
});

fn opened(damage: impl FnOnce(&mut [u8])) -> Result<TableSpace, TableError> {
    let mut store = store_of(&LARGE);
    damage(store.bytes_mut());
    TableSpace::open(store, 1).map(|(space, _)| space)
}

#[test]
fn damage_of_a_large_catalogue_is_an_error_with_its_place() {
    let space = opened(|_| {}).expect("sound");
    let catalogue = space.catalogue().clone();
    let (first, end) = catalogue.own_runs()[0];
    assert_eq!(end - first, 8);
    // Every byte, and some or each of its bits, of the root and of the entries of extents in use.
    let root = 0..176;
    let entries = 9 * PAGE_SIZE..9 * PAGE_SIZE + 32 * catalogue.extents().count();
    let bits = root
        .chain(entries)
        .flat_map(|at| (0..8).map(move |bit| (at, bit)));
    for (at, bit) in bits.step_by(stride(5)) {
        let error = opened(|bytes| bytes[at] ^= 1 << bit).err();
        let is_typed = matches!(
            error,
            Some(
                TableError::Catalogue(
                    CatalogueError::Damaged { .. } | CatalogueError::OtherWay { .. }
                ) | TableError::DamagedTable { .. }
            )
        );
        assert!(is_typed, "byte {at}, bit {bit}: {error:?}");
    }
    // A definition in the run that is lost, or where none is.
    let run = first as usize * PAGE_SIZE;
    for (at, length) in [(run, 128), (run + 3 * 128, 128)] {
        match opened(|bytes| bytes[at..at + length].fill(0)) {
            Err(TableError::Catalogue(CatalogueError::Damaged { page, offset, .. })) => {
                assert_eq!((page, offset), (first, at - run));
            }
            other => panic!("{other:?}"),
        }
    }
    let last = catalogue.definitions.len() - 256;
    let behind = run + last * 128;
    match opened(|bytes| bytes[behind + 49] = 1) {
        Err(TableError::Catalogue(CatalogueError::Damaged { page, reason, .. })) => {
            assert_eq!(page, first);
            assert_eq!(reason, "a definition that the root does not count");
        }
        other => panic!("{other:?}"),
    }
    // Any byte of the run: an error, or a sound catalogue.
    let flips = (run..run + 5 * 128).flat_map(|at| [1, 0x80, 0xff].map(|flip| (at, flip)));
    for (at, flip) in flips.step_by(stride(4)) {
        if let Ok(space) = opened(|bytes| bytes[at] ^= flip) {
            space.view().rows("t3").expect("a table");
        }
    }
    // Cut off anywhere: pages that are missing are zeroes, as those that were never logged.
    for pages in (1..LARGE.len() / PAGE_SIZE).step_by(stride(3)) {
        let store = store_of(&LARGE[..pages * PAGE_SIZE]);
        if let Ok((space, _)) = TableSpace::open(store, 1) {
            // The definitions in use are in the first page of the run.
            assert!(pages > first as usize, "{pages} pages");
            drop(space);
        }
    }
}

#[test]
fn the_last_definition_is_followed_by_an_error() {
    let mut catalogue = Catalogue::default();
    for number in 0..DEFINITIONS_MAX {
        let (given, _) = catalogue.declare(table(number.to_string())).expect("room");
        assert_eq!(usize::from(given), number);
    }
    let before = catalogue.clone();
    match catalogue.declare(table("one more".into())) {
        Err(CatalogueError::Limit { value, limit, .. }) => {
            assert_eq!((value, limit), (65_536, 65_535));
        }
        other => panic!("{other:?}"),
    }
    assert!(before == catalogue && catalogue.version() == 3);
    let (_, writes) = catalogue.extend_table(65_534, 1).expect("room");
    assert!(!writes.is_empty());
    let mut store = PageStore::reserve(1 << 30).expect("reserve");
    store.grow_to(catalogue.pages).expect("grow");
    let mut pages = Pages { store, catalogue };
    let all = pages.catalogue.whole();
    pages.put(all);
    let read = Catalogue::read(&mut pages.store).expect("sound");
    assert!(read == pages.catalogue);
    assert_eq!(read.definitions.named("65534"), Some(65_534));
}

/// Empty tables take their definitions and schemas, small ones one page more.
#[test]
fn ten_thousand_tables_are_opened_read_and_dropped() {
    const TABLES: usize = 10_000;
    let store = PageStore::reserve(STORE_BYTES).expect("reserve");
    let (mut space, _) = TableSpace::open_with(store, 1, hash()).expect("open");
    let mut log = sardonyx_storage::log::seal::GroupBuilder::with_capacity(1 << 24);
    let mut commit = |space: &mut TableSpace, run: &dyn Fn(&mut Transaction<'_>)| {
        let mut tx = space.begin(&mut log);
        run(&mut tx);
        tx.commit();
        log = sardonyx_storage::log::seal::GroupBuilder::with_capacity(1 << 24);
    };
    for thousand in 0..TABLES / 1000 {
        commit(&mut space, &|tx| {
            for number in thousand * 1000..(thousand + 1) * 1000 {
                create(tx, &format!("t{number}"));
            }
        });
    }
    let empty = space.catalogue().pages;
    commit(&mut space, &|tx| {
        for number in 0..TABLES {
            insert(tx, &format!("t{number}"), 0..1);
        }
    });
    let few = (0..TABLES).filter(|number| pages_of(&space, &format!("t{number}")) == 1);
    // A table got its first extent before the 257th made the catalogue large only if it had rows then.
    assert_eq!(few.count(), TABLES);
    // A page each, and those of the entries beyond 2,048: runs of 16, 32 and 64 pages.
    assert_eq!(
        space.catalogue().pages - empty,
        (TABLES + 16 + 32 + 64) as u64
    );
    let (mut space, report) = TableSpace::open_with(space.into_store(), 2, hash()).expect("open");
    assert_eq!(
        (report.tables, report.records as usize),
        (TABLES as u64 + 1, 3 * TABLES / 3 + TABLES)
    );
    assert_eq!(ids(&space, "t9999"), [0]);
    let snapshot = space.snapshot().expect("a snapshot");
    for half in 0..2 {
        commit(&mut space, &|tx| {
            for number in (half..TABLES).step_by(2) {
                tx.drop_table(&format!("t{number}")).expect("dropped");
            }
        });
    }
    assert_eq!(
        snapshot
            .rows("t9999")
            .expect("a table")
            .count()
            .expect("counted"),
        1
    );
    // Free neighbours have become one. Others are those of the table of schemas, and the catalogue's own are between them.
    assert!(space.catalogue().free_pages() >= TABLES as u64);
    assert!(space.catalogue().extents().count() < 40);
    assert!(space.catalogue().pages > CATALOGUE_PAGES);
}
