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
