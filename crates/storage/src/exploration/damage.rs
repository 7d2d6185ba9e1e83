//! Damaged, cut and missing files. Each is an error that names the file and the place, or harmless
//! because the database opens without it; never a panic, never other data.

use super::lives::{World, rows_of};
use crate::checkpoint::{CheckpointError, Progress, StripeLayout};
use crate::crashes::End;
use crate::disk::{Disk, DiskError};
use crate::journal::{JournalError, JournalReader, Retention, journal_file};
use crate::page::PAGE_SIZE;
use crate::recovery::RecoveryError;
use crate::recovery::recover;
use crate::verify::{Severity, verify};

/// A seed with one page to a block and journals kept.
const SEED: u64 = 2;

/// A database with complete checkpoints, freed log, and a few groups after them.
fn world(stripes: u32) -> World {
    let mut world = World::create("damage".into(), SEED, stripes);
    let mut life = world.open().unwrap();
    for _ in 0..3 {
        assert!(world.run(&mut life, 60));
        life.checkpoint().unwrap();
    }
    for _ in 0..3 {
        world.commit(&mut life);
    }
    drop(life);
    world.restart(End::Cut);
    assert!(
        !world
            .disk
            .files()
            .contains(&"log/0000000000000000.log".into()),
        "not freed"
    );
    world
}

fn found(world: &World, file: &str) -> Vec<crate::verify::Finding> {
    let verification = verify(&world.dynamic(), 1 << 24, 1).unwrap();
    let of_file = |finding: &crate::verify::Finding| {
        finding.file.ends_with(file) || finding.what.contains(file)
    };
    verification.findings.into_iter().filter(of_file).collect()
}

#[test]
fn an_undamaged_database_has_no_findings() {
    let world = world(2);
    let verification = verify(&world.dynamic(), 1 << 24, 2).unwrap();
    assert!(
        verification.findings.is_empty(),
        "{:?}",
        verification.findings
    );
    assert!(verification.versions > 2 && verification.chunks > 2);
    assert_eq!(
        verification.recovery.unwrap().redo_end.group as usize - 1,
        world.history.acknowledged()
    );
}

#[test]
fn damage_in_any_slot_is_an_error_with_its_place_or_harmless() {
    let world = world(2);
    let (mut errors, mut harmless) = (0, 0);
    for stripe in 0..2 {
        let layout = StripeLayout::of(&world.manifest(), stripe);
        let name = layout.file_name();
        let length = world.disk.read_all(&name).unwrap().len() as u64;
        for slot in 0..length / layout.slot_bytes() {
            for at in [0, 8, 40, 200, 4095, 4096, 5000, layout.slot_bytes() - 1] {
                let offset = slot * layout.slot_bytes();
                world
                    .disk
                    .corrupt(&name, offset + at, |byte| byte ^ 0x10)
                    .unwrap();
                match world.recover(true) {
                    Ok(recovered) => {
                        harmless += 1;
                        world.judge(&recovered);
                    }
                    Err(
                        RecoveryError::MissingBlock {
                            file,
                            damaged_offsets,
                            ..
                        }
                        | RecoveryError::LogFreed {
                            needed_by: file,
                            damaged_offsets,
                            ..
                        },
                    ) => {
                        errors += 1;
                        assert!(file.ends_with(&name), "{file}");
                        assert_eq!(damaged_offsets, [offset]);
                        let found = found(&world, &name);
                        assert!(found.iter().any(|f| f.severity == Severity::Damage
                            && f.offset == Some(offset)));
                    }
                    Err(error) => panic!("{name} slot {slot}: {error}"),
                }
                world
                    .disk
                    .corrupt(&name, offset + at, |byte| byte ^ 0x10)
                    .unwrap();
            }
        }
    }
    assert!(
        errors > 20 && harmless > 2,
        "{errors} errors, {harmless} harmless"
    );
}

