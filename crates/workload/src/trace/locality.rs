//! The share of a trace's lock requests that nodes could grant without a message: an analysis
//! without time, by replaying the trace in its order (GEM paper, section 4.6).
//!
//! A transaction requests a lock for each distinct page once, a write lock if it ever writes the
//! page. With primary copy locking a request is *local* if its node has the authority for the page.
//!
//! The *read optimisation* adds to that: with a read lock the authority authorises the node to
//! grant further read locks on the page itself, until a transaction elsewhere wants to write. A
//! node keeps an authorisation while the page is among its most recently used ones (as many as its
//! buffer holds). A read is local, too, if the node is authorised. A write revokes the
//! authorisations of all other nodes; it is local only at the authority, and only if there are none to revoke.
//!
//! The effect of time, concurrent transactions that wait for each other, is left to the simulation.

use super::Trace;
use super::statistics::DistinctPages;
use crate::random::Random;
use crate::reference::PageNumber;
use crate::routing::Tables;
use serde::Serialize;
use std::collections::HashMap;

/// The shares of local lock requests. Counts, from which the shares follow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Locality {
    /// Lock requests: distinct pages of every transaction.
    pub locks: u64,
    /// The requests at the node that has the authority.
    pub local: u64,
    /// The requests that are local with the read optimisation.
    pub local_with_read_optimisation: u64,
    /// Authorisations that writes revoked.
    pub revocations: u64,
    /// Lock requests for pages that were among the node's recent ones: a buffer's hits, without
    /// invalidations.
    pub recent: u64,
    /// In the order of the nodes' numbers.
    pub transactions_of_nodes: Vec<u64>,
    /// Record accesses of each node.
    pub accesses_of_nodes: Vec<u64>,
}

impl Locality {
    /// Replays a trace. Transactions are routed by chance from `seed`, in the shares of the routing
    /// table; a node keeps authorisations for its `recent_pages` most recent pages.
    ///
    /// # Panics
    /// If the tables are not for this trace: a type is missing.
    pub fn of(trace: &Trace, tables: &Tables, recent_pages: usize, seed: u64) -> Self {
        let mut replay = Replay::new(tables, recent_pages);
        let mut random = Random::new(seed);
        let mut distinct = DistinctPages::default();
        for transaction in trace.iter() {
            let node = tables.routing.route(transaction.kind, &mut random);
            replay.counts.transactions_of_nodes[usize::from(node)] += 1;
            replay.counts.accesses_of_nodes[usize::from(node)] +=
                transaction.references.len() as u64;
            for lock in distinct.of(transaction.references) {
                replay.request(node, lock.page, lock.is_write);
            }
        }
        replay.counts
    }

    /// Share of lock requests at the node that has the authority.
    pub fn local_share(&self) -> f64 {
        self.local as f64 / self.locks.max(1) as f64
    }

    /// Share of lock requests that are local with the read optimisation.
    pub fn local_share_with_read_optimisation(&self) -> f64 {
        self.local_with_read_optimisation as f64 / self.locks.max(1) as f64
    }

    /// Share of lock requests for pages that were among the node's recent ones.
    pub fn recent_share(&self) -> f64 {
        self.recent as f64 / self.locks.max(1) as f64
    }

    /// The most loaded node's record accesses over the mean.
    pub fn load_imbalance(&self) -> f64 {
        let most = self.accesses_of_nodes.iter().max().copied().unwrap_or(0);
        let total: u64 = self.accesses_of_nodes.iter().sum();
        most as f64 * self.accesses_of_nodes.len() as f64 / total.max(1) as f64
    }
}

struct Replay<'a> {
    tables: &'a Tables,
    counts: Locality,
    recent: Vec<RecentPages>,
    /// The nodes that are authorised to grant read locks, for each page with any.
    authorised: HashMap<u64, Vec<u16>>,
}

