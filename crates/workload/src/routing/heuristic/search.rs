//! The local search: orders of types, the authority for a routing, the routing for an authority.

use super::Options;
use super::exchange::Exchange;
use super::wishes::Wishes;
use crate::random::Random;
use crate::routing::ReferenceDistribution;

/// A candidate: the share of each type on each node, and the node of each fragment.
pub struct Solution {
    /// For each type its share on each node.
    pub shares: Vec<Vec<f64>>,
    /// For each fragment its node.
    pub owners: Vec<u16>,
}

/// The search for good tables: the steps of the heuristics.
pub struct Search<'a> {
    distribution: &'a ReferenceDistribution,
    nodes: usize,
    options: Options,
    loads: Vec<f64>,
    /// For each fragment the types that reference it, with their lock requests.
    by_fragment: Vec<Vec<(usize, f64)>>,
}

impl<'a> Search<'a> {
    /// A search for tables of so many nodes.
    pub fn new(distribution: &'a ReferenceDistribution, nodes: u16, options: Options) -> Self {
        let mut by_fragment = vec![Vec::new(); distribution.layout().count()];
        for kind in 0..distribution.types() {
            for &(fragment, locks) in distribution.locks(kind) {
                by_fragment[fragment].push((kind, locks));
            }
        }
        Search {
            distribution,
            nodes: nodes.into(),
            options,
            loads: distribution.loads(),
            by_fragment,
        }
    }

    /// The best of all starts.
    pub fn run(&self) -> Solution {
        let mut random = Random::new(self.options.seed);
        let mut orders = self.orders(&mut random).into_iter();
        let mut order = orders
            .next()
            .expect("there are orders that are always tried");
        let mut best = self.improve(self.start(&order));
        let mut consider = |candidate: Vec<usize>, order: &mut Vec<usize>| {
            let found = self.improve(self.start(&candidate));
            if found.0 > best.0 * (1.0 + 1e-9) {
                (best, *order) = (found, candidate);
            }
        };
        orders.for_each(|candidate| consider(candidate, &mut order));
        for _ in 0..self.options.exchanges {
            let mut candidate = order.clone();
            let mut place = || random.below(candidate.len() as u64) as usize;
            let (one, other) = (place(), place());
            candidate.swap(one, other);
            if one != other {
                consider(candidate, &mut order);
            }
        }
        best.1
    }

    /// The orders of types to start from.
    fn orders(&self, random: &mut Random) -> Vec<Vec<usize>> {
        let mut by_load: Vec<usize> = (0..self.loads.len()).collect();
        by_load.sort_by(|&one, &other| self.loads[other].total_cmp(&self.loads[one]));
        let mut orders = vec![self.by_affinity(by_load[0]), by_load.clone()];
        for _ in 0..self.options.random_starts {
            let mut order = by_load.clone();
            for place in (1..order.len()).rev() {
                order.swap(place, random.below(place as u64 + 1) as usize);
            }
            orders.push(order);
        }
        orders
    }

    /// Types in a row, each beside the one with which it has most fragments in common.
    fn by_affinity(&self, first: usize) -> Vec<usize> {
        let mut order = vec![first];
        let mut left: Vec<usize> = (0..self.loads.len())
            .filter(|&kind| kind != first)
            .collect();
        while !left.is_empty() {
            let last = order[order.len() - 1];
            let mut common = vec![0.0; self.loads.len()];
            for &(fragment, locks) in self.distribution.locks(last) {
                for &(kind, others) in &self.by_fragment[fragment] {
                    common[kind] += locks.min(others);
                }
            }
            let nearest = |&(_, one): &(usize, &usize), &(_, other): &(usize, &usize)| {
                common[*one].total_cmp(&common[*other])
            };
            let (place, _) = left
                .iter()
                .enumerate()
                .max_by(nearest)
                .expect("some are left");
            order.push(left.swap_remove(place));
        }
        order
    }

    /// Step 1: cuts a row of types into equally loaded nodes.
    fn start(&self, order: &[usize]) -> Vec<Vec<f64>> {
        let mut shares = vec![vec![0.0; self.nodes]; self.loads.len()];
        let room = 1.0 / self.nodes as f64;
        let (mut node, mut filled) = (0, 0.0);
        for &kind in order {
            let mut left = self.loads[kind];
            if left <= 0.0 {
                // Nothing of it was ever seen; anywhere will do.
                shares[kind][node] = 1.0;
            }
            while left > 0.0 {
                let is_last = node + 1 == self.nodes;
                let part = if is_last {
                    left
                } else {
                    left.min(room - filled)
                };
                shares[kind][node] += part / self.loads[kind];
                filled += part;
                left -= part;
                if is_last || left <= 1e-15 {
                    left = 0.0;
                }
                if !is_last && filled >= room - 1e-12 {
                    (node, filled) = (node + 1, 0.0);
                }
            }
        }
        shares
    }

