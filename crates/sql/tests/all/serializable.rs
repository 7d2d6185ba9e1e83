//! Interactive transactions of several sessions, interleaved at random by a seed. The committed ones are then run one
//! after the other on a fresh database. Those that changed rows run in the order of their commits, the others at a
//! place between their first statement and their commit. Each must get the same answers, and the tables must end the
//! same. That is the meaning of serializable.

use crate::common::{Fresh, lines, query, run};
use proptest::prelude::*;
use proptest::test_runner::Config;
use sardonyx_sql::{Complete, Session, TransactionStatus, code};

const KEYS: i64 = 4;

/// A command of a session in a transaction.
#[derive(Clone, Debug)]
enum Say {
    Statement(String),
    /// Several at once, as one flight.
    Together(Vec<String>),
    Savepoint,
    BackToSavepoint,
    Commit,
    Rollback,
}

fn statement() -> impl Strategy<Value = String> {
    let key = 0..KEYS;
    prop_oneof![
        key.clone().prop_map(|k| format!("select x from t where id = {k}")),
        key.clone().prop_map(|k| format!("update t set x = x + 1 where id = {k}")),
        (key.clone(), 0..100_i64)
            .prop_map(|(k, x)| format!("update t set x = {x} where id = {k} returning x")),
        (key.clone(), key.clone()).prop_map(|(from, to)| format!(
            "update t set x = (case when id = {from} then x - 1 else x + 1 end) where id in ({from}, {to})"
        )),
        Just("select count(*), sum(x) from t".to_string()),
        Just("select id, x from t where x > 50 order by id".to_string()),
        Just("insert into t select max(id) + 1, 0 from t".to_string()),
        key.clone().prop_map(|k| format!("delete from t where id = {k} and x > 20")),
        key.clone().prop_map(|k| format!("insert into t values ({k}, 7) on conflict (id) do update set x = t.x * 2")),
        Just("select id from t where x = (select max(x) from t) order by id".to_string()),
        Just("select id, (select count(*) from t u where u.x < t.x) from t".to_string()),
        Just("select id from t where id < 2 union all select x from t where x in (select id from t)".to_string()),
        key.clone().prop_map(|k| format!(
            "update t set x = (select sum(u.x) % 50 from t u where u.id <> t.id) where id = {k}"
        )),
        key.clone().prop_map(|k| format!(
            "insert into t select {k}, 30 where not exists (select from t where id = {k})"
        )),
        Just("delete from t where id in (select max(id) from t having count(*) > 3)".to_string()),
        Just("insert into t select id + 100, x from t where id < 2 on conflict do nothing".to_string()),
    ]
}

fn says() -> impl Strategy<Value = Say> {
    prop_oneof![
        6 => statement().prop_map(Say::Statement),
        2 => prop::collection::vec(statement(), 1..4).prop_map(Say::Together),
        1 => Just(Say::Savepoint),
        1 => Just(Say::BackToSavepoint),
        3 => Just(Say::Commit),
        1 => Just(Say::Rollback),
    ]
}

/// A statement with its answer; of one that failed, the code.
#[derive(Clone, PartialEq, Debug)]
struct Told {
    text: String,
    tags: Vec<String>,
    lines: Vec<Vec<String>>,
}

fn failed_with(text: &str, code: &str) -> Told {
    Told {
        text: text.to_string(),
        tags: vec![code.to_string()],
        lines: Vec::new(),
    }
}

fn told(text: &str, done: &[Complete]) -> Told {
    Told {
        text: text.to_string(),
        tags: done.iter().map(|one| one.tag.to_string()).collect(),
        // Without an order, rows have any.
        lines: done
            .iter()
            .map(|one| {
                let mut lines = lines(one);
                lines.sort();
                lines
            })
            .collect(),
    }
}

/// A session with the answers of its transaction.
struct Talker {
    session: Session,
    history: Vec<Told>,
    has_savepoint: bool,
    /// The number of writers that had committed at its first statement.
    first: Option<usize>,
    wrote: bool,
}

/// A committed transaction. One that changed nothing comes after at least `first` writers and at most `last`.
struct Committed {
    first: usize,
    last: usize,
    wrote: bool,
    history: Vec<Told>,
}

