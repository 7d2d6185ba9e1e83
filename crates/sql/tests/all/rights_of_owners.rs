//! The rights of functions with `SECURITY DEFINER`, and those with sequences of tables: an owner's, not a caller's.

use crate::common::{Fresh, query, run};
use crate::rights::{TABLES, asked, refused, user};
use sardonyx_sql::{Access, Rights, Session, SessionOptions};

#[test]
fn a_function_with_security_definer_has_the_rights_of_the_user_that_made_it() {
    let fresh = Fresh::new();
    run(&mut fresh.session(), TABLES).unwrap();
    let blind = |others| Rights::from(others).with_table("hidden", Access::Nothing);
    let users = [
        ("maker".to_string(), Rights::from(Access::Define)),
        ("other".to_string(), blind(Access::Define)),
        ("caller".to_string(), blind(Access::Write)),
    ];
    fresh.database.set_users(users.clone());
    let mut sessions = users.map(|(user, rights)| {
        let options = SessionOptions {
            user: user.as_str().into(),
            rights,
            ..SessionOptions::default()
        };
        Session::new(fresh.database.clone(), options).expect("a session")
    });
    let [maker, other, caller] = &mut sessions;
    for text in [
        "create function plain() returns text language sql as 'select v from hidden'",
        "create function peek() returns text language sql security definer as 'select v from hidden'",
        "create function inside() returns text language sql security definer as 'select plain()'",
        "create function changes() returns trigger language plpgsql security definer as \
         $$ begin new.v = (select v from hidden); return new; end $$",
        "create trigger changing before insert on open for each row execute function changes()",
        "create function fails() returns text language plpgsql security definer as \
         $$ begin perform 1 / 0; return ''; end $$",
    ] {
        run(maker, text).unwrap();
    }
    refused(caller, "select v from hidden");
    refused(caller, "select plain()");
    assert_eq!(query(caller, "select peek(), inside()").unwrap(), ["h|h"]);
    let inserted = query(caller, "insert into open values (2, '') returning v");
    assert_eq!(inserted.unwrap(), ["h"]);
    // A statement behind such a call, and behind one that failed, has the caller's rights again.
    refused(caller, "select peek() || plain()");
    let text =
        "do $$ begin perform fails(); exception when division_by_zero then perform plain(); end $$";
    refused(caller, text);
    // One that lacks its owner's rights neither replaces nor drops it, nor a function that it calls.
    let replaces = "create or replace function peek() returns text security definer";
    let block = "language plpgsql as $$ begin return (select v from hidden); end $$";
    for text in [
        &*format!("{replaces} {block}"),
        "create or replace function plain() returns text language sql as 'select null::text'",
        "drop function plain()",
        "drop function peek()",
        "alter function peek() owner to other",
        "alter function peek() owner to current_user",
    ] {
        refused(other, text);
    }
    // It has the rights of another owner.
    run(maker, "alter function peek() owner to other").unwrap();
    let owners = "select p.proname, r.rolname, pg_get_userbyid(p.proowner) from pg_proc p \
                  join pg_roles r on r.oid = p.proowner where proname in ('peek', 'inside', 'plain') order by 1";
    let owned = [
        "inside|maker|maker",
        "peek|other|other",
        "plain|maker|maker",
    ];
    assert_eq!(query(maker, owners).unwrap(), owned);
    refused(caller, "select peek()");
    refused(other, "alter function peek() owner to maker");
    run(other, &format!("{replaces} {block}")).unwrap();
    refused(caller, "select peek()");
    let query_of = format!("{replaces} language sql as 'select v from hidden'");
    run(maker, &query_of).unwrap();
    assert_eq!(query(caller, "select peek()").unwrap(), ["h"]);
    // One that is no user any more may do nothing.
    let others = ["other", "caller"].map(|user| (user.to_string(), blind(Access::Write)));
    fresh.database.set_users(others);
    refused(caller, "select peek()");
    fresh.database.set_users([]);
    assert_eq!(query(caller, "select peek()").unwrap(), ["h"]);
}

