//! The authority table: which node grants the locks of which pages.

use super::FragmentLayout;
use crate::reference::PageNumber;

/// The node that has the global lock authority for each page. Always valid: every fragment has a
/// node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuthorityTable {
    nodes: u16,
    layout: FragmentLayout,
    /// The node of each fragment.
    owners: Vec<u16>,
}

impl AuthorityTable {
    /// A table with the node of each fragment. None if there are not as many as fragments, or one
    /// is not below `nodes`.
    pub fn new(nodes: u16, layout: FragmentLayout, owners: Vec<u16>) -> Option<Self> {
        let possible = owners.len() == layout.count() && owners.iter().all(|&owner| owner < nodes);
        possible.then_some(AuthorityTable {
            nodes,
            layout,
            owners,
        })
    }

    /// Fragments to the nodes in turn: balanced where nothing is known.
    ///
    /// # Panics
    /// If there is no node.
    pub fn in_turn(nodes: u16, layout: FragmentLayout) -> Self {
        assert!(nodes > 0, "no node");
        let owners = (0..layout.count()).map(|fragment| (fragment % usize::from(nodes)) as u16);
        AuthorityTable {
            nodes,
            owners: owners.collect(),
            layout,
        }
    }

    /// Authority is divided among so many.
    pub fn nodes(&self) -> u16 {
        self.nodes
    }

    /// The cut of the partitions.
    pub fn layout(&self) -> &FragmentLayout {
        &self.layout
    }

    /// The node of each fragment.
    pub fn owners(&self) -> &[u16] {
        &self.owners
    }

    /// The node that has the authority for a page: it gets every lock request. Node 0 for a number that is no page of
    /// the database.
    #[inline]
    pub fn authority(&self, page: PageNumber) -> u16 {
        self.layout
            .fragment(page)
            .map_or(0, |fragment| self.owners[fragment])
    }
}
