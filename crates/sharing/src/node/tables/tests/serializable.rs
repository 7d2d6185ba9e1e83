//! Histories of several nodes' threads, judged by `adya`: strictly serializable, with deadlocks, aborts, and rows that
//! come and go. And histories of transactions that read without locks, in which it must find the anomaly: a
//! checker that cannot is no proof.

use super::place::{Place, on_both};
use crate::node::{NodeError, TableNode, Transaction};
use adya::{History, Opts, Report, Valid, Workload};
use sardonyx_base::random::Random;
use sardonyx_rows::schema::{Schema, Type, Value};
use serde_json::{Value as Json, json};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

const KEYS: u64 = 6;
const TRANSACTIONS: u64 = 40;

type Step = (bool, u64, u64);

/// Events in the order of a counter: a transaction's requests before it begins, its results after its end.
#[derive(Default)]
struct Recorder(AtomicU64);

impl Recorder {
    fn note(&self, events: &mut Vec<(u64, Json)>, kind: &str, process: u64, value: &Json) {
        let event = json!({"type": kind, "process": process, "value": value});
        events.push((self.0.fetch_add(1, Ordering::SeqCst), event));
    }
}

/// The list under a key: a row for each element, so that appending inserts where a range was read.
fn list(tx: &mut Transaction<'_>, key: u64) -> Result<Vec<u64>, NodeError> {
    let rows = tx.rows("lists")?;
    let mut found = Vec::new();
    for row in rows.index("primary")?.range(key..=key)? {
        match row?.get("element")? {
            Value::Int(element) => found.push(element as u64),
            other => panic!("{other:?}"),
        }
    }
    Ok(found)
}

fn append(tx: &mut Transaction<'_>, key: u64, at: u64, element: u64) -> Result<(), NodeError> {
    let mut rows = tx.rows("lists")?;
    Ok(rows.insert(&[
        ("key", key.into()),
        ("place", at.into()),
        ("element", element.into()),
        ("fill", "f".repeat(300).into()),
    ])?)
}

/// The rows that each step found; `tears`: lists are read in transactions of their own, before. `between` is called
/// after that.
fn transact(
    node: &impl TableNode,
    steps: &[Step],
    tears: bool,
    between: impl FnOnce(),
) -> Result<Vec<Vec<u64>>, NodeError> {
    let before: Vec<Vec<u64>> = match tears {
        true => steps
            .iter()
            .map(|(_, key, _)| node.run(|tx| list(tx, *key)))
            .collect::<Result<_, _>>()?,
        false => Vec::new(),
    };
    between();
    node.run(|tx| {
        let mut found = Vec::new();
        for (number, &(appends, key, element)) in steps.iter().enumerate() {
            let there = match before.get(number) {
                Some(before) if !appends => before.clone(),
                _ => list(tx, key)?,
            };
            if appends {
                append(tx, key, there.len() as u64, element)?;
            }
            found.push(there);
        }
        Ok(found)
    })
}

fn micro(&(appends, key, element): &Step, found: Option<&Vec<u64>>) -> Json {
    match (appends, found) {
        (true, _) => json!(["append", key, element]),
        (false, None) => json!(["r", key, null]),
        (false, Some(found)) => json!(["r", key, found]),
    }
}

fn client(
    node: &impl TableNode,
    process: u64,
    at: &Recorder,
    seed: u64,
    torn: Option<&Barrier>,
) -> Vec<(u64, Json)> {
    let mut random = Random::stream(seed, process);
    let mut events = Vec::new();
    for turn in 0..TRANSACTIONS {
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..1 + random.below(3) {
            let key = random.below(KEYS);
            if steps.iter().all(|(_, other, _)| *other != key) {
                let element = 1 + process + 100 * (turn * 4 + steps.len() as u64);
                steps.push((random.chance(1, 2), key, element));
            }
        }
        // Two begin with an anomaly, however threads come to their turns: each appends where the other has read.
        let meet = torn.filter(|_| turn == 0 && process < 2);
        if meet.is_some() {
            steps = vec![(false, process, 0), (true, 1 - process, 1 + process)];
        }
        let asked = Json::Array(steps.iter().map(|step| micro(step, None)).collect());
        at.note(&mut events, "invoke", process, &asked);
        let between = || {
            meet.map(Barrier::wait);
        };
        match transact(node, &steps, torn.is_some(), between) {
            Ok(found) => {
                let done = steps
                    .iter()
                    .zip(&found)
                    .map(|(step, found)| micro(step, Some(found)));
                at.note(&mut events, "ok", process, &Json::Array(done.collect()));
            }
            // Some torn ones meet another's row at their place.
            Err(NodeError::Rows(_)) => at.note(&mut events, "fail", process, &asked),
            Err(error) => panic!("{error}"),
        }
    }
    events
}

fn judged<P: Place>(seed: u64, tears: bool) -> Result<Report, NodeError> {
    let place = P::new();
    let members = [place.join()?, place.join()?, place.join()?];
    let lists = Schema::new()
        .column("key", Type::U64)
        .column("place", Type::U64)
        .column("element", Type::U64)
        .column("fill", Type::Text)
        .primary_key(["key", "place"])
        .ordered();
    members[0].create_table("lists", lists)?;
    let (recorder, both_have_read) = (Recorder::default(), Barrier::new(2));
    let torn = tears.then_some(&both_have_read);
    let mut events: Vec<(u64, Json)> = std::thread::scope(|scope| {
        let clients = (0..6).map(|process| {
            let (node, recorder) = (&members[process as usize % 3], &recorder);
            scope.spawn(move || client(node, process, recorder, seed, torn))
        });
        let clients: Vec<_> = clients.collect();
        let events = clients
            .into_iter()
            .flat_map(|client| client.join().unwrap());
        events.collect()
    });
    events.sort_by_key(|(at, _)| *at);
    let lines: Vec<String> = events
        .into_iter()
        .map(|(_, event)| event.to_string())
        .collect();
    let history = History::from_json(&lines.join("\n")).expect("a history");
    let options = Opts {
        models: vec!["strict-serializable".into()],
        ..Opts::default()
    };
    members[1].check_tables()?;
    Ok(adya::check(&history, Workload::ListAppend, &options))
}

fn histories_of_several_nodes_are_strictly_serializable<P: Place>() -> Result<(), NodeError> {
    for seed in 0..3 {
        let report = judged::<P>(seed, false)?;
        assert!(report.valid == Valid::True, "seed {seed}: {report:?}");
    }
    Ok(())
}

fn histories_of_torn_transactions_are_not<P: Place>() -> Result<(), NodeError> {
    let report = judged::<P>(10, true)?;
    assert!(report.valid == Valid::False, "no anomaly was found");
    Ok(())
}

on_both!(
    histories_of_several_nodes_are_strictly_serializable,
    histories_of_torn_transactions_are_not,
);
