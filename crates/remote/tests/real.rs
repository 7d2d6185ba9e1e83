//! The same against a real object store, of which SARDONYX_STORE names a place, with endpoint and credentials in the
//! environment (CONTRIBUTING.md has the commands that start one):
//!
//! ```text
//! SARDONYX_STORE=s3://bank/test cargo test -p sardonyx-remote --test real -- --ignored --nocapture
//! ```

use sardonyx_base::random::system_random;
use sardonyx_remote::{RemoteOptions, open};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::{Entry, EntryBuilder};
use sardonyx_storage::remote_log::position::{EntryPosition, Epoch};
use sardonyx_storage::remote_log::shell::{Follower, Patience, RemoteWriter, trim};
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::sync::Arc;

/// A log of its own at the place that the environment names.
fn store() -> Arc<dyn RemoteStore> {
    let place = std::env::var("SARDONYX_STORE").expect("SARDONYX_STORE names a place");
    let place = format!("{place}/{:016x}", system_random());
    open(&place, &RemoteOptions::default()).expect("a store that can keep a log")
}

fn groups(text: &str) -> EntryBuilder {
    let mut entry = EntryBuilder::new();
    entry.push(text.as_bytes());
    entry
}

fn claim(store: &Arc<dyn RemoteStore>, at: EntryPosition) -> RemoteWriter {
    let apply = |_: &Entry| Ok::<_, RemoteLogError>(());
    RemoteWriter::claim(store.clone(), 5, at, Patience::default(), apply).expect("a claim")
}

#[test]
#[ignore = "wants a real store"]
fn i12_writers_race_for_a_real_log_and_none_acknowledges_beside_another() {
    let store = store();
    // Each thread claims, appends until it is fenced, and claims again.
    let acknowledged: Vec<Vec<(u64, String)>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    let mut acknowledged = Vec::new();
                    let mut at = EntryPosition::START;
                    for life in 0..4 {
                        let mut log = claim(store, at);
                        for entry in 0..20 {
                            at = log.position();
                            let text = format!("{writer} {life} {entry}");
                            match log.append(groups(&text)) {
                                Ok(at) => acknowledged.push((at.next - 1, text)),
                                Err(RemoteLogError::Fenced { .. }) => break,
                                Err(error) => panic!("{error}"),
                            }
                        }
                    }
                    acknowledged
                })
            })
            .collect();
        let joined = writers.into_iter();
        joined
            .map(|writer| writer.join().expect("no panic"))
            .collect()
    });
    let mut follower = Follower::new(store.clone(), 5, EntryPosition::START, Patience::default());
    let mut log = Vec::new();
    while let Some(entry) = follower.next_entry().expect("a log") {
        let text = String::from_utf8(entry.payload().to_vec()).expect("text");
        log.push((entry.head().number, text));
    }
    assert_eq!(follower.position().epoch, Epoch(12));
    let count: usize = acknowledged.iter().map(Vec::len).sum();
    println!(
        "{count} of at most 240 acknowledged before they were fenced, in {} entries",
        log.len()
    );
    for told in acknowledged.iter().flatten() {
        assert!(log.contains(told), "{told:?} is not in the log");
    }
    let end = follower.position();
    let trimmed = trim(&*store, 5, end, &Patience::default()).expect("a trim");
    assert_eq!(
        trimmed.entries as usize,
        log.iter().filter(|(_, text)| !text.is_empty()).count()
    );
    let error =
        Follower::new(store.clone(), 5, EntryPosition::START, Patience::default()).next_entry();
    assert!(
        matches!(error, Err(RemoteLogError::BehindBoundary { .. })),
        "{error:?}"
    );
    // A claim chases an owner that appends; so one is superseded here in any case.
    let mut before = claim(&store, end);
    let mut after = claim(&store, before.position());
    assert_eq!(after.position().epoch, Epoch(14));
    let error = before.append(groups("too late")).unwrap_err();
    assert!(matches!(error, RemoteLogError::Fenced { .. }), "{error}");
    after.append(groups("in time")).expect("it owns the log");
}

#[test]
#[ignore = "wants a real store"]
fn a_bucket_that_is_not_there_is_refused_without_waiting() {
    let options = RemoteOptions::default();
    let error = open("s3://there-is-no-such-bucket-sdx/x", &options).unwrap_err();
    println!("{error}");
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
}