impl Talker {
    /// Runs a command, when `writers` writers have committed. Returns the transaction, if it committed.
    fn say(&mut self, say: &Say, writers: usize) -> Option<Committed> {
        if self.session.status() == TransactionStatus::Idle {
            run(&mut self.session, "begin").expect("it begins");
            self.history.clear();
            self.has_savepoint = false;
            self.first = None;
            self.wrote = false;
        }
        if let Say::Statement(_) | Say::Together(_) = say {
            self.first.get_or_insert(writers);
        }
        let failed = self.session.status() == TransactionStatus::Failed;
        match say {
            Say::Statement(text) => self.run(text),
            Say::Together(texts) => self.run(&texts.join("; ")),
            Say::Savepoint => {
                if let Ok(done) = run(&mut self.session, "savepoint s") {
                    self.has_savepoint = true;
                    self.history.push(told("savepoint s", &done));
                }
            }
            Say::BackToSavepoint => {
                let result = run(&mut self.session, "rollback to s");
                assert_eq!(result.is_ok(), self.has_savepoint);
                // Earlier answers stay: the client may act upon them.
                if let Ok(done) = result {
                    self.history.push(told("rollback to s", &done));
                }
            }
            Say::Rollback => {
                run(&mut self.session, "rollback").expect("it is rolled back");
            }
            Say::Commit => match run(&mut self.session, "commit") {
                Ok(done) if done[0].tag.to_string() == "COMMIT" => {
                    assert!(!failed, "what failed does not commit");
                    let first = self.first.unwrap_or(writers);
                    return Some(Committed {
                        first,
                        // One that only reads has the state of its first statement.
                        last: if self.wrote { writers } else { first },
                        wrote: self.wrote,
                        history: std::mem::take(&mut self.history),
                    });
                }
                Ok(_) => assert!(failed),
                Err(error) => assert_eq!(error.code, code::SERIALIZATION_FAILURE),
            },
        }
        None
    }

    fn run(&mut self, text: &str) {
        let writes = text.split("; ").any(|one| !one.starts_with("select"));
        let failed = self.session.status() == TransactionStatus::Failed;
        match run(&mut self.session, text) {
            Ok(done) => {
                assert!(!failed, "what failed goes on");
                self.wrote |= writes;
                self.history.push(told(text, &done));
            }
            Err(error) => {
                let known = [
                    code::SERIALIZATION_FAILURE,
                    code::UNIQUE,
                    code::FAILED_TRANSACTION,
                    code::OUT_OF_RANGE,
                ];
                assert!(
                    known.contains(&error.code),
                    "{text}: {} {error}",
                    error.code
                );
                assert_eq!(self.session.status(), TransactionStatus::Failed);
                // These two codes are independent of the tables: the statement was not run.
                let is_of_others = [code::SERIALIZATION_FAILURE, code::FAILED_TRANSACTION];
                if !is_of_others.contains(&error.code) {
                    self.wrote |= writes;
                    self.history.push(failed_with(text, error.code));
                }
            }
        }
    }
}

fn tables() -> Fresh {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(&mut session, "create table t (id int primary key, x int)").expect("it is created");
    run(
        &mut session,
        "insert into t values (0, 10), (1, 20), (2, 30)",
    )
    .expect("they are stored");
    fresh
}

fn end_of(fresh: &Fresh) -> Vec<String> {
    query(&mut fresh.session(), "select * from t order by id").expect("it is read")
}

/// Runs a transaction again, and ends it. A different answer is the error.
fn again(session: &mut Session, transaction: &Committed, end: &str) -> Result<(), String> {
    run(session, "begin").expect("it begins");
    let mut differs = None;
    for before in &transaction.history {
        let now = match run(session, &before.text) {
            Ok(done) => told(&before.text, &done),
            Err(error) => failed_with(&before.text, error.code),
        };
        if now != *before {
            differs = Some(format!("{now:?} instead of {before:?}"));
            break;
        }
    }
    let end = if differs.is_some() { "rollback" } else { end };
    run(session, end).expect("it ends");
    differs.map_or(Ok(()), Err)
}

fn check(sessions: usize, script: &[(usize, Say)], aside_from: usize) {
    let fresh = tables();
    fresh.database.set_aside_from(aside_from);
    let mut talkers: Vec<Talker> = (0..sessions)
        .map(|_| Talker {
            session: fresh.session(),
            history: Vec::new(),
            has_savepoint: false,
            first: None,
            wrote: false,
        })
        .collect();
    let mut committed: Vec<Committed> = Vec::new();
    let mut writers = 0;
    for (who, say) in script {
        let before = end_of(&fresh);
        if let Some(mut one) = talkers[who % sessions].say(say, writers) {
            one.wrote &= before != end_of(&fresh);
            writers += usize::from(one.wrote);
            committed.push(one);
        }
    }
    drop(talkers);
    let serial = tables();
    let mut session = serial.session();
    let (wrote, mut others): (Vec<_>, Vec<_>) = committed.into_iter().partition(|one| one.wrote);
    for place in 0..=wrote.len() {
        others.retain(|one| {
            let is_possible = (one.first..=one.last).contains(&place);
            !is_possible || again(&mut session, one, "rollback").is_err()
        });
        if let Some(one) = wrote.get(place) {
            again(&mut session, one, "commit").expect("it is told what it was told");
        }
    }
    let left: Vec<_> = others.iter().map(|one| &one.history).collect();
    assert!(left.is_empty(), "they stand nowhere: {left:?}");
    assert_eq!(end_of(&fresh), end_of(&serial));
}

proptest! {
    #![proptest_config(Config { cases: sardonyx_base::random::cases(12), ..Config::default() })]

    #[test]
    fn what_committed_is_serial(
        sessions in 2..4_usize,
        script in prop::collection::vec((0..3_usize, says()), 10..60),
        // Transactions that run aside from their beginning, from some statement on, and never.
        aside_from in prop_oneof![Just(0_usize), Just(2), Just(100)],
    ) {
        check(sessions, &script, aside_from);
    }
}
