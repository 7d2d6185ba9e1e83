//! The debit-credit transaction (TP1): a teller debits or credits an account; teller, branch and
//! account balances change, and a line of history is written.
//!
//! TPK paper, section 4. The share of customers at another branch than their own, 15 percent, is the GEM paper's.
//! Because of it, a database that is split by branch needs more than one node.
//!
//! Account, teller and branch ids start at 1, so that 0 is never a record. Tellers and accounts are spread over the
//! branches in contiguous runs whose lengths differ by at most one. So the records of one branch are adjacent, which
//! lets a node keep "its" branches.

use sardonyx_base::resident::Resident;

use super::schema::code_of;
use sardonyx_workload::random::Random;

/// The most accounts a [`Scale`] may have: 2^32, half a tebibyte of records.
pub const MAX_ACCOUNTS: u64 = 1 << 32;

/// The most tellers, and so the most branches, a [`Scale`] may have.
pub const MAX_TELLERS: u64 = 1 << 24;

/// The largest amount, either way, in the smallest unit of money.
pub const MAX_AMOUNT: i64 = 999_999;

pub use sardonyx_workload::debit_credit_pages::OTHER_BRANCH_PERCENT;

/// The fault of a scale, a share or a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DebitCreditError {
    /// A count is outside its limits.
    #[error("{count} {what} are not possible: choose between {least} and {most}")]
    Count {
        /// `accounts`, `tellers` or `branches`.
        what: &'static str,
        /// The requested count.
        count: u64,
        /// The least possible count.
        least: u64,
        /// The largest possible count.
        most: u64,
    },
    /// The share of accounts at other branches is no percentage.
    #[error("{percent} percent of the accounts cannot be of another branch: choose 0 to 100")]
    Percent {
        /// The requested share.
        percent: u32,
    },
    /// A request names a record that the scale does not have.
    #[error("there is no {what} {id}: ids go from 1 to {most}")]
    UnknownId {
        /// `account`, `teller` or `branch`.
        what: &'static str,
        /// The id in the request.
        id: u64,
        /// The largest id.
        most: u64,
    },
}

/// The numbers of accounts, tellers and branches. Always valid.
///
/// ```
/// use sardonyx_benchmark::debit_credit::requests::Scale;
///
/// let scale = Scale::new(1_000, 20, 10)?;
/// assert_eq!(scale.branch_of_account(1), 1);
/// assert_eq!(scale.branch_of_account(1_000), 10);
/// assert_eq!(scale.branch_of_teller(3), 2);
/// # Ok::<(), sardonyx_benchmark::debit_credit::requests::DebitCreditError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Scale {
    accounts: u64,
    tellers: u64,
    branches: u64,
}

impl Scale {
    /// A bank of `accounts`, `tellers` and `branches`.
    ///
    /// # Errors
    /// [`DebitCreditError::Count`] if a count is zero or above its limit ([`MAX_ACCOUNTS`],
    /// [`MAX_TELLERS`]), or if a branch would be without a teller or an account.
    pub fn new(accounts: u64, tellers: u64, branches: u64) -> Result<Self, DebitCreditError> {
        let within = |what, count, least, most| {
            if (least..=most).contains(&count) {
                Ok(())
            } else {
                Err(DebitCreditError::Count {
                    what,
                    count,
                    least,
                    most,
                })
            }
        };
        within("branches", branches, 1, MAX_TELLERS)?;
        within("tellers", tellers, branches, MAX_TELLERS)?;
        within("accounts", accounts, branches, MAX_ACCOUNTS)?;
        Ok(Scale {
            accounts,
            tellers,
            branches,
        })
    }

    /// A bank of `accounts` with a branch for every 10,000 of them and ten tellers a branch: the proportions of
    /// [`Scale::default`].
    ///
    /// # Errors
    /// [`DebitCreditError::Count`] if `accounts` is zero or above [`MAX_ACCOUNTS`].
    pub fn of_accounts(accounts: u64) -> Result<Self, DebitCreditError> {
        let branches = (accounts / 10_000).max(1);
        Scale::new(accounts, branches * 10, branches)
    }

    /// The database of the TPK paper, section 4: 15,000 accounts, 150 tellers, 15 branches.
    pub fn paper() -> Self {
        Scale {
            accounts: 15_000,
            tellers: 150,
            branches: 15,
        }
    }

