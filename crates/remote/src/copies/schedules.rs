//! Schedules that seeds seldom reach: the purpose of each rule of the set. Each is run with the rule left out, and
//! with it.

use super::planted::{PLANTED, Planted};
use super::record::{SetRecord, Standing};
use super::sites::{KEEPER, Sites};
use super::tests::Host;
use super::time::Time;
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::store::{Appended, RemoteStore, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// Runs a scenario with an error planted, and without.
pub(super) fn with_and_without(planted: Planted, holds: impl Fn() -> bool) {
    assert!(holds());
    PLANTED.set(Some(planted));
    let found = !holds();
    PLANTED.set(None);
    assert!(found, "{planted:?} is not found");
}

/// Entries that are appended while a copy joins.
#[test]
fn a_copy_that_joins_has_what_was_appended_meanwhile() {
    with_and_without(Planted::JoinedBehind, || {
        let sites = Sites::new(&["a", "b"]);
        let host = Host::new(&sites);
        host.cut(&["b"]);
        host.appends(1, "one");
        host.cut(&[]);
        host.net.pause(Duration::from_secs(2));
        for number in 2.. {
            let is_joining = host.copies.maintain().unwrap();
            host.appends(number, "more");
            if !is_joining {
                break;
            }
        }
        assert_eq!(sites.in_sync(), ["a", "b"]);
        sites.at("a").list(0).unwrap() == sites.at("b").list(0).unwrap()
    });
}

/// P owns the log with `a` alone; T takes over; P, whose thread still runs, must not let `b` in beside T's appends.
#[test]
fn only_the_writer_lets_copies_in() {
    with_and_without(Planted::NoWriter, || {
        let sites = Sites::new(&["a", "b"]);
        let (p, t) = (Host::new(&sites), Host::new(&sites));
        p.cut(&["b"]);
        p.appends(1, "p1");
        t.appends(2, "t2");
        p.cut(&[]);
        p.maintain();
        t.appends(3, "t3");
        // `a` is lost. If `b` is in the set, it has everything.
        let in_sync = sites.in_sync();
        in_sync == ["a"] || sites.at("b").read(3).unwrap().is_some()
    });
}

/// P owns the log with `a` alone; T becomes the writer, but has no entry on `a` yet: it must not let `b` in and leave `a`.
#[test]
fn a_new_writer_lets_nothing_in_before_the_one_before_is_fenced() {
    with_and_without(Planted::JoinedBeforeFence, || {
        let sites = Sites::new(&["a", "b"]);
        let (p, t) = (Host::new(&sites), Host::new(&sites));
        p.cut(&["b"]);
        p.appends(1, "p1");
        t.cut(&["a"]);
        t.append(2, "t2").unwrap_err();
        assert_ne!(sites.record().writer, p.copies.process);
        t.cut(&[]);
        t.maintain();
        t.cut(&["a"]);
        let acknowledged = [t.append(2, "t2"), p.append(2, "p2")];
        let won = |answer: &Result<Appended, StoreError>| matches!(answer, Ok(Appended::Ok));
        acknowledged.iter().filter(|answer| won(answer)).count() == 1
    });
}

/// A reader knows the set {s, b}. Meanwhile it has become {b, s}, and then {s}, of which `b` has an entry that was never
/// acknowledged.
#[test]
fn a_reader_believes_a_copy_only_if_the_set_is_still_the_same() {
    with_and_without(Planted::ReadUnconfirmed, || {
        let sites = Sites::new(&["s", "b"]);
        let (reader, p, t) = (Host::new(&sites), Host::new(&sites), Host::new(&sites));
        p.cut(&["s"]);
        p.appends(1, "p1");
        p.cut(&[]);
        p.maintain();
        assert_eq!(sites.in_sync(), ["b", "s"]);
        p.appends(2, "p2");
        p.cut(&["s", KEEPER]);
        p.append(3, "p3").unwrap_err();
        assert_eq!(sites.at("b").read(3).unwrap().unwrap(), b"p3");
        t.cut(&["b"]);
        t.appends(3, "t3");
        assert_eq!(sites.in_sync(), ["s"]);
        reader.copies.read(3).unwrap().unwrap() == b"t3"
    });
}

/// P was superseded while `b` was out: its append is a conflict, and it does not change the set of the new writer.
#[test]
fn a_writer_that_was_superseded_finds_the_fence_on_the_set_that_is_there() {
    let sites = Sites::new(&["a", "b"]);
    let (p, t) = (Host::new(&sites), Host::new(&sites));
    p.appends(1, "p1");
    t.cut(&["a"]);
    t.appends(2, "t2");
    let before = sites.record();
    assert_eq!(p.append(2, "p2").unwrap(), Appended::Conflict);
    assert_eq!(p.copies.read(2).unwrap().unwrap(), b"t2");
    assert_eq!(sites.record(), before);
    // Its own entry on `a`, which is out, is replaced when `a` comes back.
    assert_eq!(sites.at("a").read(2).unwrap().unwrap(), b"p2");
    t.cut(&[]);
    t.maintain();
    let record = sites.record();
    assert_eq!(record.tail().map(|copy| copy.life), Some(2));
}

/// P owned the log with `a` alone. T takes over and lets `b` in; P claims again, in the same process, and must append on both.
#[test]
fn a_process_that_claims_again_appends_on_the_set_that_is_there() {
    with_and_without(Planted::TenureKept, || {
        let sites = Sites::new(&["a", "b"]);
        let (p, t) = (Host::new(&sites), Host::new(&sites));
        p.cut(&["b"]);
        p.appends(1, "p1");
        p.cut(&[]);
        t.appends(2, "t2");
        t.maintain();
        assert_eq!(sites.in_sync(), ["a", "b"]);
        p.maintain();
        p.appends(3, "p3");
        // `a` is lost.
        t.cut(&["a"]);
        t.append(3, "t3").unwrap() == Appended::Conflict
    });
}

/// T becomes the writer after P, and dies before its fence is there: P's next append makes P the writer again.
#[test]
fn a_writer_whose_successor_died_lets_copies_in_again() {
    let sites = Sites::new(&["a", "b"]);
    let (p, t) = (Host::new(&sites), Host::new(&sites));
    p.cut(&["b"]);
    p.appends(1, "p1");
    t.cut(&["a"]);
    t.append(2, "t2").unwrap_err();
    assert_ne!(sites.record().writer, p.copies.process);
    p.cut(&[]);
    p.maintain();
    assert_eq!(sites.in_sync(), ["a"], "an entry of P comes first");
    p.appends(2, "p2");
    p.maintain();
    assert_eq!(sites.in_sync(), ["a", "b"]);
}

/// P was stopped while it had `a` alone. The fence of T is at the number at which P continues. T dies with an entry on
/// `a` that U does not know, so `a` begins a new life. The fence must stay.
#[test]
fn a_fence_outlives_the_life_of_its_copy() {
    with_and_without(Planted::FencesOfLivesDeleted, || {
        let sites = Sites::new(&["a", "b"]);
        let [p, t, u] = [0; 3].map(|_| Host::new(&sites));
        p.cut(&["b"]);
        p.appends(1, "p1");
        t.appends(2, "t2");
        t.maintain();
        assert_eq!(sites.in_sync(), ["a", "b"]);
        t.appends(3, "t3");
        t.cut(&["b", KEEPER]);
        t.append(4, "t4").unwrap_err();
        u.cut(&["a"]);
        u.appends(4, "u4");
        u.cut(&[]);
        u.maintain();
        let record = sites.record();
        let lives = record.in_sync().map(|copy| (&copy.place[..], copy.life));
        assert_eq!(lives.collect::<Vec<_>>(), [("b", 1), ("a", 2)]);
        p.append(2, "p2").unwrap() == Appended::Conflict
    });
}

/// `b` joins: its objects are compared with those of `a`, and meanwhile another process creates one on both.
#[test]
fn an_object_created_while_objects_are_compared_stays() {
    with_and_without(Planted::JoiningObjectsDeleted, || {
        let sites = Sites::new(&["a", "b"]);
        let (host, other) = (Host::new(&sites), Arc::new(Host::new(&sites)));
        host.cut(&["b"]);
        host.appends(1, "one");
        host.cut(&[]);
        let creator = other.clone();
        host.net.then.set("a", move || {
            let created = creator.copies.create_object("bases/x", b"object");
            assert_eq!(created.unwrap(), Appended::Ok);
        });
        host.maintain();
        assert_eq!(sites.in_sync(), ["a", "b"]);
        other.copies.read_object("bases/x").unwrap().is_some()
    });
}

/// An object whose creation was given up is on `b` only. While `b` joins, its creator tries again, and succeeds.
#[test]
fn an_object_that_is_created_again_while_objects_are_compared_stays() {
    let sites = Sites::new(&["a", "b"]);
    let (host, other) = (Host::new(&sites), Arc::new(Host::new(&sites)));
    host.cut(&["b"]);
    host.appends(1, "one");
    host.cut(&[]);
    sites
        .at("b")
        .create_object("life-1/bases/x", b"object")
        .unwrap();
    sites
        .at("b")
        .create_object("life-1/bases/y", b"object")
        .unwrap();
    let creator = other.clone();
    host.net.then.set("a", move || {
        let created = creator.copies.create_object("bases/x", b"object");
        assert_eq!(created.unwrap(), Appended::Ok);
    });
    host.maintain();
    assert_eq!(sites.in_sync(), ["a", "b"]);
    let names = |place| sites.at(place).list_objects("life-1").unwrap();
    assert_eq!(names("a"), names("b"));
    assert_eq!(names("b").len(), 1);
}

#[test]
fn an_object_created_while_a_copy_joins_is_on_it() {
    let sites = Sites::new(&["a", "b"]);
    let host = Host::new(&sites);
    host.cut(&["b"]);
    for number in 1..200 {
        host.appends(number, "x");
    }
    host.cut(&[]);
    host.net.pause(Duration::from_secs(2));
    let other = Host::new(&sites);
    for step in 0.. {
        let name = format!("bases/{step}");
        other.copies.create_object(&name, b"object").unwrap();
        if !host.copies.maintain().unwrap() {
            break;
        }
    }
    assert_eq!(sites.in_sync(), ["a", "b"]);
    let objects = |place| sites.at(place).list_objects("life-1").unwrap();
    assert_eq!(objects("a"), objects("b"));
    // A joining copy that goes away is not waited for.
    host.cut(&["b"]);
    host.appends(200, "x");
    host.cut(&[]);
    host.net.pause(Duration::from_secs(2));
    host.copies.maintain().unwrap();
    let joining = |record: &SetRecord| record.standing(Standing::Joining).count();
    assert_eq!(joining(&sites.record()), 1);
    other.cut(&["b"]);
    other.copies.create_object("bases/last", b"object").unwrap();
    assert_eq!(joining(&sites.record()), 0);
}
