//! `restore`: of a backup and of a store, and as a drill; and its refusals, which change no existing file.

use crate::common::{json, run};
use crate::machine::Machine;
use sardonyx_storage::disk::{Disk, RealDisk};

impl Machine {
    /// A table with so many rows.
    fn fill(&self, name: &str, rows: u32, store: &[&str]) {
        let text = format!(
            "create table t (id int primary key); insert into t select n from generate_series(1, {rows}) as g (n)"
        );
        let database = self.text(name);
        run(
            0,
            &[&["sql", &database, "--create", "-c", &text], store].concat(),
        );
    }

    fn rows(&self, name: &str) -> usize {
        let (printed, _) = run(0, &["rows", &self.text(name), "t", "--json"]);
        printed.lines().count()
    }
}

#[test]
fn a_backup_is_restored_and_checked_and_a_drill_leaves_nothing() {
    let machine = Machine::new();
    machine.fill("bank.sdx", 100, &[]);
    let [bank, backup] = ["bank.sdx", "backup.sdx"].map(|name| machine.text(name));
    run(0, &["backup", &bank, &backup]);
    let (printed, _) = run(0, &["restore", &backup, &machine.text("again.sdx")]);
    assert!(
        printed.contains("Restored") && printed.contains("Sound: nothing to report."),
        "{printed}"
    );
    assert_eq!(machine.rows("again.sdx"), 100);
    let drill = machine.text("drill.sdx");
    let report = json(&["restore", &backup, &drill, "--drill"]);
    assert_eq!(report["checked"]["sound"], true, "{report}");
    assert!(report["of_backup"]["pages"].as_u64() > Some(0), "{report}");
    assert_eq!(report["deleted"], true);
    assert!(!machine.path("drill.sdx").exists());
    assert_eq!(machine.rows("backup.sdx"), 100);
}

#[test]
fn a_damaged_backup_is_found_by_a_drill() {
    let machine = Machine::new();
    machine.fill("bank.sdx", 100, &[]);
    let [bank, backup] = ["bank.sdx", "backup.sdx"].map(|name| machine.text(name));
    run(0, &["backup", &bank, &backup]);
    // Each version of each block, and the log, which may reach back to the beginning.
    for part in ["backup", "log"] {
        for file in std::fs::read_dir(machine.path("backup.sdx").join(part)).unwrap() {
            let file = file.unwrap().path();
            let bytes = std::fs::metadata(&file).unwrap().len();
            std::fs::write(&file, vec![0x5a; bytes as usize]).unwrap();
        }
    }
    let (_, said) = run(
        1,
        &["restore", &backup, &machine.text("drill.sdx"), "--drill"],
    );
    assert!(said.contains("backup.sdx"), "{said}");
    assert!(!machine.path("drill.sdx").exists());
}

#[test]
fn a_database_is_restored_of_a_store_as_it_is_and_was() {
    let machine = Machine::new();
    let store = machine.store();
    machine.fill("bank.sdx", 10, &["--store", &store]);
    let before = json(&["store", "status", &store])["last_entry"].clone();
    let more = "insert into t values (11)";
    run(
        0,
        &[
            "sql",
            &machine.text("bank.sdx"),
            "-c",
            more,
            "--store",
            &store,
        ],
    );
    let report = json(&["restore", &store, &machine.text("now.sdx")]);
    assert!(
        report["of_store"]["entry"].as_u64() > before.as_u64(),
        "{report}"
    );
    assert_eq!(
        (machine.rows("now.sdx"), &report["deleted"]),
        (11, &false.into())
    );
    let then = machine.text("then.sdx");
    run(
        0,
        &["restore", &store, &then, "--at-entry", &before.to_string()],
    );
    assert_eq!(machine.rows("then.sdx"), 10);
    run(
        0,
        &["restore", &store, &machine.text("drill.sdx"), "--drill"],
    );
    assert!(!machine.path("drill.sdx").exists());
}

#[test]
fn a_moment_that_the_log_does_not_reach_is_refused_and_leaves_nothing() {
    let machine = Machine::new();
    let store = machine.store();
    machine.fill("bank.sdx", 10, &["--store", &store]);
    let last = json(&["store", "status", &store])["last_entry"].clone();
    let last = last.as_u64().unwrap();
    let copy = machine.text("copy.sdx");
    let (beyond, entry) = ((last + 1).to_string(), format!("entry {last}"));
    for until in [
        ["--at-entry", &beyond],
        ["--at-entry", "18446744073709551615"],
        ["--at-group", "999999"],
        ["--at", "2100-01-01T00:00:00Z"],
    ] {
        for verb in [
            &["store", "clone"][..],
            &["restore"],
            &["restore", "--drill"],
        ] {
            let places = [store.as_str(), copy.as_str()];
            let (_, said) = run(2, &[verb, &places, &until].concat());
            for named in [store.as_str(), &entry, "newest state"] {
                assert!(said.contains(named), "{said}");
            }
            assert!(!machine.path("copy.sdx").join("MANIFEST").exists());
        }
    }
    let last = last.to_string();
    run(0, &["store", "clone", &store, &copy, "--at-entry", &last]);
    assert_eq!(machine.rows("copy.sdx"), 10);
}

#[test]
fn what_cannot_be_restored_is_refused_and_nothing_is_touched() {
    let machine = Machine::new();
    machine.fill("bank.sdx", 5, &[]);
    let [bank, new, absent] = ["bank.sdx", "new.sdx", "absent"].map(|name| machine.text(name));
    // A drill deletes no existing file either.
    for more in [&["--drill"][..], &[]] {
        let (_, said) = run(2, &[&["restore", &bank, &bank], more].concat());
        assert!(said.contains("not empty"), "{said}");
    }
    assert_eq!(machine.rows("bank.sdx"), 5);
    let (_, said) = run(2, &["restore", &bank, &new, "--at-entry", "3"]);
    assert!(said.contains("--at-entry"), "{said}");
    let (_, said) = run(2, &["restore", &absent, &new]);
    assert!(said.contains("no backup"), "{said}");
    let (_, said) = run(2, &["restore", &format!("file:{absent}"), &new]);
    assert!(said.contains("no such directory"), "{said}");
    assert!(!machine.path("new.sdx").exists());
}

#[test]
fn a_drill_deletes_nothing_of_a_directory_that_another_process_has() {
    let machine = Machine::new();
    let store = machine.store();
    machine.fill("bank.sdx", 10, &["--store", &store]);
    let drill = machine.text("drill.sdx");
    // As a copy has it that is just beginning.
    let disk = RealDisk::open(machine.path("drill.sdx")).unwrap();
    let held = disk.lock("LOCK").unwrap().unwrap();
    let (_, said) = run(3, &["restore", &store, &drill, "--drill"]);
    assert!(said.contains("process"), "{said}");
    let files = || {
        std::fs::read_dir(machine.path("drill.sdx"))
            .unwrap()
            .count()
    };
    assert_eq!(files(), 1);
    drop(held);
    run(0, &["restore", &store, &drill, "--drill"]);
    assert_eq!(files(), 0, "it was there before, and stays");
}
