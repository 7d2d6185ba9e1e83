//! Reading a [`State`]: the engine's counts, and the sizes of tables.
//!
//! Reading the sizes takes a turn of the serial stage, for some microseconds, and so may wait for a running
//! transaction. So one reader does it at a time, and not on a thread that serves clients ([`crate::http`]).

use super::{
    Checkpoint, Clients, Errors, Histogram, Log, Memory, Observed, Readiness, Recovery, Stages,
    State, Statement, Store, Table,
};
use crate::metrics::{FLIGHT_MICROSECONDS, Metrics, Protocol, ProtocolCounts};
use crate::slow_statements::SlowStatement;
use sardonyx::reports::Statistics;
use sardonyx::{Tables, View};
use sardonyx_base::waiting::{Interrupt, interruptible};
use sardonyx_storage::engine_view::EngineView;
use sardonyx_storage::log::statistics::{LogStatistics, WRITE_MICROSECONDS};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The number of tables in a state that use the most pages; and of others, that were changed most.
const LARGEST: usize = 100;
const MOST_CHANGED: usize = 20;

/// The time that a reader waits for a turn of the serial stage.
const PATIENCE: Duration = Duration::from_millis(500);

/// The prefixes of the engine's and the SQL layer's own tables.
const OWN_NAMES: [&str; 2] = ["sardonyx.", "sql."];

impl State {
    /// The state now, of a server that was started at `started`. While a transaction runs for long, sizes of tables are
    /// those of the previous state.
    pub fn read(
        observed: &Observed,
        metrics: &Metrics,
        started: Instant,
        is_stopping: bool,
        before: Option<&State>,
    ) -> State {
        let sizes = match observed {
            Observed::Tables(tables) => sizes(tables),
            Observed::Follower(follower) => follower.look(sizes_in).ok(),
            Observed::Node(_) => None,
        };
        let (largest, tables_total, memory) = sizes.unwrap_or_else(|| {
            let before =
                before.map(|state| (state.tables.clone(), state.tables_total, state.memory));
            before.unwrap_or_default()
        });
        let (slow, slow_total) = metrics.slow_statements();
        let errors = metrics.errors().into_iter().filter(|(_, count)| *count > 0);
        let errors = errors.map(|(class, count)| Errors {
            class: class.into(),
            count,
        });
        let of_engine = match observed {
            Observed::Tables(tables) => State::of_engine(tables),
            // A follower writes no log and takes no checkpoints; a node shares both with others.
            Observed::Follower(_) | Observed::Node(_) => State::default(),
        };
        State {
            version: env!("CARGO_PKG_VERSION").into(),
            unix_seconds: since_1970(SystemTime::now()),
            // The time of reading the counts, not of the call: it may have waited.
            uptime_seconds: started.elapsed().as_secs_f64(),
            readiness: observed.readiness(is_stopping),
            // The server knows it.
            host: None,
            memory,
            tables: largest,
            tables_total,
            clients: Protocol::ALL
                .map(|protocol| clients(protocol, metrics.counts(protocol)))
                .into(),
            refused: metrics.refusals(),
            errors: errors.collect(),
            slow_statements: Some(slow.into_iter().map(statement).collect()),
            slow_total,
            ..of_engine
        }
    }

    /// The engine's counts.
    fn of_engine(tables: &Tables) -> State {
        let statistics = tables.statistics();
        let engine = tables.engine();
        State {
            transactions: statistics.committed,
            log: log(&statistics.log, engine),
            stages: stages(&statistics),
            checkpoint: checkpoint(&statistics, engine),
            store: store(engine),
            recovery: Recovery {
                seconds: tables.recovery().total_time().as_secs_f64(),
                index_seconds: tables.rebuild().time.as_secs_f64(),
                transactions: tables.recovery().transactions,
            },
            ..State::default()
        }
    }
}

/// The readiness. Does not wait.
pub fn readiness(tables: &Tables, is_stopping: bool) -> Readiness {
    let engine = tables.engine();
    let mut obstacles = Vec::new();
    let mut note = |is_so: bool, sentence: &str| {
        if is_so {
            obstacles.push(sentence.to_string());
        }
    };
    note(is_stopping, "the server is being stopped");
    note(
        engine.commit().is_poisoned(),
        "an error closed the log: no transaction commits until the database is opened again",
    );
    let left_to_followers = engine.checkpoint().is_left_to_followers();
    let failed = engine.checkpoint().failure().is_some();
    note(
        failed && left_to_followers,
        "the store gives no answer, and only it frees the log: transactions wait, or continue until the log is full",
    );
    note(
        failed && !left_to_followers,
        "checkpointing has stopped: transactions continue until the log is full",
    );
    note(
        engine.checkpoint().waiting().is_some(),
        "checkpoints wait for room on the disk: transactions continue until the log is full",
    );
    Readiness {
        ready: obstacles.is_empty(),
        obstacles,
    }
}

