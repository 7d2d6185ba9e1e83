//! The time until others have the pages and locks of a killed node.
//!
//! All nodes run debit-credit, so that the log has so many transactions since the last checkpoint. Then one node
//! changes each page of a few last, so that it owns them (NOFORCE) and the others must have its redo applied. It is
//! killed, and another one asks for these pages at once.

use crate::error::ClusterError;
use crate::load::{Load, now_nanoseconds};
use crate::nodes::Cluster;
use crate::setting::Coupling;
use serde::Serialize;

/// Its result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Takeover {
    /// The node that was killed.
    pub killed: usize,
    /// The node that took over pages.
    pub survivor: usize,
    /// Transactions that the dead node had committed.
    pub transactions: u64,
    /// From the signal until the system had ended the process: the more memory it had, the later.
    pub ended_milliseconds: f64,
    /// From the signal until another node had changed the first page that the dead one owned.
    pub first_page_milliseconds: f64,
    /// From the signal until it had changed all of them.
    pub all_pages_milliseconds: f64,
    /// From the signal until every survivor knew of the death.
    pub known_milliseconds: f64,
    /// Pages asked for.
    pub pages: u64,
}

/// Pages that the node owns when it dies.
const PAGES: u64 = 64;

/// Loads the nodes and kills one of them.
///
/// # Errors
/// As [`Cluster::bench`]; [`ClusterError::Setting`] if there are fewer than two nodes.
pub fn take_over(cluster: &mut Cluster, load: &Load) -> Result<Takeover, ClusterError> {
    let running = cluster.running();
    let [first, .., killed] = running[..] else {
        return Err(ClusterError::Setting {
            what: "a number of nodes that run",
            found: running.len().to_string(),
            allowed: "at least 2, so that one can be killed".into(),
        });
    };
    let runs = cluster.bench(load)?;
    for page in 0..PAGES {
        cluster.touch(killed, page)?;
    }
    let transactions = runs
        .iter()
        .filter(|run| usize::from(run.slot) == killed)
        .map(|run| run.counts.committed)
        .sum();
    let name = match cluster.setting().coupling {
        Coupling::Close => killed,
        Coupling::Loose => {
            let status = cluster.status().into_iter().nth(killed).flatten();
            let status = status.ok_or(ClusterError::NoNode { slot: killed })?;
            status.node.into()
        }
    };
    let began = now_nanoseconds();
    let since = || (now_nanoseconds() - began) as f64 / 1e6;
    cluster.kill(killed)?;
    let ended_milliseconds = since();
    // The nodes are asked one after the other, which takes as long as their answers.
    while !cluster.all_know_dead(name) {}
    let known_milliseconds = since();
    let mut first_page = None;
    for page in 0..PAGES {
        cluster.touch(first, page)?;
        first_page.get_or_insert_with(since);
    }
    Ok(Takeover {
        killed,
        survivor: first,
        transactions,
        ended_milliseconds,
        first_page_milliseconds: first_page.unwrap_or_default(),
        all_pages_milliseconds: since(),
        known_milliseconds,
        pages: PAGES,
    })
}
