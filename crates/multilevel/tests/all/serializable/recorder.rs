//! Histories in the form of `adya`, in the order of a counter: a transaction's requests are noted before it begins,
//! its results after it has ended.

use super::objects::Act;
use adya::{History, Opts, Report, Workload};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// One action on one object, with its result.
pub type Done = (u64, Act, Vec<u64>);

/// The order of all events.
#[derive(Default)]
pub struct Recorder(AtomicU64);

/// The events of one client, in their order.
#[derive(Default)]
pub struct Events {
    events: Vec<(u64, Value)>,
    /// The request that has not ended.
    asked: Option<Value>,
}

impl Recorder {
    fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    fn note(&self, events: &mut Events, kind: &str, process: u64, value: &Value) {
        let event = json!({"type": kind, "process": process, "value": value});
        events.events.push((self.now(), event));
    }

    /// A transaction begins. If the one before has not ended, it was aborted and is run again.
    pub fn asks(&self, events: &mut Events, process: u64, plan: &[(u64, Act)]) {
        self.failed(events, process);
        let value = plan.iter().map(|(key, act)| micro(*key, *act, None));
        let value = Value::Array(value.collect());
        self.note(events, "invoke", process, &value);
        events.asked = Some(value);
    }

    pub fn committed(&self, events: &mut Events, process: u64, done: &[Done]) {
        let value = done
            .iter()
            .map(|(key, act, found)| micro(*key, *act, Some(found)));
        events.asked = None;
        self.note(events, "ok", process, &Value::Array(value.collect()));
    }

    /// It was aborted, if there is one.
    pub fn failed(&self, events: &mut Events, process: u64) {
        if let Some(asked) = events.asked.take() {
            self.note(events, "fail", process, &asked);
        }
    }
}

fn micro(key: u64, act: Act, found: Option<&Vec<u64>>) -> Value {
    match (act, found) {
        (Act::Append(value), _) => json!(["append", key, value]),
        (Act::Write(value), _) => json!(["w", key, value]),
        (Act::Read, None) => json!(["r", key, null]),
        (Act::Read, Some(found)) => json!(["r", key, found]),
    }
}

/// Judges the events of all clients.
pub fn judge(all: impl IntoIterator<Item = Events>, lists: bool, model: &str) -> Report {
    let mut events: Vec<(u64, Value)> = all.into_iter().flat_map(|e| e.events).collect();
    events.sort_by_key(|(at, _)| *at);
    let lines: Vec<String> = events
        .into_iter()
        .map(|(_, mut event)| {
            if !lists {
                as_registers(&mut event);
            }
            event.to_string()
        })
        .collect();
    let history = History::from_json(&lines.join("\n")).expect("a history");
    let workload = match lists {
        true => Workload::ListAppend,
        false => Workload::RwRegister,
    };
    let options = Opts {
        models: vec![model.into()],
        ..Opts::default()
    };
    adya::check(&history, workload, &options)
}

/// Converts the content of registers: a value or nothing.
fn as_registers(event: &mut Value) {
    for micro in event["value"].as_array_mut().expect("micro-operations") {
        if let Some(found) = micro[2].as_array() {
            micro[2] = found.first().cloned().unwrap_or(Value::Null);
        }
    }
}
