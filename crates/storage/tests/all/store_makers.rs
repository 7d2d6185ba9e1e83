//! Several makers of bases for one store, each of which deletes what it does not keep: a base is whole, or is none.

use crate::common::store::{Lossy, Primary, caught_up, disk, options, put_base};
use sardonyx_storage::engine::{
    DurableAt, KeepInStore, OpenError, check_base, delete_past, stored_manifest,
};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::base::list_bases;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

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
        let keep = KeepInStore {
            bases: 1,
            since: None,
        };
        let outcome = match goes_on_at_removal {
            true => {
                let (ends, ended) = channel();
                store.at_removal(move || ends.send(finish()).unwrap());
                delete_past(remote, keep).unwrap();
                ended.recv().unwrap()
            }
            false => {
                delete_past(remote, keep).unwrap();
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
