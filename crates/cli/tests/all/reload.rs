//! A server that is told to read its configuration again, by a real signal.

use crate::serving::Serving;
use rustix::process::{Pid, Signal, kill_process};
use sardonyx_server::scram::Verifier;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Error, NoTls};

/// The most that a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(120);

struct Clients(Runtime);

impl Clients {
    fn new() -> Clients {
        let runtime = Builder::new_current_thread().enable_all().build();
        Clients(runtime.unwrap())
    }

    fn connect(&self, serving: &Serving, user: &str, password: &str) -> Result<Client, Error> {
        let url = format!("postgres://{user}:{password}@{}/bank", serving.postgres);
        let connected = self.0.block_on(tokio_postgres::connect(&url, NoTls));
        let (client, connection) = connected?;
        self.0.spawn(connection);
        Ok(client)
    }

    /// The SQLSTATE of what becomes of a text with statements; empty if nothing is wrong.
    fn run(&self, client: &Client, text: &str) -> String {
        match self.0.block_on(client.batch_execute(text)) {
            Ok(()) => String::new(),
            Err(error) => error.code().unwrap().code().to_string(),
        }
    }
}

/// The next line with a text that the server tells.
fn told(serving: &Serving, wanted: &str) -> String {
    loop {
        let line = serving.log.recv_timeout(PATIENCE).unwrap();
        if line.contains(wanted) {
            return line;
        }
    }
}

/// Writes a configuration of these users and has it read, until the server tells what has become of it.
fn reload(serving: &Serving, file: &Path, more: &str, users: &[(&str, &str)]) -> String {
    write(file, more, users);
    kill_process(Pid::from_child(&serving.process), Signal::HUP).unwrap();
    told(serving, "the configuration was")
}

/// A configuration of these users, each with the password `NAME-secret` and this right.
fn write(file: &Path, more: &str, users: &[(&str, &str)]) {
    let mut text = more.to_string();
    for (name, right) in users {
        let verifier = Verifier::of_password(&format!("{name}-secret")).unwrap();
        text += &format!("[users.{name}]\npassword = \"{verifier}\"\ntables = \"{right}\"\n");
    }
    std::fs::write(file, text).unwrap();
}

#[test]
fn users_come_and_go_while_a_server_runs_and_a_mistake_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.toml");
    write(&file, "", &[("ada", "own"), ("eve", "own")]);
    let arguments = ["--log-level", "info", "--config", file.to_str().unwrap()];
    let serving = Serving::start(&arguments, &[]);
    let clients = Clients::new();
    let of_before = clients.connect(&serving, "eve", "eve-secret").unwrap();
    assert_eq!(clients.run(&of_before, "CREATE TABLE t (id int)"), "");
    assert!(clients.connect(&serving, "bob", "bob-secret").is_err());

    // One is new, one has gone, one may do less.
    let line = reload(&serving, &file, "", &[("ada", "read"), ("bob", "own")]);
    assert!(line.contains("was read again"), "{line}");
    let bob = clients.connect(&serving, "bob", "bob-secret").unwrap();
    assert_eq!(clients.run(&bob, "INSERT INTO t VALUES (1)"), "");
    let ada = clients.connect(&serving, "ada", "ada-secret").unwrap();
    assert_eq!(clients.run(&ada, "SELECT id FROM t"), "");
    assert_eq!(clients.run(&ada, "INSERT INTO t VALUES (2)"), "42501");
    assert!(clients.connect(&serving, "eve", "eve-secret").is_err());
    // Who was there before has what it had.
    assert_eq!(clients.run(&of_before, "INSERT INTO t VALUES (3)"), "");

    // A mistake is told with its place, and nobody is let in by what stands beside it.
    let line = reload(&serving, &file, "\nports = 1\n", &[("zoe", "own")]);
    for wanted in ["nothing changes", "bank.toml", "line 2", "ports"] {
        assert!(line.contains(wanted), "{wanted}: {line}");
    }
    assert!(clients.connect(&serving, "zoe", "zoe-secret").is_err());
    // So is a certificate that is none.
    let tls = "[tls]\ncertificate = \"none.pem\"\nkey = \"none.pem\"\n";
    let line = reload(&serving, &file, tls, &[("zoe", "own")]);
    assert!(
        line.contains("nothing changes") && line.contains("none.pem"),
        "{line}"
    );
    assert!(clients.connect(&serving, "bob", "bob-secret").is_ok());

    // What needs a restart is named; the rest is taken.
    let limits = "[limits]\nconnections = 7\nslow_statement_milliseconds = 0\n";
    let line = reload(&serving, &file, limits, &[("zoe", "own")]);
    assert!(line.contains("was read again"), "{line}");
    let line = told(&serving, "needs a restart");
    assert!(line.contains("limits.connections"), "{line}");
    let zoe = clients.connect(&serving, "zoe", "zoe-secret").unwrap();
    assert_eq!(clients.run(&zoe, "SELECT id FROM t"), "");
    let line = told(&serving, "a slow statement");
    assert!(line.contains("SELECT id FROM t"), "{line}");

    serving.end();
}

#[test]
fn a_hang_up_without_a_configuration_is_an_end() {
    let mut serving = Serving::start(&[], &[]);
    kill_process(Pid::from_child(&serving.process), Signal::HUP).unwrap();
    assert!(serving.process.wait().unwrap().success());
}
