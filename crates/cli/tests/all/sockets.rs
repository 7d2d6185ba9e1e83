//! Debit-credit over sockets as its users run it: a server's process and clients' processes, signals and exit codes.

use sardonyx::Options;
use sardonyx::disk::GroupLimits;
use sardonyx_benchmark::debit_credit::proof::prove;
use sardonyx_benchmark::debit_credit::requests::{Generator, Scale};
use sardonyx_benchmark::debit_credit::schema::Schema;
use sardonyx_benchmark::debit_credit::wire::{Address, Client};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const ACCOUNTS: u64 = 20_000;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(arguments);
    command
}

/// A server that listens.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts it in `directory`, where its socket is, too.
    fn start(directory: &Path, more: &[&str]) -> Server {
        let path = |name: &str| directory.join(name).to_str().unwrap().to_string();
        let mut process = command(&["debit-credit", "--json", "--log-bytes", "32MiB"])
            .args(["--accounts", &ACCOUNTS.to_string()])
            .args(["--directory", &path("bank.sdx")])
            .args(["--listen", &path("bank.sock")])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("listening at "), "{line}");
        Server {
            process,
            address: path("bank.sock"),
        }
    }

    fn signal(&self, signal: i32) {
        let mut kill = Command::new("kill");
        kill.arg(format!("-{signal}"));
        kill.arg(self.process.id().to_string());
        assert!(kill.status().unwrap().success());
    }
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}\n{said}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_server_proves_what_it_answered_to_several_processes_when_it_is_asked_to_end() {
    let directory = tempfile::tempdir().unwrap();
    let stages = [
        "--configuration",
        "b",
        "--input-threads",
        "2",
        "--output-threads",
        "2",
    ];
    let server = Server::start(directory.path(), &stages);
    let connect = |more: &[&str]| {
        command(&[
            "debit-credit",
            "--json",
            "--connect",
            &server.address,
            "--clients",
            "2",
        ])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
    };
    let closed = connect(&["--transactions", "5000", "--batch", "100"]);
    let open = connect(&["--arrival-rate", "2000,4000", "--seconds", "0.2"]);
    let (closed, open) = (
        closed.wait_with_output().unwrap(),
        open.wait_with_output().unwrap(),
    );
    let (closed, open) = (json(&closed), json(&open));
    assert_eq!(closed["committed"], 5000);
    assert_eq!(closed["scale"]["accounts"], ACCOUNTS);
    let points = open["open_loop"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    server.signal(15);
    let told = json(&server.process.wait_with_output().unwrap());
    let run = &told["runs"][0];
    let both = 5000 + open["committed"].as_u64().unwrap();
    assert_eq!(run["committed"].as_u64(), Some(both));
    assert_eq!(run["proof"]["holds"], true);
    assert_eq!(run["proof"]["unacknowledged"], 0);
    assert!(run["stages"]["input"].as_f64().unwrap() > 0.0);
    assert!(run["stages"]["output"].as_f64().unwrap() > 0.0);
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "the database and the socket are removed");
}

#[test]
fn i1_every_answer_that_a_client_got_is_there_after_its_server_was_killed() {
    for configuration in ["a", "b"] {
        let directory = tempfile::tempdir().unwrap();
        let server = Server::start(directory.path(), &["--configuration", configuration]);
        let address = Address::parse(&server.address).unwrap();
        let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(&address).unwrap()).collect();
        let scale = Scale::of_accounts(ACCOUNTS).unwrap();
        let mut generator = Generator::standard(scale, 4);
        for round in 0..20 {
            for client in &mut clients {
                client.send(generator.by_ref().take(100)).unwrap();
                // Sent before all earlier answers have arrived.
                client.receive(|_| ()).unwrap();
            }
            if round == 15 {
                server.signal(9);
                break;
            }
        }
        let mut server = server;
        server.process.wait().unwrap();
        // An answer that was on its way to the clients counts, too.
        let mut acknowledged = vec![0; clients.len()];
        for mut client in clients {
            while client.unanswered() > 0 && client.receive(|_| ()).is_ok() {}
            acknowledged[usize::from(client.welcome().client)] = client.answered();
        }
        assert!(acknowledged.iter().all(|count| *count > 0));
        let path = directory.path().join("bank.sdx");
        // As the benchmark opens it with such a log.
        let options = Options::new()
            .segment_bytes(8 << 20)
            .group_limits(GroupLimits::for_segments(8 << 20))
            .log_bytes_max(32 << 20);
        let database = options.open_tables(path).unwrap();
        let schema = Schema::of(&database).unwrap();
        let proof = prove(&database, &schema, &acknowledged, 0).unwrap();
        assert!(proof.holds(), "{acknowledged:?} {proof:?}");
    }
}

#[test]
fn nobody_there_and_a_place_that_is_taken_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
    let run = |arguments: &[&str]| {
        let output = command(&["debit-credit"]).args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    };
    let (code, said) = run(&["--connect", &path("absent.sock")]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("absent.sock"), "{said}");
    std::fs::write(path("file"), "").unwrap();
    let database = path("bank.sdx");
    let (code, said) = run(&["--listen", &path("file"), "--directory", &database]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("listening at"), "{said}");
    assert!(!directory.path().join("bank.sdx").exists());
    let (code, said) = run(&["--listen", "a.sock", "--clients", "2"]);
    assert_eq!(code, Some(2), "{said}");
}
