//! A term for a program that opens the database for a while without following it: a tool, which is no host of its own. It
//! takes nothing over from a host that gives signs, and the hosts follow until it has released its term.

use super::reports::Reports;
use super::{Host, StopHost, Term, primary};
use crate::{Error, clock};
use sardonyx_base::events;
use sardonyx_storage::remote_log::primary::{Act, Primary};
use std::time::{Duration, Instant};

impl Host {
    /// Begins a term as soon as no other host can have a lease. If another one gives a sign when so much time has passed, its
    /// record is returned instead. `waits` hears of the first record for which this waits.
    ///
    /// # Errors
    /// As [`Host::next_term`]; the store gives no answer within its patience.
    pub fn term_unless_served(
        &mut self,
        patience: Duration,
        waits: impl FnMut(&Primary),
    ) -> Result<Result<Term, Primary>, Error> {
        // It serves once, under a name of its own: no log is kept for it afterwards.
        self.reports = Reports::none();
        let term = self.take_unless_served(patience, waits);
        if !matches!(term, Ok(Ok(_))) {
            self.following = None;
        }
        term
    }

    fn take_unless_served(
        &mut self,
        patience: Duration,
        mut waits: impl FnMut(&Primary),
    ) -> Result<Result<Term, Primary>, Error> {
        let (began, stop) = (Instant::now(), StopHost::default());
        let mut seen: Option<Primary> = None;
        loop {
            let Some(turn) = &mut self.turn else {
                self.find_database()?;
                continue;
            };
            match turn.act(clock::now()) {
                Act::Look => {
                    let is_answered = self.look()?;
                    if !is_answered && self.doubts == 0 {
                        // Asked with patience.
                        drop(primary(&self.remote)?);
                    }
                }
                Act::Follow { .. } => {
                    // A sign since the last look in full is one of a host that serves.
                    if let Some(found) = turn.seen() {
                        let sign = |of: &Primary| (of.host.clone(), of.process, of.count);
                        match &seen {
                            None => waits(found),
                            Some(seen) if sign(seen) == sign(found) => {}
                            Some(_) if began.elapsed() < patience => {}
                            Some(_) => {
                                events::debug!(host = found.host, "another host serves");
                                return Ok(Err(found.clone()));
                            }
                        }
                        seen = Some(found.clone());
                    }
                    turn.followed(true, clock::now());
                }
                Act::Claim(replacement) => {
                    if let Some(term) = self.claim(&replacement)? {
                        return Ok(Ok(term));
                    }
                }
                Act::Rest { until } => stop.wait(until),
            }
        }
    }
}
