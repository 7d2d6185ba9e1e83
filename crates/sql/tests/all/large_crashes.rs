//! Crashes, kills, failed syncs and full disks at every step of the disk while a statement on many rows makes its
//! table's next content. The table has its rows before or after the statement, and those after it if the statement was
//! acknowledged. Commits of others meanwhile are kept, and the next such statement works.

use crate::common::{query, run, session};
use crate::large::{TABLE, content, unlimited};
use sardonyx::disk::{Faults, GroupLimits, SimulatedDisk};
use sardonyx::{Options, Shape, Tables};
use sardonyx_base::random::stride;
use sardonyx_sql::{BesideLimits, Database};
use sardonyx_storage::crashes::{End, History, Walk};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

const LARGE: [&str; 23] = [
    "update t set a = a + 1, b = b || '!', c = c + 100",
    "update t set id = -id where a <> 4",
    "delete from t where a % 3 <> 0",
    "insert into t select n, n % 7, repeat('n', 70), n from generate_series(1001, 1060) as g (n)",
    "create unique index t_ac on t (a, id)",
    "alter table t add constraint t_bc unique (b)",
    "alter table s add unique (v)",
    "alter table t add constraint t_b check (length(b) < 300)",
    "alter table f add constraint f_p foreign key (id) references p",
    "alter table s validate constraint s_unchecked",
    "update t set a = t.a + p.v from p where p.id = t.id",
    "delete from t where id in (select id from p where v % 3 <> 0) returning id",
    "insert into f select id + 100, id, id % 3 from p",
    "delete from p where v % 5 <> 0",
    "alter table t add constraint t_bd unique (b) deferrable",
    "alter table t alter column a type bigint using a + 1000",
    "alter table f alter column n type text using 'n' || n",
    "alter table t add column twice int generated always as (a * 2 + id * 100) stored unique",
    "alter table s add column g int not null generated always as (v * 2) stored",
    "alter table s add column g int default (random() * 0 + 3)::int",
    "create table made as select t.id, a, b from p, t where t.id = p.id and b is not null",
    "create materialized view seen as select a, v, repeat(b, 2) as b from t join p using (id)",
    "select id, v * 2 as v into made from p",
];

/// Another transaction, which is run between two calls of the statement, and the value that it gives.
fn count(text: &str, n: u64) -> String {
    let id = 10_000 + n;
    match text.contains("table s") {
        true => format!("insert into t values ({id}, 1, 'other ' || {n}, {id})"),
        false => format!("insert into s values ({id}, {id})"),
    }
}

fn open(disk: &SimulatedDisk) -> Option<(Arc<Tables>, Arc<Database>)> {
    let options = Options::new()
        .shape(Shape::Threadless)
        .segment_bytes(256 << 10)
        .log_bytes_max(2 << 20)
        .memory_bytes_max(64 << 20)
        .group_limits(GroupLimits {
            group_bytes: 64 << 10,
            transaction_bytes: 128 << 10,
            depth: 2,
            buffers: 6,
        });
    let tables = Arc::new(options.open_tables_on(Arc::new(disk.clone())).ok()?);
    let database = Database::new(tables.clone()).ok()?;
    Some((tables, database))
}

fn reopen(disk: &SimulatedDisk, what: &str) -> Arc<Database> {
    open(disk).unwrap_or_else(|| panic!("{what}: opens")).1
}

/// The tables' rows but for those of the other transactions, and the numbers of these.
fn found(database: &Arc<Database>) -> (Vec<Vec<String>>, Vec<u64>) {
    let mut session = session(database);
    let mut others = Vec::new();
    for table in ["t", "s"] {
        let text = format!("delete from {table} where id >= 10000 returning id - 10000");
        let rows = query(&mut session, &text).expect("deleted");
        others.extend(rows.iter().map(|row| row.parse::<u64>().expect("a number")));
    }
    others.sort_unstable();
    (content(database), others)
}

/// Outcomes of the statement and of the others.
struct Ran {
    is_done: bool,
    /// The others' transactions that were acknowledged, and those that were begun.
    acknowledged: u64,
    begun: u64,
}

/// Runs the statement aside, with another transaction and now and then a checkpoint between its calls.
fn run_with_others(tables: &Arc<Tables>, database: &Arc<Database>, text: &'static str) -> Ran {
    let (begun, acknowledged) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let other = Mutex::new(session(database));
    let between = {
        let (tables, begun, acknowledged) = (tables.clone(), begun.clone(), acknowledged.clone());
        move || {
            // Once one has failed, the database accepts no more.
            let n = begun.load(Ordering::Relaxed);
            if acknowledged.load(Ordering::Relaxed) < n {
                return;
            }
            begun.store(n + 1, Ordering::Relaxed);
            let mut other = other.lock().unwrap_or_else(PoisonError::into_inner);
            if run(&mut other, &count(text, n)).is_ok() {
                acknowledged.store(n + 1, Ordering::Relaxed);
            }
            if n % 4 == 1 {
                let _ = tables.checkpoint();
            }
        }
    };
    database.set_beside(BesideLimits {
        from: 1,
        few: 0,
        slice: 7,
        between: Some(Arc::new(between)),
        ..BesideLimits::default()
    });
    let is_done = run(&mut session(database), text).is_ok();
    database.set_beside(unlimited());
    Ran {
        is_done,
        acknowledged: acknowledged.load(Ordering::Relaxed),
        begun: begun.load(Ordering::Relaxed),
    }
}

