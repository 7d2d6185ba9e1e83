//! `store serve`: two hosts whose log one of them keeps, and hosts that are refused.

use crate::common::{command, ended, json, run};
use crate::hosting::{Cluster, kill};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

const TOKEN_FILE: &str = "SARDONYX_STORE_TOKEN_FILE";

/// A process that keeps the log of a cluster, at an address that stays when it is killed.
struct Keeper {
    process: Child,
    place: String,
    token: PathBuf,
}

impl Keeper {
    fn start(cluster: &Cluster) -> Keeper {
        Keeper::start_at(cluster, &directory_of(cluster), "127.0.0.1:0")
    }

    fn start_at(cluster: &Cluster, place: &str, address: &str) -> Keeper {
        let token = cluster.directory.path().join("token");
        std::fs::write(&token, "secret\n").unwrap();
        let verb = ["store", "serve", place, "--listen", address];
        let mut process = command(&verb)
            .args(["--json", "--until-input-ends", "--token-file"])
            .arg(&token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["place"], place);
        Keeper {
            process,
            place: format!("tcp://{}", said["listening"].as_str().unwrap()),
            token,
        }
    }

    /// Kills it, and starts it again at the same address.
    fn killed(mut self, cluster: &Cluster) -> Keeper {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let address = self.place.trim_start_matches("tcp://");
        Keeper::start_at(cluster, &directory_of(cluster), address)
    }

    /// Runs a verb of `store` on the place.
    fn ask(&self, verb: &str, more: &[&str]) -> String {
        let verb = ["store", verb, &self.place];
        let output = command(&verb)
            .args(more)
            .env(TOKEN_FILE, &self.token)
            .output();
        ended(0, &verb, &output.unwrap()).0
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A directory of the keeper alone.
fn directory_of(cluster: &Cluster) -> String {
    let directory = cluster.directory.path().join("kept");
    directory.to_str().unwrap().into()
}

#[test]
fn i12_two_hosts_fail_over_with_the_log_that_one_of_them_keeps() {
    let cluster = Cluster::new();
    let keeper = Keeper::start(&cluster);
    let token = keeper.token.to_str().unwrap().to_string();
    let start = |host: &str, keeper: &Keeper| {
        cluster.start_on(host, &keeper.place, &[(TOKEN_FILE, &token)])
    };
    let a = start("host-1", &keeper);
    cluster.create(&[&a]);
    let b = start("host-2", &keeper);
    cluster.wait_until_it_follows(&b);
    cluster.insert(&[&b, &a], 0..20);
    let said = keeper.ask("status", &["--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["host"], "host-1");
    kill(a);
    let client = cluster.served_by(&[&b]);
    assert_eq!(cluster.numbers(&client), (0..20).collect::<Vec<_>>());
    cluster.insert(&[&b], 20..30);
    // It starts again, and has the other one's transactions.
    let a = start("host-1", &keeper);
    cluster.wait_until_it_follows(&a);
    // The log is as it was acknowledged when its process is killed.
    let keeper = keeper.killed(&cluster);
    cluster.insert(&[&b, &a], 30..40);
    b.end();
    let client = cluster.served_by(&[&a]);
    assert_eq!(cluster.numbers(&client), (0..40).collect::<Vec<_>>());
    a.end();
    keeper.ask("verify", &[]);
    keeper.end();
    let beside = format!("file:{}", directory_of(&cluster));
    let (_, said) = run(4, &["store", "status", &beside]);
    assert!(said.contains("one process keeps for itself"), "{said}");
}

#[test]
fn a_directory_of_files_is_served_to_others_and_used_beside() {
    let cluster = Cluster::new();
    let keeper = Keeper::start_at(&cluster, &cluster.place(), "127.0.0.1:0");
    let token = keeper.token.to_str().unwrap().to_string();
    let a = cluster.start_on("host-1", &keeper.place, &[(TOKEN_FILE, &token)]);
    cluster.create(&[&a]);
    // On the host of the log.
    let b = cluster.start("host-2");
    cluster.wait_until_it_follows(&b);
    cluster.insert(&[&b, &a], 0..5);
    assert_eq!(
        json(&["store", "status", &cluster.place()])["host"],
        "host-1"
    );
    b.end();
    a.end();
    keeper.end();
    run(0, &["store", "verify", &cluster.place()]);
    // A single process cannot use it alone.
    let directory = cluster.place().replace("file:", "");
    let verb = ["store", "serve", &directory, "--listen", "127.0.0.1:0"];
    let (_, said) = run(4, &verb);
    assert!(said.contains("serve it as file:"), "{said}");
}

#[test]
fn a_host_without_the_token_is_refused_by_name() {
    let cluster = Cluster::new();
    let keeper = Keeper::start(&cluster);
    let verb = ["store", "status", &keeper.place];
    let output = command(&verb).env_remove(TOKEN_FILE).output().unwrap();
    let (_, said) = ended(4, &verb, &output);
    assert!(said.contains("another token"), "{said}");
    let output = command(&verb).env(TOKEN_FILE, &keeper.token).output();
    let (_, said) = ended(2, &verb, &output.unwrap());
    assert!(said.contains("has no database"), "{said}");
    let elsewhere = ["store", "status", "tcp://10.0.0.7:7071"];
    let (_, said) = run(2, &elsewhere);
    assert!(said.contains("SARDONYX_STORE_TLS"), "{said}");
    let elsewhere = ["store", "serve", "memory:x", "--listen", "127.0.0.1:0"];
    let (_, said) = run(2, &elsewhere);
    assert!(
        said.contains("give a directory, or file:DIRECTORY"),
        "{said}"
    );
    let nowhere = ["store", "serve", &cluster.place(), "--listen", "here"];
    let (_, said) = run(4, &nowhere);
    assert!(said.contains("cannot listen at here"), "{said}");
}
