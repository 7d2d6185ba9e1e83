//! Damaged, cut and missing files under a whole database, each kind at any place. Opening and reading give a typed
//! error that names the file, and the offset if there is one, or everything that was acknowledged; never a panic,
//! never less.
//!
//! The one exception is documented in `storage::log::reader`: after a crash, damage to the very last group cannot be
//! distinguished from a group that was still being written. For that reason a clean close leaves a group behind the
//! last one.

use crate::common::{Model, Opened, SHAPES, in_every_shape, options};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sardonyx::{Error, Options, Shape};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::log::group::{GROUP_ALIGNMENT, GROUP_HEADER_BYTES, GroupHeader};
use std::sync::OnceLock;

fn small(shape: Shape) -> Options {
    options(shape).checkpoint_interval_bytes(1 << 40)
}

/// A database in which every kind of file holds something that is needed.
struct Base {
    disk: SimulatedDisk,
    /// The acknowledged content, with and without the last transaction.
    model: Model,
    before_last: Model,
    /// The files, and how much of each has ever been written.
    files: Vec<(String, u64)>,
    /// The place of the last group, if no later group witnesses it: its file, its start, its end.
    last_group: Option<(String, u64, u64)>,
}

impl Base {
    fn make(stripes: u32, clean: bool) -> Base {
        let disk = SimulatedDisk::new(7, Faults::default());
        let opened = Opened::on(&disk, small(Shape::Threadless).stripes(stripes)).expect("opens");
        let mut model = Model::default();
        let mut before_last = Model::default();
        for n in 0..700 {
            before_last = model.clone();
            opened.put(n % 300, n).expect("durable");
            model.put(n % 300, n);
            if n % 200 == 150 {
                opened.database.checkpoint().expect("completes");
            }
        }
        let disk = match clean {
            true => {
                opened.database.close().expect("closes");
                disk.restart(Faults::default())
            }
            false => {
                let after = disk.restart(Faults::default());
                drop(opened);
                after
            }
        };
        let last_group = (!clean).then(|| last_group(&disk));
        let files = disk.files().into_iter().filter(|name| name != "LOCK");
        let files = files
            .map(|name| {
                let bytes = disk.read_all(&name).expect("there");
                let used = bytes.iter().rposition(|byte| *byte != 0);
                (name, used.map_or(0, |last| last as u64 + 1))
            })
            .collect();
        Base {
            disk,
            model,
            before_last,
            files,
            last_group,
        }
    }

    /// Each kind made once.
    fn of(stripes: u32, clean: bool) -> &'static Base {
        static MADE: [OnceLock<Base>; 4] = [const { OnceLock::new() }; 4];
        let number = (stripes as usize - 1) * 2 + usize::from(clean);
        MADE[number].get_or_init(|| Base::make(stripes, clean))
    }
}

/// The group of the highest number, in any file.
fn last_group(disk: &SimulatedDisk) -> (String, u64, u64) {
    let mut last: Option<(u64, String, u64, u64)> = None;
    for name in disk.files().iter().filter(|name| name.ends_with(".log")) {
        let bytes = disk.read_all(name).expect("there");
        for offset in (0..bytes.len()).step_by(GROUP_ALIGNMENT) {
            let Some(header) = GroupHeader::decode(&bytes[offset..]) else {
                continue;
            };
            if last
                .as_ref()
                .is_none_or(|(number, ..)| *number < header.number)
            {
                let end = (offset + header.bytes_on_disk()) as u64;
                last = Some((header.number, name.clone(), offset as u64, end));
            }
        }
    }
    let (_, name, start, end) = last.expect("a group");
    (name, start, end)
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip(u8),
    /// So many bytes become zero.
    Zero(u64),
    Cut,
    Remove,
}

/// The kinds of files.
const KINDS: [&str; 4] = ["MANIFEST", "log/", "backup/", "journal/"];

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        6 => (1..=255u8).prop_map(Damage::Flip),
        2 => select(vec![1, 512, 4096]).prop_map(Damage::Zero),
        2 => Just(Damage::Cut),
        1 => Just(Damage::Remove),
    ]
}

fn apply(disk: &SimulatedDisk, name: &str, offset: u64, damage: Damage) {
    let length = disk.read_all(name).expect("there").len() as u64;
    match damage {
        Damage::Flip(mask) => disk
            .corrupt(name, offset, |byte| byte ^ mask)
            .expect("in it"),
        Damage::Zero(bytes) => {
            for at in offset..(offset + bytes).min(length) {
                disk.corrupt(name, at, |_| 0).expect("in it");
            }
        }
        Damage::Cut => disk.truncate(name, offset).expect("in it"),
        Damage::Remove => disk.remove(name).expect("there"),
    }
}

