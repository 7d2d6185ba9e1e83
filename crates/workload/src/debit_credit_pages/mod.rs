//! Debit-credit as page references, as the GEM paper has it (section 3.1 and Table 4.1).
//!
//! A transaction references ACCOUNT, HISTORY, TELLER and BRANCH in this order. It is always the same, so that no
//! deadlock can occur. It has the two small record types last, so that their locks are held for as short as possible.
//! The branch is any; the teller is any of that branch; the account is of that branch or, in a share of cases (15
//! percent), of any other.
//!
//! Records of one branch lie together and never share a page of TELLER or ACCOUNT with another branch's. So a page has
//! one branch, and a branch's pages one node. With *clustering* the TELLER records lie in the page of their BRANCH
//! record: four record accesses on three pages, of which the last is referenced twice.
//!
//! The database grows with the number of nodes: a [`PageScale`] counts in *units*, of which the
//! paper has one per node and 100 transactions per second.
//!
//! HISTORY has no page number here ([`Access::Append`]): every node appends at its own end, so only
//! the node that runs the transaction knows the page. [`HistoryEnd`] is such an end.

mod history;
mod scale;

pub use history::HistoryEnd;
pub use scale::{MAX_UNITS, OTHER_BRANCH_PERCENT, PageScale, PageScaleError};

use crate::random::Random;
use crate::reference::{Access, PageNumber, PageReference};

/// The partition of ACCOUNT records.
pub const ACCOUNT: u16 = 0;
/// The partition of HISTORY records.
pub const HISTORY: u16 = 1;
/// The partition of BRANCH records and, if clustered, of TELLER records.
pub const BRANCH: u16 = 2;
/// The partition of TELLER records, if not clustered.
pub const TELLER: u16 = 3;

/// One transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DebitCreditDraw {
    /// The branch, from 0: affinity routing uses it.
    pub branch: u32,
    /// The four record accesses: ACCOUNT, HISTORY, TELLER, BRANCH. All change their record.
    pub references: [PageReference; 4],
}

/// Draws transactions without end; the same scale and seed draw the same ones (I11).
///
/// ```
/// use sardonyx_workload::debit_credit_pages::{DebitCreditPages, PageScale};
///
/// let scale = PageScale::paper(10);
/// let mut source = DebitCreditPages::new(scale, 42)?;
/// let draw = source.draw();
/// let node = scale.node_of_branch(draw.branch, 10);
/// let [_, _, teller, branch] = draw.references;
/// assert_eq!(teller, branch);
/// assert_eq!(scale.node_of_page(branch.page, 10), node);
/// # Ok::<(), sardonyx_workload::debit_credit_pages::PageScaleError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DebitCreditPages {
    scale: PageScale,
    random: Random,
}

impl DebitCreditPages {
    /// A source of transactions on a database of `scale`.
    ///
    /// # Errors
    /// [`PageScaleError`] if the scale is not possible.
    pub fn new(scale: PageScale, seed: u64) -> Result<Self, PageScaleError> {
        scale.check()?;
        Ok(DebitCreditPages {
            scale,
            random: Random::new(seed),
        })
    }

    /// Counts of branches, tellers and accounts.
    pub fn scale(&self) -> PageScale {
        self.scale
    }

