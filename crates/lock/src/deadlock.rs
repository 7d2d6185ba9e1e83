//! Deadlocks over both levels: the waits that can never end, and the choice of the wait to deny.
//!
//! The nodes of the graph are owners. A wait of a subtransaction leads to the owners that block it:
//! to another subtransaction for a page, to a transaction for an object. A transaction can end only
//! when all its subtransactions have, so from it an edge leads to each of them that waits. A cycle
//! may cross the levels: a subtransaction of T2 holds a page and waits for an object of T1, a
//! subtransaction of which waits for the page.
//!
//! A wait for a lock ends when all blocking locks are released. A wait for a bounded quantity may end when *any* of
//! the pending changes is decided, so not every cycle through it is a deadlock. Hence deadlocked waits are found by
//! reduction. An owner that waits for none can end; one that waits only for those that can end, can end. The others
//! are stuck, and from each of them a walk along the stuck comes to a cycle.
//!
//! The victim is one of that cycle. If the edge into it leads to the subtransaction itself, it suffices that the
//! subtransaction gives back its pages: it restarts. If the edge goes through its transaction, only the
//! transaction's end helps. The order of preference: no compensation, a restart, the choice of the [`VictimRule`]. A
//! compensation could not obey [`Denied::Deadlock`], since its transaction aborts already. But it requests nothing
//! except pages, which belong to subtransactions. So in a cycle of compensations only, every edge leads to a
//! subtransaction itself, and every member can be ordered to restart.
//!
//! Nothing here depends on time or chance: the same waits have the same victim.

use crate::owner::{Asker, Denied, Owner};
use crate::victim_rule::VictimRule;
use core::ops::Range;
use smallvec::SmallVec;

/// An owner for which another waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// A transaction or a subtransaction.
    pub to: Owner,
    /// True if it is out of the way when the subtransaction restarts, because a page of it is waited for. Always
    /// false for transactions.
    pub restart_helps: bool,
}

/// A wait, and the owners that have to end before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The waiting subtransaction, and the owner for which it asks.
    pub asker: Asker,
    /// True if it may end when any of `edges` is released, not only when all are.
    pub any: bool,
    /// The owners that it waits for. Without any, the wait is about to end.
    pub edges: SmallVec<[Edge; 4]>,
}

/// The wait to deny.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Victim {
    /// The place of the wait in the list that [`victim`] was given.
    pub place: usize,
    /// The least that ends the deadlock.
    pub denied: Denied,
}

/// The victim of a deadlock among these waits, all there are, in order of their waiters; `None` if
/// all of them can end. A deadlock in which the transaction `requester` waits is preferred: its request
/// may have closed a cycle.
///
/// # Panics
/// If the waits are not in order.
pub fn victim(waits: &[Blocked], requester: Owner, rule: VictimRule) -> Option<Victim> {
    let waiter = |wait: &Blocked| wait.asker.waiter;
    assert!(
        waits.is_sorted_by_key(waiter),
        "waits are looked at in order of their waiters"
    );
    let stuck = stuck(waits);
    let start = included(waits, requester).find(|&place| stuck[place]);
    let start = start.or_else(|| stuck.iter().position(|&stuck| stuck))?;
    let mut members = cycle(waits, &stuck, start);
    let asker = |member: &Victim| waits[member.place].asker;
    let aborts = |member: &Victim| member.denied == Denied::Deadlock;
    let harm = |member: &Victim| (asker(member).compensation, aborts(member));
    let least = members.iter().map(harm).min();
    members.retain(|member| Some(harm(member)) == least);
    members.sort_unstable_by_key(|member| member.place);
    let askers: SmallVec<[Asker; 8]> = members.iter().map(asker).collect();
    let chosen = rule.choose(&askers, |asker| requester.includes(asker.waiter));
    Some(members[chosen])
}

/// True for each wait that can never end.
fn stuck(waits: &[Blocked]) -> Vec<bool> {
    let mut stuck = vec![true; waits.len()];
    loop {
        let mut changed = false;
        for (place, wait) in waits.iter().enumerate() {
            let goes = |edge: &Edge| !included(waits, edge.to).any(|place| stuck[place]);
            let ends = if wait.any {
                wait.edges.is_empty() || wait.edges.iter().any(goes)
            } else {
                wait.edges.iter().all(goes)
            };
            changed |= stuck[place] && ends;
            stuck[place] &= !ends;
        }
        if !changed {
            return stuck;
        }
    }
}

/// A cycle to which a walk from a stuck wait comes, and the required outcome of each member.
fn cycle(waits: &[Blocked], stuck: &[bool], start: usize) -> Vec<Victim> {
    let mut path: Vec<Victim> = Vec::new();
    let mut next = Victim {
        place: start,
        denied: Denied::Deadlock,
    };
    loop {
        if let Some(begin) = path.iter().position(|member| member.place == next.place) {
            // The edge by which the walk came back is the one in the cycle.
            path[begin].denied = next.denied;
            return path.split_off(begin);
        }
        path.push(next);
        let onwards = waits[next.place].edges.iter().find_map(|edge| {
            let place = included(waits, edge.to).find(|&place| stuck[place])?;
            let restarts = edge.restart_helps && edge.to.is_subtransaction();
            let denied = if restarts {
                Denied::Restart
            } else {
                Denied::Deadlock
            };
            Some(Victim { place, denied })
        });
        next = onwards.expect("a stuck wait has an edge to a stuck wait");
    }
}

/// The waits that have to end before the owner can.
fn included(waits: &[Blocked], owner: Owner) -> Range<usize> {
    let begin = waits.partition_point(|wait| wait.asker.waiter < owner);
    let length = waits[begin..].partition_point(|wait| wait.asker.waiter <= owner.last_included());
    begin..begin + length
}
