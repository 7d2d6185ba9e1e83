//! Several makers of bases for one store, each of which deletes bases beyond its retention: a base is whole, or does
//! not count.

use crate::common::store::{Lossy, Primary, caught_up, disk, impatient, options, put_base};
use sardonyx_storage::engine::{
    DurableAt, KeepInStore, OpenError, check_base, delete_past, oldest_kept, stored_manifest,
    usable_bases,
};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::base::list_bases;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::thread;

fn keep(bases: usize) -> KeepInStore {
    KeepInStore {
        bases,
        since: None,
        hosts_since: None,
    }
}

#[test]
fn a_base_whose_parts_another_maker_deletes_meanwhile_is_taken_back() {
    for goes_on_at_removal in [false, true] {
        let store = Arc::new(Lossy::default());
        let options = options(&store, DurableAt::Both);
        let first = Primary::open(&disk(1), options.clone()).unwrap();
        (1..50).for_each(|number| first.commit(number).unwrap());
        let slow = caught_up(&disk(2), &options);
        (50..60).for_each(|number| first.commit(number).unwrap());

        // All of its parts are there, and its head is not.
        let (arrives, arrived) = channel();
        let (go_on, goes_on) = channel::<()>();
        store.at_head(move || {
            arrives.send(()).unwrap();
            goes_on.recv().unwrap();
        });
        let theirs = options.clone();
        let maker = thread::spawn(move || {
            let remote = theirs.remote.as_ref().unwrap();
            slow.put_base(&theirs, remote)
        });
        arrived.recv().unwrap();
        let newer = put_base(&disk(3), &options);
        let finish = move || {
            go_on.send(()).unwrap();
            maker.join().unwrap()
        };
        let remote = options.remote.as_ref().unwrap();
        let outcome = match goes_on_at_removal {
            true => {
                let (ends, ended) = channel();
                store.at_removal(move || ends.send(finish()).unwrap());
                delete_past(remote, keep(1)).unwrap();
                ended.recv().unwrap()
            }
            false => {
                delete_past(remote, keep(1)).unwrap();
                finish()
            }
        };
        let Err(OpenError::Store(RemoteLogError::BehindBoundary { first, .. })) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(first, newer);
        let listed = list_bases(&*store).unwrap();
        assert!(listed.unfinished.is_empty(), "{listed:?}");
        let [(name, _)] = &listed.whole[..] else {
            panic!("{listed:?}");
        };
        let identity = stored_manifest(remote).unwrap().unwrap().identity;
        check_base(remote, identity, name, |_| ()).unwrap();
    }
}

#[test]
fn i12_a_base_that_cannot_be_read_back_is_none_and_the_one_before_stays() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let remote = options.remote.as_ref().unwrap();
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..50).for_each(|number| first.commit(number).unwrap());
    let older = put_base(&disk(2), &options);
    (50..60).for_each(|number| first.commit(number).unwrap());
    store.damages_object.store(true, Ordering::SeqCst);
    let outcome = caught_up(&disk(2), &options).put_base(&options, remote);
    let Err(OpenError::Store(RemoteLogError::Base { .. })) = outcome else {
        panic!("{outcome:?}");
    };
    let listed = list_bases(&*store).unwrap();
    assert!(listed.unfinished.is_empty(), "{listed:?}");
    assert_eq!(listed.whole.len(), 1, "{listed:?}");
    let kept = delete_past(remote, keep(1)).unwrap();
    assert_eq!(kept.from.unwrap().entry.next, older);
    // The next one is whole.
    let newer = put_base(&disk(2), &options);
    let kept = delete_past(remote, keep(1)).unwrap();
    assert_eq!((kept.from.unwrap().entry.next, kept.bases), (newer, 1));
}

#[test]
fn a_base_that_its_overtaken_maker_cannot_delete_is_none() {
    let store = Arc::new(Lossy::default());
    let options = impatient(options(&store, DurableAt::Both));
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..50).for_each(|number| first.commit(number).unwrap());
    let slow = caught_up(&disk(2), &options);
    (50..60).for_each(|number| first.commit(number).unwrap());
    first.close();
    let (theirs, cut) = (options.clone(), store.clone());
    store.at_head(move || {
        put_base(&disk(3), &theirs);
        delete_past(theirs.remote.as_ref().unwrap(), keep(1)).unwrap();
        let cut_off = cut.clone();
        cut.at_removal(move || cut_off.cut_off(true));
    });
    let remote = options.remote.as_ref().unwrap();
    let outcome = slow.put_base(&options, remote);
    assert!(
        matches!(outcome, Err(OpenError::Store(RemoteLogError::Store(_)))),
        "{outcome:?}"
    );
    store.cut_off(false);
    assert_eq!(list_bases(&*store).unwrap().whole.len(), 2);
    let identity = stored_manifest(remote).unwrap().unwrap().identity;
    let listed = usable_bases(remote, identity).unwrap();
    assert_eq!((listed.whole.len(), listed.unfinished.len()), (1, 1));
    let newer = listed.whole[0].0.next_entry;
    let oldest = oldest_kept(remote, identity).unwrap().unwrap();
    assert_eq!(oldest.entry.next, newer);
    assert_eq!(delete_past(remote, keep(1)).unwrap().bases, 1);
    assert_eq!(list_bases(&*store).unwrap().whole.len(), 1);
}

#[test]
fn a_base_that_another_maker_deletes_while_it_is_looked_at_is_passed_over() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    for (seed, numbers) in [(2, 1..50), (3, 50..60)] {
        numbers.for_each(|number| first.commit(number).unwrap());
        put_base(&disk(seed), &options);
    }
    // The newer one is read first.
    let theirs = options.remote.clone().unwrap();
    store.at_head_read(move || {
        assert_eq!(delete_past(&theirs, keep(1)).unwrap().bases, 1);
    });
    let deleted = delete_past(options.remote.as_ref().unwrap(), keep(2)).unwrap();
    assert_eq!(deleted.bases, 0);
    assert_eq!(list_bases(&*store).unwrap().whole.len(), 1);
}