/// A database with the tables, and the rows before and after each statement that runs alone on it. All ends have the same.
struct Base {
    disk: SimulatedDisk,
    states: Vec<[Vec<Vec<String>>; 2]>,
}

static BASE: LazyLock<Base> = LazyLock::new(|| {
    let disk = tables_on_a_disk();
    let states = LARGE.map(|text| states(&disk, text)).into();
    Base { disk, states }
});

/// A database with the tables, on a disk that has it whole.
fn tables_on_a_disk() -> SimulatedDisk {
    let disk = SimulatedDisk::new(7, Faults::default());
    let (tables, database) = open(&disk).expect("opens");
    database.set_beside(unlimited());
    run(&mut session(&database), TABLE).expect("made");
    let unchecked = "alter table s add constraint s_unchecked check (v > -500) not valid";
    run(&mut session(&database), unchecked).expect(unchecked);
    tables.close().expect("closes");
    disk
}

/// Runs the statement in a life that ends so, and judges the database that the next life finds. Returns false if the
/// life did not end so.
fn judge(
    base: &SimulatedDisk,
    text: &'static str,
    states: &[Vec<Vec<String>>; 2],
    end: End,
) -> bool {
    let what = format!("{text}: {end:?}");
    let disk = base.restart(end.faults());
    // The statement, and the others' transactions by their numbers.
    let (mut statement, mut others) = (History::default(), History::default());
    let is_whole = open(&disk).is_some_and(|(tables, database)| {
        let ran = run_with_others(&tables, &database, text);
        statement.submit(());
        (0..ran.begun).for_each(|number| _ = others.submit(number));
        others.acknowledge_first(ran.acknowledged as usize);
        if ran.is_done {
            statement.acknowledge();
            assert_eq!(ran.acknowledged, ran.begun, "{what}");
        }
        tables.close().is_ok()
    });
    let disk = end.next(&disk, Faults::default());
    let database = reopen(&disk, &what);
    database.set_beside(unlimited());
    let (content_now, others_now) = found(&database);
    statement.judge(&content_now, |ran| states[ran.len()].clone());
    others.judge(&others_now, <[u64]>::to_vec);
    // An abandoned statement does not disturb the next one.
    database.set_beside(BesideLimits {
        from: 1,
        few: 0,
        slice: 50,
        ..BesideLimits::default()
    });
    let after = "update t set a = a + 1; delete from t where a % 2 = 0; update s set v = v + 1000";
    run(&mut session(&database), after).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    !is_whole
}

/// The rows before and after a statement that runs alone.
fn states(base: &SimulatedDisk, text: &'static str) -> [Vec<Vec<String>>; 2] {
    let (_tables, database) = open(&base.restart(Faults::default())).expect("opens");
    database.set_beside(unlimited());
    let before = found(&database).0;
    run(&mut session(&database), text).expect(text);
    [before, found(&database).0]
}

/// Checks that a statement runs aside here: others run between its calls.
fn check_aside(base: &SimulatedDisk, text: &'static str) {
    let (tables, database) = open(&base.restart(Faults::default())).expect("opens");
    let ran = run_with_others(&tables, &database, text);
    assert!(ran.is_done && ran.begun > 1, "{text}");
}

/// Judges with each end of this kind, from one of the first until one that is not reached. Each statement begins at
/// another one: together they end so at each.
fn explore(few: usize, end: fn(u64) -> End) {
    let Base { disk, states } = &*BASE;
    for (number, (text, states)) in (0..).zip(LARGE.into_iter().zip(states)) {
        let walk = Walk::each(few).beginning(number).at_least(5);
        walk.explore(text, |at| judge(disk, text, states, end(at)));
    }
}

#[test]
fn others_run_between_the_calls_of_each_statement() {
    for text in LARGE {
        check_aside(&BASE.disk, text);
    }
}

#[test]
fn i1_a_crash_at_any_step_leaves_the_rows_before_or_after() {
    explore(23, End::Crash);
}

#[test]
fn i1_a_kill_at_any_step_leaves_the_rows_before_or_after() {
    explore(29, End::Kill);
}

#[test]
fn i7_a_failed_sync_is_never_acknowledged() {
    explore(7, End::FailedSyncThenCut);
}

#[test]
fn i14_a_full_disk_leaves_the_rows_before_or_after() {
    let Base { disk, states } = &*BASE;
    let stride = stride(31);
    for (number, (text, states)) in LARGE.into_iter().zip(states).enumerate() {
        for from in (1 + number % stride..50).step_by(stride) {
            let from = from as u64;
            judge(disk, text, states, End::Full(from, from + 20));
        }
    }
}
