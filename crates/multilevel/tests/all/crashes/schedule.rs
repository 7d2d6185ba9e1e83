//! Schedules: the steps of transactions, one after another, on one thread.
//!
//! A step that would have to wait for another transaction is left out, so that a schedule never stops: [`Life`] keeps
//! account of all locks. The work of a second thread while a subtransaction is at work is a step too
//! ([`Step::During`]). Then a real thread runs the inner steps, and the operation waits for it in its middle. So every
//! schedule is the same each time (I11).

use super::model::{Effect, Model, Number};
use super::operations::{
    Add, AddThrough, Failure, Insert, Place, Push, Relocate, forget_meanwhile, meanwhile,
};
use super::state::{AreaSet, ReadState, State};
use sardonyx_multilevel::{CallError, Database, Operation, Strategy, Transaction};
use sardonyx_storage::crashes::{History, Stopped};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::Duration;

/// The interval at which a thread that waits in an operation checks if the engine has stopped.
const LOOK: Duration = Duration::from_millis(1);

/// The number of a transaction of a schedule.
pub type Who = u8;

/// A step of a schedule.
#[derive(Clone, Debug)]
pub enum Step {
    Begin(Who),
    /// Adds to these records.
    Add(Who, Vec<(u32, u32)>),
    /// The same, having looked at a page.
    LookAndAdd(Who, u32, Vec<(u32, u32)>),
    /// Adds to these records and then fails.
    Fail(Who, Vec<(u32, u32)>),
    Insert(Who, u32, (u32, u32)),
    AddThrough(Who, u32),
    Relocate(Who, u32, (u32, u32)),
    Push(Who, u32, u8),
    Commit(Who),
    Abort(Who),
    /// Runs the inner steps in another thread, in the middle of the outer one: of an operation that
    /// adds, or, if that is an abort, of the compensation of its so many-th operation, from 0.
    During(Box<Step>, usize, Vec<Step>),
    Checkpoint,
    /// Takes the log to the disk.
    Flush,
}

use Step::*;

impl Step {
    fn who(&self) -> Option<Who> {
        match self {
            Begin(who) | Add(who, _) | LookAndAdd(who, ..) | Fail(who, _) => Some(*who),
            Insert(who, ..) | AddThrough(who, _) | Relocate(who, ..) => Some(*who),
            Push(who, ..) | Commit(who) | Abort(who) => Some(*who),
            During(step, ..) => step.who(),
            Checkpoint | Flush => None,
        }
    }

    /// The things that it locks, at both levels.
    fn wants(&self) -> Vec<(Thing, bool)> {
        let pages = |places: &[(u32, u32)]| -> Vec<_> {
            places
                .iter()
                .map(|(page, _)| (Thing::Page(*page), true))
                .collect()
        };
        let directory = [(Thing::Directory, true)];
        match self {
            Add(_, places) | Fail(_, places) => pages(places),
            LookAndAdd(_, page, places) => {
                [&pages(places)[..], &[(Thing::Page(*page), true)]].concat()
            }
            Insert(_, entry, _) => [&directory[..], &[(Thing::Entry(*entry), true)]].concat(),
            AddThrough(_, entry) => [&directory[..], &[(Thing::Entry(*entry), false)]].concat(),
            Relocate(..) => directory.into(),
            Push(_, stack, _) => {
                vec![
                    (Thing::StackPage(*stack), true),
                    (Thing::Stack(*stack), true),
                ]
            }
            During(step, ..) => step.wants(),
            Begin(_) | Commit(_) | Abort(_) | Checkpoint | Flush => Vec::new(),
        }
    }
}

/// A thing that can be locked. The directory represents all pages that are reached through it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Thing {
    Page(u32),
    Directory,
    StackPage(u32),
    Entry(u32),
    Stack(u32),
}

impl Thing {
    fn is_page(self) -> bool {
        matches!(
            self,
            Thing::Page(_) | Thing::Directory | Thing::StackPage(_)
        )
    }
}

struct Running<'d> {
    number: Number,
    transaction: Arc<Transaction<'d>>,
    /// The things that it has locked until its end.
    has: BTreeMap<Thing, bool>,
    /// For each of its operations the power, if it adds one, and the pages, which its compensation will touch again.
    operations: Vec<(Option<u16>, Vec<Thing>)>,
}

/// A subtransaction in the middle of its work.
struct AtWork {
    who: Who,
    has: BTreeSet<Thing>,
}

/// A database between its opening and its end, and the transactions that run in it.
pub struct Life<'d> {
    database: &'d Database,
    areas: AreaSet,
    model: Mutex<&'d mut Model>,
    /// The transactions that were to be committed, in that order.
    tried: Mutex<&'d mut History<Number>>,
    running: Mutex<BTreeMap<Who, Running<'d>>>,
    at_work: Mutex<Option<AtWork>>,
    /// Steps that were left out.
    left_out: Mutex<u64>,
}

