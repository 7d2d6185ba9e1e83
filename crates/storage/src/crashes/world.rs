//! A world: one subject on its simulated disk, with its history, through any number of lives.
//!
//! A life opens the database, submits changes, and ends by itself or by the fault that was planted. An error without such
//! a fault is a failure, and so is everything that the judge says.

use super::End;
use super::history::History;
use crate::disk::{Faults, SimulatedDisk};

/// A life is over before its time. Any error becomes one; the world decides whether the disk's fault explains it.
#[derive(Debug)]
pub struct Stopped(pub String);

impl<E: std::error::Error> From<E> for Stopped {
    fn from(error: E) -> Self {
        Stopped(error.to_string())
    }
}

/// A way of running transactions, as the crash world sees it.
///
/// Its methods have the history judge each content that they find. They return an error where a disk that fails may end
/// a life, and panic where a fault of the disk is no excuse.
pub trait Subject {
    /// An open database.
    type Open;
    /// A submitted change, as the judge remembers it.
    type Change;

    /// Opens the database, which recovers it, and settles the history where the content is then known.
    ///
    /// # Errors
    /// The database does not open.
    fn recover(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<Self::Change>,
    ) -> Result<Self::Open, Stopped>;

    /// Does one step of work. A change is noted before it is tried, and acknowledged when the database says so.
    ///
    /// # Errors
    /// The life is over.
    fn submit(
        &mut self,
        open: &mut Self::Open,
        history: &mut History<Self::Change>,
    ) -> Result<(), Stopped>;

    /// Looks at the content of a database that is not open, and has it judged.
    ///
    /// # Errors
    /// It cannot be read.
    fn observe(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<Self::Change>,
    ) -> Result<(), Stopped>;

    /// The end of a life that nothing has ended before.
    ///
    /// # Errors
    /// The database does not close.
    fn close(
        &mut self,
        open: Self::Open,
        _history: &mut History<Self::Change>,
    ) -> Result<(), Stopped> {
        drop(open);
        Ok(())
    }
}

/// A subject through its lives.
#[derive(Clone, Debug)]
pub struct World<S: Subject> {
    /// The way of running transactions.
    pub subject: S,
    /// The disk of the present life.
    pub disk: SimulatedDisk,
    /// Everything submitted so far.
    pub history: History<S::Change>,
    name: Name,
}

/// The name of a world, by which a failure is repeated: printed when a test fails.
#[derive(Clone, Debug)]
struct Name(String);

impl Drop for Name {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in the world of {}", self.0);
        }
    }
}

impl From<End> for Faults {
    fn from(end: End) -> Faults {
        end.faults()
    }
}

impl<S: Subject> World<S> {
    /// A world on this disk, whose faults end the first life. The name has everything that it takes to repeat it.
    pub fn new(name: impl Into<String>, disk: SimulatedDisk, subject: S) -> World<S> {
        World {
            subject,
            disk,
            history: History::default(),
            name: Name(name.into()),
        }
    }

    /// Repeats this world when it is given to a test.
    pub fn name(&self) -> &str {
        &self.name.0
    }

    /// Gives the world another name.
    pub fn rename(&mut self, name: impl Into<String>) {
        self.name = Name(name.into());
    }

    /// The machine crashes, if it has not, and comes up again. The next life ends by these faults.
    pub fn restart(&mut self, faults: impl Into<Faults>) {
        self.disk = self.disk.restart(faults.into());
    }

    /// The process is killed, if it still runs; the machine goes on. The next process ends by these faults.
    pub fn next_process(&mut self, faults: impl Into<Faults>) {
        self.disk = self.disk.next_process(faults.into());
    }

    /// True if an error of this life may come from its disk.
    fn may_fail(&self) -> bool {
        let faults = self.disk.faults();
        let fails = [
            faults.fail_sync_at,
            faults.fail_write_at,
            faults.fail_read_at,
        ];
        let is_full = faults.full_steps.is_some() || faults.capacity_bytes.is_some();
        self.disk.has_crashed() || is_full || fails.iter().any(Option::is_some)
    }

    /// The result, if a fault of the disk did not end the life.
    fn unless_ended<T>(&self, outcome: Result<T, Stopped>) -> Option<T> {
        match outcome {
            Ok(result) => Some(result),
            Err(Stopped(error)) => {
                assert!(self.may_fail(), "{}: {error}", self.name());
                None
            }
        }
    }

    /// Opens the database. `None`: the life has ended meanwhile.
    ///
    /// # Panics
    /// It does not open although the disk has no fault, or has lost something.
    pub fn open(&mut self) -> Option<S::Open> {
        let opened = self.subject.recover(&self.disk, &mut self.history);
        self.unless_ended(opened)
    }

    /// Does so many steps of work. Returns false if the life has ended meanwhile.
    ///
    /// # Panics
    /// There is an error although the disk has no fault.
    pub fn run(&mut self, open: &mut S::Open, steps: usize) -> bool {
        (0..steps).all(|_| {
            let done = self.subject.submit(open, &mut self.history);
            self.unless_ended(done).is_some()
        })
    }

    /// A life: it opens the database, does so many steps, and closes it. Returns false if the life has ended before.
    ///
    /// # Panics
    /// As [`World::open`] and [`World::run`].
    pub fn live(&mut self, steps: usize) -> bool {
        let Some(mut open) = self.open() else {
            return false;
        };
        if !self.run(&mut open, steps) {
            return false;
        }
        let closed = self.subject.close(open, &mut self.history);
        self.unless_ended(closed).is_some()
    }

    /// As [`World::live`], in which nothing may fail.
    ///
    /// # Panics
    /// The life has ended before.
    pub fn must_live(&mut self, steps: usize) {
        assert!(self.live(steps), "{}: the life ended", self.name());
    }

    /// Looks at the content. Returns false if the machine has crashed meanwhile.
    ///
    /// # Panics
    /// Something is lost, or the content cannot be read although the disk has no fault.
    pub fn check(&mut self) -> bool {
        let observed = self.subject.observe(&self.disk, &mut self.history);
        self.unless_ended(observed).is_some()
    }

    /// The next process finds everything on the same machine and works for so many steps; only then the power is cut.
    ///
    /// # Panics
    /// As [`World::must_live`] and [`World::check`].
    pub fn go_on_until_a_cut(&mut self, steps: usize) {
        self.next_process(End::Cut);
        self.check();
        self.next_process(End::Cut);
        self.must_live(steps);
        self.restart(End::Cut);
        self.check();
    }
}
