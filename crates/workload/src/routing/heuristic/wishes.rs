//! The nodes that want the authority for a fragment, and their requests.

/// The number of each node's requests for a fragment: with the authority these would be local.
pub struct Wishes {
    /// For each type its nodes with their shares.
    nodes_of_types: Vec<Vec<(usize, f64)>>,
    requests: Vec<f64>,
    /// The nodes with any.
    touched: Vec<usize>,
}

impl Wishes {
    /// The wishes of a routing: for each type its share on each node.
    pub fn new(shares: &[Vec<f64>], nodes: usize) -> Self {
        let present = |row: &Vec<f64>| {
            let shares = row.iter().copied().enumerate();
            shares.filter(|(_, share)| *share > 0.0).collect()
        };
        Wishes {
            nodes_of_types: shares.iter().map(present).collect(),
            requests: vec![0.0; nodes],
            touched: Vec::new(),
        }
    }

    /// The requests for a fragment that these types reference so often.
    pub fn gather(&mut self, types: &[(usize, f64)]) -> impl Iterator<Item = (usize, f64)> {
        for node in self.touched.drain(..) {
            self.requests[node] = 0.0;
        }
        for &(kind, locks) in types {
            for &(node, share) in &self.nodes_of_types[kind] {
                if self.requests[node] == 0.0 {
                    self.touched.push(node);
                }
                self.requests[node] += locks * share;
            }
        }
        self.touched.iter().map(|&node| (node, self.requests[node]))
    }

    /// The requests of one node, of the fragment gathered last.
    pub fn of(&self, node: usize) -> f64 {
        self.requests[node]
    }
}
