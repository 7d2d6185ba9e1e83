"""Random statements of further forms, each small, as those of forms.py.

Names of objects, rows as values, JSON as rows, lists of VALUES, lateral queries, first rows; aggregates of every kind with
all their clauses; names in clauses, wrong statements, domains, labels, collations.
"""

from . import arguments
from .forms import PATHS_OF_JSON, Forms
from .kinds import DOMAINS, ORDERED, UNORDERED, VALUES, quoted

NAMES = {
    "regtype": [
        "integer", "int4", "timestamp with time zone", "varchar(3)", "int4[]", "_int4", '"char"', "char", "bpchar", "numeric(3,2)", "interval day", "float(3)", "float(60)", "nothing", "public.mood", "mood", "positive", "mood[]", "_mood", "0", "23",
        "-", "", "pg_catalog.int4", "int4.x", "double precision", "time(3)", "national character varying", "dec", "real[]", "int4[3]", "record", "anyelement", "void", "unknown", '"Mood"', "int4 array", "INT4", '"INT4"', "setof int4", "bigint", "1",
        "character varying", "pg_catalog.bpchar", "time without time zone", "timestamptz(2)", "bit", "int 4", "regtype", "oidvector", "jsonpath[]", "float4", "text collate \"C\"", "serial",
    ],
    "regclass": ["a", "public.a", "pg_class", "pg_catalog.pg_class", "nothing", "A", '"a"', '"A"', "1259", "0", "-", "", "a_pkey", "a.b.c", "public.nothing", "nowhere.a", "information_schema.tables", "pg_catalog.a", "a b", '"a', "4294967295", "-1", "e_id_key"],
    "regproc": ["now", "nothing", "pg_catalog.now", "lower", "", "-", "0", '"now"', "pi", "pg_catalog.pi", "now()", "NOW", "nowhere.now", "upper", "a.b.c.d"],
    "regprocedure": ["abs(int4)", "abs(integer)", "abs(nothing)", "now()", "lower(text)", "nothing()", "substr(text,int4,int4)", "abs", "abs(int4", "-", "0", "abs(int4,)", "pg_catalog.abs( bigint )", "pi()", "strpos(text, text)", "abs(int4)x", "abs(pg_catalog.int4)"],
    "regnamespace": ["public", "pg_catalog", "nothing", "information_schema", "-", "0", "11", '"public"', "a.b", "PUBLIC", "", "99999"],
    "regcollation": ['"C"', '"default"', "C", "POSIX", '"POSIX"', 'pg_catalog."C"', "nothing", "950", "-", "100", '"de-x-icu"', '""', '"C'],
    "regrole": ["tester", "nothing", "-", "0", '"tester"', "a.b", "TESTER"],
}
PREDICATES = [
    "@ > 1", "@ == 1", "@ != null", "@ < \"b\"", "@ >= 2.5", "exists(@.a)", "@.a == 1 || @.b != 2", "!(@ == 1)", "@ like_regex \"^[a-x]\"", "@ like_regex \"X\" flag \"i\"", "@ starts with \"x\"", "(@ > 0) is unknown", "@.type() == \"number\"", "@.size() > 1", "@ == true", "@ == $v", "@[*] == 1", "@.b[*] > 1 && @.a < 5",
    "1 < @ && @ < 3", "@.a.b == null", "-@ < 0", "@ + 1 > 2", "$.a == @", "@.* == 1", "@ <> 1", "@ like_regex \"a.c\" flag \"q\"", "@ like_regex \"A b\" flag \"xi\"", "@.double() > 1.5", "@ == \"t\"", "@ > @",
]
STEPS = [".a", ".b", ".*", "[*]", "[0]", "[last]", "[0 to 1]", "[1, 0]", ".**", ".**{2}", ".**{1 to last}", ".type()", ".size()", ".double()", ".ceiling()", ".floor()", ".abs()", ".keyvalue()", "[last - 1]", "[$.a]", '."b"', ".x", "[10]", "[-1]", "[\"a\"]", "[1.7]", ".datetime2()", ".keyvalue().key", ".keyvalue().value", "[null]"]
WRONG = [
    "count(*) from a where count(*) > 1", "sum(count(*)) from a", "i from a group by s", "id from a having id > 1", "rank() over () from a where rank() over () > 1", "1 from a group by rank() over ()", "generate_series(1, 2) from a where generate_series(1, 2) > 1", "distinct i from a order by s", "i from a union select i, s from a",
    "1 from a, a", "1 from nothing", "nothing from a", "a.nothing from a", "q.i from a", "id from a join c on true", "i from a order by 5", "i from a group by 5", "i from a order by 0", "i from a group by 'x'", "i from a order by 'x'", "(select 1, 2)", "1 in (select 1, 2)", "(1, 2) in (select 1)", "(select i from a)", "exists (select)",
    "* ", "a.* ", "count(distinct *) from a", "count() from a", "count(i, s) from a", "sum(s) from a", "max(j) from a", "min(k) from a", "avg(f) from a", "distinct k from a", "k from a group by k", "k from a order by k", "distinct on (i) i from a order by s", "distinct on (5) i from a", "nothing(1)", "lower(1)", "lower(1, 2)", "lower()",
    "1 + 'a'", "1 + null", "'a' + 'b'", "1 || 2", "true + 1", "not 1", "1 and true", "null and 1", "case when 1 then 2 end", "case 1 when 'a' then 2 end", "coalesce()", "coalesce(1, 'a')", "nullif(1)", "greatest()", "array[1, 'a']", "array[]", "array[]::int[]", "array[1, true]", "1::nothing", "'a'::int", "1.5::bool", "1::date", "true::int::bool",
    "date '2024-01-01' + date '2024-01-01'", "time '10:00' + time '10:00'", "interval '1 day' + 1", "1 is true", "'a' is true", "'t' is true", "row(1) = row(1, 2)", "row(1, 2) = 1", "row() = row()", "(1, 2) < (1, 'a')", "1 = any (1)", "1 = any ('a')", "1 = any ('{1,2}')", "1 = any (array['a'])", "'1' = any (array[1])", "1 = all (null)", "1 like 2", "'a' like 1", "null like null",
    "lag(1)", "row_number()", "sum(1) over (order by 1 rows 1 following)", "sum(1) over (rows -1 preceding)", "sum(1) over (range 1 preceding)", "sum(1) over (order by 'a' range 1 preceding)", "ntile(0) over ()", "ntile(null) over ()", "nth_value(1, 0) over ()", "count(distinct 1) over ()", "sum(1) over w", "sum(1) over w window w as (), w as ()", "sum(1) over (w order by 1) window w as (order by 1)",
    "sum(1) over (w rows 1 preceding) window w as (rows 2 preceding)", "sum(1) over (w partition by 1) window w as ()", "first_value(1) filter (where true) over ()", "lower('A') over ()", "lower('A') filter (where true)", "lower(distinct 'A')", "lower('a' order by 1)", "rank()", "rank() within group (order by 1)", "mode(1) within group (order by 1)", "mode() over ()", "percentile_cont(0.5)",
    "count(*) filter (where 1)", "count(*) filter (where count(*) > 1)", "string_agg('a')", "string_agg(distinct 'a', ',' order by 1)", "string_agg(distinct s, ',' order by i) from a", "array_agg(distinct k) from a", "1 limit -1", "1 limit 'a'", "1 limit null", "1 limit 1.5", "1 limit i from a", "1 offset -1", "1 offset null", "1 limit (select 1)", "1 limit true", "1 limit '1'",
    "1 fetch first row with ties", "1 fetch first -1 rows only", "1 order by 1 fetch first 0 rows with ties", "1 where 1", "1 where 'a'", "1 where 't'", "1 where null", "1 having true", "1 having 1", "count(*) having false", "1 group by ()", "i from a group by (), i", "i, s from a group by rollup (i), s", "grouping(1)", "grouping(i) from a", "grouping(i) from a group by s", "i from a group by cube ()",
    "x from (select 1)", "x from (values (1, 2)) q(x, x)", "x from (values (1)) q(x, y)", "x from (values (1), (1, 2)) q(x)", "1 as x, 2 as x order by x", "1 as x, 1 as x order by x", "x from (select 1 as x, 2 as x) q", "i from a join c using (nothing)", "i from a join c using (i, i)", "s from a natural join c", "a.i from a join c using (i)", "x.y.z from a", "a from a as b",
    "b.a from a as b", "1 from generate_series(1)", "* from lower('A')", "* from lower('A') with ordinality", "* from generate_series(1, 2) as q(x, y)", "* from unnest(array[1]) as q(x int)", "* from json_to_record('{}')", "* from json_to_record('{}') as q(x)", "* from lateral (select i) q", "* from a, (select i) q", "* from (select a.i) q, a", "* from a left join lateral (select a.i) q(z) on true where z = 1 and id = 3",
    "1 from a for update of c", "count(*) from a for update", "distinct i from a for update", "1 union select 2 for update", "interval '1' nothing", "interval 'x'", "extract(nothing from now())", "extract(day from 1)", "extract(day from 'x')", "extract(hour from date '2024-01-01')", "position(1 in 2)", "substring(1 from 2)", "overlay('a' placing 'b')", "trim(1 from 2)", "trim(both from 1)", "cast(1 as varchar(0))",
    "cast('a' as char(0))", "1::numeric(0)", "1::numeric(1001)", "1::numeric(3,-2)", "1234::numeric(2,-2)", "0.00123::numeric(3,5)", "1::numeric(3,1001)", "'1'::time(7)", "now()::timestamp(-1)", "1::float(0)", "1::float(54)", "1::int4(3)", "'a'::text(3)", "1::varchar", "'a' collate nothing", "1 collate \"C\"", "'a' collate \"C\" < 'b' collate \"POSIX\"", "(array[1])['a']", "(1)[1]", "('a')[1]", "(array[1])[1.5]", "(array[1]).x", "(row(1, 2)).f3", "(row(1, 2)).f2",
    "(select row(1, 2)).f1", "1.x", "'a'.x", ":x", "1 1", "1,", ", 1", "from a", "select 1", "(1", "1)", "'a", "\"a", "1 as", "1 as select", "1 as from", "1 as \"\"", "E'\\x'", "E'\\u12'", "U&'\\12'", "U&'a' uescape 'b1'", "1e", "1e+", "1.2.3", "0b1", "0o7", "1__0", "1_", "1a", "1 is nothing", "1 is of (int)", "1 !", "!! 1", "@ -1", "1 ===  1", "1 => 1", "a => 1", "1 := 1",
]
SPELLED_JSON = [
    "{a:1}", "[1,]", "", '{"a":1', "tru", "01", "-", "1.", ".5", "1e", '"\\u12"', '"\\uD83D"', '"\\uD83D\\uDE00"', '"\\u0000"', "  1  ", "1 2", "'", '{"a":1,"a":2}', "[1e400]", '"a\tb"', "NaN", "[[[[[]]]]]", '{"":{}}', "1E5", "-0", "1.10e-2",
    '{"a" : 1 , "b":[ ]}', "[1 2]", '{"a",1}', "null ", "nul", "TRUE", '"\\q"', '"\\/"', "[1e5, 1.0, 100]", "1e38", '"\\ud800x"',
]
PARTS = {
    "select": ["x", "y", "x as y, y as x", "x + y as x", "-x as x", "q.x", "q.x as y", "x as z", "distinct x", "distinct y as x", "count(*)", "max(x) as y", "x, count(*)", "x as x", "y as \"X\"", "*", "q.*", "x, *"],
    "order": ["x", "y", "1", "2", "x + 1", "-x", "q.x", "q.y desc", "x, y", "z", "count(*)", "max(y)", "x nulls first", "\"X\"", "q", "y + x", "x using >", "x using <", "'x'", "null", "(select 1)", "lower('a')"],
    "group": ["x", "y", "1", "x, y", "z", "q.x", "x + y", "-x", "q", "\"X\"", "x % 2", "()", "rollup(x)"],
}


