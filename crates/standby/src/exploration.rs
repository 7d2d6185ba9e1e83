//! Crash exploration of a standby's storage: a primary's log, given to a standby on a simulated disk
//! in random batches; the disk crashes at a chosen step, loses, tears and reorders what was not
//! synced; the standby comes back and goes on from where it says it is. In the end its directory is
//! opened as the database and held against the primary.
//!
//! Everything follows from one seed (I11).

use crate::error::StandbyError;
use crate::options::StandbyOptions;
use crate::protocol::{Hello, Purpose};
use crate::store::Store;
use bytes::Bytes;
use sardonyx::disk::GroupLimits;
use sardonyx::{Error, Options, Shape, Tables, record};
use sardonyx_base::random::Random;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::BATCH_GROUPS_MAX;
use sardonyx_storage::log::group::GroupHeader;
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::{LogError, LogPosition};
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Item {
    id: u64,
    value: u64,
    filler: [u8; 1008],
}
record!(Item { table: "items", key: id: u64 });

const ITEMS: u64 = 40;

pub(crate) fn options(log_bytes_max: u64) -> Options {
    let limits = GroupLimits {
        group_bytes: 8 << 10,
        transaction_bytes: 16 << 10,
        depth: 1,
        buffers: 4,
    };
    Options::new()
        .shape(Shape::Threadless)
        .segment_bytes(32 << 10)
        .block_bytes(16 << 10)
        .stripes(2)
        .log_bytes_max(log_bytes_max)
        .log_bytes_prepared(0)
        .memory_bytes_max(64 << 20)
        .group_limits(limits)
        .identity(99)
}

/// A primary's whole log, and the values of the items after each group.
pub(crate) struct Primary {
    pub hello: Hello,
    pub groups: Vec<(GroupHeader, Bytes)>,
    pub states: Vec<Vec<u64>>,
}

pub(crate) fn primary(seed: u64, transactions: u64) -> Primary {
    let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(seed, Faults::default()));
    let mut random = Random::new(seed);
    let mut after: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut values = vec![0; ITEMS as usize];
    let mut manifest = None;
    // Opened several times, so that there are several incarnations.
    for _ in 0..3 {
        let whole = options(64 << 20).checkpoint_interval_bytes(1 << 40);
        let database = whole
            .open_tables_on(disk.clone())
            .expect("the primary opens");
        let items = database.table::<Item>().expect("a table");
        for _ in 0..transactions / 3 {
            let (id, value) = (random.below(ITEMS), random.next());
            let filler = [value as u8; 1008];
            let changed = database.run(|tx| {
                if tx.update(items, id, |item| item.value = value)?.is_none() {
                    tx.insert(items, &Item { id, value, filler })?;
                }
                Ok::<_, Error>(())
            });
            changed.expect("a transaction");
            values[id as usize] = value;
            let durable = database.engine().commit().durable();
            after.push((durable.group, values.clone()));
        }
        manifest = Some(database.engine().manifest().clone());
        database.close().expect("the primary closes");
    }
    let manifest = manifest.expect("opened");
    let mut reader = LogReader::open(&disk, manifest.log_layout(), LogPosition::START).unwrap();
    let mut groups = Vec::new();
    while let Some((header, _)) = reader.next_group().expect("the log is whole") {
        groups.push((
            header,
            Bytes::copy_from_slice(reader.last_group_bytes(&header)),
        ));
    }
    // The state before group g: that of the last transaction durable before it.
    let state_before = |group: u64| {
        let last = after.iter().rev().find(|(next, _)| *next <= group);
        last.map_or(vec![0; ITEMS as usize], |(_, values)| values.clone())
    };
    let states = (1..=groups.len() as u64 + 1).map(state_before).collect();
    Primary {
        hello: Hello::of(&manifest, Purpose::Log),
        groups,
        states,
    }
}

pub(crate) fn standby_options() -> StandbyOptions {
    let mut options = StandbyOptions::new()
        .log_bytes_max(256 << 10)
        .checkpoint_interval_bytes(48 << 10)
        .memory_bytes_max(64 << 20)
        .workers(1);
    options.threaded = false;
    options
}

