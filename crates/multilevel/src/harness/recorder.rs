//! Pages that record what an operation locks, and take back what it changed if it fails: what the
//! engine does for a subtransaction, without the engine.
//!
//! Locks are granted as the engine grants them: by the matrix, beside what other transactions hold;
//! reservations by the same escrow rule (the lock room's). Where the engine would wait, the operation
//! is taken back and said to wait.

use super::call::{Call, Done, Inverting};
use crate::pages::{Area, Change, Page, Pages, Stop};
use crate::plain::PlainPages;
use sardonyx_lock::{Admission, LockSpace, Mode, Modes, Quantity, Reservations};
use sardonyx_storage::page::PageId;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A transaction's number.
pub(crate) type Holder = usize;

/// A lock that an execution asked for.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    pub space: &'static LockSpace,
    pub object: u64,
    pub mode: Mode,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (space, Mode(mode)) = (self.space.name(), self.mode);
        write!(f, "{space:?} {} in mode {mode}", self.object)
    }
}

/// A reservation that an execution made.
#[derive(Clone, Copy)]
pub(crate) struct Reserved {
    pub space: &'static LockSpace,
    pub object: u64,
    pub change: i64,
}

/// Everything that an execution asked for.
#[derive(Clone, Default)]
pub(crate) struct Claims {
    pub taken: Vec<Taken>,
    pub reserved: Vec<Reserved>,
}

impl Claims {
    /// The first lock of `other` that these claims do not cover.
    pub fn uncovered(&self, other: &Claims) -> Option<Taken> {
        let covered = |wanted: &Taken| {
            self.taken.iter().any(|have| {
                let same =
                    (have.space.number(), have.object) == (wanted.space.number(), wanted.object);
                let matrix = wanted.space.matrix();
                let covers = || matrix.covers(have.mode.into(), wanted.mode);
                same && (have.mode == wanted.mode || covers())
            })
        };
        other.taken.iter().find(|wanted| !covered(wanted)).copied()
    }

    /// What is reserved of a quantity, all in all.
    pub fn net(&self, of: &Reserved) -> i128 {
        let same = |other: &&Reserved| {
            (other.space.number(), other.object) == (of.space.number(), of.object)
        };
        let changes = self.reserved.iter().filter(same);
        changes.map(|reserved| i128::from(reserved.change)).sum()
    }
}

impl fmt::Display for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.taken.is_empty() && self.reserved.is_empty() {
            return f.write_str("nothing");
        }
        let locks = self.taken.iter().map(Taken::to_string);
        let reserved = self.reserved.iter().map(
            |Reserved {
                 space,
                 object,
                 change,
             }| { format!("a change of {:?} {object} by {change:+}", space.name()) },
        );
        f.write_str(&locks.chain(reserved).collect::<Vec<_>>().join(", "))
    }
}

/// Who holds what.
#[derive(Default)]
pub(crate) struct Held {
    locks: BTreeMap<(u64, u64), BTreeMap<Holder, Modes>>,
    reservations: BTreeMap<(u64, u64), Reservations<Holder>>,
    /// Changes of quantities that have been admitted elsewhere, if they are: what each quantity is now
    /// and its bounds, which are looked at in the end.
    admitted: Option<BTreeMap<(u64, u64), Quantity>>,
}

impl Held {
    /// By nobody, to execute again what was admitted before: the bounds of a quantity are kept by
    /// transactions as a whole. One that goes up and down again may, at another time, pass a bound
    /// in between, and nobody sees it.
    pub fn admitted_before() -> Held {
        Held {
            admitted: Some(BTreeMap::new()),
            ..Held::default()
        }
    }

    /// Which quantity is out of its bounds in the end.
    pub fn out_of_bounds(&mut self) -> Option<String> {
        let mut ended = std::mem::take(self.admitted.as_mut()?).into_values();
        let broken = ended.find(|end| !(end.low..=end.high).contains(&end.value))?;
        let Quantity {
            value, low, high, ..
        } = broken;
        Some(format!(
            "a quantity is {value} then, which is not within {low} to {high}"
        ))
    }

