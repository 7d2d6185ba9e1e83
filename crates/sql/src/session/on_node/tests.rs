//! Units on a node whose transactions a deadlock ends. The client gets one error, the transaction ends where its
//! statements end it, and later steps of the flight run. A thread that serves others steps aside where it waits for a
//! node.

use super::*;
use crate::database::Database;
use crate::store::store_of;
use crate::write_target::WriteTarget;
use sardonyx::nodes::{NodeError, NodeOptions, Nodes, StorageOptions};
use sardonyx_base::parking::wait;
use sardonyx_base::waiting::set_step_aside;
use sardonyx_rows::constraints::ComputeDefaults;
use std::cell::Cell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A node on which a deadlock ends some transactions, after their work.
#[derive(Debug)]
struct Victim {
    node: Arc<dyn NodeStore>,
    /// Deadlocks still to come.
    deadlocks: AtomicUsize,
    /// Transactions that the last flight began.
    runs: AtomicUsize,
    /// Transactions that kept a thread from serving others.
    in_the_way: AtomicUsize,
}

thread_local! {
    /// This thread serves others, and has not stepped aside.
    static SERVES: Cell<bool> = const { Cell::new(false) };
}

impl NodeStore for Victim {
    fn run(&self, act: &mut dyn FnMut(&mut dyn WriteTarget) -> bool) -> Result<bool, Error> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        (self.in_the_way).fetch_add(usize::from(SERVES.get()), Ordering::Relaxed);
        let fewer = |left: usize| left.checked_sub(1);
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        if self
            .deadlocks
            .fetch_update(success, failure, fewer)
            .is_err()
        {
            return self.node.run(act);
        }
        self.node.run(&mut |tx| {
            act(tx);
            false
        })?;
        Err(sardonyx::nodes::NodeError::Deadlock.into())
    }

    fn check_runs(&self) -> Result<(), Error> {
        self.node.check_runs()
    }

    fn compute_defaults_by(&self, computes: Arc<dyn ComputeDefaults>) {
        self.node.compute_defaults_by(computes);
    }
}

struct Fresh {
    session: Session,
    victim: Arc<Victim>,
    nodes: Nodes,
    _places: [tempfile::TempDir; 2],
}

fn fresh() -> Fresh {
    let directory = tempfile::tempdir().expect("a directory");
    let memory = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let options = NodeOptions {
        pages: 4096,
        slots: 4,
        shared_memory: memory.path().into(),
        storage: StorageOptions {
            memory_bytes_max: 1 << 27,
            workers: 1,
            ..StorageOptions::default()
        },
        ..NodeOptions::default()
    };
    let nodes = Nodes::open(directory.path().join("test.sdx"), options).expect("it opens");
    let victim = Arc::new(Victim {
        node: store_of(nodes.join().expect("a node")),
        deadlocks: AtomicUsize::new(0),
        runs: AtomicUsize::new(0),
        in_the_way: AtomicUsize::new(0),
    });
    let database = Database::over_node(victim.clone()).expect("it speaks SQL");
    let mut fresh = Fresh {
        session: Session::new(database, Default::default()).expect("a session"),
        victim,
        nodes,
        _places: [directory, memory],
    };
    let made = "create table t (id int primary key, x int); insert into t values (1, 0)";
    assert_eq!(
        fresh.told(0, &[made, "sync"]),
        ["CREATE TABLE", "INSERT 0 1", "I"]
    );
    fresh
}

impl Fresh {
    /// Runs statements, and `sync` for an end, in one flight, while a deadlock ends the given number of next
    /// transactions.
    fn told(&mut self, deadlocks: usize, flight: &[&str]) -> Vec<String> {
        let mut steps = Vec::new();
        for text in flight {
            if *text == "sync" {
                steps.push(Step::Sync);
                continue;
            }
            for statement in self.session.prepare(text, &[]).expect(text) {
                steps.push(Step::Execute {
                    statement,
                    parameters: Vec::new(),
                    rows_max: 0,
                });
            }
        }
        self.victim.deadlocks.store(deadlocks, Ordering::Relaxed);
        self.victim.runs.store(0, Ordering::Relaxed);
        let outcomes = wait(self.session.run(steps));
        assert_eq!(
            self.victim.deadlocks.load(Ordering::Relaxed),
            0,
            "{flight:?}"
        );
        let outcomes = outcomes.iter().map(|outcome| match outcome {
            Outcome::Done(complete) => complete.tag.to_string(),
            Outcome::Failed(error) => error.code.to_string(),
            Outcome::Skipped => "skipped".to_string(),
            Outcome::Synced(status) => char::from(status.letter()).to_string(),
        });
        outcomes.collect()
    }
}

const UPDATE: &str = "update t set x = x + 1 where id = 1";