struct Exploration<'a> {
    primary: &'a Primary,
    random: Random,
    disk: SimulatedDisk,
    /// The group after the last that the standby has reported.
    reported: u64,
    crashes: u64,
    checkpoints: u64,
}

impl Exploration<'_> {
    /// A standby's life, until it has everything or the disk crashes.
    fn live(&mut self) -> Result<(), StandbyError> {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let store = match sardonyx_storage::engine::exists(&*disk) {
            Ok(true) => Store::open(&disk, &standby_options())?,
            _ => Store::create(&disk, &self.primary.hello, &standby_options())?,
        };
        let (session, end) = store.begin_session();
        assert!(
            end.position.group >= self.reported,
            "reported groups are lost"
        );
        // What recovery found is reported, too, and so must have been made durable.
        self.reported = end.position.group;
        let mut next = (end.position.group - 1) as usize;
        let last = next.checked_sub(1).map(|last| &self.primary.groups[last].0);
        let expected = last.map_or(0, GroupHeader::history_checksum);
        assert_eq!(end.last_checksum, expected, "its history is known");
        while next < self.primary.groups.len() {
            let count = 1 + self.random.below(BATCH_GROUPS_MAX as u64) as usize;
            let batch: Vec<Bytes> = self.primary.groups[next..]
                .iter()
                .take(count)
                .map(|(_, bytes)| bytes.clone())
                .collect();
            let end = store.append(session, &batch)?;
            next += batch.len();
            assert_eq!(end.group, next as u64 + 1);
            assert!(store.applied().group <= end.group);
            self.reported = end.group;
            if self.random.below(100) < 5 {
                store.want_checkpoint(end);
            }
        }
        self.checkpoints += store.progress().checkpoints;
        Ok(())
    }

    fn run(mut self, crash_at: &[u64]) -> (u64, u64) {
        for &step in crash_at {
            self.disk = self.disk.restart(Faults {
                crash_at_step: Some(step),
                ..Faults::default()
            });
            match self.live() {
                Err(error) => assert!(self.disk.has_crashed(), "{error}"),
                Ok(()) => self.disk.crash(),
            }
            // In some cases only the process was killed, or a sync of the next one failed: others go
            // on on the same machine before it crashes.
            while self.random.chance(1, 2) {
                let within = Some(1 + self.random.below(60));
                let (kill_at_step, fail_sync_at) = match self.random.chance(1, 2) {
                    true => (within, None),
                    false => (None, within),
                };
                self.disk = self.disk.next_process(Faults {
                    kill_at_step,
                    fail_sync_at,
                    ..Faults::default()
                });
                if let Err(error) = self.live() {
                    let planned = self.disk.has_crashed() || fail_sync_at.is_some();
                    assert!(planned, "{error}");
                }
            }
            self.disk.crash();
            self.crashes += 1;
            self.look();
        }
        self.disk = self.disk.restart(Faults::default());
        self.live().expect("nothing fails any more");
        assert_eq!(self.reported, self.primary.groups.len() as u64 + 1);
        self.look();
        (self.crashes, self.checkpoints)
    }

    /// Fails over to a copy of what the crash left.
    fn look(&mut self) {
        let after = self.disk.restart(Faults::default());
        // Opening changes the disk; the standby goes on with what it was.
        self.disk = self.disk.restart(Faults::default());
        let exists = sardonyx_storage::engine::exists(&after).expect("it can be listed");
        if !exists {
            assert_eq!(self.reported, 1, "reported groups are lost");
            return;
        }
        let database = options(256 << 10)
            .open_tables_on(Arc::new(after))
            .expect("the standby's directory opens");
        let end = database.recovery().redo_end.group;
        assert!(
            end >= self.reported,
            "{end}: {} were reported",
            self.reported - 1
        );
        assert_eq!(
            values(&database),
            self.primary.states[end as usize - 1],
            "{end}"
        );
    }
}

