//! Iterative heuristics for routing and authority tables: from the reference distribution and the
//! number of nodes, as the GEM paper (section 3.1) sketches those of its source Ra92b.
//!
//! **Objective**: the expected number of lock requests that run at the node with the authority,
//! `Σ share(type, node) · locks(type, fragment)` over all fragments whose authority the node has.
//! **Limits**: each node's load, in record accesses and a transaction's costs beside them, stays within
//! `load_tolerance` of the mean. Each node's lock requests as authority stay within `authority_tolerance`
//! above the mean, where the fragments allow it.
//!
//! Finding the best pair of tables is a quadratic assignment, so it is searched for locally:
//!
//! 1. *Start*: types are laid out in a row and the row is cut into equally loaded nodes; a type
//!    across a cut is split. Several orders of the row are tried: by affinity, by load, by chance.
//! 2. *Authority*: for this routing each fragment goes to the node with most requests for it that
//!    has room, those fragments first for which it matters most.
//! 3. *Routing*: for this authority, parts of types are moved or swapped between pairs of nodes as
//!    long as that raises the objective and keeps the loads.
//! 4. 2 and 3 are repeated until the objective rises no more. The best of all starts wins.
//! 5. Two types of the best start's order are exchanged, and 1 to 4 repeated; if that is better, it
//!    is the best start from now on. This is tried a set number of times.
//!
//! Everything is deterministic: equal input gives equal tables.

mod exchange;
mod search;
mod wishes;

use super::{AuthorityTable, MAX_NODES, ReferenceDistribution, RoutingTable, Tables};
use search::Search;
use serde::Serialize;

/// The limits of the heuristics.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// The greatest distance of a node's load from the mean, as a share of the mean.
    pub load_tolerance: f64,
    /// The greatest distance of a node's lock requests as authority above the mean, as a share of the
    /// mean.
    pub authority_tolerance: f64,
    /// Orders tried by chance, beside the two that are not.
    pub random_starts: u32,
    /// The number of times that two types of the best order are exchanged, to look for a better one.
    pub exchanges: u32,
    /// Rounds of steps 2 and 3 at most, for each start.
    pub rounds: u32,
    /// The seed of chance.
    pub seed: u64,
}

impl Options {
    /// The values for so many nodes: with more of them, each try gains less and takes longer, so fewer are
    /// made.
    pub fn for_nodes(nodes: u16) -> Self {
        let nodes = u32::from(nodes.max(1));
        Options {
            load_tolerance: 0.02,
            authority_tolerance: 0.2,
            random_starts: (200 / nodes).min(4),
            exchanges: (480 / nodes).min(30),
            rounds: if nodes <= 64 { 30 } else { 4 },
            seed: 1,
        }
    }
}

/// The quality of tables, by the distribution they were made from.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Quality {
    /// Expected share of the lock requests at the node that has the authority.
    pub local_share: f64,
    /// The most loaded node's load over the mean.
    pub load_imbalance: f64,
    /// The most asked authority's lock requests over the mean.
    pub authority_imbalance: f64,
}

/// The reason why there can be no tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeuristicError {
    /// The number of nodes is not possible.
    #[error("{found} nodes are not possible: choose between 1 and {most}", most = MAX_NODES)]
    Nodes {
        /// The requested number.
        found: u16,
    },
}

/// Affinity-based routing and authority.
///
/// # Errors
/// [`HeuristicError::Nodes`] if there are no nodes or more than [`MAX_NODES`].
pub fn affinity(
    distribution: &ReferenceDistribution,
    nodes: u16,
    options: &Options,
) -> Result<(Tables, Quality), HeuristicError> {
    if !(1..=MAX_NODES).contains(&nodes) {
        return Err(HeuristicError::Nodes { found: nodes });
    }
    let search = Search::new(distribution, nodes, *options);
    let solution = search.run();
    let routing = RoutingTable::of_weights(nodes, &solution.shares)
        .expect("loads of at least one node above zero");
    let authority = AuthorityTable::new(nodes, distribution.layout().clone(), solution.owners)
        .expect("an owner below the nodes for each fragment");
    let quality = quality(distribution, &routing, &authority);
    Ok((Tables { routing, authority }, quality))
}

