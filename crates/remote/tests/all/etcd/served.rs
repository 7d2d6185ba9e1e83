//! As much of etcd as registers ask for, in this process: its state, and two servers of it over HTTP. On a test's request a
//! key is lost with its lease, a request or an answer is lost, and an older state is restored.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Clone)]
struct Key {
    value: String,
    revision: i64,
    lease: Option<String>,
}

/// The keys of an etcd, and its revision.
#[derive(Clone)]
pub struct State {
    keys: BTreeMap<Vec<u8>, Key>,
    pub revision: i64,
    pub cluster: u64,
    leases: Vec<String>,
    /// A planted fault: a put does not compare the revision.
    pub compares_nothing: bool,
}

impl Default for State {
    fn default() -> Self {
        State {
            keys: BTreeMap::new(),
            revision: 1,
            // More than a signed number has.
            cluster: 0xcdf8_1818_fe18_1818,
            leases: Vec::new(),
            compares_nothing: false,
        }
    }
}

/// The faults, and what was asked.
#[derive(Default)]
struct Script {
    state: State,
    /// So many answers to transactions are lost,
    lost: u32,
    /// and so many requests for them.
    lost_requests: u32,
    /// These endpoints give no answer.
    silent: [bool; 2],
    /// These endpoints refuse, with a status and a text.
    refusing: [Option<(u16, String)>; 2],
    /// The user, the password and the present token, if a token is asked for.
    user: Option<(String, String, u32)>,
    /// The endpoints that were asked, by the paths.
    asked: Vec<(usize, String)>,
    ended: bool,
}

pub struct ScriptedEtcd {
    script: Arc<Mutex<Script>>,
    endpoints: [String; 2],
}

impl ScriptedEtcd {
    pub fn start() -> Self {
        let script = Arc::new(Mutex::new(Script::default()));
        let endpoints = [0, 1].map(|number| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let endpoint = format!("http://{}", listener.local_addr().unwrap());
            let serves = script.clone();
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
        ScriptedEtcd { script, endpoints }
    }

    /// One of two.
    pub fn endpoint(&self, number: usize) -> &str {
        &self.endpoints[number]
    }

    /// The answers to so many transactions are lost on their way.
    pub fn lose_answers(&self, count: u32) {
        self.script.lock().unwrap().lost = count;
    }

    /// So many transactions do not arrive.
    pub fn lose_requests(&self, count: u32) {
        self.script.lock().unwrap().lost_requests = count;
    }

    pub fn be_silent(&self, silent: [bool; 2]) {
        self.script.lock().unwrap().silent = silent;
    }

    /// An endpoint refuses everything with this status and text; or does no longer.
    pub fn refuse(&self, number: usize, with: Option<(u16, &str)>) {
        let with = with.map(|(status, text)| (status, text.into()));
        self.script.lock().unwrap().refusing[number] = with;
    }

    /// From now on a token is asked for; earlier ones have expired.
    pub fn ask_for_user(&self, name: &str, password: &str) {
        let mut script = self.script.lock().unwrap();
        let next = script.user.as_ref().map_or(0, |(_, _, token)| token + 1);
        script.user = Some((name.into(), password.into(), next));
    }

    /// Returns the endpoints that were asked since the last call, by the paths.
    pub fn asked(&self) -> Vec<(usize, String)> {
        std::mem::take(&mut self.script.lock().unwrap().asked)
    }

    /// A copy of the keys.
    pub fn state(&self) -> State {
        self.script.lock().unwrap().state.clone()
    }

    /// Has these keys from now on.
    pub fn restore(&self, state: State) {
        self.script.lock().unwrap().state = state;
    }

    /// Sets a key's value to one that no register has.
    pub fn damage(&self, key: &str) {
        let state = &mut self.script.lock().unwrap().state;
        state.keys.get_mut(key.as_bytes()).unwrap().value = "eA==".into();
    }

    pub fn delete(&self, key: &str) {
        let state = &mut self.script.lock().unwrap().state;
        state.keys.remove(key.as_bytes()).unwrap();
    }

    /// The lease of a node runs out.
    pub fn run_out(&self, key: &str) {
        let state = &mut self.script.lock().unwrap().state;
        let lease = state.keys[key.as_bytes()].lease.clone().unwrap();
        state.end_lease(&lease);
    }
}

impl Drop for ScriptedEtcd {
    fn drop(&mut self) {
        self.script.lock().unwrap().ended = true;
        for endpoint in &self.endpoints {
            let _ = TcpStream::connect(endpoint.trim_start_matches("http://"));
        }
    }
}

fn serve(script: &Mutex<Script>, number: usize, mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length, mut token) = (String::new(), 0, String::new());
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
        if let Some(value) = head.strip_prefix("authorization:") {
            token = value.trim().into();
        }
        if head.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut script = script.lock().unwrap();
    script.asked.push((number, path.clone()));
    if script.silent[number] {
        return;
    }
    let (status, answer) = script.answer(number, &path, &body, &token);
    let Some(answer) = answer else { return };
    let head = format!(
        "HTTP/1.1 {status} Text\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.len()
    );
    let _ = stream.write_all((head + &answer).as_bytes());
}

