//! The nodes with the lock authority for pages, as all nodes that know an epoch agree (primary copy locking; GEM
//! paper, section 3.2).
//!
//! The pages are divided into a fixed number of *parts* ([`Division`]), and each part has an authority. It is in the
//! register beside the set of members ([`View`](super::membership::View)), and is changed with that. A part whose home
//! is a place where a node runs is that node's: so the authority is where the routing sends transactions, and comes
//! back with the node. Of the other parts each member has a share: a node that joins takes some, and those of a node
//! that left are given to others. A part says in which epoch its authority got it. Whatever was said of its pages in
//! an epoch before is void.
//!
//! Invariants: with members, each part's authority is one of them. A part at home is at the node of its place. Of the
//! other parts no member has two more than another. A part changes its authority only if that is needed.

use super::{Division, Epoch, NodeId, PageId};
use std::collections::BTreeMap;

/// A part, and who has the authority for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// It grants all locks on the part's pages.
    pub authority: NodeId,
    /// From which epoch on.
    pub since: Epoch,
}

/// The nodes with the lock authority for pages. Without parts, no node has any, as with GEM locking.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Assignment {
    division: Division,
    parts: Vec<Part>,
    /// The places of members, of those that have one.
    places: BTreeMap<NodeId, u16>,
}

impl Assignment {
    /// All parts of a division, of one node.
    pub fn new(division: Division, authority: NodeId, since: Epoch) -> Self {
        let part = Part { authority, since };
        Assignment {
            parts: vec![part; usize::from(division.parts())],
            division,
            places: BTreeMap::new(),
        }
    }

    /// As it was encoded; `None`: there are not as many parts as in the division.
    pub fn of_parts(
        division: Division,
        parts: Vec<Part>,
        places: BTreeMap<NodeId, u16>,
    ) -> Option<Self> {
        (parts.len() == usize::from(division.parts())).then_some(Assignment {
            division,
            parts,
            places,
        })
    }

    /// The division of the pages.
    pub fn division(&self) -> &Division {
        &self.division
    }

    /// The parts, by their numbers.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The places of members, of those that have one.
    pub fn places(&self) -> &BTreeMap<NodeId, u16> {
        &self.places
    }

    /// The number of a page's part.
    pub fn part_of(&self, page: PageId) -> u16 {
        self.division.part_of(page)
    }

    /// A page's part.
    pub fn part(&self, page: PageId) -> Option<Part> {
        self.parts.get(usize::from(self.part_of(page))).copied()
    }

    /// A node that joins runs at a place. The parts at home there are its from the next [`Assignment::rebalance`] on.
    pub fn runs_at(&mut self, node: NodeId, place: u16) {
        self.places.insert(node, place);
    }

    /// Gives each member what is at home with it and its share of the rest, from this epoch on, and moves no part
    /// without need.
    pub fn rebalance(&mut self, members: &BTreeMap<NodeId, Epoch>, epoch: Epoch) {
        self.places.retain(|node, _| members.contains_key(node));
        // If two lives are at one place, the later one counts: the earlier is about to be shut out.
        let mut at: BTreeMap<u16, (Epoch, NodeId)> = BTreeMap::new();
        for (&node, &place) in &self.places {
            let here = (members[&node], node);
            let known = at.entry(place).or_insert(here);
            *known = here.max(*known);
        }
        let mut counts: BTreeMap<NodeId, usize> = members.keys().map(|&node| (node, 0)).collect();
        let mut away = Vec::new();
        for (number, part) in (0..).zip(&mut self.parts) {
            let home = self.division.home(number);
            match home.and_then(|place| at.get(&place)) {
                Some(&(_, node)) if part.authority == node => {}
                Some(&(_, node)) => {
                    *part = Part {
                        authority: node,
                        since: epoch,
                    };
                }
                None => {
                    away.push(usize::from(number));
                    if let Some(count) = counts.get_mut(&part.authority) {
                        *count += 1;
                    }
                }
            }
        }
        for &number in &away {
            let part = &mut self.parts[number];
            if !members.contains_key(&part.authority)
                && let Some((&node, count)) = counts.iter_mut().min_by_key(|(_, count)| **count)
            {
                *count += 1;
                *part = Part {
                    authority: node,
                    since: epoch,
                };
            }
        }
        while let Some((from, to)) = uneven(&counts) {
            let mut of_from = away.iter().rev();
            let Some(&number) = of_from.find(|&&number| self.parts[number].authority == from)
            else {
                return;
            };
            self.parts[number] = Part {
                authority: to,
                since: epoch,
            };
            *counts.entry(from).or_default() -= 1;
            *counts.entry(to).or_default() += 1;
        }
    }
}

