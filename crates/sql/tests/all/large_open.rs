//! Large statements in transactions that clients begin, with numbers of sequences, and with errors: answers and tables
//! are those of the stage.

use crate::common::{Fresh, copy_in, query, run};
use crate::large::{Both, Told, content, told, with_limits};
use sardonyx_base::memory::Share;
use sardonyx_sql::{BesideLimits, SqlError};
use std::sync::{Arc, Mutex};

/// Runs statements one flight each. Returns the answer to each.
fn told_of_each(fresh: &Fresh, texts: &[&str]) -> Vec<Told> {
    let mut session = fresh.session();
    texts.iter().map(|text| told(&mut session, text)).collect()
}

#[test]
fn a_transaction_with_large_statements_commits_them_beside_others() {
    let transactions: [&[&str]; 5] = [
        &["begin", "update t set a = a + 1", "commit"],
        &[
            "begin",
            "update t set a = a + s.v from s where s.id = t.id",
            "insert into t select id + 2000, v, 'new', null from s returning id",
            "delete from t where id % 7 = 0 returning id",
            "select count(*), sum(a) from t",
            "commit",
        ],
        &[
            "begin",
            "delete from p where id > 20",
            "savepoint one",
            "delete from t",
            "rollback to savepoint one",
            "insert into f select id + 500, 3, 1 from t",
            "commit",
        ],
        &["begin", "update t set c = 1", "commit"],
        &["begin", "update t set id = -id", "rollback"],
    ];
    for transaction in transactions {
        for meanwhile in [
            "select 1",
            // The row is read, and changes no answer.
            "update t set b = 'other' where id = 9",
        ] {
            let both = Both::new();
            let database = both.aside.database.clone();
            let times = Arc::new(Mutex::new(0));
            let counted = times.clone();
            with_limits(&both.aside, 0, move || {
                let mut times = counted.lock().expect("no panic");
                *times += 1;
                if *times == 1 {
                    run(&mut crate::common::session(&database), meanwhile).expect("it runs");
                }
            });
            let aside = told_of_each(&both.aside, transaction);
            both.aside.database.set_beside(crate::large::unlimited());
            let commits = transaction.contains(&"commit") && aside.iter().all(Result::is_ok);
            let times = *times.lock().expect("no panic");
            assert_eq!(times > 1, commits, "{transaction:?}");
            if times > 0 {
                run(&mut both.plain.session(), meanwhile).expect("it runs");
            }
            let plain = told_of_each(&both.plain, transaction);
            assert_eq!(aside, plain, "{transaction:?}");
            assert_eq!(
                content(&both.aside.database),
                content(&both.plain.database),
                "{transaction:?}"
            );
        }
    }
}

#[test]
fn a_conflict_begins_a_statement_again_and_the_third_time_it_runs_in_the_stage() {
    let large = "update t set a = t.a + s.v from s where s.id = t.id returning t.id, a";
    for (conflicts, pauses) in [(1, None), (10, Some(3))] {
        let both = Both::new();
        let change = "update s set v = v + 1 where id = 3";
        let database = both.aside.database.clone();
        let times = Arc::new(Mutex::new((0, 0)));
        let counted = times.clone();
        with_limits(&both.aside, 100, move || {
            let mut times = counted.lock().expect("no panic");
            times.0 += 1;
            if times.1 < conflicts {
                times.1 += 1;
                run(&mut crate::common::session(&database), change).expect("it runs");
            }
        });
        let aside = told(&mut both.aside.session(), large);
        both.aside.database.set_beside(crate::large::unlimited());
        let (times, changed) = *times.lock().expect("no panic");
        assert!(pauses.is_none_or(|pauses| times == pauses), "{times}");
        for _ in 0..changed {
            run(&mut both.plain.session(), change).expect("it runs");
        }
        assert_eq!(aside, told(&mut both.plain.session(), large));
        assert_eq!(content(&both.aside.database), content(&both.plain.database));
    }
}

