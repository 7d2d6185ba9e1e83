//! What statements mean: what PostgreSQL gives, here, too. Expected values are PostgreSQL 15's.

mod fixture;

use fixture::{always, fresh, run, told};

/// Statements with what they give, in a session with three tables.
fn check(cases: &[(&str, &[&str])]) {
    let fresh = fresh();
    let mut session = always(&fresh);
    run(
        &mut session,
        "create table staff (id int primary key, name text, team text, pay numeric(10,2), since date, boss int);
         insert into staff values
            (1, 'Ada', 'a', 300.00, '2020-01-31', null), (2, 'Bo', 'a', 200.50, '2021-06-01', 1),
            (3, 'Cy', 'b', 200.50, '2021-12-31', 1), (4, 'Di', 'b', null, null, 3), (5, 'Ed', null, 100.25, '2019-02-28', 3);
         create table numbers (n bigint primary key, i int, f float8, s smallint, d numeric);
         insert into numbers values (1, 7, 2.5, 1, 1.5), (2, -7, 3.5, 2, 2.25), (3, null, null, null, null),
            (9223372036854775807, 2147483647, 1e308, 32767, 0.000000000000000001);
         create table codes (c char(5) primary key, u uuid, b bytea);
         insert into codes values ('ab', '00112233-4455-6677-8899-AABBCCDDEEFF', '\\x00ff'), ('cde', null, '\\x'), ('abcde', null, null)",
    )
    .expect("tables");
    for (text, wanted) in cases {
        assert_eq!(told(&mut session, text), *wanted, "{text}");
    }
}

#[test]
fn windows() {
    check(&[
        (
            "select name, row_number() over (order by pay desc, id), rank() over (order by pay), dense_rank() over (order by pay) from staff order by id",
            &["Ada|2|4|3", "Bo|3|2|2", "Cy|4|2|2", "Di|1|5|4", "Ed|5|1|1"],
        ),
        (
            "select id, sum(pay) over (partition by team order by id), lag(name) over (order by id), lead(id, 2, -1) over (order by id) from staff order by id",
            &[
                "1|300.00|NULL|3",
                "2|500.50|Ada|4",
                "3|200.50|Bo|5",
                "4|200.50|Cy|-1",
                "5|100.25|Di|-1",
            ],
        ),
        (
            "select id, count(*) over (order by id rows between 1 preceding and 1 following), first_value(name) over w, last_value(name) over w from staff window w as (partition by team order by id) order by id",
            &[
                "1|2|Ada|Ada",
                "2|3|Ada|Bo",
                "3|3|Cy|Cy",
                "4|3|Cy|Di",
                "5|2|Ed|Ed",
            ],
        ),
        (
            "select id, ntile(2) over (order by id) from staff order by id",
            &["1|1", "2|1", "3|1", "4|2", "5|2"],
        ),
        (
            "select sum(n) over (order by n desc) from numbers where n > 1 order by n limit 1",
            &["9223372036854775812"],
        ),
    ]);
}

#[test]
fn with_and_recursion() {
    check(&[
        (
            "with paid as (select * from staff where pay is not null), best as (select team, max(pay) as most from paid group by team) select paid.name from paid join best on best.team = paid.team and best.most = paid.pay order by 1",
            &["Ada", "Cy"],
        ),
        (
            "with recursive up(n, f) as (select 1, 1 union all select n + 1, f * (n + 1) from up where n < 6) select n, f from up order by n desc limit 2",
            &["6|720", "5|120"],
        ),
        (
            "with recursive below as (select id, name, 0 as depth from staff where boss is null union all select s.id, s.name, b.depth + 1 from staff s join below b on s.boss = b.id) select name, depth from below order by depth, id",
            &["Ada|0", "Bo|1", "Cy|1", "Di|2", "Ed|2"],
        ),
    ]);
}

#[test]
fn subqueries_and_set_operations() {
    check(&[
        (
            "select name from staff s where pay = (select max(pay) from staff t where t.team = s.team) order by id",
            &["Ada", "Cy"],
        ),
        (
            "select name from staff s where exists (select 1 from staff t where t.boss = s.id) order by id",
            &["Ada", "Cy"],
        ),
        (
            "select name from staff where id not in (select boss from staff where boss is not null) order by id",
            &["Bo", "Di", "Ed"],
        ),
        (
            "select name from staff where id not in (select boss from staff) order by id",
            &[],
        ),
        (
            "select (select count(*) from staff), (select name from staff where id = 99)",
            &["5|NULL"],
        ),
        (
            "select team, (select avg(pay) from staff t where t.team = s.team) from (select distinct team from staff) s order by team nulls first",
            &[
                "NULL|NULL",
                "a|250.2500000000000000",
                "b|200.5000000000000000",
            ],
        ),
        (
            "select team from staff union select name from staff where id = 1 order by 1",
            &["Ada", "a", "b", "NULL"],
        ),
        (
            "select team from staff intersect select 'a' union all select 'z' order by 1",
            &["a", "z"],
        ),
        (
            "select id from staff except select boss from staff order by 1",
            &["2", "4", "5"],
        ),
        (
            "select a.id, b.id from staff a full join staff b on a.id = b.id + 3 where a.id is null or b.id is null or a.id = 4 order by 1, 2",
            &[
                "1|NULL", "2|NULL", "3|NULL", "4|1", "NULL|3", "NULL|4", "NULL|5",
            ],
        ),
        (
            "select team, count(*), sum(pay) from staff group by rollup(team) order by team, 2",
            &["a|2|500.50", "b|2|200.50", "NULL|1|100.25", "NULL|5|801.25"],
        ),
        (
            "select count(*) filter (where pay > 200), count(distinct pay), min(name), max(since) from staff",
            &["3|3|Ada|2021-12-31"],
        ),
        ("select (select id from staff)", &["21000"]),
    ]);
}

