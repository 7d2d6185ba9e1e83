//! Random transactions against a plain model: closures, submitted closures and batches of a procedure. They are waited
//! for, awaited or dropped, committed, refused, failed and panicked. Shapes, group policies and durabilities vary,
//! with closing and reopening in between. In every shape the results are those of one transaction at a time in the
//! order of submission.

use crate::common;
use crate::common::{
    Item, Model, Note, Opened, PLANNED, SHAPES, VALUE, block_on, hide_planned_panics,
};
use proptest::collection::vec;
use proptest::prelude::*;
use sardonyx::disk::GroupPolicy;
use sardonyx::procedures::{BatchTicket, Procedure, ProcedureError, Registered, TableSpace};
use sardonyx::{Durability, Error, Journal, Options, Shape, Table, Ticket, Transaction};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u64),
    Update(u64, u64),
    Set(u64, u64),
    Delete(u64),
    Note(u64, u64),
    Get(u64),
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Commit,
    Fail,
    Panic,
    /// For procedures: refused by `check`.
    Refuse,
}

/// A transaction: the argument of a procedure, and the body of a closure.
#[derive(Clone, Debug)]
struct Plan {
    steps: Vec<Step>,
    ending: Ending,
}

#[derive(Clone, Copy, Debug)]
enum Wait {
    Now,
    Later,
    Await,
    Drop,
}

#[derive(Clone, Debug)]
enum Operation {
    Run(Plan, bool),
    Submit(Plan, Wait),
    Batch(Vec<Plan>, Wait),
    Call(Plan),
    Flush,
    Checkpoint,
    Reopen {
        close: bool,
        shape: Shape,
        policy: GroupPolicy,
    },
}

/// The results of the steps, one number each.
type Answers = Vec<u64>;

const NONE: u64 = u64::MAX;
const DUPLICATE: u64 = u64::MAX - 1;

/// Runs the plan in a transaction.
fn run(
    plan: &Plan,
    items: Table<Item>,
    notes: Journal<Note>,
    transaction: &mut Transaction<'_>,
) -> Result<Answers, Error> {
    let mut answers = Vec::new();
    for step in &plan.steps {
        answers.push(match *step {
            Step::Insert(id, value) => match transaction.insert(items, &Item::new(id, value)) {
                Ok(_) => 1,
                Err(Error::Duplicate(_)) => DUPLICATE,
                Err(error) => return Err(error),
            },
            Step::Update(id, value) => u64::from(
                transaction
                    .update(items, id, |item| item.value = value)?
                    .is_some(),
            ),
            Step::Set(id, value) => match transaction.find(items, id) {
                Some(row) => {
                    transaction.set(row, VALUE, value)?;
                    1
                }
                None => NONE,
            },
            Step::Delete(id) => transaction.delete(items, id)? as u64,
            Step::Note(account, amount) => {
                transaction.append(notes, &Note { account, amount })?;
                1
            }
            Step::Get(id) => transaction
                .get(items, id)
                .expect("read")
                .map_or(NONE, |item| item.value),
            Step::Count => transaction.count(items).expect("read"),
        });
    }
    match plan.ending {
        Ending::Commit | Ending::Refuse => Ok(answers),
        Ending::Fail => Err(Error::other("as planned")),
        Ending::Panic => panic!("{PLANNED}"),
    }
}

/// The expected answers of the plan; `None` if it does not commit.
fn expect(plan: &Plan, model: &mut Model, refusable: bool) -> Option<Answers> {
    let mut after = model.clone();
    let answers = plan
        .steps
        .iter()
        .map(|step| match *step {
            Step::Insert(id, _) if after.items.contains_key(&id) => DUPLICATE,
            Step::Insert(id, value) => {
                after.items.insert(id, value);
                1
            }
            Step::Update(id, value) => after.items.get_mut(&id).map_or(0, |old| {
                *old = value;
                1
            }),
            Step::Set(id, value) => after.items.get_mut(&id).map_or(NONE, |old| {
                *old = value;
                1
            }),
            Step::Delete(id) => after.items.remove(&id).is_some() as u64,
            Step::Note(account, amount) => {
                after.notes.push((account, amount));
                1
            }
            Step::Get(id) => after.items.get(&id).copied().unwrap_or(NONE),
            Step::Count => after.items.len() as u64,
        })
        .collect();
    let commits = match plan.ending {
        Ending::Commit => true,
        Ending::Refuse => !refusable,
        Ending::Fail | Ending::Panic => false,
    };
    commits.then(|| {
        *model = after;
        answers
    })
}

/// The plan as a procedure.
struct Planned {
    items: Table<Item>,
    notes: Journal<Note>,
}

impl Procedure for Planned {
    type Arguments = Plan;
    type Output = Answers;
    type Error = String;
    type Located = bool;

    fn name(&self) -> &str {
        "planned"
    }

    fn check(&self, plan: &Plan) -> Result<(), String> {
        match plan.ending {
            Ending::Refuse => Err("refused".into()),
            _ => Ok(()),
        }
    }

