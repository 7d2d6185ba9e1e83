//! A server that is killed while clients write: answered transactions exist afterwards, and each is whole.
//!
//! The server is this program itself, in a process of its own, which runs the ignored test `a_server`.

use crate::common::encode;
use crate::common::text::answers;
use bytes::BytesMut;
use sardonyx::Tables;
use sardonyx_base::victims::{Victim, say, test_program};
use sardonyx_resp::{Continue, Keyspace, Session, SessionOptions};
use std::future::Future;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// The environment variable with the directory of the server's database.
const DIRECTORY: &str = "SARDONYX_TEST_DIRECTORY";

const CLIENTS: u64 = 3;

/// Transactions in one flight.
const FLIGHT: u64 = 5;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn serve(mut stream: TcpStream, keyspace: Arc<Keyspace>) {
    let mut session = Session::new(keyspace, SessionOptions::default());
    let (mut input, mut output, mut buffer) = (BytesMut::new(), BytesMut::new(), vec![0; 1 << 16]);
    loop {
        let flight = session.take(&mut input).expect("commands");
        if flight.is_empty() {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(length) => input.extend_from_slice(&buffer[..length]),
            }
            continue;
        }
        let next = wait(session.run(flight, &mut output));
        if stream.write_all(&output).is_err() || next == Continue::Close {
            return;
        }
        output.clear();
    }
}

#[test]
#[ignore = "the server that the other test starts"]
fn a_server() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let tables = Arc::new(Tables::open(directory).expect("opens"));
    let keyspace = Keyspace::open(tables).expect("a keyspace");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    say(format_args!("listening at {address}")).expect("the test listens");
    for stream in listener.incoming() {
        let keyspace = Arc::clone(&keyspace);
        std::thread::spawn(move || serve(stream.expect("a connection"), keyspace));
    }
}

/// Starts a server; returns it with its address.
fn start(directory: &Path) -> (Victim, String) {
    let mut command = test_program(&a_server).expect("this program");
    let mut server = Victim::start(command.env(DIRECTORY, directory)).expect("a server");
    let address = server.said("listening at ").expect("it listens");
    server.listen(drop).expect("its output is read");
    (server, address)
}

/// A client's transaction: it writes the same number to each of these keys.
fn transaction(client: u64, number: u64) -> Vec<u8> {
    let key = |kind: &str| format!("{kind}{client}");
    let number = number.to_string();
    [
        encode(&["MULTI"]),
        encode(&["INCR", &key("count")]),
        encode(&["RPUSH", &key("list"), &number]),
        encode(&["HSET", &key("hash"), &number, "x"]),
        encode(&["ZADD", &key("scores"), &number, &number]),
        encode(&["XADD", &key("stream"), &format!("{number}-1"), "x", &number]),
        encode(&["EXEC"]),
    ]
    .concat()
}

/// The next `count` answers; `None` if the server has ended.
fn hear(stream: &mut TcpStream, count: usize) -> Option<Vec<String>> {
    let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
    let mut lines = 0;
    // Each answer here is one line, but those of EXEC, with seven.
    while lines < count {
        let length = stream.read(&mut buffer).ok().filter(|length| *length > 0)?;
        received.extend_from_slice(&buffer[..length]);
        lines = received.iter().filter(|byte| **byte == b'\n').count();
    }
    Some(answers(&received))
}

/// Writes until the server ends; returns the number of transactions answered.
fn write(mut stream: TcpStream, client: u64, first: u64, answered: Sender<u64>) -> u64 {
    let mut next = first;
    loop {
        let flight: Vec<u8> = (next..next + FLIGHT)
            .flat_map(|number| transaction(client, number))
            .collect();
        if stream.write_all(&flight).is_err() {
            return next;
        }
        let lines = FLIGHT as usize * 13;
        let Some(heard) = hear(&mut stream, lines) else {
            return next;
        };
        for (n, exec) in heard.iter().skip(6).step_by(7).enumerate() {
            let count = next + n as u64 + 1;
            let number = count - 1;
            assert_eq!(*exec, format!("[:{count} :{count} :1 :1 \"{number}-1\"]"));
        }
        next += FLIGHT;
        answered.send(FLIGHT).expect("the test counts");
    }
}

#[test]
fn i1_i4_what_was_answered_outlives_a_kill_and_transactions_are_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path().join("kv.sdx");
    let mut there = [0; CLIENTS as usize];
    for round in 0..4 {
        let (mut server, address) = start(&directory);
        let (answered, told) = channel();
        let wanted = 60 + 45 * round;
        let acknowledged: Vec<u64> = std::thread::scope(|scope| {
            // All are connected before the first writes: a kill would refuse a client that came later.
            let streams: Vec<_> = (0..CLIENTS)
                .map(|_| TcpStream::connect(&address).expect("it listens"))
                .collect();
            let clients: Vec<_> = (0..CLIENTS)
                .zip(streams)
                .map(|(client, stream)| {
                    let (answered, first) = (answered.clone(), there[client as usize]);
                    scope.spawn(move || write(stream, client, first, answered))
                })
                .collect();
            drop(answered);
            let mut count = 0;
            while count < wanted {
                count += told.recv().expect("the server runs");
            }
            server.end().expect("killed");
            clients
                .into_iter()
                .map(|client| client.join().expect("a client"))
                .collect()
        });
        let (mut server, address) = start(&directory);
        let mut stream = TcpStream::connect(&address).expect("it listens");
        for (client, acknowledged) in acknowledged.into_iter().enumerate() {
            let ask = [
                encode(&["INCRBY", &format!("count{client}"), "0"]),
                encode(&["LLEN", &format!("list{client}")]),
                encode(&["HLEN", &format!("hash{client}")]),
                encode(&["ZCOUNT", &format!("scores{client}"), "-inf", "+inf"]),
                encode(&["XLEN", &format!("stream{client}")]),
            ];
            stream.write_all(&ask.concat()).expect("sent");
            let counts = hear(&mut stream, 5).expect("answers");
            let count: u64 = counts[0][1..].parse().expect("a number");
            assert!(
                counts.iter().all(|other| *other == counts[0]),
                "a part of a transaction: {counts:?}"
            );
            assert!(
                count >= acknowledged,
                "{acknowledged} were answered, {count} are there"
            );
            assert!(
                count <= acknowledged + FLIGHT,
                "{count} are there, of {acknowledged} and a flight"
            );
            there[client] = count;
        }
        server.end().expect("killed");
    }
}
