//! A keeper that shows an older register than a host remembers.

use super::keeper::{Keeper, Replaced};
use super::planted::Planted;
use super::record::SetRecord;
use super::remembered::{Home, Remembered, read_all, remembered_at};
use super::schedules::with_and_without;
use crate::options::RemoteOptions;
use crate::place::open;
use crate::{PutBack, put_back};
use sardonyx_storage::disk::{Access, Create, Disk, Faults, SimulatedDisk};
use sardonyx_storage::manifest::MANIFEST_FILE;
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::store::{Register, RemoteStore, StoreError};
use std::path::Path;
use std::sync::Arc;

const NAMED: [&str; 2] = ["file:/a", "file:/b"];

fn named() -> Vec<String> {
    NAMED.map(String::from).to_vec()
}

fn make_manifest(disk: &dyn Disk) {
    let file = disk.open(MANIFEST_FILE, Access::Buffered, Create::New);
    file.unwrap().sync().unwrap();
    disk.sync_directory("").unwrap();
}

/// A host that begins now.
fn host(store: &Arc<MemoryStore>, disk: &SimulatedDisk) -> Keeper {
    let home = Home::Disk(Arc::new(disk.clone()));
    Keeper::new(store.clone()).remembered(Remembered::open(home, &named()).unwrap())
}

/// Another state of the register, in any way that a keeper can come to it.
fn set(store: &MemoryStore, bytes: &[u8]) {
    let there = store.read_register(Register::Copies).unwrap();
    let version = there.map(|there| there.version);
    store
        .swap_register(Register::Copies, version.as_ref(), bytes)
        .unwrap();
}

