//! Random programs of several sessions in one thread, interleaved by a seed, against a model that keeps every version.
//! Every read of a transaction is compared with its snapshot in the model: also in transactions that cannot commit any
//! more (I8). Transactions that conflict in the model must fail with a conflict; the number of commits is checked over
//! all runs.
//!
//! The ring is as small as it gets, and pages are written whole, so that it wraps and views fall behind its records.

use crate::common::{PAGE, first_seed, options, runs};
use sardonyx_mapped::{
    Access, Begin, MechanismKind, Memory, MemoryAccess, P, Savepoint, Segment, SegmentError,
    Session, Transaction,
};
use sardonyx_workload::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

const WORDS: u64 = PAGE / 8;

/// A page in the model.
type Content = Arc<[u64; WORDS as usize]>;

/// Pages that are not zero.
type Pages = BTreeMap<u64, Content>;

/// The pages that programs use: some in each of several chunks of 2 MiB.
fn hot(random: &mut Random) -> u64 {
    let chunk = random.below(6);
    chunk * 512 + [1, 2, 3, 511][random.below(4) as usize]
}

/// A transaction that runs, and its state in the model.
struct Running {
    // Before the session that it borrows.
    transaction: Transaction<'static>,
    begin: Begin,
    sees: Pages,
    /// The state that it saw first.
    first: Pages,
    /// Commits before it.
    since: usize,
    read: BTreeSet<u64>,
    written: BTreeSet<u64>,
    savepoints: Vec<(Savepoint, Pages)>,
}

#[derive(Default)]
struct Actor {
    running: Option<Running>,
    session: Option<*mut Session>,
}

impl Actor {
    fn end_session(&mut self) {
        self.running = None;
        if let Some(session) = self.session.take() {
            // SAFETY: made by `Box::into_raw`, and the transaction that borrowed it has ended.
            drop(unsafe { Box::from_raw(session) });
        }
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.end_session();
    }
}

#[derive(Default, Debug)]
struct Tally {
    commits: u64,
    needless: u64,
    conflicts: u64,
    full: u64,
    inside: u64,
}

struct World {
    actors: Vec<Actor>,
    segment: Segment,
    mechanism: MechanismKind,
    committed: Pages,
    /// The pages that each commit changed.
    history: Vec<BTreeSet<u64>>,
    random: Random,
    slow: bool,
    patient: bool,
    tally: Tally,
}

impl World {
    fn new(mechanism: MechanismKind, seed: u64, sessions: usize) -> Self {
        let segment = options(mechanism)
            // Without patience writers are refused when the ring is full; with it, they wait until
            // the slow session's pages were copied.
            .slow_reader_wait(Duration::from_secs(10 * (seed % 2)))
            .open_private()
            .unwrap();
        segment.run(|tx| tx.grow_to(4 * 512 * PAGE)).unwrap();
        World {
            actors: (0..sessions).map(|_| Actor::default()).collect(),
            segment,
            mechanism,
            committed: Pages::new(),
            history: Vec::new(),
            random: Random::new(seed),
            slow: seed % 3 == 1,
            patient: seed % 2 == 1,
            tally: Tally::default(),
        }
    }

    fn step(&mut self) {
        let actor = self.random.below(self.actors.len() as u64) as usize;
        match self.actors[actor].running {
            None => self.step_outside(actor),
            Some(_) => self.step_inside(actor),
        }
    }

    fn step_outside(&mut self, actor: usize) {
        match self.random.below(100) {
            0 => self.actors[actor].end_session(),
            1..4 => self.peek(actor),
            _ => self.begin(actor),
        }
    }

    /// Reads outside of a transaction: the value is arbitrary, the next transaction is right.
    fn peek(&mut self, actor: usize) {
        let page = hot(&mut self.random);
        let allowed = self.mechanism == MechanismKind::Asynchronous;
        if let (Some(session), true) = (self.actors[actor].session, allowed) {
            // SAFETY: no transaction borrows the session now, and the page is in its view.
            unsafe {
                if (*session).length() > page * PAGE {
                    let at = (*session).address().add((page * PAGE) as usize);
                    at.read_volatile();
                }
            }
        }
    }

    fn begin(&mut self, actor: usize) {
        let kind = self.random.below(20);
        let begin = Begin {
            exclusive: kind == 0,
            read_only: kind < 4 && kind > 0,
        };
        let session = *self.actors[actor]
            .session
            .get_or_insert_with(|| Box::into_raw(Box::new(self.segment.session().unwrap())));
        // SAFETY: made by `Box::into_raw`; one transaction at a time borrows it, and ends before the session is
        // dropped.
        match Transaction::begin(unsafe { &mut *session }, begin) {
            Ok(transaction) => {
                self.actors[actor].running = Some(Running {
                    transaction,
                    begin,
                    sees: self.committed.clone(),
                    first: self.committed.clone(),
                    since: self.history.len(),
                    read: BTreeSet::new(),
                    written: BTreeSet::new(),
                    savepoints: Vec::new(),
                });
            }
            Err(SegmentError::InsideTransaction) => assert!(self.somebody_is_alone(begin)),
            Err(error) => panic!("begin: {error}"),
        }
    }

