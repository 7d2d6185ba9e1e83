//! Damaged answers of a store that is sound. Each reader asks for one again before it calls anything damaged: hosts that open,
//! follow and begin anew, copies, makers of bases, and whatever deletes the past.

use crate::common::store::{Lossy, Primary, caught_up, disk, has_all, options, put_base};
use sardonyx_storage::disk::Disk;
use sardonyx_storage::engine::{
    CloneUntil, DurableAt, KeepInStore, RemoteLog, check_base, clone_at, delete_past, entry_time,
    known_hosts, newest_base, oldest_kept, stored_manifest,
};
use sardonyx_storage::remote_log::known_hosts::{KnownHost, note_host};
use sardonyx_storage::remote_log::shell::{Follower, ask_boundary};
use std::sync::Arc;

fn report(remote: &RemoteLog, identity: u64, name: &str, next_entry: u64) {
    let host = KnownHost {
        name: name.into(),
        next_entry,
        seen: 1,
    };
    note_host(&*remote.store, identity, &host).unwrap();
}

#[test]
fn i12_the_first_answer_to_each_question_may_be_damaged() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let remote = options.remote.clone().unwrap();
    let home = disk(1);
    store.damage_first_answers();
    let first = Primary::open(&home, options.clone()).unwrap();
    (1..=20).for_each(|number| first.commit(number).unwrap());
    let identity = stored_manifest(&remote).unwrap().unwrap().identity;
    put_base(&disk(2), &options);
    (21..=40).for_each(|number| first.commit(number).unwrap());
    let newer = put_base(&disk(2), &options);
    // Of two reports, the second one does not take the first one away.
    report(&remote, identity, "one", newer);
    report(&remote, identity, "two", newer);
    assert_eq!(known_hosts(&remote, identity).unwrap().len(), 2);
    let keep = KeepInStore {
        bases: 1,
        since: None,
        hosts_since: Some(1),
    };
    let deleted = delete_past(&remote, keep).unwrap();
    assert!(deleted.log.entries > 0, "{deleted:?}");
    let oldest = oldest_kept(&remote, identity).unwrap().unwrap().entry;
    assert_eq!(oldest.next, newer);
    let (base, _) = newest_base(&remote, identity, |_| true).unwrap().unwrap();
    check_base(&remote, identity, &base, |_| ()).unwrap();
    first.close();
    // A new host begins with the base, and the first one continues.
    let second = Primary::open(&disk(4), options.clone()).unwrap();
    assert!(has_all(&second, 40));
    second.commit(41).unwrap();
    second.close();
    let first = Primary::open(&home, options.clone()).unwrap();
    assert!(has_all(&first, 41));
    // Readers of all of it.
    let copied: Arc<dyn Disk> = Arc::new(disk(5));
    let copy = clone_at(&copied, &options, CloneUntil::End, |_| ()).unwrap();
    assert_eq!(copy.known.log.transactions, 41);
    assert_eq!(caught_up(&disk(6), &options).known().log.transactions, 41);
    let from = ask_boundary(&*store, identity, &remote.patience).unwrap();
    let mut follower = Follower::new(store.clone(), identity, from, remote.patience);
    while let Some(entry) = follower.next_entry().unwrap() {
        let number = entry.head().number;
        assert_eq!(
            entry_time(&remote, number).unwrap(),
            Some(entry.head().time)
        );
    }
    first.close();
}
