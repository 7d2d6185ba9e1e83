//! One thread, debit-credit on arrays, nothing durable: the least cost of a transaction on this machine.

use std::time::{Duration, Instant};

use crate::debit_credit::requests::{Request, Scale};

use crate::floor::bank::{BATCH, Bank, requests};
use crate::floor::error::FloorError;

/// The figures of the bare loop.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct BareLoop {
    /// The number of accounts, of 128 bytes each.
    pub accounts: u64,
    /// Nanoseconds a transaction, each located and modified before the next.
    pub single_nanoseconds: f64,
    /// Nanoseconds a transaction, in batches of 64 whose records are prefetched.
    pub batched_nanoseconds: f64,
}

/// Runs debit-credit one at a time for `time`, then in batches for `time`.
///
/// # Errors
/// [`FloorError`] if `accounts` is not possible, memory is refused, or the balances are wrong.
pub fn bare_loop(accounts: u64, time: Duration) -> Result<BareLoop, FloorError> {
    let scale = Scale::of_accounts(accounts)?;
    let requests = requests(scale);
    let mut bank = Bank::new(scale)?;
    let single_nanoseconds = nanoseconds_each(&requests, time, |requests| {
        for request in requests {
            bank.run(request);
        }
    });
    let batched_nanoseconds = nanoseconds_each(&requests, time, |requests| {
        for batch in requests.chunks(BATCH) {
            bank.run_batch(batch, |_| {});
        }
    });
    bank.check()?;
    Ok(BareLoop {
        accounts,
        single_nanoseconds,
        batched_nanoseconds,
    })
}

/// Runs `requests` cyclically in pieces until `time` is over, at least one piece.
fn nanoseconds_each(requests: &[Request], time: Duration, mut run: impl FnMut(&[Request])) -> f64 {
    let mut count = 0;
    let start = Instant::now();
    for piece in requests.chunks(BATCH * 256).cycle() {
        run(piece);
        count += piece.len();
        if start.elapsed() >= time {
            break;
        }
    }
    start.elapsed().as_nanos() as f64 / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_accounts_are_no_bank() {
        assert!(matches!(
            bare_loop(0, Duration::ZERO),
            Err(FloorError::Scale(_))
        ));
    }

    #[test]
    fn every_piece_is_run_and_counted() {
        let requests = requests(Scale::paper());
        let mut seen = 0;
        let each = nanoseconds_each(&requests, Duration::ZERO, |piece| seen += piece.len());
        assert_eq!(seen, BATCH * 256);
        assert!(each > 0.0);
    }
}
