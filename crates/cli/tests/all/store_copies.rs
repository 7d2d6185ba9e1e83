//! Two hosts whose log is on two copies, `copies:KEEPER;COPY;COPY`: each copy is killed in turn, and restarted; places
//! are added and removed while the hosts serve. The keeper is restored from a backup.

use crate::common::{command, json, run};
use crate::hosting::{Cluster, kill};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
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
fn wait_until(place: &str, wanted: &[&str]) {
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
    wait_until(&place, &["in-sync", "in-sync"]);
    // While both are in sync the loss of either loses no transaction. The first of the chain is lost; transactions
    // continue without it.
    let (directory, address) = one.kill();
    cluster.insert(&[&b, &a], 20..40);
    wait_until(&place, &["in-sync", "out"]);
    // It starts again, and the serving host admits it.
    let _one = CopyServer::start_at(directory, &address);
    wait_until(&place, &["in-sync", "in-sync"]);
    // Now the other one is lost, with an empty disk, and so is the host.
    let (directory, address) = two.kill();
    std::fs::remove_dir_all(directory.strip_prefix("file:").unwrap()).unwrap();
    cluster.insert(&[&b, &a], 40..50);
    kill(a);
    let client = cluster.served_by(&[&b]);
    assert_eq!(cluster.numbers(&client), (0..50).collect::<Vec<_>>());
    let _two = CopyServer::start_at(directory, &address);
    cluster.insert(&[&b], 50..60);
    wait_until(&place, &["in-sync", "in-sync"]);
    b.end();
    run(0, &["store", "verify", &place]);
    let (shown, _) = run(0, &["store", "status", &place]);
    assert!(
        shown.contains("in-sync") && shown.contains("since"),
        "{shown}"
    );
}

/// The place of a set with these servers.
fn place_of(cluster: &Cluster, servers: &[&CopyServer]) -> String {
    let keeper = cluster.directory.path().join("keeper");
    let copies = servers
        .iter()
        .map(|server| format!(";tcp://{}", server.address));
    format!(
        "copies:file:{}{}",
        keeper.display(),
        copies.collect::<String>()
    )
}

#[test]
fn i12_places_are_added_and_removed_while_hosts_serve() {
    let mut cluster = Cluster::new();
    cluster.lease = "4s";
    let [one, two, three, four] =
        ["one", "two", "three", "four"].map(|name| CopyServer::start(&cluster, name));
    let at = |server: &CopyServer| format!("tcp://{}", server.address);
    let place = place_of(&cluster, &[&one, &two]);
    let a = cluster.start_on("host-1", &place, &[]);
    cluster.create(&[&a]);
    let b = cluster.start_on("host-2", &place, &[]);
    cluster.wait_until_it_follows(&b);
    cluster.insert(&[&a], 0..20);
    let change = |code: i32, options: &[&str]| {
        let verb = ["store", "copies", &place];
        let (shown, said) = run(code, &[&verb, options].concat());
        shown + &said
    };

    // Refused, and nothing has changed.
    let refused: [(i32, &[&str], &str); 5] = [
        (2, &["--add", &at(&two)], "a copy of this set already"),
        (2, &["--remove", &at(&three)], "no copy of this set"),
        (2, &["--add", "copies:file:x"], "is a copies: itself"),
        (4, &["--remove", &at(&one), "--add", &at(&three)], "needs 2"),
        (2, &[], "--add"),
    ];
    for (code, options, why) in refused {
        let said = change(code, options);
        assert!(said.contains(why), "{said}");
    }
    let other = place_of(&cluster, &[&one, &four]);
    let (_, said) = run(4, &["store", "copies", &other, "--add", &at(&three)]);
    assert!(said.contains("spelled the same"), "{said}");
    wait_until(&place, &["in-sync", "in-sync"]);

    // A third copy is filled beside the transactions, and then the first one is removed and lost.
    let said = change(0, &["--add", &at(&three)]);
    assert!(said.contains("Name these places on each host"), "{said}");
    cluster.insert(&[&a], 20..40);
    wait_until(&place, &["in-sync"; 3]);
    change(0, &["--remove", &at(&one)]);
    drop(one);
    cluster.insert(&[&a], 40..60);
    wait_until(&place, &["in-sync"; 2]);

    // A host that is restarted with the places of before takes over, with everything.
    b.end();
    let b = cluster.start_on("host-2", &place, &[]);
    cluster.wait_until_it_follows(&b);
    kill(a);
    let client = cluster.served_by(&[&b]);
    assert_eq!(cluster.numbers(&client), (0..60).collect::<Vec<_>>());

    // A lost copy is replaced with one command, once it is out.
    let lost = at(&two);
    drop(two);
    cluster.insert(&[&b], 60..80);
    let now = place_of(&cluster, &[&three, &four]);
    wait_until(&place, &["in-sync", "out"]);
    change(0, &["--remove", &lost, "--add", &at(&four)]);
    wait_until(&place, &["in-sync"; 2]);
    let a = cluster.start_on("host-1", &now, &[]);
    cluster.wait_until_it_follows(&a);
    drop(three);
    cluster.insert(&[&a, &b], 80..100);
    kill(b);
    let client = cluster.served_by(&[&a]);
    assert_eq!(cluster.numbers(&client), (0..100).collect::<Vec<_>>());
    a.end();
}

