//! Changes of the places of a set by hand: the content of a new place, the refusals, and hosts that continue meanwhile.

use super::keeper::Keeper;
use super::life::{Life, mark_of};
use super::record::{SetRecord, Standing};
use super::sites::{KEEPER, Sites};
use super::spelling::COPY_BYTES_MAX;
use super::tests::Host;
use crate::options::RemoteOptions;
use crate::place::open;
use crate::{PlacesChange, change_copies, copies_of};
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::store::{Appended, RemoteStore, StoreError};

/// An entry of a copy, in the life that it has by the register.
fn entry(sites: &Sites, place: &str, number: u64) -> Option<Vec<u8>> {
    let record = sites.record();
    let copy = record.copies.iter().find(|copy| copy.place == place);
    let life = Life::new(sites.at(place), copy.unwrap().life);
    life.read(number).unwrap()
}

#[test]
fn a_place_that_is_added_is_filled_and_a_removed_one_is_asked_no_more() {
    let sites = Sites::with_others(&["a", "b"], &["c"]);
    let (host, person) = (Host::new(&sites), Host::new(&sites));
    host.appends(1, "one");
    host.copies.create_object("bases/x", b"object").unwrap();
    let record = person.change(&["c"], &[]).unwrap();
    let added = record.standing(Standing::Out).next().unwrap();
    assert_eq!((&added.place[..], added.life), ("c", 1));
    // Transactions do not wait for it.
    host.appends(2, "two");
    assert_eq!(sites.at("c").read(2).unwrap(), None);
    host.maintain();
    assert_eq!(sites.in_sync(), ["a", "b", "c"]);
    assert_eq!(
        sites.at("c").list(0).unwrap(),
        sites.at("a").list(0).unwrap()
    );
    let object = sites.at("c").read_object("life-1/bases/x").unwrap();
    assert_eq!(object.unwrap(), b"object");
    host.appends(3, "three");
    assert_eq!(sites.at("c").read(3).unwrap().unwrap(), b"three");

    person.change(&[], &["a"]).unwrap();
    assert_eq!(sites.in_sync(), ["b", "c"]);
    host.maintain();
    host.appends(4, "four");
    assert_eq!(sites.at("a").read(4).unwrap(), None);
    // A reader that knows the set of before reads the one that is there.
    assert_eq!(person.copies.read(4).unwrap().unwrap(), b"four");
}

/// The writer does not know yet that a place was removed: an entry that it acknowledges is on the set of then all the same.
#[test]
fn a_writer_that_has_not_seen_the_change_acknowledges_nothing_that_the_new_set_lacks() {
    let sites = Sites::with_others(&["a", "b", "c"], &["d"]);
    let (host, person, next) = (Host::new(&sites), Host::new(&sites), Host::new(&sites));
    host.appends(1, "one");
    person.change(&["d"], &["c"]).unwrap();
    host.appends(2, "two");
    next.appends(3, "three");
    next.maintain();
    assert_eq!(sites.in_sync(), ["a", "b", "d"]);
    // It was superseded, and its set has a fence of that under its next number.
    assert_eq!(host.append(3, "lost").unwrap(), Appended::Conflict);
    for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
        for place in ["a", "b", "d"] {
            assert_eq!(entry(&sites, place, number).unwrap(), text.as_bytes());
        }
    }
}

#[test]
fn a_place_that_comes_back_begins_another_life_whatever_it_had() {
    let sites = Sites::new(&["a", "b", "c"]);
    let (host, person) = (Host::new(&sites), Host::new(&sites));
    host.appends(1, "one");
    person.change(&[], &["c"]).unwrap();
    // Entries that were never acknowledged, of a length that no fence has.
    sites.at("c").append_at(2, &[7; 500]).unwrap();
    host.maintain();
    host.appends(2, "two");
    let record = person.change(&["c"], &[]).unwrap();
    let back = record.standing(Standing::Out).next().unwrap();
    assert_eq!((back.life, back.complete), (2, 0));
    host.maintain();
    assert_eq!(sites.in_sync(), ["a", "b", "c"]);
    person.change(&[], &["a"]).unwrap();
    host.cut(&["b"]);
    host.append(3, "three").unwrap();
    assert_eq!(host.copies.read(2).unwrap().unwrap(), b"two");
    assert_eq!(
        sites.at("c").read(2).unwrap(),
        None,
        "the earlier life is deleted"
    );
}