    /// The next transaction.
    #[inline]
    pub fn draw(&mut self) -> DebitCreditDraw {
        let scale = &self.scale;
        let branches = scale.branches();
        let branch = self.random.below(branches) as u32;
        let teller = self.random.below(u64::from(scale.tellers_per_branch)) as u32;
        let mut home = branch;
        // With one branch there is no other to come from.
        if branches > 1 && self.random.chance(scale.other_branch_percent) {
            let other = self.random.below(branches - 1) as u32;
            home = other + u32::from(other >= branch);
        }
        let account = self.random.below(u64::from(scale.accounts_per_branch)) as u32;
        let account_page = home * scale.account_pages() + account / scale.account_blocking;
        let branch_page = PageNumber::new(BRANCH, branch / scale.branch_blocking);
        let teller_page = if scale.clustered {
            branch_page
        } else {
            let page = branch * scale.teller_pages() + teller / scale.teller_blocking;
            PageNumber::new(TELLER, page)
        };
        DebitCreditDraw {
            branch,
            references: [
                PageReference::write(PageNumber::new(ACCOUNT, account_page)),
                PageReference {
                    page: PageNumber::new(HISTORY, 0),
                    access: Access::Append,
                },
                PageReference::write(teller_page),
                PageReference::write(branch_page),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(scale: PageScale, seed: u64, count: usize) -> Vec<DebitCreditDraw> {
        let mut source = DebitCreditPages::new(scale, seed).unwrap();
        (0..count).map(|_| source.draw()).collect()
    }

    #[test]
    fn a_clustered_draw_has_four_accesses_on_three_pages_in_order() {
        let scale = PageScale::paper(2);
        for draw in draws(scale, 1, 1_000) {
            let [account, history, teller, branch] = draw.references;
            assert_eq!(account.page.partition, ACCOUNT);
            assert_eq!(history.access, Access::Append);
            assert_eq!(history.page.partition, HISTORY);
            assert_eq!(teller, branch);
            assert_eq!(branch.page, PageNumber::new(BRANCH, draw.branch));
        }
        assert_eq!(scale.partitions(), 3);
    }

    #[test]
    fn an_unclustered_draw_has_the_branchs_teller_page() {
        let scale = PageScale {
            clustered: false,
            tellers_per_branch: 25,
            ..PageScale::paper(2)
        };
        let mut seen = std::collections::BTreeSet::new();
        for draw in draws(scale, 1, 5_000) {
            let teller = draw.references[2].page;
            assert_eq!(teller.partition, TELLER);
            assert_eq!(scale.branch_of_page(teller), Some(draw.branch));
            seen.insert(teller.page);
        }
        // 25 tellers are three pages, the last half full.
        assert_eq!(seen.len(), 600);
        assert_eq!(scale.pages(TELLER), Some(600));
    }

    #[test]
    fn branches_are_uniform_and_fifteen_percent_of_the_accounts_are_elsewhere() {
        let scale = PageScale::paper(1);
        let draws = draws(scale, 3, 200_000);
        let mut per_branch = [0u32; 100];
        let mut elsewhere = 0;
        for draw in &draws {
            per_branch[draw.branch as usize] += 1;
            let home = scale.branch_of_page(draw.references[0].page).unwrap();
            elsewhere += u32::from(home != draw.branch);
        }
        // Mean 2,000, standard deviation 45; of the 30,000, 160.
        assert!(per_branch.iter().all(|count| count.abs_diff(2_000) < 230));
        assert!(elsewhere.abs_diff(30_000) < 800, "{elsewhere}");
    }

    #[test]
    fn the_share_of_other_branches_is_a_parameter() {
        for (percent, expected) in [(0, 0), (100, 1_000)] {
            let scale = PageScale {
                other_branch_percent: percent,
                ..PageScale::paper(1)
            };
            let other = |draw: &&DebitCreditDraw| {
                scale.branch_of_page(draw.references[0].page) != Some(draw.branch)
            };
            assert_eq!(
                draws(scale, 3, 1_000).iter().filter(other).count(),
                expected
            );
        }
        let one = PageScale {
            branches_per_unit: 1,
            other_branch_percent: 100,
            ..PageScale::paper(1)
        };
        assert!(draws(one, 3, 100).iter().all(|draw| draw.branch == 0));
    }

    #[test]
    fn a_thousand_nodes_fit_and_share_the_branches_equally() {
        let scale = PageScale::paper(1_000);
        assert_eq!(scale.pages(ACCOUNT), Some(1_000_000_000));
        let mut branches = vec![0u32; 1_000];
        let mut last = 0;
        for branch in 0..100_000 {
            let node = scale.node_of_branch(branch, 1_000);
            assert!(node >= last);
            last = node;
            branches[node as usize] += 1;
        }
        assert!(branches.iter().all(|&count| count == 100));
        for draw in draws(scale, 9, 10_000) {
            let home = scale.branch_of_page(draw.references[0].page).unwrap();
            let node = scale.node_of_page(draw.references[0].page, 1_000);
            assert_eq!(node, scale.node_of_branch(home, 1_000));
        }
    }

    #[test]
    fn nodes_that_do_not_divide_the_branches_differ_by_one() {
        let scale = PageScale::paper(1);
        for nodes in 1..=100 {
            let mut counts = vec![0u32; nodes as usize];
            for branch in 0..100 {
                counts[scale.node_of_branch(branch, nodes) as usize] += 1;
            }
            let (least, most) = (counts.iter().min(), counts.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{nodes}: {counts:?}");
        }
    }

    #[test]
    fn a_nodes_branches_start_at_its_part_of_all_rounded_down() {
        let nodes =
            [0, 32, 33, 65, 66, 99].map(|branch| PageScale::paper(1).node_of_branch(branch, 3));
        assert_eq!(nodes, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn history_ends_never_meet_and_their_pages_name_their_node() {
        let scale = PageScale::paper(3);
        let mut seen = std::collections::BTreeSet::new();
        for node in 0..3 {
            let mut end = HistoryEnd::new(node, 3, scale.history_blocking);
            for record in 0..200 {
                let (page, is_new) = end.append();
                assert_eq!(is_new, record % 20 == 0);
                assert_eq!(is_new, seen.insert(page));
                assert_eq!(scale.node_of_page(page, 3), node);
            }
        }
        assert_eq!(seen.len(), 30);
    }

    #[test]
    fn what_is_not_possible_is_refused_by_name() {
        let refused = |scale: PageScale| scale.check().unwrap_err().to_string();
        let paper = PageScale::paper(1);
        assert!(refused(PageScale::paper(0)).contains("units of 0"));
        assert!(refused(PageScale::paper(1_001)).contains("between 1 and 1000"));
        let blocking = PageScale {
            account_blocking: 0,
            ..paper
        };
        assert!(refused(blocking).contains("account_blocking"));
        let huge = PageScale {
            units: 1_000,
            accounts_per_branch: 1_000_000_000,
            ..paper
        };
        assert!(refused(huge).contains("ACCOUNT would have 10000000000000 pages"));
        assert!(DebitCreditPages::new(huge, 0).is_err());
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let scale = PageScale::paper(4);
        assert_eq!(draws(scale, 5, 100), draws(scale, 5, 100));
        assert_ne!(draws(scale, 5, 100), draws(scale, 6, 100));
    }
}