impl<'a> Replay<'a> {
    fn new(tables: &'a Tables, recent_pages: usize) -> Self {
        let nodes = usize::from(tables.routing.nodes());
        Replay {
            tables,
            counts: Locality {
                locks: 0,
                local: 0,
                local_with_read_optimisation: 0,
                revocations: 0,
                recent: 0,
                transactions_of_nodes: vec![0; nodes],
                accesses_of_nodes: vec![0; nodes],
            },
            recent: vec![RecentPages::new(recent_pages); nodes],
            authorised: HashMap::new(),
        }
    }

    fn request(&mut self, node: u16, page: u64, is_write: bool) {
        let number = PageNumber::from_u64(page).expect("a page of the trace");
        let has_authority = self.tables.authority.authority(number) == node;
        let (was_recent, left) = self.recent[usize::from(node)].touch(page);
        if let Some(left) = left {
            self.withdraw(node, left);
        }
        let nodes = self.authorised.entry(page).or_default();
        let local = if is_write {
            let before = nodes.len();
            nodes.retain(|&other| other == node);
            let revoked = before - nodes.len();
            self.counts.revocations += revoked as u64;
            has_authority && revoked == 0
        } else {
            let is_authorised = nodes.contains(&node);
            // Without room for the page there is nothing to keep an authorisation for.
            if !has_authority && !is_authorised && self.recent[usize::from(node)].capacity > 0 {
                nodes.push(node);
            }
            has_authority || is_authorised
        };
        if nodes.is_empty() {
            self.authorised.remove(&page);
        }
        self.counts.locks += 1;
        self.counts.local += u64::from(has_authority);
        self.counts.local_with_read_optimisation += u64::from(local);
        self.counts.recent += u64::from(was_recent);
    }

    /// A page left a node's recent ones: the node gives its authorisation back.
    fn withdraw(&mut self, node: u16, page: u64) {
        if let Some(nodes) = self.authorised.get_mut(&page) {
            nodes.retain(|&other| other != node);
            if nodes.is_empty() {
                self.authorised.remove(&page);
            }
        }
    }
}

/// The most recently used pages of a node: a list in order of use, with a map into it.
#[derive(Clone, Debug)]
struct RecentPages {
    capacity: usize,
    places: HashMap<u64, usize>,
    entries: Vec<Entry>,
    newest: usize,
    oldest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u64,
    newer: usize,
    older: usize,
}

/// The mark of no entry.
const NONE: usize = usize::MAX;

impl RecentPages {
    fn new(capacity: usize) -> Self {
        RecentPages {
            capacity,
            places: HashMap::new(),
            entries: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Makes a page the most recent: whether it was among them, and which one had to leave.
    fn touch(&mut self, page: u64) -> (bool, Option<u64>) {
        if self.capacity == 0 {
            return (false, None);
        }
        if let Some(&place) = self.places.get(&page) {
            self.unlink(place);
            self.link_newest(place);
            return (true, None);
        }
        let entry = Entry {
            page,
            newer: NONE,
            older: NONE,
        };
        let (place, left) = if self.entries.len() < self.capacity {
            self.entries.push(entry);
            (self.entries.len() - 1, None)
        } else {
            let place = self.oldest;
            self.unlink(place);
            let left = std::mem::replace(&mut self.entries[place], entry).page;
            self.places.remove(&left);
            (place, Some(left))
        };
        self.places.insert(page, place);
        self.link_newest(place);
        (false, left)
    }

    fn unlink(&mut self, place: usize) {
        let Entry { newer, older, .. } = self.entries[place];
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older].newer = newer,
        }
    }

