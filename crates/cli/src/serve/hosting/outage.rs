//! A host whose lease has run out: its store gives no answer, or it was stopped for a while. The database stays open.
//!
//! With `--stale-reads` it answers reads as a following host does: by its directory, as old as its last lease. Another host
//! may serve by now, so a read shows only groups that the store has, which are never cut off. These are all that the
//! directory publishes as durable, unless a transaction is acknowledged before the store has it (`--durable-at local`), or
//! before this directory has it (`remote`): then clients are sent away. The tables of the open database would not do. They have waiting transactions, too, and
//! an answer that depends on one waits with it.

use super::super::reads::{Answering, Opening};
use super::{BETWEEN_LOOKS, Ended, Event, Hosting, ended};
use crate::end_request::Request;
use crate::opened::Opened;
use sardonyx::hosts::{CaughtUp, Term};
use sardonyx_server::has_room_for;
use sardonyx_storage::checkpoint::BACKUP_DIRECTORY;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// The time in an outage before the database is read once more: most outages are shorter.
const BEFORE_OPENING: Duration = Duration::from_secs(2);

impl Hosting<'_> {
    /// Waits until the lease is held again, or the term has ended otherwise. `held`: the last moment at which it was.
    pub(super) fn wait_for_lease(
        &mut self,
        term: &Term,
        opened: &Opened,
        held: Option<CaughtUp>,
    ) -> anyhow::Result<(Option<Ended>, Answering)> {
        let mut answering = Answering::SendsAway(self.follow()?);
        let (mut began, mut opening) = (Instant::now(), None);
        loop {
            if opening.is_none() && began.elapsed() >= BEFORE_OPENING {
                opening = self.opening_of_outage();
            }
            match self.events.recv_timeout(BETWEEN_LOOKS) {
                Ok(Event::Request(Request::Reload)) => self.reload(&mut answering),
                Ok(Event::Reads(follower, begun)) => {
                    if opening.as_ref().is_some_and(|opening| opening.is_of(begun)) {
                        let age = move || held.map(|held| (held.at, held.age()));
                        answering = match self.read(answering, follower, Arc::new(age)) {
                            Ok(reads) => reads,
                            Err(error) => {
                                self.warn_of_reads(&error);
                                (began, opening) = (Instant::now(), None);
                                Answering::SendsAway(self.follow()?)
                            }
                        };
                    }
                }
                Ok(Event::Request(Request::End)) | Err(RecvTimeoutError::Disconnected) => {
                    return Ok((Some(Ended::Requested), answering));
                }
                Ok(Event::Turn(_) | Event::Opened | Event::Term)
                | Err(RecvTimeoutError::Timeout) => {}
            }
            match ended(term, opened) {
                Some(Ended::LeaseLost) => {}
                ended => return Ok((ended, answering)),
            }
            if let Some(error) = answering.ended() {
                if self.ended_reads.is_due(Instant::now()) {
                    tracing::warn!(%error, "no reads are answered: the directory is opened again");
                }
                answering = Answering::SendsAway(self.send_away(answering)?);
                opening = None;
            }
        }
    }

    /// Begins to open the directory for reads, if this host answers them without a lease. One at a time: each reads the whole
    /// database into memory, and an opening of an outage before ends only when it has done so.
    fn opening_of_outage(&mut self) -> Option<Opening> {
        if self.arguments.stale_reads.is_none()
            || !self.arguments.store.is_durable_in_both()
            || self.opens.strong_count() > 0
        {
            return None;
        }
        // The pages and their indexes a second time. Without the memory the system would kill the host, and its term with it.
        let bytes = self.bytes_of_backup() / 10 * 13;
        if !has_room_for(&self.options, bytes) {
            if self.ended_reads.is_due(Instant::now()) {
                tracing::warn!(
                    bytes,
                    "no reads are answered: the process has no memory for the tables a second time"
                );
            }
            return None;
        }
        self.outages += 1;
        // No number of times that the host has begun to follow.
        let begun = u64::MAX - self.outages;
        let (path, sender) = (self.arguments.path.clone(), self.sender.clone());
        match Opening::begin(path, begun, sender) {
            Ok(opening) => {
                self.opens = opening.thread();
                Some(opening)
            }
            Err(error) => {
                self.warn_of_reads(&error);
                None
            }
        }
    }

    /// The bytes of the backup, which has the database's pages.
    fn bytes_of_backup(&self) -> u64 {
        let files = std::fs::read_dir(self.arguments.path.join(BACKUP_DIRECTORY));
        let files = files.into_iter().flatten().flatten();
        let bytes = files.map(|file| file.metadata().map_or(0, |file| file.len()));
        bytes.sum()
    }
}
