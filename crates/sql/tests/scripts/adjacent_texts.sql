# Texts in quotes on several lines are one text. The answers are those of PostgreSQL 15.

query
select 'a'
'b'   
   'c' as joined, 'd'
----
abc|d

query
select 'it''s' -- a comment
'so', length('1'
'2')
----
it'sso|2

query
select e'a\tb'
'c' = e'a\tbc'
----
t

statement error 42601
select 'a' 'b'

statement error 42601
select 'a' /* no end of a line */ 'b'