pub(crate) fn values(database: &Tables) -> Vec<u64> {
    let mut values = vec![0; ITEMS as usize];
    let filled = database.engine().commit().durable().transactions > 0;
    if !filled {
        return values;
    }
    let Ok(items) = database.table::<Item>() else {
        return values;
    };
    database
        .read(|view| {
            for item in view.scan(items)? {
                let item = item?;
                values[item.id as usize] = item.value;
            }
            Ok(())
        })
        .expect("open");
    values
}

fn explore(primary: &Primary, seed: u64, crash_at: &[u64]) -> (u64, u64) {
    let exploration = Exploration {
        primary,
        random: Random::new(seed),
        disk: SimulatedDisk::new(seed, Faults::default()),
        reported: 1,
        crashes: 0,
        checkpoints: 0,
    };
    let run = || exploration.run(crash_at);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        eprintln!("seed {seed}, crashes at {crash_at:?}");
        std::panic::resume_unwind(panic)
    })
}

#[test]
fn i1_a_crash_at_every_step_loses_nothing_reported() {
    let primary = primary(1, 60);
    for step in 1..=220 {
        explore(&primary, step, &[step]);
    }
}

#[test]
fn i1_i6_hundreds_of_seeds_with_several_crashes() {
    let primary = primary(2, 240);
    assert!(primary.groups.len() > 200, "the log goes round");
    let mut checkpoints = 0;
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let crash_at: Vec<u64> = (0..3).map(|_| 1 + random.below(500)).collect();
        checkpoints += explore(&primary, 1000 + seed, &crash_at).1;
    }
    assert!(checkpoints > 150, "{checkpoints}");
}

/// A standby that has the first `count` groups.
pub(crate) fn standby_with(primary: &Primary, count: usize) -> (Arc<dyn Disk>, Store, u64) {
    let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(5, Faults::default()));
    let store = Store::create(&disk, &primary.hello, &standby_options()).unwrap();
    let (session, _) = store.begin_session();
    for (_, bytes) in &primary.groups[..count] {
        store.append(session, std::slice::from_ref(bytes)).unwrap();
    }
    (disk, store, session)
}

#[test]
fn only_what_follows_is_appended() {
    let primary = primary(3, 30);
    let (_disk, store, session) = standby_with(&primary, 10);
    let group = |n: usize| primary.groups[n].1.clone();
    let refused = |bytes: Bytes| {
        let found = store.append(session, &[bytes]).expect_err("it is refused");
        assert_eq!(store.log_end().position.group, 11);
        found
    };
    assert!(matches!(
        refused(group(9)),
        StandbyError::Chain {
            number: 10,
            expected: 11,
            ..
        }
    ));
    assert!(matches!(
        refused(group(11)),
        StandbyError::Chain {
            number: 12,
            expected: 11,
            ..
        }
    ));
    assert!(matches!(
        refused(Bytes::new()),
        StandbyError::NoGroup { .. }
    ));
    assert!(matches!(
        refused(group(10).slice(..100)),
        StandbyError::NoGroup { .. }
    ));
    for at in [0, 9, 17, 33, 59, 63, 64, 200] {
        let mut damaged = group(10).to_vec();
        damaged[at] ^= 1;
        assert!(
            matches!(refused(damaged.into()), StandbyError::NoGroup { .. }),
            "{at}"
        );
    }
    // Whole groups that belong elsewhere.
    let header = primary.groups[10].0;
    for wrong in [
        GroupHeader {
            identity: 1,
            ..header
        },
        GroupHeader {
            first_transaction: header.first_transaction + 1,
            ..header
        },
        GroupHeader {
            incarnation: 0,
            ..header
        },
        GroupHeader {
            lsn: sardonyx_storage::log::Lsn(header.lsn.0 + 4096),
            ..header
        },
    ] {
        let mut bytes = group(10).to_vec();
        wrong.encode(bytes.first_chunk_mut().unwrap());
        let found = refused(bytes.into());
        assert!(
            matches!(found, StandbyError::Chain { number: 11, .. }),
            "{found}"
        );
    }
    // The good ones before a bad one are kept; an older connection's are not taken.
    let (_, old) = (store.append(session, &[group(10), group(12)]), session);
    assert_eq!(store.log_end().position.group, 12);
    let (session, end) = store.begin_session();
    assert_eq!(end.last_checksum, header.history_checksum());
    assert!(matches!(
        store.append(old, &[group(11)]),
        Err(StandbyError::Superseded)
    ));
    store.append(session, &[group(11)]).unwrap();
}

