//! A term for a program that opens the database for a while without following it: a tool, which is no host of its own. It
//! takes nothing over from a host that gives signs, and the hosts follow until it has released its term.

use super::{Host, Looked, Next, StopHost, Term, between_looks, primary};
use crate::Error;
use sardonyx_base::events;
use sardonyx_storage::remote_log::primary::Primary;
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
        mut waits: impl FnMut(&Primary),
    ) -> Result<Result<Term, Primary>, Error> {
        let (began, stop) = (Instant::now(), StopHost::default());
        let mut seen: Option<Primary> = None;
        loop {
            let until = Instant::now() + between_looks(self.host.wait, false);
            let looked = match self.look() {
                Err(error) if self.is_doubted(&error) => Looked::Follow(None),
                Err(error) => {
                    self.following = None;
                    return Err(error);
                }
                Ok(looked) => looked,
            };
            match looked {
                Looked::Claim(replacement) => match self.claim(replacement) {
                    Ok(Next::Serve(term)) => return Ok(Ok(*term)),
                    Ok(Next::Again) => continue,
                    Ok(Next::Wait) => {}
                    Err(error) => {
                        self.following = None;
                        return Err(error);
                    }
                },
                Looked::Again => continue,
                // Asked with patience.
                Looked::Follow(None) if self.doubts == 0 => drop(primary(&self.remote)?),
                Looked::Follow(None) => {}
                Looked::Follow(Some(found)) => {
                    let sign = |of: &Primary| (of.host.clone(), of.process, of.count);
                    match &seen {
                        None => waits(&found),
                        Some(seen) if sign(seen) == sign(&found) => {}
                        Some(_) if began.elapsed() < patience => {}
                        Some(_) => {
                            events::debug!(host = found.host, "another host serves");
                            return Ok(Err(found));
                        }
                    }
                    seen = Some(found);
                }
            }
            stop.wait(until);
        }
    }
}