/// Random routing, with the authority shared out equally.
///
/// # Errors
/// [`HeuristicError::Nodes`] if there are no nodes or more than [`MAX_NODES`].
pub fn random(
    distribution: &ReferenceDistribution,
    nodes: u16,
) -> Result<(Tables, Quality), HeuristicError> {
    if !(1..=MAX_NODES).contains(&nodes) {
        return Err(HeuristicError::Nodes { found: nodes });
    }
    let options = Options {
        authority_tolerance: 0.0,
        ..Options::for_nodes(nodes)
    };
    let search = Search::new(distribution, nodes, options);
    let shares = vec![vec![1.0 / f64::from(nodes); usize::from(nodes)]; distribution.types()];
    let owners = search.authority(&shares).1;
    let routing = RoutingTable::random(distribution.types(), nodes);
    let authority = AuthorityTable::new(nodes, distribution.layout().clone(), owners)
        .expect("an owner below the nodes for each fragment");
    let quality = quality(distribution, &routing, &authority);
    Ok((Tables { routing, authority }, quality))
}

/// The quality of any tables for a distribution with the same types and fragments.
pub fn quality(
    distribution: &ReferenceDistribution,
    routing: &RoutingTable,
    authority: &AuthorityTable,
) -> Quality {
    let nodes = usize::from(routing.nodes());
    let (mut loads, mut asked) = (vec![0.0; nodes], vec![0.0; nodes]);
    let mut local = 0.0;
    for (kind, load) in distribution.loads().into_iter().enumerate() {
        let mut shares = vec![0.0; nodes];
        for (node, share) in routing.shares(kind as u16) {
            loads[usize::from(node)] += load * share;
            shares[usize::from(node)] = share;
        }
        for &(fragment, locks) in distribution.locks(kind) {
            let owner = usize::from(authority.owners()[fragment]);
            asked[owner] += locks;
            local += locks * shares[owner];
        }
    }
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let total = distribution.total_locks();
    let over_mean = |largest: f64, total: f64| {
        if total > 0.0 {
            largest * nodes as f64 / total
        } else {
            1.0
        }
    };
    Quality {
        local_share: if total > 0.0 { local / total } else { 0.0 },
        load_imbalance: over_mean(largest(&loads), 1.0),
        authority_imbalance: over_mean(largest(&asked), total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debit_credit_pages::{ACCOUNT, BRANCH, DebitCreditPages, PageScale};
    use crate::random::Random;
    use crate::reference::{PageReference, Transaction};
    use crate::trace::{Header, Partition, Trace};

    /// A trace of `types` types, each on `pages` pages of its own and, every fourth access, on one that
    /// all share. Type `t` has `t + 1` times as many transactions as type 0.
    fn separable(types: u16, pages: u32) -> Trace {
        let names = (0..types).map(|kind| format!("t{kind}")).collect();
        let own = Partition {
            name: "own".into(),
            pages: u64::from(u32::from(types) * pages),
        };
        let shared = Partition {
            name: "shared".into(),
            pages: 64,
        };
        let mut trace = Trace::new(Header::new(4096, names, vec![own, shared]).unwrap());
        let mut random = Random::new(5);
        for kind in (0..types).flat_map(|kind| std::iter::repeat_n(kind, 40 * (kind as usize + 1)))
        {
            let mut transaction = Transaction::new(kind);
            for access in 0..8 {
                let page = if access % 4 == 3 {
                    crate::reference::PageNumber::new(1, random.below(64) as u32)
                } else {
                    let page = random.below(u64::from(pages)) as u32;
                    crate::reference::PageNumber::new(0, u32::from(kind) * pages + page)
                };
                transaction.references.push(PageReference::read(page));
            }
            trace.push(&transaction).unwrap();
        }
        trace
    }

    fn tables(trace: &Trace, nodes: u16) -> (Tables, Quality) {
        let fragments = ReferenceDistribution::fragments_for(nodes);
        let distribution = ReferenceDistribution::of_trace(trace, fragments);
        affinity(&distribution, nodes, &Options::for_nodes(nodes)).unwrap()
    }

    #[test]
    fn what_can_be_separated_is_kept_whole_and_the_nodes_are_balanced() {
        // Loads 1 to 7 of 28: three nodes can be filled with whole types only by chance, four with
        // 7 each: 7, 6+1, 5+2, 4+3.
        let (found, quality) = tables(&separable(7, 64), 4);
        // Three quarters of the locks are on own pages, the rest is local at one of four nodes.
        assert!(quality.local_share > 0.79, "{quality:?}");
        assert!(quality.load_imbalance <= 1.05 + 1e-9, "{quality:?}");
        assert!(quality.authority_imbalance <= 1.2 + 1e-9, "{quality:?}");
        for kind in 0..7 {
            let most = found
                .routing
                .shares(kind)
                .map(|(_, share)| share)
                .fold(0.0, f64::max);
            assert!(most > 0.75, "type {kind} is torn: {:?}", found.routing);
        }
    }

    #[test]
    fn one_node_has_everything_and_random_routing_an_equal_part() {
        let trace = separable(5, 32);
        let (_, alone) = tables(&trace, 1);
        assert_eq!((alone.local_share, alone.load_imbalance), (1.0, 1.0));
        let distribution = ReferenceDistribution::of_trace(&trace, 1_024);
        for nodes in [2, 8] {
            let (_, quality) = random(&distribution, nodes).unwrap();
            let expected = 1.0 / f64::from(nodes);
            assert!((quality.local_share - expected).abs() < 1e-9, "{quality:?}");
            assert!((quality.load_imbalance - 1.0).abs() < 1e-9, "{quality:?}");
            assert!(quality.authority_imbalance < 1.05, "{quality:?}");
        }
    }

    #[test]
    fn debit_credit_by_branch_finds_the_papers_partitioning() {
        // Each branch is a type. By branch, BRANCH/TELLER is local always, ACCOUNT in 85% of cases
        // and where the other branch is on the same node (9 of 39).
        let scale = PageScale {
            branches_per_unit: 10,
            accounts_per_branch: 640,
            ..PageScale::paper(4)
        };
        let names = (0..40).map(|branch| format!("branch-{branch}")).collect();
        let sizes = [ACCOUNT, 1, BRANCH].map(|number| Partition {
            name: format!("p{number}"),
            pages: scale.pages(number).unwrap_or(1),
        });
        let mut trace = Trace::new(Header::new(4096, names, sizes.into()).unwrap());
        let mut source = DebitCreditPages::new(scale, 3).unwrap();
        for _ in 0..20_000 {
            let draw = source.draw();
            let mut transaction = Transaction::new(draw.branch as u16);
            let [account, _, teller, branch] = draw.references;
            transaction.references.extend([account, teller, branch]);
            trace.push(&transaction).unwrap();
        }
        let (_, quality) = tables(&trace, 4);
        let by_branch = (1.0 + 0.85 + 0.15 * 9.0 / 39.0) / 2.0;
        assert!(
            quality.local_share > by_branch - 0.02,
            "{quality:?}, by branch {by_branch}"
        );
        assert!(quality.load_imbalance < 1.06, "{quality:?}");
    }

    #[test]
    fn authority_is_shared_out_also_where_one_type_has_most_locks() {
        // Equal loads, but type 0 locks a page per access and type 1 one for all eight.
        let mut trace = Trace::new(separable(2, 200).header().clone());
        for number in 0..400u32 {
            for kind in 0..2u16 {
                let page = |access| u32::from(kind) * 200 + (number * 8 + access) % 200;
                let again = |access| page(if kind == 0 { access } else { 0 });
                let pages =
                    (0..8).map(|access| crate::reference::PageNumber::new(0, again(access)));
                let references = pages.map(PageReference::read).collect();
                trace.push(&Transaction { kind, references }).unwrap();
            }
        }
        let (_, quality) = tables(&trace, 2);
        // Unlimited, node 0 would have eight ninths of the locks: 1.78 times the mean.
        assert!(quality.authority_imbalance <= 1.2 + 1e-9, "{quality:?}");
        assert!(quality.local_share > 0.65, "{quality:?}");
    }

    #[test]
    fn a_thousand_nodes_are_balanced_too() {
        let (found, quality) = tables(&separable(12, 2_000), 1_000);
        assert!(quality.load_imbalance < 1.06, "{quality:?}");
        // Random routing would have a thousandth.
        assert!(quality.local_share > 0.005, "{quality:?}");
        let nodes: std::collections::BTreeSet<u16> = (0..12)
            .flat_map(|kind| found.routing.shares(kind).map(|(node, _)| node))
            .collect();
        assert_eq!(nodes.len(), 1_000);
    }

    #[test]
    fn equal_input_gives_equal_tables() {
        let trace = separable(9, 50);
        assert_eq!(tables(&trace, 5), tables(&trace, 5));
    }

    #[test]
    fn types_and_fragments_nobody_used_have_a_node_all_the_same() {
        let header = separable(2, 10).header().clone();
        let empty = Trace::new(header);
        let (found, quality) = tables(&empty, 3);
        assert!((0..2).all(|kind| found.routing.shares(kind).count() >= 1));
        assert_eq!(quality.local_share, 0.0);
        assert!(
            affinity(
                &ReferenceDistribution::of_trace(&empty, 8),
                0,
                &Options::for_nodes(1)
            )
            .is_err()
        );
        assert!(random(&ReferenceDistribution::of_trace(&empty, 8), 1_001).is_err());
    }
}
