//! The source of a state: tables in main memory, or those of another program, which are followed.

use super::reading;
use super::{Host, Readiness};
use sardonyx::{Follower, Tables};
use sardonyx_sql::Database;
use std::sync::Arc;
use std::time::Duration;

/// The database whose state is read.
#[derive(Clone, Debug)]
pub enum Observed {
    /// Tables in main memory.
    Tables(Arc<Tables>),
    /// Tables of another program.
    Follower(Arc<Follower>),
}

impl Observed {
    /// The source of a database; `None` for a database of nodes.
    pub fn of(database: &Database) -> Option<Observed> {
        let tables = database.tables().cloned().map(Observed::Tables);
        tables.or_else(|| database.follower().cloned().map(Observed::Follower))
    }

    /// The readiness. Does not wait.
    pub fn readiness(&self, is_stopping: bool) -> Readiness {
        match self {
            Observed::Tables(tables) => reading::readiness(tables, is_stopping),
            Observed::Follower(follower) => {
                let stopping = is_stopping.then_some("the server is being stopped");
                let failed = follower.has_ended();
                let failed = failed.then_some("following the database has failed");
                let obstacles = stopping.into_iter().chain(failed);
                let obstacles: Vec<String> = obstacles.map(String::from).collect();
                Readiness {
                    ready: obstacles.is_empty(),
                    obstacles,
                }
            }
        }
    }

    /// The host of this program, from the state of the store, if there is one; for a follower, with its lag.
    pub fn host(&self, of_store: Option<Host>) -> Option<Host> {
        let Observed::Follower(follower) = self else {
            return of_store;
        };
        let lag = follower.lag().ok().filter(|lag| *lag < Duration::MAX);
        let lag = lag.map(|lag| lag.as_secs_f64());
        Some(match of_store {
            // Its lag is the host's plus that of the log in the host's own directory.
            Some(host) => Host {
                behind_seconds: host.behind_seconds.zip(lag).map(|(host, lag)| host + lag),
                ..host
            },
            None => Host {
                behind_seconds: lag,
                ..Host::default()
            },
        })
    }
}
