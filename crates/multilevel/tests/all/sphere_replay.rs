//! The purpose of persistence spheres. A crash leaves any prefix of the log. The pages in it are then those that
//! exactly the subtransactions in it make when they run one after the other.
//!
//! Subtransactions overlap in time as page locks admit. Each computes its writes from all that it has read before. So
//! one without another that it depends on comes out with other values. Spheres are taken at random and appended to a
//! log as page after-images. The images of pages on which a subtransaction is at work are its before-images. Errors in
//! each of these rules are planted.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use sardonyx_multilevel::PageId;
use sardonyx_multilevel::sphere::Spheres;
use std::collections::{BTreeMap, BTreeSet};

const PAGES: usize = 8;
const RUNNING: usize = 4;

type Contents = [u64; PAGES];

#[derive(Clone, Debug)]
enum Step {
    Access(usize, usize, bool),
    End(usize),
    Abort(usize),
    TakeOf(usize),
    TakePage(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        16 => (0..RUNNING, 0..PAGES, proptest::bool::weighted(0.4))
            .prop_map(|(who, page, write)| Step::Access(who, page, write)),
        5 => (0..RUNNING).prop_map(Step::End),
        1 => (0..RUNNING).prop_map(Step::Abort),
        2 => (0..10_usize).prop_map(Step::TakeOf),
        2 => (0..PAGES).prop_map(Step::TakePage),
    ]
}

/// The rule that is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Planted {
    Nothing,
    /// Pages that were only read do not count.
    ReadsForgotten,
    /// The current frame is written, even if a subtransaction is at work on it.
    CurrentFrame,
    /// Units are appended in another order than they were taken in.
    OutOfOrder,
    /// Only the pages of the transaction's own subtransactions are written.
    OwnPagesOnly,
}

/// A subtransaction: its accesses so far, and the values that it has read.
#[derive(Clone, Debug, Default)]
struct Subtransaction {
    state: u64,
    accesses: Vec<(usize, bool)>,
    before: BTreeMap<usize, u64>,
    read: BTreeSet<usize>,
}

fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(17) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (b >> 29)
}

impl Subtransaction {
    /// Reads a page, and writes to it a value computed from all that it has read.
    fn access(&mut self, contents: &mut Contents, page: usize, write: bool) {
        self.accesses.push((page, write));
        self.state = mix(self.state, contents[page]);
        self.read.insert(page);
        if write {
            self.before.entry(page).or_insert(contents[page]);
            contents[page] = self.state;
        }
    }
}

/// A unit that is appended to the log at once.
#[derive(Clone, Debug)]
struct Unit {
    images: Vec<(usize, u64)>,
    /// The subtransactions that it carries.
    carries: Vec<usize>,
}

struct Run {
    planted: Planted,
    contents: Contents,
    running: [Subtransaction; RUNNING],
    started: u64,
    /// In the order of their ends: their initial state, and their accesses.
    ended: Vec<(u64, Vec<(usize, bool)>)>,
    first_state: [u64; RUNNING],
    numbers: Vec<sardonyx_multilevel::sphere::SubtransactionNumber>,
    spheres: Spheres<usize>,
    log: Vec<Unit>,
}

impl Run {
    fn new(planted: Planted) -> Self {
        let mut run = Run {
            planted,
            contents: [0; PAGES],
            running: Default::default(),
            started: 0,
            ended: Vec::new(),
            first_state: [0; RUNNING],
            numbers: Vec::new(),
            spheres: Spheres::new(),
            log: Vec::new(),
        };
        (0..RUNNING).for_each(|who| run.begin(who));
        run
    }

