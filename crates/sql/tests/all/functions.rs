//! The tables of functions: each function is called, and the catalogue and docs/sql.md list all of them.

use crate::common::{Fresh, query, run};
use sardonyx_sql::{Session, SqlError};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Functions that are called without parentheses.
const WORDS: [&str; 10] = [
    "current_catalog",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

/// A function as `pg_proc` has it.
struct Function {
    name: String,
    /// `f`, `a` for an aggregate, `w` for a window function.
    kind: String,
    is_strict: bool,
    gives_rows: bool,
    is_variadic: bool,
    result: String,
    arguments: Vec<String>,
    about: String,
}

fn functions(session: &mut Session) -> Vec<Function> {
    let text = "select proname, prokind, proisstrict, proretset, provariadic <> 0, prorettype, proargtypes, \
                obj_description(oid, 'pg_proc') from pg_proc where obj_description(oid, 'pg_proc') is not null order by proname, oid";
    let rows = query(session, text).expect("the catalogue is read");
    rows.iter().map(|row| function(session, row)).collect()
}

fn function(session: &mut Session, row: &str) -> Function {
    let parts: Vec<&str> = row.splitn(8, '|').collect();
    let mut name = |number: &str| type_name(session, number);
    Function {
        name: parts[0].to_string(),
        kind: parts[1].to_string(),
        is_strict: parts[2] == "t",
        gives_rows: parts[3] == "t",
        is_variadic: parts[4] == "t",
        result: name(parts[5]),
        arguments: parts[6].split_whitespace().map(name).collect(),
        about: parts[7].to_string(),
    }
}

fn type_name(session: &mut Session, number: &str) -> String {
    match number {
        "2276" => "\"any\"".to_string(),
        "2277" => "anyarray".to_string(),
        "2283" => "anyelement".to_string(),
        "3500" => "anyenum".to_string(),
        "3831" => "anyrange".to_string(),
        number => {
            let text = format!("select format_type({number}, null)");
            query(session, &text).expect("a type has a name").remove(0)
        }
    }
}

impl Function {
    fn signature(&self) -> String {
        let mut arguments = self.arguments.clone();
        if self.name == "count" && arguments.is_empty() {
            arguments.push("*".to_string());
        }
        if let (true, Some(last)) = (self.is_variadic, arguments.last_mut()) {
            *last = format!("{last}, …");
        }
        self.called_with(&arguments)
    }

    fn called_with(&self, arguments: &[String]) -> String {
        match WORDS.contains(&&*self.name) {
            true => self.name.clone(),
            false => format!("{}({})", self.name, arguments.join(", ")),
        }
    }

    /// Values of the arguments' types that the function takes.
    fn samples(&self) -> Vec<String> {
        let arguments = self.arguments.iter().enumerate();
        let mut samples: Vec<String> = arguments.map(|(at, kind)| self.sample(at, kind)).collect();
        if self.name == "count" && samples.is_empty() {
            samples.push("*".to_string());
        }
        if self.name.ends_with("build_object") && !samples.is_empty() {
            samples.push("2".to_string());
        }
        samples
    }

    fn sample(&self, at: usize, kind: &str) -> String {
        match (&*self.name, at, kind) {
            ("extract" | "date_part", 0, _) if self.arguments[1].starts_with("time") => "'hour'",
            ("extract" | "date_part" | "date_trunc", 0, _) => "'day'",
            ("timezone", 0, "text") | ("date_trunc", 2, _) | ("make_timestamptz", 6, _) => {
                "'Europe/Berlin'::text"
            }
            ("timezone", 0, _) => "interval '2 hours'",
            ("like_escape", 1, "text") => "'!'::text",
            ("regexp_replace", 3, "text") => "'gi'::text",
            ("regexp_like" | "regexp_match", 2, _) => "'i'::text",
            ("regexp_split_to_array" | "regexp_split_to_table", 2, _) => "'i'::text",
            ("regexp_count", 3, _) | ("regexp_substr", 4, _) | ("regexp_instr", 5, _) => {
                "'i'::text"
            }
            ("regexp_replace", 5, _) | ("regexp_matches", 2, _) => "'g'::text",
            ("regexp_instr", 4, _) => "1::integer",
            ("similar_to_escape", 1, _) | ("substring", 2, "text") => "'#'::text",
            ("to_char", 1, _) => "'MI'::text",
            ("to_number", 0, _) => "'12'::text",
            ("to_number", 1, _) => "'99'::text",
            ("to_date" | "to_timestamp", 0, "text") => "'2024-02-29'::text",
            ("to_date" | "to_timestamp", 1, "text") => "'YYYY-MM-DD'::text",
            ("length", 1, "name") => "'UTF8'::name",
            ("width_bucket", 1, "anyarray") => "array[1, 2]",
            ("width_bucket", 1, "numeric") => "0::numeric",
            ("width_bucket", 1, _) => "0::double precision",
            ("date_bin", 0, _) => "interval '15 minutes'",
            ("current_setting" | "set_config", 0, _) => "'statement_timeout'",
            ("set_config", 1, _) => "'0'",
            ("pg_database_size", 0, "name") => "'sardonyx'::name",
            ("pg_sequence_last_value", 0, _) => "'s'::regclass",
            ("pg_relation_size", 1, _) => "'main'",
            ("pg_get_serial_sequence", 0, _) => "'t'",
            ("pg_get_serial_sequence", 1, _) => "'id'",
            ("nextval" | "currval" | "setval", 0, _) => "'s'",
            ("acos" | "asin" | "atanh", 0, _) => "0.5::double precision",
            ("convert_from" | "convert_to", 1, _) => "'UTF8'::text",
            ("get_bit" | "get_byte" | "set_bit" | "set_byte", 1, _) => return format!("0::{kind}"),
            ("set_bit", 2, _) => "1::integer",
            ("digest", 1, _) => "'sha1'::text",
            ("decode", 0, _) => "'616263'::text",
            ("decode" | "encode", 1, _) => "'hex'::text",
            ("array_fill", _, "integer[]") => "array[2]",
            ("is_normalized" | "normalize", 1, _) => "'NFC'::text",
            ("jsonb_path_match" | "jsonb_path_match_opr", 1, _) => "'true'::jsonpath",
            ("jsonb_set_lax", 4, _) => "'use_json_null'::text",
            ("pg_size_bytes", 0, _) => "'1 kB'::text",
            ("setseed", 0, _) => "0.5::double precision",
            ("to_regprocedure", 0, _) => "'upper(text)'::text",
            (name, 2, "jsonb") if name.contains("_path_") => "'{}'::jsonb",
            (_, _, "jsonpath") => "'$'::jsonpath",
            (_, _, "regclass") => "'t'::regclass",
            (_, _, "\"any\"" | "anyelement") => "1",
            (name, 2, "text") if name.ends_with("range") => "'[]'::text",
            (_, _, "anyrange") => "int4range(1, 5)",
            (_, _, "anyarray") => "array[1, 2]",
            (_, _, "anyenum") => "'ok'::mood",
            (_, _, "boolean") => "true",
            (_, _, "bytea") => "'\\x61'::bytea",
            (_, _, "date") => "date '2024-02-29'",
            (_, _, "time without time zone") => "time '12:34:56'",
            (_, _, "time with time zone") => "timetz '12:34:56+02'",
            (_, _, "timestamp without time zone") => "timestamp '2024-02-29 12:34:56'",
            (_, _, "timestamp with time zone") => "timestamptz '2024-02-29 12:34:56+00'",
            (name, _, "json" | "jsonb") => {
                let value = if name.ends_with("keys") {
                    "{\"a\": 1}"
                } else {
                    "[1, 2]"
                };
                return format!("'{value}'::{kind}");
            }
            ("hstore" | "json_object" | "jsonb_object", _, "text[]") => "array['a', '1']",
            (_, _, "oidvector") => "'23 25'::oidvector",
            ("pg_sleep", _, _) => "0::float8",
            ("pg_terminate_backend", 1, _) => "0::bigint",
            (_, _, "hstore") => "hstore 'a=>1'",
            (_, _, "tsvector") => "tsvector 'a:1'",
            (_, _, "tsquery") => "tsquery 'a'",
            ("acldefault", 0, _) => "'r'::\"char\"",
            (_, _, "\"char\"") => "'a'::\"char\"",
            (_, _, "\"char\"[]") => "'{a}'::\"char\"[]",
            (_, _, "real[]") => "'{0.1,0.2,0.4,1}'::real[]",
            (_, _, "regconfig") => "'simple'::regconfig",
            (_, _, "text[]") => "array['0']",
            (_, _, "interval") => "interval '1 day 02:00:00'",
            (_, _, "bit" | "bit varying") => return format!("'101'::{kind}(3)"),
            (_, _, "inet") => "inet '10.1.2.3/24'",
            (_, _, "cidr") => "cidr '10.1.0.0/16'",
            (_, _, "record") => "row(1, 'a')",
            (_, _, "uuid") => "'00000000-0000-4000-8000-000000000000'::uuid",
            (_, _, "text" | "character") => return format!("'abc'::{kind}"),
            (_, _, number) => return format!("2::{number}"),
        }
        .to_string()
    }

    /// The function's value for these arguments, and the type that it has.
    fn call(&self, session: &mut Session, arguments: &[String]) -> Result<Vec<String>, SqlError> {
        let over = match &*self.kind {
            "w" => " over ()",
            _ => "",
        };
        // Behind its bare name, a form or a part is a word.
        let schema = match &*self.name {
            "extract" | "normalize" => "pg_catalog.",
            _ => "",
        };
        let call = format!("{schema}{}{over}", self.called_with(arguments));
        let text = match (self.gives_rows, &*self.kind) {
            (false, "f") => format!("select {call}, pg_typeof({call})"),
            _ => format!("select {call}"),
        };
        query(session, &text)
    }
}

fn prepared(fresh: &Fresh) -> Session {
    let mut session = fresh.session();
    let text = "create table t (id serial primary key, a text); create type mood as enum ('sad', 'ok'); create sequence s; select nextval('s')";
    run(&mut session, text).expect("they are created");
    session
}

#[test]
fn each_function_is_called() {
    let fresh = Fresh::new();
    let mut session = prepared(&fresh);
    let functions = functions(&mut session);
    assert!(functions.len() > 250, "{}", functions.len());
    for function in &functions {
        let samples = function.samples();
        let signature = function.signature();
        let rows = match function.call(&mut session, &samples) {
            Ok(rows) => rows,
            // Only a server that follows replays a log.
            Err(error) if function.name == "pg_is_wal_replay_paused" => {
                assert_eq!(error.code, "55000");
                continue;
            }
            Err(error) => panic!("{signature}: {error:?}"),
        };
        if function.gives_rows || function.kind != "f" {
            continue;
        }
        let is_known = !function.result.starts_with("any");
        let wanted = format!("|{}", function.result);
        assert!(
            !is_known || rows[0].ends_with(&wanted),
            "{signature}: {rows:?}"
        );
    }
}

#[test]
fn strict_functions_are_null_of_a_null_and_others_take_one() {
    let fresh = Fresh::new();
    let mut session = prepared(&fresh);
    for function in functions(&mut session) {
        for (at, kind) in function.arguments.iter().enumerate() {
            let mut samples = function.samples();
            samples[at] = match &**kind {
                "\"any\"" | "anyelement" => "null::integer".to_string(),
                "anyarray" => "null::integer[]".to_string(),
                "anyenum" => "null::mood".to_string(),
                "anyrange" => "null::int4range".to_string(),
                kind => format!("null::{kind}"),
            };
            let signature = function.signature();
            let result = function.call(&mut session, &samples);
            // A name of an object's field, or of a channel, may not be null, nor may flags of bounds.
            let is_name = function.name.starts_with("json") && function.name.contains("object")
                || function.name == "pg_notify";
            match result {
                Ok(rows) if function.is_strict && !function.gives_rows => {
                    assert!(rows[0].starts_with("NULL"), "{signature}: {rows:?}");
                }
                Ok(_) => {}
                Err(error) => {
                    let are_flags = function.name.ends_with("range") && at == 2;
                    let is_start = function.name == "array_position" && at == 2;
                    let are_lengths = function.name == "array_fill" && at > 0;
                    let is_treatment = function.name == "jsonb_set_lax" && at == 4;
                    assert!(
                        is_name && at == 0 || are_flags || is_start || are_lengths || is_treatment,
                        "{signature}: {error:?}"
                    );
                }
            }
        }
    }
}

/// The most characters of signatures in a cell of the document's tables; a list below the table has more.
const CELL_MAX: usize = 240;

/// The lines of the document on functions, of which each name with the same meaning has one.
fn documented(functions: &[Function], kind: &str) -> String {
    let mut lines: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for function in functions.iter().filter(|function| function.kind == kind) {
        let line = lines.entry((&function.name, &function.about)).or_default();
        line.push(format!("`{} → {}`", function.signature(), function.result));
    }
    let mut text = String::from("| | |\n| --- | --- |\n");
    let mut below = String::new();
    for ((name, about), signatures) in lines {
        let signatures = signatures.join(", ");
        if signatures.chars().count() <= CELL_MAX {
            writeln!(text, "| {signatures} | {about} |").expect("a text takes it");
        } else {
            writeln!(text, "| `{name}(…)` | {about}: signatures below |").expect("a text takes it");
            writeln!(below, "- `{name}(…)`, {about}: {signatures}").expect("a text takes it");
        }
    }
    match below.is_empty() {
        true => text,
        false => text + "\n" + &below,
    }
}

/// To write the lines into the document, run the test with `SARDONYX_WRITE_DOCUMENTS=1`.
#[test]
fn the_document_has_all_functions() {
    let fresh = Fresh::new();
    let functions = functions(&mut fresh.session());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let document = std::fs::read_to_string(&path).expect("the document is read");
    let mut wanted = String::new();
    for (heading, kind) in [
        ("Scalar functions", "f"),
        ("Aggregates", "a"),
        ("Window functions by name", "w"),
    ] {
        let lines = documented(&functions, kind);
        write!(wanted, "### {heading}\n\n{lines}\n").expect("a text takes it");
    }
    let begin = document
        .find("### Scalar functions\n")
        .expect("a section of functions");
    let end = document[begin..]
        .find("\n## ")
        .map_or(document.len(), |end| begin + end + 1);
    if std::env::var_os("SARDONYX_WRITE_DOCUMENTS").is_some() {
        let written = format!("{}{wanted}{}", &document[..begin], &document[end..]);
        std::fs::write(&path, written).expect("the document is written");
        return;
    }
    let differs = wanted
        .lines()
        .zip(document[begin..end].lines())
        .find(|(one, other)| one != other);
    assert_eq!(
        differs, None,
        "run this test with SARDONYX_WRITE_DOCUMENTS=1"
    );
    assert_eq!(wanted.lines().count(), document[begin..end].lines().count());
}
