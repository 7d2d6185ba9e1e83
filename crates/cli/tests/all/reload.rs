//! A server that reads its configuration again, after a real signal.

use crate::common::{command, ended};
use crate::serving::Serving;
use rustix::process::{Pid, Signal, kill_process};
use sardonyx_server::scram::Verifier;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Error, NoTls};

/// The bound on a wait for an expected event.
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

    /// The SQLSTATE of a text with statements; empty if it succeeds.
    fn run(&self, client: &Client, text: &str) -> String {
        match self.0.block_on(client.batch_execute(text)) {
            Ok(()) => String::new(),
            Err(error) => error.code().unwrap().code().to_string(),
        }
    }
}

/// The next line of the server's log with a text.
fn told(serving: &Serving, wanted: &str) -> String {
    loop {
        let line = serving.log.recv_timeout(PATIENCE).unwrap();
        if line.contains(wanted) {
            return line;
        }
    }
}

/// Writes a configuration of these users and reloads it, until the server logs the result.
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

    // One user is new, one was removed, one has fewer rights.
    let line = reload(&serving, &file, "", &[("ada", "read"), ("bob", "own")]);
    assert!(line.contains("was read again"), "{line}");
    let bob = clients.connect(&serving, "bob", "bob-secret").unwrap();
    assert_eq!(clients.run(&bob, "INSERT INTO t VALUES (1)"), "");
    let ada = clients.connect(&serving, "ada", "ada-secret").unwrap();
    assert_eq!(clients.run(&ada, "SELECT id FROM t"), "");
    assert_eq!(clients.run(&ada, "INSERT INTO t VALUES (2)"), "42501");
    assert!(clients.connect(&serving, "eve", "eve-secret").is_err());
    // Existing connections keep their rights.
    assert_eq!(clients.run(&of_before, "INSERT INTO t VALUES (3)"), "");

    // A mistake is reported with its place, and the other changes of the file are not applied.
    let line = reload(&serving, &file, "\nports = 1\n", &[("zoe", "own")]);
    for wanted in ["nothing changes", "bank.toml", "line 2", "ports"] {
        assert!(line.contains(wanted), "{wanted}: {line}");
    }
    assert!(clients.connect(&serving, "zoe", "zoe-secret").is_err());
    // So is a file without a certificate.
    let tls = "[tls]\ncertificate = \"none.pem\"\nkey = \"none.pem\"\n";
    let line = reload(&serving, &file, tls, &[("zoe", "own")]);
    assert!(
        line.contains("nothing changes") && line.contains("none.pem"),
        "{line}"
    );
    assert!(clients.connect(&serving, "bob", "bob-secret").is_ok());

    // Changes that need a restart are named; the others are applied.
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

#[test]
fn the_shell_names_the_variable_of_a_password_that_it_lacks() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.toml");
    write(&file, "", &[("ada", "own")]);
    let serving = Serving::start(&["--config", file.to_str().unwrap()], &[]);
    let url = format!("postgres://ada@{}/bank", serving.postgres);
    let shell = |password: Option<&str>| {
        let arguments = ["sql", &url, "-c", "SELECT 1"];
        let mut shell = command(&arguments);
        shell.env_remove("PGPASSWORD");
        shell.envs(password.map(|password| ("PGPASSWORD", password)));
        let code = if password == Some("ada-secret") { 0 } else { 4 };
        ended(code, &arguments, &shell.output().unwrap()).1
    };
    assert!(shell(None).contains("set PGPASSWORD"));
    assert!(!shell(Some("wrong")).contains("set PGPASSWORD"));
    assert_eq!(shell(Some("ada-secret")), "");
}
