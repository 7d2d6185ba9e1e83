# EXPLAIN in other forms than text.

statement ok
create table t (id int primary key, a int, b text)

statement ok
create index t_a on t (a)

statement ok
create table u (id int primary key, t_id int)

query
explain (format json) select b from t where a = 1 order by b limit 2
----
[
  {
    "Plan": {
      "Node Type": "Limit",
      "Parallel Aware": false,
      "Async Capable": false,
      "Plans": [
        {
          "Node Type": "Sort",
          "Parent Relationship": "Outer",
          "Parallel Aware": false,
          "Async Capable": false,
          "Sort Key": ["b"],
          "Sort Method": "top-N heapsort",
          "Plans": [
            {
              "Node Type": "Index Scan",
              "Scan Direction": "Forward",
              "Parent Relationship": "Outer",
              "Parallel Aware": false,
              "Async Capable": false,
              "Index Name": "t_a",
              "Relation Name": "t",
              "Alias": "t",
              "Index Cond": "(a = 1)"
            }
          ]
        }
      ]
    }
  }
]

query
explain (format yaml, costs off) delete from t where id = 5
----
- Plan: 
    Node Type: "ModifyTable"
    Operation: "Delete"
    Parallel Aware: false
    Async Capable: false
    Relation Name: "t"
    Alias: "t"
    Plans: 
      - Node Type: "Index Scan"
        Scan Direction: "Forward"
        Parent Relationship: "Outer"
        Parallel Aware: false
        Async Capable: false
        Index Name: "t_pkey"
        Relation Name: "t"
        Alias: "t"
        Index Cond: "(id = 5)"

query
explain (format xml) select 1 where 'a<b' = $$&$$::text
----
<explain xmlns="http://www.postgresql.org/2009/explain">
  <Query>
    <Plan>
      <Node-Type>Result</Node-Type>
      <Parallel-Aware>false</Parallel-Aware>
      <Async-Capable>false</Async-Capable>
      <Filter>('a&lt;b'::text = '&amp;'::text)</Filter>
    </Plan>
  </Query>
</explain>

query
explain (analyze, summary off) select a from t
----
Seq Scan on t (actual rows=0)

query
explain (analyze, summary off, format json) select a from t
----
[
  {
    "Plan": {
      "Node Type": "Seq Scan",
      "Parallel Aware": false,
      "Async Capable": false,
      "Relation Name": "t",
      "Alias": "t",
      "Actual Rows": 0
    }
  }
]

statement error 22023
explain (format csv) select 1

statement error 42601
explain (summary maybe) select 1

# VERBOSE: the values that each part gives. sqlx reads from them which columns an outer join may make null.

query
explain (verbose, costs off) select upper(b), t.a from t where id = 1
----
Index Scan using t_pkey on public.t
  Output: upper(t.b), t.a
  Index Cond: (t.id = 1)

query
explain verbose select t.a, u.id, coalesce(t.b, 'x, y'::text) from t left join u on u.t_id = t.a order by 1
----
Sort
  Output: t.a, u.id, COALESCE(t.b, 'x, y'::text)
  Sort Key: t.a
  ->  Hash Left Join
        Output: t.a, t.b, u.id
        Hash Cond: (t.a = u.t_id)
        ->  Seq Scan on public.t
              Output: t.a, t.b
        ->  Seq Scan on public.u
              Output: u.id, u.t_id

query
explain (verbose, format json) select x.a, count(*) from t x where x.b = 'x' group by x.a
----
[
  {
    "Plan": {
      "Node Type": "Aggregate",
      "Strategy": "Hashed",
      "Parallel Aware": false,
      "Async Capable": false,
      "Output": ["x.a", "count(*)"],
      "Plans": [
        {
          "Node Type": "Seq Scan",
          "Parent Relationship": "Outer",
          "Parallel Aware": false,
          "Async Capable": false,
          "Relation Name": "t",
          "Schema": "public",
          "Alias": "x",
          "Output": ["x.a"],
          "Filter": "(x.b = 'x'::text)"
        }
      ]
    }
  }
]

query
explain (verbose) update t as z set a = 1 where id = 2 returning z.a + 1, b
----
Update on public.t z
  Output: (z.a + 1), z.b
  ->  Index Scan using t_pkey on public.t z
        Index Cond: (z.id = 2)

query
explain verbose insert into u values (1, 2) returning id
----
Insert on public.u
  Output: u.id
  ->  Result

# EXECUTE is explained as its statement is.

statement ok
prepare p (int, text) as select a, b from t where id = $1 and b = $2

query
explain (verbose, costs off) execute p(1, 'x')
----
Index Scan using t_pkey on public.t
  Output: t.a, t.b
  Index Cond: (t.id = $1)
  Filter: (t.b = $2)

query
explain (verbose, format json) execute p(null, null)
----
[
  {
    "Plan": {
      "Node Type": "Index Scan",
      "Scan Direction": "Forward",
      "Parallel Aware": false,
      "Async Capable": false,
      "Index Name": "t_pkey",
      "Relation Name": "t",
      "Schema": "public",
      "Alias": "t",
      "Output": ["t.a", "t.b"],
      "Index Cond": "(t.id = $1)",
      "Filter": "(t.b = $2)"
    }
  }
]

statement ok
insert into t values (1, 5, 'x')

query
explain (analyze, summary off) execute p(1, 'x')
----
Index Scan using t_pkey on t (actual rows=1)
  Index Cond: (id = $1)
  Filter: (b = $2)

statement ok
prepare d as delete from t where b = 'x'

query
explain (analyze, summary off) execute d
----
Delete on t (actual rows=1)
  ->  Seq Scan on t
        Filter: (b = 'x'::text)

query
select count(*) from t
----
0

statement error 26000
explain execute none

statement error 42601
explain execute p(1)

statement error 0A000
explain (buffers) select 1


# Names are in quotes where they need some.
statement ok
create table "my.tab" ("A b" int primary key, c int)

query
explain select "A b" from "my.tab" where "A b" = 1
----
Index Scan using "my.tab_pkey" on "my.tab"
  Index Cond: ("A b" = 1)

query
explain select 1 from "my.tab" as "X y" where "A b" > 1 and c = 2
----
Index Scan using "my.tab_pkey" on "my.tab" "X y"
  Index Cond: ("A b" > 1)
  Filter: (c = 2)
