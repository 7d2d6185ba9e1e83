//! Statements with several changes of rows: `ON CONFLICT` in parts of `WITH`, and rows that follow others at the end of the
//! statement. The answers are PostgreSQL 15's, by a client's transaction, by a statement alone, and aside.

use crate::common::{Fresh, query, run};
use crate::large::unlimited;
use sardonyx_sql::{BesideLimits, Session};

const TABLES: &str = "create table p (id int primary key, v int);
    create table f (id int primary key, t int references p on delete cascade on update cascade, n int);
    create table g (id int primary key, t int references p on delete set null on update set null);
    create table u (id int primary key, a int unique, b int, c text);
    create unique index u_part on u (b) where c is not null;
    create unique index u_up on u (lower(c));
    create table tr (id int primary key, up int references tr on delete cascade);
    insert into p values (1, 1), (2, 2), (3, 3);
    insert into f values (11, 1, 0), (12, 2, 0), (13, 1, 0);
    insert into g values (21, 1), (22, 2);
    insert into u values (1, 10, 100, 'x'), (2, 20, 200, 'y'), (3, 30, null, null);
    insert into tr values (1, null), (2, 1), (3, 2)";

/// A statement, its rows or the code of its error, a query, and the rows of that afterwards.
const CASES: [[&str; 4]; 31] = [
    [
        "with x as (insert into u values (1, 0, 0, 'w'), (2, 0, 0, 'w') on conflict (id) do update set a = 30 - u.a returning id) select * from x",
        "23505",
        "select id, a from u order by id",
        "1|10 2|20 3|30",
    ],
    [
        "with d as (delete from p where id = 1) update f set t = 2 where id = 11 returning id",
        "11",
        "select * from f order by id",
        "11|2|0 12|2|0",
    ],
    [
        "with d as (delete from p where id = 1 returning id) update f set t = 2 from d where f.id = 11 returning f.id",
        "11",
        "select * from f order by id",
        "11|2|0 12|2|0",
    ],
    [
        "with d as (delete from p where id = 1 returning id) insert into f select 100, id, 7 from d returning id",
        "100",
        "select * from f order by id",
        "12|2|0",
    ],
    [
        "with d as (delete from p where id = 1 returning id) update g set t = 3 from d where g.id = 21 returning g.id",
        "21",
        "select * from g order by id",
        "21|3 22|2",
    ],
    [
        "with d as (delete from p where id = 1 returning id) delete from f using d where t = d.id returning f.id",
        "11 13",
        "select * from f order by id",
        "12|2|0",
    ],
    [
        "with d as (delete from p where id = 1 returning id), i as (insert into p select id, 9 from d returning id) select id from i",
        "1",
        "select id, t from f order by id",
        "12|2",
    ],
    [
        "with c as (update p set id = id + 10 where id = 1 returning id) update f set t = 2 from c where f.id = 11 returning f.id",
        "11",
        "select * from f order by id",
        "11|2|0 12|2|0 13|11|0",
    ],
    [
        "with c as (update p set id = id + 10 where id = 1 returning id) insert into f select 100, 11, 5 from c returning t",
        "11",
        "select * from f order by id",
        "11|11|0 12|2|0 13|11|0 100|11|5",
    ],
    [
        "with c as (update p set id = id + 10 where id = 1 returning id) insert into f select 100, 1, 5 from c returning t",
        "1",
        "select * from f order by id",
        "11|11|0 12|2|0 13|11|0 100|11|5",
    ],
    [
        "with d as (delete from p where id = 1 returning id) insert into f select 11, 2, 5 from d on conflict (id) do nothing returning id",
        "",
        "select * from f order by id",
        "12|2|0",
    ],
    [
        "with d as (delete from p where id = 1 returning id) insert into f select 11, 2, 5 from d on conflict (id) do update set t = excluded.t returning id, t",
        "11|2",
        "select * from f order by id",
        "11|2|0 12|2|0",
    ],
    [
        "with x as (update u set a = 99 where id = 1 returning id) insert into u select 5, 10, null, null from x on conflict (a) do update set b = 7 returning *",
        "5|10|NULL|NULL",
        "select id, a, b from u order by id",
        "1|99|100 2|20|200 3|30|NULL 5|10|NULL",
    ],
    [
        "with x as (update u set a = 99 where id = 1 returning id) insert into u select 5, 99, null, null from x on conflict (a) do nothing returning id",
        "",
        "select id, a from u order by id",
        "1|99 2|20 3|30",
    ],
    [
        "with x as (update u set a = 99 where id = 1 returning id) insert into u select 5, 99, null, null from x on conflict (a) do update set b = 7 returning id",
        "21000",
        "select id, a from u order by id",
        "1|10 2|20 3|30",
    ],
    [
        "with x as (delete from u where id = 2 returning *) insert into u select 2, 20, 200, 'y' from x on conflict do nothing returning id",
        "2",
        "select * from u order by id",
        "1|10|100|x 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (update u set c = null where id = 1 returning id) insert into u select 6, 60, 100, 'z' from x on conflict (b) where c is not null do update set b = 1 returning id",
        "6",
        "select * from u order by id",
        "1|10|100|NULL 2|20|200|y 3|30|NULL|NULL 6|60|100|z",
    ],
    [
        "with x as (update u set c = 'Q' where id = 1 returning id) insert into u select 7, 70, 700, 'q' from x on conflict (lower(c)) do nothing returning id",
        "",
        "select * from u order by id",
        "1|10|100|Q 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (insert into u values (1, 0, 0, 'w') on conflict (id) do update set b = 5 returning id) insert into u select id, 0, 0, 'v' from x on conflict (id) do update set b = 6",
        "21000",
        "select * from u order by id",
        "1|10|100|x 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (insert into u values (1, 0, 0, 'w') on conflict (id) do update set id = 50 returning id) insert into u select 1, 77, 77, 'v' from x on conflict (id) do update set b = 6 returning id, a",
        "1|77",
        "select * from u order by id",
        "1|77|77|v 2|20|200|y 3|30|NULL|NULL 50|10|100|x",
    ],
    [
        "with x as (insert into u values (8, 80, 800, 'm') returning id) insert into u select id, 81, 801, 'n' from x on conflict (id) do nothing returning id",
        "",
        "select * from u order by id",
        "1|10|100|x 2|20|200|y 3|30|NULL|NULL 8|80|800|m",
    ],
    [
        "with x as (insert into u values (8, 80, 800, 'm') returning id) insert into u select id, 81, 801, 'n' from x on conflict (id) do update set b = 1",
        "21000",
        "select * from u order by id",
        "1|10|100|x 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (insert into u values (1, 0, 0, 'w'), (1, 1, 1, 'w2') on conflict (id) do update set b = excluded.b where excluded.b > 0 returning id, b) select * from x",
        "1|1",
        "select * from u order by id",
        "1|10|1|x 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (insert into u values (1, 0, 1, 'w'), (1, 1, 2, 'w2') on conflict (id) do update set b = excluded.b returning id, b) select * from x",
        "21000",
        "select * from u order by id",
        "1|10|100|x 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (insert into u values (9, 10, 1, null) on conflict (id) do nothing returning id) select * from x",
        "23505",
        "select * from u order by id",
        "1|10|100|x 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (insert into u values (9, 10, 1, null), (1, 9, 9, 'n') on conflict do nothing returning id) select count(*) from x",
        "0",
        "select * from u order by id",
        "1|10|100|x 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (insert into u values (1, 5, 5, 'r') on conflict (id) do update set b = 55) update u set b = 66 where id = 1 returning b",
        "21000",
        "select * from u order by id",
        "1|10|100|x 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (insert into u values (1, 5, 5, 'r') on conflict (id) do update set b = 55 returning id) update u set b = 66 from x where u.id = x.id returning b",
        "",
        "select * from u order by id",
        "1|10|55|x 2|20|200|y 3|30|NULL|NULL",
    ],
    [
        "with x as (insert into u values (4, 4, 4, 'd'), (5, 5, 5, 'D') on conflict (lower(c)) do nothing returning id), y as (insert into u values (4, 6, 6, 'e') on conflict (id) do nothing returning id) select (select count(*) from x), (select count(*) from y)",
        "1|0",
        "select * from u order by id",
        "1|10|100|x 2|20|200|y 3|30|NULL|NULL 4|4|4|d",
    ],
    [
        "merge into tr using (values (1), (2)) as s (i) on s.i = tr.id when matched and i = 1 then delete when matched then update set up = null",
        "",
        "select * from tr order by id",
        "2|NULL 3|2",
    ],
    [
        "with d as (delete from tr where id = 1 returning id), m as (update tr set up = null from d where tr.id = 3 returning tr.id) select id from m",
        "3",
        "select * from tr order by id",
        "3|NULL",
    ],
];

fn told(session: &mut Session, text: &str) -> String {
    match query(session, text) {
        Ok(rows) => rows.join(" "),
        Err(error) => error.code.to_string(),
    }
}

#[test]
fn parts_and_followers_are_those_of_postgresql() {
    for [statement, rows, after, left] in CASES {
        for way in ["alone", "aside", "begun", "stage"] {
            let fresh = Fresh::new();
            run(&mut fresh.session(), TABLES).expect("they are there");
            fresh.database.set_beside(match way {
                "aside" => BesideLimits {
                    from: 0,
                    few: 0,
                    ..BesideLimits::default()
                },
                _ => unlimited(),
            });
            fresh
                .database
                .set_aside_from(if way == "begun" { 0 } else { 1000 });
            let mut session = fresh.session();
            let is_block = matches!(way, "begun" | "stage");
            if is_block {
                run(&mut session, "begin").expect("it begins");
            }
            assert_eq!(told(&mut session, statement), rows, "{way}: {statement}");
            if is_block {
                run(&mut session, "commit").expect("it ends");
            }
            assert_eq!(told(&mut session, after), left, "{way}: {statement}");
        }
    }
}
