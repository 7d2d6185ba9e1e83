//! `backup`: of a database that is closed, and of one that a program has open and has written to.

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

fn sizes(path: &Path) -> Vec<u64> {
    let db = sardonyx::Tables::open(path).unwrap();
    let things = db.table::<Thing>().unwrap();
    let sizes = |view: &sardonyx::View<'_>| {
        let sizes = view.scan(things)?.map(|thing| Ok(thing?.size));
        let mut sizes = sizes.collect::<Result<Vec<_>, sardonyx::Error>>()?;
        sizes.sort_unstable();
        Ok(sizes)
    };
    db.read(sizes).unwrap()
}

#[test]
fn a_backup_is_a_database_also_beside_a_program() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let [backup, json] = ["backup", "--json"].map(Path::new);
    let db = sardonyx::Tables::open(at("open")).unwrap();
    let things = db.table::<Thing>().unwrap();
    let insert = |id: u64| db.run(|tx| tx.insert(things, &Thing { id, size: id * 2 }).map(drop));
    (0..100).for_each(|id| insert(id).unwrap());

    let (_, said) = run(0, &[backup, &at("open"), &at("first")]);
    assert!(said.contains("open"), "{said}");
    (100..120).for_each(|id| insert(id).unwrap());
    db.close().unwrap();
    let (printed, _) = run(0, &[backup, &at("open"), &at("second"), json]);
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert!(report["pages"].as_u64() > Some(2), "{report}");

    let all: Vec<u64> = (0..120).map(|id| id * 2).collect();
    assert_eq!(sizes(&at("first")), all[..100]);
    assert_eq!(sizes(&at("second")), all);
    run(0, &["verify".as_ref(), &at("second")]);
    let (_, said) = run(2, &[backup, &at("open"), &at("first")]);
    assert!(said.contains("not empty"), "{said}");
    run(2, &[backup, &at("nothing"), &at("third")]);
    assert!(!at("third").exists());
}