fn refusal(keeper: &Keeper) -> String {
    match keeper.look() {
        Err(error @ StoreError::Setup { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

/// The set without its first copy.
fn smaller(keeper: &Keeper) -> SetRecord {
    let view = keeper.read().unwrap();
    let record = view.record.without(NAMED[0], 7, 60).unwrap();
    match keeper.replace(Some(&view.version), &record).unwrap() {
        Replaced::Done(view) => view.record.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn i1_a_host_that_begins_after_its_keeper_was_restored_refuses_the_older_register() {
    let store = Arc::new(MemoryStore::new());
    let disk = SimulatedDisk::new(1, Faults::default());
    make_manifest(&disk);
    let first = SetRecord::new(9, &named(), 50);
    set(&store, first.encode().as_bytes());
    let now = smaller(&host(&store, &disk));

    // The machine loses power: the state was in the file before the host acted on it.
    let disk = disk.restart(Faults::default());
    set(&store, first.encode().as_bytes());
    let error = refusal(&host(&store, &disk));
    for part in [
        "generation 2",
        "generation 1",
        "--put-back",
        "copies-0000000000000009",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // Another state of the same generation: the keeper was restored, and another host changed the set since.
    let other = first.without(NAMED[1], 7, 60).unwrap();
    set(&store, other.encode().as_bytes());
    assert!(refusal(&host(&store, &disk)).contains("another one of generation 2"));
    // The newest state, and a later one, are accepted; and so is another set at these places.
    for record in [now.clone(), now.taken(3), SetRecord::new(10, &named(), 70)] {
        set(&store, record.encode().as_bytes());
        host(&store, &disk).look().unwrap();
    }
    // A state of before a change of sets is still refused.
    set(&store, now.encode().as_bytes());
    assert!(refusal(&host(&store, &disk)).contains("generation 3"));
}

#[test]
fn a_register_that_is_lost_is_refused_by_a_host_of_its_set_and_made_by_another_one() {
    let store = Arc::new(MemoryStore::new());
    let [used, new, other] = [1, 2, 3].map(|seed| SimulatedDisk::new(seed, Faults::default()));
    for disk in [&used, &new, &other] {
        make_manifest(disk);
    }
    set(&store, SetRecord::new(9, &named(), 50).encode().as_bytes());
    host(&store, &used).look().unwrap();
    let places = ["file:/c", "file:/d"].map(String::from);
    let elsewhere = Arc::new(MemoryStore::new());
    set(
        &elsewhere,
        SetRecord::new(11, &places, 50).encode().as_bytes(),
    );
    host(&elsewhere, &other).look().unwrap();

    let empty = Arc::new(MemoryStore::new());
    assert!(refusal(&host(&empty, &used)).contains("there is none"));
    for disk in [&new, &other] {
        assert!(host(&empty, disk).look().unwrap().is_none());
    }
}

#[test]
fn nothing_is_written_before_the_directory_has_a_database_and_then_with_the_next_look() {
    let store = Arc::new(MemoryStore::new());
    let disk = SimulatedDisk::new(1, Faults::default());
    set(&store, SetRecord::new(9, &named(), 50).encode().as_bytes());
    let keeper = host(&store, &disk);
    keeper.look().unwrap();
    assert_eq!(disk.list("").unwrap(), Vec::<String>::new());
    make_manifest(&disk);
    keeper.look().unwrap();
    assert!(
        disk.list("")
            .unwrap()
            .contains(&"copies-0000000000000009".into())
    );
    // An unchanged register costs no write.
    let steps = disk.steps();
    keeper.look().unwrap();
    assert_eq!(disk.steps(), steps);
}

#[test]
fn i1_a_state_that_cannot_be_kept_is_not_acted_on_and_no_crash_leaves_an_older_file_than_one_acted_on()
 {
    let first = SetRecord::new(9, &named(), 50);
    let mut refused = 0;
    for step in 1.. {
        let store = Arc::new(MemoryStore::new());
        let disk = SimulatedDisk::new(step, Faults::default());
        make_manifest(&disk);
        set(&store, first.encode().as_bytes());
        host(&store, &disk).look().unwrap();
        let disk = disk.restart(Faults {
            crash_at_step: Some(step),
            ..Faults::default()
        });
        set(&store, first.taken(3).encode().as_bytes());
        let outcome = host(&store, &disk).look();
        let acted = outcome.is_ok();
        if let Err(error) = outcome {
            assert!(matches!(error, StoreError::NotNow { .. }), "{error}");
            refused += 1;
        }
        let crashed = disk.has_crashed();
        let disk = disk.restart(Faults::default());
        set(&store, first.encode().as_bytes());
        let after = host(&store, &disk).look();
        assert!(
            !acted || after.is_err(),
            "step {step}: acted, and forgot it"
        );
        if !crashed {
            break;
        }
    }
    assert!(refused > 3, "{refused}");
}

#[test]
fn a_look_that_began_before_a_newer_state_was_noted_raises_no_alarm() {
    let disk = SimulatedDisk::new(1, Faults::default());
    make_manifest(&disk);
    let home = Home::Disk(Arc::new(disk));
    let remembered = Remembered::open(home, &named()).unwrap();
    let first = SetRecord::new(9, &named(), 50);
    let before = remembered.before();
    remembered
        .found(&remembered.before(), Some(&first.taken(3)), "keeper")
        .unwrap();
    remembered.found(&before, Some(&first), "keeper").unwrap();
    let late = remembered.found(&remembered.before(), Some(&first), "keeper");
    assert!(late.is_err());
}

#[test]
fn a_damaged_file_is_refused_by_its_name() {
    let store = Arc::new(MemoryStore::new());
    let disk = SimulatedDisk::new(1, Faults::default());
    make_manifest(&disk);
    set(&store, SetRecord::new(9, &named(), 50).encode().as_bytes());
    host(&store, &disk).look().unwrap();
    disk.replace("copies-0000000000000009", b"format_version = 1\n")
        .unwrap();
    let home = Home::Disk(Arc::new(disk));
    let error = Remembered::open(home, &named()).unwrap_err().to_string();
    assert!(error.contains("copies-0000000000000009"), "{error}");
}

/// Two processes of one directory, of which one looked at the register before the other.
#[test]
fn a_file_is_never_replaced_by_an_older_state() {
    with_and_without(Planted::FileReplaced, || {
        let disk = SimulatedDisk::new(1, Faults::default());
        make_manifest(&disk);
        let open = || Remembered::open(Home::Disk(Arc::new(disk.clone())), &named()).unwrap();
        let (one, other) = (open(), open());
        let first = SetRecord::new(9, &named(), 50);
        let (one_before, other_before) = (one.before(), other.before());
        let newest = first.taken(3).taken(4);
        one.found(&one_before, Some(&newest), "keeper").unwrap();
        other.found(&other_before, Some(&first), "keeper").unwrap();
        let stored = read_all(&disk).unwrap();
        stored == [newest]
    });
}

#[test]
fn a_directory_that_lost_its_manifest_still_refuses_and_files_of_other_names_are_left_alone() {
    let store = Arc::new(MemoryStore::new());
    let disk = SimulatedDisk::new(1, Faults::default());
    make_manifest(&disk);
    let first = SetRecord::new(9, &named(), 50);
    set(&store, first.encode().as_bytes());
    smaller(&host(&store, &disk));
    for other in [
        "copies-0000000000000009.old",
        "copies-list",
        "copies-000000000000000G",
    ] {
        let file = disk.open(other, Access::Buffered, Create::New).unwrap();
        file.write_at(0, b"of a person").unwrap();
    }
    disk.remove(MANIFEST_FILE).unwrap();
    host(&store, &disk).look().unwrap();
    set(&store, first.encode().as_bytes());
    assert!(refusal(&host(&store, &disk)).contains("generation 2"));
}

#[test]
fn the_newest_register_is_put_back_once_and_then_hosts_accept_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let place = format!(
        "copies:file:{};file:{};file:{}",
        path("keeper").display(),
        path("a").display(),
        path("b").display()
    );
    let of_host = |home: &Path| RemoteOptions {
        home: Some(home.into()),
        ..RemoteOptions::default()
    };
    let (one, two) = (path("one.sdx"), path("two.sdx"));
    for home in [&one, &two] {
        std::fs::create_dir(home).unwrap();
        std::fs::write(home.join(MANIFEST_FILE), "").unwrap();
    }
    open(&place, &of_host(&one)).unwrap();
    let keeper = || {
        Keeper::new(
            open(
                &format!("file:{}", path("keeper").display()),
                &RemoteOptions::default(),
            )
            .unwrap(),
        )
    };
    let first = keeper().read().unwrap().record.clone();
    // The host changes the set: the first entry makes it the writer.
    open(&place, &of_host(&one))
        .unwrap()
        .append_at(1, b"entry")
        .unwrap();
    open(&place, &of_host(&two)).unwrap();
    let newest = remembered_at(&one, &[], Some(first.identity)).unwrap();
    assert!(newest.generation > first.generation);

    let put = |home: &Path| {
        let wish = PutBack {
            directory: Some(home.into()),
            ..PutBack::default()
        };
        put_back(&place, &wish, &RemoteOptions::default())
    };
    let error = put(&one).unwrap_err().to_string();
    assert!(error.contains("nothing newer"), "{error}");
    let there = keeper().read().unwrap();
    keeper().write(Some(&there.version), &first).unwrap();
    for home in [&one, &two] {
        let error = open(&place, &of_host(home)).unwrap_err().to_string();
        assert!(error.contains("restored"), "{error}");
    }
    assert_eq!(put(&one).unwrap().record, newest);
    assert!(put(&two).is_err(), "it is back already");
    for home in [&one, &two] {
        let store = open(&place, &of_host(home)).unwrap();
        assert_eq!(store.read(1).unwrap().unwrap(), b"entry");
    }
    open(&place, &of_host(&two))
        .unwrap()
        .append_at(2, b"more")
        .unwrap();
    // A directory that never used the set has nothing to put back.
    let error = put(directory.path()).unwrap_err().to_string();
    assert!(error.contains("no register"), "{error}");
}