    /// Steps 2 to 4.
    fn improve(&self, mut shares: Vec<Vec<f64>>) -> (f64, Solution) {
        let (mut value, mut owners) = self.authority(&shares);
        for _ in 0..self.options.rounds {
            let mut tried = shares.clone();
            self.move_types(&mut tried, &owners);
            let (tried_value, tried_owners) = self.authority(&tried);
            if tried_value <= value * (1.0 + 1e-9) {
                break;
            }
            (value, shares, owners) = (tried_value, tried, tried_owners);
        }
        (value, Solution { shares, owners })
    }

    /// Step 2: the best owners for a routing, and the objective with them.
    pub fn authority(&self, shares: &[Vec<f64>]) -> (f64, Vec<u16>) {
        let mut wishes = Wishes::new(shares, self.nodes);
        // The fragments for which it matters most come first: those whose best node has most above
        // the mean.
        let mut fragments = Vec::new();
        for (fragment, types) in self.by_fragment.iter().enumerate() {
            let weight: f64 = types.iter().map(|(_, locks)| locks).sum();
            if weight > 0.0 {
                let most = wishes
                    .gather(types)
                    .fold(0.0, |most, (_, local)| local.max(most));
                fragments.push((fragment, weight, most - weight / self.nodes as f64));
            }
        }
        fragments.sort_by(|one, other| {
            let by_stake = other.2.total_cmp(&one.2);
            by_stake
                .then(other.1.total_cmp(&one.1))
                .then(one.0.cmp(&other.0))
        });
        let total = self.distribution.total_locks();
        let room = total / self.nodes as f64 * (1.0 + self.options.authority_tolerance);
        // Fragments without requests go to the nodes in turn.
        let in_turn = |fragment: usize| (fragment % self.nodes) as u16;
        let mut owners: Vec<u16> = (0..self.by_fragment.len()).map(in_turn).collect();
        let mut asked = vec![0.0; self.nodes];
        let mut value = 0.0;
        for (fragment, weight, _) in fragments {
            let mut best: Option<(usize, f64)> = None;
            for (node, local) in wishes.gather(&self.by_fragment[fragment]) {
                // Among equal wishes the node with most room.
                let is_better = best.is_none_or(|(chosen, most)| {
                    let alike = (local - most).abs() <= most * 1e-9;
                    local > most && !alike || alike && asked[node] < asked[chosen]
                });
                if asked[node] + weight <= room && is_better {
                    best = Some((node, local));
                }
            }
            let (node, local) = best.unwrap_or_else(|| {
                let least = (0..self.nodes).min_by(|&a, &b| asked[a].total_cmp(&asked[b]));
                let emptiest = least.expect("there is a node");
                (emptiest, wishes.of(emptiest))
            });
            owners[fragment] = node as u16;
            asked[node] += weight;
            value += local;
        }
        (value, owners)
    }

    /// Step 3: moves and swaps parts of types between pairs of nodes.
    fn move_types(&self, shares: &mut [Vec<f64>], owners: &[u16]) {
        // Local requests of a whole type at each node, for each unit of its load.
        let gains: Vec<Vec<f64>> = (0..self.loads.len())
            .map(|kind| {
                let mut gains = vec![0.0; self.nodes];
                for &(fragment, locks) in self.distribution.locks(kind) {
                    gains[usize::from(owners[fragment])] += locks;
                }
                let load = self.loads[kind].max(f64::MIN_POSITIVE);
                gains.iter_mut().for_each(|gain| *gain /= load);
                gains
            })
            .collect();
        let mut on_node: Vec<Vec<usize>> = vec![Vec::new(); self.nodes];
        let mut filled = vec![0.0; self.nodes];
        for (kind, row) in shares.iter().enumerate() {
            for (node, share) in row.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                if self.loads[kind] > 0.0 {
                    on_node[node].push(kind);
                    filled[node] += share * self.loads[kind];
                }
            }
        }
        let mut state = Exchange {
            loads: &self.loads,
            gains,
            shares,
            on_node,
            filled,
            least: (1.0 - self.options.load_tolerance) / self.nodes as f64,
            most: (1.0 + self.options.load_tolerance) / self.nodes as f64,
        };
        for _ in 0..self.options.rounds {
            let mut improved = false;
            for one in 0..self.nodes {
                for other in one + 1..self.nodes {
                    // A pair is done after a few exchanges; bounded against rounding.
                    for _ in 0..2 * self.loads.len() {
                        if !state.exchange(one, other) {
                            break;
                        }
                        improved = true;
                    }
                }
            }
            if !improved {
                break;
            }
        }
    }
}
