//! A keyspace on a simulated disk, with a clock that tests set, and clients that speak to it in bytes.

pub mod text;

use bytes::BytesMut;
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx::{Options, Shape};
use sardonyx_resp::{Clock, Continue, Keyspace, Session, SessionOptions};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, Waker};

/// A clock that only moves when it is set.
#[derive(Clone, Debug)]
pub struct SetClock(pub Arc<AtomicI64>);

impl Clock for SetClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// When tests begin, in milliseconds since 1970.
pub const START: i64 = 1_700_000_000_000;

/// A database on a simulated disk.
pub struct World {
    pub disk: SimulatedDisk,
    pub keyspace: Arc<Keyspace>,
    pub clock: SetClock,
}

impl World {
    pub fn new(seed: u64) -> World {
        let disk = SimulatedDisk::new(seed, Faults::default());
        World::open(&disk, &SetClock(Arc::new(AtomicI64::new(START)))).expect("opens")
    }

    fn open(disk: &SimulatedDisk, clock: &SetClock) -> Result<World, sardonyx::Error> {
        let options = Options::new()
            .shape(Shape::Threadless)
            .hash_seed(7)
            .identity(7)
            .memory_bytes_max(256 << 20);
        let tables = Arc::new(options.open_tables_on(Arc::new(disk.clone()))?);
        Ok(World {
            disk: disk.clone(),
            keyspace: Keyspace::open(tables)?,
            clock: clock.clone(),
        })
    }

    /// The machine fails, if it has not yet, and comes up again, to fail in another way. Sessions of before are dead.
    pub fn restart(self, faults: Faults) -> World {
        let World {
            disk,
            keyspace,
            clock,
        } = self;
        let mut next = disk.restart(faults);
        drop(keyspace);
        loop {
            match World::open(&next, &clock) {
                Ok(world) => return world,
                Err(error) => assert!(next.has_crashed(), "{error}"),
            }
            next = next.restart(Faults::default());
        }
    }

    pub fn advance(&self, millis: i64) {
        self.clock.0.fetch_add(millis, Ordering::Relaxed);
    }

    pub fn session(&self) -> Session {
        self.session_with(SessionOptions::default())
    }

    pub fn session_with(&self, options: SessionOptions) -> Session {
        let clock = Arc::new(self.clock.clone());
        let seed = Some(options.seed.unwrap_or(7));
        Session::new(
            Arc::clone(&self.keyspace),
            SessionOptions {
                clock,
                seed,
                ..options
            },
        )
    }
}

/// A database without threads answers while it is asked.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
    panic!("it waits for somebody");
}

/// Sends bytes; returns the answers, and the state of the connection.
pub fn send(session: &mut Session, sent: &[u8]) -> (BytesMut, Continue) {
    let (mut input, mut output) = (BytesMut::from(sent), BytesMut::new());
    loop {
        match session.take(&mut input) {
            Ok(flight) if flight.is_empty() => return (output, Continue::More),
            Ok(flight) => {
                if now(session.run(flight, &mut output)) == Continue::Close {
                    return (output, Continue::Close);
                }
            }
            Err(error) => {
                session.refuse(&error, &mut output);
                return (output, Continue::Close);
            }
        }
    }
}

/// A command as clients send it.
pub fn encode(parts: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut sent = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        let part = part.as_ref();
        sent.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        sent.extend_from_slice(part);
        sent.extend_from_slice(b"\r\n");
    }
    sent
}
