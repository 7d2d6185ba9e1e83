//! Persistence spheres against the DASDBS paper's definition, taken to the letter: sets of pages, merged
//! until nothing changes, computed from scratch after each step.
//!
//! The subtransactions of a case overlap in time: they read and write pages as page locks admit, and
//! the model remembers when. So it is also tested that the pages named at the end of a subtransaction
//! show which it read after the end of another.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use sardonyx_multilevel::PageId;
use sardonyx_multilevel::sphere::{Completed, Spheres, SubtransactionNumber};
use std::collections::{BTreeMap, BTreeSet};

const PAGES: u64 = 8;
const RUNNING: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    /// One of those that run reads a page, or writes it, unless it is locked.
    Access(usize, u64, bool),
    /// One of those that run ends; it joins so many of the last that ended.
    End(usize, usize),
    /// A transaction of some of those that ended, counted from the last, ends.
    Take(Vec<usize>),
    /// A page is forced.
    TakePage(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let joins = prop_oneof![8 => Just(0), 1 => Just(1), 1 => Just(2)];
    prop_oneof![
        12 => (0..RUNNING, 0..PAGES, proptest::bool::weighted(0.4))
            .prop_map(|(who, page, write)| Step::Access(who, page, write)),
        6 => (0..RUNNING, joins).prop_map(|(who, joins)| Step::End(who, joins)),
        1 => vec(0..12_usize, 0..3).prop_map(Step::Take),
        1 => (0..PAGES).prop_map(Step::TakePage),
    ]
}

/// A subtransaction in the model.
#[derive(Clone, Debug, Default)]
struct Subtransaction {
    /// The time of its last read of each page.
    read: BTreeMap<u64, usize>,
    modified: BTreeSet<u64>,
    joined: Vec<usize>,
    ended: usize,
    written: bool,
}

#[derive(Default)]
struct Model {
    clock: usize,
    running: [Subtransaction; RUNNING],
    ended: Vec<Subtransaction>,
}

/// A sphere in the model: its pages and its subtransactions.
type Sphere = (BTreeSet<u64>, BTreeSet<usize>);

impl Model {
    fn access(&mut self, who: usize, page: u64, write: bool) {
        self.clock += 1;
        let others = (0..RUNNING).filter(|other| *other != who);
        let locked = others.map(|other| &self.running[other]).any(|other| {
            other.modified.contains(&page) || (write && other.read.contains_key(&page))
        });
        if locked {
            return;
        }
        self.running[who].read.insert(page, self.clock);
        if write {
            self.running[who].modified.insert(page);
        }
    }

    fn unwritten(&self) -> Vec<usize> {
        let all = 0..self.ended.len();
        all.filter(|&at| !self.ended[at].written).collect()
    }

    /// Returns true if the later one has read a page that the earlier one modified.
    fn has_read(&self, later: usize, pages: &BTreeSet<u64>, earlier: usize) -> bool {
        let read = &self.ended[later].read;
        let after = |page| {
            read.get(page)
                .is_some_and(|&at| at > self.ended[earlier].ended)
        };
        pages.iter().any(after)
    }

