//! As much of etcd as the register asks for, in this process. A key may be lost with its lease on a test's request,
//! and an answer on its way back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

struct Key {
    value: String,
    revision: i64,
    lease: Option<String>,
}

#[derive(Default)]
struct State {
    keys: BTreeMap<Vec<u8>, Key>,
    revision: i64,
    leases: Vec<String>,
    /// So many answers to transactions are lost.
    lost: u32,
    /// These endpoints give no answer.
    silent: [bool; 2],
    ended: bool,
}

pub struct ScriptedEtcd {
    state: Arc<Mutex<State>>,
    endpoints: [String; 2],
}

impl ScriptedEtcd {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let endpoints = [0, 1].map(|number| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let endpoint = format!("http://{}", listener.local_addr().unwrap());
            let serves = state.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if serves.lock().unwrap().ended {
                        return;
                    }
                    if let Ok(stream) = stream {
                        serve(&serves, number, stream);
                    }
                }
            });
            endpoint
        });
        ScriptedEtcd { state, endpoints }
    }

    /// One of two.
    pub fn endpoint(&self, number: usize) -> &str {
        &self.endpoints[number]
    }

    /// The answers to so many transactions are lost on their way.
    pub fn lose_answers(&self, count: u32) {
        self.state.lock().unwrap().lost = count;
    }

    pub fn be_silent(&self, silent: [bool; 2]) {
        self.state.lock().unwrap().silent = silent;
    }

    /// Sets a key's value to one that no register has.
    pub fn damage(&self, key: &str) {
        let mut state = self.state.lock().unwrap();
        state.keys.get_mut(key.as_bytes()).unwrap().value = "eA==".into();
    }

    /// The lease of a node runs out.
    pub fn run_out(&self, key: &str) {
        let mut state = self.state.lock().unwrap();
        let lease = state.keys[key.as_bytes()].lease.clone().unwrap();
        state.leases.retain(|other| *other != lease);
        state
            .keys
            .retain(|_, key| key.lease.as_ref() != Some(&lease));
    }
}

impl Drop for ScriptedEtcd {
    fn drop(&mut self) {
        self.state.lock().unwrap().ended = true;
        for endpoint in &self.endpoints {
            let _ = TcpStream::connect(endpoint.trim_start_matches("http://"));
        }
    }
}

fn serve(state: &Mutex<State>, number: usize, mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_string();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let head = line.trim().to_ascii_lowercase();
        if let Some(value) = head.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if head.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut state = state.lock().unwrap();
    if state.silent[number] {
        return;
    }
    let answer = answer(&mut state, &path, &body).to_string();
    if path == "/v3/kv/txn" && state.lost > 0 {
        state.lost -= 1;
        return;
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.len()
    );
    let _ = stream.write_all((head + &answer).as_bytes());
}

fn key(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap()).unwrap()
}

fn answer(state: &mut State, path: &str, body: &Value) -> Value {
    match path {
        "/v3/kv/range" => {
            let from = key(&body["key"]);
            let to = body.get("range_end").map(key);
            let within = |other: &Vec<u8>| match &to {
                Some(to) => *other >= from && other < to,
                None => *other == from,
            };
            let found = state.keys.iter().filter(|(key, _)| within(key));
            let found: Vec<Value> = found
                .map(|(name, key)| {
                    json!({
                        "key": STANDARD.encode(name),
                        "value": key.value,
                        "mod_revision": key.revision.to_string(),
                    })
                })
                .collect();
            json!({ "kvs": found })
        }
        "/v3/kv/txn" => {
            let compare = &body["compare"][0];
            let name = key(&compare["key"]);
            let expected: i64 = compare["mod_revision"].as_str().unwrap().parse().unwrap();
            if state.keys.get(&name).map_or(0, |key| key.revision) != expected {
                return json!({});
            }
            let put = &body["success"][0]["request_put"];
            let lease = put
                .get("lease")
                .map(|lease| lease.as_str().unwrap().to_string());
            if lease
                .as_ref()
                .is_some_and(|lease| !state.leases.contains(lease))
            {
                return json!({});
            }
            state.revision += 1;
            let value = put["value"].as_str().unwrap().to_string();
            let revision = state.revision;
            state.keys.insert(
                key(&put["key"]),
                Key {
                    value,
                    revision,
                    lease,
                },
            );
            json!({ "succeeded": true })
        }
        "/v3/lease/grant" => {
            state.revision += 1;
            let lease = format!("{}", 7000 + state.revision);
            state.leases.push(lease.clone());
            json!({ "ID": lease, "TTL": body["TTL"] })
        }
        "/v3/lease/keepalive" => {
            let lease = body["ID"].as_str().unwrap().to_string();
            match state.leases.contains(&lease) {
                true => json!({ "result": { "ID": lease, "TTL": "2" } }),
                false => json!({ "result": { "ID": lease } }),
            }
        }
        "/v3/lease/revoke" => {
            let lease = body["ID"].as_str().unwrap().to_string();
            state.leases.retain(|other| *other != lease);
            state
                .keys
                .retain(|_, key| key.lease.as_ref() != Some(&lease));
            json!({})
        }
        other => panic!("nobody asks for {other}"),
    }
}