impl<'d> Life<'d> {
    pub fn new(
        database: &'d Database,
        areas: AreaSet,
        model: &'d mut Model,
        tried: &'d mut History<Number>,
    ) -> Self {
        Life {
            database,
            areas,
            model: Mutex::new(model),
            tried: Mutex::new(tried),
            running: Mutex::default(),
            at_work: Mutex::default(),
            left_out: Mutex::default(),
        }
    }

    /// Runs steps until the engine stops.
    pub fn run(&self, steps: &[Step]) -> Result<(), Stopped> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    /// The number of steps that would have had to wait.
    pub fn left_out(&self) -> u64 {
        *self.left_out.lock().unwrap()
    }

    /// The number of transactions that are known to be durable.
    pub fn acknowledged(&self) -> usize {
        self.tried().acknowledged()
    }

    fn tried(&self) -> MutexGuard<'_, &'d mut History<Number>> {
        self.tried.lock().unwrap()
    }

    fn model(&self) -> MutexGuard<'_, &'d mut Model> {
        self.model.lock().unwrap()
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Who, Running<'d>>> {
        self.running.lock().unwrap()
    }

    fn single_level(&self) -> bool {
        self.database.strategy() == Strategy::SingleLevel
    }

    /// Returns true if it need not wait for another transaction; then its locks are noted.
    fn admit(&self, step: &Step) -> bool {
        let Some(who) = step.who() else {
            return true;
        };
        let mut running = self.running();
        if matches!(step, Begin(_)) != !running.contains_key(&who) {
            return false;
        }
        let at_work = self.at_work.lock().unwrap();
        let mut wants = step.wants();
        if matches!(step, Abort(_)) && !self.single_level() {
            let pages = running[&who].operations.iter().flat_map(|(_, pages)| pages);
            wants.extend(pages.map(|page| (*page, true)));
        }
        if let Some(at_work) = &*at_work {
            // In S1 siblings take turns.
            let ends = matches!(step, Commit(_) | Abort(_));
            let waits = at_work.who == who && (ends || self.single_level());
            if waits || wants.iter().any(|(thing, _)| at_work.has.contains(thing)) {
                return false;
            }
        }
        // Page locks that are kept: in S1. Locks on objects: in all others.
        wants.retain(|(thing, _)| thing.is_page() == self.single_level());
        let conflict = |(thing, exclusive): &(Thing, bool)| {
            let mut others = running.iter().filter(|(other, _)| **other != who);
            others.any(|(_, other)| other.has.get(thing).is_some_and(|has| *has || *exclusive))
        };
        if wants.iter().any(conflict) {
            return false;
        }
        if let Some(own) = running.get_mut(&who) {
            for (thing, exclusive) in wants {
                *own.has.entry(thing).or_default() |= exclusive;
            }
        }
        true
    }

    fn step(&self, step: &Step) -> Result<(), Stopped> {
        if !self.admit(step) {
            *self.left_out.lock().unwrap() += 1;
            return Ok(());
        }
        match step {
            Begin(who) => {
                let number = self.model().begin();
                let transaction = Arc::new(self.database.begin());
                let (has, operations) = (BTreeMap::new(), Vec::new());
                let begun = Running {
                    number,
                    transaction,
                    has,
                    operations,
                };
                self.running().insert(*who, begun);
                Ok(())
            }
            Commit(who) => self.commit(*who),
            Abort(who) => {
                let transaction = self.end(*who).1;
                Ok(transaction.abort()?)
            }
            During(step, nth, inner) => self.during(step, *nth, inner),
            Checkpoint => Ok(self.database.checkpoint()?),
            Flush => Ok(self.database.flush()?),
            operation => {
                let power = self.model().power();
                power.map_or(Ok(()), |power| self.operation(operation, power))
            }
        }
    }

    /// Runs an operation, which adds this power if it adds one.
    fn operation(&self, step: &Step, power: u16) -> Result<(), Stopped> {
        let AreaSet {
            records,
            directory,
            movable,
            stacks,
        } = self.areas;
        let add = |looks_at, places: &[(u32, u32)], fails| self::Add {
            area: records,
            power,
            sign: 1,
            places: places.iter().map(place).collect(),
            looks_at,
            fails,
        };
        let adds = |places: &[(u32, u32)]| {
            let places = places.iter().map(place).collect();
            Some(Effect::Add { power, places })
        };
        match step {
            Add(_, at) => self.call(step, &add(None, at, false), adds(at)),
            LookAndAdd(_, page, at) => self.call(step, &add(Some(*page), at, false), adds(at)),
            Fail(_, at) => self.call(step, &add(None, at, true), None),
            Insert(_, entry, at) => {
                let entry = *entry;
                let insert = self::Insert {
                    directory,
                    entry,
                    place: Some(place(at)),
                };
                self.call(step, &insert, Some(Effect::Insert { entry }))
            }
            AddThrough(_, entry) => {
                let (entry, sign, area) = (*entry, 1, movable);
                let add = self::AddThrough {
                    directory,
                    entry,
                    area,
                    power,
                    sign,
                };
                self.call(step, &add, Some(Effect::AddThrough { power, entry }))
            }
            Relocate(_, entry, to) => {
                let (entry, to) = (*entry, place(to));
                let relocate = self::Relocate {
                    directory,
                    entry,
                    area: movable,
                    to,
                };
                self.call(step, &relocate, None)
            }
            Push(_, stack, digit) => {
                let (page, digit) = (*stack, *digit);
                let push = self::Push {
                    area: stacks,
                    page,
                    digit,
                    off: false,
                };
                self.call(step, &push, Some(Effect::Push { stack: page, digit }))
            }
            _ => unreachable!("{step:?} is no operation"),
        }
    }

