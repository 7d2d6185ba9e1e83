//! The graph of waits, and its cycles.
//!
//! The graph is not kept: its edges are read from the lock tables when a cycle is looked for. So they are never stale
//! and cost nothing while no wait is long. Several tables (of pages and of objects, say) make one graph, for a cycle
//! may cross them.
//!
//! A cycle can only arise by a request that begins to wait, and then goes through its owner:
//! looking from there after each such request, or after a wait that lasts, finds all.

use core::hash::Hash;
use sardonyx_base::hash::IntegerSet;

/// Something in which owners wait for each other.
pub trait Blockers<O> {
    /// Calls `visit` with all that `waiter` waits for here, perhaps repeatedly.
    fn blockers(&self, waiter: O, visit: &mut dyn FnMut(O));
}

/// A cycle through `start` over all of `tables`: `start` waits for the second, and so on, and the last waits for
/// `start`. `None` if there is no such cycle.
pub fn cycle<O: Copy + Eq + Hash>(tables: &[&dyn Blockers<O>], start: O) -> Option<Vec<O>> {
    let mut visited = IntegerSet::default();
    let mut path = Vec::new();
    // Depth in the path and the owner to visit there; the last is the next.
    let mut ahead = vec![(0, start)];
    while let Some((depth, owner)) = ahead.pop() {
        path.truncate(depth);
        if depth > 0 && owner == start {
            return Some(path);
        }
        if !visited.insert(owner) {
            continue;
        }
        path.push(owner);
        for table in tables {
            table.blockers(owner, &mut |blocker| ahead.push((depth + 1, blocker)));
        }
    }
    None
}
