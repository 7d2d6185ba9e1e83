//! The work of statements with many parts that insert with `ON CONFLICT`.

use super::noted;
use crate::database::Database;
use crate::result::{Outcome, Step};
use crate::session::{Session, SessionOptions};
use sardonyx::Tables;
use sardonyx_base::parking::wait;
use std::sync::Arc;

/// The keys that a statement notes: its parts insert 20 rows each, of which half are there.
fn keys_noted(parts: usize) -> usize {
    let directory = tempfile::tempdir().expect("a directory");
    let tables = Tables::open(directory.path().join("test.sdx")).expect("it opens");
    let database = Database::new(Arc::new(tables)).expect("it speaks SQL");
    let options = SessionOptions {
        rights: crate::rights::Access::Define.into(),
        ..SessionOptions::default()
    };
    let mut session = Session::new(database, options).expect("a session");
    let with: Vec<String> = (0..parts)
        .map(|part| {
            format!(
                "x{part} as (insert into u select 20 * {part} + g, 20 * {part} + g from generate_series(1, 20) as s (g)
                 on conflict (id) do update set a = -u.a)"
            )
        })
        .collect();
    noted::KEYS.set(0);
    for text in [
        "create table u (id int primary key, a int unique)",
        "insert into u select g, g from generate_series(1, 10000) as s (g) where g % 2 = 0",
        &format!("with {} select count(*) from u", with.join(", ")),
    ] {
        let statement = session.prepare(text, &[]).expect("it is read").remove(0);
        let step = Step::Execute {
            statement,
            parameters: Vec::new(),
            rows_max: 0,
        };
        for outcome in wait(session.run(vec![step, Step::Sync])) {
            assert!(!matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        }
    }
    noted::KEYS.get()
}

#[test]
fn each_change_of_a_statement_is_noted_once() {
    // One key of a row that comes; an old and a new one of a row that changes.
    for parts in [10, 40] {
        assert_eq!(keys_noted(parts), parts * (10 + 2 * 10));
    }
}
