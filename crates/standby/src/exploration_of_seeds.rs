//! Crash exploration of a standby that is made of a seed: the disk crashes at each step of that. Afterwards the directory has no
//! database, and is made again; or it has the whole of the seed, and goes on with the log behind it.

use crate::assembly::Assembly;
use crate::error::StandbyError;
use crate::exploration::{Primary, options, primary, standby_options, standby_with, values};
use crate::protocol::PagesHead;
use crate::store::Store;
use bytes::Bytes;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{AppendError, OpenError, SEEDING_FILE, exists};
use sardonyx_storage::manifest::MANIFEST_FILE;
use sardonyx_storage::store::PageStore;
use std::sync::Arc;

/// All pages after so many groups, and the last of these.
fn seed(primary: &Primary, count: usize) -> (PageStore, Bytes) {
    let (_disk, store, _) = standby_with(primary, count);
    assert_eq!(store.applied(), store.log_end().position);
    let hello = &primary.hello;
    let mut pages = Assembly::new(hello.stripes, hello.block_bytes, 64 << 20)
        .unwrap()
        .unwrap();
    for stripe in 0..hello.stripes {
        let mut offset = 0;
        loop {
            let part = store.pages(stripe, offset, 64 << 10);
            if part.is_empty() {
                break;
            }
            assert!(pages.add(PagesHead { stripe, offset }, &part).unwrap());
            offset += part.len() as u64;
        }
    }
    (pages.into_store(), primary.groups[count - 1].1.clone())
}

fn make(
    disk: &SimulatedDisk,
    primary: &Primary,
    (pages, last): &(PageStore, Bytes),
) -> Result<Store, StandbyError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Store::of_seed(&disk, &primary.hello, &standby_options(), pages, last)
}

/// It goes on behind the seed, and opened as the database it has everything.
fn goes_on(disk: &SimulatedDisk, store: Store, primary: &Primary, count: usize) {
    let (session, end) = store.begin_session();
    assert_eq!(end.position.group, count as u64 + 1);
    let last = &primary.groups[count - 1].0;
    assert_eq!(end.position, last.next_position());
    assert_eq!(end.last_checksum, last.history_checksum());
    for (_, bytes) in &primary.groups[count..] {
        store.append(session, std::slice::from_ref(bytes)).unwrap();
    }
    drop(store);
    let after = disk.restart(Faults::default());
    let database = options(256 << 10).open_tables_on(Arc::new(after)).unwrap();
    assert_eq!(values(&database), primary.states[primary.groups.len()]);
    database.close().unwrap();
}

#[test]
fn a_crash_at_every_step_of_making_it_leaves_nothing_or_all() {
    let primary = primary(7, 90);
    // In the middle of the log's segments, and behind many of them.
    for count in [3, primary.groups.len() / 2, primary.groups.len() - 2] {
        let seed = seed(&primary, count);
        let mut made = [0, 0];
        for step in 1.. {
            let disk = SimulatedDisk::new(step, Faults::default());
            let crashing = disk.restart(Faults {
                crash_at_step: Some(step),
                ..Faults::default()
            });
            let outcome = make(&crashing, &primary, &seed).map(drop);
            let crashed = crashing.has_crashed();
            assert!(crashed || outcome.is_ok(), "{outcome:?}");
            let again = crashing.restart(Faults::default());
            let is_there = exists(&again).unwrap();
            made[usize::from(is_there)] += 1;
            let store = match is_there {
                true => {
                    let disk: Arc<dyn Disk> = Arc::new(again.clone());
                    Store::open(&disk, &standby_options()).unwrap()
                }
                false => make(&again, &primary, &seed).unwrap(),
            };
            let marks = again.list("").unwrap();
            assert!(!marks.iter().any(|name| name == SEEDING_FILE));
            goes_on(&again, store, &primary, count);
            if !crashed {
                break;
            }
        }
        assert!(made[0] > 20 && made[1] > 2, "{made:?}");
    }
}

#[test]
fn an_attempt_that_was_ended_is_no_obstacle_to_a_log_from_the_beginning() {
    let primary = primary(8, 30);
    let seed = seed(&primary, 12);
    for step in (1..).step_by(3) {
        let disk = SimulatedDisk::new(
            step,
            Faults {
                crash_at_step: Some(step),
                ..Faults::default()
            },
        );
        if make(&disk, &primary, &seed).is_ok() {
            break;
        }
        let again = disk.restart(Faults::default());
        if !exists(&again).unwrap() {
            let disk: Arc<dyn Disk> = Arc::new(again);
            let store = Store::create(&disk, &primary.hello, &standby_options()).unwrap();
            assert_eq!(store.log_end().position.group, 1);
        }
    }
}

#[test]
fn a_database_whose_manifest_is_lost_is_not_taken_for_an_attempt() {
    let primary = primary(9, 60);
    let seed = seed(&primary, 12);
    let (disk, store, _) = standby_with(&primary, 40);
    drop(store);
    disk.remove(MANIFEST_FILE).unwrap();
    let all = disk.list("backup").unwrap();
    let error = Store::of_seed(&disk, &primary.hello, &standby_options(), &seed.0, &seed.1);
    let error = error.map(drop).unwrap_err();
    let is_lost = matches!(error, StandbyError::Open(OpenError::ManifestLost { .. }));
    assert!(is_lost, "{error}");
    assert_eq!(disk.list("backup").unwrap(), all);
    assert!(
        !disk
            .list("")
            .unwrap()
            .iter()
            .any(|name| name == SEEDING_FILE)
    );
}

#[test]
fn what_is_no_group_of_this_database_makes_nothing() {
    let primary = primary(10, 30);
    let (pages, last) = seed(&primary, 12);
    let mut damaged = last.to_vec();
    damaged[17] ^= 1;
    let foreign = crate::protocol::Hello {
        identity: 1,
        ..primary.hello.clone()
    };
    for (hello, group) in [
        (&primary.hello, Bytes::new()),
        (&primary.hello, damaged.into()),
        (&foreign, last),
    ] {
        let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1, Faults::default()));
        let made = Store::of_seed(&disk, hello, &standby_options(), &pages, &group);
        let error = made.map(drop).unwrap_err();
        let is_refused = matches!(
            error,
            StandbyError::Open(OpenError::Append(
                AppendError::NoGroup { .. } | AppendError::Chain { .. }
            ))
        );
        assert!(is_refused, "{error}");
        assert!(!exists(&*disk).unwrap());
    }
}