#[test]
fn two_damaged_versions_of_a_block_are_a_missing_block() {
    let mut world = World::create("damage".into(), SEED, 1);
    let mut life = world.open().unwrap();
    while life.checkpointers[0].last_complete().blocks < 3 {
        assert!(world.run(&mut life, 20));
        life.checkpoint().unwrap();
    }
    let checkpointer = &mut life.checkpointers[0];
    let blocks = checkpointer.last_complete().blocks;
    // A checkpoint that stops after its first block: of the other blocks there is one version.
    checkpointer.begin().unwrap();
    checkpointer.write_next_block().unwrap();
    drop(life);
    world.restart(End::Cut);
    let layout = StripeLayout::of(&world.manifest(), 0);
    let listings = crate::inspect::slots(&world.disk, layout, true).unwrap();
    let last = listings.iter().find(|listing| {
        matches!(listing.state,
        crate::checkpoint::slot::SlotState::Valid(header) if header.block == blocks - 1)
    });
    let offset = last.unwrap().offset;
    world
        .disk
        .corrupt(&layout.file_name(), offset + 5000, |byte| !byte)
        .unwrap();
    let error = world.recover(true).unwrap_err();
    let RecoveryError::MissingBlock {
        file,
        block,
        damaged_offsets,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    assert!(file.ends_with("backup/stripe-000"));
    assert_eq!(
        (*block, damaged_offsets.as_slice()),
        (blocks - 1, &[offset][..])
    );
    assert!(error.to_string().contains(&offset.to_string()), "{error}");
}

#[test]
fn a_cut_or_missing_stripe_file_is_an_error() {
    for length in [0, 1, 4096, 9000] {
        let world = world(2);
        world.disk.truncate("backup/stripe-001", length).unwrap();
        let error = world.recover(true).unwrap_err();
        assert!(error.to_string().contains("stripe-001"), "{error}");
    }
    let world = world(2);
    world.disk.remove("backup/stripe-001").unwrap();
    let error = world.recover(true).unwrap_err();
    assert!(matches!(error, RecoveryError::LogFreed { .. }), "{error}");
    assert!(error.to_string().contains("stripe-001"), "{error}");
}

#[test]
fn a_file_of_another_stripe_is_an_error() {
    let world = world(2);
    world.disk.remove("backup/stripe-001").unwrap();
    world
        .disk
        .rename("backup/stripe-000", "backup/stripe-001")
        .unwrap();
    let error = world.recover(true).unwrap_err();
    let RecoveryError::ForeignSlot { file, .. } = &error else {
        panic!("{error}")
    };
    assert!(file.ends_with("stripe-001"));
}

#[test]
fn i2_a_log_that_ends_before_the_backup_is_an_error() {
    let mut world = World::create("damage".into(), SEED, 1);
    let mut life = world.open().unwrap();
    assert!(world.run(&mut life, 60));
    life.checkpoint().unwrap();
    for _ in 0..4 {
        world.commit(&mut life);
    }
    // A block that has those groups, in a checkpoint that is not complete; so redo starts before.
    life.apply_all();
    life.checkpointers[0].begin().unwrap();
    life.checkpointers[0].write_next_block().unwrap();
    drop(life);
    world.restart(End::Cut);
    assert!(world.recover(true).is_ok());
    let end = world.recover(true).unwrap().end;
    let layout = world.manifest().log_layout();
    // The last group is damaged, and no later one can show it.
    let name = crate::log::segment::segment_file((end.lsn.0 - 1) / layout.segment_bytes);
    let offset = (end.lsn.0 - PAGE_SIZE as u64) % layout.segment_bytes;
    for at in 0..70 {
        world.disk.corrupt(&name, offset + at, |_| 0x55).unwrap();
    }
    let error = world.recover(true).unwrap_err();
    let RecoveryError::LogEndsEarly {
        file,
        backup_group,
        log_group,
    } = &error
    else {
        panic!("{error}");
    };
    assert!(
        file.ends_with("stripe-000") && backup_group > log_group,
        "{error}"
    );
}

#[test]
fn damage_in_the_archive_is_an_error_with_its_place_or_extracted_again() {
    let world = world(1);
    let identity = world.manifest().identity;
    let chunks = crate::inspect::chunks(&world.disk, identity).unwrap();
    let (mut errors, mut harmless) = (0, 0);
    for chunk in &chunks {
        let crate::journal::archive::ChunkState::Valid(header) = chunk.state else {
            continue;
        };
        let name = journal_file(chunk.file_number);
        for at in [0, 30, 100, 127 + u64::from(header.payload_bytes)] {
            world
                .disk
                .corrupt(&name, chunk.offset + at, |byte| !byte)
                .unwrap();
            let read = || -> Result<(), JournalError> {
                let manifest = world.manifest();
                let mut reader = JournalReader::open(&world.dynamic(), &manifest, None, None)?;
                while reader.next_row()?.is_some() {}
                Ok(())
            };
            match read() {
                Ok(()) => {
                    harmless += 1;
                    let recovered = world.recover(true).unwrap();
                    world.judge(&recovered);
                }
                Err(JournalError::Damaged { file, offset, .. }) => {
                    errors += 1;
                    assert!(file.ends_with(&name), "{file} is not {name}");
                    assert_eq!(offset, chunk.offset);
                    let found = found(&world, &name);
                    assert!(
                        found.iter().any(|f| f.severity == Severity::Damage),
                        "{found:?}"
                    );
                }
                Err(error) => panic!("{name} at {}: {error}", chunk.offset),
            }
            world
                .disk
                .corrupt(&name, chunk.offset + at, |byte| !byte)
                .unwrap();
        }
    }
    assert!(errors > 10, "{errors} errors, {harmless} harmless");
}

#[test]
fn a_missing_first_archive_file_is_an_error_when_all_rows_are_to_be_kept() {
    let world = world(1);
    world.disk.remove(&journal_file(0)).unwrap();
    let mut reader = JournalReader::open(&world.dynamic(), &world.manifest(), None, None).unwrap();
    let error = reader.next_row().unwrap_err();
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
}

#[test]
fn i6_a_failed_write_or_sync_poisons_and_the_log_is_kept() {
    for failing in 1..40 {
        let mut world = world(1);
        world.restart(End::FailedSync(failing));
        let Some(mut life) = world.open() else {
            continue;
        };
        let checkpointer = &mut life.checkpointers[0];
        let before = checkpointer.log_needed_from();
        checkpointer.begin().unwrap();
        let error = loop {
            match checkpointer.write_next_block() {
                Ok(Progress::Complete { .. }) => return assert!(failing > 10, "{failing}"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(
            !matches!(error, CheckpointError::Poisoned { .. }),
            "{error}"
        );
        let again = checkpointer.write_next_block().unwrap_err();
        assert!(matches!(again, CheckpointError::Poisoned { .. }), "{again}");
        assert!(matches!(
            checkpointer.begin(),
            Err(CheckpointError::Poisoned { .. })
        ));
        assert_eq!(checkpointer.log_needed_from(), before);
    }
    panic!("every run failed");
}

#[test]
fn groups_out_of_order_are_refused() {
    let mut world = World::create("damage".into(), SEED, 1);
    let mut life = world.open().unwrap();
    world.commit(&mut life);
    world.commit(&mut life);
    let group = life.waiting(0)[1].clone();
    let error = life.checkpointers[0]
        .apply(group.header(), group.payload())
        .unwrap_err();
    assert!(
        matches!(
            error,
            CheckpointError::Gap {
                expected: 1,
                found: 2
            }
        ),
        "{error}"
    );
}

#[test]
fn i6_an_empty_stripe_frees_the_log_too() {
    let mut world = World::create("damage".into(), SEED, 3);
    let mut life = world.open().unwrap();
    // One page: two stripes have no block.
    world.commit(&mut life);
    world.commit(&mut life);
    life.checkpoint().unwrap();
    for checkpointer in &life.checkpointers {
        assert_eq!(checkpointer.log_needed_from(), checkpointer.position());
    }
    drop(life);
    world.restart(End::Cut);
    let recovered = world.recover(false).unwrap();
    assert_eq!(recovered.report.groups, 0);
    world.judge(&recovered);
}

#[test]
fn old_archive_files_are_removed_but_never_the_newest_bytes() {
    let mut world = World::with("archive".into(), 7, 1, Retention::KeepBytes(20_000));
    let mut life = world.open().unwrap();
    for _ in 0..30 {
        assert!(world.run(&mut life, 20));
        life.checkpoint().unwrap();
    }
    let lengths: Vec<u64> = crate::journal::archive::files(&world.disk)
        .unwrap()
        .into_iter()
        .map(|number| world.disk.read_all(&journal_file(number)).unwrap().len() as u64)
        .collect();
    let kept: u64 = lengths.iter().sum();
    assert!(
        (20_000..20_000 + 4 * PAGE_SIZE as u64).contains(&kept),
        "{lengths:?}"
    );
    drop(life);
    world.restart(End::Cut);
    let manifest = world.manifest();
    let mut rows = Vec::new();
    let mut reader = JournalReader::open(&world.dynamic(), &manifest, None, None).unwrap();
    while let Some(row) = reader.next_row().unwrap() {
        rows.push((row.place.group, (row.journal, row.bytes.to_vec())));
    }
    let all = rows_of(world.history.changes());
    assert!(
        rows.len() < all.len() && all.ends_with(&rows),
        "{} of {}",
        rows.len(),
        all.len()
    );
}

#[test]
fn memory_too_small_is_an_error() {
    let world = world(1);
    let options = crate::recovery::RecoveryOptions {
        memory_max_bytes: 4096,
        workers: 1,
        dry_run: true,
        beside_writer: false,
        sparse: false,
        known_end: None,
        checkpoints: Default::default(),
    };
    let error = recover(&world.dynamic(), &world.manifest(), options).unwrap_err();
    assert!(matches!(error, RecoveryError::Store(_)), "{error}");
}

#[test]
fn verify_tells_a_damaged_manifest() -> Result<(), DiskError> {
    let world = world(1);
    world.disk.corrupt("MANIFEST", 30, |byte| byte ^ 1)?;
    let verification = verify(&world.dynamic(), 1 << 24, 1)?;
    assert!(!verification.is_sound());
    let text = &verification.findings[0].what;
    assert!(
        text.contains("MANIFEST") && text.contains("offset"),
        "{text}"
    );
    Ok(())
}
