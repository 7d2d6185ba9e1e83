//! A load on one node, and its counts. Clients run debit-credit, each in a thread, one transaction after the other or
//! as transactions arrive, from a common instant on.
//!
//! *Closed*: a client begins the next transaction when the last one is acknowledged as durable. *Open*: transactions
//! arrive by a Poisson process at the node, independent of earlier ones, and the clients take them in turn. The
//! response time begins with the arrival, as in the simulation.

use crate::bank::{Bank, HistoryEnd};
use crate::coupled::CoupledNode;
use crate::error::ClusterError;
use crate::figures::{Collected, NodeRun};
use crate::routing::{Routing, Source};
use crate::setting::Setting;
use rustix::time::{ClockId, clock_gettime};
use sardonyx_sharing::node::NodeError;
use sardonyx_workload::arrival::{Arrivals, Process};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The interval of checks for an early end of the load.
const LOOK_NANOSECONDS: u64 = 20_000_000;

/// A load on each node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Clients of a node.
    pub clients: u16,
    /// The routing of transactions to nodes.
    pub routing: Routing,
    /// Seconds before anything is measured.
    pub warm_up_seconds: f64,
    /// Seconds measured.
    pub seconds: f64,
    /// Transactions of a node, instead of seconds: only these are run and measured.
    pub transactions: Option<u64>,
    /// Arrivals per second at a node; `None`: closed.
    pub rate: Option<f64>,
    /// The same seed draws the same transactions for each client.
    pub seed: u64,
    /// True if each node writes a trace of the load.
    pub record: bool,
}

impl Load {
    /// Checks the numbers.
    ///
    /// # Errors
    /// [`ClusterError::Setting`], [`ClusterError::Arrivals`]; as [`Routing::table`].
    pub fn check(&self, setting: &Setting) -> Result<(), ClusterError> {
        let refuse = |what, found: String, allowed: String| {
            Err(ClusterError::Setting {
                what,
                found,
                allowed,
            })
        };
        if self.clients == 0 || self.clients > setting.clients_max {
            let allowed = format!("from 1 to {} (`clients_max`)", setting.clients_max);
            return refuse("a number of clients", self.clients.to_string(), allowed);
        }
        for (what, seconds, least) in [
            ("a warm-up", self.warm_up_seconds, 0.0),
            ("a time to measure", self.seconds, 0.001),
        ] {
            if !(least..=1e6).contains(&seconds) {
                return refuse(
                    what,
                    format!("{seconds} s"),
                    format!("from {least} to 1000000 s"),
                );
            }
        }
        if let Some(rate) = self.rate {
            Arrivals::new(Process::Poisson, rate, 0)?;
        }
        self.routing.table(setting).map(drop)
    }
}

/// The system's monotonic clock, which all processes read alike, in nanoseconds.
pub fn now_nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn sleep_until(at: u64) {
    let now = now_nanoseconds();
    if at > now {
        std::thread::sleep(Duration::from_nanos(at - now));
    }
}

/// Processor time of this process.
fn processor_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// A load that is ready to run.
#[derive(Debug)]
pub(crate) struct Prepared {
    load: Load,
    setting: Setting,
    bank: Bank,
    slot: u16,
    clients: Vec<(Source, HistoryEnd)>,
    /// It is to end early.
    pub stop: AtomicBool,
    /// Transactions that were acknowledged so far.
    pub acknowledged: AtomicU64,
}

/// The arrivals of transactions, in nanoseconds since the start.
#[derive(Debug)]
struct Stream {
    arrivals: Arrivals,
    last: f64,
}

/// The state that the clients of a run share.
struct Shared<'a> {
    prepared: &'a Prepared,
    node: &'a CoupledNode,
    /// Of the monotonic clock: begin, first that counts, end.
    times: [u64; 3],
    left: AtomicI64,
    stream: Option<Mutex<Stream>>,
}

impl Prepared {
    /// Clients of a node, each with its transactions and its end of HISTORY.
    pub fn new(
        setting: &Setting,
        load: Load,
        node: &CoupledNode,
        slot: u16,
    ) -> Result<Self, ClusterError> {
        load.check(setting)?;
        let bank = Bank::new(setting);
        let mut clients = Vec::new();
        for client in 0..load.clients {
            let end = u64::from(slot) * u64::from(setting.clients_max) + u64::from(client);
            let seed = load.seed.wrapping_mul(0x9e37_79b9).wrapping_add(end << 20);
            let source = Source::new(setting, &load.routing, slot, seed)?;
            clients.push((source, bank.history_end(node, end)?));
        }
        Ok(Prepared {
            load,
            setting: setting.clone(),
            bank,
            slot,
            clients,
            stop: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
        })
    }

