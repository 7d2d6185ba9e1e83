//! The simulated disk against models, with random operations. Synced data survives every crash. Unsynced data is,
//! sector by sector, something that was really there. Renames are atomic. The same seed gives the same bytes (I11).

use proptest::prelude::*;
use sardonyx_base::random::Random;
use sardonyx_storage::disk::{Access, Create, Disk, DiskFile, Faults, SECTOR_SIZE, SimulatedDisk};
use std::collections::{BTreeMap, BTreeSet};

/// Sectors that a modelled file can have.
const SECTORS: usize = 12;

#[derive(Clone, Debug)]
enum FileOperation {
    Write { offset: usize, len: usize, byte: u8 },
    WriteDurable { offset: usize, len: usize, byte: u8 },
    Preallocate { length: usize },
    Allocate { length: usize },
    Sync,
}

fn file_operation() -> impl Strategy<Value = FileOperation> {
    let range = (0..SECTORS * SECTOR_SIZE)
        .prop_flat_map(|offset| (Just(offset), 1..=(SECTORS * SECTOR_SIZE - offset).min(2000)));
    let range = (range, any::<u8>());
    prop_oneof![
        6 => range.clone().prop_map(|((offset, len), byte)| {
            FileOperation::Write { offset, len, byte }
        }),
        3 => range.prop_map(|((offset, len), byte)| {
            FileOperation::WriteDurable { offset, len, byte }
        }),
        1 => (0..=SECTORS * SECTOR_SIZE).prop_map(|length| FileOperation::Preallocate { length }),
        1 => (0..=SECTORS * SECTOR_SIZE).prop_map(|length| FileOperation::Allocate { length }),
        1 => Just(FileOperation::Sync),
    ]
}

/// A file: its content, and for each sector all possible contents after a crash.
struct FileModel {
    bytes: Vec<u8>,
    length: usize,
    durable_length: usize,
    may_be: Vec<Vec<Vec<u8>>>,
}

impl FileModel {
    fn new() -> Self {
        FileModel {
            bytes: vec![0; SECTORS * SECTOR_SIZE],
            length: 0,
            durable_length: 0,
            may_be: vec![vec![vec![0; SECTOR_SIZE]]; SECTORS],
        }
    }

    fn apply(&mut self, operation: &FileOperation) {
        match *operation {
            FileOperation::Write { offset, len, byte } => self.write(offset, len, byte, false),
            FileOperation::WriteDurable { offset, len, byte } => {
                self.write(offset, len, byte, true);
            }
            FileOperation::Preallocate { length } | FileOperation::Allocate { length } => {
                self.length = self.length.max(length);
                self.sync();
            }
            FileOperation::Sync => self.sync(),
        }
    }

    fn write(&mut self, offset: usize, len: usize, byte: u8, durable: bool) {
        self.bytes[offset..offset + len].fill(byte);
        self.length = self.length.max(offset + len);
        for sector in offset / SECTOR_SIZE..(offset + len).div_ceil(SECTOR_SIZE) {
            let image = self.bytes[sector * SECTOR_SIZE..(sector + 1) * SECTOR_SIZE].to_vec();
            if durable {
                self.may_be[sector].clear();
            }
            self.may_be[sector].push(image);
        }
    }

    fn sync(&mut self) {
        self.durable_length = self.length;
        for images in &mut self.may_be {
            images.drain(..images.len() - 1);
        }
    }

    /// Checks a file after a crash, and goes on from there.
    fn restart(&mut self, after: &[u8]) -> Result<(), TestCaseError> {
        prop_assert!(self.durable_length <= after.len() && after.len() <= self.length);
        for (sector, bytes) in after.chunks(SECTOR_SIZE).enumerate() {
            let known = self.may_be[sector]
                .iter()
                .any(|image| image.starts_with(bytes));
            prop_assert!(known, "sector {} was never like this", sector);
        }
        *self = FileModel::new();
        self.bytes[..after.len()].copy_from_slice(after);
        self.length = after.len();
        for (images, bytes) in self.may_be.iter_mut().zip(self.bytes.chunks(SECTOR_SIZE)) {
            *images = vec![bytes.to_vec()];
        }
        self.durable_length = self.length;
        Ok(())
    }
}

