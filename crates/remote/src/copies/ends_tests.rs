//! Copies that are restored from a backup while the register stays, by hand: first, last, between, alone and together.

use super::ends::Ends;
use super::evidence::name_of;
use super::life::Life;
use super::planted::Planted;
use super::putting_back::PutBack;
use super::restored_world::{COPIES, set};
use super::schedules::with_and_without;
use super::sites::{KEEPER, Sites};
use super::tests::Host;
use super::time::Time;
use sardonyx_storage::remote_log::boundary::Boundary;
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::position::{EntryPosition, Epoch};
use sardonyx_storage::remote_log::store::{Appended, Register, RemoteStore, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// A host that knows nothing reads to the end of the log and appends there, until it has an answer of its own.
fn take_over(host: &Host) -> Result<u64, StoreError> {
    for _ in 0..10 {
        let mut number = 1;
        while host.copies.read(number)?.is_some() {
            number += 1;
        }
        if host.append(number, "taken over")? == Appended::Ok {
            return Ok(number);
        }
    }
    panic!("no entry is acknowledged");
}

/// P has three entries. These copies are restored to the first one, and P has ended. The register has not changed since.
fn restored(places: &[&str]) -> Arc<Sites> {
    let sites = Sites::new(&COPIES);
    let p = Host::new(&sites);
    p.appends(1, "one");
    let backups: Vec<_> = places.iter().map(|place| sites.backup(place)).collect();
    p.appends(2, "two");
    p.appends(3, "three");
    for (place, backup) in places.iter().zip(&backups) {
        sites.restore(place, backup);
    }
    sites
}

fn has_all(host: &Host) -> bool {
    let texts = [(1, "one"), (2, "two"), (3, "three")];
    let has = |(number, text): &(u64, &str)| {
        let read = host.copies.read(*number);
        read.is_ok_and(|read| read.as_deref() == Some(text.as_bytes()))
    };
    texts.iter().all(has)
}

/// The first and the last copy: a reader finds the older end, and the first copy takes another entry.
#[test]
fn i1_a_host_does_not_take_the_log_of_restored_copies_for_the_whole() {
    with_and_without(Planted::EndsNotCompared, || {
        let sites = restored(&["a", "c"]);
        let host = Host::new(&sites);
        let taken = take_over(&host).unwrap();
        let is_whole = taken == 4 && has_all(&host) && sites.in_sync() == ["b"];
        host.maintain();
        is_whole && sites.in_sync().len() == 3 && has_all(&Host::new(&sites))
    });
}

/// The host has read all entries before, so it does not wait for its takeover.
#[test]
fn a_host_that_has_read_more_than_the_last_copy_has_leaves_that_out_when_it_starts() {
    with_and_without(Planted::EndsNotCompared, || {
        let sites = restored(&["a", "c"]);
        let host = Host::new(&sites);
        host.copies.leave_out_restored(4).unwrap();
        sites.in_sync() == ["b"] && has_all(&host)
    });
}

/// Each other choice of copies that leaves one.
#[test]
fn i1_any_copies_that_are_restored_are_found_and_filled() {
    for places in [&["a"][..], &["b"], &["c"], &["a", "b"], &["b", "c"]] {
        let sites = restored(places);
        let host = Host::new(&sites);
        assert_eq!(take_over(&host).unwrap(), 4, "{places:?}");
        assert!(has_all(&host), "{places:?}");
        host.maintain();
        for copy in &sites.record().copies {
            let life = Life::new(sites.at(&copy.place), 1);
            for number in 1..=4 {
                assert!(life.read(number).unwrap().is_some(), "{places:?}: {number}");
            }
        }
    }
}

/// The copy that knows more answers only when the first one has another entry. It is not the one that leaves the set.
#[test]
fn i1_a_copy_with_another_entry_than_the_first_one_stays_in_the_set() {
    with_and_without(Planted::DiffersExcluded, || {
        let sites = restored(&["a", "c"]);
        let host = Host::new_beside(&sites, &["b"]);
        // The ends are compared after the first list of the objects, and the copies get the new chain after that.
        let (net, then) = (host.net.clone(), host.net.then.clone());
        host.net.then.set("a", move || {
            then.set("a", move || net.cut(&[]));
        });
        take_over(&host).unwrap() == 4 && has_all(&host)
    });
}

/// The intact copy is away. The register records the end of the log at the last takeover.
#[test]
fn i1_copies_that_end_before_the_last_takeover_are_refused_without_the_others() {
    with_and_without(Planted::EndsNotCompared, || {
        let sites = Sites::new(&COPIES);
        let p = Host::new(&sites);
        p.appends(1, "one");
        let backups = ["a", "c"].map(|place| sites.backup(place));
        p.appends(2, "two");
        p.appends(3, "three");
        assert_eq!(take_over(&Host::new(&sites)).unwrap(), 4);
        for (place, backup) in ["a", "c"].iter().zip(&backups) {
            sites.restore(place, backup);
        }
        let host = Host::new_beside(&sites, &["b"]);
        let before = sites.record();
        let refused = take_over(&host);
        let Err(error @ StoreError::Setup { .. }) = refused else {
            return false;
        };
        let text = error.to_string();
        assert!(
            text.contains("[\"b\"] answer") && text.contains("store clone"),
            "{text}"
        );
        assert_eq!(sites.record(), before, "it is left as it was");
        let host = Host::new(&sites);
        take_over(&host).is_ok() && has_all(&host)
    });
}

/// The limit: the intact copy is away, and no takeover was after the backup. The copy keeps what the log has lost.
#[test]
fn i1_a_copy_with_entries_that_the_log_has_lost_is_left_as_it_is() {
    with_and_without(Planted::MoreDiscarded, || {
        let sites = restored(&["a", "c"]);
        let host = Host::new_beside(&sites, &["b"]);
        assert_eq!(take_over(&host).unwrap(), 2, "the limit");
        host.cut(&[]);
        host.maintain();
        let b = sites.at("b");
        let is_kept = b.read(3).unwrap().as_deref() == Some(b"three");
        let is_out = sites.in_sync() == ["c", "a"] || sites.in_sync() == ["a", "c"];
        if !(is_kept && is_out) {
            return false;
        }
        // The log goes on. A person gives the entries up.
        host.appends(3, "another");
        host.change(&[], &["b"]).unwrap();
        host.change(&["b"], &[]).unwrap();
        host.maintain();
        sites.in_sync().len() == 3
    });
}

/// A person chose the other line, so the entries of this one are discarded.
#[test]
fn a_copy_of_a_discarded_line_is_filled_though_it_has_more() {
    let sites = Sites::new(&COPIES);
    let keeper = sites.record();
    let p = Host::new(&sites);
    p.cut(&["a", "c"]);
    p.appends(1, "p1");
    p.appends(2, "p2");
    p.appends(3, "p3");
    drop(p);
    set(&*sites.at(KEEPER), keeper.encode().as_bytes());
    let h = Host::new_beside(&sites, &["b"]);
    h.appends(1, "h1");
    drop(h);
    let wish = PutBack {
        keep: Some(name_of(&sites.record())),
        ..PutBack::default()
    };
    Host::try_to_put_back(&sites, sites.at(KEEPER), None, &wish, &[]).unwrap();
    let host = Host::new(&sites);
    host.appends(2, "h2");
    host.maintain();
    assert_eq!(sites.in_sync().len(), 3);
    let life = Life::new(sites.at("b"), 2);
    assert_eq!(life.read(1).unwrap().as_deref(), Some(&b"h1"[..]));
    assert!(life.read(3).unwrap().is_none());
}

/// P has entries up to this number, of the length of real ones.
fn grown(sites: &Arc<Sites>, from: u64, to: u64) -> Host {
    let p = Host::new(sites);
    for number in from..=to {
        p.appends(number, &"x".repeat(500 + number as usize));
    }
    p
}

/// As a trim does it: the boundary moves first. It reaches these copies.
fn trim(sites: &Sites, to: u64, places: &[&str]) {
    let boundary = Boundary {
        identity: 1,
        counter: 1,
        position: EntryPosition {
            next: to,
            epoch: Epoch(1),
            ..EntryPosition::START
        },
        by: 1,
    };
    let keeper = sites.at(KEEPER);
    let swapped = keeper.swap_register(Register::Boundary, None, &boundary.encode());
    swapped.unwrap();
    for place in places {
        sites
            .at(place)
            .remove(&(1..to).collect::<Vec<_>>())
            .unwrap();
    }
}

/// The whole log was deleted up to a base, which the restored copy has not. The ones that have it stay.
#[test]
fn copies_whose_log_was_deleted_up_to_a_base_stay_beside_an_older_copy() {
    let sites = Sites::new(&COPIES);
    let p = grown(&sites, 1, 10);
    let backup = sites.backup("a");
    p.copies.create_object("bases/11", b"base").unwrap();
    trim(&sites, 11, &COPIES);
    sites.restore("a", &backup);
    let host = Host::new(&sites);
    host.appends(11, "fence");
    host.maintain();
    assert!(sites.in_sync().contains(&"b".into()));
    let base = Host::new(&sites).copies.read_object("bases/11").unwrap();
    assert_eq!(base.as_deref(), Some(&b"base"[..]));
}

/// A trim has reached some copies only.
#[test]
fn a_trim_that_is_under_way_excludes_no_copy() {
    for last in [10, 30] {
        let sites = Sites::new(&COPIES);
        grown(&sites, 1, last);
        trim(&sites, 11, &["a", "b"]);
        let host = Host::new(&sites);
        host.copies.leave_out_restored(11).unwrap();
        host.appends(last + 1, "fence");
        assert_eq!(sites.in_sync(), COPIES, "{last}");
    }
}

/// A claimant had no answer of the keeper for long.
#[test]
fn a_claimant_that_is_late_does_not_take_a_trimmed_log_for_a_restored_one() {
    let sites = Sites::new(&COPIES);
    let w = grown(&sites, 1, 10);
    let late = Host::new(&sites);
    assert_eq!(late.copies.read(11).unwrap(), None);
    for number in 11..=30 {
        w.appends(number, &"x".repeat(500));
    }
    trim(&sites, 30, &COPIES);
    late.append(11, "fence").unwrap();
    assert_eq!(sites.in_sync(), COPIES);
}

/// The host's directory ends in a part of the log that was deleted since, and that a restored copy has.
#[test]
fn an_older_directory_beside_a_restored_copy_starts() {
    let sites = Sites::new(&COPIES);
    let p = grown(&sites, 1, 10);
    let backup = sites.backup("a");
    for number in 11..=30 {
        p.appends(number, &"x".repeat(500));
    }
    drop(p);
    trim(&sites, 26, &COPIES);
    sites.restore("a", &backup);
    let host = Host::new(&sites);
    host.copies.leave_out_restored(10).unwrap();
    assert_eq!(sites.in_sync(), ["b", "c"]);
}

/// A process has excluded one of two restored copies, and ends. The intact one is away.
#[test]
fn an_exclusion_records_the_end_that_the_copy_lacks() {
    let sites = restored(&["a", "c"]);
    let host = Host::new(&sites);
    let view = host.copies.look().unwrap();
    let Ends::Lacks(broken, complete) = host.copies.compare_ends(&view, 2).unwrap() else {
        panic!("no alarm");
    };
    let without = host.copies.without(&view, &broken, complete).unwrap();
    host.copies.leave_out(&view, &without, &broken).unwrap();
    assert_eq!(sites.in_sync(), ["a", "b"]);
    let next = Host::new_beside(&sites, &["b"]);
    for _ in 0..3 {
        take_over(&next).unwrap_err();
        next.net.pause(Duration::from_secs(10));
    }
    let host = Host::new(&sites);
    assert!(take_over(&host).is_ok() && has_all(&host));
}

/// The intact copy is the last one, and is away for longer than a reader waits. It is back later.
#[test]
fn the_last_copy_with_the_entries_is_not_excluded_beside_restored_ones() {
    let sites = Sites::new(&COPIES);
    let p = Host::new(&sites);
    p.appends(1, "one");
    let backups = ["a", "b"].map(|place| sites.backup(place));
    p.appends(2, "two");
    p.appends(3, "three");
    assert_eq!(take_over(&Host::new(&sites)).unwrap(), 4);
    for (place, backup) in ["a", "b"].iter().zip(&backups) {
        sites.restore(place, backup);
    }
    let host = Host::new_beside(&sites, &["c"]);
    for _ in 0..3 {
        let _ = take_over(&host);
        host.net.pause(Duration::from_secs(10));
    }
    assert_eq!(sites.in_sync(), COPIES);
    let host = Host::new(&sites);
    assert!(take_over(&host).is_ok() && has_all(&host));
}
