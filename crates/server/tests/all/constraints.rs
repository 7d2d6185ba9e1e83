//! Violated constraints, as clients receive them: the code, PostgreSQL's words, and the names.

use crate::common::{Running, postgres_alone};
use postgres::error::SqlState;

#[test]
fn violated_constraints_are_told_by_their_names() {
    let running = Running::start(postgres_alone());
    let mut client = running.client();
    client
        .batch_execute(
            "CREATE TABLE a (id int PRIMARY KEY); \
             CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a DEFERRABLE INITIALLY DEFERRED, n int NOT NULL)",
        )
        .unwrap();
    let error = client
        .execute("INSERT INTO b (id) VALUES (1)", &[])
        .unwrap_err();
    let told = error.as_db_error().unwrap();
    assert_eq!(told.code(), &SqlState::NOT_NULL_VIOLATION);
    assert_eq!(
        (told.schema(), told.table(), told.column()),
        (Some("public"), Some("b"), Some("n"))
    );
    assert_eq!(told.detail(), Some("Failing row contains (1, null, null)."));
    // A deferred violation is reported at the commit, and the session continues.
    let mut transaction = client.transaction().unwrap();
    transaction
        .execute("INSERT INTO b VALUES ($1, $1, $1)", &[&7i32])
        .unwrap();
    let error = transaction.commit().unwrap_err();
    let told = error.as_db_error().unwrap();
    assert_eq!(told.code(), &SqlState::FOREIGN_KEY_VIOLATION);
    assert_eq!(
        (told.table(), told.constraint()),
        (Some("b"), Some("b_a_fkey"))
    );
    assert_eq!(
        told.detail(),
        Some("Key (a)=(7) is not present in table \"a\".")
    );
    // Without a transaction, the statement itself reports it.
    let insert = "INSERT INTO b VALUES ($1, $1, $1)";
    let error = client.execute(insert, &[&8i32]).unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::FOREIGN_KEY_VIOLATION));
    let count = "SELECT count(*) FROM b";
    assert_eq!(client.query_one(count, &[]).unwrap().get::<_, i64>(0), 0);
    client
        .batch_execute("BEGIN; INSERT INTO b VALUES (7, 7, 7); INSERT INTO a VALUES (7); COMMIT")
        .unwrap();
    assert_eq!(client.query_one(count, &[]).unwrap().get::<_, i64>(0), 1);
}