    fn call<O>(&self, step: &Step, operation: &O, effect: Option<Effect>) -> Result<(), Stopped>
    where
        O: Operation<Error = Failure>,
    {
        let (who, wants) = (step.who().expect("an operation"), step.wants());
        let (number, transaction) = {
            let running = self.running();
            (running[&who].number, running[&who].transaction.clone())
        };
        match transaction.call(operation) {
            Ok(_) => {
                if let Some(own) = self.running().get_mut(&who) {
                    let pages = wants.into_iter().map(|(thing, _)| thing);
                    let pages = pages.filter(|thing| thing.is_page()).collect();
                    own.operations
                        .push((effect.as_ref().and_then(Effect::power), pages));
                }
                if let Some(effect) = effect {
                    self.model().completed(number, effect);
                }
                Ok(())
            }
            Err(CallError::Failed(Failure::Stop(stop))) => Err(stop.into()),
            // Its changes are undone: the model knows nothing of it.
            Err(CallError::Failed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a transaction out of those that run.
    fn end(&self, who: Who) -> (Number, Transaction<'d>) {
        let ended = self.running().remove(&who).expect("it was admitted");
        let transaction = Arc::into_inner(ended.transaction).expect("no operation of it runs");
        (ended.number, transaction)
    }

    fn commit(&self, who: Who) -> Result<(), Stopped> {
        let (number, transaction) = self.end(who);
        let nth = self.tried().submit(number);
        transaction.commit()?;
        self.tried().acknowledge_first(nth);
        Ok(())
    }

    /// The power and the sign of an operation in whose middle something else happens, and the locks that it has then.
    fn middle_of(&self, outer: &Step, nth: usize) -> Option<(u16, i8, BTreeSet<Thing>)> {
        let Abort(who) = outer else {
            let pages = outer.wants().into_iter().map(|(thing, _)| thing);
            let pages = pages.filter(|thing| thing.is_page()).collect();
            return self.model().power().map(|power| (power, 1, pages));
        };
        let running = self.running();
        let (power, pages) = running[who].operations.get(nth)?;
        let has = pages
            .iter()
            .chain(running[who].has.keys())
            .copied()
            .collect();
        power.map(|power| (power, -1, has))
    }

    fn during(&self, outer: &Step, nth: usize, inner: &[Step]) -> Result<(), Stopped> {
        let Some((power, sign, has)) = self.middle_of(outer, nth) else {
            *self.left_out.lock().unwrap() += 1;
            return self.step(outer);
        };
        let who = outer.who().expect("an operation or an abort");
        let (go, when) = mpsc::channel::<()>();
        let (done, over) = mpsc::channel();
        std::thread::scope(|scope| {
            let beside = scope.spawn(move || {
                // If it is not reached, the other end is dropped.
                let reached = when.recv().is_ok();
                *self.at_work.lock().unwrap() = reached.then_some(AtWork { who, has });
                let outcome = if reached { self.run(inner) } else { Ok(()) };
                *self.at_work.lock().unwrap() = None;
                let _ = done.send(());
                outcome
            });
            let engine = self.database.engine();
            let (log, disk) = (engine.commit().clone(), engine.disk().clone());
            let wait = move || {
                let _ = go.send(());
                // Once the engine has stopped, the steps beside may end in an abort that waits for this
                // one's pages.
                let stopped = || log.check().is_err() || disk.list("").is_err();
                while over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) && !stopped() {}
            };
            meanwhile(power, sign, Box::new(wait));
            let outcome = match outer {
                Abort(_) => self.step(outer),
                operation => self.operation(operation, power),
            };
            forget_meanwhile();
            let beside = beside.join().expect("the inner steps do not panic");
            outcome.and(beside)
        })
    }

    /// Reads everything, in a transaction of its own. No other may be running.
    pub fn read(&self) -> Result<State, Stopped> {
        let transaction = self.database.begin();
        let state = transaction.call(&ReadState(self.areas))?;
        transaction.commit()?;
        Ok(state)
    }
}

fn place(&(page, record): &(u32, u32)) -> Place {
    Place { page, record }
}