fn apply(file: &dyn DiskFile, operation: &FileOperation) {
    match *operation {
        FileOperation::Write { offset, len, byte } => {
            file.write_at(offset as u64, &vec![byte; len]).unwrap();
        }
        FileOperation::WriteDurable { offset, len, byte } => {
            file.write_durable_at(offset as u64, &vec![byte; len])
                .unwrap();
        }
        FileOperation::Preallocate { length } => file.preallocate(length as u64).unwrap(),
        FileOperation::Allocate { length } => file.allocate(length as u64).unwrap(),
        FileOperation::Sync => file.sync().unwrap(),
    }
}

#[derive(Clone, Debug)]
enum NameOperation {
    Create(usize),
    Rename(usize, usize),
    Remove(usize),
    Sync,
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn name_operation() -> impl Strategy<Value = NameOperation> {
    let name = 0..NAMES.len();
    prop_oneof![
        3 => name.clone().prop_map(NameOperation::Create),
        4 => (name.clone(), name.clone()).prop_map(|(from, to)| NameOperation::Rename(from, to)),
        1 => name.prop_map(NameOperation::Remove),
        1 => Just(NameOperation::Sync),
    ]
}

/// The names of one directory. The number that a file has as content identifies it.
#[derive(Default)]
struct NameModel {
    live: BTreeMap<usize, u8>,
    /// Names that each file has had since the last sync, and had at it.
    may_have: BTreeMap<u8, BTreeSet<usize>>,
    /// Files that were there at the last sync, and that nothing has removed or replaced since.
    must_be: BTreeSet<u8>,
    /// Names that were there at the last sync and at all times since.
    must_lead_somewhere: BTreeSet<usize>,
    files: u8,
}

impl NameModel {
    /// Does the operation, and returns true if it can succeed.
    fn apply(&mut self, operation: &NameOperation) -> bool {
        match *operation {
            NameOperation::Create(name) => {
                if self.live.contains_key(&name) {
                    return false;
                }
                self.files += 1;
                self.enter(name, self.files);
            }
            NameOperation::Rename(from, to) => {
                let Some(&file) = self.live.get(&from) else {
                    return false;
                };
                if from != to {
                    self.live.remove(&from);
                    self.must_lead_somewhere.remove(&from);
                    if let Some(replaced) = self.live.remove(&to) {
                        self.must_be.remove(&replaced);
                    }
                    self.enter(to, file);
                }
            }
            NameOperation::Remove(name) => {
                let Some(file) = self.live.remove(&name) else {
                    return false;
                };
                self.must_be.remove(&file);
                self.must_lead_somewhere.remove(&name);
            }
            NameOperation::Sync => {
                let files = self.live.iter();
                self.may_have = files
                    .map(|(name, file)| (*file, BTreeSet::from([*name])))
                    .collect();
                self.must_be = self.live.values().copied().collect();
                self.must_lead_somewhere = self.live.keys().copied().collect();
            }
        }
        true
    }

    fn enter(&mut self, name: usize, file: u8) {
        self.live.insert(name, file);
        self.may_have.entry(file).or_default().insert(name);
    }

    fn check_after_crash(&self, after: &SimulatedDisk) -> Result<(), TestCaseError> {
        let mut found = BTreeSet::new();
        for name in after.files() {
            let file = after.read_all(&name).unwrap()[0];
            let name = NAMES.iter().position(|other| *other == name).unwrap();
            prop_assert!(found.insert(file), "file {} has two names", file);
            let may_have = self.may_have.get(&file);
            prop_assert!(may_have.is_some_and(|names| names.contains(&name)));
        }
        prop_assert!(
            self.must_be.is_subset(&found),
            "{:?} in {:?}",
            self.must_be,
            found
        );
        for name in &self.must_lead_somewhere {
            prop_assert!(
                after.read_all(NAMES[*name]).is_some(),
                "{} is gone",
                NAMES[*name]
            );
        }
        Ok(())
    }
}

fn apply_to_disk(disk: &SimulatedDisk, operation: &NameOperation, next_file: u8) -> bool {
    match *operation {
        NameOperation::Create(name) => {
            let created = disk.open(NAMES[name], Access::Buffered, Create::New);
            created.is_ok_and(|file| {
                // Its content is stable at once, so that a name found later identifies its file.
                file.write_at(0, &[next_file])
                    .and_then(|()| file.sync())
                    .is_ok()
            })
        }
        NameOperation::Rename(from, to) => disk.rename(NAMES[from], NAMES[to]).is_ok(),
        NameOperation::Remove(name) => disk.remove(NAMES[name]).is_ok(),
        NameOperation::Sync => disk.sync_directory("").is_ok(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(60)))]

