//! Histories of random transactions from several processes and threads, judged by `adya`: they must
//! be strictly serializable. And the same without validation, where it must find an anomaly: a checker
//! that cannot is no proof. The anomaly is there however threads come to their turns: two transactions read
//! before either of them writes where the other has read.
//!
//! A key is a page: a length and its elements (list-append), or a value (registers).

use crate::common::{
    Fallible, MECHANISMS, Shared, mechanism_of, options, role, runs, say, spawn, word,
};
use adya::{History, Opts, Valid, Workload};
use sardonyx_mapped::memory::PlaceError;
use sardonyx_mapped::{MechanismKind, MemoryAccess, Segment, planted};
use sardonyx_workload::random::Random;
use serde_json::{Value, json};
use std::sync::Barrier;

const KEYS: u64 = 8;
/// Their first page: in two chunks.
const FIRST: u64 = 508;
const PROCESSES: u64 = 3;
const THREADS: u64 = 2;
const TRANSACTIONS: u64 = 60;

#[test]
fn child() {
    let Some(role) = role() else { return };
    let number = |n: usize| role[n].parse::<u64>().unwrap();
    if role[5] == "unsound" {
        planted::skip_validation();
    }
    let segment = options(mechanism_of(&role[0]))
        .open_volatile(&role[1])
        .unwrap();
    let (lists, process, seed) = (role[2] == "lists", number(3), number(4));
    let both_have_read = Barrier::new(THREADS as usize);
    let meet = (role[5] == "unsound" && process == 0).then_some(&both_have_read);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (segment, client) = (&segment, process * THREADS + thread);
            scope.spawn(move || client_of(segment, lists, client, seed, meet).unwrap());
        }
    });
}

/// One client: runs its transactions and reports its requests and their results.
fn client_of(
    segment: &Segment,
    lists: bool,
    client: u64,
    seed: u64,
    mut meet: Option<&Barrier>,
) -> Fallible {
    let mut random = Random::new(seed * 1000 + client);
    for n in 0..TRANSACTIONS {
        let mut plan: Vec<(u64, Option<u64>)> = (0..1 + random.below(4))
            .map(|m| {
                let value = 1 + (client * TRANSACTIONS + n) * 8 + m;
                (random.below(KEYS), random.chance(50).then_some(value))
            })
            .collect();
        if meet.is_some() {
            let value = 1 + client * TRANSACTIONS * 8;
            plan = vec![(client, None), (1 - client, Some(value))];
        }
        let invoked = nanoseconds();
        let results = segment.run(|tx| {
            let mut results = Vec::new();
            for (key, write) in &plan {
                results.push(match (lists, write) {
                    (true, Some(value)) => append(tx, *key, *value)?,
                    (true, None) => json!(["r", key, list(tx, *key)?]),
                    (false, Some(value)) => {
                        tx.write(word(FIRST + key, 0), *value)?;
                        json!(["w", key, value])
                    }
                    (false, None) => match tx.read(word(FIRST + key, 0))? {
                        0 => json!(["r", key, null]),
                        value => json!(["r", key, value]),
                    },
                });
                // Others are to come in between.
                match meet.take() {
                    Some(both) => _ = both.wait(),
                    None => std::thread::yield_now(),
                }
            }
            Ok::<_, PlaceError>(results)
        })?;
        let asked: Vec<Value> = results.iter().map(asked).collect();
        say(json!({"type": "invoke", "process": client, "value": asked, "time": invoked}));
        say(json!({"type": "ok", "process": client, "value": results, "time": nanoseconds()}));
    }
    Ok(())
}

fn asked(result: &Value) -> Value {
    match result[0].as_str() {
        Some("r") => json!(["r", result[1], null]),
        _ => result.clone(),
    }
}

fn append(tx: &mut impl MemoryAccess, key: u64, value: u64) -> Result<Value, PlaceError> {
    let length = tx.read(word(FIRST + key, 0))?;
    tx.write(word(FIRST + key, 1 + length), value)?;
    tx.write(word(FIRST + key, 0), length + 1)?;
    Ok(json!(["append", key, value]))
}

fn list(tx: &impl MemoryAccess, key: u64) -> Result<Vec<u64>, PlaceError> {
    let length = tx.read(word(FIRST + key, 0))?;
    (0..length)
        .map(|n| tx.read(word(FIRST + key, 1 + n)))
        .collect()
}

/// The same clock in all processes.
fn nanoseconds() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The operations of all processes, in the order of the clock.
fn history(mechanism: MechanismKind, lists: bool, seed: u64, sound: bool) -> History {
    let shared = Shared::new(mechanism, "histories", 1024);
    let processes: Vec<_> = (0..PROCESSES)
        .map(|process| {
            spawn(
                module_path!(),
                &[
                    &format!("{mechanism:?}"),
                    &shared.name,
                    if lists { "lists" } else { "registers" },
                    &process.to_string(),
                    &seed.to_string(),
                    if sound { "sound" } else { "unsound" },
                ],
            )
        })
        .collect();
    let mut events: Vec<Value> = Vec::new();
    for mut process in processes {
        let lines = process.hear_all();
        assert_eq!(lines.len() as u64, 2 * THREADS * TRANSACTIONS);
        events.extend(lines.iter().map(|line| line.parse::<Value>().unwrap()));
    }
    events.sort_by_key(|event| event["time"].as_i64());
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    History::from_json(&lines.join("\n")).unwrap()
}

fn judge(history: &History, lists: bool) -> adya::Report {
    let workload = match lists {
        true => Workload::ListAppend,
        false => Workload::RwRegister,
    };
    let options = Opts {
        models: vec!["strict-serializable".into()],
        ..Opts::default()
    };
    adya::check(history, workload, &options)
}

#[test]
fn histories_are_strictly_serializable() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        for seed in 0..runs(1) {
            for lists in [true, false] {
                let report = judge(&history(mechanism, lists, seed, true), lists);
                assert_eq!(
                    report.valid,
                    Valid::True,
                    "{mechanism:?}, seed {seed}, lists {lists}: {:?}",
                    report.anomaly_types
                );
            }
        }
    }
}

#[test]
fn without_validation_an_anomaly_is_found() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let report = judge(&history(mechanism, true, 0, false), true);
        println!("{mechanism:?}: {:?}", report.anomaly_types);
        let found = report.valid == Valid::False;
        assert!(found, "{mechanism:?}: the checker is blind");
    }
}