    fn link_newest(&mut self, place: usize) {
        self.entries[place].newer = NONE;
        self.entries[place].older = self.newest;
        match self.newest {
            NONE => self.oldest = place,
            newest => self.entries[newest].newer = place,
        }
        self.newest = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::{AuthorityTable, FragmentLayout, RoutingTable};
    use proptest::prelude::*;

    /// Types a and b run on nodes 0 and 1; pages 0 to 4 belong to node 0, the others to node 1.
    fn replayed(transactions: &str, recent_pages: usize) -> Locality {
        let text = format!(
            "sardonyx-trace 1\npage-bytes 4096\ntype a\ntype b\npartition p 10\n\
             {transactions}\nend\n"
        );
        let trace = Trace::read(text.as_bytes(), "small").unwrap();
        let layout = FragmentLayout::new([10], 10);
        let owners = (0..10).map(|page| page / 5).collect();
        let tables = Tables {
            routing: RoutingTable::of_weights(2, &[vec![1.0, 0.0], vec![0.0, 1.0]]).unwrap(),
            authority: AuthorityTable::new(2, layout, owners).unwrap(),
        };
        Locality::of(&trace, &tables, recent_pages, 1)
    }

    fn figures(locality: &Locality) -> [u64; 4] {
        [
            locality.locks,
            locality.local,
            locality.local_with_read_optimisation,
            locality.revocations,
        ]
    }

    #[test]
    fn without_repetition_only_the_authority_counts() {
        let found = replayed("transaction a\nr p 1 1 7\ntransaction b\nw p 2 8", 100);
        assert_eq!(figures(&found), [4, 2, 2, 0]);
        assert_eq!(found.transactions_of_nodes, [1, 1]);
        assert_eq!(found.accesses_of_nodes, [3, 2]);
    }

    #[test]
    fn a_second_read_elsewhere_is_local_until_a_write_revokes_it() {
        // Node 0 reads node 1's page 7: remote, then local.
        let twice = "transaction a\nr p 7\ntransaction a\nr p 7\n";
        assert_eq!(figures(&replayed(twice, 100)), [2, 0, 1, 0]);
        // Node 1 writes it, having to revoke; then node 0 is remote again.
        let written = format!("{twice}transaction b\nw p 7\n");
        assert_eq!(figures(&replayed(&written, 100)), [3, 1, 1, 1]);
        let again = format!("{written}transaction a\nr p 7\n");
        assert_eq!(figures(&replayed(&again, 100)), [4, 1, 1, 1]);
        // Its own write leaves a node authorised, and is remote itself.
        let own = format!("{twice}transaction a\nw p 7\ntransaction a\nr p 7\n");
        assert_eq!(figures(&replayed(&own, 100)), [4, 0, 2, 0]);
        // A write lock authorises to nothing.
        let write = "transaction a\nw p 7\ntransaction a\nr p 7\n";
        assert_eq!(figures(&replayed(write, 100)), [2, 0, 0, 0]);
    }

    #[test]
    fn an_authorisation_goes_when_the_page_is_no_longer_recent() {
        let trace = "transaction a\nr p 7\ntransaction a\nr p 1 2\ntransaction a\nr p 7\n";
        assert_eq!(figures(&replayed(trace, 3)), [4, 2, 3, 0]);
        assert_eq!(figures(&replayed(trace, 2)), [4, 2, 2, 0]);
        assert_eq!(figures(&replayed(trace, 0)), [4, 2, 2, 0]);
        // A released authorisation need not be revoked.
        let then = format!("{}transaction b\nw p 7\n", &trace[..trace.len() - 20]);
        assert_eq!(figures(&replayed(&then, 2))[3], 0);
    }

    proptest! {
        #[test]
        fn recent_pages_are_those_of_a_plain_list(
            capacity in 0usize..6, pages in prop::collection::vec(0u64..9, 0..80),
        ) {
            let mut recent = RecentPages::new(capacity);
            let mut list: Vec<u64> = Vec::new();
            for page in pages {
                let was_there = list.contains(&page);
                list.retain(|&other| other != page);
                list.push(page);
                let left = (list.len() > capacity).then(|| list.remove(0));
                let left = left.filter(|_| capacity > 0);
                prop_assert_eq!(recent.touch(page), (was_there && capacity > 0, left));
            }
        }
    }
}
