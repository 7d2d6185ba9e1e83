//! `serve --store`: two hosts of one database, real processes with a store that is a directory. One is killed, asked to
//! hand over, ended, loses its store. Clients with both hosts in their connection string find every acknowledged
//! transaction.

use crate::common::{command, json, run, text};
use crate::serving::Serving;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Error, NoTls};

/// The bound on a wait for an expected event.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub struct Cluster {
    pub directory: tempfile::TempDir,
    /// The hosts' lease.
    pub lease: &'static str,
    runtime: Runtime,
}

impl Cluster {
    pub fn new() -> Cluster {
        let runtime = Builder::new_current_thread().enable_all().build();
        Cluster {
            directory: tempfile::tempdir().unwrap(),
            lease: "1s",
            runtime: runtime.unwrap(),
        }
    }

    fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    pub fn place(&self) -> String {
        format!("file:{}", self.store().display())
    }

    pub fn directory_of(&self, host: &str) -> PathBuf {
        self.directory.path().join(format!("{host}.sdx"))
    }

    pub fn start(&self, host: &str) -> Serving {
        self.start_on(host, &self.place(), &[])
    }

    /// A host with another place for the same store.
    pub fn start_on(&self, host: &str, place: &str, environment: &[(&str, &str)]) -> Serving {
        let arguments = ["--store", place, "--host", host, "--lease", self.lease];
        let serving = Serving::start_in(&self.directory_of(host), &arguments, environment);
        assert_eq!(serving.host.as_deref(), Some(host));
        serving
    }

    /// A client that tries the next of these hosts if one does not serve.
    fn connect(&self, hosts: &[&Serving]) -> Result<Client, Error> {
        let at: Vec<&str> = hosts.iter().map(|host| &*host.postgres).collect();
        let url = format!(
            "postgres://ada@{}/bank?target_session_attrs=read-write&connect_timeout=5",
            at.join(",")
        );
        let (client, connection) = self
            .runtime
            .block_on(tokio_postgres::connect(&url, NoTls))?;
        self.runtime.spawn(connection);
        Ok(client)
    }

    fn execute(&self, client: &Client, text: &str) -> Result<(), Error> {
        self.runtime.block_on(client.batch_execute(text))
    }

    /// A client of the host of these that serves, as soon as one does.
    pub fn served_by(&self, hosts: &[&Serving]) -> Client {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.connect(hosts) {
                Ok(client) => return client,
                Err(error) => assert!(Instant::now() < until, "no host serves: {error}"),
            }
        }
    }

    /// Inserts these numbers, each acknowledged, by the serving host. The number during which a connection ended may
    /// exist already.
    pub fn insert(&self, hosts: &[&Serving], numbers: std::ops::Range<i64>) {
        let mut client = self.served_by(hosts);
        for number in numbers {
            let text = format!("INSERT INTO t VALUES ({number}) ON CONFLICT DO NOTHING");
            while self.execute(&client, &text).is_err() {
                client = self.served_by(hosts);
            }
        }
    }

    pub fn numbers(&self, client: &Client) -> Vec<i64> {
        let rows = self
            .runtime
            .block_on(client.query("SELECT id FROM t ORDER BY id", &[]));
        rows.unwrap().iter().map(|row| row.get(0)).collect()
    }

    /// Lets a host serve. If it does not start in time, on a busy machine, the request is repeated.
    fn promote(&self, to: &str, host: &Serving) -> Client {
        let until = Instant::now() + PATIENCE;
        loop {
            run(0, &["store", "promote", &self.place(), "--to", to]);
            let next = Instant::now() + Duration::from_secs(10);
            while Instant::now() < next {
                if let Ok(client) = self.connect(&[host]) {
                    return client;
                }
            }
            assert!(Instant::now() < until, "{to} does not serve");
        }
    }

    /// Creates the table, by the serving host.
    pub fn create(&self, hosts: &[&Serving]) {
        let text = "CREATE TABLE IF NOT EXISTS t (id bigint PRIMARY KEY)";
        while self.execute(&self.served_by(hosts), text).is_err() {}
    }

    /// The SQLSTATE with which a host sends a client away.
    fn sent_away(&self, host: &Serving) -> Option<String> {
        let error = self.connect(&[host]).err()?;
        Some(
            error
                .code()
                .map_or("none".to_string(), |code| code.code().to_string()),
        )
    }

    /// Waits until a host sends clients away because it does not serve.
    pub fn wait_until_it_follows(&self, host: &Serving) {
        let until = Instant::now() + PATIENCE;
        while self.sent_away(host).as_deref() != Some("57P03") {
            assert!(Instant::now() < until, "it serves");
        }
    }
}

