//! A server's process, for tests that serve a database by the command.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use tempfile::TempDir;

/// A server for PostgreSQL clients, at a port that the system chose, and its log.
pub struct Serving {
    pub process: Child,
    /// Each line of standard error.
    pub log: Receiver<String>,
    /// The endpoint for PostgreSQL clients.
    pub postgres: String,
    /// The endpoints for Redis clients and for HTTP, if the test asked for them.
    pub redis: Option<String>,
    pub http: Option<String>,
    /// Its name, of a host of a store.
    pub host: Option<String>,
    input: Option<ChildStdin>,
    _directory: TempDir,
}

/// Arguments that turn other protocols off, unless these name them.
fn others_off<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let off = ["--redis", "--http"].into_iter();
    let off = off.filter(|protocol| !arguments.contains(protocol));
    let off = off.flat_map(|protocol| [protocol, "off"]);
    off.chain(arguments.iter().copied()).collect()
}

impl Serving {
    /// Starts it on a new database, with these arguments and variables.
    pub fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Serving {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bank.sdx");
        Self::start_on(directory, &path, &others_off(arguments), environment)
    }

    /// Starts it on a database, with these arguments.
    pub fn start_at(path: &Path, arguments: &[&str]) -> Serving {
        Self::start_in(path, arguments, &[])
    }

    /// Starts it on a database, with these arguments and variables.
    pub fn start_in(path: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Serving {
        let directory = tempfile::tempdir().unwrap();
        Self::start_on(directory, path, &others_off(arguments), environment)
    }

    /// Starts it on a database, with these arguments and the default addresses for other clients.
    pub fn start_with_defaults(path: &Path, arguments: &[&str]) -> Serving {
        Self::start_on(tempfile::tempdir().unwrap(), path, arguments, &[])
    }

    fn start_on(
        directory: TempDir,
        path: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Serving {
        // Under nohup the tests' processes ignore a hang-up; a server must not inherit that.
        let mut process = Command::new("env")
            .arg("--default-signal=HUP")
            .arg(crate::PROGRAM)
            .arg("serve")
            .arg(path)
            .args(["--json", "--until-input-ends", "--postgres", ":0"])
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        let serving: serde_json::Value = serde_json::from_str(&said).unwrap();
        let (told, log) = channel();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // An error means that the receiver was dropped.
                let _ = told.send(line);
            }
        });
        Serving {
            input: process.stdin.take(),
            process,
            log,
            postgres: serving["postgres"][0].as_str().unwrap().to_string(),
            redis: serving["redis"][0].as_str().map(String::from),
            http: serving["http"][0].as_str().map(String::from),
            host: serving["host"].as_str().map(String::from),
            _directory: directory,
        }
    }

    /// The answer to a request of HTTP.
    pub fn http(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.http.as_ref().unwrap()).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Ends it in an orderly way; returns the log lines that were not read yet.
    pub fn end(mut self) -> Vec<String> {
        drop(self.input.take());
        assert!(self.process.wait().unwrap().success());
        self.log.iter().collect()
    }
}
