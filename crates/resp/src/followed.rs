//! The keys of a database that another program has open: commands that read are answered from that program's commits;
//! commands that change anything are refused.
//!
//! The tables of the keys may be created, and recreated, while they are read. So they are looked up in each state.
//! Dependent data, such as the position of a `SCAN`, belongs to the tables with these numbers.

use crate::data::Numbers;
use crate::data::databases::{Counts, counts};
use crate::failure::Failure;
use crate::request::{Commands, Outcomes, Request};
use crate::shared::Shared;
use sardonyx::low_level::Committed;
use sardonyx::procedures::ProcedureError;
use sardonyx_base::waiting;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Takes the newest state of a database that is followed, which is durable, or says why there is none.
pub type TakesState = Arc<dyn Fn() -> Result<Committed, String> + Send + Sync>;

/// The keys of such a database.
pub(crate) struct FollowedKeys {
    take: TakesState,
    commands: Mutex<Option<Arc<Commands>>>,
}

impl FollowedKeys {
    pub fn new(take: TakesState) -> FollowedKeys {
        FollowedKeys {
            take,
            commands: Mutex::default(),
        }
    }

    /// The newest state, and the commands that run in it.
    fn reach(&self) -> Result<(Committed, Arc<Commands>), Failure> {
        let committed = (self.take)().map_err(|reason| {
            // As a replica of Redis says it that does not know its master's state.
            Failure::Said(format!("MASTERDOWN {reason}"))
        })?;
        let space = committed.snapshot.space();
        let numbers = Numbers::of(&&**space);
        let numbers = numbers.map_err(|error| Failure::Said(format!("ERR {error}")))?;
        let numbers = numbers.ok_or(Failure::Told(
            "ERR the database has no keys: no server of it has served Redis' clients yet",
        ))?;
        let mut latest = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        let commands = match &*latest {
            Some(commands) if commands.shared().numbers == numbers => commands.clone(),
            _ => Arc::new(Commands::new(Arc::new(Shared::new(numbers, Weak::new())))),
        };
        *latest = Some(commands.clone());
        Ok((committed, commands))
    }

    /// Answers requests, which only read.
    pub fn answer(&self, requests: &[Request]) -> Outcomes {
        loop {
            let (committed, commands) = match self.reach() {
                Ok(reached) => reached,
                Err(failure) => {
                    let said = failure.to_string();
                    let refused = |_| Err(ProcedureError::Aborted(Failure::Said(said.clone())));
                    return requests.iter().map(refused).collect();
                }
            };
            let read = || commands.answer_beside(requests, &committed);
            let outcomes = match requests.iter().all(|request| request.is_fast()) {
                true => read(),
                false => waiting::aside(read),
            };
            if !committed.snapshot.is_ended() {
                // Commands that send messages are refused before they come here.
                return outcomes.sent(&commands.shared().posting);
            }
            // It was ended for want of memory. The answers are given up.
            requests
                .iter()
                .for_each(|request| request.pending.release());
        }
    }

    /// The numbers of keys.
    ///
    /// # Errors
    /// There is no state, or it has no keys.
    pub fn counts(&self) -> Result<Vec<Counts>, Failure> {
        let (committed, commands) = self.reach()?;
        let space = committed.snapshot.space();
        counts(&commands.shared().databases, &&**space)
    }
}

impl fmt::Debug for FollowedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedKeys").finish_non_exhaustive()
    }
}
