//! Bounds and bad input: each is a typed error that names the fault, and the operation that failed has done nothing.

use crate::support;
use crate::support::{Event, Large, STORE_BYTES, Sample, Small, Tables, World, in_detail};
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::{Plain, PlainJournalRow, Record, TableError, record};
use sardonyx_storage::catalogue::{CATALOGUE_PAGES, CatalogueError, NAME_BYTES_MAX};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::StoreError;
use sardonyx_table::TableSpace;

/// Types that are declared in the tests below, of a struct's fields and their record.
macro_rules! plain {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        #[derive(Clone, Copy, Debug, Resident)]
        #[repr(C)]
        struct $name { $($field: $type),* }
    };
}

plain!(TooLong {
    key: u64,
    rest: [u64; 510]
});
record!(TooLong { table: "too long", key: key: u64 });
plain!(TooShort { key: u32 });
record!(TooShort { table: "too short", key: key: u32 });
plain!(Uneven {
    key: [u8; 4],
    rest: [u8; 9]
});
record!(Uneven { table: "uneven", key: key: [u8; 4] });

#[test]
fn records_of_impossible_sizes_are_not_declared() {
    fn size_refused<R: Record>(world: &mut World) -> usize {
        match in_detail(world.commit(|tx| tx.declare_table::<R>())) {
            Err(TableError::Catalogue(CatalogueError::RecordSize { name, size, .. }))
                if name == R::TABLE =>
            {
                size
            }
            other => panic!("{other:?}"),
        }
    }
    let mut world = World::with_memory(STORE_BYTES);
    assert_eq!(size_refused::<TooLong>(&mut world), 4088);
    assert_eq!(size_refused::<TooShort>(&mut world), 4);
    assert_eq!(size_refused::<Uneven>(&mut world), 13);
    assert!(world.space.definitions().is_empty() && world.redone.is_empty());
}

plain!(KeyNowhere {
    nothing: (),
    value: u64
});
record!(KeyNowhere { table: "key nowhere", key: nothing: () });
plain!(KeyOutside { value: u64 });
impl Plain for KeyOutside {
    type Key = u64;
    const NAME: &'static str = "key outside";
    const KEY_OFFSET: usize = 4;
}
plain!(KeyFarOutside { value: u64 });
impl Plain for KeyFarOutside {
    type Key = u64;
    const NAME: &'static str = "key far outside";
    const KEY_OFFSET: usize = usize::MAX;
}

#[test]
fn keys_that_are_empty_or_outside_of_their_records_are_not_declared() {
    fn refused<R: Record>(world: &mut World) -> (usize, usize, usize) {
        match in_detail(world.commit(|tx| tx.declare_table::<R>())) {
            Err(TableError::Catalogue(CatalogueError::KeyPlace {
                key_offset,
                key_bytes,
                record_bytes,
                ..
            })) => (key_offset, key_bytes, record_bytes),
            other => panic!("{other:?}"),
        }
    }
    let mut world = World::with_memory(STORE_BYTES);
    assert_eq!(refused::<KeyNowhere>(&mut world), (0, 0, 8));
    assert_eq!(refused::<KeyOutside>(&mut world), (4, 8, 8));
    assert_eq!(refused::<KeyFarOutside>(&mut world), (usize::MAX, 8, 8));
    assert_eq!(world.reopen(1).tables, 0);
}

plain!(Named { key: u64 });
record!(Named {
    table: "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
    key: key: u64
});
plain!(LongNamed { key: u64 });
record!(LongNamed {
    table: "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
    key: key: u64
});