    fn locate(&self, plan: &Plan, _space: &TableSpace) -> bool {
        assert_ne!(plan.ending, Ending::Refuse, "refused ones are not located");
        true
    }

    fn execute(&self, plan: &Plan, _: bool, tx: &mut Transaction<'_>) -> Result<Answers, String> {
        run(plan, self.items, self.notes, tx).map_err(|error| error.to_string())
    }
}

/// A ticket that is waited for later, with its expected result.
enum Pending {
    One(Ticket<Result<Answers, Error>>, Plan, Option<Answers>),
    Many(BatchTicket<Answers, String>, Vec<(Plan, Option<Answers>)>),
}

fn check_one(got: Result<Result<Answers, Error>, Error>, plan: &Plan, expected: Option<Answers>) {
    match (got, plan.ending) {
        (Ok(Ok(answers)), _) => assert_eq!(Some(answers), expected, "{plan:?}"),
        (Ok(Err(Error::Other(_))), Ending::Fail) => {}
        (Err(Error::Panicked(cause)), Ending::Panic) => {
            assert!(cause.to_string().ends_with(PLANNED), "{cause}");
        }
        (other, _) => panic!("{plan:?}: {other:?}"),
    }
}

fn check_many(
    got: Vec<Result<Answers, ProcedureError<String>>>,
    expected: Vec<(Plan, Option<Answers>)>,
) {
    assert_eq!(got.len(), expected.len());
    for (got, (plan, expected)) in got.into_iter().zip(expected) {
        match (got, plan.ending) {
            (Ok(answers), _) => assert_eq!(Some(answers), expected, "{plan:?}"),
            (Err(ProcedureError::Aborted(why)), Ending::Refuse) => assert_eq!(why, "refused"),
            (Err(ProcedureError::Aborted(why)), Ending::Fail) => assert_eq!(why, "as planned"),
            (Err(ProcedureError::Panicked(why)), Ending::Panic) => assert_eq!(why, PLANNED),
            (other, _) => panic!("{plan:?}: {other:?}"),
        }
    }
}

impl Pending {
    fn settle(self, wait: Wait) {
        match (self, wait) {
            (Pending::One(ticket, plan, expected), Wait::Await) => {
                check_one(block_on(ticket), &plan, expected)
            }
            (Pending::One(ticket, plan, expected), _) => check_one(ticket.wait(), &plan, expected),
            (Pending::Many(ticket, expected), Wait::Await) => {
                check_many(block_on(ticket).expect("it ran"), expected)
            }
            (Pending::Many(ticket, expected), _) => {
                check_many(ticket.wait().expect("it ran"), expected)
            }
        }
    }
}

struct World {
    disk: SimulatedDisk,
    opened: Option<(Opened, Registered<Planned>)>,
    model: Model,
    pending: Vec<Pending>,
}

impl World {
    fn new(options: Options) -> World {
        let disk = SimulatedDisk::new(1, Faults::default());
        let mut world = World {
            disk,
            opened: None,
            model: Model::default(),
            pending: Vec::new(),
        };
        world.open(options);
        world
    }

    fn open(&mut self, options: Options) {
        let opened = Opened::on(&self.disk, options).expect("opens");
        let (items, notes) = (opened.items, opened.notes);
        let procedure = opened.database.register(Planned { items, notes });
        self.opened = Some((opened, procedure.expect("the first of its name")));
    }

    fn opened(&self) -> &(Opened, Registered<Planned>) {
        self.opened.as_ref().expect("open")
    }

    /// Transactions on the caller's thread come after all submitted ones.
    fn settle(&mut self) {
        for pending in self.pending.drain(..) {
            pending.settle(Wait::Later);
        }
        // Behind those whose tickets were dropped.
        let (opened, procedure) = self.opened();
        let ticket = opened.database.submit_batch(procedure, vec![], 0);
        assert!(ticket.wait().expect("it ran").is_empty());
    }

    fn hold(&mut self, pending: Pending, wait: Wait) {
        match wait {
            Wait::Now | Wait::Await => pending.settle(wait),
            Wait::Later => self.pending.push(pending),
            Wait::Drop => drop(pending),
        }
    }

