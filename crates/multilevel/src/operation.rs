//! Operations on objects, which a user of multi-level transactions defines.
//!
//! An operation is a value. It names the objects that it locks and their modes (L1) and does its work on pages. From
//! its result it names the operation that undoes it. That *inverse* is data, never a closure. It is kept in the
//! database until the transaction has ended. After a crash a program executes it that only knows its name and its
//! bytes.
//!
//! Source: DASDBS paper, sections 1 and 2 (semantic locks, undo log records at the object level).

use crate::pages::{Pages, Stop};
use sardonyx_lock::{LockSpace, Mode};
use smallvec::SmallVec;
use std::error::Error;

/// An operation on objects: a subtransaction of its caller. It takes effect whole or not at all.
///
/// ```
/// use sardonyx_multilevel::{
///     Area, Inverse, LockRequests, LockSpace, Mode, Operation, Pages, PlainPages, Stop, Values, recorded,
/// };
///
/// const READ: Mode = Mode(0);
/// const ADD: Mode = Mode(1);
/// static COUNTERS: LockSpace = LockSpace::new("counters", &[&[true, false], &[false, true]]);
///
/// /// Adds to the first counter of an area.
/// struct Add {
///     area: Area,
///     amount: i64,
/// }
/// recorded!(Add { area, amount }, "add");
///
/// impl Operation for Add {
///     type Output = ();
///     type Error = Stop;
///
///     fn locks(&self, locks: &mut LockRequests) {
///         locks.request(&COUNTERS, 0, ADD);
///     }
///
///     fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
///         let counters: Values<i64> = Values::in_area(self.area);
///         counters.update(pages, 0, |counter| *counter += self.amount).map(drop)
///     }
///
///     fn inverse(&self, (): &()) -> Option<Inverse> {
///         let (area, amount) = (self.area, -self.amount);
///         Some(Inverse::of(&Add { area, amount }))
///     }
/// }
///
/// let mut pages = PlainPages::new();
/// let area = pages.area(1);
/// let add = Add { area, amount: 5 };
/// add.execute(&mut pages)?;
/// assert_eq!(Values::<i64>::in_area(area).get(&pages, 0)?, 5);
/// # Ok::<_, Stop>(())
/// ```
pub trait Operation {
    /// Its result.
    type Output;

    /// The error of a failure. The operation is undone then, alone; its transaction goes on.
    type Error: From<Stop> + Error + Send + Sync + 'static;

    /// Asks for the locks that are known before it begins. They are granted before
    /// [`Operation::execute`] is called; others are asked for there, with
    /// [`Pages::lock`].
    fn locks(&self, locks: &mut LockRequests) {
        let _ = locks;
    }

    /// Does the work. If it was the victim of a deadlock or had to wait for an object, it is called again after all
    /// its effects were undone. It must not keep anything outside of the pages.
    ///
    /// # Errors
    /// The operation's own, and every [`Stop`] of the pages, to be passed on.
    fn execute(&self, pages: &mut dyn Pages) -> Result<Self::Output, Self::Error>;

    /// Does the work, and gives the inverse. An operation whose inverse needs more than its output has this method, and no
    /// [`Operation::inverse`]. An operation that executes others, and is undone by their inverses, gets these here.
    ///
    /// # Errors
    /// The errors of [`Operation::execute`].
    fn execute_with_inverse(
        &self,
        pages: &mut dyn Pages,
    ) -> Result<(Self::Output, Option<Inverse>), Self::Error> {
        let output = self.execute(pages)?;
        let inverse = self.inverse(&output);
        Ok((output, inverse))
    }

    /// Its inverse, given its result; `None` if nothing is to be undone. It needs no lock that the operation did not
    /// have, and must succeed as long as the transaction has those locks.
    fn inverse(&self, output: &Self::Output) -> Option<Inverse> {
        let _ = output;
        None
    }
}

/// An operation that can be written down, and so be an inverse. [`recorded!`](crate::recorded!) implements
/// it where its fields are plain data.
pub trait Recorded: Operation + Sized {
    /// Its identity: the same in every version of the program that opens the database. At most
    /// [`NAME_BYTES_MAX`] bytes.
    const NAME: &str;

    /// Appends the bytes that it takes to make it again; at most [`INVERSE_BYTES_MAX`].
    fn encode(&self, into: &mut Vec<u8>);

    /// Makes it again; `None` if the bytes are not of such an operation.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// The longest name of an operation, in bytes of UTF-8.
pub const NAME_BYTES_MAX: usize = 100;

/// The most bytes that an inverse may be encoded in.
pub const INVERSE_BYTES_MAX: usize = 1 << 20;

/// Room that an inverse has before it grows.
const INVERSE_BYTES_USUAL: usize = 64;

/// The operation that undoes another, as data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inverse {
    name: &'static str,
    bytes: Vec<u8>,
}

impl Inverse {
    /// Writes an operation down.
    pub fn of<O: Recorded>(operation: &O) -> Inverse {
        let mut bytes = Vec::with_capacity(INVERSE_BYTES_USUAL);
        operation.encode(&mut bytes);
        Inverse {
            name: O::NAME,
            bytes,
        }
    }

    /// The operation's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The operation's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The locks that an operation asks for before it begins.
#[derive(Clone, Debug, Default)]
pub struct LockRequests(SmallVec<[(&'static LockSpace, u64, Mode); 4]>);

impl LockRequests {
    /// Asks for a lock on an object. They are asked for in the order given: where all operations
    /// keep to one order, they do not deadlock.
    ///
    /// # Panics
    /// If the space has no such mode.
    pub fn request(&mut self, space: &'static LockSpace, object: u64, mode: Mode) {
        assert!(
            usize::from(mode.0) < space.matrix().modes(),
            "the lock space {:?} has no mode {}",
            space.name(),
            mode.0
        );
        self.0.push((space, object, mode));
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static LockSpace, u64, Mode)> {
        self.0.iter().copied()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