#[test]
fn rows_of_large_statements_have_numbers_of_sequences() {
    let tables = "create table n (id serial primary key, a int, p int references p);
        create table m (id bigint generated always as identity primary key, a int)";
    for large in [
        "insert into n (a) select id from t",
        "insert into n (a, p) select id, id from t where id < 50 returning id, a",
        "insert into m (a) select id from t",
        "update t set c = nextval('n_id_seq') + 100 where id > 4",
    ] {
        for few in [0, 1000] {
            let mut both = Both::new();
            for fresh in [&both.aside, &both.plain] {
                run(&mut fresh.session(), tables).expect("they are there");
            }
            let times = Arc::new(Mutex::new(0));
            let counted = times.clone();
            with_limits(&both.aside, few, move || {
                *counted.lock().expect("no panic") += 1
            });
            let aside = told(&mut both.aside.session(), large);
            both.aside.database.set_beside(crate::large::unlimited());
            assert!(*times.lock().expect("no panic") > 0, "{large} ran aside");
            assert_eq!(aside, told(&mut both.plain.session(), large), "{large}");
            // Numbers are drawn once, also by the next process.
            both.aside.reopen();
            for fresh in [&both.aside, &both.plain] {
                let mut session = fresh.session();
                run(
                    &mut session,
                    "insert into n (a) values (1); insert into m (a) values (1)",
                )
                .expect("inserted");
                let twice = "select count(*) - count(distinct id) from n";
                assert_eq!(query(&mut session, twice).expect("read"), ["0"], "{large}");
            }
            assert_eq!(content(&both.aside.database), content(&both.plain.database));
        }
    }
}