    pub fn records(&self) -> bool {
        self.load.record
    }

    /// Runs it from an instant on, until it is over or stopped.
    pub fn run(&self, node: &CoupledNode, at: u64) -> Result<NodeRun, ClusterError> {
        let stop = &self.stop;
        let load = &self.load;
        let nanoseconds = |seconds: f64| (1e9 * seconds) as u64;
        let (first, end) = match load.transactions {
            Some(_) => (at, u64::MAX),
            None => {
                let first = at + nanoseconds(load.warm_up_seconds);
                (first, first + nanoseconds(load.seconds))
            }
        };
        let stream = match load.rate {
            Some(rate) => {
                let seed = load.seed.wrapping_add(u64::from(self.slot) << 32);
                let arrivals = Arrivals::new(Process::Poisson, rate, seed)?;
                Some(Mutex::new(Stream {
                    arrivals,
                    last: 0.0,
                }))
            }
            None => None,
        };
        let left = load.transactions.map_or(i64::MAX, |count| count as i64);
        let mut clients = self.clients.clone();
        let shared = Shared {
            prepared: self,
            node,
            times: [at, first, end],
            left: AtomicI64::new(left),
            stream,
        };
        let (mut all, mut completed) = (Collected::new(), 0);
        let start = (node.counts(), processor_seconds());
        let (before, used, after, done) = std::thread::scope(|scope| {
            let threads: Vec<_> = clients
                .iter_mut()
                .map(|(source, end)| scope.spawn(|| shared.client(source, end)))
                .collect();
            let (before, used) = match load.transactions {
                // All of them count, however late this thread is.
                Some(_) => start,
                None => {
                    sleep_until(first);
                    (node.counts(), processor_seconds())
                }
            };
            let so_far = || (node.counts(), processor_seconds());
            // All nodes count in the same interval: a node whose load has ended still serves other nodes.
            let at_end = load.transactions.is_none().then(|| {
                while now_nanoseconds() < end && !stop.load(Ordering::Relaxed) {
                    sleep_until(end.min(now_nanoseconds() + LOOK_NANOSECONDS));
                }
                so_far()
            });
            let done: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            (before, used, at_end.unwrap_or_else(so_far), done)
        });
        let ended = now_nanoseconds().min(end);
        let (counts, processor_seconds) = (after.0.since(before), after.1 - used);
        for done in done {
            let (times, in_time) = done.map_err(|_| NodeError::Stopped {
                reason: "a client's thread ended by a panic".into(),
            })??;
            all.merge(&times.told());
            completed += in_time;
        }
        Ok(NodeRun {
            slot: self.slot,
            seconds: ended.saturating_sub(first) as f64 / 1e9,
            completed,
            acknowledged: self.acknowledged.load(Ordering::SeqCst),
            counts,
            times: all.told(),
            processor_seconds,
        })
    }
}

impl Shared<'_> {
    /// The start of the next transaction for this client: now, or its arrival. `None`: there are no more.
    fn next(&self) -> Option<u64> {
        if self.prepared.stop.load(Ordering::Relaxed)
            || self.left.fetch_sub(1, Ordering::Relaxed) <= 0
        {
            return None;
        }
        let begins = match &self.stream {
            None => now_nanoseconds(),
            Some(stream) => {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                stream.last += stream.arrivals.next_interval();
                self.times[0] + (1e9 * stream.last) as u64
            }
        };
        (begins < self.times[2]).then_some(begins)
    }

    fn client(
        &self,
        source: &mut Source,
        end: &mut HistoryEnd,
    ) -> Result<(Collected, u64), NodeError> {
        let (mut times, mut in_time) = (Collected::new(), 0);
        let (setting, bank) = (&self.prepared.setting, &self.prepared.bank);
        sleep_until(self.times[0]);
        while let Some(begins) = self.next() {
            let (transfer, kind) = source.draw(setting, bank);
            sleep_until(begins);
            self.node
                .transact(kind, |tx| bank.transfer(tx, &transfer, end))?;
            end.records += 1;
            self.prepared.acknowledged.fetch_add(1, Ordering::SeqCst);
            let ends = now_nanoseconds();
            if ends >= self.times[1] && ends <= self.times[2] {
                times.add(Duration::from_nanos(ends - begins));
                in_time += 1;
            }
        }
        Ok((times, in_time))
    }
}
