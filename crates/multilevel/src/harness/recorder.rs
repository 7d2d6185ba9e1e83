//! Pages that record the locks of an operation, and undo its changes if it fails: the engine's work for a
//! subtransaction, without the engine.
//!
//! If the engine would wait, the operation is undone and reported as waiting.

use super::call::{Call, Done, Inverting};
use super::claims::{Claims, Held, Holder, Reserved, Taken};
use crate::pages::{Area, Change, Page, Pages, Stop};
use crate::plain::PlainPages;
use sardonyx_lock::{Admission, LockSpace, Mode, Modes, Quantity};
use sardonyx_storage::page::PageId;
use std::fmt;
use std::ops::Range;

/// The result of an execution.
#[derive(Clone)]
pub(crate) enum Ended {
    Well(Done),
    /// It did nothing; the error as text.
    Failed(String),
    /// It did nothing; the lock that it has to wait for.
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
    /// True if it wrote anything: the engine keeps no inverse otherwise.
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
    /// The earlier bytes at its writes, in the order of its writes.
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

    /// Executes an inverse as a compensation, which gets all its requests.
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