impl Script {
    /// The status and the text of an answer, if it is not lost.
    fn answer(
        &mut self,
        number: usize,
        path: &str,
        body: &Value,
        token: &str,
    ) -> (u16, Option<String>) {
        if let Some((status, text)) = &self.refusing[number] {
            return (*status, Some(text.clone()));
        }
        if path == "/v3/auth/authenticate" {
            return match &self.user {
                Some((name, password, token))
                    if body["name"] == **name && body["password"] == **password =>
                {
                    (
                        200,
                        Some(json!({ "token": format!("t{token}") }).to_string()),
                    )
                }
                Some(_) => (
                    400,
                    Some(r#"{"error":"etcdserver: authentication failed, invalid user ID or password","code":3}"#.into()),
                ),
                None => (
                    400,
                    Some(r#"{"error":"etcdserver: authentication is not enabled","code":9}"#.into()),
                ),
            };
        }
        if let Some((_, _, present)) = &self.user {
            if token.is_empty() {
                return (
                    400,
                    Some(r#"{"error":"etcdserver: user name is empty","code":3}"#.into()),
                );
            }
            if token != format!("t{present}") {
                return (
                    401,
                    Some(r#"{"error":"etcdserver: invalid auth token","code":16}"#.into()),
                );
            }
        }
        let is_put = path == "/v3/kv/txn";
        if is_put && self.lost_requests > 0 {
            self.lost_requests -= 1;
            return (0, None);
        }
        let answer = self.state.answer(path, body).to_string();
        if is_put && self.lost > 0 {
            self.lost -= 1;
            return (0, None);
        }
        (200, Some(answer))
    }
}

fn key(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap()).unwrap()
}

impl State {
    fn end_lease(&mut self, lease: &String) {
        self.leases.retain(|other| other != lease);
        self.keys.retain(|_, key| key.lease.as_ref() != Some(lease));
    }

    fn header(&self) -> Value {
        json!({ "cluster_id": self.cluster.to_string(), "revision": self.revision.to_string() })
    }

    /// The answer to a call.
    pub fn answer(&mut self, path: &str, body: &Value) -> Value {
        match path {
            "/v3/kv/range" => self.range(body),
            "/v3/kv/txn" => {
                let succeeded = self.put(body);
                match succeeded {
                    true => json!({ "header": self.header(), "succeeded": true }),
                    false => json!({ "header": self.header() }),
                }
            }
            "/v3/kv/deleterange" => {
                if self.keys.remove(&key(&body["key"])).is_some() {
                    self.revision += 1;
                }
                json!({ "header": self.header() })
            }
            "/v3/lease/grant" => {
                let lease = format!("{}", 7000 + self.leases.len() as i64 + self.revision);
                self.revision += 1;
                self.leases.push(lease.clone());
                json!({ "ID": lease, "TTL": body["TTL"] })
            }
            "/v3/lease/keepalive" => {
                let lease = body["ID"].as_str().unwrap().to_string();
                match self.leases.contains(&lease) {
                    true => json!({ "result": { "ID": lease, "TTL": "2" } }),
                    false => json!({ "result": { "ID": lease } }),
                }
            }
            "/v3/lease/revoke" => {
                let lease = body["ID"].as_str().unwrap().to_string();
                self.end_lease(&lease);
                json!({})
            }
            other => panic!("no client asks for {other}"),
        }
    }

    fn range(&self, body: &Value) -> Value {
        let from = key(&body["key"]);
        let to = body.get("range_end").map(key);
        let within = |other: &Vec<u8>| match &to {
            Some(to) => *other >= from && other < to,
            None => *other == from,
        };
        let found = self.keys.iter().filter(|(key, _)| within(key));
        let found: Vec<Value> = found
            .map(|(name, key)| {
                json!({
                    "key": STANDARD.encode(name),
                    "value": key.value,
                    "mod_revision": key.revision.to_string(),
                })
            })
            .collect();
        // etcd leaves out what is empty.
        match found.is_empty() {
            true => json!({ "header": self.header() }),
            false => json!({ "header": self.header(), "kvs": found }),
        }
    }

    fn put(&mut self, body: &Value) -> bool {
        let compare = &body["compare"][0];
        let name = key(&compare["key"]);
        let expected: i64 = compare["mod_revision"].as_str().unwrap().parse().unwrap();
        let found = self.keys.get(&name).map_or(0, |key| key.revision);
        if found != expected && !self.compares_nothing {
            return false;
        }
        let put = &body["success"][0]["request_put"];
        let lease = put
            .get("lease")
            .map(|lease| lease.as_str().unwrap().to_string());
        if lease
            .as_ref()
            .is_some_and(|lease| !self.leases.contains(lease))
        {
            return false;
        }
        self.revision += 1;
        let value = put["value"].as_str().unwrap().to_string();
        let revision = self.revision;
        self.keys.insert(
            key(&put["key"]),
            Key {
                value,
                revision,
                lease,
            },
        );
        true
    }
}
