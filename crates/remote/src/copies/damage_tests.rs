//! Copies that lose or damage entries on their own disks: while they are out, and in the set.

use super::elsewhere::is_damaged;
use super::planted::Planted;
use super::schedules::with_and_without;
use super::sites::Sites;
use super::tests::Host;
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::EntryBuilder;
use sardonyx_storage::remote_log::position::{EntryPosition, Epoch};
use sardonyx_storage::remote_log::shell::{Follower, Patience, RemoteWriter};
use sardonyx_storage::remote_log::store::RemoteStore;
use std::sync::Arc;
use std::time::Duration;

/// Replaces an entry of a copy, on its disk.
fn replace(sites: &Sites, place: &str, number: u64, bytes: Option<&[u8]>) {
    let store = sites.at(place);
    store.remove(&[number]).unwrap();
    if let Some(bytes) = bytes {
        store.append_at(number, bytes).unwrap();
    }
}

/// `b` was out, and has the first five of six entries.
fn with_b_out(places: &[&str]) -> (Arc<Sites>, Host) {
    let sites = Sites::new(places);
    let host = Host::new(&sites);
    (1..=5).for_each(|number| host.appends(number, "entry"));
    host.cut(&["b"]);
    host.appends(6, "entry");
    let record = sites.record();
    let b = record.copies.iter().find(|copy| copy.place == "b").unwrap();
    assert_eq!(b.complete, 5);
    host.cut(&[]);
    (sites, host)
}

/// Each copy has all entries, and the last one is read.
fn is_whole(sites: &Sites, host: &Host, copies: usize) -> bool {
    let has = |number| {
        let read = host.copies.read(number);
        read.is_ok_and(|read| read.as_deref() == Some(&b"entry"[..]))
    };
    sites.in_sync().len() == copies && (1..=6).all(has)
}

/// Each number up to the recorded one is looked at.
#[test]
fn i1_a_copy_that_lost_or_cut_entries_while_it_was_out_is_filled_before_it_is_in_the_set() {
    for damage in [None, Some(&b"\0\0"[..]), Some(b"")] {
        for numbers in [&[1][..], &[3], &[5], &[2, 4], &[3, 4], &[1, 2, 3, 4, 5]] {
            with_and_without(Planted::RecordedTrusted, || {
                let (sites, host) = with_b_out(&["a", "b"]);
                for number in numbers {
                    replace(&sites, "b", *number, damage);
                }
                host.maintain();
                is_whole(&sites, &host, 2)
            });
        }
    }
}

#[test]
fn i1_a_damaged_entry_of_a_copy_that_came_back_is_found_when_it_is_read_beside_the_others() {
    with_and_without(Planted::NotScrubbed, || {
        let (sites, host) = with_b_out(&["a", "b"]);
        replace(&sites, "b", 3, Some(&[0; 5]));
        host.maintain();
        host.maintain();
        is_whole(&sites, &host, 2)
    });
    // Encrypted entries do not show which one is damaged: a third copy does.
    with_and_without(Planted::NotScrubbed, || {
        let (sites, host) = with_b_out(&["a", "b", "c"]);
        replace(&sites, "b", 3, Some(b"eNtry"));
        host.maintain();
        host.maintain();
        is_whole(&sites, &host, 3)
    });
    // With two, a person decides.
    let (sites, host) = with_b_out(&["a", "b"]);
    replace(&sites, "b", 3, Some(b"eNtry"));
    host.maintain();
    host.maintain();
    assert_eq!(sites.in_sync(), ["a", "b"]);
}

#[test]
fn an_entry_that_the_last_copy_lost_is_read_from_another_one_and_the_last_one_is_filled() {
    with_and_without(Planted::TailAlone, || {
        let (sites, host) = with_b_out(&["a", "b"]);
        host.maintain();
        replace(&sites, "b", 3, None);
        let found = host.copies.read_elsewhere(3, 1).unwrap();
        let is_found = found.as_deref() == Some(&b"entry"[..]);
        let left = sites.in_sync();
        host.maintain();
        is_found && left == ["a"] && is_whole(&sites, &host, 2)
    });
    // One that is on its way along the chain is no entry of the log yet.
    let (sites, host) = with_b_out(&["a", "b"]);
    host.maintain();
    replace(&sites, "a", 7, Some(b"entry"));
    assert_eq!(host.copies.read_elsewhere(7, 1).unwrap(), None);
    assert_eq!(sites.in_sync(), ["a", "b"]);
}

#[test]
fn bytes_that_were_an_entry_are_told_from_others() {
    let mut entry = EntryBuilder::new();
    entry.push(b"group");
    let at = EntryPosition {
        epoch: Epoch(1),
        writer: 5,
        ..EntryPosition::START
    };
    let entry = entry.seal(7, at, 0).unwrap().bytes().to_vec();
    assert!(!is_damaged(1, &entry));
    assert!(is_damaged(2, &entry), "in another's place");
    for at in 4..entry.len() {
        let mut changed = entry.clone();
        changed[at] ^= 1;
        assert!(is_damaged(1, &changed), "byte {at}");
        assert!(is_damaged(1, &entry[..at]), "{at}");
    }
    assert!(is_damaged(1, b"") && is_damaged(1, &[0; 100]));
    assert!(!is_damaged(1, b"SdxS: encrypted"));
}

#[test]
fn i1_readers_and_claims_go_on_where_the_last_copy_lacks_an_entry_or_has_it_damaged() {
    let patience = Patience {
        pause: Duration::ZERO,
        pause_most: Duration::ZERO,
        ..Patience::default()
    };
    let start = EntryPosition::START;
    for length in [None, Some(0), Some(30), Some(90)] {
        let sites = Sites::new(&["a", "b"]);
        let claim = |at| {
            let log: Arc<dyn RemoteStore> = Arc::new(Host::new(&sites).copies);
            let mut read = 0;
            let claimed = RemoteWriter::claim(log.clone(), 7, at, patience, |_| {
                read += 1;
                Ok::<(), RemoteLogError>(())
            });
            (log, claimed.unwrap(), read)
        };
        let (log, mut writer, _) = claim(start);
        for number in 0..9 {
            let mut entry = EntryBuilder::new();
            entry.push(&[number; 50]);
            writer.append(entry).unwrap();
        }
        let damage = |place: &str, number| {
            let whole = sites.at(place).read(number).unwrap().unwrap();
            let cut = length.map(|length| &whole[..length]);
            replace(&sites, place, number, cut);
        };
        damage("b", 5);
        let mut follower = Follower::new(log, 7, start, patience);
        let mut read = 0;
        while let Some(_entry) = match follower.next_entry().unwrap() {
            None => follower.check_end().unwrap(),
            entry => entry,
        } {
            read += 1;
        }
        assert_eq!(read, 10, "{length:?}");
        assert_eq!(sites.in_sync(), ["a"], "{length:?}");
        // Its damage is of another copy, which is the last one of a new set.
        let (_, writer, read) = claim(start);
        assert_eq!((read, writer.position().next), (10, 12), "{length:?}");
    }
    // A claim meets the lost entry itself.
    let sites = Sites::new(&["a", "b"]);
    let claim = || {
        let log: Arc<dyn RemoteStore> = Arc::new(Host::new(&sites).copies);
        let claimed =
            RemoteWriter::claim(log, 7, start, patience, |_| Ok::<(), RemoteLogError>(()));
        claimed.unwrap().position().next
    };
    (1..=6).for_each(|epoch| assert_eq!(claim(), epoch + 1));
    replace(&sites, "b", 3, None);
    assert_eq!(claim(), 8);
    assert_eq!(sites.in_sync(), ["a"]);
}
