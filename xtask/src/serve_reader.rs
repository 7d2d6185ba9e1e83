//! The readers of `torture-serve --stale-reads`: a client of each host, which reads whatever the host answers.
//!
//! A following host answers with a state that is at most so old. So a read must show each number that was acknowledged
//! longer ago than that when the read began. A host that refuses, redirects or is down is asked again.

use crate::serve_witness::{CLIENT_PATIENCE, PAUSE, connect_to};
use anyhow::{bail, ensure};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_postgres::Client;

/// The writer whose numbers are read.
pub const READ_WRITER: usize = 0;

/// The pause of a reader after an answer: reads are beside the writers, not instead of them.
const BETWEEN_READS: Duration = Duration::from_millis(5);

/// The acknowledged numbers of a writer, with the moments of their acknowledgements, as far back as reads may be.
#[derive(Debug)]
pub struct Acknowledgements {
    age_max: Duration,
    times: Mutex<VecDeque<(Instant, u64)>>,
}

impl Acknowledgements {
    /// None yet.
    pub fn new(age_max: Duration) -> Self {
        Acknowledgements {
            age_max,
            times: Mutex::default(),
        }
    }

    fn times(&self) -> MutexGuard<'_, VecDeque<(Instant, u64)>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note(&self, now: Instant, number: u64) {
        let mut times = self.times();
        times.push_back((now, number));
        // One that is older than a read may be stays: it is the least of the next reads.
        while times
            .get(1)
            .is_some_and(|(at, _)| now.saturating_duration_since(*at) > self.age_max)
        {
            times.pop_front();
        }
    }

    /// The last number that a read that begins now must show.
    pub fn least(&self, now: Instant) -> u64 {
        let times = self.times();
        let old = times
            .iter()
            .take_while(|(at, _)| now.saturating_duration_since(*at) > self.age_max);
        old.last().map_or(0, |(_, number)| *number)
    }
}

/// The reads of all hosts.
#[derive(Debug)]
pub struct Reads {
    acknowledged: Acknowledgements,
    /// Answers of hosts that served, and of hosts that followed.
    answered: [AtomicU64; 2],
    stale: OnceLock<String>,
}

impl Reads {
    /// None yet, of hosts whose reads are at most so old.
    pub fn new(age_max: Duration) -> Self {
        Reads {
            acknowledged: Acknowledgements::new(age_max),
            answered: Default::default(),
            stale: OnceLock::new(),
        }
    }

    /// Notes an acknowledged number of the writer that is read.
    pub fn note(&self, now: Instant, number: u64) {
        self.acknowledged.note(now, number);
    }

    fn compare(&self, host: usize, least: u64, (follows, found): (bool, u64)) {
        self.answered[usize::from(follows)].fetch_add(1, Ordering::SeqCst);
        if found < least {
            let how = if follows { "follows" } else { "serves" };
            let age = self.acknowledged.age_max;
            // Only the first one counts.
            let _ = self.stale.set(format!(
                "host-{host}, which {how}, shows numbers up to {found}; {least} was acknowledged more than {age:?} before \
                 the read began"
            ));
        }
    }

    /// No read was too old.
    pub fn check(&self) -> anyhow::Result<()> {
        match self.stale.get() {
            Some(text) => bail!("{text}"),
            None => Ok(()),
        }
    }

    /// The same at the end: followers have answered reads. Returns their number.
    pub fn check_all(&self) -> anyhow::Result<u64> {
        self.check()?;
        let answered = self.answered[1].load(Ordering::SeqCst);
        ensure!(answered > 0, "no following host answered a read");
        Ok(answered)
    }
}

/// True for a host that follows, and the last number of the writer that it shows.
async fn read(client: &Client) -> anyhow::Result<(bool, u64)> {
    let text =
        "SELECT pg_is_in_recovery(), coalesce(max(number), 0) FROM numbers WHERE writer = $1";
    let row = timeout(
        CLIENT_PATIENCE,
        client.query_one(text, &[&(READ_WRITER as i64)]),
    )
    .await??;
    Ok((row.try_get(0)?, u64::try_from(row.try_get::<_, i64>(1)?)?))
}

/// Reads from a host until that is stopped.
pub async fn keep_reading(host: usize, port: u16, reads: Arc<Reads>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::SeqCst) {
        let Ok(client) = connect_to(port).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        while !stop.load(Ordering::SeqCst) {
            let least = reads.acknowledged.least(Instant::now());
            match read(&client).await {
                Ok(answer) => reads.compare(host, least, answer),
                // A read that would be too old is refused on a connection that continues.
                Err(_) if !client.is_closed() => {}
                Err(_) => break,
            }
            tokio::time::sleep(BETWEEN_READS).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_must_show_what_was_acknowledged_longer_ago_than_reads_may_be_old() {
        let began = Instant::now();
        let at = |milliseconds| began + Duration::from_millis(milliseconds);
        let acknowledged = Acknowledgements::new(Duration::from_millis(100));
        assert_eq!(acknowledged.least(at(0)), 0);
        for number in 1..=50 {
            acknowledged.note(at(number * 10), number);
        }
        assert_eq!(acknowledged.least(at(500)), 39);
        assert_eq!(acknowledged.least(at(605)), 50);
        assert!(
            acknowledged.times().len() < 15,
            "the older ones are dropped"
        );
    }

    #[test]
    fn a_read_that_is_too_old_fails_the_run_and_so_does_a_run_without_reads_of_followers() {
        let reads = Reads::new(Duration::from_secs(1));
        reads.compare(0, 7, (false, 7));
        assert!(reads.check_all().is_err(), "no follower has answered");
        reads.compare(1, 7, (true, 9));
        assert_eq!(reads.check_all().unwrap(), 1);
        reads.compare(2, 7, (true, 6));
        let error = reads.check().unwrap_err().to_string();
        assert!(
            error.contains("host-2, which follows, shows numbers up to 6"),
            "{error}"
        );
        assert!(reads.check_all().is_err());
    }
}
