//! Operations on accounts, right and wrong, for the tests of the harness.

use sardonyx_multilevel::{
    Area, Inverse, LockRequests, LockSpace, Mode, Operation, Pages, PlainPages, Recorded, Stop,
};
use std::fmt::{self, Debug};
use std::marker::PhantomData;

pub const ACCOUNTS: Area = Area(0);

pub const READ: Mode = Mode(0);
pub const DEPOSIT: Mode = Mode(1);
pub const WITHDRAW: Mode = Mode(2);

/// A bank's rules: how its accounts are locked.
pub trait Bank: Debug + Copy + 'static {
    /// Rows: held (read, deposit, withdraw); columns: requested.
    fn accounts() -> &'static LockSpace;
    /// True if a refused withdrawal keeps a lock that shows the refusal.
    const REFUSAL_LOCKS: bool;
}

macro_rules! bank {
    ($(#[$about:meta])* $name:ident, $space:literal, $rows:expr, $locks:literal) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Bank for $name {
            fn accounts() -> &'static LockSpace {
                static SPACE: LockSpace = LockSpace::new($space, $rows);
                &SPACE
            }
            const REFUSAL_LOCKS: bool = $locks;
        }
    };
}

bank!(
    /// Withdrawing goes with depositing in both orders: wrong.
    Symmetric,
    "symmetric",
    &[&[true, false, false], &[false, true, true], &[false, true, false]],
    true
);
bank!(
    /// A deposit is admitted beside a withdrawal that succeeded, not the other way round.
    Asymmetric,
    "asymmetric",
    &[&[true, false, false], &[false, true, false], &[false, true, false]],
    true
);
bank!(
    /// As `Asymmetric`, but a refusal is not protected.
    Forgetful,
    "forgetful",
    &[&[true, false, false], &[false, true, false], &[false, true, false]],
    false
);
bank!(
    /// As `Symmetric`, but a refusal is not protected.
    SymmetricForgetful,
    "symmetric, forgetful",
    &[&[true, false, false], &[false, true, true], &[false, true, false]],
    false
);
bank!(
    /// Reading goes with depositing: wrong.
    Peeking,
    "peeking",
    &[&[true, true, true], &[true, true, false], &[true, true, false]],
    true
);

/// Three accounts, of which there is something in the second.
pub fn accounts(pages: &mut PlainPages) {
    assert_eq!(pages.area(1), ACCOUNTS);
    set(pages, 1, 2).unwrap();
}

pub fn get(pages: &dyn Pages, account: u64) -> Result<i64, Stop> {
    let page = pages.page(ACCOUNTS, 0)?;
    Ok(i64::from_le_bytes(
        pages.read_bytes(page, account as usize * 8)?,
    ))
}

pub fn set(pages: &mut dyn Pages, account: u64, value: i64) -> Result<(), Stop> {
    let page = pages.page(ACCOUNTS, 0)?;
    pages.write_bytes(page, account as usize * 8, &value.to_le_bytes())
}

/// Adds, at any result, and asks for no lock: an inverse of operations that have one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correct {
    pub account: u64,
    pub by: i64,
}

impl Operation for Correct {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let value = get(pages, self.account)?;
        set(pages, self.account, value + self.by)
    }
}

impl Recorded for Correct {
    const NAME: &str = "correct";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.account.to_le_bytes());
        into.extend(self.by.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (account, by) = bytes.split_first_chunk()?;
        Some(Correct {
            account: u64::from_le_bytes(*account),
            by: i64::from_le_bytes(by.try_into().ok()?),
        })
    }
}

/// Puts money into an account.
#[derive(Clone, Copy)]
pub struct Deposit<B>(pub u64, pub i64, pub PhantomData<B>);

impl<B> Debug for Deposit<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deposit(account {}, {})", self.0, self.1)
    }
}

impl<B: Bank> Operation for Deposit<B> {
    type Output = ();
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(B::accounts(), self.0, DEPOSIT);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let value = get(pages, self.0)?;
        set(pages, self.0, value + self.1)
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let (account, by) = (self.0, -self.1);
        Some(Inverse::of(&Correct { account, by }))
    }
}

/// Takes money out of an account, if there is enough.
#[derive(Clone, Copy)]
pub struct Withdraw<B>(pub u64, pub i64, pub PhantomData<B>);

impl<B> Debug for Withdraw<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Withdraw(account {}, {})", self.0, self.1)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WithdrawError {
    #[error("there is not so much")]
    Refused,
    #[error(transparent)]
    Stop(#[from] Stop),
}

impl<B: Bank> Operation for Withdraw<B> {
    type Output = ();
    type Error = WithdrawError;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(B::accounts(), self.0, WITHDRAW);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), WithdrawError> {
        let value = get(pages, self.0)?;
        // As something that went wrong half-way would.
        set(pages, self.0, value - self.1)?;
        if value < self.1 {
            if B::REFUSAL_LOCKS {
                pages.lock(B::accounts(), self.0, READ)?;
            }
            return Err(WithdrawError::Refused);
        }
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let (account, by) = (self.0, self.1);
        Some(Inverse::of(&Correct { account, by }))
    }
}

/// Reads an account.
#[derive(Clone, Copy)]
pub struct Read<B>(pub u64, pub PhantomData<B>);

impl<B> Debug for Read<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Read(account {})", self.0)
    }
}

impl<B: Bank> Operation for Read<B> {
    type Output = i64;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(B::accounts(), self.0, READ);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
        get(pages, self.0)
    }
}
