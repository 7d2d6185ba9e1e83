//! Keepers that were restored, by hand: hosts that know less than the history ask the copies.

use super::evidence::{StateName, name_of};
use super::keeper::Keeper;
use super::planted::Planted;
use super::putting_back::PutBack;
use super::record::SetRecord;
use super::remembered::read_all;
use super::restored_world::{COPIES, new_disk, set, start_with};
use super::schedules::with_and_without;
use super::sites::{KEEPER, Sites};
use super::tests::{Host, Net};
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::sync::Arc;

/// P has left the set {a, b, c} for {b} and has acknowledged an entry there; then the register of before is restored.
fn restored_to_all(sites: &Arc<Sites>) -> (Host, SetRecord) {
    let backup = sites.record();
    let p = Host::new(sites);
    p.cut(&["a", "c"]);
    p.appends(1, "p1");
    let newest = sites.record();
    assert_eq!(sites.in_sync(), ["b"]);
    set(&*sites.at(KEEPER), backup.encode().as_bytes());
    (p, newest)
}

fn is_refused<T>(answer: &Result<T, StoreError>) -> bool {
    let Err(error @ StoreError::Setup { .. }) = answer else {
        return false;
    };
    error.to_string().contains("--put-back")
}

/// A host that runs since before the change, and did not see it, becomes the writer after the restoration.
#[test]
fn a_process_that_knows_nothing_newer_asks_the_copies_before_it_becomes_the_writer() {
    with_and_without(Planted::TakenWithoutAsking, || {
        let sites = Sites::new(&COPIES);
        let h = Host::new(&sites);
        let _p = restored_to_all(&sites);
        let before = sites.record();
        let is_refused = || is_refused(&h.append(1, "h1"));
        is_refused() && is_refused() && sites.record() == before
    });
}

/// The limit: the copy that knows the newest register is away, so H continues the older one. When the copy is back, H
/// finds out, acknowledges nothing more, and leaves the copy as it is.
#[test]
fn a_host_on_another_line_ends_when_a_copy_of_the_first_line_is_back() {
    with_and_without(Planted::JoinedWithoutAsking, || {
        let sites = Sites::new(&COPIES);
        let h = Host::new(&sites);
        let _p = restored_to_all(&sites);
        h.cut(&["b"]);
        h.appends(1, "h1");
        h.cut(&[]);
        h.maintain();
        let life = |record: SetRecord| record.copies.iter().map(|copy| copy.life).max();
        is_refused(&h.append(2, "h2")) && life(sites.record()) == Some(1)
    });
}

/// The name of a state, which the message shows.
fn error_name(message: &str, state: &SetRecord) -> StateName {
    let name = name_of(state);
    assert!(message.contains(&name.to_string()), "{message}");
    assert_eq!(name.to_string().parse(), Ok(name));
    name
}

/// Both lines have acknowledged entries, so a person chooses one. Hosts of either one follow then.
#[test]
fn of_two_lines_a_person_chooses_one_and_hosts_of_both_follow_it() {
    let sites = Sites::new(&COPIES);
    let disk = new_disk(1);
    let (_p, newest) = restored_to_all(&sites);
    let net = Net::default();
    net.cut(&["b"]);
    let h = start_with(&sites, net, &disk, None).unwrap();
    h.appends(1, "h1");
    drop(h);
    assert_eq!(read_all(&disk).unwrap().len(), 1);
    let keeper = || sites.at(KEEPER) as Arc<dyn RemotePlace>;
    let error = Host::put_back(&sites, keeper(), None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("of several lines"), "{error}");
    // Neither does a directory choose: a person names a state of the line.
    assert!(Host::put_back(&sites, keeper(), Some(newest.clone())).is_err());
    let wish = PutBack {
        keep: Some(error_name(&error, &newest)),
        ..PutBack::default()
    };
    let back = Host::try_to_put_back(&sites, keeper(), None, &wish, &[]).unwrap();
    assert_eq!(back.discarded.len(), 1, "{back:?}");
    assert_eq!(back.discarded[0].known_by, ["a", "c", "the keeper"]);
    let in_sync: Vec<_> = back.record.in_sync().map(|copy| &copy.place[..]).collect();
    assert_eq!(in_sync, ["b"]);
    for disk in [disk, new_disk(2)] {
        let host = start_with(&sites, Net::default(), &disk, None).unwrap();
        assert_eq!(host.copies.read(1).unwrap().unwrap(), b"p1");
    }
    let host = Host::new(&sites);
    host.appends(2, "two");
    host.maintain();
    assert_eq!(sites.in_sync(), ["b", "c", "a"]);
    let error = Host::put_back(&sites, keeper(), Some(newest))
        .unwrap_err()
        .to_string();
    assert!(error.contains("nothing newer"), "{error}");
}

#[test]
fn a_damaged_register_is_put_back_from_the_copies() {
    let sites = Sites::new(&COPIES);
    Host::new(&sites).appends(1, "one");
    let newest = sites.record();
    let keeper = sites.at(KEEPER);
    set(&*keeper, b"format_version = 1\n");
    let refused = start_with(&sites, Net::default(), &new_disk(1), None);
    assert!(is_refused(&refused.map(drop)));
    assert_eq!(Host::put_back(&sites, keeper, None).unwrap(), newest);
    assert_eq!(Host::new(&sites).copies.read(1).unwrap().unwrap(), b"one");
}

/// A place that was removed is named by an older register, and knows that it counts no longer.
#[test]
fn a_removed_place_knows_that_an_older_register_names_it() {
    let sites = Sites::with_others(&["a", "b"], &["c", "d"]);
    let host = Host::new(&sites);
    host.appends(1, "one");
    let backup = sites.record();
    host.change(&["c", "d"], &[]).unwrap();
    host.maintain();
    host.change(&[], &["a", "b"]).unwrap();
    assert_eq!(sites.in_sync(), ["c", "d"]);
    set(&*sites.at(KEEPER), backup.encode().as_bytes());
    let started = Host::start(&sites, Net::default(), Keeper::new);
    assert!(is_refused(&started.map(drop)));
}

/// The places of before were away when they were removed, and know of nothing. A person follows a host's advice and adds the
/// places that the host names: they have the acknowledged entries, and begin no new life.
#[test]
fn places_that_know_a_newer_register_are_not_added_to_an_older_one() {
    let sites = Sites::with_others(&["a", "b"], &["c", "d"]);
    let host = Host::new(&sites);
    host.appends(1, "one");
    let backup = sites.record();
    host.change(&["c", "d"], &[]).unwrap();
    host.maintain();
    host.cut(&["a", "b"]);
    host.change(&[], &["a", "b"]).unwrap();
    host.appends(2, "two");
    host.cut(&[]);
    set(&*sites.at(KEEPER), backup.encode().as_bytes());
    assert!(is_refused(&host.change(&["c", "d"], &[])));
}
