//! The manifest's text: written and read back, damaged anywhere, and of other versions.

use super::*;
use crate::disk::{Faults, SimulatedDisk};

fn manifest(incarnation: u32) -> Manifest {
    let journal = Retention::KeepBytes(1 << 30);
    Manifest {
        incarnation,
        stripes: 3,
        journal,
        log_end: LogPosition {
            lsn: Lsn(40_960),
            group: 11,
            transactions: 17,
            incarnation: 2,
        },
        ..Manifest::new(0x0123_4567_89ab_cdef)
    }
}

#[test]
fn a_manifest_of_version_1_is_read_and_says_nothing_of_the_logs_end() {
    let text = manifest(7).encode_in(1);
    assert!(text.starts_with("format_version = 1\n") && !text.contains("log_end"));
    let expected = Manifest {
        format_version: 1,
        log_end: LogPosition::START,
        ..manifest(7)
    };
    assert_eq!(
        Manifest::decode("MANIFEST", text.as_bytes()).unwrap(),
        expected
    );
}

#[test]
fn damage_of_any_byte_is_noticed_and_its_place_is_named() {
    damage_is_noticed(&manifest(7));
    let elsewhere = manifest(7).with_places(0xfedc_ba98_7654_3210);
    assert!(elsewhere.encode().starts_with("format_version = 4\n"));
    let read = Manifest::decode("MANIFEST", elsewhere.encode().as_bytes());
    assert_eq!(read.unwrap(), elsewhere);
    damage_is_noticed(&elsewhere);
    let compacted = Manifest {
        compacted: Some(Compacted {
            number: 3,
            group: 11,
            segment: None,
        }),
        ..elsewhere
    };
    assert!(compacted.encode().contains("\ncompacted = 3 11\n"));
    assert!(compacted.encode().starts_with("format_version = 4\n"));
    let read = Manifest::decode("MANIFEST", compacted.encode().as_bytes());
    assert_eq!(read.unwrap(), compacted);
    damage_is_noticed(&compacted);
    let begins_again = begins_again(0);
    assert!(begins_again.encode().contains("\ncompacted = 3 11 0\n"));
    assert!(begins_again.encode().starts_with("format_version = 5\n"));
    let read = Manifest::decode("MANIFEST", begins_again.encode().as_bytes());
    assert_eq!(read.unwrap(), begins_again);
    damage_is_noticed(&begins_again);
}

fn begins_again(segment: u64) -> Manifest {
    let (number, group, segment) = (3, 11, Some(segment));
    Manifest {
        format_version: 5,
        compacted: Some(Compacted {
            number,
            group,
            segment,
        }),
        ..manifest(7)
    }
}

#[test]
fn a_log_that_begins_behind_its_end_is_damage_whose_place_is_named() {
    for (text, version) in [
        (begins_again(1).encode(), 5),
        (begins_again(u64::MAX).encode(), 5),
        (begins_again(0).encode_in(4), 4),
    ] {
        assert!(text.starts_with(&format!("format_version = {version}\n")));
        let found = Manifest::decode("MANIFEST", text.as_bytes()).unwrap_err();
        let offset = text.find("compacted").unwrap();
        let expected = format!("MANIFEST is damaged at line 10 (offset {offset}): expected");
        assert!(found.to_string().starts_with(&expected), "{found}");
    }
}

fn damage_is_noticed(manifest: &Manifest) {
    let text = manifest.encode().into_bytes();
    for at in 0..text.len() {
        for flip in 1..=255u8 {
            let mut damaged = text.clone();
            damaged[at] ^= flip;
            let found = Manifest::decode("MANIFEST", &damaged);
            let Err(ManifestError::Damaged {
                file, offset, line, ..
            }) = found
            else {
                panic!("byte {at} ^ {flip}: {found:?}");
            };
            assert_eq!(file, "MANIFEST");
            assert!(
                offset <= text.len() as u64 && (1..=14).contains(&line),
                "{offset} {line}"
            );
        }
    }
    for length in 0..text.len() {
        let found = Manifest::decode("MANIFEST", &text[..length]);
        assert!(
            matches!(found, Err(ManifestError::Damaged { .. })),
            "{length}: {found:?}"
        );
    }
    let longer = [&text[..], b"\n"].concat();
    let found = Manifest::decode("MANIFEST", &longer);
    assert!(
        matches!(found, Err(ManifestError::Damaged { .. })),
        "{found:?}"
    );
}

#[test]
fn a_newer_version_is_named_and_not_taken_for_damage() {
    let mut text = String::from("format_version = 6\nsomething = new\n");
    let checksum = sardonyx_base::crc32c::crc32c(text.as_bytes());
    text.push_str(&format!("checksum = {checksum:08x}\n"));
    let found = Manifest::decode("MANIFEST", text.as_bytes());
    let expected = matches!(
        found,
        Err(ManifestError::UnknownVersion {
            found: 6,
            known: 5,
            ..
        })
    );
    assert!(expected, "{found:?}");
}

#[test]
fn impossible_values_are_refused() {
    let bad = Manifest {
        block_bytes: 1000,
        ..manifest(0)
    };
    assert!(matches!(
        bad.check(),
        Err(ManifestError::Value {
            what: "block_bytes",
            ..
        })
    ));
    let bad = Manifest {
        stripes: 0,
        ..manifest(0)
    };
    let found = Manifest::decode("MANIFEST", bad.encode().as_bytes());
    assert!(matches!(
        found,
        Err(ManifestError::Value {
            what: "stripes",
            ..
        })
    ));
}

#[test]
fn a_crash_at_any_step_of_a_replacement_leaves_the_old_or_the_new() {
    for seed in 0..20 {
        let mut replaced = 0;
        for crash_at in 1..20 {
            let simulated = SimulatedDisk::new(seed, Faults::default());
            manifest(1).write(&simulated).unwrap();
            let crash = Faults {
                crash_at_step: Some(crash_at),
                ..Faults::default()
            };
            let simulated = simulated.restart(crash);
            let outcome = manifest(2).write(&simulated);
            let simulated = simulated.restart(Faults::default());
            let found = Manifest::read(&simulated).unwrap();
            assert!(
                found == manifest(1) || found == manifest(2),
                "seed {seed}: {found:?}"
            );
            if outcome.is_ok() {
                assert_eq!(
                    found,
                    manifest(2),
                    "seed {seed}: a durable manifest was lost"
                );
                replaced += 1;
            }
            // And it can be replaced again, after any crash.
            manifest(3).write(&simulated).unwrap();
            assert_eq!(Manifest::read(&simulated).unwrap(), manifest(3));
        }
        assert!((1..19).contains(&replaced), "some crash, some do not");
    }
}

#[test]
fn an_absent_manifest_is_told_from_a_damaged_one() {
    let found = Manifest::read(&SimulatedDisk::new(1, Faults::default()));
    assert!(
        matches!(found, Err(ManifestError::Absent { .. })),
        "{found:?}"
    );
}
