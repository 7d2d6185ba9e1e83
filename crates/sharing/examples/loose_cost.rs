//! The cost, for a loosely coupled node, of locking a page for which another process has the authority:
//!
//! ```text
//! cargo run --release -p sardonyx-sharing --example loose_cost -- [ROUNDS]
//! ```
//!
//! A page server, and two nodes in processes of their own, on this host's loopback interface. Timed at one node, in
//! transactions that only read: a lock on a page in its buffer, and a lock on a page that the other node has just
//! changed. The first takes two messages, request and grant, and a release without waiting. In the second, the page
//! comes with the grant from the other node's buffer. For comparison: the round trip of a byte between two processes.

use sardonyx_sharing::node::NodeError;
use sardonyx_sharing::node::loose::{LooseNode, LooseOptions, OneHost, PageServer, Serving};
use sardonyx_storage::engine::StorageOptions;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CHILD: &str = "SARDONYX_LOOSE_COST";
const PAGES: u64 = 256;

fn join(members: &Path, server: SocketAddr) -> Result<LooseNode, NodeError> {
    let options = LooseOptions {
        read_authorisation: false,
        buffer_pages: 1024,
        ..LooseOptions::new(server)
    };
    LooseNode::join(Box::new(OneHost::open(members)?), options)
}

/// The other node: changes the pages named to it, and sends back bytes.
fn child(told: &str) -> Result<(), Box<dyn Error>> {
    let (members, server) = told.split_once('|').ok_or("a directory and an address")?;
    let node = join(Path::new(members), server.parse()?)?;
    let echo = TcpListener::bind("127.0.0.1:0")?;
    println!("ready {} {}", node.number().0, echo.local_addr()?);
    std::thread::spawn(move || {
        let (mut stream, _) = echo.accept()?;
        stream.set_nodelay(true)?;
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() {
            stream.write_all(&byte)?;
        }
        Ok::<(), std::io::Error>(())
    });
    for (value, line) in std::io::stdin().lines().enumerate() {
        let page: u64 = line?.trim().parse()?;
        node.run(|tx| tx.write(page, 0, &value.to_le_bytes()))?;
        println!("done");
    }
    Ok(())
}

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 100].as_nanos() as f64 / 1000.0;
    println!(
        "{what:<48} median {:7.1} µs, 10 % {:7.1} µs, 90 % {:7.1} µs",
        at(50),
        at(10),
        at(90)
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Ok(told) = std::env::var(CHILD) {
        return child(&told);
    }
    let rounds: u64 = match std::env::args().nth(1) {
        Some(rounds) => rounds.parse()?,
        None => 2000,
    };
    let (database, members) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let storage = StorageOptions {
        memory_bytes_max: 1 << 28,
        ..StorageOptions::default()
    };
    let server = PageServer::open(database.path(), PAGES, storage)?;
    let server = Serving::start(server, TcpListener::bind("127.0.0.1:0")?, None)?;
    let told = format!("{}|{}", members.path().display(), server.address());
    let mut other = Command::new(std::env::current_exe()?)
        .env(CHILD, told)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut tell = other.stdin.take().ok_or("a pipe")?;
    let mut said = BufReader::new(other.stdout.take().ok_or("a pipe")?).lines();
    let mut hear = || {
        said.next()
            .ok_or("the other node has ended")?
            .map_err(Box::<dyn Error>::from)
    };
    let ready = hear()?;
    let mut words = ready.split(' ').skip(1);
    let theirs: u16 = words.next().ok_or("a number")?.parse()?;
    let mut echo = TcpStream::connect(words.next().ok_or("an address")?)?;
    echo.set_nodelay(true)?;
    let node = join(members.path(), server.address())?;
    let pages: Vec<u64> = (0..PAGES)
        .filter(|page| node.authority(*page).is_some_and(|node| node.0 == theirs))
        .collect();
    for &page in &pages {
        node.run(|tx| tx.read(page, 0..8))?;
    }
    let time = |work: &mut dyn FnMut() -> Result<(), Box<dyn Error>>| {
        let began = Instant::now();
        work().map(|()| began.elapsed())
    };
    let (mut bare, mut locks, mut transfers) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let page = pages[round as usize % pages.len()];
        bare.push(time(&mut || {
            let mut byte = [0];
            echo.write_all(&byte)?;
            Ok(echo.read_exact(&mut byte)?)
        })?);
        locks.push(time(&mut || {
            node.run(|tx| tx.read(page, 0..8))?;
            Ok(())
        })?);
    }
    for round in 0..rounds.min(500) {
        let page = pages[round as usize % pages.len()];
        writeln!(tell, "{page}")?;
        hear()?;
        transfers.push(time(&mut || {
            node.run(|tx| tx.read(page, 0..8))?;
            Ok(())
        })?);
    }
    show("a byte there and back, bare", bare);
    show("remote lock, page in the own buffer", locks);
    show("remote lock, page from the owner's buffer", transfers);
    let counters = node.statistics().protocol;
    println!(
        "{} locks asked for elsewhere, {} pages asked for by messages of their own",
        counters.remote, counters.page_requests
    );
    drop(tell);
    drop(node);
    other.wait()?;
    Ok(())
}