/// Runs a statement aside. In its first pauses, others run, each in an attempt of its own. Returns its answer.
fn told_with_others(
    both: &Both,
    large: &str,
    few: u64,
    (other, times): (&'static str, usize),
) -> Told {
    let database = both.aside.database.clone();
    let pauses = Arc::new(Mutex::new(0));
    let counted = pauses.clone();
    with_limits(&both.aside, few, move || {
        let Ok(mut pauses) = counted.try_lock() else {
            return;
        };
        *pauses += 1;
        if *pauses <= times {
            run(&mut crate::common::session(&database), other).expect("it runs");
        }
    });
    let told = told(&mut both.aside.session(), large);
    both.aside.database.set_beside(crate::large::unlimited());
    let pauses = *pauses.lock().expect("no panic");
    match few {
        // Several in an attempt.
        0 => assert!(pauses > times, "{large}"),
        // One in each of three attempts, and none in the stage.
        _ => assert_eq!(pauses, (times + 1).min(3), "{large}"),
    }
    told
}

#[test]
fn an_attempt_has_the_numbers_that_the_one_before_drew() {
    let other = "update t set b = b || '!' where id = 9";
    for large in [
        "insert into n select nextval('few'), a from t",
        "insert into n select nextval('few'), a from t returning id, a",
        "update t set c = nextval('few') + 100",
    ] {
        // With three conflicts it runs in the stage.
        for conflicts in 1..=3 {
            let both = Both::new();
            // The sequence has as many numbers as the statement draws.
            let tables =
                "create sequence few maxvalue 60; create table n (id int primary key, a int)";
            for fresh in [&both.aside, &both.plain] {
                run(&mut fresh.session(), tables).expect("they are there");
            }
            let aside = told_with_others(&both, large, 1000, (other, conflicts));
            for _ in 0..conflicts {
                run(&mut both.plain.session(), other).expect("it runs");
            }
            assert_eq!(aside, told(&mut both.plain.session(), large), "{large}");
            assert!(aside.is_ok(), "{large}: {aside:?}");
            let numbers = "select id, a from n order by id";
            let numbers = |fresh: &Fresh| query(&mut fresh.session(), numbers).expect("read");
            assert_eq!(numbers(&both.aside), numbers(&both.plain));
            assert_eq!(content(&both.aside.database), content(&both.plain.database));
            let next = told(&mut both.aside.session(), "select nextval('few')");
            assert_eq!(next, Err("2200H"), "{large}");
        }
    }
}

#[test]
fn an_attempt_sets_no_sequence_again_of_which_others_have_drawn() {
    let large = "update t set c = setval('more', 7) + s.id * 100 from s where s.id = t.id";
    let other = "insert into s select 100 + nextval('more'), 1";
    for conflicts in 1..=3 {
        let both = Both::new();
        run(&mut both.aside.session(), "create sequence more").expect("it is there");
        let aside = told_with_others(&both, large, 1000, (other, conflicts));
        assert_eq!(aside, Ok((Vec::new(), Some(30))));
        let next = query(&mut both.aside.session(), "select nextval('more')").expect("drawn");
        assert_eq!(next, [(8 + conflicts).to_string()]);
    }
}

#[test]
fn an_attempt_sets_a_sequence_to_what_it_computes() {
    // Each other row is the largest then, and the number is drawn behind it.
    let large = "update t set c = 100 + s.id * 1000 + case when s.id = 1 then setval('more', (select max(id) from s))
        else nextval('more') end from s where s.id = t.id";
    let other = "insert into s select max(id) + 1, 1 from s";
    for conflicts in 1..=3 {
        let both = Both::new();
        for fresh in [&both.aside, &both.plain] {
            run(&mut fresh.session(), "create sequence more").expect("it is there");
        }
        let aside = told_with_others(&both, large, 1000, (other, conflicts));
        for _ in 0..conflicts {
            run(&mut both.plain.session(), other).expect("it runs");
        }
        assert_eq!(aside, told(&mut both.plain.session(), large));
        assert_eq!(content(&both.aside.database), content(&both.plain.database));
        let next = |fresh: &Fresh| told(&mut fresh.session(), "select nextval('more')");
        assert_eq!(next(&both.aside), next(&both.plain));
    }
}

#[test]
fn an_attempt_that_leaves_out_one_sequence_has_the_numbers_of_the_others() {
    // The row that others change draws of the second sequence in the first attempt alone.
    let large = "update t set c = case when b like '%!' then 0 else nextval('more') end + 100 + nextval('few') * 0";
    let other = "update t set b = b || '!' where id = 9";
    for conflicts in 1..=3 {
        let both = Both::new();
        let sequences = "create sequence few maxvalue 60; create sequence more maxvalue 60";
        run(&mut both.aside.session(), sequences).expect("they are there");
        let aside = told_with_others(&both, large, 1000, (other, conflicts));
        assert_eq!(aside, Ok((Vec::new(), Some(60))));
        for name in ["few", "more"] {
            let next = format!("select nextval('{name}')");
            assert_eq!(told(&mut both.aside.session(), &next), Err("2200H"));
        }
    }
}

#[test]
fn an_attempt_draws_anew_of_a_sequence_that_begins_again_meanwhile() {
    let large = "insert into t select nextval('n_id_seq'), v, 'new', null from s";
    let more = "insert into t (id) select nextval('n_id_seq') from s";
    for other in [
        "truncate n restart identity",
        "drop table n; create table n (id serial primary key, a int)",
    ] {
        for few in [0, 1000] {
            let both = Both::new();
            let tables = "create table n (id serial primary key, a int); insert into n (a) values (1), (2), (3);
                delete from t";
            for fresh in [&both.aside, &both.plain] {
                run(&mut fresh.session(), tables).expect("they are there");
            }
            let aside = told_with_others(&both, large, few, (other, 1));
            run(&mut both.plain.session(), other).expect("it runs");
            assert_eq!(aside, told(&mut both.plain.session(), large), "{other}");
            let more = |fresh: &Fresh| told(&mut fresh.session(), more);
            assert_eq!(more(&both.aside), more(&both.plain), "{other}");
            assert_eq!(content(&both.aside.database), content(&both.plain.database));
        }
    }
}

#[test]
fn a_large_statement_that_fails_tells_what_it_does_in_the_stage() {
    let line = |id: i64| format!("{id}\t{id}\t1\n");
    let long: String = (1000..9000).map(|id| format!("{id}\t7\t1\n")).collect();
    for (text, data) in [
        (
            "update t set a = 1 / (t.id - 30) from s where s.id <= 40 and s.id = t.id",
            None,
        ),
        ("update t set c = 5 from s where s.id = t.id", None),
        (
            "insert into t select id, v, 'twice', null from s returning id",
            None,
        ),
        ("insert into f select id + 100, id * 3, 1 from s", None),
        (
            "insert into f select id + 100, null, id from s union all select 1, 1, 1",
            None,
        ),
        ("update p set id = id + 1000", None),
        (
            "update t set a = a - 900 where id in (select id from s)",
            None,
        ),
        ("copy f from stdin", Some(format!("{long}{}", line(77_777)))),
        ("copy f from stdin", Some(format!("{long}{}", line(1)))),
        ("copy f from stdin", Some(long.clone())),
    ] {
        let both = Both::new();
        let times = Arc::new(Mutex::new(0));
        let counted = times.clone();
        with_limits(&both.aside, 10, move || {
            *counted.lock().expect("no panic") += 1
        });
        let outcome = |fresh: &Fresh| {
            let mut session = fresh.session();
            let done = match &data {
                Some(data) => copy_in(&mut session, text, data.as_bytes()).map(|done| vec![done]),
                None => run(&mut session, text),
            };
            done.map(|done| done.last().and_then(|last| last.tag.rows))
                .map_err(|error: SqlError| {
                    format!(
                        "{} {} {:?} {:?} {:?}",
                        error.code, error.message, error.detail, error.constraint, error.context
                    )
                })
        };
        let aside = outcome(&both.aside);
        both.aside.database.set_beside(crate::large::unlimited());
        assert_eq!(aside, outcome(&both.plain), "{text}");
        assert_eq!(aside.is_ok(), data.as_ref() == Some(&long), "{text}");
        assert_eq!(content(&both.aside.database), content(&both.plain.database));
    }
}

#[test]
fn bytes_that_a_large_statement_keeps_are_of_the_memory_of_all_sessions() {
    let both = Both::new();
    let more = "insert into s select n, n from generate_series(1000, 3000) as g (n);
        insert into t select id, v, 'more', id from s where id > 60";
    run(&mut both.aside.session(), more).expect("it runs");
    let taken = Arc::new(Mutex::new(Vec::new()));
    let (noted, database) = (taken.clone(), both.aside.database.clone());
    with_limits(&both.aside, 1000, move || {
        let mut noted = noted.lock().expect("no panic");
        noted.push(database.memory().taken());
    });
    let large = "update t set a = t.a + s.v from s where s.id = t.id";
    told(&mut both.aside.session(), large).expect("it runs");
    both.aside.database.set_beside(crate::large::unlimited());
    // The first pause is before the table's next content is begun.
    let taken = taken.lock().expect("no panic").clone();
    assert!(taken[0] > 64 << 10, "{taken:?}");
    assert_eq!(both.aside.database.memory().taken(), 0);
    // A transaction that takes a quarter of it, or finds no room there, changes nothing.
    let mut session = both.aside.session();
    let before = content(&both.aside.database);
    both.aside.database.set_aside_from(0);
    for (bytes_max, of_others, code) in [
        (300 << 10, 0, "54000"),
        (8 << 20, (8 << 20) - (384 << 10), "53200"),
    ] {
        let memory = both.aside.database.memory();
        memory.set_bytes_max(bytes_max);
        let mut others = Share::of(memory.clone());
        others.cover(of_others).expect("there is room");
        run(&mut session, "begin").expect("it begins");
        let few = run(&mut session, "update t set a = a + 1 where id < 9");
        few.expect("few rows count in nothing");
        let many = run(&mut session, "update t set a = a + 1").map_err(|error| error.code);
        assert_eq!(many.err(), Some(code));
        run(&mut session, "rollback").expect("it ends");
        memory.set_bytes_max(usize::MAX);
        assert_eq!(content(&both.aside.database), before);
        drop(others);
        assert_eq!(memory.taken(), 0);
    }
}

#[test]
fn small_tables_are_changed_in_the_stage() {
    let both = Both::new();
    let times = Arc::new(Mutex::new(0));
    let counted = times.clone();
    both.aside.database.set_beside(BesideLimits {
        between: Some(Arc::new(move || *counted.lock().expect("no panic") += 1)),
        ..BesideLimits::default()
    });
    let text = "update t set a = t.a + s.v from s where s.id = t.id";
    assert_eq!(
        told(&mut both.aside.session(), text),
        Ok((Vec::new(), Some(30)))
    );
    both.aside.database.set_beside(crate::large::unlimited());
    assert_eq!(*times.lock().expect("no panic"), 0);
}

#[test]
fn a_table_is_copied_only_for_a_good_part_of_its_rows() {
    let rows = |from: u64, count: u64| {
        format!(
            "insert into big select n, n from generate_series({from}, {}) as g (n)",
            from + count - 1
        )
    };
    let returning = |from, count| format!("{} returning id", rows(from, count));
    // 40,000 rows: 10,000 new ones are a quarter, and 2,500 a sixteenth.
    for (text, makes) in [
        (rows(50_001, 9_900), false),
        (rows(50_001, 10_100), true),
        (returning(50_001, 9_900), false),
        (returning(50_001, 10_100), true),
        ("update big set v = v + 1 where id <= 2400".into(), false),
        ("update big set v = v + 1 where id <= 2600".into(), true),
        (
            "delete from big where id <= 2400 returning id".into(),
            false,
        ),
        ("delete from big where id <= 2600 returning id".into(), true),
    ] {
        let both = Both::new();
        let mut session = both.aside.session();
        run(&mut session, "create table big (id int primary key, v int)").expect("made");
        run(&mut session, &rows(1, 40_000)).expect("filled");
        let times = Arc::new(Mutex::new(0));
        let counted = times.clone();
        both.aside.database.set_beside(BesideLimits {
            between: Some(Arc::new(move || *counted.lock().expect("no panic") += 1)),
            ..BesideLimits::default()
        });
        run(&mut session, &text).expect(&text);
        both.aside.database.set_beside(crate::large::unlimited());
        let times = *times.lock().expect("no panic");
        // The copy takes one call of 500 rows each.
        assert_eq!(times > 40, makes, "{text}: {times}");
        assert!(times > 0, "{text} ran aside");
    }
}

#[test]
fn definitions_of_other_tables_are_in_no_transaction_s_way() {
    let large = [
        "begin",
        "update t set a = a + s.v from s where s.id = t.id",
        "commit",
    ];
    let of_it = "update t set a = t.a + s.v from s where s.id = t.id returning t.id";
    for (texts, define, pauses) in [
        (&large[..], "create table more (id int primary key)", 1),
        (&large[..], "create index f_n on f (n)", 1),
        (&[of_it][..], "create table more (id int primary key)", 1),
        // One of the table that it changes is: it begins again.
        (&[of_it][..], "create index t_b on t (b)", 2),
    ] {
        let both = Both::new();
        let database = both.aside.database.clone();
        let times = Arc::new(Mutex::new((0, 0)));
        let counted = times.clone();
        with_limits(&both.aside, 0, move || {
            // Between the calls that make an index nothing more runs.
            let Ok(mut times) = counted.try_lock() else {
                return;
            };
            // The first pause is before a content is begun.
            let there = database
                .tables()
                .expect("tables in main memory")
                .read(|view| {
                    let mut names = view.definitions().iter();
                    Ok(names.any(|one| one.name.starts_with("sardonyx.next")))
                });
            times.1 += usize::from(!there.expect("it reads"));
            times.0 += 1;
            if times.0 == 1 {
                run(&mut crate::common::session(&database), define).expect("defined");
            }
        });
        let aside = told_of_each(&both.aside, texts);
        both.aside.database.set_beside(crate::large::unlimited());
        run(&mut both.plain.session(), define).expect("defined");
        assert_eq!(aside, told_of_each(&both.plain, texts), "{define}");
        assert_eq!(times.lock().expect("no panic").1, pauses, "{define}");
        assert_eq!(content(&both.aside.database), content(&both.plain.database));
    }
}

#[test]
fn rows_of_large_tables_come_into_small_ones_aside() {
    let tables = "create table big (id int primary key, v int);
        insert into big select n, n from generate_series(1, 12000) as g (n);
        create table small (id int primary key, v int references p)";
    for text in [
        "insert into small (id) select id from big returning id",
        "insert into small (id) select id from big on conflict do nothing",
        "insert into small select id, 1 + id % 9 from big",
        "insert into small (id) select n from generate_series(1, 3000) as g (n) returning id",
    ] {
        let both = Both::new();
        let mut session = both.aside.session();
        run(&mut session, tables).expect("they are there");
        let times = Arc::new(Mutex::new(0));
        let counted = times.clone();
        both.aside.database.set_beside(BesideLimits {
            between: Some(Arc::new(move || *counted.lock().expect("no panic") += 1)),
            ..BesideLimits::default()
        });
        run(&mut session, text).expect(text);
        both.aside.database.set_beside(crate::large::unlimited());
        assert!(*times.lock().expect("no panic") > 5, "{text} ran aside");
    }
}

#[test]
fn rows_that_others_change_while_another_content_is_made_come_before_the_last_call() {
    let pauses_of = |at: Option<usize>| {
        let both = Both::new();
        let database = both.aside.database.clone();
        let times = Arc::new(Mutex::new(0));
        let counted = times.clone();
        with_limits(&both.aside, 0, move || {
            let Ok(mut times) = counted.try_lock() else {
                return;
            };
            *times += 1;
            if Some(*times) == at {
                let rows = (1000..1300).map(|id| format!("({id}, 1)"));
                let rows = rows.collect::<Vec<_>>().join(", ");
                let text = format!("insert into p values {rows}");
                run(&mut crate::common::session(&database), &text).expect("inserted");
            }
        });
        let large = "delete from p where id between 1 and 20";
        let told = told(&mut both.aside.session(), large);
        both.aside.database.set_beside(crate::large::unlimited());
        assert_eq!(told, Ok((Vec::new(), Some(20))));
        *times.lock().expect("no panic")
    };
    let alone = pauses_of(None);
    // The content of `p` is made by then, and that of `f` not yet.
    let others = pauses_of(Some(alone - 1));
    assert!(others >= alone + 300 / 5, "{alone} and {others}");
}

#[test]
fn numbers_of_sequences_that_do_not_follow_each_other_are_of_the_memory_of_all_sessions() {
    let taken_by = |large: &str| {
        let both = Both::new();
        let tables = "create sequence few; create table n (id bigint primary key, a bigint)";
        run(&mut both.aside.session(), tables).expect("they are there");
        let taken = Arc::new(Mutex::new(0));
        let (noted, database) = (taken.clone(), both.aside.database.clone());
        with_limits(&both.aside, 0, move || {
            let mut noted = noted.lock().expect("no panic");
            *noted = database.memory().taken().max(*noted);
        });
        told(&mut both.aside.session(), large).expect("it runs");
        both.aside.database.set_beside(crate::large::unlimited());
        assert_eq!(both.aside.database.memory().taken(), 0);
        *taken.lock().expect("no panic")
    };
    let rows = "from generate_series(1, 3000) as g (g)";
    let few = taken_by(&format!("insert into n select nextval('few'), g {rows}"));
    let many = taken_by(&format!(
        "insert into n select g, setval('few', g * 3) {rows}"
    ));
    assert!(many > few + (64 << 10), "{few} and {many}");
}
