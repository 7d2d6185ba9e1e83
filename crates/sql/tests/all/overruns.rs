//! Flights that have the serial stage for longer than their allowance run aside: answers, messages, numbers of sequences
//! and tables are those of one run in the stage, at the commit.

use crate::common::{Fresh, flight, lines, query, run, session, wait};
use crate::large::{Both, content, unlimited, with_limits};
use sardonyx_base::waiting::Allowance;
use sardonyx_sql::{Outcome, Session, SqlError, Step};
use std::sync::{Arc, Mutex};

const MORE: &str = "create sequence q;
    create table n (id serial primary key, a int);
    create procedure many(least int) language sql as $$
        delete from t where id > least;
        update p set v = v + 1;
        insert into n (a) select id from t $$";

/// Flights of which each has statements on many rows.
const FLIGHTS: [&str; 22] = [
    "select 1; update t set a = a + 1",
    "update t set a = a + 1; select count(*), sum(a) from t; delete from t where a > 5",
    "begin; delete from t where a % 3 = 0 returning id; update s set v = v + 1; commit",
    "begin; update t set a = a + 1; rollback; delete from s where v > 7",
    "begin; update t set a = a + 1; savepoint one; delete from t; rollback to savepoint one; insert into s \
     select id + 900, a from t; release savepoint one; commit; select count(*) from s",
    "commit; update t set b = b || '?'; insert into s select id + 900, a from t; commit; update p set v = 7",
    "set application_name = 'other'; update t set b = current_setting('application_name'); update s set v = 3",
    "prepare one as delete from t where id < $1; execute one(30); update t set a = a + 1; execute one(40)",
    "do $$ begin update t set a = a + 1; raise notice 'once'; delete from f where n = 3; raise warning '%', \
     (select count(*) from f); end $$",
    "do $$ begin update t set a = a + 1; begin delete from t where id > 30; update t set c = 1; exception \
     when unique_violation then raise notice 'caught %', (select count(*) from t); end; end $$",
    "call many(40)",
    "call many(10); select count(*) from n; call many(5)",
    "select nextval('q'), id from t order by id; select nextval('q')",
    "insert into n (a) select id from t returning id; insert into n (a) values (1) returning id",
    "update t set a = nextval('q'); select setval('q', 1000); insert into n (a) select nextval('q') from t returning a",
    "with gone as (delete from t where id > 5 returning id, a) update s set v = v + 100 from gone where gone.id = s.id; \
     merge into t using s on s.id = t.id when matched and v % 3 = 0 then delete when matched then update set a = v",
    "explain (analyze, costs off, timing off, summary off) delete from p where id > 7; select count(*) from f",
    // Errors.
    "update s set v = 0; update t set c = 1",
    "begin; delete from s; update t set a = a - 600; commit",
    "begin; delete from s; insert into f values (900, 900, 1); commit; select 1",
    "update s set v = v + 1; select 1 / (v - v) from s",
    "insert into n (a) select id from t; select 1 / 0; select nextval('q')",
];

/// The answer to a statement of a flight: its rows, the number of its tag, and its messages; or the code of its error.
type Answer = Result<(Vec<String>, Option<u64>, Vec<String>), &'static str>;

fn answers(session: &mut Session, steps: Vec<Step>) -> Vec<Answer> {
    let outcomes = wait(session.run(steps)).into_iter();
    let answers = outcomes.filter_map(|outcome| match outcome {
        Outcome::Done(complete) => {
            let messages = complete.notices.iter().map(|notice| notice.message.clone());
            let messages = messages.collect();
            Some(Ok((lines(&complete), complete.tag.rows, messages)))
        }
        Outcome::Failed(error) => Some(Err(error.code)),
        Outcome::Skipped => Some(Err("skipped")),
        Outcome::Synced(_) => None,
    });
    answers.collect()
}

