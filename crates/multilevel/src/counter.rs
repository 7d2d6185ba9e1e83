//! Bounded counters that many transactions change at once (escrow).
//!
//! No matrix of lock modes is enough for a stock that must not fall below zero: whether a withdrawal
//! commutes with others' changes depends on the present value. A counter is therefore changed under a
//! lock that is compatible with itself, [`ADD`], and a *reservation*. The change is admitted if the
//! counter stays within its bounds for every outcome of the running transactions. If it depends on
//! them, the change waits for one to end; if it can never be, it fails. A transaction counts with its
//! own changes. Reading the value exactly excludes changing it ([`READ`]).
//!
//! A counter is 24 bytes in a page: value, least, most. Its creator sets these three words; nothing else is kept of
//! it.

use crate::operation::{Inverse, LockRequests, Operation, Recorded};
use crate::pages::{Area, Change, Pages, Stop};
use sardonyx_lock::{LockSpace, Mode};
use sardonyx_storage::page::{PAGE_SIZE, PageId};

/// To read a counter's value.
pub const READ: Mode = Mode(0);

/// To change a counter by an amount that commutes with others.
pub const ADD: Mode = Mode(1);

/// To set it, and its bounds.
pub const SET: Mode = Mode(2);

/// All counters. An object is the counter's area and number.
pub static COUNTERS: LockSpace = LockSpace::new(
    "sardonyx counters",
    &[
        &[true, false, false],
        &[false, true, false],
        &[false, false, false],
    ],
);

/// The value and its two bounds, of 8 bytes each.
pub const COUNTER_BYTES: usize = 24;

/// Counters in a page.
pub const COUNTERS_PER_PAGE: u64 = (PAGE_SIZE / COUNTER_BYTES) as u64;

/// A counter: a place in an area of counters.
///
/// ```
/// use sardonyx_multilevel::counter::{Add, Counter, Get, Set};
/// use sardonyx_multilevel::Options;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("stock.sdx");
/// let shop = Options::new().open(&path)?;
/// let stock = Counter::new(shop.area("stock", 1)?, 0);
/// shop.run(|tx| tx.call(&Set::within(stock, 10, 0, 1000)))?;
/// // Two customers at once, neither of whom waits.
/// let (one, other) = (shop.begin(), shop.begin());
/// one.call(&Add::to(stock, -3))?;
/// other.call(&Add::to(stock, -7))?;
/// one.commit()?;
/// other.commit()?;
/// assert_eq!(shop.run(|tx| tx.call(&Get(stock)))?, 0);
/// assert!(shop.run(|tx| tx.call(&Add::to(stock, -1))).is_err());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Counter {
    /// An area that has counters only.
    pub area: Area,
    /// The counter's number in the area.
    pub number: u64,
}

impl Counter {
    /// The counter of this number in an area; the area must have its page
    /// (`number / COUNTERS_PER_PAGE`).
    pub fn new(area: Area, number: u64) -> Self {
        Counter { area, number }
    }

    /// The locked object.
    pub fn object(self) -> u64 {
        // Areas are few, counters fewer than 2^48.
        u64::from(self.area.0) << 48 ^ self.number
    }

    fn place(self, pages: &dyn Pages) -> Result<(PageId, usize), Stop> {
        let page = pages.page(self.area, self.number / COUNTERS_PER_PAGE)?;
        Ok((
            page,
            (self.number % COUNTERS_PER_PAGE) as usize * COUNTER_BYTES,
        ))
    }

    fn encode(self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.number.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<(Counter, &[u8])> {
        let (area, bytes) = bytes.split_first_chunk()?;
        let (number, bytes) = bytes.split_first_chunk()?;
        let area = Area(u16::from_le_bytes(*area));
        let number = u64::from_le_bytes(*number);
        Some((Counter { area, number }, bytes))
    }
}

/// A counter's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// With all changes, also those of transactions that have not ended.
    pub value: i64,
    /// The least that it may be.
    pub low: i64,
    /// The most.
    pub high: i64,
}

impl State {
    fn read(bytes: &[u8]) -> State {
        let word = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        State {
            value: word(0),
            low: word(8),
            high: word(16),
        }
    }

