//! PostgreSQL clients as witnesses of `torture-serve`: with several hosts in their connection string, as applications
//! have them.
//!
//! Each writer inserts its own numbers, one after the other, and notes the acknowledged ones. A later read at any host
//! must show them. None may be missing, neither at the end nor before.

use crate::pauses::Pauses;
use crate::serve_hosts::ADDRESS;
use crate::serve_reader::{READ_WRITER, Reads, keep_reading};
use anyhow::{bail, ensure};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::{Client, Config, NoTls};

/// A stopped host does not answer; a client gives up after this time, and tries the others.
pub const CLIENT_PATIENCE: Duration = Duration::from_secs(4);

/// The pause of a client after all hosts refused it.
pub const PAUSE: Duration = Duration::from_millis(10);

/// The writers, and their acknowledged numbers.
pub struct Witness {
    runtime: Runtime,
    ports: Vec<u16>,
    /// The last acknowledged number of each writer.
    acknowledged: Arc<[AtomicU64]>,
    stop: Arc<AtomicBool>,
    shown: Arc<Shown>,
    pauses: Arc<[Pauses]>,
    /// The reads of following hosts, if those answer any.
    reads: Option<Arc<Reads>>,
    /// Writers and readers.
    clients: Vec<JoinHandle<()>>,
}

/// The comparisons of acknowledged numbers with later reads.
#[derive(Default)]
struct Shown {
    compared: AtomicU64,
    /// A read showed fewer numbers than were acknowledged before it began.
    stale: OnceLock<String>,
}

impl Shown {
    /// Returns true if a read showed every number that was acknowledged before it began.
    fn compare(&self, writer: usize, acknowledged: u64, found: u64) -> bool {
        self.compared.fetch_add(1, Ordering::SeqCst);
        let is_current = found >= acknowledged;
        if !is_current {
            // Only the first one counts.
            let _ = self.stale.set(format!(
                "writer {writer} has acknowledgements up to {acknowledged}, and a read that began later shows {found}"
            ));
        }
        is_current
    }

    fn check(&self) -> anyhow::Result<()> {
        match self.stale.get() {
            Some(text) => bail!("{text}"),
            None => Ok(()),
        }
    }

    /// At the end: no read was stale, and there were reads.
    fn check_all(&self) -> anyhow::Result<u64> {
        self.check()?;
        let compared = self.compared.load(Ordering::SeqCst);
        ensure!(
            compared > 0,
            "no read was compared with what was acknowledged"
        );
        Ok(compared)
    }
}

/// The outcome of a run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Proven {
    /// The acknowledged numbers.
    pub acknowledged: u64,
    /// The answers of following hosts, if those answer reads.
    pub reads_of_followers: Option<u64>,
}

/// A connection that was opened while its host served, for a later query.
pub struct Sleeper(Client);

fn config(ports: &[u16]) -> Config {
    let mut config = Config::new();
    for port in ports {
        config.host(ADDRESS).port(*port);
    }
    config.user("ada").dbname("bank");
    config.connect_timeout(CLIENT_PATIENCE);
    config
}

async fn connect_with(config: &Config) -> anyhow::Result<Client> {
    let connected = timeout(CLIENT_PATIENCE, config.connect(NoTls)).await;
    let (client, connection) = connected??;
    tokio::spawn(connection);
    Ok(client)
}

/// A client of the serving one of these hosts.
async fn connect(ports: &[u16]) -> anyhow::Result<Client> {
    let mut config = config(ports);
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    connect_with(&config).await
}

/// A client of a host, which may serve or answer reads.
pub async fn connect_to(port: u16) -> anyhow::Result<Client> {
    connect_with(&config(&[port])).await
}

async fn insert(client: &Client, writer: i64, number: u64) -> anyhow::Result<()> {
    let text = "INSERT INTO numbers VALUES ($1, $2)";
    let number = i64::try_from(number)?;
    timeout(CLIENT_PATIENCE, client.execute(text, &[&writer, &number])).await??;
    Ok(())
}

