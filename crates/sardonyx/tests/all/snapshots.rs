//! Snapshots of tables, in every shape. They show one commit, after any later ones, delay no other, are refused where
//! reads are, and outlive the database. A history of transactions and of snapshots that threads read is judged by
//! `adya`: it must be strictly serializable.

use crate::alone::alone;
use crate::common::{Item, Opened, in_every_shape, in_every_threaded_shape, options};
use crate::fork::FORKS;
use adya::{History, Opts, Valid, Workload};
use sardonyx::errors::SnapshotEnded;
use sardonyx::{Error, Shape, Snapshot, Table, Transaction};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn open(shape: Shape) -> Opened {
    let disk = SimulatedDisk::new(1, Faults::default());
    Opened::on(&disk, options(shape)).expect("opens")
}

fn contents(snapshot: &Snapshot, items: Table<Item>) -> Result<BTreeMap<u64, u64>, Error> {
    let records = snapshot.scan(items)?;
    records
        .map(|item| item.map(|item| (item.id, item.value)))
        .collect()
}

#[test]
fn a_snapshot_shows_one_commit_in_every_shape_and_when_the_database_is_closed() {
    in_every_shape(|shape| {
        let opened = open(shape);
        (0..500).for_each(|id| opened.put(id, 1).expect("put"));
        let then = opened.database.snapshot().expect("snapshot");
        let same = opened.database.snapshot().expect("snapshot");
        assert!(std::sync::Arc::ptr_eq(then.space(), same.space()));
        (250..700).for_each(|id| opened.put(id, 2).expect("put"));
        let items = opened.items;
        let delete = |tx: &mut Transaction<'_>| tx.retain(items, |item| item.id.is_multiple_of(2));
        opened.database.run(delete).expect("deletes");
        let now = opened.database.snapshot().expect("snapshot");
        let of_each = |snapshot: &Snapshot| {
            (
                snapshot.count(items).expect("counts"),
                contents(snapshot, items).expect("scans"),
                [7, 300, 301, 600].map(|id| {
                    let item = snapshot.get(items, id).expect("reads");
                    item.map(|item| item.value)
                }),
            )
        };
        let expected = (
            500,
            (0..500).map(|id| (id, 1)).collect(),
            [Some(1), Some(1), Some(1), None],
        );
        assert_eq!(of_each(&then), expected);
        assert_eq!(of_each(&now).2, [None, Some(2), None, Some(2)]);
        assert_eq!(of_each(&now).0, 350);
        // Another thread, and after the end.
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(of_each(&then), expected));
        });
        opened.database.close().expect("closes");
        drop(opened);
        assert_eq!(of_each(&then), expected);
        assert_eq!(of_each(&now).0, 350);
    });
}

#[test]
fn snapshots_are_refused_where_reads_are() {
    in_every_shape(|shape| {
        let opened = open(shape);
        opened.put(1, 1).expect("put");
        let nested = opened
            .database
            .run(|_| Ok(opened.database.snapshot().err()));
        assert!(matches!(nested, Ok(Some(Error::Nested(_)))), "{nested:?}");
        opened.database.close().expect("closes");
        assert!(matches!(opened.database.snapshot(), Err(Error::Closed(_))));
    });
}

#[test]
fn a_forked_child_is_refused() {
    alone(|| {
        for fork in FORKS {
            let opened = open(Shape::Threadless);
            opened.put(1, 1).expect("put");
            let snapshot = opened.database.snapshot().expect("snapshot");
            let child = fork.child(|| {
                matches!(opened.database.snapshot(), Err(Error::Forked(_)))
                    && matches!(snapshot.get(opened.items, 1), Err(Error::Forked(_)))
            });
            assert!(child.ends_content());
            assert!(snapshot.get(opened.items, 1).expect("reads").is_some());
        }
    });
}

#[test]
fn what_is_not_committed_is_in_no_snapshot() {
    in_every_shape(|shape| {
        let opened = open(shape);
        opened.put(1, 1).expect("put");
        let items = opened.items;
        let undone = opened.database.run(|tx| {
            tx.update(items, 1, |item| item.value = 2)?;
            Err::<(), _>(Error::other("no"))
        });
        assert!(undone.is_err());
        assert_eq!(
            contents(&opened.database.snapshot().expect("snapshot"), items).expect("reads")[&1],
            1
        );
    });
}