    fn begin(&mut self, who: usize) {
        self.started += 1;
        self.first_state[who] = self.started;
        self.running[who] = Subtransaction {
            state: self.started,
            ..Default::default()
        };
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Access(who, page, write) => {
                let mut others = self.running.iter().enumerate().filter(|(at, _)| *at != who);
                let locked = others.any(|(_, other)| {
                    other.before.contains_key(&page) || (write && other.read.contains(&page))
                });
                if !locked {
                    self.running[who].access(&mut self.contents, page, write);
                }
            }
            Step::End(who) => self.end(who),
            Step::Abort(who) => {
                for (page, before) in std::mem::take(&mut self.running[who].before) {
                    self.contents[page] = before;
                }
                self.begin(who);
            }
            Step::TakeOf(back) => {
                let at = self.numbers.len().checked_sub(back + 1);
                let of = at.map(|at| self.numbers[at]);
                let taken = self.spheres.take(of);
                self.append(taken.pages, taken.subtransactions, at);
            }
            Step::TakePage(page) => {
                let taken = self.spheres.take_page(PageId(page as u64));
                self.append(taken.pages, taken.subtransactions, None);
            }
        }
    }

    fn end(&mut self, who: usize) {
        let ended = std::mem::take(&mut self.running[who]);
        if !ended.before.is_empty() {
            let id = |page: &usize| PageId(*page as u64);
            let modified: Vec<_> = ended.before.keys().map(id).collect();
            let mut read: Vec<_> = ended.read.iter().map(id).collect();
            if self.planted == Planted::ReadsForgotten {
                read.clear();
            }
            let at = self.ended.len();
            self.numbers
                .push(self.spheres.complete(&modified, &read, &[], at).number);
            self.ended.push((self.first_state[who], ended.accesses));
        }
        self.begin(who);
    }

    fn append(
        &mut self,
        pages: Vec<PageId>,
        subtransactions: Vec<(sardonyx_multilevel::sphere::SubtransactionNumber, usize)>,
        of: Option<usize>,
    ) {
        if subtransactions.is_empty() {
            return;
        }
        let mut carries: Vec<_> = subtransactions.into_iter().map(|(_, at)| at).collect();
        let mut pages: Vec<_> = pages.into_iter().map(|page| page.0 as usize).collect();
        if let (Planted::OwnPagesOnly, Some(own)) = (self.planted, of) {
            carries.retain(|at| *at == own);
            pages.retain(|page| self.ended[own].1.contains(&(*page, true)));
        }
        let images = pages
            .into_iter()
            .map(|page| (page, self.image(page)))
            .collect();
        self.log.push(Unit { images, carries });
        let last = self.log.len() - 1;
        if self.planted == Planted::OutOfOrder && last > 0 {
            self.log.swap(last - 1, last);
        }
    }

    /// A page as those that are complete have left it.
    fn image(&self, page: usize) -> u64 {
        let before = self
            .running
            .iter()
            .find_map(|running| running.before.get(&page));
        match before {
            Some(before) if self.planted != Planted::CurrentFrame => *before,
            _ => self.contents[page],
        }
    }

    /// Compares every prefix of the log with running its subtransactions again.
    fn check(&self) -> Result<(), String> {
        let mut recovered: Contents = [0; PAGES];
        let mut present: BTreeSet<usize> = BTreeSet::new();
        for (at, unit) in self.log.iter().enumerate() {
            for (page, image) in &unit.images {
                recovered[*page] = *image;
            }
            present.extend(&unit.carries);
            let mut again: Contents = [0; PAGES];
            for &at in &present {
                let (state, accesses) = &self.ended[at];
                let mut subtransaction = Subtransaction {
                    state: *state,
                    ..Default::default()
                };
                for (page, write) in accesses {
                    subtransaction.access(&mut again, *page, *write);
                }
            }
            if recovered != again {
                return Err(format!(
                    "after unit {at}: {recovered:x?} instead of {again:x?}"
                ));
            }
        }
        Ok(())
    }
}

fn run(planted: Planted, steps: &[Step]) -> Result<(), String> {
    let mut run = Run::new(planted);
    steps.iter().for_each(|step| run.step(step));
    let taken = run.spheres.take_all();
    run.append(taken.pages, taken.subtransactions, None);
    run.check()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(config(sardonyx_base::random::cases(400)))]

    #[test]
    fn every_prefix_of_the_log_is_a_serial_run_of_what_it_carries(steps in vec(step(), 1..120)) {
        run(Planted::Nothing, &steps).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn planted_errors_are_found() {
    let planted = [
        Planted::ReadsForgotten,
        Planted::CurrentFrame,
        Planted::OutOfOrder,
        Planted::OwnPagesOnly,
    ];
    for planted in planted {
        let mut runner = TestRunner::new(config(1));
        let cases = vec(step(), 1..120);
        let differs = |_| {
            let steps = cases.new_tree(&mut runner).unwrap().current();
            u32::from(run(planted, &steps).is_err())
        };
        let found: u32 = (0..300).map(differs).sum();
        assert!(found > 10, "{planted:?} in {found} of 300 cases");
    }
}
