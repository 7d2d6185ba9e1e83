//! The source of a state: tables in main memory, those of another program, which are followed, or those of a node.

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
    /// Tables of a node, which has no figures of them: to read sizes would lock pages that other nodes use.
    Node(Arc<Database>),
}

impl Observed {
    /// The source of a database.
    pub fn of(database: &Arc<Database>) -> Observed {
        match (database.tables(), database.follower()) {
            (Some(tables), _) => Observed::Tables(tables.clone()),
            (None, Some(follower)) => Observed::Follower(follower.clone()),
            (None, None) => Observed::Node(database.clone()),
        }
    }

    /// The readiness. Does not wait.
    pub fn readiness(&self, is_stopping: bool) -> Readiness {
        match self {
            Observed::Tables(tables) => reading::readiness(tables, is_stopping),
            Observed::Follower(follower) => {
                let failed = follower.has_ended();
                unless(is_stopping, failed, "following the database has failed")
            }
            Observed::Node(database) => {
                let stopped = database.check_node().is_some_and(|runs| runs.is_err());
                unless(is_stopping, stopped, "the node has stopped: restart it")
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

/// Ready unless the server is being stopped, or its source has failed.
fn unless(is_stopping: bool, has_failed: bool, failure: &str) -> Readiness {
    let stopping = is_stopping.then_some("the server is being stopped");
    let failed = has_failed.then_some(failure);
    let obstacles = stopping.into_iter().chain(failed);
    let obstacles: Vec<String> = obstacles.map(String::from).collect();
    Readiness {
        ready: obstacles.is_empty(),
        obstacles,
    }
}
