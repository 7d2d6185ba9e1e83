//! Transactions on rows in the world of nodes: an operation that lacks a lock is stopped, asks for it, and is begun
//! again when it is granted. Each read is compared with the truth: the published rows, with the transaction's own
//! changes. At rest, and after a restart, every page of the tables is checked.

use crate::node::NodeError;
use crate::node::close::Close;
use crate::node::shell::Shell;
use crate::node::tables::access::{Access, Change};
use crate::node::tables::check::check;
use crate::node::tables::entries::{self, Keys};
use crate::node::tables::known::{Known, Used};
use crate::node::tables::tests::family;
use crate::node::tables::tests::model::{format, row};
use crate::node::tables::view::View;
use crate::node::tables::{PagesInUse, catalogue};
use crate::node::tests::world::{Page, Script, Stage, World};
use crate::node::work::WorkPoint;
use crate::protocol::{LockMode, Outcome, PageId, TransactionId, UpdateStrategy};
use sardonyx_base::random::Random;
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::tree::{self, Intent};
use std::collections::BTreeMap;
use std::ops::Bound;

pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
type Copies = BTreeMap<u64, (LockMode, Page)>;

const KEYS: u64 = 160;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Make,
    /// A step on tables that refer to each other.
    Family(family::Step),
    Insert(Vec<u8>, Vec<u8>),
    Put(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Get(Vec<u8>),
    Scan(Vec<u8>, usize),
}

/// A transaction's operations on rows.
#[derive(Clone, Debug)]
pub struct RowScript {
    steps: Vec<Step>,
    copies: Copies,
    /// Its changes: `None` is a row that went.
    own: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    made: Option<u32>,
}

impl RowScript {
    fn new(steps: Vec<Step>) -> RowScript {
        RowScript {
            steps,
            copies: Copies::new(),
            own: BTreeMap::new(),
            made: None,
        }
    }

    pub fn granted(&mut self, page: PageId, mode: LockMode, found: &[u8]) {
        self.copies.insert(page.0, (mode, found.to_vec()));
    }

    pub fn happened(&self, rows: &mut Rows, root: &mut Option<u32>) {
        for (key, value) in &self.own {
            match value {
                Some(value) => rows.insert(key.clone(), value.clone()),
                None => rows.remove(key),
            };
        }
        *root = root.or(self.made);
    }
}

/// A transaction that has some locks.
pub(super) struct Granted<'a> {
    shell: &'a mut Shell<Close>,
    transaction: TransactionId,
    rows: &'a mut RowScript,
    changed: &'a mut BTreeMap<PageId, Page>,
    bytes_max: usize,
    /// The lock that it lacks.
    wanted: Option<(PageId, LockMode)>,
    used: Used,
}

impl Granted<'_> {
    fn page(&mut self, page: u64, mode: LockMode) -> Result<&Page, NodeError> {
        match self.rows.copies.get(&page) {
            Some((has, bytes)) if *has >= mode => Ok(bytes),
            _ => {
                self.wanted = Some((PageId(page), mode));
                Err(NodeError::Deadlock)
            }
        }
    }
}

impl Access for Granted<'_> {
    fn slot(&self) -> usize {
        self.shell.coupling.slot
    }

    fn pages(&self) -> u64 {
        self.shell.coupling.gem.shape().pages as u64
    }

    fn read_page(
        &mut self,
        page: u64,
        mode: LockMode,
        into: &mut tree::Page,
    ) -> Result<(), NodeError> {
        into.copy_from_slice(self.page(page, mode)?);
        Ok(())
    }

    fn lock_to_write(&mut self, page: u64) -> Result<(), NodeError> {
        self.page(page, LockMode::Write).map(drop)
    }

    fn write_all(&mut self, changes: &[Change<'_>]) -> Result<(), NodeError> {
        let more = changes
            .iter()
            .map(|change| encoded_bytes(change.bytes.len()));
        let work = self.shell.local.transactions.get(&self.transaction);
        let bytes = more.sum::<usize>() + work.map_or(0, |work| work.record_bytes());
        if bytes > self.bytes_max {
            let bytes_max = self.bytes_max;
            return Err(NodeError::TransactionTooLarge { bytes, bytes_max });
        }
        for change in changes {
            let page = PageId(change.page);
            self.shell
                .local
                .write(self.transaction, page, change.offset, change.bytes)?;
            let (_, copy) = self
                .rows
                .copies
                .get_mut(&change.page)
                .expect("it is locked");
            copy[change.offset..][..change.bytes.len()].copy_from_slice(change.bytes);
            self.changed.insert(page, copy.clone());
        }
        Ok(())
    }

    fn database(&self) -> u64 {
        1
    }

    fn known(&self) -> Option<&Known> {
        None
    }

    fn used(&mut self) -> &mut Used {
        &mut self.used
    }

    fn point(&mut self) -> Result<WorkPoint, NodeError> {
        Ok(self.shell.local.point(self.transaction))
    }

    fn roll_back(&mut self, to: WorkPoint) -> Result<(), NodeError> {
        let local = &mut self.shell.local;
        local.roll_back(self.transaction, to);
        for (page, copy) in self.changed.iter_mut() {
            local.read(*page, 0, copy)?;
            let (_, own) = self.rows.copies.get_mut(&page.0).expect("it is locked");
            own.clone_from(copy);
        }
        Ok(())
    }
}

