//! Transactions that no client began: statements of one text belong together from the first `SET` or read on. Statements
//! that begin, end or divide a transaction mean there what they mean in PostgreSQL.

use crate::common::{Fresh, query, run};
use sardonyx_sql::{Session, SqlError, TransactionStatus, code};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn table() -> (Fresh, Session) {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let text = "create table t (id int primary key, x bigint not null)";
    run(&mut session, text).expect("created");
    (fresh, session)
}

/// Statements after which a text has an implicit transaction.
const FIRST: [&str; 2] = ["set extra_float_digits to 3", "select count(*) from t"];

#[test]
fn savepoints_are_refused_without_begin_and_the_next_text_runs() {
    let (_fresh, mut session) = table();
    for first in FIRST {
        for second in ["savepoint a", "rollback to a", "release a"] {
            let text = format!("{first}; {second}");
            let error = run(&mut session, &text).expect_err(&text);
            assert_eq!(error.code, code::NO_TRANSACTION, "{text}: {error}");
            assert!(
                error.to_string().contains("transaction blocks"),
                "{text}: {error}"
            );
            assert_eq!(session.status(), TransactionStatus::Idle, "{text}");
            let shown = query(&mut session, "show extra_float_digits");
            assert_eq!(shown.expect("shown"), ["1"], "{text}");
        }
    }
}

#[test]
fn an_end_without_begin_is_warned_of() {
    let (_fresh, mut session) = table();
    for first in FIRST.into_iter().chain(["insert into t values (1, 1)"]) {
        for second in ["commit", "rollback"] {
            let text = format!("{first}; {second}");
            let done = run(&mut session, &text).expect(&text);
            let notices = done
                .last()
                .map(|last| last.notices.clone())
                .unwrap_or_default();
            let codes: Vec<_> = notices.iter().map(|notice| notice.code).collect();
            assert_eq!(codes, [code::NO_TRANSACTION], "{text}");
            let is_set = first.contains("set") && second == "commit";
            let shown = query(&mut session, "show extra_float_digits");
            let width = if is_set { "3" } else { "1" };
            assert_eq!(shown.expect("shown"), [width], "{text}");
            run(&mut session, "reset extra_float_digits; delete from t").expect("as before");
        }
    }
}

#[test]
fn begin_goes_on_with_what_was_read_and_its_modes_hold() {
    let (fresh, mut session) = table();
    let mut other = fresh.session();
    // After a read, the transaction is run by replay.
    for (n, first) in FIRST.into_iter().take(1).enumerate() {
        for modes in ["read only", "isolation level repeatable read, read only"] {
            run(&mut session, &format!("{first}; begin {modes}")).expect("begun");
            assert_eq!(session.status(), TransactionStatus::Open);
            let count = query(&mut session, "select count(*) from t").expect("read");
            let id = 10 * n + modes.len();
            run(&mut other, &format!("insert into t values ({id}, 0)")).expect("another's");
            // One snapshot, which no other transaction changes.
            let again = query(&mut session, "select count(*) from t").expect("read");
            assert_eq!(count, again, "{first}; begin {modes}");
            if modes.contains("isolation") {
                let level = query(&mut session, "show transaction_isolation").expect("shown");
                assert_eq!(level, ["repeatable read"], "{first}");
            }
            let refused = run(&mut session, "insert into t values (-1, 0)").expect_err("it reads");
            assert_eq!(refused.code, code::READ_ONLY_TRANSACTION);
            run(&mut session, "rollback").expect("ended");
        }
    }
    // A transaction that is said to read does not write because it is begun again.
    for text in [
        "set transaction read only; begin; insert into t values (-1, 0)",
        "set transaction read only; select 1; begin read write",
        "set transaction read only; insert into t values (-1, 0)",
    ] {
        let error = run(&mut session, text).expect_err(text);
        let is_late = text.ends_with("write");
        let expected = if is_late {
            code::ACTIVE_TRANSACTION
        } else {
            code::READ_ONLY_TRANSACTION
        };
        assert_eq!(error.code, expected, "{text}");
        run(&mut session, "rollback").expect("ended");
    }
}

/// Code of the error of a text, which leaves the table as it was.
fn refused(session: &mut Session, text: &str) -> &'static str {
    let error: SqlError = run(session, text).expect_err(text);
    assert_eq!(session.status(), TransactionStatus::Idle, "{text}");
    let sum = query(session, "select sum(x) from t").expect("read");
    assert_eq!(sum, ["1830"], "{text}");
    error.code
}

