//! The log and the backup on disks of their own: found again by every opening and reader of the database, and never
//! mistaken. A directory that is absent, empty or another's is an error that names it. An interrupted creation leaves
//! nothing that disturbs the next one. Each disk may be full by itself.

use crate::common;
use crate::common::{Model, Opened, options};
use sardonyx::{Error, Options, Shape, Tables};
use sardonyx_base::random::stride;
use sardonyx_storage::disk::{Disk, Faults, RealDisk, SimulatedDisk};
use sardonyx_storage::engine::OpenError;
use sardonyx_storage::places::{OWNER_FILE, PLACES_FILE, PlacesError};
use sardonyx_storage::verify::verify;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Directories for the parts of a database on a simulated machine.
const FAST: &str = "/fast";
const STRIPES: [&str; 2] = ["/disk1/backup", "/disk2"];

fn elsewhere() -> Options {
    placed(options(Shape::Threadless))
}

fn placed(options: Options) -> Options {
    options
        .log_directory(FAST)
        .stripe_directories(STRIPES)
        .checkpoint_interval_bytes(48 << 10)
}

/// A machine with a database and room for its parts, on real disks.
struct Machine(TempDir);

impl Machine {
    fn new() -> Machine {
        Machine(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn options(&self) -> Options {
        options(Shape::Threadless)
            .log_directory(self.path("fast"))
            .stripe_directories([self.path("disk1"), self.path("disk2")])
    }

    /// With some transactions and a checkpoint, and closed.
    fn with_a_database() -> Machine {
        let machine = Machine::new();
        let opened = Opened::on_real(&machine.path("bank.sdx"), machine.options()).unwrap();
        (0..40).for_each(|n| opened.put(n, n).unwrap());
        opened.database.checkpoint().unwrap();
        opened.database.close().unwrap();
        machine
    }

    fn open(&self, options: Options) -> Result<Model, Error> {
        let opened = Opened::on_real(&self.path("bank.sdx"), options)?;
        let model = opened.contents()?;
        opened.database.close()?;
        Ok(model)
    }

    fn is_whole(&self) {
        let model = self.open(options(Shape::Threadless)).unwrap();
        assert_eq!(model.items.len(), 40);
        let home: Arc<dyn Disk> =
            Arc::new(RealDisk::open_for_reading(self.path("bank.sdx")).unwrap());
        let verification = verify(&home, 64 << 20, 1).unwrap();
        assert!(verification.is_sound(), "{:?}", verification.findings);
        assert!(verification.versions > 0);
    }

    fn refusal(&self) -> PlacesError {
        let error = self.open(options(Shape::Threadless)).unwrap_err();
        let home: Arc<dyn Disk> =
            Arc::new(RealDisk::open_for_reading(self.path("bank.sdx")).unwrap());
        assert!(!verify(&home, 64 << 20, 1).unwrap().is_sound(), "{error}");
        places_error(error)
    }
}

fn places_error(error: Error) -> PlacesError {
    error.downcast::<PlacesError>().expect("an error of places")
}

fn text_of(path: PathBuf) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_way_finds_its_parts_again_wherever_they_are() {
    type Opening = fn(Options, &Path) -> Result<(), Error>;
    let ways: [Opening; 3] = [
        |options, path| options.open_tables(path)?.close(),
        |options, path| options.open_memory(path).map(drop),
        |options, path| options.open_operations(path)?.close(),
    ];
    for open in ways {
        let machine = Machine::new();
        let bank = machine.path("bank.sdx");
        let moderate = |options: Options| options.log_bytes_max(256 << 20);
        let named = moderate(Options::new())
            .log_directory(machine.path("fast"))
            .stripe_directories([machine.path("disk1"), machine.path("disk2")]);
        open(named, &bank).unwrap();
        assert!(text_of(bank.join("MANIFEST")).starts_with("format_version = 4\n"));
        assert!(!bank.join("log").exists() && !bank.join("backup").exists());
        assert!(machine.path("fast/log/0000000000000000.log").exists());
        open(moderate(Options::new()), &bank).unwrap();
        assert!(!bank.join("log").exists() && !bank.join("backup").exists());
    }
    let machine = Machine::with_a_database();
    machine.is_whole();
    assert!(machine.path("disk1/backup/stripe-000").exists());
    assert!(machine.path("disk2/backup/stripe-001").exists());
    assert!(!machine.path("bank.sdx/backup").exists());
}

#[test]
fn a_database_that_is_all_in_one_directory_has_no_word_of_places() {
    let machine = Machine::new();
    let opened = Opened::on_real(&machine.path("bank.sdx"), options(Shape::Threadless)).unwrap();
    opened.database.close().unwrap();
    let manifest = text_of(machine.path("bank.sdx/MANIFEST"));
    assert!(manifest.starts_with("format_version = 4\n") && !manifest.contains("places"));
    assert!(!machine.path("bank.sdx").join(PLACES_FILE).exists());
    // And it stays so: a part at home cannot be declared elsewhere.
    let error = places_error(machine.open(machine.options()).unwrap_err());
    assert!(matches!(error, PlacesError::AtHome { .. }), "{error:?}");
    assert!(!machine.path("fast").exists());
}

#[test]
fn a_directory_that_is_not_there_is_named_and_where_it_was_moved_to_can_be_said() {
    let machine = Machine::with_a_database();
    for (part, moved) in [("fast", "faster"), ("disk2", "disk3")] {
        std::fs::rename(machine.path(part), machine.path(moved)).unwrap();
        let error = machine.refusal();
        assert!(matches!(error, PlacesError::Absent { .. }), "{error:?}");
        let named = machine.path(part).display().to_string();
        assert!(error.to_string().starts_with(&named), "{error}");
        assert!(!machine.path(part).exists(), "nothing was made");
        let options = options(Shape::Threadless);
        let told = match part {
            "fast" => options.log_directory(machine.path(moved)),
            _ => options.stripe_directories([machine.path("disk1"), machine.path(moved)]),
        };
        assert_eq!(machine.open(told).unwrap().items.len(), 40);
        machine.is_whole();
    }
    // One that is named by a link, and by another.
    std::os::unix::fs::symlink(machine.path("faster"), machine.path("link")).unwrap();
    let told = options(Shape::Threadless).log_directory(machine.path("link"));
    machine.open(told).unwrap();
    machine.is_whole();
}

#[test]
fn an_empty_directory_or_another_ones_is_never_taken_for_a_part() {
    // As where a disk is not mounted.
    let machine = Machine::with_a_database();
    for part in ["fast", "disk1"] {
        std::fs::rename(machine.path(part), machine.path("away")).unwrap();
        std::fs::create_dir(machine.path(part)).unwrap();
        let error = machine.refusal();
        assert!(matches!(error, PlacesError::Unowned { .. }), "{error:?}");
        assert_eq!(std::fs::read_dir(machine.path(part)).unwrap().count(), 0);
        std::fs::remove_dir(machine.path(part)).unwrap();
        std::fs::rename(machine.path("away"), machine.path(part)).unwrap();
        machine.is_whole();
    }
    // Another database's, of the same identity; and another part of this one.
    let other = Machine::with_a_database();
    std::fs::rename(machine.path("fast"), machine.path("away")).unwrap();
    std::fs::rename(other.path("fast"), machine.path("fast")).unwrap();
    let error = machine.refusal();
    assert!(matches!(error, PlacesError::Foreign { .. }), "{error:?}");
    assert!(error.to_string().contains("bank.sdx"), "{error}");
    std::fs::remove_dir_all(machine.path("fast")).unwrap();
    std::fs::rename(machine.path("away"), machine.path("fast")).unwrap();
    machine.is_whole();
    std::fs::rename(machine.path("disk1"), machine.path("away")).unwrap();
    std::fs::rename(machine.path("disk2"), machine.path("disk1")).unwrap();
    std::fs::rename(machine.path("away"), machine.path("disk2")).unwrap();
    let error = machine.refusal();
    assert!(matches!(error, PlacesError::Foreign { .. }), "{error:?}");
    assert!(error.to_string().contains("backup 2 of 2"), "{error}");
}

#[test]
fn what_says_where_the_parts_are_is_missed_when_it_is_lost_or_damaged() {
    let machine = Machine::with_a_database();
    let places = machine.path("bank.sdx").join(PLACES_FILE);
    let text = text_of(places.clone());
    std::fs::remove_file(&places).unwrap();
    let error = machine.refusal();
    assert!(matches!(error, PlacesError::Lost { .. }), "{error:?}");
    std::fs::write(&places, text.replace("fast", "slow")).unwrap();
    let error = machine.refusal();
    assert!(matches!(error, PlacesError::Damaged { .. }), "{error:?}");
    let other = Machine::with_a_database();
    std::fs::copy(other.path("bank.sdx").join(PLACES_FILE), &places).unwrap();
    let error = machine.refusal();
    assert!(matches!(error, PlacesError::Lost { .. }), "{error:?}");
    std::fs::write(&places, text).unwrap();
    let owner = machine.path("fast").join(OWNER_FILE);
    let owners = text_of(owner.clone());
    std::fs::write(&owner, owners.replace("parts = log", "parts = lag")).unwrap();
    let error = machine.refusal();
    assert!(matches!(error, PlacesError::Damaged { .. }), "{error:?}");
    std::fs::write(&owner, owners).unwrap();
    machine.is_whole();
    // Without its manifest it is a database that lost it, for any options.
    std::fs::remove_file(machine.path("bank.sdx/MANIFEST")).unwrap();
    for again in [machine.options(), options(Shape::Threadless)] {
        let error = machine.open(again).unwrap_err();
        let lost = error.downcast_ref::<OpenError>();
        assert!(
            matches!(lost, Some(OpenError::ManifestLost { .. })),
            "{error:?}"
        );
    }
}

#[test]
fn a_directory_is_one_databases_and_a_new_one_wants_an_empty_one() {
    let machine = Machine::with_a_database();
    let (other, own) = (machine.path("other.sdx"), machine.path("bank.sdx"));
    std::fs::create_dir(machine.path("busy")).unwrap();
    std::fs::write(machine.path("busy/notes.txt"), "mine").unwrap();
    let new = || Options::new().shape(Shape::Threadless);
    for taken in ["fast", "disk1", "busy", "bank.sdx"] {
        let named = new().log_directory(machine.path(taken));
        let error = places_error(named.open_tables(&other).unwrap_err());
        assert!(matches!(error, PlacesError::Occupied { .. }), "{error:?}");
        let path = machine.path(taken).display().to_string();
        assert!(error.to_string().starts_with(&path), "{error}");
        assert!(!other.join("MANIFEST").exists() && !other.join(PLACES_FILE).exists());
    }
    let error = places_error(new().log_directory(&other).open_tables(&other).unwrap_err());
    assert!(matches!(error, PlacesError::Occupied { .. }), "{error:?}");
    // A part is no database.
    let error = places_error(new().open_tables(machine.path("fast")).unwrap_err());
    assert!(matches!(error, PlacesError::IsPart { .. }), "{error:?}");
    assert!(
        error.to_string().contains(&own.display().to_string()),
        "{error}"
    );
    // More directories than stripes, and a path that cannot be recorded: nothing is made.
    let few = new()
        .stripe_directories([machine.path("a"), machine.path("b")])
        .stripes(1);
    let error = places_error(few.open_tables(machine.path("new.sdx")).unwrap_err());
    assert!(matches!(error, PlacesError::Count { .. }), "{error:?}");
    let lines = new().log_directory(machine.path("two\nlines"));
    let error = places_error(lines.open_tables(machine.path("new.sdx")).unwrap_err());
    assert!(matches!(error, PlacesError::Path { .. }), "{error:?}");
    assert!(!machine.path("new.sdx").exists() && !machine.path("a").exists());
    machine.is_whole();
    // One directory for several parts, in which a file system has left its own files.
    std::fs::create_dir_all(machine.path("all/lost+found")).unwrap();
    let all = machine.path("all");
    let named = new().log_directory(&all).backup_directory(&all);
    named.open_tables(&other).unwrap().close().unwrap();
    Tables::open(&other).unwrap().close().unwrap();
}

#[test]
fn a_copy_of_the_home_directory_is_not_opened_beside_the_database() {
    let machine = Machine::with_a_database();
    let copy = machine.path("copy.sdx");
    std::fs::create_dir(&copy).unwrap();
    for file in ["MANIFEST", PLACES_FILE] {
        std::fs::copy(machine.path("bank.sdx").join(file), copy.join(file)).unwrap();
    }
    let opened = Opened::on_real(&machine.path("bank.sdx"), options(Shape::Threadless)).unwrap();
    let error = options(Shape::Threadless).open_tables(&copy).unwrap_err();
    assert!(matches!(error, Error::Locked(_)), "{error:?}");
    let named = machine.path("fast/LOCK").display().to_string();
    assert!(error.to_string().starts_with(&named), "{error}");
    opened.database.close().unwrap();
    machine.is_whole();
}

#[test]
fn nor_is_it_beside_those_who_share_the_database_as_memory() {
    let machine = Machine::new();
    let (bank, copy) = (machine.path("bank.sdx"), machine.path("copy.sdx"));
    let options = || Options::new().log_bytes_max(256 << 20);
    let named = options().log_directory(machine.path("fast"));
    let shared = named.open_memory(&bank).unwrap();
    std::fs::create_dir(&copy).unwrap();
    for file in ["MANIFEST", PLACES_FILE] {
        std::fs::copy(bank.join(file), copy.join(file)).unwrap();
    }
    let error = options().open_tables(&copy).unwrap_err();
    assert!(matches!(error, Error::Locked(_)), "{error:?}");
    let error = options().open_memory(&copy).unwrap_err();
    assert!(matches!(error, Error::Locked(_)), "{error:?}");
    drop(shared);
    options().open_tables(&bank).unwrap().close().unwrap();
}

/// A creation that is interrupted at some step, and then another one, with the same directories, with
/// others, or with none.
fn interrupted_creation(interruption: impl Fn(u64) -> Faults, goes_on: bool) -> u64 {
    let others = || {
        let one = options(Shape::Threadless).log_directory("/other");
        one.backup_directory(FAST)
    };
    let again: [fn(u32) -> Options; 2] = [|_| elsewhere(), |_| options(Shape::Threadless)];
    let mut interrupted = 0;
    for step in (1..).step_by(stride(3)) {
        let mut ended = false;
        for attempt in 0..3 {
            let disk = SimulatedDisk::new(step, interruption(step));
            if let Ok(opened) = Opened::on(&disk, elsewhere()) {
                ended = true;
                drop(opened);
            } else {
                interrupted += 1;
            }
            let disk = match goes_on {
                true => disk.next_process(Faults::default()),
                false => disk.restart(Faults::default()),
            };
            let made = disk.files().iter().any(|name| name == "MANIFEST");
            let options = match (made, attempt) {
                // It exists: it knows the places of its parts.
                (true, _) => options(Shape::Threadless),
                (false, 0) => again[0](0),
                (false, 1) => again[1](0),
                (false, _) => others(),
            };
            let what = format!("step {step}, attempt {attempt}, made {made}");
            let opened = Opened::on(&disk, options).unwrap_or_else(|e| panic!("{what}: {e}"));
            (0..30).for_each(|n| opened.put(n, n).unwrap());
            opened.database.checkpoint().unwrap();
            opened.database.close().unwrap();
            let opened = Opened::on(&disk, common::options(Shape::Threadless)).unwrap();
            assert_eq!(opened.contents().unwrap().items.len(), 30, "{what}");
            let wrong = disk.files().into_iter().find(|name| {
                let is_home = name.starts_with("log/") || name.starts_with("backup/");
                is_home && (made || attempt != 1)
            });
            assert_eq!(wrong, None, "{what}");
            // A directory that is not used any more is no database's. (Half a claim does not count.)
            let whole = |name: &String| {
                let text = disk.read_all(name).unwrap();
                name.ends_with(OWNER_FILE) && text.starts_with(b"format_version")
            };
            let owners = disk.files().iter().filter(|name| whole(name)).count();
            let expected = match (made, attempt) {
                (true, _) | (false, 0) => 3,
                (false, 1) => 0,
                (false, _) => 2,
            };
            assert_eq!(owners, expected, "{what}: {:?}", disk.files());
        }
        if ended {
            break;
        }
    }
    interrupted
}

#[test]
fn a_creation_that_is_interrupted_at_any_step_is_begun_again_wherever() {
    let crash = |step| Faults {
        crash_at_step: Some(step),
        ..Faults::default()
    };
    let kill = |step| Faults {
        kill_at_step: Some(step),
        ..Faults::default()
    };
    let each = stride(3) as u64;
    assert!(interrupted_creation(crash, false) * each > 60);
    assert!(interrupted_creation(crash, true) * each > 60);
    assert!(interrupted_creation(kill, true) * each > 60);
}

#[test]
fn i14_each_disk_may_be_full_by_itself_and_everything_goes_on() {
    for full_below in [Some(FAST), Some(STRIPES[0]), Some(STRIPES[1])] {
        for (from, until) in [(0, 60), (25, 200), (60, 90), (150, 400)] {
            let what = format!("{full_below:?} full from step {from} to {until}");
            let disk = SimulatedDisk::new(from, Faults::default());
            drop(Opened::on(&disk, elsewhere()).unwrap());
            let disk = disk.restart(Faults {
                full_steps: Some((from, until)),
                full_below,
                ..Faults::default()
            });
            let opened = Opened::on(&disk, common::options(Shape::Threadless))
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let mut model = Model::default();
            for n in 0..400 {
                for attempt in 0.. {
                    match opened.put(n, n) {
                        Ok(()) => break,
                        Err(error) => assert!(matches!(error, Error::Full(_)), "{what}: {error}"),
                    }
                    assert!(attempt < 1000, "{what}: it never goes on");
                    let _ = opened.database.checkpoint();
                }
                model.put(n, n);
            }
            assert_eq!(opened.contents().unwrap(), model, "{what}");
            let disk = disk.restart(Faults::default());
            let opened = Opened::on(&disk, common::options(Shape::Threadless)).unwrap();
            assert_eq!(opened.contents().unwrap(), model, "{what}");
        }
    }
}
