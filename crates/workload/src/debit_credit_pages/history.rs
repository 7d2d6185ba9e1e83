//! The end of HISTORY: the place of a node's new records.

use super::HISTORY;
use crate::reference::PageNumber;

/// The end of HISTORY at which one node appends.
///
/// The nodes' pages interleave: page `p` belongs to node `p % nodes`, so no two nodes ever meet in
/// one, at any speeds. After 2^32 pages in all the numbers start again.
///
/// ```
/// use sardonyx_workload::debit_credit_pages::HistoryEnd;
///
/// let mut end = HistoryEnd::new(3, 10, 2);
/// let mut append = || end.append();
/// let pages = [append(), append(), append(), append()].map(|(page, new)| (page.page, new));
/// assert_eq!(pages, [(3, true), (3, false), (13, true), (13, false)]);
/// ```
#[derive(Clone, Debug)]
pub struct HistoryEnd {
    node: u32,
    nodes: u32,
    blocking: u32,
    /// Pages begun before the current one, and records in the current one.
    pages: u32,
    records: u32,
}

impl HistoryEnd {
    /// The end of `node` of `nodes`, with `blocking` records in a page. It has no record yet.
    ///
    /// # Panics
    /// If the node is not one of the nodes, or no record fits in a page.
    pub fn new(node: u16, nodes: u16, blocking: u32) -> Self {
        assert!(node < nodes, "node {node} of {nodes}");
        assert!(blocking > 0, "no record fits in a page");
        HistoryEnd {
            node: node.into(),
            nodes: nodes.into(),
            blocking,
            pages: 0,
            records: 0,
        }
    }

    /// Appends a record: the page it goes to, and whether it is that page's first.
    #[inline]
    pub fn append(&mut self) -> (PageNumber, bool) {
        if self.records == self.blocking {
            self.records = 0;
            // Each node has at least floor(2^32 / nodes) numbers.
            let numbers = (1u64 << 32) / u64::from(self.nodes);
            self.pages = ((u64::from(self.pages) + 1) % numbers) as u32;
        }
        self.records += 1;
        let page = PageNumber::new(HISTORY, self.pages * self.nodes + self.node);
        (page, self.records == 1)
    }
}
