//! The refusals of a shared log, and its errors of damage: a refused call writes nothing, and every
//! error of the disk names a file and an offset.

use super::shared_world::{Process, World};
use crate::crashes::End;
use crate::disk::{Disk, Faults};
use crate::engine::Driver;
use crate::log::seal::GroupBuilder;
use crate::log::segment::segment_file;
use crate::log::{LogLeader, SharedLogError};
use crate::page::{Address, PAGE_SIZE};
use std::sync::Arc;

/// The records of a transaction of so many whole pages.
fn pages(count: usize) -> Vec<u8> {
    let mut builder = GroupBuilder::with_capacity(PAGE_SIZE);
    for page in 0..count as u64 {
        builder.push_write(Address(page * PAGE_SIZE as u64), &[7; PAGE_SIZE]);
    }
    builder.end_transaction();
    builder.payload().to_vec()
}

#[test]
fn a_group_that_finds_no_room_or_is_too_large_or_of_elsewhere_writes_nothing() {
    let mut world = World::new(1, "refused".into());
    let mut life = world.open_safely().unwrap();
    let segment = world.options.segment_bytes;
    let steps = world.simulated.steps();
    let end = life.state.end();
    let leader = &mut life.processes[0].leader;
    // Of one transaction it would have segments for itself.
    let too_large = pages(8);
    let (first, second) = (&pages(7)[..], &pages(1)[..]);
    assert_eq!(first.len() + second.len(), too_large.len());
    let error = leader.write_group(&life.state, 2, &[first, second], 2);
    let bytes_max = leader.group_bytes_max();
    assert!(matches!(
        error,
        Err(SharedLogError::TooLarge { bytes, bytes_max: max })
            if bytes == too_large.len() && max == bytes_max
    ));
    let error = leader.write_group(&life.state, 1, &[&too_large], 1);
    assert!(matches!(error, Err(SharedLogError::NoRoom)), "{error:?}");
    let mut stranger = LogLeader::new(life.processes[1].disk.clone(), &life.manifest, 77);
    let error = stranger.write_group(&life.state, 1, &[&pages(1)], 1);
    assert!(matches!(
        error,
        Err(SharedLogError::OtherIncarnation { expected: 77, .. })
    ));
    assert_eq!((world.simulated.steps(), life.state.end()), (steps, end));
    // Two segments are prepared, and no more will be.
    let leader = &mut life.processes[1].leader;
    let mut written = 0;
    let error = loop {
        let steps = world.simulated.steps();
        match leader.write_group(&life.state, 1, &[&pages(2)], written + 1) {
            Ok(_) => written += 1,
            Err(error) => {
                assert_eq!(world.simulated.steps(), steps);
                break error;
            }
        }
    };
    assert!(matches!(error, SharedLogError::NoRoom), "{error}");
    let end = life.state.end();
    assert_eq!((end.tail, end.position.transactions), (written, written));
    assert!(end.position.lsn.0 < life.state.prepared_end().0);
    assert_eq!(life.state.prepared_end().0, 2 * segment);
}

#[test]
fn i10_a_full_disk_refuses_with_the_reason_and_goes_on_when_there_is_room() {
    let mut world = World::new(2, "full disk".into());
    drop(world.open_safely().unwrap());
    world.restart(Faults {
        capacity_bytes: Some(2 * world.options.segment_bytes + 10_000),
        ..Faults::default()
    });
    let mut life = world.open_safely().unwrap();
    let Process { leader, driver, .. } = &mut life.processes[0];
    let driver = driver.as_mut().unwrap();
    let mut written = 0;
    let error = loop {
        driver.step(&life.state).unwrap();
        match leader.write_group(&life.state, 1, &[&pages(2)], written + 1) {
            Ok(_) => written += 1,
            Err(SharedLogError::NoRoom) => {}
            Err(error) => break error,
        }
    };
    assert!(written > 0);
    assert!(matches!(&error, SharedLogError::Full { reason } if reason.contains("free disk")));
    assert!(!life.state.is_poisoned());
    let tail = life.state.durable_tail();
    drop(life);
    world.restart(End::Cut);
    let disk: Arc<dyn Disk> = Arc::new(world.simulated.clone());
    let first = crate::engine::open_first(&disk, &world.options)
        .unwrap()
        .unwrap();
    assert_eq!(first.end.transactions, tail);
}

