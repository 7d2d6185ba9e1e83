statement ok
create table c (id int primary key, name text, n numeric(6,2) default 1.5)

copy COPY 3
copy c from stdin
----
1	one	1.25
2	\N	\N
3	a\tb\\c	7

query
select * from c order by id
----
1|one|1.25
2|NULL|NULL
3|a	b\c|7.00

copy COPY 2
copy c (name, id) from stdin with (format csv, header true)
----
name,id
"x, ""y""",4
,5

query
select * from c where id > 3 order by id
----
4|x, "y"|1.50
5|NULL|1.50

# Nothing of a copy that fails is there.

copy error 22P02
copy c (id) from stdin
----
8
nine

copy error 22P04
copy c from stdin
----
8	a

copy error 23505
copy c (id) from stdin with (freeze on)
----
8
1

query
select count(*) from c where id = 8
----
0

copy error 0A000
copy c from '/etc/passwd'
----


# Options that a format does not have are refused, and so is a format that is none.

copy error 42601
copy c from stdin (format binary, delimiter ',')
----

copy error 42601
copy c from stdin (format binary, null '')
----

copy error 0A000
copy c from stdin (format binary, header)
----

copy error 0A000
copy c from stdin (quote '!')
----

copy error 0A000
copy c from stdin (format text, escape '!')
----

copy error 22023
copy c from stdin (format parquet)
----

# Text is no binary copy.

copy error 22P04
copy c from stdin binary
----
1	one	1.25