/// The last number of a writer that a host shows.
async fn last(client: &Client, writer: i64) -> anyhow::Result<u64> {
    let text = "SELECT coalesce(max(number), 0) FROM numbers WHERE writer = $1";
    let row = client.query_one(text, &[&writer]).await?;
    Ok(u64::try_from(row.try_get::<_, i64>(0)?)?)
}

impl Witness {
    /// Starts so many writers, at these hosts, as soon as one serves. If following hosts answer reads of a state that is
    /// at most `stale_reads` old, it starts a reader of each host.
    pub fn begin(
        ports: &[u16],
        writers: usize,
        stale_reads: Option<Duration>,
        patience: Duration,
    ) -> anyhow::Result<Witness> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let mut witness = Witness {
            runtime,
            ports: ports.to_vec(),
            acknowledged: (0..writers).map(|_| AtomicU64::new(0)).collect(),
            stop: Arc::default(),
            shown: Arc::default(),
            pauses: (0..writers).map(|_| Pauses::new()).collect(),
            reads: stale_reads.map(|age_max| Arc::new(Reads::new(age_max))),
            clients: Vec::new(),
        };
        // The host may lose its lease meanwhile, on a busy machine.
        let until = Instant::now() + patience;
        let table = "CREATE TABLE IF NOT EXISTS numbers \
                     (writer bigint, number bigint, PRIMARY KEY (writer, number))";
        loop {
            let client = witness.served(&witness.ports, patience)?;
            match witness.runtime.block_on(client.batch_execute(table)) {
                Ok(()) => break,
                Err(error) if Instant::now() > until => return Err(error.into()),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        for writer in 0..writers {
            let (ports, stop) = (witness.ports.clone(), witness.stop.clone());
            let writing = write(
                writer,
                ports,
                (witness.acknowledged.clone(), witness.pauses.clone()),
                stop,
                witness.shown.clone(),
                witness.reads.clone().filter(|_| writer == READ_WRITER),
            );
            witness.clients.push(witness.runtime.spawn(writing));
        }
        if let Some(reads) = &witness.reads {
            for (host, port) in ports.iter().enumerate() {
                let reading = keep_reading(host, *port, reads.clone(), witness.stop.clone());
                witness.clients.push(witness.runtime.spawn(reading));
            }
        }
        Ok(witness)
    }

    /// A client of the serving one of these hosts, within this time.
    fn served(&self, ports: &[u16], patience: Duration) -> anyhow::Result<Client> {
        let until = Instant::now() + patience;
        self.runtime.block_on(async {
            loop {
                match connect(ports).await {
                    Ok(client) => return Ok(client),
                    Err(error) if Instant::now() > until => {
                        return Err(error.context(format!("no host served within {patience:?}")));
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        })
    }

    /// The time at which one of these hosts has acknowledged a transaction that was begun after this call.
    pub fn next(&self, hosts: &[usize], patience: Duration) -> anyhow::Result<Instant> {
        let ports: Vec<u16> = hosts.iter().map(|host| self.ports[*host]).collect();
        let until = Instant::now() + patience;
        self.check_reads()?;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let client = self.served(&ports, left)?;
            let number = self.acknowledged[0].load(Ordering::SeqCst);
            // Of no writer: the writers' numbers continue without it.
            let inserted = insert(&client, -1, unique(number));
            if self.runtime.block_on(inserted).is_ok() {
                return Ok(Instant::now());
            }
            ensure!(!left.is_zero(), "no host acknowledged within {patience:?}");
        }
    }

    /// Waits until a writer has an acknowledgement that it had not at this call.
    pub fn writers_continue(&self, patience: Duration) -> anyhow::Result<()> {
        let (before, until) = (self.acknowledged(), Instant::now() + patience);
        while self.acknowledged() == before {
            ensure!(
                Instant::now() < until,
                "no writer continued within {patience:?}, though a host serves"
            );
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// No read was older than allowed.
    fn check_reads(&self) -> anyhow::Result<()> {
        self.shown.check()?;
        self.reads.iter().try_for_each(|reads| reads.check())
    }

    /// Connections to a serving host, for later queries.
    pub fn sleepers(&self, host: usize, count: usize) -> Vec<Sleeper> {
        let ports = [self.ports[host]];
        let connected = (0..count).map_while(|_| self.runtime.block_on(connect(&ports)).ok());
        connected.map(Sleeper).collect()
    }

    /// Sends a query on each of them to a stopped host, which then continues: every answer must show the numbers
    /// acknowledged before the query. Returns the number of queries, answered by rows or by an error. There are none if
    /// the host lost its lease before it was stopped.
    pub fn ask(
        &self,
        sleepers: Vec<Sleeper>,
        wake: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<usize> {
        let asked: Vec<_> = sleepers
            .into_iter()
            .map(|Sleeper(client)| {
                let acknowledged = self.acknowledged[0].load(Ordering::SeqCst);
                self.runtime.spawn(async move {
                    let answer = timeout(CLIENT_PATIENCE * 3, last(&client, 0)).await;
                    (acknowledged, answer)
                })
            })
            .collect();
        // The queries are in the host's sockets before it continues.
        std::thread::sleep(Duration::from_millis(50));
        wake()?;
        let questions = asked.len();
        for asked in asked {
            let (acknowledged, answer) = self.runtime.block_on(asked)?;
            match answer {
                Ok(Ok(last)) => {
                    self.shown.compare(0, acknowledged, last);
                }
                // It is sent away, or the connection ends: no old state is shown.
                Ok(Err(_)) => {}
                Err(_) => bail!("a host that woke up neither answers nor ends its connections"),
            }
        }
        self.shown.check()?;
        Ok(questions)
    }

    /// The SQLSTATE with which a host sends clients away, or another text if there is none, and the message; `None` if
    /// it serves.
    pub fn sent_away(&self, host: usize) -> Option<(String, String)> {
        let ports = [self.ports[host]];
        let error = self.runtime.block_on(connect(&ports)).err()?;
        let of_host = error.downcast_ref::<tokio_postgres::Error>();
        let of_host = of_host.and_then(tokio_postgres::Error::as_db_error);
        Some(match of_host {
            Some(told) => (told.code().code().into(), told.message().into()),
            None => (format!("{error:#}"), String::new()),
        })
    }

    /// True if a host answers reads as one that follows.
    fn answers_as_follower(&self, host: usize) -> bool {
        let answer = self.runtime.block_on(async {
            let client = connect_to(self.ports[host]).await?;
            let row = timeout(
                CLIENT_PATIENCE,
                client.query_one("SELECT pg_is_in_recovery()", &[]),
            );
            anyhow::Ok(row.await??.try_get(0)?)
        });
        answer.unwrap_or(false)
    }

    /// Succeeds if a host follows the log, which it reports to clients that it sends away. A host that answers stale
    /// reads answers one. The error is the text for the clients.
    fn is_following(&self, host: usize) -> Result<(), String> {
        let said = self.sent_away(host).map(|(_, said)| said);
        let said = said.unwrap_or_default();
        let follows = said.contains("follows up to entry")
            || (self.reads.is_some() && self.answers_as_follower(host));
        follows.then_some(()).ok_or(said)
    }

    /// Waits until a host follows the log.
    pub fn follows(&self, host: usize, patience: Duration) -> anyhow::Result<()> {
        self.comes_to(patience, || self.is_following(host))
    }

    /// Waits until a host serves or follows.
    pub fn serves_or_follows(&self, host: usize, patience: Duration) -> anyhow::Result<()> {
        self.comes_to(patience, || match self.sent_away(host) {
            None => Ok(()),
            Some(_) => self.is_following(host),
        })
    }

    fn comes_to(
        &self,
        patience: Duration,
        is_so: impl Fn() -> Result<(), String>,
    ) -> anyhow::Result<()> {
        let until = Instant::now() + patience;
        while let Err(said) = is_so() {
            ensure!(Instant::now() < until, "a host does not follow: {said:?}");
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Measures pauses of writers from now on.
    pub fn watch_pauses(&self) {
        self.pauses.iter().for_each(Pauses::watch);
    }

    /// The longest time without an acknowledgement for a writer.
    pub fn longest_pause(&self) -> Duration {
        let now = Instant::now();
        let longest = self.pauses.iter().map(|pauses| pauses.longest(now));
        longest.max().unwrap_or_default()
    }

    /// The number of acknowledged numbers.
    pub fn acknowledged(&self) -> u64 {
        let last = self
            .acknowledged
            .iter()
            .map(|last| last.load(Ordering::SeqCst));
        last.sum()
    }

    /// Ends the clients, and checks for every acknowledged number at the serving host.
    pub fn prove(&mut self, patience: Duration) -> anyhow::Result<Proven> {
        self.stop.store(true, Ordering::SeqCst);
        for client in std::mem::take(&mut self.clients) {
            self.runtime.block_on(client)?;
        }
        self.shown.check_all()?;
        let reads = self.reads.as_ref().map(|reads| reads.check_all());
        let reads_of_followers = reads.transpose()?;
        let client = self.served(&self.ports, patience)?;
        let rows =
            "SELECT writer, count(*), max(number) FROM numbers WHERE writer >= 0 GROUP BY writer";
        let rows = self.runtime.block_on(client.query(rows, &[]))?;
        for (writer, acknowledged) in self.acknowledged.iter().enumerate() {
            let acknowledged = i64::try_from(acknowledged.load(Ordering::SeqCst))?;
            let row = rows
                .iter()
                .find(|row| row.get::<_, i64>(0) == writer as i64);
            let (count, most): (i64, i64) = row.map_or((0, 0), |row| (row.get(1), row.get(2)));
            // Each number follows an existing one.
            ensure!(
                most >= acknowledged && count == most,
                "{acknowledged} numbers of writer {writer} were acknowledged, but {count} were found, up to {most}"
            );
        }
        Ok(Proven {
            acknowledged: self.acknowledged(),
            reads_of_followers,
        })
    }
}

/// Numbers that no writer takes.
fn unique(salt: u64) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    (NEXT.fetch_add(1, Ordering::SeqCst) << 32) | (salt & 0xffff_ffff)
}

/// Inserts numbers until it is stopped. After a broken connection it reads the last one, and continues after that.
async fn write(
    writer: usize,
    mut ports: Vec<u16>,
    (acknowledged, pauses): (Arc<[AtomicU64]>, Arc<[Pauses]>),
    stop: Arc<AtomicBool>,
    shown: Arc<Shown>,
    reads: Option<Arc<Reads>>,
) {
    let own = writer as i64;
    while !stop.load(Ordering::SeqCst) {
        let Ok(client) = connect(&ports).await else {
            // The first one may be stopped, and then keeps a client until its time is up.
            ports.rotate_left(1);
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(Ok(found)) = timeout(CLIENT_PATIENCE, last(&client, own)).await else {
            continue;
        };
        let before = acknowledged[writer].load(Ordering::SeqCst);
        if !shown.compare(writer, before, found) {
            return;
        }
        let mut number = found;
        while !stop.load(Ordering::SeqCst) {
            number += 1;
            if insert(&client, own, number).await.is_err() {
                break;
            }
            acknowledged[writer].store(number, Ordering::SeqCst);
            let now = Instant::now();
            pauses[writer].sign(now);
            if let Some(reads) = &reads {
                reads.note(now, number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_read_fails_the_run_and_so_does_a_run_without_reads() {
        assert!(Shown::default().check_all().is_err());
        let shown = Shown::default();
        assert!(shown.compare(0, 7, 7) && shown.compare(0, 7, 8));
        assert_eq!(shown.check_all().unwrap(), 2);
        assert!(!shown.compare(1, 9, 8));
        let error = shown.check().unwrap_err().to_string();
        assert!(
            error.contains("writer 1") && error.contains("shows 8"),
            "{error}"
        );
        assert!(shown.check_all().is_err());
    }
}
