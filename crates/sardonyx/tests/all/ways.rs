//! One storage, several ways of running transactions: a database that was written by one opens under
//! the other, unless there is something in it that may still be undone.

use crate::common::in_every_shape;
use crate::leave_unfinished::leave_unfinished;
use sardonyx::low_level::Resident;
use sardonyx::operations::records::TableOperations;
use sardonyx::{Error, Options, Shape, Tables, record};
use sardonyx_mapped::heap::HeapError;
use sardonyx_mapped::{self as mapped, Heap, Memory, MemoryAccess, P};
use sardonyx_storage::catalogue::CatalogueError;
use sardonyx_storage::catalogue::unfinished;
use std::path::Path;

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Account {
    id: u64,
    balance: u64,
}
record!(Account { table: "accounts", key: id: u64 });

/// With a log that the mapped way's limits fit into, and no larger.
fn open(shape: Shape, path: &Path) -> Result<Tables, Error> {
    let options = Options::new().shape(shape).log_bytes_prepared(0);
    options.segment_bytes(24 << 20).open_tables(path)
}

const ID: u64 = 0x1234_5678_9abc_def0;

#[test]
fn a_record_of_the_serial_way_is_bytes_to_the_mapped_way_and_changes_there() {
    in_every_shape(|shape| {
        let directory = tempfile::tempdir().unwrap();
        let bank = open(shape, directory.path()).unwrap();
        let accounts = bank.table::<Account>().unwrap();
        let account = Account {
            id: ID,
            balance: 100,
        };
        bank.run(|tx| tx.insert(accounts, &account).map(|_| ()))
            .unwrap();
        assert!(
            mapped::Options::new().open(directory.path()).is_err(),
            "the serial way has it open"
        );
        bank.close().unwrap();

        let segment = mapped::Segment::open(directory.path()).unwrap();
        let at = {
            let snapshot = segment.snapshot().unwrap();
            let words = snapshot.bytes().chunks_exact(8);
            let found = words.into_iter().position(|word| *word == ID.to_ne_bytes());
            assert!(matches!(Heap::open(&snapshot), Err(HeapError::Tables)));
            found.expect("the record is there") as u64 * 8
        };
        let balance: P<u64> = P::from_offset(at + 8);
        segment
            .run(|tx| {
                *tx.get_mut(balance)? += 11;
                Ok::<_, mapped::memory::PlaceError>(())
            })
            .unwrap();
        assert!(
            open(shape, directory.path()).is_err(),
            "the mapped way has it open"
        );
        drop(segment);

        let bank = open(shape, directory.path()).unwrap();
        let accounts = bank.table::<Account>().unwrap();
        assert_eq!(
            bank.read(|view| Ok(view.get(accounts, ID)?.map(|a| a.balance)))
                .expect("reads"),
            Some(111)
        );
        bank.close().unwrap();
    });
}

#[test]
fn a_heap_of_the_mapped_way_is_refused_by_tables_and_left_alone() {
    in_every_shape(|shape| {
        let directory = tempfile::tempdir().unwrap();
        let segment = mapped::Segment::open(directory.path()).unwrap();
        let place: P<u64> = segment
            .run(|tx| {
                let heap = Heap::open_or_format(tx)?;
                let place = heap.allocate(tx, &7u64)?;
                heap.set_root(tx, "seven", place, "u64")?;
                Ok::<_, HeapError>(place)
            })
            .unwrap();
        drop(segment);
        let refused = open(shape, directory.path()).map(|_| ()).unwrap_err();
        assert!(
            refused.to_string().contains("heap of a mapped segment"),
            "{refused}"
        );
        let segment = mapped::Segment::open(directory.path()).unwrap();
        assert_eq!(segment.snapshot().unwrap().read(place).unwrap(), 7);
    });
}

#[test]
fn what_may_still_be_undone_is_read_by_no_other_way() {
    in_every_shape(|shape| {
        let directory = tempfile::tempdir().unwrap();
        let bank = open(shape, directory.path()).unwrap();
        let accounts = bank.table::<Account>().unwrap();
        let account = Account { id: 1, balance: 2 };
        bank.run(|tx| tx.insert(accounts, &account).map(|_| ()))
            .unwrap();
        bank.close().unwrap();
        leave_unfinished(
            directory.path(),
            &[5, unfinished::CONTINUATION, unfinished::UNUSED, 6],
        );
        for _ in 0..2 {
            let refused = open(shape, directory.path()).map(|_| ()).unwrap_err();
            assert!(matches!(
                refused.downcast_ref(),
                Some(CatalogueError::Unfinished { transactions: 2 })
            ));
            let said =
                "2 unfinished multi-level transactions: open it with the multi-level way first";
            assert!(refused.to_string().contains(said), "{refused}");
            let refused = mapped::Segment::open(directory.path())
                .map(|_| ())
                .unwrap_err();
            assert!(refused.to_string().contains(said), "{refused}");
        }
    });
}