    /// The number of accounts; their ids are `1..=accounts()`.
    pub fn accounts(&self) -> u64 {
        self.accounts
    }

    /// The number of tellers; their ids are `1..=tellers()`.
    pub fn tellers(&self) -> u64 {
        self.tellers
    }

    /// The number of branches; their ids are `1..=branches()`.
    pub fn branches(&self) -> u64 {
        self.branches
    }

    /// The branch of an account.
    ///
    /// # Panics
    /// If there is no such account; see [`Scale::check`] for requests from outside.
    pub fn branch_of_account(&self, account: u64) -> u32 {
        assert!(
            (1..=self.accounts).contains(&account),
            "no account {account}"
        );
        group_of(account - 1, self.accounts, self.branches) as u32 + 1
    }

    /// The branch of a teller.
    ///
    /// # Panics
    /// If there is no such teller; see [`Scale::check`] for requests from outside.
    pub fn branch_of_teller(&self, teller: u32) -> u32 {
        assert!(
            (1..=self.tellers).contains(&u64::from(teller)),
            "no teller {teller}"
        );
        group_of(u64::from(teller) - 1, self.tellers, self.branches) as u32 + 1
    }

    /// The ids of a branch's accounts.
    ///
    /// # Panics
    /// If there is no such branch.
    pub fn accounts_of_branch(&self, branch: u32) -> std::ops::RangeInclusive<u64> {
        assert!(
            (1..=self.branches).contains(&u64::from(branch)),
            "no branch {branch}"
        );
        let start = |group| group_start(group, self.accounts, self.branches);
        start(u64::from(branch) - 1) + 1..=start(u64::from(branch))
    }

    /// Checks that every record of `request` exists.
    ///
    /// # Errors
    /// [`DebitCreditError::UnknownId`] for the first one that does not.
    #[inline]
    pub fn check(&self, request: &Request) -> Result<(), DebitCreditError> {
        let within = |what, id, most| {
            if (1..=most).contains(&id) {
                Ok(())
            } else {
                Err(DebitCreditError::UnknownId { what, id, most })
            }
        };
        within("account", request.account, self.accounts)?;
        within("teller", u64::from(request.teller), self.tellers)?;
        within("branch", u64::from(request.branch), self.branches)
    }
}

impl Default for Scale {
    /// 1,000,000 accounts, 1,000 tellers, 100 branches.
    fn default() -> Self {
        Scale {
            accounts: 1_000_000,
            tellers: 1_000,
            branches: 100,
        }
    }
}

/// A request of a client: 32 bytes, without padding, every bit pattern allowed.
///
/// Bytes from outside may name records that do not exist; use [`Scale::check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Resident)]
#[repr(C)]
pub struct Request {
    /// The account, of the teller's branch or of another.
    pub account: u64,
    /// The amount added to the three balances, in the smallest unit of money.
    pub amount: i64,
    /// The teller who serves the client.
    pub teller: u32,
    /// The teller's branch, whose balance changes (not the account's branch).
    pub branch: u32,
    /// The account's password: a request with another one is refused.
    pub code: u64,
}

const _: () = assert!(size_of::<Request>() == 32);

/// Separates the seeds of wrong codes from those of requests.
const CODES_SEED: u64 = 0x636f_6465;

/// Draws requests without end; the same scale, share and seed draw the same requests (I11).
///
/// The teller is any teller, the branch is the teller's. The account is any of that branch or, in the given share of
/// cases, any of the other branches; with one branch the share has no effect. The amount is any but zero, up to
/// [`MAX_AMOUNT`] either way.
#[derive(Clone, Debug)]
pub struct Generator {
    scale: Scale,
    other_branch_percent: u32,
    wrong_code_percent: u32,
    random: Random,
    /// For wrong codes only, so that the same requests are drawn without them.
    codes: Random,
    /// First account and number of accounts of every branch, so that drawing divides nothing.
    accounts_of_branches: Vec<(u64, u64)>,
    branch_of_tellers: Vec<u32>,
}

impl Generator {
    /// A generator of requests on `scale`, `other_branch_percent` of them on an account of another branch than the
    /// teller's.
    ///
    /// # Errors
    /// [`DebitCreditError::Percent`] if the share is above 100.
    pub fn new(
        scale: Scale,
        other_branch_percent: u32,
        seed: u64,
    ) -> Result<Self, DebitCreditError> {
        if other_branch_percent > 100 {
            return Err(DebitCreditError::Percent {
                percent: other_branch_percent,
            });
        }
        Ok(Generator::drawing(scale, other_branch_percent, seed))
    }

