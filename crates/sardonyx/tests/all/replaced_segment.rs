//! Segments of the log replaced as a whole: by older ones of the same database, by their own former states, by
//! nothing, and by those of another database. After a clean close each of these is an error that names a file of the
//! log and an offset, and `verify` reports it. After a crash, the content of the last opening is never lost in
//! silence.

use crate::common::{Model, Opened, options};
use sardonyx::Shape;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::log::group::GroupHeader;
use sardonyx_storage::verify::verify;
use std::collections::BTreeMap;
use std::sync::Arc;

type Files = BTreeMap<String, Vec<u8>>;

fn segments(disk: &SimulatedDisk) -> Files {
    let names = disk.files().into_iter();
    let logs = names.filter(|name| name.starts_with("log/"));
    logs.map(|name| (name.clone(), disk.read_all(&name).expect("there")))
        .collect()
}

/// The segment with the group of the highest number.
fn newest(files: &Files) -> String {
    let number = |bytes: &Vec<u8>| {
        let groups = bytes.chunks(4096).filter_map(GroupHeader::decode);
        groups.map(|header| header.number).max()
    };
    let (name, _) = files
        .iter()
        .max_by_key(|(_, bytes)| number(bytes))
        .expect("a segment");
    name.clone()
}

struct Base {
    disk: SimulatedDisk,
    /// The segments at several times.
    ages: Vec<Files>,
    model: Model,
    /// The content at the last opening.
    when_opened: Model,
}

/// A database whose last life ran so many transactions, without a checkpoint: many of them fill several
/// segments.
fn base(clean: bool, transactions: u64) -> Base {
    let disk = SimulatedDisk::new(3, Faults::default());
    let small = || options(Shape::Threadless).checkpoint_interval_bytes(1 << 40);
    let (mut model, mut when_opened) = (Model::default(), Model::default());
    let mut ages = Vec::new();
    let mut put = |opened: &Opened, from: u64, to: u64, ages: &mut Vec<Files>| {
        for n in from..to {
            opened.put(n % 50, n).expect("durable");
            model.put(n % 50, n);
            if n % 7 == 3 {
                ages.push(segments(&disk));
            }
        }
        model.clone()
    };
    let opened = Opened::on(&disk, small()).expect("opens");
    put(&opened, 0, 200, &mut ages);
    opened.database.checkpoint().expect("completes");
    when_opened.clone_from(&put(&opened, 200, 220, &mut ages));
    opened.database.close().expect("closes");
    let opened = Opened::on(&disk, small()).expect("opens");
    let model = put(&opened, 220, 220 + transactions, &mut ages);
    if clean {
        opened.database.close().expect("closes");
    }
    Base {
        disk: disk.restart(Faults::default()),
        ages,
        model,
        when_opened,
    }
}

/// The possible substitutes of a segment.
fn substitutes(base: &Base, name: &str) -> Vec<(String, Vec<u8>)> {
    let now = segments(&base.disk);
    let others = now.iter().filter(|(other, _)| *other != name);
    let mut all: Vec<_> = others
        .map(|(other, bytes)| (format!("{other} as it is"), bytes.clone()))
        .collect();
    for (age, files) in base.ages.iter().enumerate() {
        for (other, bytes) in files {
            if bytes != &now[name] {
                all.push((format!("{other} of time {age}"), bytes.clone()));
            }
        }
    }
    all.push(("nothing".into(), vec![0; now[name].len()]));
    all
}

fn is_sound(disk: &SimulatedDisk) -> bool {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    verify(&disk, 64 << 20, 1)
        .expect("it can be read")
        .is_sound()
}

#[test]
fn i4_the_newest_segment_replaced_after_a_clean_close_is_always_noticed() {
    let base = base(true, 40);
    assert!(is_sound(&base.disk));
    let name = newest(&segments(&base.disk));
    let substitutes = substitutes(&base, &name);
    assert!(substitutes.len() > 40, "{}", substitutes.len());
    let mut harmless = 0;
    for (what, bytes) in substitutes {
        let disk = base.disk.restart(Faults::default());
        disk.replace(&name, &bytes).expect("there");
        match Opened::on(&disk, options(Shape::Threadless)) {
            Err(error) => {
                let text = error.to_string();
                let named = text.contains("log/") && text.contains("offset");
                assert!(named, "{name} by {what}: {text}");
                let disk = base.disk.restart(Faults::default());
                disk.replace(&name, &bytes).expect("there");
                assert!(!is_sound(&disk), "{name} by {what}");
            }
            Ok(opened) => {
                harmless += 1;
                assert_eq!(opened.contents().expect("readable"), base.model, "{what}");
            }
        }
    }
    // Only the empty group that marks the close was missing.
    assert!(harmless <= 1, "{harmless}");
}

#[test]
fn i4_a_segment_replaced_after_a_crash_never_takes_what_was_there_when_it_was_opened() {
    let mut noticed = Vec::new();
    for transactions in [40, 1] {
        let base = base(false, transactions);
        let name = newest(&segments(&base.disk));
        noticed.push(0);
        for (what, bytes) in substitutes(&base, &name) {
            let disk = base.disk.restart(Faults::default());
            disk.replace(&name, &bytes).expect("there");
            let Ok(opened) = Opened::on(&disk, options(Shape::Threadless)) else {
                *noticed.last_mut().expect("pushed") += 1;
                continue;
            };
            let found = opened.contents().expect("readable").notes;
            let (all, before) = (&base.model.notes, base.when_opened.notes.len());
            let what = format!("{name} by {what}: {} of {}", found.len(), all.len());
            assert!(all.starts_with(&found), "{what}: the state of no time");
            assert!(
                found.len() >= before,
                "{what}, and {before} when it was opened"
            );
        }
    }
    // Groups written since the opening have no witness; earlier ones have one.
    assert!(noticed[1] > 40 && noticed[0] < noticed[1], "{noticed:?}");
}

#[test]
fn i5_a_segment_of_another_database_or_of_a_later_place_is_an_error_wherever_it_stands() {
    let elsewhere = SimulatedDisk::new(4, Faults::default());
    let opened = Opened::on(&elsewhere, options(Shape::Threadless).identity(8)).expect("opens");
    (0..100).for_each(|n| opened.put(n, n).expect("durable"));
    opened.database.close().expect("closes");
    let (_, foreign) = segments(&elsewhere).pop_first().expect("a segment");
    let base = base(false, 40);
    let now = segments(&base.disk);
    let later = &now[&newest(&now)];
    let mut earlier_ones = 0;
    for (name, bytes) in &now {
        let mut substitutes = vec![("another database", &foreign)];
        if *name < newest(&now) {
            earlier_ones += 1;
            substitutes.push(("later", later));
        }
        for (what, with) in substitutes {
            assert_ne!(with, bytes);
            let disk = base.disk.restart(Faults::default());
            disk.replace(name, with).expect("there");
            assert!(!is_sound(&disk), "{name}: {what}");
            let error = Opened::on(&disk, options(Shape::Threadless)).expect_err("noticed");
            let text = error.to_string();
            let named = text.contains(name.as_str()) && text.contains("offset 0");
            assert!(named && text.contains(what), "{name}: {text}");
        }
    }
    assert!(earlier_ones > 0);
}