    fn bytes(self) -> [u8; COUNTER_BYTES] {
        let mut bytes = [0; COUNTER_BYTES];
        bytes[..8].copy_from_slice(&self.value.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.low.to_le_bytes());
        bytes[16..].copy_from_slice(&self.high.to_le_bytes());
        bytes
    }
}

/// Adds to a counter, or takes from it. Fails with [`Stop::Bounds`] if the counter would leave its bounds in every
/// outcome of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Add {
    /// Locked for the operation until the transaction ends.
    pub counter: Counter,
    /// The amount.
    pub change: i64,
}

impl Add {
    /// Adds so much to a counter.
    pub fn to(counter: Counter, change: i64) -> Add {
        Add { counter, change }
    }
}

impl Operation for Add {
    type Output = ();
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&COUNTERS, self.counter.object(), ADD);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let (page, at) = self.counter.place(pages)?;
        let State { value, low, high } =
            State::read(&pages.read_to_write(page)?[at..at + COUNTER_BYTES]);
        let change = self.change;
        let quantity = Change {
            value,
            change,
            low,
            high,
        };
        pages.reserve(&COUNTERS, self.counter.object(), quantity)?;
        // Admitted, so it does not overflow; the inverse of an admitted change does not either.
        let sum = value.wrapping_add(change);
        pages.write_bytes(page, at, &sum.to_le_bytes())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        // `i64::MIN` is its own opposite when added with wrapping.
        let back = Add::to(self.counter, self.change.wrapping_neg());
        Some(Inverse::of(&back))
    }
}

impl Recorded for Add {
    const NAME: &str = "sardonyx counter add";

    fn encode(&self, into: &mut Vec<u8>) {
        self.counter.encode(into);
        into.extend(self.change.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (counter, change) = Counter::decode(bytes)?;
        let change = i64::from_le_bytes(change.try_into().ok()?);
        Some(Add { counter, change })
    }
}

/// Sets a counter and its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Set {
    /// Locked for the operation until the transaction ends.
    pub counter: Counter,
    /// The value, which must be within its bounds, and the bounds.
    pub state: State,
}

impl Set {
    /// Sets a counter to a value within bounds.
    pub fn within(counter: Counter, value: i64, low: i64, high: i64) -> Set {
        let state = State { value, low, high };
        Set { counter, state }
    }
}

impl Operation for Set {
    type Output = State;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&COUNTERS, self.counter.object(), SET);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<State, Stop> {
        let State { value, low, high } = self.state;
        if !(low..=high).contains(&value) {
            return Err(Stop::Bounds {
                value,
                change: 0,
                low,
                high,
            });
        }
        self.store(pages)
    }

    fn inverse(&self, before: &State) -> Option<Inverse> {
        Some(Inverse::of(&SetBack(Set {
            counter: self.counter,
            state: *before,
        })))
    }
}

impl Set {
    fn store(&self, pages: &mut dyn Pages) -> Result<State, Stop> {
        let (page, at) = self.counter.place(pages)?;
        let bytes = pages.write(page, at..at + COUNTER_BYTES)?;
        let before = State::read(bytes);
        bytes.copy_from_slice(&self.state.bytes());
        Ok(before)
    }
}

/// The inverse of [`Set`]: the former counter may have had no bounds at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetBack(Set);

impl Operation for SetBack {
    type Output = State;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        self.0.locks(locks);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<State, Stop> {
        self.0.store(pages)
    }
}

impl Recorded for SetBack {
    const NAME: &str = "sardonyx counter set back";

    fn encode(&self, into: &mut Vec<u8>) {
        self.0.counter.encode(into);
        into.extend(self.0.state.bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (counter, state) = Counter::decode(bytes)?;
        let state = State::read(state.get(..COUNTER_BYTES)?);
        Some(SetBack(Set { counter, state }))
    }
}

/// Reads a counter's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Get(pub Counter);

impl Operation for Get {
    type Output = i64;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&COUNTERS, self.0.object(), READ);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
        let (page, at) = self.0.place(pages)?;
        Ok(i64::from_le_bytes(pages.read_bytes(page, at)?))
    }
}