fn log(counted: &LogStatistics, engine: &EngineView) -> Log {
    Log {
        groups: counted.groups,
        payload_bytes: counted.payload_bytes,
        written_bytes: counted.disk_bytes,
        write: Histogram {
            bounds: seconds_of(&WRITE_MICROSECONDS),
            classes: counted.write_classes.to_vec(),
            sum: counted.write_time.as_secs_f64(),
        },
        largest_group: counted.largest_group,
        outstanding_groups: engine.commit().outstanding() as u64,
        limit_bytes: engine.log_bytes_max(),
        has_remote_copy: engine.commit().has_remote_copy(),
        poisoned: engine.commit().is_poisoned(),
    }
}

fn stages(statistics: &Statistics) -> Stages {
    let times = &statistics.stages;
    Stages {
        input: times.input.as_secs_f64(),
        execution: times.execution.as_secs_f64(),
        logging: times.logging.as_secs_f64(),
        output: times.output.as_secs_f64(),
        checkpoint: times.checkpoint.as_secs_f64(),
    }
}

fn checkpoint(statistics: &Statistics, engine: &EngineView) -> Checkpoint {
    let totals = &statistics.checkpoint;
    let (lag_bytes, lag_transactions) = lag(engine);
    Checkpoint {
        completed: totals.checkpoints,
        blocks: totals.blocks,
        written_bytes: totals.bytes,
        writeout_seconds: totals.writeout_time.as_secs_f64(),
        running: engine.checkpoint().is_writing(),
        waiting_seconds: totals.waiting_for_room.map(|waited| waited.as_secs_f64()),
        stopped: totals.stopped,
        lag_bytes,
        lag_transactions,
    }
}

/// The log that recovery needs, in bytes and transactions.
fn lag(engine: &EngineView) -> (u64, u64) {
    // The start of the needed log is read first: it moves, too, and must not pass the end.
    let from = engine.checkpoint().log_needed_from();
    let end = engine.commit().durable();
    let transactions = end.transactions.saturating_sub(from.transactions);
    (end.lsn.0.saturating_sub(from.lsn.0), transactions)
}

fn store(engine: &EngineView) -> Option<Store> {
    let in_store = engine.in_store()?;
    // Read first: it moves, too, and must not pass the end.
    let state = in_store.state();
    let end = engine.commit().durable();
    Some(Store {
        answers: state.trouble.is_none(),
        lag_bytes: end.lsn.0.saturating_sub(state.end.lsn.0),
        lag_transactions: end.transactions.saturating_sub(state.end.transactions),
    })
}

/// The largest tables, the number of tables, and the memory.
type Sizes = (Vec<Table>, u64, Memory);

/// The sizes; `None` if the database is closed, or a transaction runs for long.
fn sizes(tables: &Tables) -> Option<Sizes> {
    let patience = Arc::new(Interrupt::default());
    patience.set_deadline(Some(Instant::now() + PATIENCE));
    let turn = interruptible(&patience, None, || tables.turn()).ok()?;
    Some(sizes_in(&turn.view()))
}

fn sizes_in(view: &View<'_>) -> Sizes {
    let definitions = view.definitions().iter().enumerate();
    let is_own = |name: &str| OWN_NAMES.iter().any(|own| name.starts_with(own));
    let users = definitions.filter(|(_, one)| !is_own(&one.name));
    let found = users.filter_map(|(number, definition)| {
        let number = u16::try_from(number).ok()?;
        let rows = view.rows_of(number).ok()?;
        Some(Table {
            name: definition.name.clone(),
            rows: rows.count().ok()?,
            bytes: view.bytes_of(number),
            changes: view.changes_of(number),
        })
    });
    let mut found: Vec<Table> = found.collect();
    let total = found.len() as u64;
    let larger = |a: &Table, b: &Table| (b.bytes, b.rows, &a.name).cmp(&(a.bytes, a.rows, &b.name));
    found.sort_by(larger);
    let others = found.split_off(found.len().min(LARGEST));
    found.extend(most_changed(others, MOST_CHANGED));
    let memory = Memory {
        pages: view.bytes(),
        indexes: view.index_bytes() as u64,
    };
    (found, total, memory)
}