/// A process that knows the place of before asks it in its new life, although the place was emptied meanwhile.
#[test]
fn a_place_that_comes_back_empty_has_a_life_of_its_own() {
    let sites = Sites::with_others(&["a", "b", "c"], &[]);
    let (host, person) = (Host::new(&sites), Host::new(&sites));
    host.appends(1, "one");
    person.change(&[], &["c"]).unwrap();
    sites.at("c").remove_objects(&[mark_of(9, 1)]).unwrap();
    sites.at("c").remove(&[1]).unwrap();
    let record = person.change(&["c"], &[]).unwrap();
    let back = record.standing(Standing::Out).next().unwrap();
    assert_eq!(back.life, 2);
    host.maintain();
    assert_eq!(sites.in_sync(), ["a", "b", "c"]);
    assert_eq!(host.copies.read(1).unwrap().unwrap(), b"one");
}

#[test]
fn a_lost_place_is_replaced_in_one_step_and_too_few_copies_are_never_left() {
    let sites = Sites::with_others(&["a", "b"], &["c"]);
    let (host, person) = (Host::new(&sites), Host::new(&sites));
    host.appends(1, "one");
    let refused = |person: &Host, added: &[&str], removed: &[&str], why: &str| {
        let before = sites.record();
        let error = person.change(added, removed).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(sites.record(), before);
    };
    refused(
        &person,
        &[],
        &["b"],
        "1 places for the log, and needs 2 or more: add a place",
    );
    refused(&person, &["c"], &["b"], "needs 2; add a place first");
    refused(&person, &["a"], &[], "already");
    refused(&person, &[], &["c"], "no copy of this set");
    refused(&person, &[KEEPER], &[], "named twice");
    refused(&person, &["c", "c"], &[], "named twice");
    person.cut(&["a"]);
    // It could be the new one under another name.
    refused(&person, &["c"], &[], "a gives no answer");
    person.cut(&[]);

    host.cut(&["b"]);
    host.appends(2, "two");
    person.cut(&["b"]);
    person.change(&["c"], &["b"]).unwrap();
    host.maintain();
    assert_eq!(sites.in_sync(), ["a", "c"]);
    // In sync by the register, and silent: it does not count.
    person.change(&["b"], &[]).unwrap_err();
    person.cut(&[]);
    host.cut(&[]);
    person.change(&["b"], &[]).unwrap();
    host.maintain();
    assert_eq!(sites.in_sync(), ["a", "c", "b"]);
    person.cut(&["c"]);
    refused(&person, &[], &["a"], "1 copies that are in sync and answer");
}