    fn somebody_is_alone(&self, begin: Begin) -> bool {
        let mut others = self.actors.iter().flat_map(|actor| &actor.running);
        begin.exclusive && others.any(|running| running.begin.exclusive)
    }

    fn step_inside(&mut self, actor: usize) {
        let mut choice = self.random.below(100);
        // In some programs one session goes on for long, so that the others fill the ring.
        if self.slow && actor == 0 && choice >= 80 && !self.random.chance(2) {
            choice = 0;
        }
        let random = &mut self.random;
        let running = self.actors[actor].running.as_mut().unwrap();
        match choice {
            0..30 => running.read(random),
            30..55 => running.write(random),
            55..68 if !self.slow => running.fill(random),
            55..68 => (0..12).for_each(|_| running.fill(random)),
            68..72 => running.touch(random),
            72..76 => running.save(),
            76..80 => {
                if !running.go_back(random) {
                    self.actors[actor].running = None;
                }
            }
            80 => running.grow(random),
            81..84 => self.actors[actor].running = None,
            84..86 => running.read_all(),
            _ => self.commit(actor),
        }
    }

    fn commit(&mut self, actor: usize) {
        let running = self.actors[actor].running.take().unwrap();
        let changed = running.written;
        let used = |page: &u64| running.read.contains(page) || changed.contains(page);
        let conflict = self.history[running.since..]
            .iter()
            .any(|commit| commit.iter().any(used));
        let (sees, first) = (&running.sees, &running.first);
        // Writes of the same bytes are not seen as changes by all mechanisms.
        let really: BTreeSet<u64> = (changed.iter().copied())
            .filter(|page| content_of(sees, *page) != content_of(first, *page))
            .collect();
        match running.transaction.commit() {
            Ok(None) => {
                assert!(
                    really.is_empty(),
                    "it changed something, and nothing was published"
                );
            }
            Ok(Some(_)) => {
                assert!(!conflict, "it used what others changed, and committed");
                assert!(!running.begin.read_only);
                for page in &changed {
                    let content = running.sees.get(page).expect("written").clone();
                    self.committed.insert(*page, content);
                }
                self.history.push(really);
                self.tally.commits += 1;
            }
            Err(SegmentError::Conflict { .. }) => match conflict {
                true => self.tally.conflicts += 1,
                false => {
                    assert!(!running.begin.exclusive, "nobody could have conflicted");
                    self.tally.needless += 1;
                }
            },
            Err(SegmentError::SlowReader { .. }) => {
                assert!(!self.patient, "the slow session's pages were not copied");
                self.tally.full += 1;
            }
            Err(SegmentError::InsideTransaction) => self.tally.inside += 1,
            // The explicit mechanism has a record for each time that a place is written.
            Err(SegmentError::TransactionTooLarge { .. })
                if self.mechanism == MechanismKind::Explicit => {}
            Err(error) => panic!("commit: {error}"),
        }
    }
}

impl Running {
    fn pages(&self) -> u64 {
        self.transaction.length() / PAGE
    }

    fn hot(&self, random: &mut Random) -> Option<u64> {
        let page = hot(random);
        (page < self.pages()).then_some(page)
    }

    fn check(&mut self, page: u64) {
        let place = P::<[u64; WORDS as usize]>::from_offset(page * PAGE);
        let found = self.transaction.get(place).unwrap();
        match self.sees.get(&page) {
            Some(content) => assert_eq!(found, &**content, "page {page}"),
            None => assert!(found.iter().all(|word| *word == 0), "page {page}"),
        }
        self.read.insert(page);
    }

    fn read(&mut self, random: &mut Random) {
        if let Some(page) = self.hot(random) {
            self.check(page);
        }
    }

    fn read_all(&mut self) {
        for page in (1..self.pages()).step_by(512) {
            self.check(page);
        }
    }

    fn may_write(&self) -> bool {
        !self.begin.read_only
    }