    #[test]
    fn sectors_are_what_they_were_at_some_time(
        seed in any::<u64>(),
        lives in prop::collection::vec(prop::collection::vec(file_operation(), 0..12), 1..4),
    ) {
        let mut disk = SimulatedDisk::new(seed, Faults::default());
        disk.open("f", Access::Buffered, Create::New).unwrap();
        disk.sync_directory("").unwrap();
        let mut model = FileModel::new();
        for operations in lives {
            let file = disk.open("f", Access::Buffered, Create::No).unwrap();
            for operation in &operations {
                apply(&*file, operation);
                model.apply(operation);
                prop_assert!(disk.read_all("f").unwrap() == model.bytes[..model.length]);
                prop_assert_eq!(disk.durable_bytes("f").unwrap().len(), model.durable_length);
            }
            disk = disk.restart(Faults::default());
            model.restart(&disk.read_all("f").unwrap())?;
            prop_assert_eq!(disk.read_all("f"), disk.durable_bytes("f"));
        }
    }

    #[test]
    fn renames_are_atomic(
        seed in any::<u64>(),
        operations in prop::collection::vec(name_operation(), 0..40),
    ) {
        let disk = SimulatedDisk::new(seed, Faults::default());
        let mut model = NameModel::default();
        for operation in &operations {
            let done = apply_to_disk(&disk, operation, model.files + 1);
            prop_assert_eq!(done, model.apply(operation));
            let names: Vec<&str> = model.live.keys().map(|name| NAMES[*name]).collect();
            prop_assert_eq!(disk.files(), names);
        }
        model.check_after_crash(&disk.restart(Faults::default()))?;
    }
}

/// A run of random operations with faults and crashes; all that is left at the end of each life.
fn random_run(seed: u64) -> Vec<(u64, BTreeMap<String, Vec<u8>>)> {
    let mut random = Random::new(seed);
    let mut disk = SimulatedDisk::new(seed, Faults::default());
    let mut lives = Vec::new();
    for _ in 0..4 {
        for _ in 0..40 {
            let name = NAMES[random.below(3) as usize];
            let Ok(file) = disk.open(name, Access::Buffered, Create::IfAbsent) else {
                break;
            };
            let bytes = vec![random.next() as u8; random.below(3000) as usize + 1];
            let offset = random.below(4000);
            // Failures are part of the run: their effects must be the same each time.
            let _ = match random.below(8) {
                0 => file.write_durable_at(offset, &bytes),
                1 => file.sync(),
                2 => disk.sync_directory(""),
                3 => disk.rename(name, NAMES[random.below(3) as usize]),
                _ => file.write_at(offset, &bytes),
            };
        }
        let content = |name: String| (name.clone(), disk.read_all(&name).unwrap());
        lives.push((
            disk.steps(),
            disk.files().into_iter().map(content).collect(),
        ));
        disk = disk.restart(Faults {
            crash_at_step: Some(random.below(80) + 1),
            fail_sync_at: Some(random.below(10) + 1),
            fail_write_at: Some(random.below(30) + 1),
            ..Faults::default()
        });
    }
    lives
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let mut different = BTreeSet::new();
    for seed in 0..100 {
        let run = random_run(seed);
        assert!(
            run == random_run(seed),
            "seed {seed} gave two different runs"
        );
        different.insert(run);
    }
    assert_eq!(different.len(), 100, "seeds must not resemble each other");
}

#[test]
fn a_crash_always_leaves_the_same_and_each_seed_another() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..100 {
        let disk = SimulatedDisk::new(seed, Faults::default());
        let file = disk.open("f", Access::Buffered, Create::New).unwrap();
        disk.sync_directory("").unwrap();
        file.write_at(0, &vec![1; 64 * SECTOR_SIZE]).unwrap();
        let once = disk.restart(Faults::default());
        let twice = disk.restart(Faults::default());
        assert_eq!(once.read_all("f"), twice.read_all("f"), "seed {seed}");
        outcomes.insert(once.read_all("f"));
    }
    assert!(
        outcomes.len() > 30,
        "{} outcomes of 100 seeds",
        outcomes.len()
    );
}