    /// A generator with the usual share of [`OTHER_BRANCH_PERCENT`].
    pub fn standard(scale: Scale, seed: u64) -> Self {
        Generator::drawing(scale, OTHER_BRANCH_PERCENT, seed)
    }

    fn drawing(scale: Scale, other_branch_percent: u32, seed: u64) -> Self {
        let branches = 1..=scale.branches as u32;
        let tellers = 1..=scale.tellers as u32;
        Generator {
            scale,
            // With one branch no customer can come from another.
            other_branch_percent: if scale.branches == 1 {
                0
            } else {
                other_branch_percent
            },
            wrong_code_percent: 0,
            random: Random::new(seed),
            codes: Random::new(seed ^ CODES_SEED),
            accounts_of_branches: branches
                .map(|branch| scale.accounts_of_branch(branch))
                .map(|accounts| (*accounts.start(), accounts.end() - accounts.start() + 1))
                .collect(),
            branch_of_tellers: tellers
                .map(|teller| scale.branch_of_teller(teller))
                .collect(),
        }
    }

    /// The same requests, of which this share, in percent, has a wrong code.
    #[must_use]
    pub fn with_wrong_codes(mut self, percent: u32) -> Self {
        self.wrong_code_percent = percent;
        self
    }

    #[inline]
    fn code(&mut self, account: u64) -> u64 {
        let wrong = self.wrong_code_percent > 0 && self.codes.chance(self.wrong_code_percent);
        match wrong {
            // Any other one.
            true => code_of(account) ^ (1 + self.codes.below(u64::MAX)),
            false => code_of(account),
        }
    }

    /// The scale that the requests fit.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The next request.
    #[inline]
    pub fn request(&mut self) -> Request {
        let teller = self.random.below(self.scale.tellers) as usize;
        let branch = self.branch_of_tellers[teller];
        let (first, count) = self.accounts_of_branches[branch as usize - 1];
        let account = if self.random.chance(self.other_branch_percent) {
            let other = self.random.below(self.scale.accounts - count) + 1;
            if other < first { other } else { other + count }
        } else {
            first + self.random.below(count)
        };
        let amount = self.random.below(2 * MAX_AMOUNT as u64) as i64 - MAX_AMOUNT;
        // Leave out zero: a transaction that changes nothing would hide a lost one.
        let amount = if amount >= 0 { amount + 1 } else { amount };
        Request {
            account,
            amount,
            teller: teller as u32 + 1,
            branch,
            code: self.code(account),
        }
    }

    /// Appends the next `count` requests to `requests`.
    pub fn fill(&mut self, requests: &mut Vec<Request>, count: usize) {
        requests.extend(self.take(count));
    }
}

