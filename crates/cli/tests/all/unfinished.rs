//! The command on databases of the multi-level way: areas are shown, unfinished transactions are counted, and the
//! database cannot be opened before they are undone.

use crate::common::run;
use crate::leave_unfinished::leave_unfinished;
use sardonyx::{Tables, record};
use sardonyx_base::resident::Resident;
use sardonyx_mapped::{self as mapped, Memory};
use sardonyx_storage::catalogue::unfinished;
use serde_json::Value;
use std::path::Path;

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Account {
    id: u64,
    balance: u64,
}
record!(Account { table: "accounts", key: id: u64 });

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&run(0, arguments).0).unwrap()
}

/// A database with a table of one record and an undo area, as the multi-level way leaves it when it is killed. `begins`
/// are the words at the beginning of its pages for transactions.
fn database(directory: &Path, begins: &[u64]) {
    let bank = Tables::open(directory).unwrap();
    let accounts = bank.table::<Account>().unwrap();
    let account = Account { id: 1, balance: 2 };
    bank.run(|tx| tx.insert(accounts, &account).map(|_| ()))
        .unwrap();
    bank.close().unwrap();
    leave_unfinished(directory, begins);
}

#[test]
fn unfinished_transactions_are_a_leftover_and_nobody_reads_what_they_did() {
    let directory = tempfile::tempdir().unwrap();
    database(directory.path(), &[3, unfinished::CONTINUATION, 4, 0]);
    let path = directory.path().to_str().unwrap();
    for _ in 0..2 {
        let verified = json(&["verify", path, "--json"]);
        assert_eq!(verified["sound"], true);
        assert_eq!(verified["catalogue"]["unfinished_transactions"], 2);
        assert_eq!(verified["findings"][0]["severity"], "leftover");
        let (printed, _) = run(0, &["verify", path]);
        assert!(
            printed.contains("2 unfinished multi-level transactions"),
            "{printed}"
        );

        let dry = json(&["recover", path, "--dry-run", "--json"]);
        assert_eq!(dry["catalogue"]["unfinished_transactions"], 2);
        let (printed, _) = run(0, &["recover", path, "--dry-run"]);
        assert!(printed.contains("unfinished transactions"), "{printed}");

        let inspected = json(&["inspect", path, "catalogue", "--json"]);
        assert_eq!(inspected, dry["catalogue"]);
        let (printed, _) = run(0, &["inspect", path, "catalogue"]);
        assert!(
            printed.contains("UNFINISHED: the database has 2"),
            "{printed}"
        );

        for arguments in [&["recover", path][..], &["checkpoint", path]] {
            let (_, said) = run(4, arguments);
            assert!(
                said.contains("multi-level way first, which undoes them"),
                "{said}"
            );
        }
        let (_, said) = run(4, &["history", path, "--account", "1"]);
        assert!(
            said.contains("multi-level way first, which undoes them"),
            "{said}"
        );
    }
}

#[test]
fn tables_and_areas_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    database(directory.path(), &[0, 0]);
    let path = directory.path().to_str().unwrap();
    let listed = json(&["inspect", path, "catalogue", "--json"]);
    let definitions = listed["definitions"].as_array().unwrap();
    let names: Vec<_> = definitions.iter().map(|line| &line["name"]).collect();
    assert_eq!(names, ["accounts", ".undo"]);
    assert_eq!(
        (&definitions[0]["kind"], &definitions[0]["pages"]),
        (&"table".into(), &16.into())
    );
    assert_eq!(
        (&definitions[1]["kind"], &definitions[1]["pages"]),
        (&"area".into(), &16.into())
    );
    let (printed, _) = run(0, &["inspect", path, "catalogue"]);
    assert!(
        printed.contains(".undo") && !printed.contains("UNFINISHED"),
        "{printed}"
    );
    let (printed, _) = run(0, &["recover", path]);
    assert!(
        printed.contains("areas") && !printed.contains("unfinished"),
        "{printed}"
    );
    assert_eq!(
        json(&["verify", path, "--json"])["findings"],
        Value::Array(vec![])
    );
}

#[test]
fn a_database_of_the_mapped_way_has_no_catalogue() {
    let directory = tempfile::tempdir().unwrap();
    let segment = mapped::Segment::open(directory.path()).unwrap();
    segment
        .run(|tx| mapped::Heap::open_or_format(tx).map(|_| ()))
        .unwrap();
    drop(segment);
    let path = directory.path().to_str().unwrap();
    let verified = json(&["verify", path, "--json"]);
    assert_eq!(
        (&verified["sound"], &verified["catalogue"]),
        (&true.into(), &Value::Null)
    );
    assert!(
        run(0, &["inspect", path, "catalogue"])
            .0
            .contains("No tables")
    );
    assert_eq!(
        json(&["recover", path, "--dry-run", "--json"])["catalogue"],
        Value::Null
    );
}

#[test]
fn a_damaged_catalogue_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    database(directory.path(), &[]);
    let segment = mapped::Segment::open(directory.path()).unwrap();
    // The version.
    segment
        .run(|tx| {
            tx.bytes_mut()[8] = 9;
            Ok::<_, mapped::memory::GrowError>(())
        })
        .unwrap();
    drop(segment);
    let path = directory.path().to_str().unwrap();
    let (printed, _) = run(1, &["verify", path]);
    assert!(
        printed.contains("an unknown version of the catalogue"),
        "{printed}"
    );
    for arguments in [
        &["recover", path][..],
        &["recover", path, "--dry-run"],
        &["inspect", path, "catalogue"],
    ] {
        let (_, said) = run(1, arguments);
        assert!(said.contains("page 0"), "{said}");
    }
}

#[test]
fn the_heap_of_a_segment_is_looked_through() {
    use mapped::{Heap, MemoryAccess};
    let directory = tempfile::tempdir().unwrap();
    let segment = mapped::Segment::open(directory.path()).unwrap();
    let made = segment.run(|tx| {
        let heap = Heap::format(tx)?;
        let array = heap.allocate_bytes(tx, 10 << 20, 4096)?;
        heap.set_root(tx, "array", array, "array")
    });
    made.unwrap();
    drop(segment);
    let path = directory.path().to_str().unwrap();
    let report = json(&["verify", path, "--json"]);
    assert_eq!(report["sound"], true);
    assert_eq!(report["heap"]["large"], 1);
    assert_eq!(report["heap"]["roots"], 1);
    let printed = run(0, &["verify", path]).0;
    assert!(printed.contains("pages handed out"), "{printed}");

    // A high-water mark beyond the memory: the heap does not open, and this reports why.
    let segment = mapped::Segment::open(directory.path()).unwrap();
    let high_water = mapped::P::<u64>::from_offset(4096 + 8);
    let beyond = segment.length() / 4096 + 1;
    segment.run(|tx| tx.write(high_water, beyond)).unwrap();
    let snapshot = segment.snapshot().unwrap();
    let refused = Heap::open(&snapshot).unwrap_err().to_string();
    drop((snapshot, segment));
    let (printed, _) = run(1, &["verify", path, "--json"]);
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(report["sound"], false);
    assert_eq!(report["findings"][0]["what"], refused.as_str());
}
