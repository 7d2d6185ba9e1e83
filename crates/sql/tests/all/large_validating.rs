//! `NOT VALID` and `VALIDATE CONSTRAINT` of tables with many rows: `VALIDATE` checks the rows beside the table, while others
//! commit. A constraint that is not valid has no row looked at.

use crate::common::{query, run, session};
use crate::large::{Both, told, with_limits};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A statement after which rows violate the next constraint, that constraint without `NOT VALID`, the table and the
/// constraint, and a statement after which the rows meet it.
const CASES: [[&str; 5]; 4] = [
    [
        "update t set a = 100 where id = 60",
        "alter table t add constraint few check (a < 100)",
        "t",
        "few",
        "update t set a = 9 where id = 60",
    ],
    [
        "insert into f values (61, null, 1)",
        "alter table f add constraint of_p foreign key (id) references p",
        "f",
        "of_p",
        "delete from f where id = 61",
    ],
    [
        "update s set v = 77 where id = 30",
        "alter table s add constraint of_own foreign key (v) references s",
        "s",
        "of_own",
        "update s set v = 7 where id = 30",
    ],
    [
        "insert into f values (61, null, 1)",
        "alter table f add constraint of_t foreign key (id) references t (c) on delete cascade",
        "f",
        "of_t",
        "delete from f where id = 61",
    ],
];

fn is_valid(both: &Both, name: &str) -> Vec<String> {
    let text = format!("select convalidated from pg_constraint where conname = '{name}'");
    query(&mut both.aside.session(), &text).expect("the catalogue is read")
}

#[test]
fn rows_are_looked_at_when_a_constraint_is_validated_and_not_before() {
    for [violates, adds, table, name, meets] in CASES {
        let both = Both::new();
        run(&mut both.aside.session(), violates).expect(violates);
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        with_limits(&both.aside, 0, move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let adds = format!("{adds} not valid");
        run(&mut both.aside.session(), &adds).expect(&adds);
        assert_eq!(calls.load(Ordering::Relaxed), 0, "{adds}");
        assert_eq!(is_valid(&both, name), ["f"], "{adds}");
        let validates = format!("alter table {table} validate constraint {name}");
        told(&mut both.aside.session(), &validates).expect_err(&validates);
        assert_eq!(is_valid(&both, name), ["f"], "{validates}");
        // The table's rows are few, so that this statement runs beside them, too.
        both.aside.database.set_beside(crate::large::unlimited());
        run(&mut both.aside.session(), meets).expect(meets);
        let counted = calls.clone();
        calls.store(0, Ordering::Relaxed);
        with_limits(&both.aside, 0, move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        run(&mut both.aside.session(), &validates).expect(&validates);
        assert!(calls.load(Ordering::Relaxed) > 1, "{validates}");
        assert_eq!(is_valid(&both, name), ["t"], "{validates}");
        let told = told(&mut both.aside.session(), violates);
        assert!(told.is_err(), "{violates}");
    }
}

#[test]
fn a_violation_in_a_snapshot_is_the_answer_of_validate_and_it_is_that_of_the_stage() {
    for [violates, adds, table, name, meets] in CASES {
        let both = Both::new();
        for fresh in [&both.aside, &both.plain] {
            run(&mut fresh.session(), violates).expect(violates);
            let adds = format!("{adds} not valid");
            run(&mut fresh.session(), &adds).expect(&adds);
        }
        let database = both.aside.database.clone();
        let is_first = Mutex::new(true);
        with_limits(&both.aside, 0, move || {
            if let Ok(mut is_first) = is_first.try_lock()
                && std::mem::take(&mut *is_first)
            {
                run(&mut session(&database), meets).expect(meets);
            }
        });
        let validates = format!("alter table {table} validate constraint {name}");
        let aside = run(&mut both.aside.session(), &validates).expect_err(&validates);
        let plain = run(&mut both.plain.session(), &validates).expect_err(&validates);
        assert_eq!(*aside, *plain, "{validates}");
    }
}