#[test]
fn i14_a_disk_that_is_full_for_a_while_ends_no_driving() {
    let mut refused = 0;
    for seed in 0..3 {
        for from in (24..120).step_by(6) {
            let mut world = World::new(seed, format!("full from {from}"));
            drop(world.open_safely().unwrap());
            let until = from + 50;
            world.restart(End::Full(from, until));
            let mut life = world.open_safely().unwrap();
            let Process { leader, driver, .. } = &mut life.processes[0];
            let driver = driver.as_mut().unwrap();
            let (mut written, mut attempts) = (0, 0);
            while written < 60 || world.simulated.steps() < until {
                attempts += 1;
                assert!(attempts < 2000, "{}: {written} written", world.what);
                driver.step(&life.state).unwrap();
                match leader.write_group(&life.state, 1, &[&pages(2)], written + 1) {
                    Ok(_) => written += 1,
                    Err(SharedLogError::NoRoom) => {}
                    Err(SharedLogError::Full { reason }) => {
                        assert!(reason.contains("free disk space"), "{reason}");
                        refused += 1;
                    }
                    Err(error) => panic!("{}: {error}", world.what),
                }
            }
            assert!(life.state.failure().is_none() && !life.state.is_poisoned());
            let tail = life.state.durable_tail();
            drop(life);
            world.restart(End::Cut);
            let disk: Arc<dyn Disk> = Arc::new(world.simulated.clone());
            let first = crate::engine::open_first(&disk, &world.options)
                .unwrap()
                .unwrap();
            assert_eq!(first.end.transactions, tail);
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn i4_damage_of_what_the_driver_reads_names_the_file_and_the_offset() {
    let mut world = World::new(3, "damage".into());
    let mut life = world.open_safely().unwrap();
    for tail in 1..=3 {
        let leader = &mut life.processes[1].leader;
        leader
            .write_group(&life.state, 1, &[&pages(1)], tail)
            .unwrap();
    }
    // In the middle of the second group, which is behind the two blocks of the first.
    let file = segment_file(0);
    let offset = 2 * PAGE_SIZE as u64;
    world
        .simulated
        .corrupt(&file, offset + 100, |byte| byte ^ 1)
        .unwrap();
    let named = |text: String| {
        let named = text.contains(&file) && text.contains(&format!("offset {offset}"));
        assert!(named, "{text}");
    };
    let Process { disk, driver, .. } = &mut life.processes[0];
    let error = driver.as_mut().unwrap().step(&life.state).unwrap_err();
    named(error.to_string());
    assert!(!error.is_local());
    let taken = Driver::take_over(disk, &life.manifest, &world.options, &life.state);
    named(taken.unwrap_err().to_string());
    let disk = disk.clone();
    drop(life);
    named(
        crate::engine::open_first(&disk, &world.options)
            .unwrap_err()
            .to_string(),
    );
}

#[test]
fn a_leader_in_its_steady_state_needs_no_more_memory_and_no_more_files() {
    let mut world = World::new(4, "steady".into());
    let mut life = world.open_safely().unwrap();
    let records = pages(1);
    let leader = &mut life.processes[0].leader;
    leader.write_group(&life.state, 1, &[&records], 1).unwrap();
    let before = (leader.buffer_place(), world.simulated.steps());
    for tail in 2..=3 {
        // In two pieces, as a ring's end cuts them.
        let (one, two) = records.split_at(1000);
        leader
            .write_group(&life.state, 1, &[one, two], tail)
            .unwrap();
    }
    let after = (leader.buffer_place(), world.simulated.steps());
    assert_eq!(after, (before.0, before.1 + 2), "one operation each");
}
