//! One storage, two ways of running transactions: a database that was written by one opens under the
//! other.

use sardonyx::mapped::heap::HeapError;
use sardonyx::mapped::{self, Heap, Memory, MemoryAccess, P};
use sardonyx::{Database, Error, record};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Account {
    id: u64,
    balance: u64,
}
record!(Account { table: "accounts", key: id: u64 });

const ID: u64 = 0x1234_5678_9abc_def0;

#[test]
fn a_record_of_the_serial_way_is_bytes_to_the_mapped_way_and_changes_there() {
    let directory = tempfile::tempdir().unwrap();
    let bank = Database::open(directory.path()).unwrap();
    let accounts = bank.table::<Account>().unwrap();
    let account = Account {
        id: ID,
        balance: 100,
    };
    bank.run(|tx| Ok::<_, Error>(tx.insert(accounts, &account).map(|_| ())?))
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
        Database::open(directory.path()).is_err(),
        "the mapped way has it open"
    );
    drop(segment);

    let bank = Database::open(directory.path()).unwrap();
    let accounts = bank.table::<Account>().unwrap();
    assert_eq!(
        bank.read(|view| view.get(accounts, &ID).map(|a| a.balance)),
        Some(111)
    );
    bank.close().unwrap();
}

#[test]
fn a_heap_of_the_mapped_way_is_refused_by_tables_and_left_alone() {
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
    let refused = Database::open(directory.path()).map(|_| ()).unwrap_err();
    assert!(
        refused.to_string().contains("heap of a mapped segment"),
        "{refused}"
    );
    let segment = mapped::Segment::open(directory.path()).unwrap();
    assert_eq!(segment.snapshot().unwrap().read(place).unwrap(), 7);
}