impl World {
    /// A world with a table, and transactions on its rows.
    pub fn with_rows(seed: u64, update: UpdateStrategy, authorisation: bool) -> World {
        let shape = (256, 10 + seed as usize % 24);
        let mut world = World::with_pages(seed, 3, update, authorisation, shape);
        // Some are given up.
        while world.root.is_none() {
            world.start_rows(0, vec![Step::Make]);
            world.come_to_rest();
        }
        world
    }

    pub(super) fn start_rows(&mut self, slot: usize, steps: Vec<Step>) {
        if let Some(transaction) = self.at(slot, |shell, _| shell.begin()) {
            let script = Script {
                slot,
                steps: Vec::new(),
                stage: Stage::Ask,
                changed: BTreeMap::new(),
                rows: Some(RowScript::new(steps)),
            };
            self.scripts.insert(transaction, script);
        }
    }

    pub fn begin_rows(&mut self, slot: usize) {
        let random = &mut self.random;
        if self.family {
            let steps = (0..1 + random.below(3)).map(|_| family::step(random));
            let steps = steps.map(Step::Family).collect();
            return self.start_rows(slot, steps);
        }
        let steps = (0..1 + random.below(4)).map(|_| step(random)).collect();
        self.start_rows(slot, steps);
    }

    /// The next operation, as far as the transaction has locks for it.
    pub fn advance_rows(&mut self, transaction: TransactionId, mut script: Script) {
        let slot = script.slot;
        let Some(mut rows) = script.rows.take() else {
            return;
        };
        let Some(step) = rows.steps.last().cloned() else {
            script.rows = Some(rows);
            self.scripts.insert(transaction, script);
            return self.prepare(transaction, slot);
        };
        // The rows visible to it.
        let mut there = self.rows.clone();
        rows.happened(&mut there, &mut None);
        let root = self.root;
        let changed = &mut script.changed;
        let done = self.at(slot, |shell, log| {
            let bytes_max = log.transaction_bytes_max(&shell.coupling.gem);
            let mut access = Granted {
                shell,
                transaction,
                rows: &mut rows,
                changed,
                bytes_max,
                wanted: None,
                used: Used::default(),
            };
            let done = run(&mut access, root, &step, &there);
            (done, access.wanted)
        });
        let Some((done, wanted)) = done else {
            // It was killed.
            return;
        };
        match (done, wanted) {
            (Ok(change), _) => {
                rows.steps.pop();
                match change {
                    Did::Nothing => {}
                    Did::Made(root) => rows.made = Some(root),
                    Did::Changed(key, value) => {
                        rows.own.insert(key, value);
                    }
                }
            }
            (Err(_), Some(wanted)) => script.steps.push(wanted),
            (Err(NodeError::TransactionTooLarge { .. } | NodeError::PagesFull { .. }), None) => {
                return self.end(transaction, Outcome::Aborted);
            }
            (Err(error), None) => panic!("{}: {error}", self.what),
        }
        script.rows = Some(rows);
        self.scripts.insert(transaction, script);
    }

    /// The stored pages have sound tables with exactly the rows that were committed.
    pub fn check_rows(&self) -> PagesInUse {
        let mut stored = Stored(
            |page: u64, into: &mut tree::Page| {
                self.gem.read_stored(PageId(page), into).unwrap();
            },
            Used::default(),
        );
        check_rows(&mut stored, self.root, &self.rows, &self.what)
    }
}

enum Did {
    Nothing,
    Made(u32),
    Changed(Vec<u8>, Option<Vec<u8>>),
}