/// Checks that the error of a database that cannot be opened or read names the place.
fn place_is_named(error: &Error, name: &str, damage: Damage) {
    let text = error.to_string();
    let typed = matches!(
        error,
        Error::Damaged(_) | Error::System(_) | Error::NotFound(_) | Error::Refused(_)
    );
    assert!(typed, "{error:?}");
    assert!(text.contains(name), "{name}, {damage:?}: {text}");
    if let Damage::Flip(_) = damage {
        assert!(text.contains("offset"), "{name}, {damage:?}: {text}");
    }
}

fn check(base: &Base, shape: Shape, name: &str, used: u64, at: Index, damage: Damage) {
    let offset = at.index(used as usize) as u64;
    let disk = base.disk.restart(Faults::default());
    apply(&disk, name, offset, damage);
    let what = format!("{shape:?}, {name} at {offset}: {damage:?}");
    let hits_last = base.last_group.as_ref().is_some_and(|(file, start, end)| {
        let to = match damage {
            Damage::Flip(_) => offset + 1,
            Damage::Zero(bytes) => offset + bytes,
            Damage::Cut | Damage::Remove => u64::MAX,
        };
        file == name && offset < *end && to > *start
    });
    let opened = match Opened::on(&disk, small(shape)) {
        Err(error) => return place_is_named(&error, name, damage),
        Ok(opened) => opened,
    };
    let found = match opened.contents() {
        Err(error) => return place_is_named(&error, name, damage),
        Ok(found) => found,
    };
    let whole = found == base.model || (hits_last && found == base.before_last);
    assert!(
        whole,
        "{what}: {} of {} items, {} of {} notes; last group {:?}",
        found.items.len(),
        base.model.items.len(),
        found.notes.len(),
        base.model.notes.len(),
        base.last_group,
    );
    opened
        .put(1, 1)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(sardonyx_base::random::cases(240))
    })]

    #[test]
    fn damage_anywhere_is_named_or_harmless(
        shape in select(&SHAPES[..]), stripes in 1..=2u32, clean in any::<bool>(),
        kind in select(&KINDS[..]),
        file in any::<Index>(), at in any::<Index>(), damage in damage(),
    ) {
        let base = Base::of(stripes, clean);
        // Of files in which anything was written.
        let files: Vec<_> = base.files.iter()
            .filter(|(name, used)| name.starts_with(kind) && *used > 0)
            .collect();
        prop_assert!(!files.is_empty(), "no {kind} in {:?}", base.files);
        let (name, used) = file.get(&files);
        check(base, shape, name, *used, at, damage);
    }
}

#[test]
fn the_undamaged_database_is_whole() {
    in_every_shape(|shape| {
        for (stripes, clean) in [(1, false), (1, true), (2, false), (2, true)] {
            let base = Base::of(stripes, clean);
            let disk = base.disk.restart(Faults::default());
            let opened = Opened::on(&disk, small(shape)).expect("opens");
            assert_eq!(opened.contents().expect("readable"), base.model);
        }
    });
}

/// In a cleanly closed log every byte of every group with a transaction is covered.
#[test]
fn i4_after_a_clean_close_damage_to_any_of_the_last_groups_is_found() {
    let base = Base::of(1, true);
    let (name, mark, _) = last_group(&base.disk);
    let bytes = base.disk.read_all(&name).expect("there");
    let is_mark = GroupHeader::decode(&bytes[mark as usize..]).expect("the last");
    assert_eq!(is_mark.transactions, 0, "a close leaves a group of its own");
    for start in (mark.saturating_sub(5 * 4096)..mark).step_by(GROUP_ALIGNMENT) {
        let header = GroupHeader::decode(&bytes[start as usize..]).expect("small groups");
        let end = start + GROUP_HEADER_BYTES as u64 + u64::from(header.payload_bytes);
        for offset in (start..end).step_by(5) {
            let disk = base.disk.restart(Faults::default());
            apply(&disk, &name, offset, Damage::Flip(0x40));
            let shape = SHAPES[offset as usize % SHAPES.len()];
            let error = Opened::on(&disk, small(shape)).unwrap_err();
            place_is_named(&error, &name, Damage::Flip(0x40));
            assert!(
                error.to_string().contains(&format!("offset {start}")),
                "{error}"
            );
        }
    }
    // The mark itself holds nothing.
    let disk = base.disk.restart(Faults::default());
    apply(&disk, &name, mark, Damage::Flip(0x40));
    in_every_shape(|shape| {
        let disk = disk.restart(Faults::default());
        let opened = Opened::on(&disk, small(shape)).expect("opens");
        assert_eq!(opened.contents().expect("readable"), base.model);
    });
}

#[test]
fn after_a_crash_damage_to_the_last_group_loses_that_group_alone() {
    let base = Base::of(1, false);
    let (file, start, _) = base.last_group.clone().expect("not closed");
    let disk = base.disk.restart(Faults::default());
    apply(&disk, &file, start + 70, Damage::Flip(1));
    in_every_shape(|shape| {
        let disk = disk.restart(Faults::default());
        let opened = Opened::on(&disk, small(shape)).expect("it may not have been durable");
        assert_eq!(opened.contents().expect("readable"), base.before_last);
    });
}
