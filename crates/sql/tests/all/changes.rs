//! The changes of tables that statements make, as they are kept. Replayed, they give the same tables, however a
//! statement ran.

use crate::common::{Fresh, copy_in, run, session};
use crate::large::{aside, content, plain, told, with_limits};
use sardonyx::changes::{Change, ChangeKind};
use sardonyx_rows::ReadRow;
use sardonyx_sql::Database;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Tables by their names: rows by their keys.
type All = BTreeMap<String, BTreeMap<String, String>>;

const TABLES: [&str; 4] = ["f", "p", "s", "t"];

/// A row's key and its columns. Each table's key is its first column.
fn shown(row: &dyn ReadRow, columns: usize) -> (String, String) {
    let text = |column| format!("{:?}", row.value_at(column).expect("a value"));
    let all: Vec<String> = (0..columns).map(text).collect();
    (all[0].clone(), all.join(" "))
}

fn there(database: &Database, tables: &[&str]) -> All {
    let read = database.tables().expect("in main memory").read(|view| {
        let of = |table: &&str| {
            let rows = view.rows(table)?;
            let columns = rows.schema().columns.len();
            let found = rows.scan().map(|row| Ok(shown(&row?, columns)));
            Ok((
                table.to_string(),
                found.collect::<Result<_, sardonyx::Error>>()?,
            ))
        };
        tables.iter().map(of).collect::<Result<All, _>>()
    });
    read.expect("read")
}

fn changes(database: &Database) -> Vec<Change> {
    let tables = database.tables().expect("in main memory");
    let changes = tables.changes(..).expect("they are kept");
    changes.collect::<Result<_, _>>().expect("they are sound")
}

/// Replays changes. Each one changes an existing row.
fn replay(all: &mut All, changes: &[Change]) {
    for change in changes {
        let rows = all.entry(change.table().to_string()).or_default();
        if matches!(change.kind(), ChangeKind::Truncated | ChangeKind::Dropped) {
            rows.clear();
            continue;
        }
        let row = |row: Option<sardonyx::rows::RowRef<'_, sardonyx::rows::OneRow>>| {
            row.map(|row| shown(&row, row.schema().columns.len()))
        };
        let before = row(change.before().expect("sound"));
        let after = row(change.after().expect("sound"));
        let key = &before.as_ref().or(after.as_ref()).expect("a row").0;
        let was = before.as_ref().map(|(_, row)| row);
        assert_eq!(rows.get(key), was, "{}", change.position());
        if let Some((key, _)) = before {
            rows.remove(&key);
        }
        if let Some((key, row)) = after {
            let other = rows.insert(key, row);
            assert_eq!(other, None, "{}", change.position());
        }
    }
}

fn keep(database: &Database, tables: &[&str]) -> All {
    let all = database.tables().expect("in main memory");
    for table in tables {
        assert!(all.keep_changes(table).expect("a table"));
    }
    there(database, tables)
}

/// Checks that the kept changes, applied to the earlier tables, give the present ones. Returns the changes.
fn judge(database: &Database, mut before: All, tables: &[&str], what: &str) -> Vec<Change> {
    let changes = changes(database);
    replay(&mut before, &changes);
    assert_eq!(before, there(database, tables), "{what}");
    changes
}

fn transactions(changes: &[Change]) -> usize {
    let all: BTreeSet<_> = changes.iter().map(Change::transaction).collect();
    all.len()
}

/// Large statements run aside from now on, if a number is given. Returns how often they pause then.
fn aside_with(fresh: &Fresh, few: Option<u64>) -> Arc<Mutex<usize>> {
    let times = Arc::new(Mutex::new(0));
    let counted = times.clone();
    match few {
        Some(few) => with_limits(fresh, few, move || {
            *counted.lock().expect("no panic") += 1;
        }),
        None => fresh.database.set_beside(crate::large::unlimited()),
    }
    times
}

const STATEMENTS: [&str; 14] = [
    "update t set a = a + 1",
    "update t set b = repeat('long', 20) where id < 20",
    "update t set id = -id",
    "delete from t where a % 3 = 0",
    "update t set a = t.a + s.v from s where s.id = t.id returning t.id",
    "insert into t select id + 2000, v, 'new', null from s",
    "insert into t select id + 20, v, 'again', null from s on conflict (id) do update set a = excluded.a, b = t.b || '?'",
    "insert into t select id * 3, v, 'twice', id + 40 from s on conflict do nothing",
    // Rows of `f` go with theirs of `p`.
    "delete from p where id % 2 = 0",
    "delete from p using s where s.id = p.id and s.v > 4 returning p.id",
    "update p set id = id + 70 where id > 45",
    "insert into f select id + 100, id, id % 3 from s",
    "truncate f",
    "create index s_v on s (v)",
];