#[test]
fn numbers() {
    check(&[
        (
            "select sum(n), sum(i), sum(s), sum(d) from numbers where n < 5",
            &["6|0|3|3.75"],
        ),
        ("select sum(n) from numbers", &["9223372036854775813"]),
        ("select n + 1 from numbers where n > 5", &["22003"]),
        (
            "select i * i, i * 2 from numbers where n < 3",
            &["49|14", "49|-14"],
        ),
        ("select i * n * n from numbers", &["22003"]),
        ("select i / (n - 1) from numbers", &["22012"]),
        ("select f / (n - 1) from numbers", &["22012"]),
        ("select f * 10 from numbers", &["22003"]),
        (
            "select i::text || ':' || f from numbers where n < 3 order by n",
            &["7:2.5", "-7:3.5"],
        ),
        (
            "select f::int, (f + 1)::bigint, d::int, round(f), round(d, 1), trunc(d) from numbers where n < 3 order by n",
            &["2|4|2|2|1.5|1", "4|4|2|4|2.3|2"],
        ),
        ("select n::int from numbers where n > 5", &["22003"]),
        ("select 'x'::int from numbers", &["22P02"]),
        (
            "select d * d from numbers where n < 3 order by n",
            &["2.25", "5.0625"],
        ),
        (
            "select 0.1 + 0.2, 1.10 * 3, 10 - 0.05 from numbers where n = 1",
            &["0.3|3.30|9.95"],
        ),
        (
            "select d * d * d from numbers where n < 3 order by n",
            &["3.375", "11.390625"],
        ),
        ("select pay * pay from staff where id = 1", &["90000.0000"]),
    ]);
}

#[test]
fn times_and_texts() {
    check(&[
        (
            "select since + interval '1 month' from staff where id = 1",
            &["2020-02-29 00:00:00"],
        ),
        (
            "select since + interval '90 minutes' from staff where id = 1",
            &["2020-01-31 01:30:00"],
        ),
        (
            "select since + 1, since - 31, since - date '2020-01-01' from staff where id = 1",
            &["2020-02-01|2019-12-31|30"],
        ),
        (
            "select extract(year from since), extract(dow from since), date_trunc('month', since::timestamp) from staff where id = 2",
            &["2021|2|2021-06-01 00:00:00"],
        ),
        (
            "select extract(second from since), count(*) over (order by id groups current row) from staff",
            &["0A000"],
        ),
        (
            "select name from staff where since between '2021-01-01' and date '2021-12-31' order by id",
            &["Bo", "Cy"],
        ),
        (
            "select (timestamp '0001-01-01 00:00:00')::text, (timestamptz '2020-01-01 00:00:00+02')::text from staff where id = 1",
            &["0001-01-01 00:00:00|2019-12-31 22:00:00+00"],
        ),
        (
            "select upper(name) || '!', length(name), substring(name from 2 for 1), position('d' in name) from staff where name like 'A%'",
            &["ADA!|3|d|2"],
        ),
        (
            "select name::varchar(1), left(name, -1), name ~ '^[A-B]' from staff where id < 3 order by id",
            &["A|Ad|t", "B|B|t"],
        ),
        (
            "select string_agg(name, ',' order by id desc) from staff",
            &["Ed,Di,Cy,Bo,Ada"],
        ),
        (
            "select case when team = 'a' then 1 else 0 end, coalesce(team, '-'), nullif(team, 'a') from staff where id in (1, 5) order by id",
            &["1|a|NULL", "0|-|NULL"],
        ),
        (
            "select c, length(c), c || '.', c = 'ab ' from codes order by c",
            &["ab   |2|ab.|t", "abcde|5|abcde.|f", "cde  |3|cde.|f"],
        ),
        (
            "select u, u = '00112233-4455-6677-8899-AABBCCDDEEFF' from codes where u is not null",
            &["00112233-4455-6677-8899-aabbccddeeff|t"],
        ),
        ("select c from codes where b = '\\x00FF'", &["ab   "]),
    ]);
}

/// The document says these: docs/sql.md, "Analytic reads".
#[test]
fn what_differs_from_postgresql() {
    check(&[
        (
            "select avg(i), avg(d), avg(f) from numbers where n < 5",
            &["0.0000000000000000|1.875|3"],
        ),
        (
            "select i / 2, i % 2, d / 3, 7.0 / 2 from numbers where n = 2",
            &["-3|-1|0.75|3.5000000000000000"],
        ),
        (
            "select 99999999999999999999999999999999999999::numeric(38,0) * 10 from numbers where n = 1",
            &["22003"],
        ),
        ("select md5(name) from staff", &["42883"]),
    ]);
}