#[test]
fn a_new_place_is_empty_and_another_store_than_those_of_the_set() {
    let sites = Sites::with_others(&["a", "b"], &["c"]);
    let person = Host::new(&sites);
    sites.at("c").append_at(9, b"of another log").unwrap();
    let error = person.change(&["c"], &[]).unwrap_err();
    assert!(matches!(error, StoreError::Setup { .. }), "{error}");
    assert!(error.to_string().contains("not of this set"), "{error}");

    let home = tempfile::tempdir_in("/dev/shm").unwrap();
    let at = home.path().display();
    let place = format!("copies:file:{at}/keeper;file:{at}/one;file:{at}/two");
    let options = RemoteOptions::default();
    let log = open(&place, &options).unwrap();
    assert_eq!(log.append_at(1, b"one").unwrap(), Appended::Ok);
    let add = |directory: &str| PlacesChange {
        added: vec![format!("file:{at}/{directory}")],
        removed: Vec::new(),
    };
    for (directory, other) in [("./two", "two"), ("./keeper", "keeper")] {
        let error = change_copies(&place, &add(directory), &options).unwrap_err();
        let says = format!("it is the store of file:{at}/{other} under another name");
        assert!(error.to_string().contains(&says), "{error}");
    }
    let record = change_copies(&place, &add("three"), &options).unwrap();
    assert_eq!(record.copies.len(), 3);
    // The places of before are accepted, and others are not.
    drop(open(&place, &options).unwrap());
    let known = format!("{place};file:{at}/three");
    drop(open(&known, &options).unwrap());
    let error = open(&format!("{place};file:{at}/four"), &options).unwrap_err();
    assert!(error.to_string().contains("spelled the same"), "{error}");
    let found = copies_of(&place, &options).unwrap().unwrap();
    assert_eq!(found.places().len(), 3);
    let error = change_copies("file:/x", &add("three"), &options).unwrap_err();
    assert!(matches!(error, StoreError::Place { .. }), "{error}");
}

#[test]
fn a_store_is_added_under_one_of_its_names_only() {
    let sites = Sites::with_others(&["a", "b"], &["c"]);
    let (person, other) = (Host::new(&sites), Host::new(&sites));
    let before = sites.record();
    let error = person.change(&["c", "./c"], &[]).unwrap_err();
    assert!(
        error.to_string().contains("is the store of ./c under"),
        "{error}"
    );
    assert_eq!(sites.record(), before);
    // Another person adds it while this one looks at it.
    person.net.then.set("./c", move || {
        other.change(&["c"], &[]).unwrap();
    });
    let error = person.change(&["./c"], &[]).unwrap_err();
    assert!(
        error.to_string().contains("is the store of c under"),
        "{error}"
    );
    assert_eq!(sites.record().places(), ["a", "b", "c"]);
}

/// Another person adds and removes the place meanwhile, and it is emptied: processes know its first life by then.
#[test]
fn a_life_that_another_change_used_meanwhile_is_not_used_again() {
    let sites = Sites::with_others(&["a", "b"], &["c"]);
    let (person, other) = (Host::new(&sites), Host::new(&sites));
    let there = sites.at("c");
    person.net.then.set("c", move || {
        let record = other.change(&["c"], &[]).unwrap();
        assert_eq!(record.standing(Standing::Out).next().unwrap().life, 1);
        other.change(&[], &["c"]).unwrap();
        there.remove_objects(&[mark_of(9, 1)]).unwrap();
    });
    let record = person.change(&["c"], &[]).unwrap();
    assert_eq!(record.standing(Standing::Out).next().unwrap().life, 2);
}

#[test]
fn a_place_that_no_register_can_keep_is_refused_before_anything_is_written() {
    let sites = Sites::with_others(&["a", "b"], &[]);
    let person = Host::new(&sites);
    let before = sites.record();
    let long = "x".repeat(1025);
    for place in [
        "", " c", "c ", "c\n", "c;d", "c\u{7}", "c d", "copies:c", &long,
    ] {
        let error = person.change(&[place], &[]).unwrap_err();
        assert!(
            matches!(error, StoreError::Place { .. }),
            "{place:?}: {error}"
        );
        assert!(error.to_string().contains("an --add of its own"), "{error}");
        assert_eq!(sites.record(), before);
    }
}

#[test]
fn a_register_that_does_not_read_back_is_not_written() {
    let sites = Sites::new(&["a", "b"]);
    let keeper = Keeper::new(sites.at(KEEPER));
    let view = keeper.read().unwrap();
    for place in ["c\n".into(), "x".repeat(70_000)] {
        let record = view.record.with_places(&[(place, 1)], &[], 0);
        let error = keeper.replace(Some(&view.version), &record).unwrap_err();
        assert!(matches!(error, StoreError::Setup { .. }), "{error}");
        assert_eq!(sites.record(), view.record);
    }
}

