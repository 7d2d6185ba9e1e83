//! Handles, keys and row tokens that do not fit: each is a typed error or finds nothing, and the
//! operation that failed has done nothing.

use crate::support::{Account, Event, Order, STORE_BYTES, Sample, Small, World, in_detail};
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::{PlainJournalRow, TableError, field, record};

/// Types that are declared in the tests below, of a struct's fields and their record.
macro_rules! plain {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        #[derive(Clone, Copy, Debug, Resident)]
        #[repr(C)]
        struct $name { $($field: $type),* }
    };
}

plain!(OtherSmall {
    key: u32,
    value: u32
});
record!(OtherSmall { table: "other small", key: key: u32 });
plain!(OtherEvent {
    what: u32,
    much: [u8; 9],
    end: [u8; 7]
});
impl PlainJournalRow for OtherEvent {
    const NAME: &'static str = "other events";
}
plain!(TableOfEvents {
    key: u32,
    rest: [u8; 20]
});
record!(TableOfEvents { table: "no events", key: key: u32 });

/// Its declaration was undone, and another table of the same layout got its number.
#[test]
fn a_handle_whose_declaration_was_undone_reaches_no_other_table() {
    let mut world = World::with_memory(STORE_BYTES);
    let mut tx = world.space.begin(&mut world.log);
    let undone = tx.declare_table::<Small>().expect("declare");
    tx.abort();
    let other = world.commit(|tx| tx.declare_table::<OtherSmall>().expect("declare"));
    assert_eq!(undone.number(), other.number());
    world.commit(|tx| {
        let record = OtherSmall { key: 1, value: 2 };
        tx.insert(other, &record).expect("insert");
        let unknown = |result: Result<bool, Error>| {
            let result = in_detail(result);
            assert!(
                matches!(result, Err(TableError::UnknownHandle { number: 0 })),
                "{result:?}"
            );
        };
        let record = Small { key: 2, value: 2 };
        unknown(tx.insert(undone, &record).map(|_| true));
        unknown(
            tx.update(undone, 1, |record| record.value = 9)
                .map(|_| true),
        );
        unknown(tx.delete(undone, 1));
        unknown(tx.get(undone, 1).map(|_| true));
        unknown(tx.put(undone, &record));
        unknown(tx.remove(undone, 1).map(|_| true));
        unknown(tx.get_mut(undone, 1).map(|_| true));
        unknown(tx.count(undone).map(|_| true));
        unknown(tx.scan(undone).map(|_| true));
        assert!(tx.find(undone, 1).is_none());
        assert_eq!(
            tx.get(other, 1).expect("read").map(|record| record.value),
            Some(2)
        );
    });
}

#[test]
fn a_row_is_appended_to_its_own_journal_only() {
    let (mut first, mut second, mut third) = (
        World::with_memory(STORE_BYTES),
        World::with_memory(STORE_BYTES),
        World::with_memory(STORE_BYTES),
    );
    let journal = first.commit(|tx| tx.declare_journal::<Event>().expect("declare"));
    second.commit(|tx| tx.declare_journal::<OtherEvent>().expect("declare"));
    third.commit(|tx| tx.declare_table::<TableOfEvents>().expect("declare"));
    let mut empty = World::with_memory(STORE_BYTES);
    let event = Event {
        what: 1,
        much: [1; 9],
        end: [1; 7],
    };
    for world in [&mut second, &mut third, &mut empty] {
        let mut tx = world.space.begin(&mut world.log);
        let result = in_detail(tx.append(journal, &event));
        assert!(
            matches!(result, Err(TableError::UnknownHandle { number: 0 })),
            "{result:?}"
        );
        assert!(!tx.commit());
    }
}

plain!(Row { a: u64, b: u64 });
impl PlainJournalRow for Row {
    const NAME: &'static str = "rows";
}
record!(Row { table: "rows", key: a: u64 });

#[test]
fn a_journals_handle_is_not_taken_for_a_tables_of_the_same_name() {
    let (mut first, mut second) = (
        World::with_memory(STORE_BYTES),
        World::with_memory(STORE_BYTES),
    );
    let journal = first.commit(|tx| tx.declare_journal::<Row>().expect("declare"));
    let table = second.commit(|tx| tx.declare_table::<Row>().expect("declare"));
    let row = Row { a: 1, b: 2 };
    let appended = in_detail(second.commit(|tx| tx.append(journal, &row)));
    assert!(
        matches!(appended, Err(TableError::UnknownHandle { number: 0 })),
        "{appended:?}"
    );
    let inserted = in_detail(first.commit(|tx| tx.insert(table, &row).map(|_| ())));
    assert!(
        matches!(inserted, Err(TableError::UnknownHandle { number: 0 })),
        "{inserted:?}"
    );
}