class Further(Forms):
    def form(self):
        return self.pick([
            self.objects, self.records, self.records, self.json_rows, self.json_paths, self.json_paths, self.value_lists, self.lateral, self.quantified, self.quantified, self.first_rows, self.aggregates, self.aggregates, self.windows_of_all, self.clauses,
            self.clauses, self.wrong, self.wrong, self.domains, self.labels, self.collated, self.syntax, self.sets, self.dimensions, self.withs, self.casts_of_names,
        ])()

    def rows(self, kinds, count=None):
        return ", ".join("(" + ", ".join(self.literal(kind) for kind in kinds) + ")" for _ in range(count or self.number(1, 4)))

    def objects(self):
        kind = self.pick(list(NAMES))
        text = quoted(self.pick(NAMES[kind]))
        return "select " + self.pick([f"{text}::{kind}", f"{text}::{kind}::text", f"to_{kind}({text})", f"cast({text} as {kind}) is null", f"{text}::text::{kind}::text", f"{text}::{kind} = {text}::{kind}", f"format_type({self.pick(['23', '1043', '1700', '1184', '0', 'null', '99999', '1007', '18'])}, {self.pick(['null', '-1', '7', '196614', '2', '0'])})"]), True

    def casts_of_names(self):
        kind, other = self.pick(list(NAMES) + ["oid", "name", "text", "int4", "int8"]), self.pick(list(NAMES) + ["oid", "name", "text", "int4", "int8", "varchar", "bpchar", "int2", "numeric", "bool"])
        value = {"oid": "23", "name": "'int4'", "text": "'int4'", "int4": "23", "int8": "23", "regtype": "'int4'", "regclass": "'pg_class'", "regproc": "'now'", "regprocedure": "'now()'", "regnamespace": "'pg_catalog'", "regcollation": "'\"C\"'", "regrole": "'-'"}[kind]
        if kind.startswith("regproc") and not other.startswith("regproc"):
            # Functions have numbers of their own.
            other = "text"
        second = {"int4": "23", "int8": "1259"}.get(other, "'0'")
        return "select " + self.pick([f"({value}::{kind})::{other}", f"{value}::{kind} {self.pick(['=', '<', '>=', '<>'])} {second}::{other}", f"coalesce({value}::{kind}, {second}::{other})", f"{value}::{kind} in ({second}::{other})", f"({value}::{kind}) || 'x'", f"max({value}::{kind})", f"count(distinct {value}::{kind})", f"array[{value}::{kind}]"]), True

    def records(self):
        kinds = [self.pick(ORDERED) for _ in range(self.number(1, 3))]
        names = [f"x{at}" for at in range(len(kinds))]
        source = f"(values {self.rows(kinds)}) q({', '.join(names)})"
        row = lambda: f"row({', '.join(self.literal(kind) for kind in kinds)})"  # noqa: E731
        return self.pick([
            f"select q::text from {source}", f"select q from {source}", f"select (q).x0 from {source}", f"select (q).* from {source}", f"select q is null, q is not null from {source}", f"select q.* is null from {source}", f"select count(q), count(distinct q) from {source}", f"select row_to_json(q), to_jsonb(q) from {source}",
            f"select row_to_json(q, true) from {source}", f"select q = {row()} from {source}", f"select q < {row()}, q is distinct from {row()} from {source}", f"select q in ({row()}, {row()}) from {source}", f"select max(x0), min(x0) from {source} group by q order by q", f"select distinct q from {source} order by q", f"select array_agg(q) from {source}", f"select ({row()}).f1",
            f"select ({row()})::text", f"select {row()}", f"select pg_typeof({row()})", f"select {row()}::text::varchar", f"select concat({row()}, 1), format('%s|%L', {row()}, 1)", f"select coalesce(q, null) from {source}", f"select case when true then q end from {source}", f"select json_agg(q), jsonb_agg(q) from {source}", f"select string_agg(q::text, ';') from {source}",
            f"select length(q::text) from {source}", f"select q from {source} order by q desc limit 1", f"select nullif({row()}, {row()})", f"select {row()} = any (select {', '.join(names)} from {source})", f"select row(q.*, 1) from {source}", f"select row(q, 1)::text from {source}", f"select greatest({row()}, {row()})", f"select q.x0 from {source} where q is not null",
            f"select json_build_object('a', q) from {source}", f"select array(select q from {source})", f"select (array_agg(q))[1] from {source}", f"select jsonb_build_array(q, {row()}) from {source}", f"select num_nulls(q.*) from {source}", f"select hstore(array_agg(x0::text), array_agg(x0::text)) from {source}", f"select ({row()}, {row()}) = ({row()}, {row()})", f"select array[{row()}, {row()}]",
        ]), True

    def json_rows(self):
        json = self.pick(["json", "jsonb"])
        document = self.literal(json)
        listed = self.pick(['[{"a":1,"b":"x"},{"a":null},{"b":[1]}]', '[]', '[{"a":"7","b":true,"c":1.5}]', '[1]', '{"a":1}', '[{"A":1,"a":2.7}]', '[{"a":{"c":1},"b":null}]', '[null]'])
        one = self.pick(['{"a":1,"b":"x"}', '{"a":"x"}', '{}', '{"b":[1,2],"a":"12"}', '[1]', 'null', '{"a":{"x":1},"b":{"y":2}}', '{"a":true,"b":1.50,"c":"2024-01-01"}', '{"a":null,"c":[1,2]}', '{"a":"[1,2]","c":"{1,2}"}'])
        types = ", ".join(f"{name} {self.pick(['int', 'text', 'json', 'jsonb', 'bool', 'numeric(5,1)', 'date', 'int[]', 'varchar(2)', 'float8', 'text[]', 'mood', 'interval', 'char(2)'])}" for name in self.pick([["a", "b"], ["a"], ["b", "c"], ["a", "b", "c"]]))
        return self.pick([
            f"select * from {json}_each({document})", f"select * from {json}_each_text({document})", f"select key, value from {json}_each({document}) with ordinality q(key, value, n)", f"select * from {json}_array_elements({document})", f"select value from {json}_array_elements_text({document}) with ordinality", f"select * from {json}_object_keys({document}) q(x)",
            f"select * from {json}_to_record({quoted(one)}) as q({types})", f"select * from {json}_to_recordset({quoted(listed)}) as q({types})", f"select {json}_object_agg(x, y) from (values {self.rows(['text', self.kind()])}) q(x, y)", f"select {json}_agg(x) from (values {self.rows([self.kind()])}) q(x)", f"select {json}_agg(x order by x) filter (where x is not null) from (values {self.rows([self.pick(ORDERED)])}) q(x)",
            f"select to_{json}({self.literal(self.kind())})", f"select {json}_build_object({quoted(self.pick(['a', 'é', '']))}, {self.shape()}, {self.literal(self.pick(['int4', 'text', 'date', 'bool', 'json']))}, {self.shape()})", f"select {json}_object({self.pick([quoted(self.pick(VALUES['text[]'])), self.literal('text[]')])})", f"select {json}_object({self.literal('text[]')}, {self.literal('text[]')})",
            f"select * from jsonb_path_query({self.literal('jsonb')}, {quoted(self.pick(PATHS_OF_JSON))})", f"select {json}_typeof({document}), {json}_typeof({self.literal(json)})", f"select {document} {self.pick(['->', '->>'])} {self.pick(['0', '-1', chr(39) + 'a' + chr(39), '1::int2', 'null'])}", f"select {self.literal('jsonb')} {self.pick(['||', '@>', '<@', '=', '<', '-'])} {self.literal('jsonb')}",
            f"select {quoted(self.pick(VALUES['json'] + SPELLED_JSON))}::{json}", f"select row_to_json(q) from {json}_each({document}) q",
            f"select array_to_json({self.literal(self.pick(['int4[]', 'text[]', 'date[]', 'numeric[]', 'float8[]', 'jsonb[]', 'timestamptz[]', 'interval[]', 'bool[]']))}{self.pick(['', ', true'])})", f"select {json}_strip_nulls({document})", f"select {json}_extract_path({document}, {self.pick([quoted('a'), quoted('b') + ', ' + quoted('0'), 'variadic ' + quoted('{b,0}'), 'null'])})",
            f"select * from rows from ({json}_array_elements({document}), generate_series(1, 2)) q(x, y)", f"select {document}::text::{json}::text", f"select ({self.literal('jsonb')})::{self.pick(['int4', 'int8', 'numeric', 'float8', 'bool', 'text', 'int2', 'json', 'date'])}", f"select jsonb_agg(distinct x) from (values {self.rows(['jsonb'])}) q(x)",
            f"select x from (values {self.rows(['jsonb'])}) q(x) order by x", f"select jsonb_pretty({self.literal('jsonb')})", f"select ({self.literal('jsonb')})[{self.pick(['0', '1', '-1', quoted('a'), quoted('b'), 'null', '1.5', '1::int8'])}]{self.pick(['', '[0]', '[' + quoted('b') + ']'])}",
        ]), True

    def json_paths(self):
        mode = self.pick(["", "", "", "strict ", "lax "])
        steps = "$" + "".join(self.pick(STEPS) if self.chance(75) else f" ? ({self.pick(PREDICATES)})" for _ in range(self.number(0, 3)))
        path = mode + self.pick([steps, steps, steps, f"{steps} {self.pick(['+', '-', '*', '/', '%'])} {self.pick(['1', '$.a', '2.5', '0'])}", f"-{steps}", f"exists({steps})", f"{steps} {self.pick(['==', '<', '>=', '!='])} {self.pick(['1', '$.a', 'null', chr(34) + 'x' + chr(34), 'true'])}", self.pick(PREDICATES).replace("@", "$")])
        document = self.literal("jsonb")
        rest = self.pick(["", "", ", '{\"v\": 1}'", ", '{}', true", ", '{\"v\": \"x\"}', false"])
        function = self.pick(["jsonb_path_exists", "jsonb_path_match", "jsonb_path_query_array", "jsonb_path_query_first"])
        return "select " + self.pick([f"{function}({document}, {quoted(path)}{rest})", f"{function}({document}, {quoted(path)}{rest})", f"{document} @? {quoted(path)}", f"{document} @@ {quoted(path)}", f"{quoted(path)}::jsonpath"]), True

    def value_lists(self):
        kinds = [self.pick(ORDERED) for _ in range(self.number(1, 2))]
        rows = self.rows(kinds, self.number(2, 4))
        untyped = ", ".join("(" + ", ".join(self.literal(self.pick([kind, kind, kind, self.kind()]), is_typed=self.chance(70)) for kind in kinds) + ")" for _ in range(3))
        order = self.pick([" order by 1", " order by 1 desc", " order by column1 nulls first", " order by 1 offset 1", " order by 1 limit 2", ""])
        text = self.pick([f"values {rows}{order}", f"values {untyped}", f"select * from (values {untyped}) q(x)", f"values {rows} {self.pick(['union', 'union all', 'except', 'intersect'])} values {rows}", f"(values {rows}) order by 1", f"table a order by id limit {self.number(0, 2)}", f"with q(x) as (values {untyped}) select x, pg_typeof(x) from q", f"select column1 from (values {rows}) q"])
        return text, "order by" in text

    def lateral(self):
        kind = self.pick(ORDERED)
        source = f"(values {self.rows([kind, 'int4'], 3)}) q(x, n)"
        expression = self.value(self.pick(ORDERED), [("q.x", kind), ("q.n", "int4")], 1)
        inner = self.pick([f"(select {expression})", f"(select {expression} union all select null)", f"(select max(z) from (values ({expression})) w(z))", f"(values ({expression}), ({expression}))", f"(select {expression} where q.n > 1)", f"(select {expression} limit 1)", f"(select {expression} from generate_series(1, 2))"])
        join = self.pick([", lateral {0} r(y)", " cross join lateral {0} r(y)", " left join lateral {0} r(y) on true", " left join lateral {0} r(y) on q.n > 1", " join lateral {0} r(y) on r.y is not null", ", generate_series(1, q.n % 3) r(y)", " left join generate_series(1, q.n % 3) r(y) on true", ", unnest(array[q.x, null]) with ordinality r(y, o)"]).format(inner)
        return f"select x, n, y from {source}{join}", False

    def quantified(self):
        kinds = [self.pick(ORDERED) for _ in range(self.number(1, 2))]
        kind = kinds[0]
        many = f"(values {self.rows([kind])})"
        pair = ", ".join(self.literal(one, is_typed=self.chance(85)) for one in kinds)
        rows = self.pick([f"(values {self.rows(kinds)})", f"(select * from (values {self.rows(kinds)}) q where {self.pick(['true', 'false'])})"])
        compare = self.pick(["=", "<>", "<", "<=", ">", ">="])
        return "select " + self.pick([
            f"{self.literal(kind, is_typed=self.chance(70))} {compare} {self.pick(['any', 'all', 'some'])} {many}", f"{self.literal(kind)} {self.pick(['in', 'not in'])} {many}", f"({pair}) {self.pick(['in', 'not in'])} {rows}", f"({pair}) {self.pick(['=', '<>', '=', '<', '>='])} (select * from (values {self.rows(kinds, 1)}) q)", f"row({pair}) {self.pick(['= any', '<> all', 'in', 'not in'])} {rows}",
            f"{self.pick(['', 'not '])}exists {rows}", f"(select * from (values {self.rows([kind], 1)}) q) is null", f"array{many}", f"array(select x from {many} q(x) order by x desc nulls last)", f"{self.literal(kind)} {compare} {self.pick(['any', 'all'])} (array{many})", f"(select x from {many} q(x) order by x limit 1) {compare} {self.literal(kind)}", f"{self.literal(kind)} = (select x from {many} q(x))",
            f"(select count(*) from {many} q(x) where x {compare} {self.literal(kind)})", f"({pair}) {compare} ({pair})", f"{self.literal('text')} {self.pick(['like', 'not like', 'ilike', '~', '!~', '~~*'])} {self.pick(['any', 'all'])} (array['a%', '%b', null])", f"{self.literal(kind)} {compare} {self.pick(['any', 'all'])} ({quoted(self.pick(['{}', '{1}', '{a,b}', '{2024-01-01,NULL}', 'x', '{{1,2},{3,4}}']))})",
            f"{self.literal(kind)} in ({self.literal(kind, is_typed=False)}, {self.literal(kind)}, null)", f"({pair}) in (({pair}), ({pair}))", f"{self.literal(kind)} between {self.pick(['', 'symmetric '])}{self.literal(kind, is_typed=False)} and {self.literal(kind)}", f"({pair}) is {self.pick(['', 'not '])}distinct from ({pair})",
        ]), True

    def first_rows(self):
        kind, other = self.pick(ORDERED), self.pick(ORDERED)
        source = f"(values {self.rows([kind, other], self.number(2, 5))}) q(x, y)"
        order = f"x{self.pick(['', ' desc', ' nulls first', ' desc nulls last'])}"
        limit = self.pick([f"limit {self.number(0, 3)}", f"fetch first {self.number(0, 2)} rows with ties", "fetch first row with ties", "fetch next 2 rows only", f"offset {self.number(0, 2)}", f"offset {self.number(0, 2)} rows fetch first row only", "limit all", "limit null", f"limit {self.number(0, 3)} offset {self.number(0, 3)}", "limit 1 + 1", "limit (select 1)", f"offset 1 row fetch first {self.number(0, 2)} rows with ties"])
        return self.pick([f"select x from {source} order by {order} {limit}", f"select distinct on (x) x from {source} order by {order}", f"select distinct on (x) x, y from {source} order by {order}, y {limit if 'ties' not in limit else ''}", f"select distinct x from {source} order by {order} {limit}", f"select x, count(*) from {source} group by x order by {order} {limit}", f"select x from {source} union all select x from {source} order by {self.pick(['1', 'x', 'x desc'])} {limit}", f"select count(*) from (select x from {source} order by {order} {limit}) r"]), True

    def aggregates(self):
        """Every aggregate with DISTINCT, ORDER BY and FILTER, of groups and of no rows."""
        call = self.pick(self.catalogue.aggregates)
        takes = [self.pick(ORDERED) if one == "any" else one for one in call.takes]
        columns = [f"x{at}" for at in range(len(takes))]
        inside = ", ".join(columns) or "*"
        if columns and self.chance(35):
            inside = self.pick(["distinct ", "distinct ", "all "]) + inside
        if columns and self.chance(40) and takes[0] not in UNORDERED:
            inside += f" order by {columns[0] if 'distinct' in inside or self.chance(60) else columns[-1]}{self.pick(['', ' desc', ' nulls first'])}"
        tail = self.pick(["", "", f" filter (where {columns[0] if columns else 'g'} is not null)", " filter (where g > 1)", " filter (where false)"])
        rows = self.rows(["int4", *takes], self.number(1, 5))
        where = self.pick(["", "", "", " where false", " where g > 0"])
        by = self.pick(["", "", " group by g > 1 order by g > 1", " group by () ", " group by rollup(g > 1) order by 1"])
        more = self.pick(["", "", ", count(*)", f", pg_typeof({call.name}({inside}))"])
        return f"select {call.name}({inside}){tail}{more} from (values {rows}) q({', '.join(['g', *columns])}){where}{by}", "order by 1" not in by

    def windows_of_all(self):
        """Every aggregate and function of windows, over few rows in one order."""
        kind = self.pick(ORDERED)
        call = self.pick(self.catalogue.aggregates)
        takes = [kind if one == "any" else one for one in call.takes]
        columns = [f"x{at}" for at in range(len(takes))]
        function = f"{call.name}({', '.join(columns) or '*'})" + self.pick(["", "", " filter (where n > 1)"])
        if self.chance(35):
            takes, columns = [kind], ["x0"]
            function = self.pick([f"lag(x0, {self.pick(['1', '2', '0', '-1', 'null', 'n'])}{self.pick(['', ', ' + self.literal(kind, is_typed=self.chance(60))])})", f"lead(x0, {self.pick(['1', '2'])}, {self.literal(self.pick([kind, self.kind()]))})", "first_value(x0)", "last_value(x0)", f"nth_value(x0, {self.pick(['1', '2', '0', 'null', 'n'])})", f"ntile({self.pick(['1', '2', '3', '0', 'null', '-1'])})", "cume_dist()", "percent_rank()", "dense_rank()", "row_number()"])
        rows = ", ".join(f"({at}, {', '.join(self.literal(one) for one in takes)})" if takes else f"({at})" for at in range(1, self.number(2, 5) + 1))
        frame = self.pick(["", "", " rows between 1 preceding and current row", " rows between current row and unbounded following", " rows between 1 following and 2 following", " groups 1 preceding", " range between 1 preceding and 1 following", " rows between unbounded preceding and unbounded following exclude current row", " rows 2 preceding exclude ties"])
        part = self.pick(["", "", "partition by n % 2 "])
        return f"select n, {function} over ({part}order by n{frame}) from (values {rows}) q({', '.join(['n', *columns])}) order by n", True

    def clauses(self):
        """Names in ORDER BY and GROUP BY: of the list's columns, of FROM, numbers, expressions."""
        text = f"select {self.pick(PARTS['select'])} from (values {self.rows(['int4', self.pick(['int4', 'int4', 'text', 'numeric'])], 3)}) q(x, y)"
        if self.chance(15):
            text += f" {self.pick(['union', 'union all'])} select {self.pick(PARTS['select'][:8])} from (values (1, 2), (3, 0)) q(x, y)"
        else:
            text += self.pick(["", "", "", " where x > 0"]) + (f" group by {self.pick(PARTS['group'])}" if self.chance(40) else "") + (f" having {self.pick(['count(*) > 0', 'x > 0', 'max(x) > 1', 'z > 0', 'y is null', 'true'])}" if self.chance(12) else "")
        if self.chance(65):
            # All columns follow, so that rows that are equal are alike.
            return f"{text} order by {self.pick(PARTS['order'])}{self.pick([', 1', ', 1', ''])}", False
        return text, False

    def wrong(self):
        """Statements of which most are refused."""
        one = self.pick(WRONG)
        draws = self.number(0, 9)
        if draws < 7:
            return f"select {one}", False
        if draws < 8:
            return f"select 1 where exists (select {one})", False
        return f"with q as (select {one}) select count(*) from q", False

    def domains(self):
        name = self.pick(list(DOMAINS))
        kind = DOMAINS[name]
        value = self.literal(self.pick([kind, kind, "text", self.kind()]), is_typed=self.chance(75))
        return "select " + self.pick([
            f"{value}::{name}", f"cast({value} as {name})", f"({value}::{name})::text", f"{value}::{name} = {self.literal(kind)}", f"{value}::{name} {self.pick(['+', '||', '-', '*'])} {self.literal(kind)}", f"coalesce({value}::{name}, {self.literal(kind)})", f"array[{value}::{name}, {self.literal(kind)}]", f"null::{name}", f"{name} {quoted(self.raw(kind))}", f"max(x::{name}) from (values ({value})) q(x)",
            f"x from (values ({value}::{name}), ({self.literal(kind)})) q(x)", f"length(({value}::{name})::text)", f"{value}::{name} is null", f"case when true then {value}::{name} else {self.literal(kind)} end", f"to_json({value}::{name})", f"nullif({value}::{name}, {self.literal(kind)})", f"{value}::{name} in ({self.literal(kind)})", f"{value}::{name}::{self.pick(list(DOMAINS))}",
        ]), True

    def labels(self):
        one = lambda: self.pick(["'ok'::mood", "'sad'::mood", "'happy'::mood", "'ok'", "null::mood", "'x'::mood", "'OK'::mood", "''::mood", "'ok'::text::mood", "mood 'sad'", "null"])  # noqa: E731
        return "select " + self.pick([
            f"{one()} {self.pick(['=', '<', '>', '<=', '<>'])} {one()}", f"greatest({one()}, {one()})", f"max(x), min(x) from (values ({one()}), ({one()}), ('ok'::mood)) q(x)", f"enum_first({one()})", f"enum_last({one()})", f"enum_range({one()})", f"enum_range({one()}, {one()})", f"array[{one()}, {one()}, 'ok'::mood]", f"{one()} in ({one()}, {one()})", f"{one()} between {one()} and {one()}", f"case {one()} when 'ok' then 1 else 2 end",
            f"{one()}::text || 'x'", f"({one()} || 'x')", f"to_json({one()})", f"x from (values ({one()}), ({one()}), ('happy'::mood)) q(x) order by x {self.pick(['', 'desc', 'nulls first'])}", f"'{{ok,sad}}'::mood[] {self.pick(['@>', '&&', '=', '<', '||'])} array[{one()}]", f"{one()} = any ('{{ok,happy}}'::mood[])", f"{one()} = any (enum_range(null::mood))", f"('{{ok,sad,NULL}}'::mood[])[{self.pick(['1', '2', '3', '4'])}]", f"unnest(enum_range({one()}, null))",
            f"array_position('{{ok,sad}}'::mood[], {one()})", f"{one()}::mood::varchar", f"upper({one()})", f"length({one()}::text)", f"count(distinct x), mode() within group (order by x) from (values ({one()}), ({one()}), ('ok'::mood)) q(x)", f"lag(x) over (order by x) from (values ({one()}), ('ok'::mood)) q(x)", f"coalesce({one()}, {one()})", f"'ok'::varchar::mood", f"'ok'::name::mood", f"1::mood", f"array_agg(x order by x desc) from (values ({one()}), ('ok'::mood), ('sad')) q(x)", f"'{{ok,x}}'::mood[]", f"{one()}::mood::text::mood",
        ]), True

    def collated(self):
        text = lambda: self.pick([self.literal("text"), self.literal("varchar"), "'a'", "'B'", "'ä'", "'z'", "null::text"])  # noqa: E731
        of = lambda: self.pick(['"C"', '"POSIX"', '"default"', '"de-x-icu"', '"sv-x-icu"', '"en-x-icu"', "nothing", 'pg_catalog."C"', '"ucs_basic"'])  # noqa: E731
        return "select " + self.pick([
            f"{text()} collate {of()} {self.pick(['<', '>', '=', '<=', '<>'])} {text()}", f"{text()} collate {of()} < {text()} collate {of()}", f"x from (values ({text()}), ({text()}), ({text()})) q(x) order by x collate {of()}", f"max(x collate {of()}) from (values ({text()}), ({text()})) q(x)", f"upper({text()} collate {of()})", f"lower({text()} collate {of()})", f"collation for ({text()} collate {of()})", f"collation for ({text()})",
            f"({text()} collate {of()}) || {text()} < {text()}", f"({text()} collate {of()}) || ({text()} collate {of()})", f"{text()} collate {of()} like 'a%'", f"greatest({text()} collate {of()}, {text()})", f"case when true then {text()} collate {of()} end", f"{text()} collate {of()} in ({text()}, {text()})", f"{text()} collate {of()} between {text()} and {text()}", f"array[{text()} collate {of()}]", f"1 collate {of()}", f"initcap({text()} collate {of()})",
            f"x from (values ({text()}), ({text()})) q(x) group by x collate {of()}, x order by x collate {of()}", f"distinct x collate {of()} from (values ({text()}), ({text()})) q(x) order by 1", f"row_number() over (order by x collate {of()}), x from (values ({text()}), ({text()})) q(x) order by x", f"{text()} collate {of()} ilike 'A%'", f"coalesce({text()} collate {of()}, 'x') < 'b'", f"collation for ({self.shape()})",
        ]), True

    def syntax(self):
        value, text = self.shape(), self.literal("text")
        return self.pick(["select ", "select all "]) + self.pick([
            f"{value} isnull", f"{value} notnull", f"{value} operator(pg_catalog.=) {value}", f"{value} operator(pg_catalog.+) 1", f"{text} is {self.pick(['', 'not '])}{self.pick(['', 'NFC ', 'NFD ', 'nfkc ', 'NFKD '])}normalized", f"normalize({text}{self.pick(['', ', NFC', ', NFKD', ', nfd', ', nothing'])})", f"trim({self.pick(['', 'both ', 'leading ', 'trailing '])}{self.pick([text + ' from ', 'from ', ''])}{text})", f"trim({self.pick(['both ', ''])}{text}, {text})",
            f"substring({text} {self.pick(['from 2', 'for 2', 'from 2 for 1', 'for 1 from 2', 'from ' + quoted('b'), 'similar ' + quoted('%#' + chr(34) + 'b#' + chr(34) + '%') + ' escape ' + quoted('#')])})", f"overlay({text} placing {text} from {self.number(0, 3)}{self.pick(['', ' for 1', ' for 0'])})", f"position({text} in {text})", f"extract({self.pick(['day', 'epoch', 'hour', 'dow'])} from {self.literal(self.pick(['timestamp', 'date', 'interval', 'time', 'timestamptz', 'timetz']))})", f"{self.literal('timestamp')} at time zone {quoted(self.pick(arguments.ZONES))}",
            f"{self.pick(['timestamp(3)', 'time(2)', 'timestamptz(0)', 'interval(1)', 'char(3)', 'varchar(2)', 'bpchar', 'int', 'numeric(4,1)', 'bool', 'date', 'real', 'double precision', 'character varying(2)', 'timestamp with time zone', 'time with time zone', 'interval', 'smallint', 'bigint', 'dec(3,1)', 'float(10)', 'text', 'name', 'json', 'uuid', 'inet'])} {quoted(self.pick(VALUES[self.pick(list(VALUES))]))}",
            f"cast({value} as {self.pick(['text', 'int', 'numeric(5,2)', 'varchar(2)', 'float(3)', 'char', 'character(3)', 'national character(2)', 'nchar varying(2)', 'dec', 'bool'])})", f"{value}::text::varchar(3)::char(5)::text", f"({value}, {value}) is null", f"case {value} when {value} then 1 else 2 end", f"case when {self.literal('bool')} then {value} end", f"{self.literal('bool')} is {self.pick(['', 'not '])}{self.pick(['true', 'false', 'unknown', 'null'])}",
            f"not {self.literal('bool')} {self.pick(['and', 'or', '=', '<>'])} {self.literal('bool')}", f"{value} is {self.pick(['', 'not '])}distinct from {self.shape()}", f"{value} as \"{self.pick(['x', 'X y', 'select'])}\"", f"{value} {self.pick(['x', 'value', 'name', 'year', 'over', 'filter', 'type', 'key', 'order', 'user'])}", f"/* a /* b */ c */ {value} -- d", f"{self.number(-9, 9)} {self.pick(['+', '-', '*', '/', '%', '^', '<', '<<', '&', '#', '|', '='])} {self.number(-9, 9)} {self.pick(['+', '-', '*', '/', '%', '^', '<>', '>>', '|', '||'])} {self.number(-9, 9)}",
            f"- {self.number(0, 9)} {self.pick(['^', '%', '!=', '::int2 *'])} {self.number(1, 3)}", f"{value} {self.pick(['+', '-', '*', '/', '%', '^', '||', '&', '|', '#', '<<', '~', '@>', '&&', '->', '@@', '?', '=', '<=', '~~'])} {self.shape()}", f"{self.pick(['-', '+', '~', '@', '|/', '||/', '!!', 'not '])} {value}", f"{text} between {text} and {text} and true", f"{value} in ({self.shape()}, {self.shape()})", f"exists (select {value} where {self.literal('bool')})", f"(select {value})", f"array[{value}, {self.shape()}][1]", f"greatest({value}, {self.shape()})", f"U&{text}", f"E{text}",
        ]), True

    def sets(self):
        """Set operations, nested, with types that meet."""
        def part(depth):
            if depth and self.chance(40):
                return f"({part(depth - 1)} {word()} {part(depth - 1)})"
            return f"select {', '.join(self.literal(kind, is_typed=self.chance(75)) if self.chance(85) else self.shape() for kind in kinds)}"

        word = lambda: self.pick(["union", "union all", "intersect", "except", "except all", "intersect all"])  # noqa: E731
        kinds = [self.pick(ORDERED) for _ in range(self.number(1, 2))]
        text = f"{part(1)} {word()} {part(1)}" + (f" {word()} {part(0)}" if self.chance(40) else "")
        return self.pick([text, text, f"select x, pg_typeof(x) from ({text}) q(x)", f"{text} order by 1"]), False

    def dimensions(self):
        """Arrays in every operator and function of the catalogue, also of other elements than they take."""
        kind = self.pick([one for one in VALUES if one.endswith("[]")])
        element = kind[:-2]
        array = lambda: self.pick([self.literal(kind), self.literal(kind), quoted(self.pick(VALUES[kind])), f"array[{self.literal(element) if element != 'char' else self.literal(element)}, {self.literal(element)}]"])  # noqa: E731
        one = lambda: self.literal(element, is_typed=self.chance(80))  # noqa: E731
        return "select " + self.pick([
            f"{array()} {self.pick(['=', '<>', '<', '>=', '@>', '<@', '&&', '||'])} {array()}", f"{array()} || {one()}", f"{one()} || {array()}", f"array_append({array()}, {one()})", f"array_prepend({one()}, {array()})", f"array_remove({array()}, {one()})", f"array_replace({array()}, {one()}, {one()})", f"array_position({array()}, {one()})", f"array_positions({array()}, {one()})", f"array_cat({array()}, {array()})", f"array_to_string({array()}, {quoted(self.pick([',', '', ' ']))}{self.pick(['', ', ' + quoted('*')])})",
            f"array_length({array()}, 1)", f"array_dims({array()})", f"cardinality({array()})", f"unnest({array()})", f"({array()})[{self.pick(['1', '2:', ':1', '0', 'null', '2:1', '-1:1'])}]", f"{one()} {self.pick(['=', '<', '<>'])} {self.pick(['any', 'all'])} ({array()})", f"array_agg(x) from (values ({self.literal(kind)}), ({self.literal(kind)})) q(x)", f"array_fill({one()}, '{{2,1}}'{self.pick(['', ', ' + quoted('{0,3}')])})", f"trim_array({array()}, {self.number(0, 2)})",
            f"({array()})::{self.pick(['text', 'text[]', 'int4[]', 'varchar(1)[]', 'numeric(4,1)[]', 'json[]', 'date[]', 'int2[]', 'bool[]', 'float8[]', 'jsonb'])}", f"coalesce({array()}, {array()})", f"greatest({array()}, {array()})", f"x from (values ({self.literal(kind)}), ({self.literal(kind)})) q(x) order by x", f"count(distinct x) from (values ({self.literal(kind)}), ({self.literal(kind)})) q(x)", f"array_ndims(array[{array()}, {array()}])", f"string_to_array({self.literal('text')}, {self.pick([quoted(','), 'null', quoted('')])}, {self.pick([quoted('a'), 'null', quoted('')])})",
            f"array_upper({array()}, {self.number(0, 2)})", f"generate_subscripts({array()}, 1)", f"array(select x from unnest({self.literal(kind)}) q(x))", f"{array()} is null", f"({array()})[1:1] || {one()}", f"concat({array()}, 1)", f"format('%s %L', {array()}, {array()})", f"to_jsonb({array()})", f"pg_typeof({array()} || {array()})",
        ]), True

    def withs(self):
        """WITH of all kinds: names that hide others, recursion of several columns, counts of references."""
        rows = self.rows(["int4", "text"], 3)
        return self.pick([
            f"with q(x, y) as (values {rows}) select a.x, b.y from q a join q b on a.x = b.x", f"with a as (select 1 as i) select i from a", f"with q as (select 1 as x), r as (select x + 1 as x from q) select * from q, r", f"with q(x) as (select 1, 2) select * from q", f"with q(x, y, z) as (values {rows}) select * from q", f"with q as (values {rows}), q as (select 1) select * from q",
            f"with r as (select x from q), q as (select 1 as x) select * from r", f"with recursive q(n, t) as (values (1, {self.literal('text')}) union all select n + 1, {self.pick(['t || n', 't', 'upper(t)', 'n::text', 'null', 'left(t, n)'])} from q where n < {self.number(1, 4)}) select * from q", f"with recursive q(n) as (select {self.pick(['1', '1::int8', '1.5', chr(39) + '1' + chr(39), 'null', '1::int2'])} union {self.pick(['all ', ''])}select n + {self.pick(['1', '1.0', '1::int8'])} from q where n < 3) select n, pg_typeof(n) from q",
            f"with recursive q(n) as (select 1 union select {self.pick(['count(*)', 'max(n)', 'n % 3 + 1', '(select n)', 'n + 1'])}::int from q{self.pick(['', ' where n < 4', ' where n < 4 limit 1'])}) select * from q limit 5", f"with recursive t(n, p) as (select 1, array[1] union all select n + 1, p || n from t where n < 3) search {self.pick(['depth', 'breadth'])} first by n set o select * from t order by o", f"with recursive t(n) as (select 1 union all select n % 3 + 1 from t) cycle n set c {self.pick(['', 'to true default false ', 'to 1 default 0 '])}using p select * from t",
            f"with q as materialized (values {rows}) select count(*) from q", f"select (with q(x) as (values {self.rows(['int4'])}) select max(x) from q)", f"select * from (with q(x) as (values {self.rows(['int4'])}) select x from q) r", f"with recursive q as (select 1 as n union all select n + 1 from q where n < 3), r as (select sum(n) from q) select * from r", f"with recursive q(n) as (select 1 union all (select n + 1 from q where n < 3 {self.pick(['', 'order by n', 'limit 1'])})) select * from q",
            f"with q(x) as (select {self.value(self.kind(), [], 1)}) select x, x from q", f"with recursive q(n) as (select n from q) select * from q", f"with recursive q(n) as (select 1 except select n + 1 from q) select * from q", f"with recursive q(n) as (select 1 union all select a.n + b.n from q a, q b where a.n < 5) select * from q", f"with recursive q(n) as (select 1 union all select id from a left join q on a.id = q.n where n < 3) select * from q", f"with recursive q(n) as (values (1), (2) union all select n + 2 from q where n < 6) select sum(n), count(*) from q",
        ]), False
