//! `compact`: the space of deleted rows is freed, and the other rows stay.

use serde_json::Value;
use std::path::Path;

sardonyx::record! {
    #[table("things", key = id)]
    struct Thing {
        id: u64,
        size: u64,
    }
}

fn run(code: i32, arguments: &[&Path]) -> (String, String) {
    crate::common::run(code, arguments)
}

#[test]
fn what_deleted_rows_had_is_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.sdx");
    let [compact, json] = ["compact", "--json"].map(Path::new);
    let db = sardonyx::Tables::open(&path).unwrap();
    let things = db.table::<Thing>().unwrap();
    db.run(|tx| {
        (0..50_000).try_for_each(|id| tx.insert(things, &Thing { id, size: id * 2 }).map(drop))
    })
    .unwrap();
    db.run(|tx| (100..50_000).try_for_each(|id| tx.delete(things, id).map(drop)))
        .unwrap();
    let (_, said) = run(3, &[compact, &path]);
    assert!(said.contains("open"), "{said}");
    db.close().unwrap();

    let (printed, _) = run(0, &[compact, &path, json]);
    let report: Value = serde_json::from_str(&printed).unwrap();
    let figure = |name: &str| report[name].as_u64().unwrap();
    assert!(figure("pages") * 5 < figure("pages_before"), "{report}");
    assert!(
        figure("file_bytes") <= figure("file_bytes_before"),
        "{report}"
    );
    run(0, &["verify".as_ref(), &path]);
    assert_eq!(report["changed"], true);
    let (printed, _) = run(0, &[compact, &path]);
    assert!(printed.contains("No space to free"), "{printed}");

    let db = sardonyx::Tables::open(&path).unwrap();
    let things = db.table::<Thing>().unwrap();
    let sum = db.read(|view| {
        let sizes = view.scan(things)?.map(|thing| Ok(thing?.size));
        sizes.sum::<Result<u64, sardonyx::Error>>()
    });
    assert_eq!(sum.unwrap(), 99 * 100);
    db.close().unwrap();
    run(2, &[compact, &directory.path().join("nothing")]);
}
