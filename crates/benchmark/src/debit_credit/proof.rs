//! The proof of a run's outcome: the four sums are equal, and every acknowledged transaction is in
//! the history exactly once.
//!
//! Source: `docs/architecture.md`, "Cross-cutting concerns: Measuring".

use crate::debit_credit::model::Sums;
use crate::debit_credit::run::client_and_number;
use crate::debit_credit::schema::Schema;
use sardonyx::{Error, Tables};

/// The findings.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The sums of all balances of accounts, tellers and branches, and of the history's amounts.
    pub sums: Sums,
    /// Rows in the history.
    pub rows: u64,
    /// Acknowledged transactions that are not in the history.
    pub missing: u64,
    /// Transactions that are in the history more than once.
    pub twice: u64,
    /// Requests that were refused, but are in the history.
    pub refused_but_there: u64,
    /// Transactions in the history that were not acknowledged (they may have been in flight).
    pub unacknowledged: u64,
}

impl Proof {
    /// Returns true if the sums agree, every acknowledged transaction is in the history once, and no refused one is.
    pub fn holds(&self) -> bool {
        let wrong = [self.missing, self.twice, self.refused_but_there];
        self.sums.agree() && wrong == [0; 3]
    }
}

/// Checks an open database. `acknowledged[c]`: transactions 0 up to this of client `c` were acknowledged; refused
/// requests among them must be absent, `refused` of them in all.
pub fn prove(
    database: &Tables,
    schema: &Schema,
    acknowledged: &[u64],
    refused: u64,
) -> Result<Proof, Error> {
    let mut proof = Proof {
        sums: database.read(|view| {
            let accounts = view.scan(schema.accounts)?;
            let tellers = view.scan(schema.tellers)?;
            let branches = view.scan(schema.branches)?;
            Ok(Sums {
                accounts: sum(accounts.map(|record| Ok(record?.balance)))?,
                tellers: sum(tellers.map(|record| Ok(record?.balance)))?,
                branches: sum(branches.map(|record| Ok(record?.balance)))?,
                history: 0,
            })
        })?,
        rows: 0,
        missing: 0,
        twice: 0,
        refused_but_there: 0,
        unacknowledged: 0,
    };
    let mut seen: Vec<Bits> = acknowledged.iter().map(|&count| Bits::new(count)).collect();
    database.journal_rows(schema.history, |row| {
        proof.rows += 1;
        proof.sums.history += row.amount;
        let (client, number) = client_and_number(&row);
        match seen.get_mut(client) {
            Some(bits) if number < bits.len => proof.twice += u64::from(!bits.set(number)),
            _ => proof.unacknowledged += 1,
        }
        true
    })?;
    let absent: u64 = seen.iter().map(Bits::unset).sum();
    proof.missing = absent.saturating_sub(refused);
    proof.refused_but_there = refused.saturating_sub(absent);
    Ok(proof)
}

fn sum(balances: impl Iterator<Item = Result<i64, Error>>) -> Result<i64, Error> {
    balances.sum()
}

struct Bits {
    words: Vec<u64>,
    len: u64,
    set: u64,
}

impl Bits {
    fn new(len: u64) -> Self {
        Bits {
            words: vec![0; len.div_ceil(64) as usize],
            len,
            set: 0,
        }
    }

    /// Sets a bit; returns false if it was set.
    fn set(&mut self, n: u64) -> bool {
        let (word, bit) = (&mut self.words[(n / 64) as usize], 1 << (n % 64));
        let new = *word & bit == 0;
        *word |= bit;
        self.set += u64::from(new);
        new
    }

    fn unset(&self) -> u64 {
        self.len - self.set
    }
}
