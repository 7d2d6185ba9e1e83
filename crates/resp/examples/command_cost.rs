//! The cost of commands without a network: flights of 16 commands of one session, on a database whose log is on the
//! disk. Prints microseconds for each command.
//!
//! ```text
//! cargo run --release -p sardonyx-resp --example command_cost -- [DIRECTORY [COMMANDS [NAME,NAME]]]
//! ```
//!
//! Names repeat after `COMMANDS` of them (100,000): first all are new, then all are there. With `NAME`s only these
//! commands are measured, so that a profiler sees nothing else; `get` finds what `set` before it has stored.

use bytes::BytesMut;
use sardonyx::Tables;
use sardonyx_resp::{Keyspace, Session, SessionOptions};
use std::error::Error;
use std::fmt::Write as _;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

const FLIGHT: u64 = 16;
/// A command's words. The number of a name takes the place of `#`, a number that is drawn anew the place of `@`.
const COMMANDS: &[(&str, &str)] = &[
    ("ping", "PING"),
    ("set", "SET key:# value:@"),
    ("get", "GET key:#"),
    ("incr", "INCR counter:#"),
    ("zadd", "ZADD myzset @ element:#"),
    ("hset", "HSET myhash element:# value:@"),
    ("lpush", "LPUSH mylist value:@"),
    ("sadd", "SADD myset element:#"),
    (
        "mset",
        "MSET a:# value:@ b:# value:@ c:# value:@ d:# value:@",
    ),
];

struct Unparked(Thread);

impl Wake for Unparked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unparked(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// The bytes of a command, as a client sends them.
fn encode(words: &str, number: u64, value: u64, sent: &mut String) {
    let words: Vec<&str> = words.split(' ').collect();
    let _ = write!(sent, "*{}\r\n", words.len());
    for word in words {
        let word = word.replace('#', &format!("{number:012}"));
        let word = word.replace('@', &format!("{value:012}"));
        let _ = write!(sent, "${}\r\n{word}\r\n", word.len());
    }
}

/// Not inlined: a profiler tells new names from names that are there by its calls.
#[inline(never)]
fn measure(session: &mut Session, name: &str, words: &str, commands: u64, round: u64) {
    let flights: Vec<BytesMut> = (0..commands / FLIGHT)
        .map(|flight| {
            let mut sent = String::new();
            for number in flight * FLIGHT..(flight + 1) * FLIGHT {
                // Neighbours are far from one another.
                let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
                encode(words, scattered, scattered ^ round, &mut sent);
            }
            BytesMut::from(sent.as_bytes())
        })
        .collect();
    let mut output = BytesMut::new();
    let began = Instant::now();
    for mut input in flights {
        let flight = session.take(&mut input).expect("commands");
        wait(session.run(flight, &mut output));
        assert!(output.first() != Some(&b'-'), "{output:?}");
        output.clear();
        session.sent();
    }
    let micros = began.elapsed().as_secs_f64() * 1e6 / commands as f64;
    let state = if round == 0 { "new" } else { "there" };
    println!("{name:<8} {state:<6} {micros:>8.3} µs each");
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let commands = arguments
        .next()
        .map_or(Ok(100_000), |count| count.parse())?;
    let only = arguments.next();
    let path = directory.join(format!("command_cost-{}.sdx", std::process::id()));
    let tables = Arc::new(Tables::open(&path)?);
    let keyspace = Keyspace::open(tables.clone())?;
    let mut session = Session::new(keyspace, SessionOptions::default());
    for (name, words) in COMMANDS {
        let mut wanted = only.iter().flat_map(|only| only.split(','));
        if only.is_none() || wanted.any(|wanted| wanted == *name) {
            for round in [0, 1] {
                measure(&mut session, name, words, commands, round);
            }
        }
    }
    drop(session);
    tables.close()?;
    std::fs::remove_dir_all(&path)?;
    Ok(())
}