#[test]
fn an_area_without_anything_to_undo_is_in_nobodys_way() {
    in_every_shape(|shape| {
        let directory = tempfile::tempdir().unwrap();
        let bank = open(shape, directory.path()).unwrap();
        bank.table::<Account>().unwrap();
        bank.close().unwrap();
        leave_unfinished(
            directory.path(),
            &[unfinished::UNUSED, unfinished::CONTINUATION],
        );
        let bank = open(shape, directory.path()).unwrap();
        let accounts = bank.table::<Account>().unwrap();
        let account = Account { id: 1, balance: 2 };
        bank.run(|tx| tx.insert(accounts, &account).map(|_| ()))
            .unwrap();
        assert_eq!(
            bank.read(|view| Ok(view.definitions().len()))
                .expect("reads"),
            2
        );
        bank.close().unwrap();
        drop(mapped::Segment::open(directory.path()).unwrap());
    });
}

/// Accounts whose fields are known, and the same with two of them swapped.
mod fields {
    use super::{Resident, record};

    #[derive(Clone, Copy, Resident)]
    #[repr(C)]
    pub struct Account {
        pub id: u64,
        pub balance: u64,
        pub limit: i64,
    }
    record!(Account { table: "known", key: id: u64, fields: { id: u64, balance: u64, limit: i64 } });

    #[derive(Clone, Copy, Resident)]
    #[repr(C)]
    pub struct Swapped {
        pub id: u64,
        pub limit: i64,
        pub balance: u64,
    }
    record!(Swapped { table: "known", key: id: u64, fields: { id: u64, limit: i64, balance: u64 } });
}

#[test]
fn operations_compare_columns_and_say_what_they_do_not_keep_up() {
    use sardonyx::schema::{Schema, Type, Value};
    let directory = tempfile::tempdir().unwrap();
    let serial = || open(Shape::Coalesced, directory.path()).unwrap();
    let operations = || Options::new().open_operations(directory.path()).unwrap();
    let (id, balance, limit) = (7, 8, -9);
    let known = fields::Account { id, balance, limit };
    let account = Account { id, balance };

    let bank = serial();
    let table = bank.table::<fields::Account>().unwrap();
    bank.run(|tx| tx.insert(table, &known).map(drop)).unwrap();
    bank.close().unwrap();
    let bank = operations();
    let table = bank.table::<fields::Account>().unwrap();
    let found = bank.run(|tx| tx.call(&table.get(id))).unwrap();
    assert_eq!(found.map(|account| account.limit), Some(limit));
    let text = bank.table::<fields::Swapped>().unwrap_err().to_string();
    assert!(
        text.contains("* balance") && text.contains("i64 at 8"),
        "{text}"
    );
    bank.close().unwrap();

    type Change = fn(&mut sardonyx::Transaction<'_>) -> Result<(), Error>;
    let changes: [(Change, &str); 4] = [
        (
            |tx| tx.add_column("accounts", "more", Type::I64, false, 5.into()),
            "columns that were added",
        ),
        (
            |tx| tx.add_column("accounts", "note", Type::Text, true, Value::Null),
            "columns that were added",
        ),
        (
            |tx| {
                let schema = Schema::new()
                    .column("id", Type::U64)
                    .column("balance", Type::U64);
                let schema = schema
                    .primary_key(["id"])
                    .index("by_balance", ["balance"])
                    .ordered();
                tx.drop_table("accounts")?;
                tx.create_table("accounts", schema).map(drop)
            },
            "indexes",
        ),
        (
            |tx| {
                let schema = Schema::new()
                    .column("id", Type::U64)
                    .column("balance", Type::U64);
                tx.drop_table("accounts")?;
                tx.create_table("accounts", schema.primary_key(["id"]))?;
                let schema = Schema::new()
                    .column("id", Type::U64)
                    .column("of", Type::U64);
                let schema =
                    schema
                        .primary_key(["id"])
                        .foreign_key("of", ["of"], "accounts", ["id"]);
                tx.create_table("others", schema).map(drop)
            },
            "references from other tables",
        ),
    ];
    let bank = serial();
    bank.table::<Account>().unwrap();
    bank.close().unwrap();
    for (number, (change, what)) in changes.into_iter().enumerate() {
        let bank = serial();
        bank.run(change).unwrap();
        let accounts = bank.table::<Account>().unwrap();
        let account = Account {
            id: number as u64,
            balance: 1,
        };
        bank.run(|tx| tx.insert(accounts, &account).map(drop))
            .unwrap();
        bank.close().unwrap();
        let bank = operations();
        let text = bank.table::<Account>().unwrap_err().to_string();
        assert!(
            text.contains(what) && text.contains("\"accounts\""),
            "{text}"
        );
        // The others are as before.
        let table = bank.table::<fields::Account>().unwrap();
        let found = bank.run(|tx| tx.call(&table.update(id, |account| account.balance += 1)));
        assert!(found.unwrap().is_some());
        bank.close().unwrap();
    }
    let bank = serial();
    let accounts = bank.table::<Account>().unwrap();
    assert!(
        bank.read(|view| Ok(view.get(accounts, account.id)?.is_none()))
            .unwrap()
    );
    let table = bank.table::<fields::Account>().unwrap();
    let balance = bank.read(|view| Ok(view.get(table, id)?.map(|account| account.balance)));
    assert_eq!(balance.unwrap(), Some(12));
    bank.close().unwrap();
}