#[test]
fn duplicate_and_missing_and_changed_keys() {
    let (mut world, tables) = World::new();
    world.commit(|tx| {
        tx.insert(tables.orders, &Order::sample(5, 1))
            .expect("insert");
        tx.insert(tables.accounts, &Account::sample(5, 1))
            .expect("insert");
    });
    let mut tx = world.space.begin(&mut world.log);
    match in_detail(tx.insert(tables.accounts, &Account::sample(5, 2))) {
        Err(TableError::DuplicateKey { table, key, .. }) => {
            assert_eq!(
                (table.as_str(), key.as_str()),
                ("accounts", "0x0000000500000000")
            );
        }
        other => panic!("{other:?}"),
    }
    let missing = Order::sample_key(6);
    assert!(!tx.delete(tables.orders, missing).expect("no error"));
    let updated = tx.update(tables.orders, missing, |_| panic!("not there"));
    assert_eq!(updated.expect("no error"), None::<()>);
    assert!(tx.get(tables.orders, missing).expect("read").is_none());
    let key = Order::sample_key(5);
    let changed = in_detail(tx.update(tables.orders, key, |order| order.key[2] = 1));
    assert!(
        matches!(changed, Err(TableError::KeyChanged { .. })),
        "{changed:?}"
    );
    let row = tx.find(tables.orders, key).expect("there");
    let set = in_detail(tx.set(row, field!(Order.key: [u32; 3]), key));
    assert!(matches!(set, Err(TableError::KeyChanged { .. })), "{set:?}");
    tx.commit();
    assert!(
        world.log.payload().is_empty(),
        "failed operations did something"
    );
    world.check_redone();
}

plain!(WithNothing {
    key: u64,
    nothing: [u8; 0],
    value: u64
});
record!(WithNothing { table: "with nothing", key: key: u64 });

#[test]
fn setting_a_field_without_bytes_logs_nothing() {
    let mut world = World::with_memory(STORE_BYTES);
    let row = world.commit(|tx| {
        let table = tx.declare_table::<WithNothing>().expect("declare");
        let record = WithNothing {
            key: 1,
            nothing: [],
            value: 2,
        };
        tx.insert_and_find(table, &record).expect("insert")
    });
    let mut tx = world.space.begin(&mut world.log);
    tx.set(row, field!(WithNothing.nothing: [u8; 0]), [])
        .expect("set");
    assert!(!tx.commit());
}

#[test]
fn rows_of_deleted_records_and_of_other_databases_are_stale() {
    let (mut world, tables) = World::new();
    let (mut other, _) = World::new();
    let record = Small { key: 1, value: 7 };
    let row = world.commit(|tx| tx.insert_and_find(tables.small, &record).expect("insert"));
    other.commit(|tx| {
        tx.insert(tables.small, &record)
            .map(|_| ())
            .expect("insert")
    });
    other.commit(|tx| {
        let value = Small::value_field();
        assert!(matches!(
            in_detail(tx.record(row)),
            Err(TableError::StaleRow { .. })
        ));
        assert!(matches!(
            in_detail(tx.set(row, value, 1)),
            Err(TableError::StaleRow { .. })
        ));
    });
    // Undone, the deletion never was; another record's deletion changes nothing.
    let mut tx = world.space.begin(&mut world.log);
    tx.delete(tables.small, 1).expect("delete");
    let second = tx
        .insert_and_find(tables.small, &Small { key: 2, value: 9 })
        .expect("insert");
    assert!(matches!(
        in_detail(tx.record(row)),
        Err(TableError::StaleRow { .. })
    ));
    tx.abort();
    world.commit(|tx| {
        assert_eq!(tx.record(row).expect("there"), &record);
        assert!(matches!(
            in_detail(tx.record(second)),
            Err(TableError::StaleRow { .. })
        ));
        tx.delete(tables.small, 1).expect("delete");
        tx.insert(tables.small, &Small { key: 3, value: 9 })
            .expect("insert");
        assert!(matches!(
            in_detail(tx.record(row)),
            Err(TableError::StaleRow { .. })
        ));
    });
}

/// A transaction returns to its own marks only, and its changes behind them are in neither the pages nor the log.
#[test]
fn a_transaction_goes_back_to_its_marks() {
    let mut world = World::with_memory(STORE_BYTES);
    let table = world.commit(|tx| tx.declare_table::<Small>().expect("declare"));
    let record = |key: u32, value: u32| Small { key, value };
    let (first, second) = world.commit(|tx| {
        tx.insert(table, &record(1, 1)).expect("insert");
        let first = tx.savepoint();
        tx.insert(table, &record(2, 1)).expect("insert");
        let second = tx.savepoint();
        tx.insert(table, &record(3, 1)).expect("insert");
        tx.rollback_to(second).expect("its own");
        assert_eq!(
            (
                tx.count(table).expect("read"),
                tx.get(table, 3).expect("read").is_some()
            ),
            (2, false)
        );
        tx.insert(table, &record(3, 2)).expect("insert");
        tx.rollback_to(first).expect("its own");
        assert_eq!(tx.count(table).expect("read"), 1);
        let gone = in_detail(tx.rollback_to(second));
        assert!(matches!(gone, Err(TableError::NoSavepoint)), "{gone:?}");
        tx.insert(table, &record(4, 4)).expect("insert");
        (first, second)
    });
    world.redo();
    world.commit(|tx| {
        tx.insert(table, &record(5, 5)).expect("insert");
        for mark in [first, second] {
            let other = in_detail(tx.rollback_to(mark));
            assert!(matches!(other, Err(TableError::NoSavepoint)), "{other:?}");
        }
        assert_eq!(tx.count(table).expect("read"), 3);
    });
    world.redo();
}