    /// Merges spheres of one while some are to be merged.
    fn merged(&self, to_be: impl Fn(&Self, &Sphere, &Sphere) -> bool) -> Vec<Sphere> {
        let alone = |at: usize| (self.ended[at].modified.clone(), BTreeSet::from([at]));
        let mut spheres: Vec<Sphere> = self.unwritten().into_iter().map(alone).collect();
        'again: loop {
            for first in 0..spheres.len() {
                for second in 0..spheres.len() {
                    if first == second || !to_be(self, &spheres[first], &spheres[second]) {
                        continue;
                    }
                    let (pages, members) = spheres[second].clone();
                    spheres[first].0.extend(pages);
                    spheres[first].1.extend(members);
                    spheres.remove(second);
                    continue 'again;
                }
            }
            return spheres;
        }
    }

    /// The subtransactions that have to be together: those that modified the same page, those that read a *modified*
    /// page of another after its end, and those that were joined.
    fn spheres(&self) -> Vec<Sphere> {
        self.merged(|model, first, second| {
            let pairs = || {
                first
                    .1
                    .iter()
                    .flat_map(|i| second.1.iter().map(move |k| (*i, *k)))
            };
            pairs().any(|(i, k)| {
                let modified = &model.ended[i].modified;
                !modified.is_disjoint(&model.ended[k].modified)
                    || model.has_read(k, modified, i)
                    || model.ended[k].joined.contains(&i)
            })
        })
    }

    /// The paper's words: a sphere includes each subtransaction that read, after another's end, a page of its
    /// *sphere*. That is coarser: it also counts one that read the page before it was modified at all, by a third one,
    /// through which it came into the sphere.
    fn spheres_to_the_letter(&self) -> Vec<Sphere> {
        self.merged(|model, first, second| {
            let pairs = || {
                first
                    .1
                    .iter()
                    .flat_map(|i| second.1.iter().map(move |k| (*i, *k)))
            };
            !first.0.is_disjoint(&second.0)
                || pairs().any(|(i, k)| {
                    model.has_read(k, &first.0, i) || model.ended[k].joined.contains(&i)
                })
        })
    }

    /// Takes the spheres of some subtransactions out.
    fn take(&mut self, of: &[usize]) -> Sphere {
        let mut taken = Sphere::default();
        for (pages, members) in self.spheres() {
            if of.iter().any(|at| members.contains(at)) {
                taken.0.extend(pages);
                taken.1.extend(members);
            }
        }
        for &at in &taken.1 {
            self.ended[at].written = true;
        }
        taken
    }
}

/// The tested bookkeeping: the real one, or one with a planted error.
trait Bookkeeping {
    fn real(&mut self) -> &mut Spheres<usize>;

    fn complete(
        &mut self,
        modified: &[PageId],
        read: &[PageId],
        joined: &[SubtransactionNumber],
        payload: usize,
    ) -> Completed {
        self.real().complete(modified, read, joined, payload)
    }
}

impl Bookkeeping for Spheres<usize> {
    fn real(&mut self) -> &mut Spheres<usize> {
        self
    }
}

macro_rules! ensure_eq {
    ($left:expr, $right:expr, $what:expr) => {
        let (left, right) = (&$left, &$right);
        if left != right {
            return Err(format!("{}: {left:?} instead of {right:?}", $what));
        }
    };
}

/// Lets both do the steps; the first difference is an error.
fn compare(real: &mut dyn Bookkeeping, steps: &[Step]) -> Result<(), String> {
    let mut model = Model::default();
    let mut numbers = Vec::new();
    for step in steps {
        match step {
            Step::Access(who, page, write) => model.access(*who, *page, *write),
            Step::End(who, joins) => end(&mut model, real, &mut numbers, *who, *joins)?,
            Step::Take(of) => {
                let last = model.ended.len();
                let of: Vec<_> = of
                    .iter()
                    .filter_map(|back| last.checked_sub(back + 1))
                    .collect();
                let taken = real.real().take(of.iter().map(|&at| numbers[at]));
                compare_taken(&taken, &model.take(&of), &numbers)?;
            }
            Step::TakePage(page) => {
                let modified = |at: &usize| model.ended[*at].modified.contains(page);
                let of: Vec<_> = model.unwritten().into_iter().filter(modified).collect();
                let taken = real.real().take_page(PageId(*page));
                compare_taken(&taken, &model.take(&of), &numbers)?;
            }
        }
        compare_states(&model, real.real(), &numbers)?;
    }
    let all = model.unwritten();
    compare_taken(&real.real().take_all(), &model.take(&all), &numbers)?;
    ensure_eq!(real.real().is_empty(), true, "empty at last");
    Ok(())
}

fn end(
    model: &mut Model,
    real: &mut dyn Bookkeeping,
    numbers: &mut Vec<SubtransactionNumber>,
    who: usize,
    joins: usize,
) -> Result<(), String> {
    model.clock += 1;
    let mut ended = std::mem::take(&mut model.running[who]);
    let at = model.ended.len();
    ended.ended = model.clock;
    ended.joined = (at.saturating_sub(joins)..at).collect();
    let modified: Vec<_> = ended.modified.iter().map(|page| PageId(*page)).collect();
    let only_read = ended
        .read
        .keys()
        .filter(|page| !ended.modified.contains(page));
    let read: Vec<_> = only_read.map(|page| PageId(*page)).collect();
    let joined: Vec<_> = ended.joined.iter().map(|&at| numbers[at]).collect();
    model.ended.push(ended);
    let completed = real.complete(&modified, &read, &joined, at);
    numbers.push(completed.number);
    ensure_eq!(completed.number.sequence(), at as u64 + 1, "number");
    let spheres = model.spheres();
    let sphere = spheres.iter().find(|(_, members)| members.contains(&at));
    ensure_eq!(completed.pages_in_sphere, sphere.unwrap().0.len(), "pages");
    Ok(())
}