fn told(session: &mut Session, text: &str) -> Vec<Answer> {
    match flight(session, text) {
        Ok(steps) => answers(session, steps),
        Err(error) => vec![Err(error.code)],
    }
}

/// As [`content`], with the numbers of sequences that are next.
fn all(fresh: &Fresh) -> Vec<Vec<String>> {
    let mut all = content(&fresh.database);
    let mut session = fresh.session();
    for text in [
        "select * from n order by id",
        "select nextval('q')",
        "insert into n (a) values (7) returning id",
    ] {
        all.push(query(&mut session, text).expect(text));
    }
    all
}

/// Databases, in one of which flights have the stage for so many looks. `meanwhile` runs before its first commits, and
/// before the flight in the other one. The returned number is that of commits that gave others the stage.
fn both(looks: u32, meanwhile: Option<(&'static str, usize)>) -> (Both, Arc<Mutex<usize>>) {
    let both = Both::new();
    for fresh in [&both.aside, &both.plain] {
        run(&mut fresh.session(), MORE).expect("they are there");
    }
    let endless = Allowance::Looks(u32::MAX);
    both.plain.database.set_allowance(endless);
    both.aside.database.set_allowance(Allowance::Looks(looks));
    let times = Arc::new(Mutex::new(0));
    let (counted, database) = (times.clone(), both.aside.database.clone());
    with_limits(&both.aside, 0, move || {
        // Those of the other session's own statements do not count.
        let Ok(mut times) = counted.try_lock() else {
            return;
        };
        *times += 1;
        if let Some((text, most)) = meanwhile
            && *times <= most
        {
            // It would wait for ever if the flight had the stage.
            run(&mut session(&database), text).expect(text);
        }
    });
    (both, times)
}

fn judge(text: &str, looks: u32, meanwhile: Option<(&'static str, usize)>) -> usize {
    let (both, times) = both(looks, meanwhile);
    let mut aside_session = both.aside.session();
    let aside = told(&mut aside_session, text);
    let numbers = told(
        &mut aside_session,
        "select lastval(), current_setting('application_name')",
    );
    both.aside.database.set_beside(unlimited());
    let times = *times.lock().expect("no panic");
    if let Some((text, most)) = meanwhile {
        for _ in 0..times.min(most) {
            run(&mut both.plain.session(), text).expect(text);
        }
    }
    let mut plain_session = both.plain.session();
    assert_eq!(aside, told(&mut plain_session, text), "{looks}: {text}");
    let numbers_of_plain = told(
        &mut plain_session,
        "select lastval(), current_setting('application_name')",
    );
    assert_eq!(numbers, numbers_of_plain, "{looks}: {text}");
    assert_eq!(all(&both.aside), all(&both.plain), "{looks}: {text}");
    times
}

/// Changes of others, each in the first commits of a flight.
const MEANWHILE: [&str; 4] = [
    "update t set a = a + 50 where id = 9",
    "insert into t values (2000, 3, 'new', 2000) on conflict do nothing",
    "update s set v = v + 1000 where id = 3",
    "insert into p values (2000, 1) on conflict do nothing",
];

#[test]
fn a_flight_that_overran_is_answered_once_and_as_in_the_stage() {
    for (number, text) in FLIGHTS.into_iter().enumerate() {
        let [first, some, all] = [0, 3, u32::MAX].map(|looks| judge(text, looks, None));
        // A statement alone behind the others runs beside its table.
        let ends_alone = text.contains("rollback; delete") || text.starts_with("commit");
        assert!(all == 0 || ends_alone, "the stage ran it: {text}");
        // A flight that fails, or only draws numbers, has no next contents.
        let is_error = number >= 17 || text.starts_with("select nextval");
        assert!(first > 0 || is_error, "{text}");
        assert!(some <= first, "{text}");
    }
}

#[test]
fn a_flight_that_overran_begins_again_if_rows_that_it_read_changed() {
    for (number, text) in FLIGHTS.into_iter().enumerate() {
        // After the last attempt the stage runs it.
        for changes in [1, 1000] {
            judge(
                text,
                0,
                Some((MEANWHILE[number % MEANWHILE.len()], changes)),
            );
        }
    }
}

#[test]
fn a_transaction_of_several_flights_that_overruns_in_the_last_keeps_its_answers() {
    for (meanwhile, expected) in [
        ("update s set v = v + 1000 where id = 20", Ok(())),
        ("update s set v = v + 1000 where id = 3", Err("40001")),
    ] {
        for changes_first in [false, true] {
            let (both, times) = both(0, (!changes_first).then_some((meanwhile, 1)));
            let mut session = both.aside.session();
            for text in ["begin", "select v from s where id = 3", "savepoint one"] {
                run(&mut session, text).expect(text);
            }
            run(&mut session, "update s set v = -1 where id = 4").expect("it runs");
            if changes_first {
                run(&mut both.aside.session(), meanwhile).expect("it runs");
            }
            let last = "update t set a = a + 1; update p set v = v + 1; commit";
            let ended: Result<_, SqlError> = run(&mut session, last);
            both.aside.database.set_beside(unlimited());
            let ended = ended.map(drop).map_err(|error| error.code);
            assert_eq!(ended, expected, "{meanwhile}");
            let found = query(&mut both.aside.session(), "select v from s where id = 4");
            let is_done = found.expect("it reads") == ["-1"];
            assert_eq!(is_done, expected.is_ok());
            assert!(*times.lock().expect("no panic") > 0 || changes_first);
        }
    }
}

#[test]
fn many_short_statements_in_one_flight_overrun_together() {
    for (looks, is_aside) in [(100, true), (u32::MAX, false)] {
        let (both, times) = both(looks, Some(("update s set v = 7 where id = 1", 1)));
        let inserts: String = (0..600)
            .map(|n| format!("insert into p values ({}, 1);", n + 3000))
            .collect();
        let mut session = both.aside.session();
        let done = run(&mut session, &inserts).expect("they are inserted");
        assert_eq!(done.len(), 600);
        both.aside.database.set_beside(unlimited());
        assert_eq!(*times.lock().expect("no panic") > 0, is_aside);
        let found = query(&mut session, "select count(*) from p").expect("it reads");
        assert_eq!(found, ["660"]);
    }
}

#[test]
fn a_row_with_many_that_are_deleted_with_it_lets_others_write() {
    let (both, times) = both(2, Some(("update s set v = 7 where id = 1", 1)));
    let mut session = both.aside.session();
    let many = "insert into f select n, 3, 1 from generate_series(1000, 3000) as g (n)";
    for text in [many, "select 1; delete from p where id = 3"] {
        run(&mut session, text).expect(text);
    }
    both.aside.database.set_beside(unlimited());
    assert!(*times.lock().expect("no panic") > 0);
    let found = query(&mut session, "select count(*) from f where t = 3").expect("it reads");
    assert_eq!(found, ["0"]);
    assert_eq!(
        query(&mut session, "select v from s where id = 1").expect("it reads"),
        ["7"]
    );
}

#[test]
fn notifications_of_a_flight_that_overran_come_once() {
    let (both, times) = both(0, Some(("update t set a = 3 where id = 3", 2)));
    let mut session = both.aside.session();
    run(&mut session, "listen c").expect("it listens");
    let text = "update t set a = a + 1; notify c, 'one'; select pg_notify('c', id::text) from t where id < 3";
    run(&mut session, text).expect(text);
    both.aside.database.set_beside(unlimited());
    assert!(*times.lock().expect("no panic") > 2);
    let mut came = session.inbox().expect("it has one").take(usize::MAX);
    came.sort_by(|one, other| one.payload.cmp(&other.payload));
    let came: Vec<_> = came.iter().map(|message| &*message.payload).collect();
    assert_eq!(came, [&b"1"[..], b"2", b"one"]);
}
