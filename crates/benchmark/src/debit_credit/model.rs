//! Debit-credit on plain vectors: the model that every engine is compared with.
//!
//! It is too simple to be wrong in an interesting way. A test feeds the same requests to an engine and to a [`Model`]
//! and compares balances. A benchmark compares [`Sums`] after the run. All four must be equal after any number of whole
//! transactions, in any order, also after a crash.

use crate::debit_credit::requests::{DebitCreditError, Request, Scale};

/// The sum of all balances of each table, and of all amounts in the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Sums {
    /// All account balances.
    pub accounts: i64,
    /// All teller balances.
    pub tellers: i64,
    /// All branch balances.
    pub branches: i64,
    /// All amounts in the history.
    pub history: i64,
}

impl Sums {
    /// Returns true if the four sums are equal: otherwise a transaction was lost, doubled or torn.
    pub fn agree(&self) -> bool {
        self.accounts == self.tellers
            && self.tellers == self.branches
            && self.branches == self.history
    }
}

impl std::fmt::Display for Sums {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "accounts {}, tellers {}, branches {}, history {}",
            self.accounts, self.tellers, self.branches, self.history
        )
    }
}

/// All balances, in vectors; every balance starts at zero.
///
/// Sums are 64-bit: some 9·10^12 transactions of the largest amount fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    scale: Scale,
    accounts: Vec<i64>,
    tellers: Vec<i64>,
    branches: Vec<i64>,
    history_sum: i64,
    history_count: u64,
}

impl Model {
    /// A bank of `scale` with all balances zero and no history.
    pub fn new(scale: Scale) -> Self {
        Model {
            scale,
            accounts: vec![0; scale.accounts() as usize],
            tellers: vec![0; scale.tellers() as usize],
            branches: vec![0; scale.branches() as usize],
            history_sum: 0,
            history_count: 0,
        }
    }

    /// Runs one transaction and returns the account's new balance.
    ///
    /// # Errors
    /// [`DebitCreditError::UnknownId`] if the request names a record that the scale does not have; then nothing
    /// changes.
    pub fn apply(&mut self, request: &Request) -> Result<i64, DebitCreditError> {
        self.scale.check(request)?;
        let account = &mut self.accounts[request.account as usize - 1];
        *account += request.amount;
        self.tellers[request.teller as usize - 1] += request.amount;
        self.branches[request.branch as usize - 1] += request.amount;
        self.history_sum += request.amount;
        self.history_count += 1;
        Ok(*account)
    }

    /// The four sums.
    pub fn sums(&self) -> Sums {
        Sums {
            accounts: self.accounts.iter().sum(),
            tellers: self.tellers.iter().sum(),
            branches: self.branches.iter().sum(),
            history: self.history_sum,
        }
    }

    /// The number of applied transactions.
    pub fn history_count(&self) -> u64 {
        self.history_count
    }

    /// All account balances; account `id` is at `id - 1`.
    pub fn accounts(&self) -> &[i64] {
        &self.accounts
    }

    /// All teller balances; teller `id` is at `id - 1`.
    pub fn tellers(&self) -> &[i64] {
        &self.tellers
    }

    /// All branch balances; branch `id` is at `id - 1`.
    pub fn branches(&self) -> &[i64] {
        &self.branches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debit_credit::requests::Generator;
    use crate::debit_credit::schema::code_of;

    #[test]
    fn one_transaction_moves_the_four_sums() {
        let mut model = Model::new(Scale::paper());
        let request = Request {
            account: 2,
            amount: -7,
            teller: 150,
            branch: 15,
            code: code_of(2),
        };
        assert_eq!(model.apply(&request).unwrap(), -7);
        assert_eq!(model.apply(&request).unwrap(), -14);
        assert_eq!(
            model.sums(),
            Sums {
                accounts: -14,
                tellers: -14,
                branches: -14,
                history: -14
            }
        );
        assert_eq!(
            (
                model.accounts()[1],
                model.tellers()[149],
                model.branches()[14]
            ),
            (-14, -14, -14)
        );
        assert_eq!(model.history_count(), 2);
    }

    #[test]
    fn a_refused_request_changes_nothing() {
        let mut model = Model::new(Scale::paper());
        let before = model.clone();
        let good = Request {
            account: 1,
            amount: 1,
            teller: 1,
            branch: 1,
            code: code_of(1),
        };
        for bad in [
            Request { account: 0, ..good },
            Request {
                account: 15_001,
                ..good
            },
            Request {
                teller: 151,
                ..good
            },
            Request { branch: 0, ..good },
        ] {
            assert!(model.apply(&bad).is_err(), "{bad:?}");
        }
        assert_eq!(model, before);
    }

    #[test]
    fn sums_that_differ_in_one_place_do_not_agree() {
        let sums = Sums {
            accounts: 1,
            tellers: 1,
            branches: 1,
            history: 1,
        };
        assert!(sums.agree());
        assert!(
            !Sums {
                accounts: 2,
                ..sums
            }
            .agree()
        );
        assert!(!Sums { tellers: 2, ..sums }.agree());
        assert!(
            !Sums {
                branches: 2,
                ..sums
            }
            .agree()
        );
        assert!(!Sums { history: 2, ..sums }.agree());
    }

    #[test]
    fn a_run_agrees() {
        let scale = Scale::paper();
        let mut model = Model::new(scale);
        for request in Generator::standard(scale, 11).take(5_000) {
            model.apply(&request).unwrap();
        }
        assert!(model.sums().agree(), "seed 11: {}", model.sums());
        assert_ne!(model.sums().accounts, 0);
    }
}