#[test]
fn a_large_statement_of_a_transaction_that_reads_is_refused_as_a_small_one() {
    let (fresh, mut session) = table();
    let rows = "insert into t select n, n from generate_series(1, 60) as n";
    run(&mut session, rows).expect("inserted");
    for is_large in [false, true] {
        if is_large {
            crate::large::with_limits(&fresh, 0, || {});
        }
        for text in [
            "set transaction read only; update t set x = x + 1",
            "set transaction read only; create index on t (x)",
            "set transaction read only; insert into t select n, n from generate_series(61, 200) as n",
        ] {
            assert_eq!(
                refused(&mut session, text),
                code::READ_ONLY_TRANSACTION,
                "{text}"
            );
        }
        let usually = "set default_transaction_read_only = on";
        run(&mut session, usually).expect("set");
        let text = "set default_transaction_read_only = off; update t set x = x + 1";
        assert_eq!(
            refused(&mut session, text),
            code::READ_ONLY_TRANSACTION,
            "{text}"
        );
        // The transaction in which it is set is not yet concerned.
        run(&mut session, "set default_transaction_read_only = off").expect("set");
        let text = "set default_transaction_read_only = on; update t set x = x + 1";
        run(&mut session, text).expect(text);
        let back = "set transaction read write; update t set x = x - 1";
        run(&mut session, back).expect(back);
        run(&mut session, "set default_transaction_read_only = off").expect("set");
    }
}

#[test]
fn what_is_discarded_for_good_is_refused_where_it_may_be_taken_back() {
    let (_fresh, mut session) = table();
    run(&mut session, "create temp table w (n int)").expect("created");
    for (text, refusal) in [
        (
            "set extra_float_digits to 3; discard all; select 1 / 0",
            code::ACTIVE_TRANSACTION,
        ),
        (
            "set extra_float_digits to 3; discard temp; select 1 / 0",
            code::FEATURE_NOT_SUPPORTED,
        ),
    ] {
        let error = run(&mut session, text).expect_err(text);
        assert_eq!(error.code, refusal, "{text}");
        let count = query(&mut session, "select count(*) from w").expect("it is there");
        assert_eq!(count, ["0"], "{text}");
    }
    run(&mut session, "discard all").expect("discarded");
    run(&mut session, "select count(*) from w").expect_err("it is dropped");
}

/// Parameters that a text sets are as before if a later statement of it fails, and so is one that a block sets that is undone.
#[test]
fn parameters_are_as_before_if_a_statement_of_their_text_fails() {
    let (_fresh, mut session) = table();
    let shown = |session: &mut Session, name: &str| {
        let shown = query(session, &format!("show {name}"));
        shown.expect("shown").remove(0)
    };
    let width = |session: &mut Session| shown(session, "extra_float_digits");
    for failing in [
        "set extra_float_digits to 3; select 1 / 0",
        "set extra_float_digits to 3; insert into t values (1, 1); select 1 / 0",
        "set extra_float_digits to 3; reset all; select nothing from t",
        "set extra_float_digits to 3; begin; rollback",
        "set extra_float_digits to 3; begin; insert into t values (1, 1); rollback",
        "set extra_float_digits to 3; set extra_float_digits to 77",
        "set local extra_float_digits to 3; select 1",
    ] {
        let _ = run(&mut session, failing);
        assert_eq!(session.status(), TransactionStatus::Idle, "{failing}");
        assert_eq!(width(&mut session), "1", "{failing}");
        let count = query(&mut session, "select count(*) from t").expect("read");
        assert_eq!(count, ["0"], "{failing}");
    }
    // The text with it has ended, or the block that it is part of has committed.
    for kept in [
        "set extra_float_digits to 3; select 1",
        "set extra_float_digits to 3; insert into t values (1, 1); delete from t",
        "set extra_float_digits to 3; begin; insert into t values (1, 1); delete from t; commit; select 1 / 0",
        "set extra_float_digits to 3; reset datestyle; discard plans",
    ] {
        let outcome = run(&mut session, kept).map(drop);
        assert_eq!(
            outcome.is_err(),
            kept.contains("/ 0"),
            "{kept}: {outcome:?}"
        );
        assert_eq!(session.status(), TransactionStatus::Idle, "{kept}");
        assert_eq!(width(&mut session), "3", "{kept}: {outcome:?}");
        run(&mut session, "reset extra_float_digits").expect("set back");
    }
    // Alone, it is not undone by a later text.
    run(&mut session, "set extra_float_digits to 3").expect("set");
    run(&mut session, "select 1 / 0").expect_err("it fails");
    assert_eq!(width(&mut session), "3");
}

/// A statement after `SET` in its text runs beside its table, as it does alone.
#[test]
fn a_large_statement_behind_set_runs_beside_its_table() {
    let (fresh, mut session) = table();
    run(
        &mut session,
        "insert into t select n, n from generate_series(1, 60) as n",
    )
    .expect("inserted");
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    crate::large::with_limits(&fresh, 0, move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let before = "set extra_float_digits to 3; update t set x = 1 / (x - 30)";
    let error = run(&mut session, before).expect_err("it divides by zero");
    assert_eq!(error.code, "22012");
    assert_eq!(
        query(&mut session, "show extra_float_digits").expect("shown"),
        ["1"]
    );
    assert_eq!(session.status(), TransactionStatus::Idle);
    calls.store(0, Ordering::Relaxed);
    let text = "set extra_float_digits to 3; update t set x = x + 1";
    run(&mut session, text).expect("updated");
    assert!(calls.load(Ordering::Relaxed) > 1, "in the stage");
    assert_eq!(
        query(&mut session, "show extra_float_digits").expect("shown"),
        ["3"]
    );
    assert_eq!(
        query(&mut session, "select sum(x) from t").expect("read"),
        ["1890"]
    );
}
