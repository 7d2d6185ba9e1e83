//! Moving and swapping parts of types between two nodes.

/// Types on nodes while they are being moved.
pub struct Exchange<'a> {
    /// The load of each type, as a share of all.
    pub loads: &'a [f64],
    /// Local requests of each type at each node, for each unit of its load.
    pub gains: Vec<Vec<f64>>,
    /// The share of each type on each node.
    pub shares: &'a mut [Vec<f64>],
    /// The types on each node.
    pub on_node: Vec<Vec<usize>>,
    /// The load of each node.
    pub filled: Vec<f64>,
    /// The least load of a node.
    pub least: f64,
    /// The most load of a node.
    pub most: f64,
}

/// Parts of the load below this are nothing.
const NOTHING: f64 = 1e-12;

impl Exchange<'_> {
    /// The best exchange between two nodes that keeps the limits; whether there was one.
    pub fn exchange(&mut self, one: usize, other: usize) -> bool {
        let there = self.best(one, other);
        let back = self.best(other, one);
        // A swap keeps both loads; a move changes them.
        let gain = |best: Option<(usize, f64)>| best.map_or(0.0, |(_, gain)| gain);
        if let (Some((moved, _)), Some((returned, _))) = (there, back)
            && gain(there) + gain(back) > 1e-6
        {
            let part = self.load_at(moved, one).min(self.load_at(returned, other));
            if part > NOTHING && moved != returned {
                self.shift(moved, one, other, part);
                self.shift(returned, other, one, part);
                return true;
            }
        }
        for (best, from, to) in [(there, one, other), (back, other, one)] {
            let Some((kind, _)) = best.filter(|(_, gain)| *gain > 1e-6) else {
                continue;
            };
            let room = (self.most - self.filled[to]).min(self.filled[from] - self.least);
            let part = self.load_at(kind, from).min(room);
            if part > NOTHING {
                self.shift(kind, from, to, part);
                return true;
            }
        }
        false
    }

    /// The type on `from` that gains most (or loses least) by going to `to`, for each unit of load.
    fn best(&self, from: usize, to: usize) -> Option<(usize, f64)> {
        let gain = |&kind: &usize| (kind, self.gains[kind][to] - self.gains[kind][from]);
        let gains = self.on_node[from].iter().map(gain);
        gains.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    fn load_at(&self, kind: usize, node: usize) -> f64 {
        self.shares[kind][node] * self.loads[kind]
    }

    fn shift(&mut self, kind: usize, from: usize, to: usize, part: f64) {
        if self.shares[kind][to] <= 0.0 {
            self.on_node[to].push(kind);
        }
        let share = part / self.loads[kind];
        self.shares[kind][to] += share;
        self.shares[kind][from] -= share;
        if self.load_at(kind, from) <= NOTHING {
            self.shares[kind][from] = 0.0;
            self.on_node[from].retain(|&present| present != kind);
        }
        self.filled[from] -= part;
        self.filled[to] += part;
    }
}