fn run(
    access: &mut Granted<'_>,
    root: Option<u32>,
    step: &Step,
    there: &Rows,
) -> Result<Did, NodeError> {
    if let Step::Family(step) = step {
        return family::run(access, step).map(|()| Did::Nothing);
    }
    let mut view = View::new(access);
    let root = root.unwrap_or(0);
    let did = match step {
        Step::Family(_) => unreachable!("they are run as rows"),
        Step::Make => Did::Made(catalogue::make_table(&mut view, format(), 1)?.root),
        Step::Insert(key, value) => {
            let inserted = entries::insert(&mut view, root, key, value)?;
            assert_eq!(inserted, !there.contains_key(key), "insert {key:?}");
            match inserted {
                true => Did::Changed(key.clone(), Some(value.clone())),
                false => Did::Nothing,
            }
        }
        Step::Put(key, value) => {
            let found = entries::put(&mut view, root, key, value)?;
            assert_eq!(found, there.contains_key(key), "put {key:?}");
            Did::Changed(key.clone(), Some(value.clone()))
        }
        Step::Remove(key) => {
            let removed = entries::remove(&mut view, root, key)?;
            assert_eq!(removed.as_ref(), there.get(key), "remove {key:?}");
            Did::Changed(key.clone(), None)
        }
        Step::Get(key) => {
            let found = entries::get(&view, root, key, Intent::Read)?;
            assert_eq!(found.as_ref(), there.get(key), "get {key:?}");
            Did::Nothing
        }
        Step::Scan(from, limit) => {
            let keys = Keys {
                lower: Bound::Included(from.clone()),
                upper: Bound::Unbounded,
            };
            let found = entries::scan(&view, root, &keys, *limit, false)?;
            let expected = there.range(from.clone()..).take(*limit);
            let expected = expected.map(|(key, value)| (key.clone(), value.clone()));
            assert!(found == expected.collect::<Vec<_>>(), "scan from {from:?}");
            Did::Nothing
        }
    };
    view.finish().map(|()| did)
}

fn step(random: &mut Random) -> Step {
    let length = match random.below(12) {
        0 => 1200 + random.below(800),
        1..9 => 250 + random.below(350),
        _ => random.below(30),
    };
    let key = random.below(KEYS).to_be_bytes();
    let value = vec![random.next() as u8; length as usize];
    let (key, value) = row(&format(), &key[6..], &value);
    match random.below(16) {
        0..5 => Step::Insert(key, value),
        5..8 => Step::Put(key, value),
        8..11 => Step::Remove(key),
        11..15 => Step::Get(key),
        _ => Step::Scan(key, 1 + random.below(12) as usize),
    }
}

/// Pages that do not change.
pub(super) struct Stored<F>(pub F, pub Used);

impl<F: FnMut(u64, &mut tree::Page)> Access for Stored<F> {
    fn slot(&self) -> usize {
        0
    }

    fn pages(&self) -> u64 {
        256
    }

    fn read_page(
        &mut self,
        page: u64,
        _: LockMode,
        into: &mut tree::Page,
    ) -> Result<(), NodeError> {
        (self.0)(page, into);
        Ok(())
    }

    fn lock_to_write(&mut self, _: u64) -> Result<(), NodeError> {
        unreachable!("nothing is changed")
    }

    fn write_all(&mut self, _: &[Change<'_>]) -> Result<(), NodeError> {
        unreachable!("nothing is changed")
    }

    fn database(&self) -> u64 {
        0
    }

    fn known(&self) -> Option<&Known> {
        None
    }

    fn used(&mut self) -> &mut Used {
        &mut self.1
    }

    fn point(&mut self) -> Result<WorkPoint, NodeError> {
        unreachable!("nothing is changed")
    }

    fn roll_back(&mut self, _: WorkPoint) -> Result<(), NodeError> {
        unreachable!("nothing is changed")
    }
}

fn check_rows(access: &mut dyn Access, root: Option<u32>, rows: &Rows, what: &str) -> PagesInUse {
    let view = View::new(access);
    let found = check(&view).unwrap_or_else(|error| panic!("{what}: {error}"));
    let keys = Keys {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    let all = entries::scan(&view, root.unwrap_or(0), &keys, usize::MAX, false).unwrap();
    let expected = rows.iter().map(|(key, value)| (key.clone(), value.clone()));
    assert!(all == expected.collect::<Vec<_>>(), "{what}: rows");
    found
}

/// The same of a store, as it is opened again.
pub fn check_rows_in(bytes: &[u8], root: Option<u32>, rows: &Rows, what: &str) {
    let mut stored = Stored(
        |page: u64, into: &mut tree::Page| {
            let start = page as usize * PAGE_SIZE;
            match bytes.get(start..start + PAGE_SIZE) {
                Some(found) => into.copy_from_slice(found),
                None => into.fill(0),
            }
        },
        Used::default(),
    );
    check_rows(&mut stored, root, rows, what);
}