#[test]
fn a_name_has_a_longest_length() {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| tx.declare_table::<Named>().expect("just short enough"));
    match in_detail(world.commit(|tx| tx.declare_table::<LongNamed>())) {
        Err(TableError::Catalogue(CatalogueError::Limit { value, limit, .. })) => {
            assert_eq!((value, limit), (105, NAME_BYTES_MAX as u64));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(world.reopen(1).tables, 1);
    assert_eq!(world.space.definitions()[0].name, Named::NAME);
}

plain!(LongerSmall {
    key: u32,
    value: u32,
    more: u64
});
record!(LongerSmall { table: "small", key: key: u32 });
plain!(MovedSmall {
    value: u32,
    key: u32
});
record!(MovedSmall { table: "small", key: key: u32 });
plain!(WiderSmall { key: [u32; 2] });
record!(WiderSmall { table: "small", key: key: [u32; 2] });
plain!(RowSmall {
    key: u32,
    value: u32
});
impl PlainJournalRow for RowSmall {
    const NAME: &'static str = "small";
}

#[test]
fn a_table_declared_with_another_layout_is_refused() {
    fn differs<T, E: Into<Error>>(result: Result<T, E>) {
        match in_detail(result.map(|_| ()).map_err(E::into)) {
            Err(TableError::Catalogue(CatalogueError::LayoutDiffers {
                name,
                found,
                declared,
            })) => {
                assert_eq!(name, "small");
                assert_ne!(found, declared);
            }
            other => panic!("{other:?}"),
        }
    }
    let (mut world, tables) = World::new();
    let small = Small { key: 1, value: 2 };
    world.commit(|tx| tx.insert(tables.small, &small).map(|_| ()).expect("insert"));
    for _ in 0..2 {
        differs(world.commit(|tx| tx.declare_table::<LongerSmall>()));
        differs(world.commit(|tx| tx.declare_table::<MovedSmall>()));
        differs(world.commit(|tx| tx.declare_table::<WiderSmall>()));
        differs(world.commit(|tx| tx.declare_journal::<RowSmall>()));
        differs(world.space.table::<LongerSmall>());
        differs(world.space.journal::<RowSmall>());
        let again = world
            .commit(|tx| tx.declare_table::<Small>())
            .expect("the same");
        assert_eq!(again.number(), tables.small.number());
        assert_eq!(
            world.space.view().get(again, 1).expect("read"),
            Some(&small)
        );
        world.reopen(1);
    }
}

#[test]
fn a_transaction_has_a_largest_size_and_the_operation_beyond_it_does_nothing() {
    let (mut world, tables) = World::new();
    let key = Large::sample_key(1);
    world.commit(|tx| {
        tx.insert(tables.large, &Large::sample(1, 1))
            .expect("insert");
        tx.insert(tables.small, &Small::sample(1, 1))
            .expect("insert");
    });
    let journal = world.commit(|tx| tx.declare_journal::<Event>().expect("declare"));
    world.space.set_transaction_bytes_max(10_000);
    world.commit(|tx| {
        let row = tx.find(tables.small, 1).expect("there");
        let mut sets = 0;
        while tx.set(row, Small::value_field(), sets).is_ok() {
            sets += 1;
        }
        assert_eq!(sets, 10_000 / 16);
        let too_large = |result: Result<(), Error>| match in_detail(result) {
            Err(TableError::TransactionTooLarge { bytes, limit }) => {
                assert!(bytes > limit && limit == 10_000);
            }
            other => panic!("{other:?}"),
        };
        let event = Event {
            what: 1,
            much: [1; 9],
            end: [1; 7],
        };
        too_large(tx.set(row, Small::value_field(), 0));
        too_large(tx.insert(tables.small, &Small::sample(2, 2)).map(|_| ()));
        too_large(tx.insert(tables.large, &Large::sample(2, 2)).map(|_| ()));
        too_large(tx.delete(tables.large, key).map(|_| ()));
        too_large(
            tx.update(tables.large, key, |_| panic!("not called"))
                .map(|_| ()),
        );
        too_large(tx.append(journal, &event));
        too_large(tx.declare_table::<Named>().map(|_| ()));
        assert_eq!(
            tx.get(tables.small, 1)
                .expect("read")
                .map(|record| record.value),
            Some(sets - 1)
        );
        assert!(tx.get(tables.large, key).expect("read") == Some(&Large::sample(1, 1)));
        assert_eq!(
            (
                tx.count(tables.small).expect("read"),
                tx.count(tables.large).expect("read")
            ),
            (1, 1)
        );
    });
    // No committed transaction is larger than the limit.
    let mut tx = world.space.begin(&mut world.log);
    while tx
        .update(tables.large, key, |record| record.scribble(2))
        .is_ok()
    {}
    assert!(tx.commit());
    assert!(
        world.log.payload().len() <= 10_000,
        "{}",
        world.log.payload().len()
    );
    world.redo();
}

/// The pages that the catalogue and the first extent of one table take, and fewer than its second one usually has: it
/// takes the rest.
const FEW_PAGES: u64 = CATALOGUE_PAGES + 16 + 3;

#[test]
fn at_the_limit_of_memory_an_insert_fails_and_the_undone_transaction_leaves_nothing() {
    let mut world = World::with_memory(FEW_PAGES * PAGE_SIZE as u64);
    let large = world.commit(|tx| tx.declare_table::<Large>().expect("declare"));
    world.commit(|tx| {
        for key in 0..10 {
            tx.insert(large, &Large::sample(key, 1)).expect("insert");
        }
    });
    let pages = world.space.pages().to_vec();
    let mut tx = world.space.begin(&mut world.log);
    for key in 10..19 {
        tx.insert(large, &Large::sample(key, 1)).expect("insert");
    }
    let full = |result: Result<(), Error>| match in_detail(result) {
        Err(TableError::Store(StoreError::Full {
            asked_bytes,
            limit_bytes,
        })) => {
            assert_eq!(asked_bytes, (FEW_PAGES + 1) * PAGE_SIZE as u64);
            assert_eq!(limit_bytes, FEW_PAGES * PAGE_SIZE as u64);
        }
        other => panic!("{other:?}"),
    };
    full(tx.insert(large, &Large::sample(19, 1)).map(|_| ()));
    assert_eq!(tx.count(large).expect("read"), 19);
    // The failed operation did nothing, so the transaction may go on.
    assert!(tx.delete(large, Large::sample_key(3)).expect("delete"));
    tx.insert(large, &Large::sample(19, 1))
        .expect("in the place that became free");
    full(tx.insert(large, &Large::sample(20, 1)).map(|_| ()));
    tx.abort();
    assert!(world.log.payload().is_empty());
    // The store keeps the pages that it was given; they are zeroes again.
    let (before, given) = world.space.pages().split_at(pages.len());
    assert!(before == pages && given.iter().all(|byte| *byte == 0));
    assert_eq!(world.space.view().count(large).expect("read"), 10);
    world.check_redone();
    for workers in [1, 2] {
        assert_eq!(world.reopen(workers).records, 10);
        let numbers = world
            .space
            .view()
            .scan(large)
            .expect("read")
            .map(|record| record.expect("a record"))
            .map(Sample::number);
        assert!(numbers.eq(0..10));
    }
}

#[test]
fn without_memory_for_the_catalogue_nothing_is_declared() {
    let mut world = World::with_memory((CATALOGUE_PAGES - 1) * PAGE_SIZE as u64);
    let declared = in_detail(world.commit(|tx| tx.declare_table::<Small>()));
    assert!(
        matches!(declared, Err(TableError::Store(StoreError::Full { .. }))),
        "{declared:?}"
    );
    assert!(world.space.definitions().is_empty() && world.space.table::<Small>().is_ok());
    assert_eq!(world.reopen(1).tables, 0);
}

/// Leaking is safe Rust, so it must not commit an uncommitted transaction (I8).
#[test]
fn i8_a_leaked_transaction_is_undone_by_the_next_one() {
    let (mut world, tables) = World::new();
    let journal = world.commit(|tx| tx.declare_journal::<Event>().expect("declare"));
    let pages = world.space.pages().to_vec();
    let mut tx = world.space.begin(&mut world.log);
    tx.insert(tables.small, &Small::sample(1, 1))
        .expect("insert");
    std::mem::forget(tx);
    world.commit(|tx| assert_eq!(tx.count(tables.small).expect("read"), 0));
    let mut tx = world.space.begin(&mut world.log);
    tx.append(
        journal,
        &Event {
            what: 1,
            much: [1; 9],
            end: [1; 7],
        },
    )
    .expect("append");
    std::mem::forget(tx);
    assert!(!world.space.begin(&mut world.log).commit());
    assert!(world.log.payload().is_empty());
    assert!(world.space.pages()[..pages.len()] == pages);
}

#[test]
fn errors_tell_what_where_and_what_to_do() {
    let (mut world, tables) = World::new();
    let (space, Tables { small, .. }) = (&mut world.space, tables);
    space.set_transaction_bytes_max(100);
    let mut tx = space.begin(&mut world.log);
    let error = tx
        .insert(small, &Small::sample(1, 1))
        .expect_err("too large");
    assert!(
        error.to_string().contains("use several transactions"),
        "{error}"
    );
    drop(tx);
    let other = TableSpace::open(support::store_of(&[7; 4096]), 1).expect_err("no catalogue");
    let text = other.to_string();
    assert_eq!(
        text,
        "this is a database whose pages are used by number and hold no tables, as those of closely coupled nodes: open it \
         as memory or as closely coupled nodes, as it was made (`cluster up` if it is in a cluster's directory); it has \
         no tables to be read"
    );
}