/// Copies a directory with all that is in it.
fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for found in std::fs::read_dir(from).unwrap() {
        let found = found.unwrap();
        let target = to.join(found.file_name());
        match found.file_type().unwrap().is_dir() {
            true => copy_all(&found.path(), &target),
            false => drop(std::fs::copy(found.path(), target).unwrap()),
        }
    }
}

#[test]
fn i1_a_host_that_starts_after_the_keeper_was_restored_refuses_it_until_the_newest_register_is_back()
 {
    let mut cluster = Cluster::new();
    cluster.lease = "4s";
    let [one, two] = ["one", "two"].map(|name| CopyServer::start(&cluster, name));
    let place = place_of(&cluster, &[&one, &two]);
    let keeper = cluster.directory.path().join("keeper");
    let backup = cluster.directory.path().join("backup");
    let a = cluster.start_on("host-1", &place, &[]);
    cluster.create(&[&a]);
    cluster.insert(&[&a], 0..10);
    a.end();
    copy_all(&keeper, &backup);

    // The first copy of the chain lacks what is acknowledged now.
    let a = cluster.start_on("host-1", &place, &[]);
    let (directory, address) = one.kill();
    cluster.insert(&[&a], 10..20);
    wait_until(&place, &["in-sync", "out"]);
    a.end();
    std::fs::remove_dir_all(&keeper).unwrap();
    copy_all(&backup, &keeper);
    let _one = CopyServer::start_at(directory, &address);
    assert_eq!(standings(&place), ["in-sync", "in-sync"]);

    let (shown, _) = run(0, &["store", "status", &place]);
    let warning = "does not continue the one that the copy";
    assert!(shown.contains(warning), "{shown}");
    let home = cluster.directory_of("host-1");
    let home = home.to_str().unwrap();
    let off = [
        "--postgres",
        "127.0.0.1:0",
        "--redis",
        "off",
        "--http",
        "off",
    ];
    // A host that knows nothing is refused by what the copy knows, and the one that served by its own directory, too.
    let new = cluster.directory.path().join("new.sdx");
    for (directory, known) in [(new.to_str().unwrap(), "as the copy"), (home, home)] {
        let serve = ["serve", directory, "--store", &place, "--lease", "4s"];
        let (_, said) = run(5, &[&serve[..], &off].concat());
        assert!(said.contains("restored from a backup"), "{said}");
        assert!(said.contains(known), "{said}");
    }
    assert!(!new.exists());
    let put_back = ["store", "copies", &place, "--put-back"];
    let (shown, _) = run(0, &put_back);
    assert!(shown.contains("out"), "{shown}");
    let (_, said) = run(4, &put_back);
    assert!(said.contains("nothing newer"), "{said}");

    let a = cluster.start_on("host-1", &place, &[]);
    let client = cluster.served_by(&[&a]);
    assert_eq!(cluster.numbers(&client), (0..20).collect::<Vec<_>>());
    wait_until(&place, &["in-sync", "in-sync"]);
    a.end();
}