#[test]
fn at_the_bound_the_oldest_ends_with_an_error_and_transactions_go_on() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape).snapshot_bytes_max(8 * 4096)).expect("opens");
        (0..2000).for_each(|id| opened.put(id, 1).expect("put"));
        let (old, items) = (opened.database.snapshot().expect("snapshot"), opened.items);
        opened.put(0, 2).expect("put");
        let new = opened.database.snapshot().expect("snapshot");
        let mut scan = old.scan(items).expect("scans");
        assert!(scan.next().expect("a record").is_ok());
        (0..2000)
            .step_by(500)
            .for_each(|id| opened.put(id, 3).expect("put"));
        assert!(!new.is_ended());
        (0..2000).for_each(|id| opened.put(id, 4).expect("put"));
        assert!(old.is_ended() && new.is_ended());
        let error = old.get(items, 1).expect_err("ended");
        assert!(matches!(error, Error::Limit(_)), "{error:?}");
        assert!(error.to_string().contains("snapshot_bytes_max"), "{error}");
        let rest: Vec<_> = scan.collect();
        // Rows of its page that were read before are returned; then comes one error.
        assert!(rest.last().expect("more").is_err());
        assert!(rest.iter().filter(|item| item.is_err()).count() == 1);
        let table: sardonyx::Error = contents(&new, items).expect_err("ended");
        let detail = format!("{table:?}");
        assert!(
            detail.contains(&SnapshotEnded.to_string()[..20]),
            "{detail}"
        );
        assert_eq!(opened.get(1999), Some(4));
        assert_eq!(
            contents(&opened.database.snapshot().expect("snapshot"), items)
                .expect("reads")
                .len(),
            2000
        );
    });
}

pub const KEYS: u64 = 6;
const APPENDS: usize = 56;

/// The values that were appended to a key, in their order.
pub fn list(item: Option<&Item>) -> Vec<u64> {
    let Some(item) = item else {
        return Vec::new();
    };
    let values = item.filler.as_chunks::<2>().0.iter();
    let values = values.map(|value| u64::from(u16::from_le_bytes(*value)));
    values.take(item.value as usize).collect()
}

fn append(tx: &mut Transaction<'_>, items: Table<Item>, key: u64, value: u64) -> Result<(), Error> {
    let item = tx.get(items, key).expect("read").copied();
    tx.put(items, &appended(item.unwrap_or(Item::new(key, 0)), value))
        .map(drop)
}

/// A list with one more value.
pub fn appended(mut item: Item, value: u64) -> Item {
    let at = item.value as usize * 2;
    item.filler[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
    item.value += 1;
    item
}

/// Records what transactions asked and were told, in an order of the whole process.
#[derive(Default)]
pub struct Recorder {
    at: AtomicU64,
    events: Mutex<Vec<(u64, Value)>>,
}

impl Recorder {
    /// Judges the history: it must be strictly serializable.
    pub fn judge(self, shape: Shape) {
        let mut events = self.events.into_inner().expect("no panic");
        events.sort_by_key(|(at, _)| *at);
        let lines: Vec<String> = events.iter().map(|(_, event)| event.to_string()).collect();
        let history = History::from_json(&lines.join("\n")).expect("a history");
        let options = Opts {
            models: vec!["strict-serializable".into()],
            ..Opts::default()
        };
        let report = adya::check(&history, Workload::ListAppend, &options);
        assert_eq!(
            report.valid,
            Valid::True,
            "{shape:?}: {:?}",
            report.anomaly_types
        );
    }

    pub fn note(&self, kind: &str, process: u64, value: &Value) {
        let at = self.at.fetch_add(1, Ordering::SeqCst);
        let event = json!({"type": kind, "process": process, "value": value});
        self.events.lock().expect("no panic").push((at, event));
    }
}

#[test]
fn histories_of_transactions_and_snapshots_are_strictly_serializable() {
    in_every_threaded_shape(|shape| {
        let (opened, recorder) = (open(shape), Recorder::default());
        let items = opened.items;
        let all: Vec<u64> = (0..KEYS).collect();
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for writer in 0..2u64 {
                let (opened, recorder, done) = (&opened, &recorder, &done);
                scope.spawn(move || {
                    for n in 0..KEYS * APPENDS as u64 / 4 {
                        // Both writers append to neighbouring keys, and read a third.
                        let keys = [n % KEYS, (n + 1) % KEYS, (n * 5 + 2) % KEYS];
                        let value = n * 2 + writer + 1;
                        let asked = json!([
                            ["append", keys[0], value],
                            ["append", keys[1], value],
                            ["r", keys[2], null]
                        ]);
                        recorder.note("invoke", writer, &asked);
                        let found = opened.database.run(|tx| {
                            append(tx, items, keys[0], value)?;
                            append(tx, items, keys[1], value)?;
                            Ok(list(tx.get(items, keys[2]).expect("read")))
                        });
                        let mut answered = asked;
                        answered[2][2] = json!(found.expect("commits"));
                        recorder.note("ok", writer, &answered);
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
            for reader in 2..4u64 {
                let (opened, recorder, done, all) = (&opened, &recorder, &done, &all);
                scope.spawn(move || {
                    while done.load(Ordering::SeqCst) < 2 {
                        let asked = all.iter().map(|key| json!(["r", key, null]));
                        recorder.note("invoke", reader, &Value::Array(asked.collect()));
                        let snapshot = opened.database.snapshot().expect("snapshot");
                        let found = all.iter().map(|key| {
                            std::thread::yield_now();
                            let item = snapshot.get(items, *key).expect("reads");
                            json!(["r", key, list(item.as_ref())])
                        });
                        recorder.note("ok", reader, &Value::Array(found.collect()));
                    }
                });
            }
        });
        recorder.judge(shape);
    });
}