    /// Writes a word; sometimes with the bytes that it has already.
    fn write(&mut self, random: &mut Random) {
        let (Some(page), true) = (self.hot(random), self.may_write()) else {
            return;
        };
        let (index, value) = (random.below(WORDS), random.below(3));
        let place = P::<u64>::from_offset(page * PAGE + index * 8);
        self.transaction.write(place, value).unwrap();
        let content = self.sees.entry(page).or_insert_with(empty);
        Arc::make_mut(content)[index as usize] = value;
        self.written.insert(page);
    }

    /// Writes all of a page, so that the ring fills.
    fn fill(&mut self, random: &mut Random) {
        let (Some(page), true) = (self.hot(random), self.may_write()) else {
            return;
        };
        let start = random.next_u64();
        let content: [u64; WORDS as usize] =
            std::array::from_fn(|n| start.wrapping_add(n as u64) | 1);
        let place = P::<[u64; WORDS as usize]>::from_offset(page * PAGE);
        *self.transaction.get_mut(place).unwrap() = content;
        self.sees.insert(page, Arc::new(content));
        self.written.insert(page);
    }

    fn touch(&mut self, random: &mut Random) {
        let Some(page) = self.hot(random) else { return };
        let pages = (1 + random.below(4)).min(self.pages() - page);
        let access = match random.chance(50) && self.may_write() {
            true => Access::Write,
            false => Access::Read,
        };
        let range = page * PAGE..(page + pages) * PAGE;
        self.transaction.touch(range, access).unwrap();
        // It may commit or not if others changed a page that was only announced: as if the page was read.
        self.check(page);
    }

    fn save(&mut self) {
        let savepoint = self.transaction.savepoint().unwrap();
        self.savepoints.push((savepoint, self.sees.clone()));
    }

    /// Goes back to one of the savepoints; those made since are void.
    /// Not if the transaction can no longer commit anyway; it is then over.
    fn go_back(&mut self, random: &mut Random) -> bool {
        if self.savepoints.is_empty() {
            return true;
        }
        let n = random.below(self.savepoints.len() as u64) as usize;
        self.savepoints.truncate(n + 1);
        let (savepoint, sees) = &self.savepoints[n];
        match self.transaction.rollback_to(savepoint) {
            Ok(()) => (),
            Err(SegmentError::Conflict { .. }) => return false,
            Err(error) => panic!("roll back: {error}"),
        }
        self.sees = sees.clone();
        // Pages that are now as they were still count as used.
        let back = |page: &u64| content_of(&self.sees, *page) == content_of(&self.first, *page);
        let (same, written) = self.written.iter().partition(|page| back(page));
        self.written = written;
        self.read.append(&mut { same });
        true
    }

    fn grow(&mut self, random: &mut Random) {
        let pages = 512 * (4 + random.below(3));
        match self.transaction.grow_to(pages * PAGE) {
            Ok(()) => assert!(self.pages() >= pages),
            // A transaction that only reads cannot promise a length.
            Err(_) if self.begin.read_only => assert!(self.pages() < pages),
            Err(error) => panic!("{error}"),
        }
    }
}

fn content_of(pages: &Pages, page: u64) -> [u64; WORDS as usize] {
    pages.get(&page).map_or([0; _], |content| **content)
}

fn empty() -> Content {
    Arc::new([0; WORDS as usize])
}

fn run(mechanism: MechanismKind, seed: u64, sessions: usize, steps: u64) -> Tally {
    let mut world = World::new(mechanism, seed, sessions);
    for step in 0..steps {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.step()));
        if let Err(panic) = outcome {
            eprintln!("{mechanism:?}, seed {seed}, {sessions} sessions, step {step}");
            std::panic::resume_unwind(panic);
        }
    }
    std::mem::take(&mut world.tally)
}

fn programs(mechanism: MechanismKind) {
    let mut total = Tally::default();
    for seed in first_seed()..first_seed() + runs(10) {
        let tally = run(
            mechanism,
            seed,
            2 + (seed / 3 % 3) as usize,
            1000 + seed % 5 * 2000,
        );
        total.commits += tally.commits;
        total.needless += tally.needless;
        total.conflicts += tally.conflicts;
        total.full += tally.full;
        total.inside += tally.inside;
    }
    println!("{mechanism:?}: {total:?}");
    let Tally {
        commits,
        conflicts,
        inside,
        ..
    } = total;
    assert!(
        commits > 0 && conflicts > 0 && inside > 0,
        "nothing was tried"
    );
    assert!(
        total.needless < total.conflicts + total.commits,
        "{total:?}"
    );
}

#[test]
fn asynchronous_sessions_see_what_the_model_says() {
    programs(MechanismKind::Asynchronous);
}

#[test]
fn signal_sessions_see_what_the_model_says() {
    programs(MechanismKind::Signal);
}

#[test]
fn explicit_sessions_see_what_the_model_says() {
    programs(MechanismKind::Explicit);
}
