//! Two hosts whose log is on two copies, `copies:KEEPER;COPY;COPY`: each copy is killed in turn, and restarted.

use crate::common::{command, json, run};
use crate::hosting::{Cluster, kill};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The bound on a wait: a state that is not reached by then is a failure.
const DEADLINE: Duration = Duration::from_secs(120);

/// The time between two checks.
const PAUSE: Duration = Duration::from_millis(50);

/// A process that keeps a copy.
struct CopyServer {
    process: Child,
    directory: String,
    address: String,
}

impl CopyServer {
    fn start(cluster: &Cluster, name: &str) -> CopyServer {
        let directory = cluster.directory.path().join(name);
        CopyServer::start_at(format!("file:{}", directory.display()), "127.0.0.1:0")
    }

    fn start_at(directory: String, address: &str) -> CopyServer {
        let mut process = command(&["store", "serve", &directory, "--listen", address])
            .args(["--json", "--until-input-ends"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        CopyServer {
            process,
            directory,
            address: said["listening"].as_str().unwrap().into(),
        }
    }

    /// Kills it, and returns the arguments to start it again.
    fn kill(self) -> (String, String) {
        let again = (self.directory.clone(), self.address.clone());
        drop(self);
        again
    }
}

impl Drop for CopyServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The state of each copy, in the register's order.
fn standings(place: &str) -> Vec<String> {
    let status = json(&["store", "status", place]);
    let copies = status["copies"].as_array().unwrap();
    let standings = copies.iter().map(|copy| copy["standing"].as_str().unwrap());
    standings.map(String::from).collect()
}

/// Waits until the copies have these states.
fn wait_until(place: &str, wanted: [&str; 2]) {
    let began = Instant::now();
    loop {
        let there = standings(place);
        if there == wanted {
            return;
        }
        assert!(began.elapsed() < DEADLINE, "{there:?}, not {wanted:?}");
        std::thread::sleep(PAUSE);
    }
}

#[test]
fn i12_a_log_on_two_copies_outlives_each_of_them_and_the_host_that_serves() {
    // A copy may be silent for a quarter of it.
    let mut cluster = Cluster::new();
    cluster.lease = "4s";
    let (one, two) = (
        CopyServer::start(&cluster, "one"),
        CopyServer::start(&cluster, "two"),
    );
    let keeper = cluster.directory.path().join("keeper");
    let place = format!(
        "copies:file:{};tcp://{};tcp://{}",
        keeper.display(),
        one.address,
        two.address
    );
    let a = cluster.start_on("host-1", &place, &[]);
    cluster.create(&[&a]);
    let b = cluster.start_on("host-2", &place, &[]);
    cluster.wait_until_it_follows(&b);
    cluster.insert(&[&b, &a], 0..20);
    wait_until(&place, ["in-sync", "in-sync"]);
    // While both are in sync the loss of either loses no transaction. The first of the chain is lost; transactions
    // continue without it.
    let (directory, address) = one.kill();
    cluster.insert(&[&b, &a], 20..40);
    wait_until(&place, ["in-sync", "out"]);
    // It starts again, and the serving host admits it.
    let _one = CopyServer::start_at(directory, &address);
    wait_until(&place, ["in-sync", "in-sync"]);
    // Now the other one is lost, with an empty disk, and so is the host.
    let (directory, address) = two.kill();
    std::fs::remove_dir_all(directory.strip_prefix("file:").unwrap()).unwrap();
    cluster.insert(&[&b, &a], 40..50);
    kill(a);
    let client = cluster.served_by(&[&b]);
    assert_eq!(cluster.numbers(&client), (0..50).collect::<Vec<_>>());
    let _two = CopyServer::start_at(directory, &address);
    cluster.insert(&[&b], 50..60);
    wait_until(&place, ["in-sync", "in-sync"]);
    b.end();
    run(0, &["store", "verify", &place]);
    let (shown, _) = run(0, &["store", "status", &place]);
    assert!(
        shown.contains("in-sync") && shown.contains("since"),
        "{shown}"
    );
}