impl Iterator for Generator {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        Some(self.request())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

/// The first of `total` items that falls into `group`, when the first groups hold one more.
fn group_start(group: u64, total: u64, groups: u64) -> u64 {
    group * (total / groups) + group.min(total % groups)
}

/// The group of `item`; inverse of [`group_start`].
fn group_of(item: u64, total: u64, groups: u64) -> u64 {
    let (least, longer) = (total / groups, total % groups);
    let in_longer = longer * (least + 1);
    if item < in_longer {
        item / (least + 1)
    } else {
        longer + (item - in_longer) / least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_scales_are_refused_and_say_why() {
        let error = Scale::new(10, 10, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "0 branches are not possible: choose between 1 and 16777216"
        );
        assert!(matches!(
            Scale::new(10, 4, 5),
            Err(DebitCreditError::Count {
                what: "tellers",
                count: 4,
                least: 5,
                ..
            })
        ));
        assert!(matches!(
            Scale::new(MAX_ACCOUNTS + 1, 4, 4),
            Err(DebitCreditError::Count {
                what: "accounts",
                ..
            })
        ));
        assert!(Scale::of_accounts(0).is_err());
        assert!(Scale::new(MAX_ACCOUNTS, 4, 4).is_ok());
    }

    #[test]
    fn presets_obey_the_rules_of_new() {
        assert_eq!(Scale::new(15_000, 150, 15), Ok(Scale::paper()));
        assert_eq!(Scale::of_accounts(1_000_000), Ok(Scale::default()));
    }

    #[test]
    fn the_first_requests_of_a_seed_never_change() {
        let first: Vec<Request> = Generator::standard(Scale::default(), 1).take(3).collect();
        let known = KNOWN_REQUESTS.map(|request| Request {
            code: code_of(request.account),
            ..request
        });
        assert_eq!(first, known);
    }

    #[test]
    fn wrong_codes_come_in_the_share_that_was_asked_for_and_change_nothing_else() {
        let scale = Scale::paper();
        let right: Vec<_> = Generator::standard(scale, 7).take(20_000).collect();
        for percent in [0, 3, 100] {
            let drawn = Generator::standard(scale, 7).with_wrong_codes(percent);
            let drawn: Vec<_> = drawn.take(20_000).collect();
            let wrong = drawn.iter().zip(&right).filter(|(one, other)| one != other);
            let expected = percent as usize * 200;
            assert!(wrong.count().abs_diff(expected) <= expected % 20_000 / 5);
            let repaired = drawn.iter().map(|request| Request {
                code: code_of(request.account),
                ..*request
            });
            assert!(repaired.eq(right.iter().copied()));
        }
    }

    /// The draws of seed 1 on the default scale, without the codes; recorded when the generator was written.
    const KNOWN_REQUESTS: [Request; 3] = [
        Request {
            account: 811_002,
            amount: 492_434,
            teller: 812,
            branch: 82,
            code: 0,
        },
        Request {
            account: 189_869,
            amount: 46_834,
            teller: 185,
            branch: 19,
            code: 0,
        },
        Request {
            account: 921_177,
            amount: -312_998,
            teller: 97,
            branch: 10,
            code: 0,
        },
    ];

    #[test]
    fn shares_come_out_as_asked() {
        let scale = Scale::paper();
        for percent in [0, 15, 100] {
            let away = Generator::new(scale, percent, 3)
                .unwrap()
                .take(100_000)
                .filter(|request| scale.branch_of_account(request.account) != request.branch)
                .count();
            let expected = percent as usize * 1_000;
            assert!(
                away.abs_diff(expected) < 500 * usize::from(percent % 100 != 0) + 1,
                "{away}"
            );
        }
        assert_eq!(
            Generator::new(scale, 101, 3).unwrap_err(),
            DebitCreditError::Percent { percent: 101 }
        );
    }

    #[test]
    fn one_branch_has_no_other() {
        let scale = Scale::new(5, 2, 1).unwrap();
        let requests: Vec<_> = Generator::new(scale, 100, 4).unwrap().take(1_000).collect();
        assert!(requests.iter().all(|request| scale.check(request).is_ok()));
    }

    #[test]
    fn fill_appends_what_the_iterator_yields() {
        let mut filled = Vec::new();
        let mut generator = Generator::standard(Scale::paper(), 5);
        generator.fill(&mut filled, 10);
        generator.fill(&mut filled, 10);
        let drawn: Vec<_> = Generator::standard(Scale::paper(), 5).take(20).collect();
        assert_eq!(filled, drawn);
    }

    proptest! {
        #[test]
        fn every_request_fits_every_scale(
            branches in 1u64..40,
            tellers in 0u64..100,
            accounts in 0u64..1_000,
            percent in 0u32..=100,
            seed: u64,
        ) {
            let scale = Scale::new(branches + accounts, branches + tellers, branches).unwrap();
            for request in Generator::new(scale, percent, seed).unwrap().take(200) {
                prop_assert_eq!(scale.check(&request), Ok(()));
                prop_assert_eq!(scale.branch_of_teller(request.teller), request.branch);
                prop_assert!((-MAX_AMOUNT..=MAX_AMOUNT).contains(&request.amount));
                prop_assert_ne!(request.amount, 0);
            }
        }

        #[test]
        fn branches_share_all_accounts_evenly(branches in 1u64..50, more in 0u64..500) {
            let scale = Scale::new(branches + more, branches, branches).unwrap();
            let mut next = 1;
            for branch in 1..=branches as u32 {
                let accounts = scale.accounts_of_branch(branch);
                prop_assert_eq!(*accounts.start(), next);
                let count = accounts.end() + 1 - next;
                let least = scale.accounts() / branches;
                prop_assert!(count == least || count == least + 1);
                for account in accounts.clone() {
                    prop_assert_eq!(scale.branch_of_account(account), branch);
                }
                next = accounts.end() + 1;
            }
            prop_assert_eq!(next, scale.accounts() + 1);
        }
    }
}