/// A node with at least two parts more than another, and that other.
fn uneven(counts: &BTreeMap<NodeId, usize>) -> Option<(NodeId, NodeId)> {
    let (&most, &largest) = counts.iter().max_by_key(|(_, count)| **count)?;
    let (&least, &smallest) = counts.iter().min_by_key(|(_, count)| **count)?;
    (largest > smallest + 1).then_some((most, least))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(nodes: &[u16]) -> BTreeMap<NodeId, Epoch> {
        nodes.iter().map(|&node| (NodeId(node), Epoch(1))).collect()
    }

    fn counts(assignment: &Assignment, nodes: &[u16]) -> Vec<usize> {
        let count = |&node: &u16| {
            let parts = assignment.parts.iter();
            parts.filter(|part| part.authority == NodeId(node)).count()
        };
        nodes.iter().map(count).collect()
    }

    #[test]
    fn a_node_that_joins_takes_a_share_and_one_that_leaves_gives_it_back() {
        let mut assignment = Assignment::new(Division::spread(64), NodeId(0), Epoch(1));
        assignment.rebalance(&members(&[0, 1, 2]), Epoch(2));
        assert_eq!(counts(&assignment, &[0, 1, 2]), [22, 21, 21]);
        let before = assignment.clone();
        assignment.rebalance(&members(&[0, 1, 2, 3]), Epoch(3));
        assert_eq!(counts(&assignment, &[0, 1, 2, 3]), [16; 4]);
        let moved = before.parts.iter().zip(&assignment.parts);
        assert_eq!(moved.filter(|(before, after)| before != after).count(), 16);
        let before = assignment.clone();
        assignment.rebalance(&members(&[1, 2, 3]), Epoch(4));
        for (before, after) in before.parts.iter().zip(&assignment.parts) {
            assert_eq!(before == after, before.authority != NodeId(0));
            assert!(before == after || after.since == Epoch(4));
        }
        let all = counts(&assignment, &[1, 2, 3]);
        assert_eq!(
            (all.iter().sum::<usize>(), all.iter().max()),
            (64, Some(&22))
        );
    }

    #[test]
    fn a_part_is_with_the_node_of_its_place_as_long_as_one_is_there() {
        let runs = [(0, 0), (100, 1), (200, 2)].map(|(page, place)| (PageId(page), place));
        let division = Division::by_place(300, &runs).unwrap();
        let mut assignment = Assignment::new(division, NodeId(10), Epoch(1));
        let at = |assignment: &Assignment, page| assignment.part(PageId(page)).unwrap().authority;
        assignment.runs_at(NodeId(10), 2);
        assignment.rebalance(&members(&[10]), Epoch(1));
        assert_eq!(counts(&assignment, &[10]), [24]);
        assignment.runs_at(NodeId(11), 0);
        // One who runs nowhere takes a share of what is not at home.
        assignment.rebalance(&members(&[10, 11, 12]), Epoch(2));
        assert_eq!(
            (at(&assignment, 99), at(&assignment, 250)),
            (NodeId(11), NodeId(10))
        );
        assert_eq!(
            counts(&assignment, &[10, 11, 12]),
            [11, 11, 2].map(|most| most.min(24))
        );
        let before = assignment.clone();
        assignment.runs_at(NodeId(13), 1);
        assignment.rebalance(&members(&[10, 11, 12, 13]), Epoch(3));
        assert_eq!(counts(&assignment, &[10, 11, 12, 13]), [8, 8, 0, 8]);
        for (before, after) in before.parts.iter().zip(&assignment.parts) {
            assert_eq!(before != after, after.authority == NodeId(13));
        }
        // It dies: the others share what was its, and the next life at its place has that back.
        let before = assignment.clone();
        assignment.rebalance(&members(&[10, 11]), Epoch(4));
        assert_eq!(counts(&assignment, &[10, 11]), [12, 12]);
        assert_eq!(assignment.places().len(), 2);
        assignment.runs_at(NodeId(14), 1);
        assignment.rebalance(&members(&[10, 11, 14]), Epoch(5));
        assert_eq!(counts(&assignment, &[10, 11, 14]), [8, 8, 8]);
        for (before, after) in before.parts.iter().zip(&assignment.parts) {
            assert_eq!(
                before.authority == NodeId(13),
                after.authority == NodeId(14)
            );
        }
        // Two lives at one place: the later has it.
        let twice = [(NodeId(14), Epoch(5)), (NodeId(9), Epoch(6))].into();
        assignment.runs_at(NodeId(9), 1);
        assignment.rebalance(&twice, Epoch(6));
        assert_eq!(at(&assignment, 150), NodeId(9));
    }

    #[test]
    fn nobody_has_the_authority_where_there_are_no_parts() {
        assert_eq!(Assignment::default().part(PageId(3)), None);
        let parts = Assignment::of_parts(Division::spread(2), Vec::new(), BTreeMap::new());
        assert_eq!(parts, None);
    }
}