#[test]
fn i7_after_a_failed_sync_nothing_more_is_written() {
    let primary = primary(4, 60);
    let mut poisoned = 0;
    for sync in 1..=40 {
        let faults = Faults {
            fail_sync_at: Some(sync),
            ..Faults::default()
        };
        let disk = SimulatedDisk::new(sync, faults);
        let on: Arc<dyn Disk> = Arc::new(disk.clone());
        let Ok(store) = Store::create(&on, &primary.hello, &standby_options()) else {
            continue;
        };
        let (session, _) = store.begin_session();
        let mut groups = primary.groups.iter().map(|(_, bytes)| bytes.clone());
        let failed = groups.find_map(|group| store.append(session, &[group]).err());
        let Some(StandbyError::Log(_)) = failed else {
            // It hit a checkpoint: that is what refuses primaries then.
            assert!(failed.is_some() || store.failure().is_some(), "sync {sync}");
            continue;
        };
        let end = store.log_end().position;
        let next = primary.groups[end.group as usize - 1].1.clone();
        let again = store.append(session, &[next]);
        match again {
            // It hit the preparation of a segment, in which there is no log yet.
            Ok(_) => {
                assert!(store.failure().is_none(), "sync {sync}");
                continue;
            }
            Err(StandbyError::Poisoned { .. }) => poisoned += 1,
            // It hit a checkpoint that was needed to free the log.
            Err(StandbyError::Log(LogError::Full { .. })) => {}
            Err(other) => panic!("sync {sync}: {other}"),
        }
        assert!(
            store.check(&primary.hello).is_err(),
            "primaries are refused"
        );
        drop(store);
        let after: Arc<dyn Disk> = Arc::new(disk.restart(Faults::default()));
        let store = Store::open(&after, &standby_options()).unwrap();
        assert!(store.log_end().position.group >= end.group, "sync {sync}");
    }
    assert!(poisoned > 10, "{poisoned}");
}

#[test]
fn leftovers_of_a_later_incarnation_never_chain_onto_what_is_received() {
    let primary = primary(6, 30);
    let (disk, store, _) = standby_with(&primary, 12);
    let position = store.log_end().position;
    drop(store);
    // What a database that was opened here may have left: group 14 whole, group 13 torn.
    let (header, bytes) = &primary.groups[13];
    let later = GroupHeader {
        incarnation: 77,
        durable_number: 12,
        ..*header
    };
    let mut bytes = bytes.to_vec();
    later.encode(bytes.first_chunk_mut().unwrap());
    use sardonyx_storage::disk::{Access, AlignedBuffer, Create};
    let segment = header.lsn.0 / primary.hello.segment_bytes;
    let name = sardonyx_storage::log::segment::segment_file(segment);
    let file = disk.open(&name, Access::Direct, Create::No).unwrap();
    let mut aligned = AlignedBuffer::with_capacity(bytes.len());
    aligned.extend_from_slice(&bytes);
    file.write_at(header.lsn.0 % primary.hello.segment_bytes, &aligned)
        .unwrap();
    file.sync().unwrap();
    let store = Store::open(&disk, &standby_options()).unwrap();
    assert_eq!(store.log_end().position, position);
    let (session, _) = store.begin_session();
    store
        .append(session, &[primary.groups[12].1.clone()])
        .unwrap();
    drop(store);
    let store = Store::open(&disk, &standby_options()).unwrap();
    assert_eq!(
        store.log_end().position.group,
        14,
        "the leftover is not believed"
    );
    let (session, _) = store.begin_session();
    store
        .append(session, &[primary.groups[13].1.clone()])
        .unwrap();
}
