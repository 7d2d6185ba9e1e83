//! Spans that `sardonyx serve` sends: to a collector in this test, and to one that has ended.

use crate::serving::Serving;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The bound on a wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(120);
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn start(arguments: &[&str]) -> Serving {
    Serving::start(arguments, &[("OTEL_BSP_SCHEDULE_DELAY", "50")])
}

/// Runs statements on a connection of its own; returns the server's answer up to the end.
fn run(serving: &Serving, text: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(&serving.postgres).unwrap();
    let mut send = |kind: Option<u8>, body: &[u8]| {
        let mut message = Vec::from_iter(kind);
        message.extend((body.len() as u32 + 4).to_be_bytes());
        message.extend(body);
        stream.write_all(&message).unwrap();
    };
    send(None, b"\0\x03\0\0user\0ada\0\0");
    send(Some(b'Q'), &[text.as_bytes(), b"\0"].concat());
    send(Some(b'X'), b"");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

/// Runs statements, which are answered, until the log has a line.
fn run_until_told(serving: &Serving) -> String {
    loop {
        assert!(has(&run(serving, "SELECT 'on and on'"), b"on and on"));
        match serving.log.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => return line,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => panic!("the server has ended"),
        }
    }
}

/// The requests to a collector, until it is dropped with its listener.
struct Collector {
    endpoint: String,
    bodies: Receiver<Vec<u8>>,
}

impl Collector {
    fn start() -> Collector {
        Collector::start_at("127.0.0.1:0")
    }

    fn start_at(address: &str) -> Collector {
        let listener = TcpListener::bind(address).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (sender, bodies) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                while let Some(body) = request(&mut stream) {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                    stream.get_mut().write_all(answer).unwrap();
                    if sender.send(body).is_err() {
                        // The receiver was dropped: the listener ends, too.
                        return;
                    }
                }
            }
        });
        Collector { endpoint, bodies }
    }

    /// All bytes that are sent until this text appears.
    fn until(&self, wanted: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        while !has(&all, wanted) {
            all.extend(self.bodies.recv_timeout(PATIENCE).unwrap());
        }
        all
    }
}

/// The body of the next request on a connection, which is one of OTLP.
fn request(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    if stream.read_line(&mut line).ok()? == 0 {
        return None;
    }
    assert_eq!(line, "POST /v1/traces HTTP/1.1\r\n");
    let (mut length, mut is_protobuf) = (0, false);
    loop {
        line.clear();
        stream.read_line(&mut line).unwrap();
        let header = line.trim_end().to_ascii_lowercase();
        match header.split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(("content-type", value)) => is_protobuf = value == "application/x-protobuf",
            None if header.is_empty() => break,
            _ => {}
        }
    }
    assert!(is_protobuf);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    Some(body)
}

fn has(all: &[u8], wanted: &[u8]) -> bool {
    all.windows(wanted.len()).any(|window| window == wanted)
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<char> = hexadecimal.chars().collect();
    let byte = |pair: &[char]| {
        let pair: String = pair.iter().collect();
        u8::from_str_radix(&pair, 16).unwrap()
    };
    digits.chunks(2).map(byte).collect()
}

#[test]
fn a_collector_is_sent_what_was_run() {
    let collector = Collector::start();
    let all = ["--otlp-endpoint", &collector.endpoint, "--otlp-sample", "1"];
    let serving = start(&all);
    run(
        &serving,
        "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)",
    );
    run(&serving, "INSERT INTO t VALUES (1)");
    let sent = collector.until(b"23505");
    // The last ones are sent at the end.
    run(&serving, "DELETE FROM t");
    assert_eq!(serving.end(), Vec::<String>::new());
    let sent = [sent, collector.until(b"DELETE FROM t")].concat();
    for wanted in [
        "service.name",
        "sardonyx",
        "flight",
        "durability",
        "connection",
        "user.name",
        "ada",
        "db.query.text",
        "CREATE",
        "INSERT INTO t VALUES (1)",
        "db.response.status_code",
    ] {
        assert!(has(&sent, wanted.as_bytes()), "{wanted}");
    }
}

#[test]
fn what_is_not_drawn_is_not_sent_but_what_a_client_has_drawn() {
    let collector = Collector::start();
    let none = ["--otlp-endpoint", &collector.endpoint, "--otlp-sample", "0"];
    let serving = start(&none);
    run(&serving, "SELECT 'not drawn'");
    let traced = |flags: &str| format!("/*traceparent='00-{TRACE}-{PARENT}-{flags}'*/");
    run(&serving, &format!("SELECT 'not wanted' {}", traced("00")));
    run(&serving, &format!("SELECT 'wanted' {}", traced("01")));
    assert_eq!(serving.end(), Vec::<String>::new());
    let sent = collector.until(b"SELECT 'wanted'");
    assert!(has(&sent, &bytes(TRACE)) && has(&sent, &bytes(PARENT)));
    for unwanted in ["not drawn", "not wanted", "connection"] {
        assert!(!has(&sent, unwanted.as_bytes()), "{unwanted}");
    }
}

#[test]
fn a_server_goes_on_without_its_collector_and_tells_it_once() {
    let collector = Collector::start();
    let endpoint = collector.endpoint.clone();
    let all = ["--otlp-endpoint", &endpoint, "--otlp-sample", "1"];
    let serving = start(&all);
    run(&serving, "SELECT 'there'");
    collector.until(b"SELECT 'there'");
    drop(collector);
    // Its thread ends with the next request, which it still answers.
    assert!(run_until_told(&serving).contains("the collector refuses spans"));
    let collector = Collector::start_at(endpoint.trim_start_matches("http://"));
    let told = run_until_told(&serving);
    assert!(
        told.contains("accepts spans again") && told.contains("lost"),
        "{told}"
    );
    drop(collector);
    assert!(run_until_told(&serving).contains("the collector refuses spans"));
    let answer = run(&serving, "SELECT 'after all'");
    assert!(has(&answer, b"after all"));
    let told = serving.end();
    let [last] = &told[..] else {
        panic!("{told:#?}");
    };
    assert!(
        last.contains("refused spans until the end") && last.contains("lost"),
        "{last}"
    );
}

#[test]
fn what_is_no_collector_is_told_before_anything_is_opened() {
    for (endpoint, sample) in [("localhost:4318", "1"), ("http://127.0.0.1:1", "1.5")] {
        let output = Command::new(crate::PROGRAM)
            .args(["serve", "/nowhere/at/all.sdx", "--otlp-endpoint", endpoint])
            .args(["--otlp-sample", sample])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}