#[test]
fn a_register_of_the_longest_places_keeps_its_bound_over_many_changes() {
    let name = |number: u32| format!("{number:0width$}", width = COPY_BYTES_MAX);
    let first: Vec<String> = (0..8).map(name).collect();
    let mut record = SetRecord::new(9, &first, 0);
    for number in 8..40 {
        let removed = record.copies.last().unwrap().place.clone();
        record = record.with_places(&[(name(number), 1)], &[removed], 0);
        let text = record.encode();
        assert!(text.len() <= 32 << 10, "{}", text.len());
        assert_eq!(SetRecord::decode(text.as_bytes()).unwrap(), record);
        assert!(!record.former.is_empty());
    }
}

#[test]
fn a_place_of_another_set_is_refused_also_if_that_one_adds_it_at_the_same_time() {
    let sites = Sites::with_others(&["a", "b"], &["c"]);
    let person = Host::new(&sites);
    let there = sites.at("c");
    let refused = |marks: usize| {
        let error = person.change(&["c"], &[]).unwrap_err();
        assert!(matches!(error, StoreError::Setup { .. }), "{error}");
        assert!(
            error.to_string().contains("name another, empty place"),
            "{error}"
        );
        assert_eq!(sites.record().places(), ["a", "b"]);
        assert_eq!(there.list_objects("copies").unwrap().len(), marks);
    };
    there.create_object(&mark_of(8, 1), b"c").unwrap();
    refused(1);
    there.remove_objects(&[mark_of(8, 1)]).unwrap();
    // The other one begins when this one has looked for it, and before this one's mark.
    let same = there.clone();
    person.net.then.set("c", move || {
        same.create_object(&mark_of(8, 1), b"c").unwrap();
    });
    refused(1);
}

#[test]
fn two_sets_are_not_made_of_one_place_and_one_that_was_half_made_is_made_again() {
    let home = tempfile::tempdir_in("/dev/shm").unwrap();
    let at = home.path().display();
    let options = RemoteOptions::default();
    let one = format!("copies:file:{at}/k1;file:{at}/a;file:{at}/c");
    // The process that made it ended before the register was written.
    drop(open(&one, &options).unwrap());
    std::fs::remove_dir_all(home.path().join("k1/copies")).unwrap();
    let made = open(&one, &options).unwrap();
    drop(made);
    let two = format!("copies:file:{at}/k2;file:{at}/b;file:{at}/c");
    let error = open(&two, &options).unwrap_err();
    assert!(
        error.to_string().contains("another set of copies has it"),
        "{error}"
    );
    let two = format!("copies:file:{at}/k3;file:{at}/d;file:{at}/./d");
    let error = open(&two, &options).unwrap_err();
    assert!(
        error.to_string().contains("another of these names"),
        "{error}"
    );
}

#[test]
fn a_lost_copy_that_is_still_in_sync_is_replaced_at_once_also_if_it_is_the_tail() {
    for lost in ["a", "b", "d"] {
        let sites = Sites::with_others(&["a", "b", "d"], &["c"]);
        let (host, person) = (Host::new(&sites), Host::new(&sites));
        host.appends(1, "one");
        person.cut(&[lost]);
        person.change(&["c"], &[lost]).unwrap();
        host.cut(&[lost]);
        host.appends(2, "two");
        host.maintain();
        assert_eq!(sites.in_sync().len(), 3, "{lost}");
        assert_eq!(entry(&sites, "c", 2).unwrap(), b"two");
    }
    // Of two: the other one answers. If none does, nothing changes.
    let sites = Sites::with_others(&["a", "b"], &["c"]);
    let person = Host::new(&sites);
    person.cut(&["a", "b"]);
    let error = person.change(&["c"], &["a"]).unwrap_err();
    assert!(
        error.to_string().contains("0 copies that are in sync"),
        "{error}"
    );
    person.cut(&["a"]);
    person.change(&["c"], &["a"]).unwrap();
    assert_eq!(sites.in_sync(), ["b"]);
}