fn signal(host: &Serving, signal: Signal) {
    kill_process(Pid::from_child(&host.process), signal).unwrap();
}

pub fn kill(mut host: Serving) {
    host.process.kill().unwrap();
    host.process.wait().unwrap();
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The next line of a host's log with this text.
fn told(host: &Serving, wanted: &str) -> String {
    loop {
        let line = host.log.recv_timeout(PATIENCE).unwrap();
        if line.contains(wanted) {
            return line;
        }
    }
}

#[test]
fn i12_a_host_that_is_killed_is_followed_by_another_one_with_everything_that_was_acknowledged() {
    let cluster = Cluster::new();
    let a = cluster.start("host-1");
    cluster.create(&[&a]);
    let b = cluster.start("host-2");
    cluster.wait_until_it_follows(&b);
    cluster.insert(&[&b, &a], 0..20);
    let status = json(&["store", "status", &cluster.place()]);
    assert_eq!(
        (&status["host"], &status["released"]),
        (&"host-1".into(), &false.into())
    );
    assert_eq!(status["lease_seconds"], 1.0);
    kill(a);
    let client = cluster.served_by(&[&b]);
    assert_eq!(cluster.numbers(&client), (0..20).collect::<Vec<_>>());
    let recovery = cluster
        .runtime
        .block_on(client.query_one("SELECT pg_is_in_recovery()", &[]));
    assert!(!recovery.unwrap().get::<_, bool>(0));

    // It starts again and does not take over: it follows.
    let a = cluster.start("host-1");
    cluster.wait_until_it_follows(&a);
    cluster.insert(&[&a, &b], 20..40);
    assert_eq!(
        json(&["store", "status", &cluster.place()])["host"],
        "host-2"
    );

    // An orderly end hands over without waiting for the lease.
    signal(&b, Signal::TERM);
    let client = cluster.served_by(&[&a]);
    assert_eq!(cluster.numbers(&client), (0..40).collect::<Vec<_>>());
    b.end();
    a.end();
    let status = json(&["store", "status", &cluster.place()]);
    assert_eq!(
        (&status["host"], &status["released"]),
        (&"host-1".into(), &true.into())
    );
}

#[test]
fn a_verb_that_opens_the_database_leaves_it_to_a_host_that_serves() {
    let cluster = Cluster::new();
    let a = cluster.start("host-1");
    cluster.create(&[&a]);
    let (own, beside) = (
        cluster.directory_of("host-1"),
        cluster.directory_of("host-2"),
    );
    let place = cluster.place();
    let insert = "INSERT INTO t VALUES (2)";
    let sql = |code, path: &Path, more: &[&str]| {
        let verb = ["sql", shown(path), "--store", &place, "-c", insert];
        run(code, &[&verb[..], more].concat())
    };
    let (_, said) = sql(3, &beside, &["--create"]);
    assert!(said.contains("host host-1 serves the database"), "{said}");
    assert!(said.contains("sardonyx store drain file:"), "{said}");
    // It has lost nothing.
    cluster.insert(&[&a], 0..2);
    // The lease of a killed host must run out; a host that ended has released it.
    kill(a);
    let (_, said) = sql(0, &own, &[]);
    let waits = "waiting for a sign of it, or for 1s without one";
    assert!(said.contains(waits), "{said}");
    let status = json(&["store", "status", &place]);
    assert_eq!(status["released"], true, "{status}");
    assert!(
        status["host"].as_str().unwrap().starts_with("verb-"),
        "{status}"
    );
    let a = cluster.start("host-1");
    let client = cluster.served_by(&[&a]);
    assert_eq!(cluster.numbers(&client), [0, 1, 2]);
    a.end();
    let (_, said) = run(0, &["checkpoint", shown(&own), "--store", &place]);
    assert!(!said.contains("waiting"), "{said}");
}

#[test]
fn what_cannot_be_a_host_is_wrong_usage() {
    let cluster = Cluster::new();
    let (directory, place) = (cluster.directory_of("host-1"), cluster.place());
    for (more, why) in [
        (["--host", "a/b"], "no host can be called"),
        (["--lease", "1ms"], "take at least 200ms"),
        (["--lease", "90000s"], "at most a day"),
    ] {
        let verb = ["serve", shown(&directory), "--store", &place];
        let (_, said) = run(2, &[&verb[..], &more].concat());
        assert!(said.contains(why), "{said}");
    }
    let (_, said) = run(2, &["serve", shown(&directory), "--host", "host-1"]);
    assert!(said.contains("--store"), "{said}");
    assert!(!directory.exists());
}

#[test]
fn a_host_hands_over_when_it_is_told_to_and_follows_by_itself() {
    let cluster = Cluster::new();
    let [a, b] = ["host-1", "host-2"].map(|host| cluster.start(host));
    cluster.create(&[&a, &b]);
    let mut first = 0;
    for to in ["host-2", "host-1", "host-2"] {
        let [wanted, other] = match to {
            "host-1" => [&a, &b],
            _ => [&b, &a],
        };
        cluster.insert(&[&a, &b], first..first + 5);
        first += 5;
        let client = cluster.promote(to, wanted);
        assert_eq!(cluster.numbers(&client), (0..first).collect::<Vec<_>>());
        cluster.wait_until_it_follows(other);
    }
    run(0, &["store", "drain", &cluster.place()]);
    let client = cluster.served_by(&[&a]);
    assert_eq!(cluster.numbers(&client), (0..first).collect::<Vec<_>>());
    a.end();
    b.end();
}

#[test]
fn a_store_that_is_away_stops_a_host_and_it_goes_on_by_itself_when_that_is_back() {
    let cluster = Cluster::new();
    let a = cluster.start("host-1");
    cluster.create(&[&a]);
    cluster.insert(&[&a], 0..10);
    let away = cluster.directory.path().join("away");
    std::fs::rename(cluster.store(), &away).unwrap();
    // It cannot know that no other host has taken over: it sends no answers, and stays up.
    told(&a, "lease has run out");
    cluster.wait_until_it_follows(&a);
    std::fs::rename(&away, cluster.store()).unwrap();
    told(&a, "has its lease again");
    cluster.insert(&[&a], 10..20);
    a.end();

    // A host that starts meanwhile waits for it. An empty store in its place would end every host.
    std::fs::rename(cluster.store(), &away).unwrap();
    let a = cluster.start("host-1");
    told(&a, "the store is not reachable yet");
    assert!(!cluster.store().exists());
    std::fs::rename(&away, cluster.store()).unwrap();
    let client = cluster.served_by(&[&a]);
    assert_eq!(cluster.numbers(&client), (0..20).collect::<Vec<_>>());
    a.end();
}

#[test]
fn what_a_host_alone_still_had_is_cut_off_kept_aside_and_named() {
    let cluster = Cluster::new();
    let a = cluster.start("host-1");
    cluster.create(&[&a]);
    cluster.insert(&[&a], 0..10);
    kill(a);
    // The store loses the last entry, after its answer.
    let entries = std::fs::read_dir(cluster.store().join("entry")).unwrap();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    std::fs::remove_file(entries.last().unwrap()).unwrap();
    let b = cluster.start("host-2");
    let client = cluster.served_by(&[&b]);
    assert_eq!(cluster.numbers(&client), (0..9).collect::<Vec<_>>());
    cluster.insert(&[&b], 100..101);

    let a = cluster.start("host-1");
    let line = told(&a, "kept in this file");
    assert!(line.contains("ERROR"), "{line}");
    cluster.wait_until_it_follows(&a);
    let directory = cluster.directory_of("host-1");
    let status = json(&[
        "store",
        "status",
        &cluster.place(),
        "--directory",
        shown(&directory),
    ]);
    let forks = status["directory"]["forks"].as_array().unwrap();
    assert_eq!(forks.len(), 1, "{status}");
    assert_eq!(forks[0]["transactions"], 1);
    let file = directory.join(forks[0]["file"].as_str().unwrap());
    assert!(file.metadata().unwrap().len() > 0);
    signal(&b, Signal::TERM);
    let client = cluster.served_by(&[&a]);
    let expected: Vec<i64> = (0..9).chain(100..101).collect();
    assert_eq!(cluster.numbers(&client), expected);
    a.end();
    b.end();
}

#[test]
fn what_a_restart_does_not_mend_ends_a_host_with_an_exit_code_of_its_own() {
    let cluster = Cluster::new();
    let a = cluster.start("host-1");
    cluster.create(&[&a]);
    cluster.insert(&[&a], 0..10);
    a.end();
    let entry = cluster.store().join("entry").join("00000000000000000003");
    let mut bytes = std::fs::read(&entry).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&entry, bytes).unwrap();
    let (directory, place) = (cluster.directory_of("host-2"), cluster.place());
    let arguments = [
        "serve",
        shown(&directory),
        "--store",
        &place,
        "--postgres",
        ":0",
        "--redis",
        "off",
        "--http",
        "off",
    ];
    let ended = command(&arguments).output().unwrap();
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(5), "{said}");
    assert!(said.contains("entry 3 of the log is damaged"), "{said}");
    assert!(said.contains("a restart does not help"), "{said}");
}