fn compare_taken(
    taken: &sardonyx_multilevel::sphere::Taken<usize>,
    expected: &Sphere,
    numbers: &[SubtransactionNumber],
) -> Result<(), String> {
    let pages: Vec<_> = expected.0.iter().map(|page| PageId(*page)).collect();
    let members: Vec<_> = expected.1.iter().map(|&at| (numbers[at], at)).collect();
    ensure_eq!(taken.pages, pages, "pages taken");
    ensure_eq!(taken.subtransactions, members, "subtransactions taken");
    ensure_eq!(taken.is_empty(), members.is_empty(), "nothing taken");
    Ok(())
}

fn compare_states(
    model: &Model,
    real: &Spheres<usize>,
    numbers: &[SubtransactionNumber],
) -> Result<(), String> {
    let expected = model.spheres();
    for (at, number) in numbers.iter().enumerate() {
        ensure_eq!(
            real.is_unwritten(*number),
            !model.ended[at].written,
            "unwritten"
        );
    }
    for page in 0..PAGES {
        let dirty = expected.iter().any(|(pages, _)| pages.contains(&page));
        ensure_eq!(real.is_dirty(PageId(page)), dirty, "dirty");
    }
    let mut spheres: Vec<_> = real
        .spheres()
        .map(|s| (s.pages, s.subtransactions))
        .collect();
    let mut sizes: Vec<_> = expected.iter().map(|s| (s.0.len(), s.1.len())).collect();
    spheres.sort_unstable();
    sizes.sort_unstable();
    ensure_eq!(spheres, sizes, "spheres");
    ensure_eq!(real.len(), sizes.len(), "number of spheres");
    ensure_eq!(
        real.unwritten(),
        model.unwritten().len(),
        "number of unwritten"
    );
    let largest = sizes.last().map(|size| size.0);
    ensure_eq!(real.largest().map(|s| s.pages), largest, "the largest");
    ensure_eq!(
        real.over(2).count(),
        sizes.iter().filter(|size| size.0 > 2).count(),
        "over a threshold"
    );
    for sphere in real.spheres() {
        let at = numbers
            .iter()
            .position(|number| *number == sphere.member)
            .unwrap();
        let same = expected
            .iter()
            .find(|(_, members)| members.contains(&at))
            .unwrap();
        ensure_eq!(sphere.pages, same.0.len(), "the sphere of a member");
    }
    let letter = model.spheres_to_the_letter();
    let within = |sphere: &Sphere| letter.iter().any(|coarse| sphere.1.is_subset(&coarse.1));
    ensure_eq!(
        expected.iter().all(within),
        true,
        "within the paper's spheres"
    );
    Ok(())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(5),
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(config(sardonyx_base::random::cases(100)))]

    #[test]
    fn spheres_are_those_of_the_definition(steps in vec(step(), 1..70)) {
        compare(&mut Spheres::new(), &steps).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn the_papers_words_merge_more_than_is_needed() {
    // T2 reads page 0 and changes page 1. Then T3 changes pages 0 and 2, the latter after T1.
    let mut model = Model::default();
    let mut real: Spheres<usize> = Spheres::new();
    let mut numbers = Vec::new();
    for (who, accesses) in [
        (0, &[(2, true)][..]),
        (1, &[(0, false), (1, true)][..]),
        (2, &[(0, true), (2, true)][..]),
    ] {
        for &(page, write) in accesses {
            model.access(who, page, write);
        }
        end(&mut model, &mut real, &mut numbers, who, 0).unwrap();
    }
    assert_eq!(model.spheres().len(), 2);
    assert_eq!(model.spheres_to_the_letter().len(), 1);
    compare_states(&model, &real, &numbers).unwrap();
}

/// The number of cases that show a planted error.
fn found(plant: impl Fn() -> Box<dyn Bookkeeping>) -> u32 {
    let mut runner = TestRunner::new(config(1));
    let cases = vec(step(), 1..70);
    let differs = |_| {
        let steps = cases.new_tree(&mut runner).unwrap().current();
        u32::from(compare(&mut *plant(), &steps).is_err())
    };
    (0..100).map(differs).sum()
}

macro_rules! planted {
    ($name:ident, $test:ident, |$inner:ident, $modified:ident, $read:ident, $joined:ident|
        $complete:expr) => {
        #[derive(Default)]
        struct $name(Spheres<usize>);

        impl Bookkeeping for $name {
            fn real(&mut self) -> &mut Spheres<usize> {
                &mut self.0
            }

            fn complete(
                &mut self,
                $modified: &[PageId],
                $read: &[PageId],
                $joined: &[SubtransactionNumber],
                payload: usize,
            ) -> Completed {
                let $inner = &mut self.0;
                let (modified, read, joined) = $complete;
                $inner.complete(modified, read, joined, payload)
            }
        }

        #[test]
        fn $test() {
            let found = found(|| Box::new($name::default()));
            assert!(found > 30, "in {found} of 100 cases");
        }
    };
}

planted!(
    NoReads,
    forgotten_reads_are_found,
    |_inner, modified, _read, joined| { (modified, &[][..], joined) }
);
planted!(
    NoJoins,
    forgotten_joins_are_found,
    |_inner, modified, read, _joined| { (modified, read, &[][..]) }
);
planted!(
    ReadIsModified,
    read_pages_in_a_sphere_are_found,
    |_inner, modified, read, joined| { (&[modified, read].concat()[..], read, joined) }
);
planted!(
    FirstPageOnly,
    a_forgotten_page_is_found,
    |_inner, modified, read, joined| { (&modified[..modified.len().min(1)], read, joined) }
);
planted!(
    Eager,
    joins_too_many_are_found,
    |inner, modified, read, joined| {
        let first: Vec<_> = inner
            .spheres()
            .map(|sphere| sphere.member)
            .take(1)
            .collect();
        (modified, read, &[joined, &first].concat()[..])
    }
);

#[test]
fn numbers_of_the_taken_are_never_those_of_others() {
    let mut spheres = Spheres::new();
    let page = PageId(7);
    let mut taken: Vec<SubtransactionNumber> = Vec::new();
    for _ in 0..100 {
        // The slot is used again; the number is not.
        let number = spheres.complete(&[page], &[], &[], ()).number;
        assert!(
            taken
                .iter()
                .all(|before| *before < number && !spheres.is_unwritten(*before))
        );
        assert!(spheres.take(taken.iter().copied()).is_empty());
        assert_eq!(spheres.take_page(page).subtransactions, [(number, ())]);
        taken.push(number);
    }
    let statistics = spheres.statistics();
    assert_eq!(statistics.taken, 100);
    assert_eq!(statistics.taken_empty, 100);
    assert_eq!(
        (statistics.taken_pages, statistics.taken_pages_max),
        (100, 1)
    );
}

#[test]
fn compensations_are_chained_by_joining() {
    let [p, q] = [PageId(0), PageId(1)];
    let begin = |spheres: &mut Spheres<&'static str>| {
        let a = spheres.complete(&[p], &[], &[], "A").number;
        let b = spheres.complete(&[q], &[p], &[], "B").number;
        spheres.take([a, b]);
        (a, b, spheres.complete(&[q], &[p], &[b], "undo B").number)
    };
    // By pages alone, the second compensation could be written without the first.
    let mut spheres = Spheres::new();
    let (a, ..) = begin(&mut spheres);
    let undo_a = spheres.complete(&[p], &[], &[a], "undo A").number;
    assert_eq!(spheres.take([undo_a]).pages, [p]);
    // Joined to it, it cannot.
    let mut spheres = Spheres::new();
    let (a, _, undo_b) = begin(&mut spheres);
    let undo_a = spheres.complete(&[p], &[], &[a, undo_b], "undo A").number;
    assert_eq!(spheres.take([undo_a]).pages, [p, q]);
}
