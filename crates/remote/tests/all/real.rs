//! The same against a real store, at the place that SARDONYX_STORE names. Its endpoint and credentials are in the
//! environment (docs/testing.md has the commands that start one):
//!
//! ```text
//! SARDONYX_STORE=s3://bank/test cargo test -p sardonyx-remote --test all real -- --ignored --nocapture
//! tools/nats/three_nodes.sh
//! ```

use crate::stores::rules::{keeps_the_contract, own_in_turn};
use sardonyx_base::random::system_random;
use sardonyx_remote::{RemoteOptions, open};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::{Entry, EntryBuilder};
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::position::{EntryPosition, Epoch};
use sardonyx_storage::remote_log::shell::{Follower, Patience, RemoteWriter, trim};
use sardonyx_storage::remote_log::store::{Appended, RemoteStore, StoreError};
use std::sync::Arc;

/// A log of its own at the place that the environment names.
fn log_of_its_own() -> Arc<dyn RemotePlace> {
    let place = std::env::var("SARDONYX_STORE").expect("SARDONYX_STORE names a place");
    let place = format!("{place}/{:016x}", system_random());
    open(&place, &RemoteOptions::default()).expect("a store that can keep a log")
}

fn store() -> Arc<dyn RemoteStore> {
    log_of_its_own()
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
fn a_real_store_keeps_the_contract() {
    keeps_the_contract(&*log_of_its_own());
    own_in_turn(0, &store());
}

#[test]
#[ignore = "wants a real store"]
fn entries_and_objects_of_any_length_are_read_back_whole() {
    let store = log_of_its_own();
    // Around the most bytes of a message of a server in its usual configuration, and the largest that are made.
    let usual = 1 << 20;
    let lengths = [
        0,
        1,
        usual - 4097,
        usual - 4096,
        usual - 4095,
        usual,
        3 * usual + 7,
        64 * usual,
    ];
    for (number, length) in (1..).zip(lengths) {
        let bytes: Vec<u8> = (0..length).map(|at| (at / 251 + at) as u8).collect();
        assert_eq!(
            store.append_at(number, &bytes).expect("an entry"),
            Appended::Ok
        );
        let again = store.append_at(number, b"other").expect("an answer");
        assert_eq!(again, Appended::Conflict);
        assert!(
            store.read(number).expect("an answer").as_ref() == Some(&bytes),
            "{length}"
        );
        let listed = store.list(number).expect("a list");
        assert_eq!((listed[0].number, listed[0].bytes), (number, length as u64));
        let name = format!("a/{number}");
        store.create_object(&name, &bytes).expect("an object");
        assert!(
            store.read_object(&name).expect("an answer") == Some(bytes),
            "{length}"
        );
    }
    store.remove(&[1, 2, 3, 4, 5, 6, 7, 8]).expect("a removal");
    assert_eq!(store.list(1).expect("a list"), []);
    assert_eq!(store.read(8).expect("an answer"), None);
}

/// For a JetStream whose stream was made with another configuration.
#[test]
#[ignore = "wants a real store"]
fn a_stream_that_would_lose_a_log_is_refused_with_what_to_change() {
    let place = std::env::var("SARDONYX_STORE").expect("SARDONYX_STORE names a place");
    let Some(servers) = place.strip_prefix("nats://") else {
        return;
    };
    let (servers, _) = servers.split_once('/').expect("a stream");
    let name = format!("OTHER{:016x}", system_random());
    let made = format!(
        r#"{{"name":"{name}","subjects":["{name}.>"],"storage":"memory","retention":"limits","discard":"old","max_age":60000000000}}"#
    );
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = async_nats::connect(servers.split(',').collect::<Vec<_>>());
        let client = client.await.expect("a connection");
        let asked = format!("$JS.API.STREAM.CREATE.{name}");
        client.request(asked, made.into()).await.expect("a stream");
    });
    let other = format!("nats://{servers}/{name}/bank");
    let error = open(&other, &RemoteOptions::default()).expect_err("it loses what is put there");
    println!("{error}");
    assert!(matches!(error, StoreError::Setup { .. }), "{error}");
    for says in [
        "--storage=file",
        "--discard=new",
        "--max-age=0",
        "--replicas=3",
    ] {
        assert!(error.to_string().contains(says), "{error}");
    }
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
    let is_s3 = std::env::var("SARDONYX_STORE").is_ok_and(|place| place.starts_with("s3:"));
    if !is_s3 {
        return;
    }
    let options = RemoteOptions::default();
    let error = open("s3://there-is-no-such-bucket-sdx/x", &options).unwrap_err();
    println!("{error}");
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
}
