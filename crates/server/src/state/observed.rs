//! The database of which a state is read: tables in main memory, or those of another program, which are followed.

use super::reading;
use super::{Host, Readiness};
use sardonyx::{Follower, Tables};
use sardonyx_sql::Database;
use std::sync::Arc;
use std::time::Duration;

/// The database of which a state is read.
#[derive(Clone, Debug)]
pub enum Observed {
    /// Tables in main memory.
    Tables(Arc<Tables>),
    /// Tables of another program.
    Follower(Arc<Follower>),
}

impl Observed {
    /// Of a database; none of one of nodes.
    pub fn of(database: &Database) -> Option<Observed> {
        let tables = database.tables().cloned().map(Observed::Tables);
        tables.or_else(|| database.follower().cloned().map(Observed::Follower))
    }

    /// True if clients can be served. Waits for nothing.
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

    /// The host that this program is, by what is known of the store, if there is one; of a follower how far behind it is.
    pub fn host(&self, of_store: Option<Host>) -> Option<Host> {
        let Observed::Follower(follower) = self else {
            return of_store;
        };
        let lag = follower.lag().ok().filter(|lag| *lag < Duration::MAX);
        let lag = lag.map(|lag| lag.as_secs_f64());
        Some(match of_store {
            // It is as far behind as the host, and then as the log of the host's own directory is.
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