#[test]
fn what_is_behind_the_end_of_a_deadlocks_victim_is_run() {
    let mut fresh = fresh();
    let insert = "insert into t values (2, 0)";
    let flight = ["begin", UPDATE, "sync", "commit", "sync", insert, "sync"];
    fresh.told(0, &flight[..3]);
    let told = fresh.told(1, &flight[3..]);
    assert_eq!(told, ["40001", "I", "INSERT 0 1", "I"]);
    // A skipped `COMMIT` ends nothing.
    let flight = [
        "begin", UPDATE, "commit", "sync", insert, "sync", "rollback", "sync",
    ];
    let told = fresh.told(1, &flight);
    let expected = [
        "BEGIN", "40001", "skipped", "E", "25P02", "E", "ROLLBACK", "I",
    ];
    assert_eq!(told, expected);
    assert_eq!(
        fresh.told(0, &["select * from t where x = 0", "sync"]),
        ["SELECT 2", "I"]
    );
    // The same holds for a block that continues after an end.
    let flight = [
        "begin", UPDATE, "sync", UPDATE, "sync", "commit", "sync", insert, "sync",
    ];
    let told = fresh.told(1, &flight);
    let expected = [
        "BEGIN", "40001", "E", "25P02", "E", "ROLLBACK", "I", "23505", "I",
    ];
    assert_eq!(told, expected);
    // And without one.
    let flight = [
        "begin", UPDATE, "sync", UPDATE, "commit", "sync", UPDATE, "sync",
    ];
    let told = fresh.told(0, &flight);
    let expected = [
        "BEGIN", "UPDATE 1", "T", "UPDATE 1", "COMMIT", "I", "UPDATE 1", "I",
    ];
    assert_eq!(told, expected);
    assert_eq!(
        fresh.told(0, &["select * from t where x = 3", "sync"]),
        ["SELECT 1", "I"]
    );
}

/// A flight that has a block with ends in it.
#[test]
fn a_block_is_one_transaction_of_the_node_whatever_ends_it_has() {
    let mut fresh = fresh();
    let mut flight = vec!["begin", "sync"];
    flight.extend([UPDATE, "sync"].repeat(20));
    flight.extend(["commit", "sync", UPDATE, "sync"]);
    fresh.told(0, &flight);
    // The block, and the statement after it.
    assert_eq!(fresh.victim.runs.load(Ordering::Relaxed), 2);
    assert_eq!(
        fresh.told(0, &["select * from t where x = 21", "sync"]),
        ["SELECT 1", "I"]
    );
}

#[test]
fn a_commit_that_a_deadlock_ends_has_ended_its_transaction() {
    let mut fresh = fresh();
    assert_eq!(
        fresh.told(0, &["begin", UPDATE, "sync"]),
        ["BEGIN", "UPDATE 1", "T"]
    );
    assert_eq!(fresh.told(1, &["commit", "sync"]), ["40001", "I"]);
    assert_eq!(
        fresh.told(0, &["begin", UPDATE, "sync"]),
        ["BEGIN", "UPDATE 1", "T"]
    );
    // A statement before the commit gets the error, and the commit is skipped: the client ends its transaction.
    let told = fresh.told(1, &[UPDATE, "commit", "sync"]);
    assert_eq!(told, ["40001", "skipped", "E"]);
    assert_eq!(fresh.told(0, &["rollback", "sync"]), ["ROLLBACK", "I"]);
    assert_eq!(
        fresh.told(0, &["select * from t where x = 0", "sync"]),
        ["SELECT 1", "I"]
    );
}

#[test]
fn a_thread_that_serves_others_steps_aside_for_a_node() {
    let mut fresh = fresh();
    set_step_aside(|work| {
        SERVES.set(false);
        work();
        SERVES.set(true);
    });
    SERVES.set(true);
    let select = "select * from t";
    let looks: [&[&str]; 4] = [
        &[select, "sync"],
        &["prepare a as select * from t", "vacuum t", "sync"],
        &["begin", "create table u (id int primary key)", "sync"],
        &["insert into u values (1)", "commit", "sync"],
    ];
    let told = looks.map(|flight| fresh.told(0, flight));
    SERVES.set(false);
    let expected: [&[&str]; 4] = [
        &["SELECT 1", "I"],
        &["PREPARE", "VACUUM", "I"],
        &["BEGIN", "CREATE TABLE", "T"],
        &["INSERT 0 1", "COMMIT", "I"],
    ];
    assert_eq!(told, expected);
    assert_eq!(fresh.victim.in_the_way.load(Ordering::Relaxed), 0);
}

/// The transaction has the catalogue's pages: another one would wait for ever.
#[test]
fn a_statement_that_is_prepared_within_a_transaction_is_compiled_when_it_is_run() {
    let mut fresh = fresh();
    let flight = [
        "begin; create table u (id int primary key); prepare a as select * from u; execute a",
        "sync",
    ];
    let told = fresh.told(0, &flight);
    assert_eq!(told, ["BEGIN", "CREATE TABLE", "PREPARE", "SELECT 0", "T"]);
    let told = fresh.told(0, &["commit", "execute a", "sync"]);
    assert_eq!(told, ["COMMIT", "SELECT 0", "I"]);
}

#[test]
fn a_time_limit_ends_the_wait_for_a_page_of_another_node() {
    let mut fresh = fresh();
    let other = fresh.nodes.join().expect("a node");
    let (has, waited) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        let holds = scope.spawn(|| {
            other.run(|tx| {
                tx.rows("t")?.delete(&[1.into()])?;
                has.wait();
                waited.wait();
                Ok::<_, NodeError>(())
            })
        });
        has.wait();
        let told = fresh.told(0, &["set statement_timeout = 1", "sync", UPDATE, "sync"]);
        let prepared = fresh.session.prepare("select * from t", &[]);
        waited.wait();
        assert_eq!(told, ["SET", "I", "57014", "I"]);
        assert!(prepared.is_ok(), "{prepared:?}");
        holds.join().expect("no panic").expect("it commits");
    });
    let told = fresh.told(0, &["reset statement_timeout", "sync", UPDATE, "sync"]);
    assert_eq!(told, ["RESET", "I", "UPDATE 0", "I"]);
}