    fn do_run(&mut self, plan: &Plan, durable: bool) {
        let durability = match durable {
            true => Durability::Durable,
            false => Durability::Deferred,
        };
        let expected = expect(plan, &mut self.model, false);
        let (opened, _) = self.opened();
        let (items, notes) = (opened.items, opened.notes);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let body = |tx: &mut Transaction<'_>| run(plan, items, notes, tx);
            opened
                .database
                .transaction()
                .durability(durability)
                .run(body)
        }));
        match (outcome, plan.ending) {
            (Ok(Ok(answers)), _) => assert_eq!(Some(answers), expected, "{plan:?}"),
            (Ok(Err(Error::Other(_))), Ending::Fail) => {}
            (Err(panic), Ending::Panic) => {
                assert_eq!(panic.downcast_ref::<String>().expect("a message"), PLANNED)
            }
            (other, _) => panic!("{plan:?}: {other:?}"),
        }
    }

    fn apply(&mut self, operation: &Operation) {
        if !matches!(operation, Operation::Submit(..) | Operation::Batch(..)) {
            self.settle();
        }
        match operation {
            Operation::Run(plan, durable) => self.do_run(plan, *durable),
            Operation::Submit(plan, wait) => {
                let expected = expect(plan, &mut self.model, false);
                let (opened, _) = self.opened();
                let (items, notes, its) = (opened.items, opened.notes, plan.clone());
                let ticket = opened
                    .database
                    .transaction()
                    .errors()
                    .submit(move |transaction| run(&its, items, notes, transaction));
                self.hold(Pending::One(ticket, plan.clone(), expected), *wait);
            }
            Operation::Batch(plans, wait) => {
                let model = &mut self.model;
                let expected = plans
                    .iter()
                    .map(|plan| (plan.clone(), expect(plan, model, true)))
                    .collect();
                let (opened, procedure) = self.opened();
                let ticket = opened.database.submit_batch(procedure, plans.clone(), 0);
                self.hold(Pending::Many(ticket, expected), *wait);
            }
            Operation::Call(plan) => {
                let expected = expect(plan, &mut self.model, true);
                let (opened, procedure) = self.opened();
                let outcome = opened.database.call(procedure, plan.clone());
                check_many(
                    vec![outcome.expect("it ran")],
                    vec![(plan.clone(), expected)],
                );
            }
            Operation::Flush => self.opened().0.database.flush().expect("flushes"),
            Operation::Checkpoint => self.opened().0.database.checkpoint().expect("completes"),
            Operation::Reopen {
                close,
                shape,
                policy,
            } => {
                let (opened, _) = self.opened.take().expect("open");
                match close {
                    true => opened.database.close().expect("closes"),
                    false => drop(opened),
                }
                self.open(common::options(*shape).group_policy(*policy));
            }
        }
    }

    fn check(&mut self) {
        self.settle();
        let opened = &self.opened().0;
        opened.database.flush().expect("flushes");
        assert_eq!(opened.contents().expect("readable"), self.model);
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = 0..40u64;
    let step = prop_oneof![
        3 => (id.clone(), any::<u32>()).prop_map(|(id, value)| Step::Insert(id, value.into())),
        3 => (id.clone(), any::<u32>()).prop_map(|(id, value)| Step::Update(id, value.into())),
        2 => (id.clone(), any::<u32>()).prop_map(|(id, value)| Step::Set(id, value.into())),
        2 => id.clone().prop_map(Step::Delete),
        2 => (id.clone(), any::<u32>()).prop_map(|(id, value)| Step::Note(id, value.into())),
        1 => id.prop_map(Step::Get),
        1 => Just(Step::Count),
    ];
    vec(step, 0..6)
}

fn plan() -> impl Strategy<Value = Plan> {
    let ending = prop_oneof![
        6 => Just(Ending::Commit), 1 => Just(Ending::Fail), 1 => Just(Ending::Panic),
        1 => Just(Ending::Refuse),
    ];
    (steps(), ending).prop_map(|(steps, ending)| Plan { steps, ending })
}

fn shape() -> impl Strategy<Value = Shape> {
    prop::sample::select(&SHAPES[..])
}

fn policy() -> impl Strategy<Value = GroupPolicy> {
    let fixed = |transactions, milliseconds| GroupPolicy::Fixed {
        transactions,
        time: Duration::from_millis(milliseconds),
    };
    prop::sample::select(vec![GroupPolicy::Adaptive, fixed(3, 2), fixed(1 << 20, 1)])
}

fn operation() -> impl Strategy<Value = Operation> {
    let wait = prop::sample::select(vec![Wait::Now, Wait::Later, Wait::Await, Wait::Drop]);
    prop_oneof![
        4 => (plan(), any::<bool>()).prop_map(|(plan, durable)| Operation::Run(plan, durable)),
        4 => (plan(), wait.clone()).prop_map(|(plan, wait)| Operation::Submit(plan, wait)),
        // Also more than are located together.
        4 => (vec(plan(), 0..90), wait).prop_map(|(plans, wait)| Operation::Batch(plans, wait)),
        1 => plan().prop_map(Operation::Call),
        1 => Just(Operation::Flush),
        1 => Just(Operation::Checkpoint),
        1 => (any::<bool>(), shape(), policy()).prop_map(|(close, shape, policy)| {
            Operation::Reopen { close, shape, policy }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(sardonyx_base::random::cases(15))
    })]

    #[test]
    fn every_shape_and_policy_does_what_one_transaction_at_a_time_would(
        shape in shape(), policy in policy(), operations in vec(operation(), 1..40)
    ) {
        hide_planned_panics();
        let mut world = World::new(common::options(shape).group_policy(policy));
        for operation in &operations {
            world.apply(operation);
        }
        world.check();
        // And again from the disk.
        world.apply(&Operation::Reopen { close: true, shape, policy });
        world.check();
    }
}