/// The tables that were changed most.
fn most_changed(mut tables: Vec<Table>, most: usize) -> Vec<Table> {
    tables.retain(|table| table.changes > 0);
    tables.sort_by(|a, b| (b.changes, &a.name).cmp(&(a.changes, &b.name)));
    tables.truncate(most);
    tables
}

fn clients(protocol: Protocol, counts: ProtocolCounts) -> Clients {
    Clients {
        protocol: protocol.name().into(),
        open: counts.open,
        opened: counts.opened,
        statements: counts.statements,
        flights: Histogram {
            bounds: seconds_of(&FLIGHT_MICROSECONDS),
            classes: counts.classes,
            sum: Duration::from_micros(counts.microseconds).as_secs_f64(),
        },
    }
}

fn statement(slow: SlowStatement) -> Statement {
    Statement {
        text: slow.text,
        user: slow.user,
        times: slow.times,
        slowest_seconds: slow.slowest.as_secs_f64(),
        total_seconds: slow.total.as_secs_f64(),
        last_unix_seconds: since_1970(slow.last),
    }
}

fn seconds_of(microseconds: &[u64]) -> Vec<f64> {
    // A division, which yields the nearest number: 0.0001 and not 0.00009999…
    microseconds
        .iter()
        .map(|&bound| bound as f64 / 1e6)
        .collect()
}

fn since_1970(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx::schema::{Schema, Type, Value};

    fn insert(tables: &Tables, table: &str, keys: std::ops::Range<u64>) {
        let inserted = tables.run(|tx| {
            for key in keys {
                tx.rows(table)?.insert(&[("id", Value::from(key))])?;
            }
            Ok(())
        });
        inserted.unwrap();
    }

    #[test]
    fn a_state_has_what_the_engine_did() {
        let directory = tempfile::tempdir().unwrap();
        let tables = Arc::new(Tables::open(directory.path().join("x.sdx")).unwrap());
        for name in ["few", "many"] {
            let schema = Schema::new().column("id", Type::U64).primary_key(["id"]);
            tables.create_table(name, schema).unwrap();
        }
        insert(&tables, "few", 0..1);
        insert(&tables, "many", 0..5000);
        let metrics = Metrics::default();
        metrics.error("40001");
        metrics.slow("ada", "select 1", Duration::from_secs(2));
        let observed = Observed::Tables(tables.clone());
        let read = || State::read(&observed, &metrics, Instant::now(), false, None);
        let state = read();
        assert_eq!(
            state.readiness,
            Readiness {
                ready: true,
                obstacles: vec![]
            }
        );
        let named: Vec<_> = state
            .tables
            .iter()
            .map(|one| (one.name.as_str(), one.rows))
            .collect();
        assert_eq!(
            (named, state.tables_total),
            (vec![("many", 5000), ("few", 1)], 2)
        );
        assert!(state.tables[0].bytes > state.tables[1].bytes);
        assert_eq!(state.transactions, 4);
        assert_eq!(state.log.write.count(), state.log.groups);
        assert_eq!(
            state.log.write.classes.len(),
            state.log.write.bounds.len() + 1
        );
        assert_eq!(
            state.errors,
            [Errors {
                class: "40".into(),
                count: 1
            }]
        );
        let slow = state.slow_statements.as_ref().unwrap();
        assert_eq!((state.slow_total, slow[0].slowest_seconds), (1, 2.0));
        assert!(state.checkpoint.lag_bytes > 0 && state.checkpoint.lag_transactions >= 4);
        tables.checkpoint().unwrap();
        let after = read();
        assert!(after.checkpoint.lag_bytes < state.checkpoint.lag_bytes);
        assert_eq!(after.checkpoint.lag_transactions, 0);
        let text = serde_json::to_string(&after).unwrap();
        // Times may differ in their last digit.
        let read: State = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&read.tables, &read.readiness),
            (&after.tables, &after.readiness)
        );
        assert_eq!(
            (&read.log.write.classes, &read.errors),
            (&after.log.write.classes, &after.errors)
        );
        assert_eq!(read.slow_statements.map(|slow| slow.len()), Some(1));
    }

    #[test]
    fn a_server_that_stops_and_a_closed_database_are_told_of() {
        let directory = tempfile::tempdir().unwrap();
        let tables = Arc::new(Tables::open(directory.path().join("x.sdx")).unwrap());
        assert!(readiness(&tables, false).ready);
        let stopping = readiness(&tables, true);
        assert_eq!(stopping.obstacles, ["the server is being stopped"]);
        tables.close().unwrap();
        let observed = Observed::Tables(tables);
        let state = State::read(&observed, &Metrics::default(), Instant::now(), true, None);
        assert!(!state.readiness.ready && state.tables.is_empty());
    }
}