#[test]
fn a_function_with_security_definer_is_called_by_those_who_may_change_rows() {
    let fresh = Fresh::new();
    run(&mut fresh.session(), TABLES).unwrap();
    let blind = |others| Rights::from(others).with_table("hidden", Access::Nothing);
    let of_two = Rights::from(Access::Nothing)
        .with_table("shown", Access::Read)
        .with_table("open", Access::Write);
    let users = [
        ("maker".to_string(), Rights::from(Access::Define)),
        ("limited".to_string(), blind(Access::Define)),
        ("writer".to_string(), blind(Access::Write)),
        ("reader".to_string(), Rights::from(Access::Read)),
        ("other".to_string(), of_two),
    ];
    fresh.database.set_users(users.clone());
    let mut sessions = users.map(|(user, rights)| {
        let options = SessionOptions {
            user: user.as_str().into(),
            rights,
            ..SessionOptions::default()
        };
        Session::new(fresh.database.clone(), options).expect("a session")
    });
    let [maker, limited, writer, reader, other] = &mut sessions;
    for text in [
        "create function peek() returns text language sql security definer as 'select v from hidden'",
        "create function plain(t text) returns text language sql as 'select t'",
        "create function calls() returns text language sql security definer as $$ select plain('a') $$",
        "create function changes() returns trigger language plpgsql security definer as \
         $$ begin new.v = (select v from hidden); return new; end $$",
        "create trigger changing before insert on open for each row execute function changes()",
        "create view seen as select peek() as v",
    ] {
        run(maker, text).unwrap();
    }
    for refusing in [&mut *reader, &mut *other] {
        for text in [
            "select peek() from shown",
            "select (peek()) || '' from shown",
            "select * from shown, (select peek()) s",
            "select 1 from shown where peek() = 'h'",
            "insert into open select 5, peek()",
        ] {
            refused(refusing, text);
        }
        assert_eq!(
            query(refusing, "select plain(v) from shown").unwrap(),
            ["s"]
        );
    }
    refused(reader, "select * from seen");
    // A trigger runs its function for everyone.
    let inserted = query(other, "insert into open values (2, '') returning v");
    assert_eq!(inserted.unwrap(), ["h"]);
    assert_eq!(query(writer, "select peek()").unwrap(), ["h"]);
    // It does not look in schemas and at temporary tables of its caller.
    for text in [
        "create schema evil",
        "create function evil.plain(t text) returns text language plpgsql as \
         $$ begin return (select v from public.hidden); end $$",
        "create temporary table hidden (id int, v text)",
        "insert into hidden values (1, 'own')",
        "set search_path = evil, public",
    ] {
        run(limited, text).unwrap();
    }
    assert_eq!(query(limited, "select calls(), peek()").unwrap(), ["a|h"]);
    refused(limited, "select plain('a')");
    // Privileges on functions are obeyed, or refused.
    for (text, answer) in [
        ("grant execute on function peek() to writer", "granted"),
        (
            "grant execute on function peek to writer, limited",
            "granted",
        ),
        ("grant execute on function peek() to reader", "0A000"),
        (
            "grant all on function plain(text) to reader, public",
            "granted",
        ),
        ("grant execute on function nosuch() to writer", "42883"),
        ("revoke execute on function peek() from reader", "revoked"),
        ("revoke execute on function peek() from writer", "0A000"),
        (
            "revoke execute on function plain(text) from reader",
            "0A000",
        ),
        ("revoke all on function peek() from public", "0A000"),
        (
            "revoke execute on all functions in schema public from public",
            "0A000",
        ),
        (
            "revoke execute on all functions in schema public from reader",
            "0A000",
        ),
        (
            "alter default privileges revoke execute on functions from public",
            "0A000",
        ),
        ("revoke all on shown from public", "revoked"),
    ] {
        let told = asked(maker, text);
        assert!(told.contains(answer), "{text}: {told}");
    }
    // Where only owners of everything may call it, PUBLIC may not, as in PostgreSQL.
    let owner = |user: &str| (user.to_string(), Rights::from(Access::Define));
    let reads = ("reader".to_string(), Rights::from(Access::Read));
    fresh
        .database
        .set_users([owner("maker"), owner("second"), reads]);
    let told = asked(maker, "revoke execute on function peek() from public");
    assert!(told.contains("revoked"), "{told}");
    let told = asked(maker, "revoke execute on function plain(text) from public");
    assert_eq!(told, "0A000");
}

#[test]
fn the_last_number_of_a_sequence_is_read_by_those_who_may_read_its_table() {
    let fresh = Fresh::new();
    let mut admin = fresh.session();
    run(&mut admin, TABLES).unwrap();
    for text in [
        "create sequence of_hidden owned by hidden.id",
        "create sequence of_shown owned by shown.id",
        "select nextval('of_hidden'), nextval('of_shown')",
    ] {
        run(&mut admin, text).unwrap();
    }
    for others in [Access::Nothing, Access::Read, Access::Define] {
        let mut ada = user(&fresh, others);
        for text in [
            "select last_value from of_hidden",
            "select pg_sequence_last_value('of_hidden'::regclass)",
        ] {
            refused(&mut ada, text);
        }
        for text in [
            "select last_value from of_shown",
            "select pg_sequence_last_value('of_shown'::regclass)",
        ] {
            assert_eq!(query(&mut ada, text).unwrap(), ["1"], "{text}");
        }
        let listed = "select sequencename, last_value from pg_sequences \
                      where sequencename like 'of%' order by 1";
        let listed = query(&mut ada, listed).unwrap();
        assert_eq!(listed, ["of_hidden|NULL", "of_shown|1"]);
    }
}
