//! The routing table: transaction type to nodes.

use crate::random::Random;

/// To which nodes the transactions of each type go, and in which shares. Always valid: every type
/// has a node, nodes of a type ascend, shares are above 0 and add up to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct RoutingTable {
    nodes: u16,
    /// For each type its nodes, each with the sum of the shares up to and with it.
    types: Vec<Vec<(u16, f64)>>,
}

impl RoutingTable {
    /// Random routing: every type to every node, in equal shares.
    ///
    /// # Panics
    /// If there is no node.
    pub fn random(types: usize, nodes: u16) -> Self {
        let row = vec![1.0; usize::from(nodes)];
        RoutingTable::of_weights(nodes, &vec![row; types]).expect("equal weights are possible")
    }

    /// A table in which each type goes to node `n` in proportion to `weights[type][n]`. None if a weight is not finite
    /// or negative, a type has none above 0, or a row's length is not the number of nodes.
    pub fn of_weights(nodes: u16, weights: &[Vec<f64>]) -> Option<Self> {
        let row = |row: &Vec<f64>| {
            let possible = row
                .iter()
                .all(|weight| weight.is_finite() && *weight >= 0.0);
            let total: f64 = row.iter().sum();
            if row.len() != usize::from(nodes) || !possible || total <= 0.0 || total.is_infinite() {
                return None;
            }
            let mut sum = 0.0;
            let mut shares = Vec::new();
            for (node, weight) in (0..nodes).zip(row) {
                if *weight > 0.0 {
                    sum += weight / total;
                    shares.push((node, sum));
                }
            }
            // The last one gets the rounding error.
            shares.last_mut()?.1 = 1.0;
            Some(shares)
        };
        let types = weights.iter().map(row).collect::<Option<Vec<_>>>()?;
        Some(RoutingTable { nodes, types })
    }

    /// Transactions are divided among so many.
    pub fn nodes(&self) -> u16 {
        self.nodes
    }

    /// As in the trace's header.
    pub fn types(&self) -> usize {
        self.types.len()
    }

    /// The node for a transaction of a type: drawn by the shares.
    ///
    /// # Panics
    /// If there is no such type.
    #[inline]
    pub fn route(&self, kind: u16, random: &mut Random) -> u16 {
        let nodes = &self.types[usize::from(kind)];
        if let [(only, _)] = nodes[..] {
            return only;
        }
        let fraction = random.fraction();
        let place = nodes.partition_point(|&(_, sum)| sum <= fraction);
        nodes[place.min(nodes.len() - 1)].0
    }

    /// The nodes of a type with their shares.
    ///
    /// # Panics
    /// If there is no such type.
    pub fn shares(&self, kind: u16) -> impl Iterator<Item = (u16, f64)> {
        let mut before = 0.0;
        self.types[usize::from(kind)]
            .iter()
            .map(move |&(node, sum)| {
                let share = sum - before;
                before = sum;
                (node, share)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_go_where_the_shares_say() {
        let weights = [vec![1.0, 0.0, 3.0], vec![0.0, 5.0, 0.0]];
        let table = RoutingTable::of_weights(3, &weights).unwrap();
        assert_eq!(table.shares(0).collect::<Vec<_>>(), [(0, 0.25), (2, 0.75)]);
        let mut random = Random::new(1);
        let mut counts = [0u32; 3];
        (0..40_000).for_each(|_| counts[usize::from(table.route(0, &mut random))] += 1);
        assert!(
            counts[0].abs_diff(10_000) < 400 && counts[1] == 0,
            "{counts:?}"
        );
        assert!((0..100).all(|_| table.route(1, &mut random) == 1));
    }

    #[test]
    fn random_routing_spreads_every_type_over_a_thousand_nodes() {
        let table = RoutingTable::random(2, 1_000);
        let mut random = Random::new(2);
        let mut counts = vec![0u32; 1_000];
        (0..200_000).for_each(|_| counts[usize::from(table.route(1, &mut random))] += 1);
        // Mean 200, standard deviation 14.
        assert!(
            counts.iter().all(|count| count.abs_diff(200) < 80),
            "{counts:?}"
        );
    }

    #[test]
    fn what_is_no_distribution_makes_no_table() {
        for row in [
            vec![0.0, 0.0],
            vec![1.0],
            vec![-1.0, 2.0],
            vec![f64::NAN, 1.0],
        ] {
            assert_eq!(RoutingTable::of_weights(2, &[row]), None);
        }
    }
}