#[test]
fn changes_of_statements_in_the_stage_and_aside_are_the_tables() {
    let mut in_stage = Vec::new();
    let small = "insert into s values (500, 1); update s set v = v + 1 where id = 500";
    for text in STATEMENTS {
        let alone = plain();
        told(&mut alone.session(), text).expect(text);
        run(&mut alone.session(), small).expect("it runs");
        let alone = content(&alone.database);
        for few in [None, Some(0), Some(1000)] {
            let fresh = aside();
            let database = &fresh.database;
            let before = keep(database, &TABLES);
            let pauses = aside_with(&fresh, few);
            told(&mut fresh.session(), text).expect(text);
            if few.is_some() && *pauses.lock().expect("no panic") == 0 {
                in_stage.push((text, few));
            }
            database.set_beside(crate::large::unlimited());
            let after = judge(database, before.clone(), &TABLES, text);
            assert!(transactions(&after) <= 1, "{text}");
            assert_eq!(after.is_empty(), text.starts_with("create"), "{text}");
            // The table is one whose changes are kept as before.
            run(&mut fresh.session(), small).expect("it runs");
            let more = judge(database, before, &TABLES, text);
            assert_eq!(more.len(), after.len() + 2, "{text}");
            assert_eq!(content(database), alone, "{text}");
        }
    }
    // A definition runs there. A table whose changes are kept has no next content, which this INSERT would begin at
    // once.
    let expected = [
        (
            "insert into t select id + 2000, v, 'new', null from s",
            Some(0),
        ),
        ("truncate f", Some(0)),
        ("truncate f", Some(1000)),
    ];
    assert_eq!(in_stage, expected);
}

#[test]
fn references_that_set_null_or_cascade_change_rows_of_their_tables() {
    let tables = ["child", "parent", "tree"];
    let make = "create table parent (id int primary key, v text);
        create table child (id int primary key, p int references parent on delete set null, v text);
        create table tree (id int primary key, above int references tree on delete cascade)";
    let fill =
        "insert into parent select n, repeat('v', 99 * n) from generate_series(1, 40) as g (n);
        insert into child select n, n % 20 + 1, 'child' from generate_series(1, 60) as g (n);
        insert into tree values (1, null), (2, 1), (3, 2), (4, 3), (5, 1), (6, 6), (7, 6)";
    for (text, changed) in [
        ("delete from parent where id = 3", 4),
        ("delete from parent where id <= 10", 40),
        ("delete from tree where id = 2", 3),
        ("delete from tree where id = 6", 2),
        ("delete from tree", 7),
    ] {
        for few in [None, Some(0), Some(1000)] {
            let fresh = Fresh::new();
            let mut session = fresh.session();
            run(&mut session, make).expect("they are there");
            let before = keep(&fresh.database, &tables);
            run(&mut session, fill).expect("filled");
            let filled = judge(&fresh.database, before.clone(), &tables, fill).len();
            let pauses = aside_with(&fresh, few);
            run(&mut session, text).expect(text);
            let pauses = *pauses.lock().expect("no panic");
            assert_eq!(pauses > 0, few.is_some(), "{text}");
            fresh.database.set_beside(crate::large::unlimited());
            let after = judge(&fresh.database, before, &tables, text);
            assert_eq!(after.len() - filled, changed, "{text}");
            assert_eq!(transactions(&after[filled..]), 1, "{text}");
        }
    }
}

#[test]
fn changes_of_a_copy_and_of_an_open_transaction_are_those_that_committed() {
    let fresh = aside();
    let database = &fresh.database;
    let before = keep(database, &TABLES);
    let mut session = session(database);
    let line = |id: i64| format!("{id}\t{id}\n");
    // A short one, and one that runs aside.
    for (from, to) in [(100, 110), (1000, 20_000)] {
        let data: String = (from..to).map(line).collect();
        copy_in(&mut session, "copy s from stdin", data.as_bytes()).expect("copied");
    }
    let twice = format!("{}{}", line(300), line(100));
    assert!(copy_in(&mut session, "copy s from stdin", twice.as_bytes()).is_err());
    let copied = judge(database, before.clone(), &TABLES, "copy");
    assert_eq!((copied.len(), transactions(&copied)), (19_010, 2));
    let statements = [
        "begin",
        "update t set a = a + 1 where id < 5",
        "savepoint one",
        "delete from p",
        "rollback to savepoint one",
        "delete from p where id = 7",
        "update t set a = a + 1 where id = 4",
        "insert into s values (7000000, 1)",
        "delete from s where id = 7000000",
    ];
    for (end, is_aside) in [
        ("rollback", false),
        ("commit", false),
        ("rollback", true),
        ("commit", true),
    ] {
        database.set_aside_from(if is_aside { 0 } else { 1000 });
        let changed = changes(database).len();
        for text in statements {
            run(&mut session, text).expect(text);
        }
        // From its beginning, or from its first long statement on.
        assert!(session.bytes_aside() > 0);
        run(&mut session, end).expect(end);
        let all = judge(database, before.clone(), &TABLES, end);
        let new = &all[changed..];
        assert_eq!(new.is_empty(), end == "rollback");
        assert!(transactions(new) <= 1);
    }
}

#[test]
fn changes_that_are_kept_from_the_midst_of_a_large_statement_on_are_complete() {
    for large in [
        "update t set a = a + 1",
        "update t set a = t.a + s.v from s where s.id = t.id returning t.id",
        "insert into t select id + 2000, v, 'new', null from s",
        "delete from p where id % 2 = 0",
    ] {
        let alone = plain();
        told(&mut alone.session(), large).expect(large);
        let alone = content(&alone.database);
        for few in [0, 1000] {
            let fresh = aside();
            let database = fresh.database.clone();
            let kept = Arc::new(Mutex::new(None));
            let keeping = kept.clone();
            with_limits(&fresh, few, move || {
                let mut kept = keeping.lock().expect("no panic");
                kept.get_or_insert_with(|| keep(&database, &TABLES));
            });
            told(&mut fresh.session(), large).expect(large);
            let database = &fresh.database;
            database.set_beside(crate::large::unlimited());
            let before = kept.lock().expect("no panic").take();
            let changes = judge(database, before.expect("a pause"), &TABLES, large);
            assert_eq!(transactions(&changes), 1, "{large}");
            assert_eq!(content(database), alone, "{large}");
        }
    }
}