    fn grant(&mut self, holder: Holder, wanted: Taken) -> bool {
        let matrix = wanted.space.matrix();
        if matrix.covers(self.modes(holder, wanted.space, wanted.object), wanted.mode) {
            return true;
        }
        let of = self
            .locks
            .entry((wanted.space.number(), wanted.object))
            .or_default();
        let mut others = of.iter().filter(|(other, _)| **other != holder);
        if !others.all(|(_, &modes)| matrix.admits(modes, wanted.mode.into())) {
            return false;
        }
        let modes = of.entry(holder).or_default();
        *modes = modes.union(wanted.mode.into());
        true
    }

    fn reserve(
        &mut self,
        holder: Holder,
        space: &LockSpace,
        object: u64,
        quantity: Quantity,
    ) -> Admission {
        let of = (space.number(), object);
        if let Some(admitted) = &mut self.admitted
            && let Some(value) = quantity.value.checked_add(quantity.change)
        {
            admitted.insert(of, Quantity { value, ..quantity });
            return Admission::Admitted;
        }
        let reservations = self.reservations.entry(of).or_default();
        reservations.admit(holder, quantity)
    }

    fn adjust(&mut self, holder: Holder, space: &LockSpace, object: u64, change: i64) {
        let of = self.reservations.entry((space.number(), object));
        of.or_default().adjust(holder, change);
    }

    /// What a transaction holds of an object.
    fn modes(&self, holder: Holder, space: &LockSpace, object: u64) -> Modes {
        let of = self.locks.get(&(space.number(), object));
        let modes = of.and_then(|of| of.get(&holder));
        modes.copied().unwrap_or_default()
    }

    /// Gives back all that a transaction holds.
    pub fn release(&mut self, holder: Holder) {
        for of in self.locks.values_mut() {
            of.remove(&holder);
        }
        for reservations in self.reservations.values_mut() {
            reservations.release(holder);
        }
    }
}

/// How an execution ended.
#[derive(Clone)]
pub(crate) enum Ended {
    Well(Done),
    /// It did nothing; the error as text.
    Failed(String),
    /// It did nothing; what it has to wait for.
    Waits(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Well(done) => write!(f, "{}", done.output),
            Ended::Failed(error) => write!(f, "failed: {error}"),
            Ended::Waits(what) => write!(f, "has to wait for {what}"),
        }
    }
}

/// An execution of an operation.
#[derive(Clone)]
pub(crate) struct Execution {
    pub ended: Ended,
    pub claims: Claims,
    /// Whether it wrote anything: the engine keeps no inverse otherwise.
    pub wrote: bool,
}

/// The pages of one execution.
pub(crate) struct Recorder<'a> {
    pages: &'a mut PlainPages,
    held: &'a mut Held,
    holder: Holder,
    compensation: bool,
    claims: Claims,
    waits: Option<String>,
    /// What stood where it wrote, in the order of its writes.
    before: Vec<(PageId, usize, Vec<u8>)>,
}

impl<'a> Recorder<'a> {
    fn new(
        pages: &'a mut PlainPages,
        held: &'a mut Held,
        holder: Holder,
        compensation: bool,
    ) -> Self {
        Recorder {
            pages,
            held,
            holder,
            compensation,
            claims: Claims::default(),
            waits: None,
            before: Vec::new(),
        }
    }

    /// Executes an operation; takes it back if it does not end well.
    pub fn execute(
        call: &Call,
        pages: &'a mut PlainPages,
        held: &'a mut Held,
        holder: Holder,
    ) -> Execution {
        let mut recorder = Recorder::new(pages, held, holder, false);
        let mut declared = Ok(());
        for (space, object, mode) in call.locks().iter() {
            declared = declared.and_then(|()| recorder.lock(space, object, mode));
        }
        let outcome = match declared {
            Ok(()) => call.execute(&mut recorder),
            Err(stop) => Err(stop.to_string()),
        };
        let ended = match (recorder.waits.take(), outcome) {
            (Some(what), _) => Ended::Waits(what),
            (None, Ok(done)) => Ended::Well(done),
            (None, Err(error)) => Ended::Failed(error),
        };
        if !matches!(ended, Ended::Well(_)) {
            recorder.take_back();
        }
        Execution {
            ended,
            wrote: !recorder.before.is_empty(),
            claims: recorder.claims,
        }
    }

    /// Executes an inverse as a compensation, which gets what it asks for.
    ///
    /// # Errors
    /// The operation's.
    pub fn compensate(
        inverse: &Inverting,
        pages: &'a mut PlainPages,
        held: &'a mut Held,
        holder: Holder,
    ) -> Result<Claims, String> {
        let mut recorder = Recorder::new(pages, held, holder, true);
        for (space, object, mode) in inverse.locks().iter() {
            let taken = Taken {
                space,
                object,
                mode,
            };
            recorder.claims.taken.push(taken);
        }
        inverse.execute(&mut recorder)?;
        Ok(recorder.claims)
    }

    fn take_back(&mut self) {
        for (page, start, old) in self.before.drain(..).rev() {
            let place = self.pages.write(page, start..start + old.len());
            place.expect("it was written before").copy_from_slice(&old);
        }
        for Reserved {
            space,
            object,
            change,
        } in self.claims.reserved.drain(..)
        {
            let back = change.saturating_neg();
            self.held.adjust(self.holder, space, object, back);
        }
    }

    fn wait_for(&mut self, what: String) -> Stop {
        self.waits.get_or_insert(what);
        Stop::Restart
    }
}

impl Pages for Recorder<'_> {
    fn page(&self, area: Area, index: u64) -> Result<PageId, Stop> {
        self.pages.page(area, index)
    }

    fn pages_of(&self, area: Area) -> Result<u64, Stop> {
        self.pages.pages_of(area)
    }

    fn grow(&mut self, area: Area, pages: u64) -> Result<(), Stop> {
        self.pages.grow(area, pages)
    }

    fn read(&self, page: PageId) -> Result<&Page, Stop> {
        self.pages.read(page)
    }

    fn read_to_write(&self, page: PageId) -> Result<&Page, Stop> {
        self.pages.read_to_write(page)
    }

    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], Stop> {
        let bytes = self.pages.write(page, range.clone())?;
        if !bytes.is_empty() {
            self.before.push((page, range.start, bytes.to_vec()));
        }
        Ok(bytes)
    }

    fn lock(&mut self, space: &'static LockSpace, object: u64, mode: Mode) -> Result<(), Stop> {
        self.pages.lock(space, object, mode)?;
        let taken = Taken {
            space,
            object,
            mode,
        };
        if !self.compensation && !self.held.grant(self.holder, taken) {
            return Err(self.wait_for(taken.to_string()));
        }
        self.claims.taken.push(taken);
        Ok(())
    }

    fn held(&self, space: &'static LockSpace, object: u64) -> Option<Modes> {
        Some(self.held.modes(self.holder, space, object))
    }

    fn reserve(
        &mut self,
        space: &'static LockSpace,
        object: u64,
        change: Change,
    ) -> Result<(), Stop> {
        let Change {
            value,
            change,
            low,
            high,
        } = change;
        let admission = if self.compensation {
            self.held.adjust(self.holder, space, object, change);
            Admission::Admitted
        } else {
            let quantity = Quantity {
                value,
                change,
                low,
                high,
            };
            self.held.reserve(self.holder, space, object, quantity)
        };
        match admission {
            Admission::Admitted => {
                let reserved = Reserved {
                    space,
                    object,
                    change,
                };
                self.claims.reserved.push(reserved);
                Ok(())
            }
            Admission::OutOfBounds => Err(Stop::Bounds {
                value,
                change,
                low,
                high,
            }),
            Admission::Depends => {
                let what = format!("a change of {:?} {object} by {change:+}", space.name());
                Err(self.wait_for(what))
            }
        }
    }
}
