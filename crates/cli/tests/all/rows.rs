//! `import`, `export`, `rows`, `schema` and `inspect catalogue` on one database, as a user calls them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in a directory.
pub fn sardonyx(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(crate::PROGRAM);
    command.current_dir(directory).args(arguments);
    command.output().expect("it runs")
}

/// The output and the messages of a run.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[track_caller]
fn done(directory: &Path, arguments: &[&str]) -> String {
    let output = sardonyx(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

const PEOPLE: &str = "id,name,born,balance\n\
    1,Ada,1815-12-10,12.50\n\
    2,\"Hopper, Grace\",1906-12-09,-1.25\n\
    3,\"\",,\n";

/// A directory with the file of people and a database that has them.
fn with_people() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    fs::write(at.join("people.csv"), PEOPLE).expect("written");
    // Only a command that creates a table creates a database, and only in an empty directory.
    let import = ["import", "db.sdx", "people", "people.csv"];
    let create = ["--create", "--key", "id"];
    assert_eq!(sardonyx(at, &import).status.code(), Some(2));
    assert!(!at.join("db.sdx").exists());
    fs::create_dir(at.join("other")).expect("a directory");
    fs::write(at.join("other/file"), "text").expect("written");
    let elsewhere = ["import", "other", "people", "people.csv"];
    let refused = sardonyx(at, &[&elsewhere[..], &create].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    done(at, &[&import[..], &create].concat());
    directory
}

/// The lines of a text, sorted as texts.
fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn what_is_imported_is_shown_and_exported_again() {
    let directory = with_people();
    let at = directory.path();

    let rows = done(
        at,
        &[
            "rows",
            "db.sdx",
            "people",
            "--where",
            "balance < 0 or born is null",
            "--json",
        ],
    );
    let mut rows: Vec<serde_json::Value> = rows
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    rows.sort_by_key(|row| row["id"].as_i64());
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["name"], "Hopper, Grace");
    assert_eq!(
        (&rows[1]["name"], rows[1]["balance"].is_null()),
        (&"".into(), true)
    );
    let conditions = "length(name) % 2 = 1 and lower(name) like 'h%'";
    let odd = done(
        at,
        &["rows", "db.sdx", "people", "--where", conditions, "--json"],
    );
    assert_eq!(odd.lines().count(), 1, "{odd}");
    let shown = done(
        at,
        &[
            "rows",
            "db.sdx",
            "people",
            "--columns",
            "name",
            "--limit",
            "2",
        ],
    );
    assert_eq!(shown.lines().count(), 3, "{shown}");

    let sql = done(at, &["schema", "db.sdx"]);
    assert!(
        sql.contains("CREATE TABLE people (\n  id bigint NOT NULL,\n  name text,"),
        "{sql}"
    );
    assert!(sql.contains("PRIMARY KEY (id)"), "{sql}");
    let catalogue = done(at, &["inspect", "db.sdx", "catalogue", "--json"]);
    let catalogue: serde_json::Value = serde_json::from_str(&catalogue).expect("JSON");
    let definitions = catalogue["definitions"].as_array().expect("a list");
    let people = definitions
        .iter()
        .find(|line| line["name"] == "people")
        .expect("listed");
    assert_eq!(
        (&people["rows"], &people["columns"][2]["type"]),
        (&3.into(), &"date".into())
    );

    let csv = |table: &str| {
        let columns = ["--columns", "id,name,born,balance"];
        let export = ["export", "db.sdx", table, "-", "--format", "csv"];
        sorted(&done(at, &[&export[..], &columns].concat()))
    };
    for ending in ["csv", "jsonl", "parquet", "arrow", "arrows"] {
        let (file, table) = (format!("out.{ending}"), format!("table_{ending}"));
        done(at, &["export", "db.sdx", "people", &file]);
        let create = ["--create", "--key", "id"];
        let import = ["import", "db.sdx", &table, &file];
        done(at, &[&import[..], &create].concat());
        assert_eq!(csv(&table), sorted(PEOPLE), "{ending}");

        // Into the table of CSV's types, and through pipes if the format allows.
        let with_file = |file: &str| fs::File::open(at.join(file)).expect("a file");
        let into = format!("piped_{ending}");
        let import = ["import", "db.sdx", &into, "-", "--format", ending];
        let piped = Command::new(crate::PROGRAM)
            .current_dir(at)
            .args([&import[..], &create].concat())
            .stdin(with_file(&file))
            .output()
            .expect("it runs");
        if ["parquet", "arrow"].contains(&ending) {
            assert!(text(&piped).contains("this is a pipe"), "{}", text(&piped));
            continue;
        }
        assert!(piped.status.success(), "{}", text(&piped));
        assert_eq!(csv(&into), sorted(PEOPLE), "{ending}");
    }
    // Existing rows, in a format without lines.
    let again = sardonyx(at, &["import", "db.sdx", "people", "out.parquet"]);
    assert!(!again.status.success());
    let said = text(&again);
    assert!(
        said.contains("out.parquet") && said.contains("row 1: "),
        "{said}"
    );
    // A column of another type.
    fs::write(at.join("other.csv"), "id,name\n1,2\n").expect("written");
    let create = ["--create", "--key", "id"];
    done(
        at,
        &[&["import", "db.sdx", "other", "other.csv"][..], &create].concat(),
    );
    let unfit = sardonyx(at, &["import", "db.sdx", "other", "out.arrow"]);
    assert!(!unfit.status.success());
    let said = text(&unfit);
    assert!(
        said.contains("out.arrow")
            && said.contains("column \"name\" is Utf8 in the file, and i64 in the table"),
        "{said}"
    );
    assert!(
        !sardonyx(at, &["export", "db.sdx", "people", "out.csv"])
            .status
            .success(),
        "it is there"
    );
}

#[test]
fn bad_lines_stop_an_import_or_are_left_out() {
    let directory = with_people();
    let at = directory.path();
    fs::write(
        at.join("more.csv"),
        "id,name\n4,Emmy\nfive,Five\n1,Ada again\n6,Mary\n",
    )
    .expect("written");

    let stopped = sardonyx(at, &["import", "db.sdx", "people", "more.csv"]);
    assert!(!stopped.status.success());
    assert!(
        text(&stopped)
            .contains("line 3, column \"id\": invalid input syntax for type bigint: \"five\""),
        "{}",
        text(&stopped)
    );
    let count = || {
        done(at, &["rows", "db.sdx", "people", "--json"])
            .lines()
            .count()
    };
    assert_eq!(count(), 3, "its batch was not inserted");

    let skipped = sardonyx(
        at,
        &[
            "import",
            "db.sdx",
            "people",
            "more.csv",
            "--on-error",
            "skip",
            "--json",
        ],
    );
    assert_eq!(skipped.status.code(), Some(1));
    let said = text(&skipped);
    assert!(
        said.contains("\"rows\": 2")
            && said.contains("\"bad_lines\": 2")
            && said.contains("line 4"),
        "{said}"
    );
    assert_eq!(count(), 5);

    for wrong in [
        &["rows", "db.sdx", "nobody"][..],
        &["rows", "db.sdx", "people", "--where", "id ="],
        &["rows", "db.sdx", "people", "--where", "id < random()"],
        &["rows", "db.sdx", "people", "--where", "id in (select 1)"],
        &["rows", "db.sdx", "people", "--columns", "nobody"],
        &["import", "db.sdx", "people", "absent.csv"],
        &["import", "db.sdx", "people", "more.unknown"],
    ] {
        assert!(!sardonyx(at, wrong).status.success(), "{wrong:?}");
    }
}

#[test]
fn rows_are_shown_beside_a_program_that_has_the_database_open() {
    let directory = with_people();
    let at = directory.path();
    let tables = sardonyx::Tables::open(at.join("db.sdx")).expect("a database");
    tables
        .run(|tx| {
            tx.rows("people")?
                .insert(&[("id", 9.into()), ("name", "Emmy".into())])
        })
        .expect("inserted");
    let rows = done(at, &["rows", "db.sdx", "people", "--where", "id = 9"]);
    assert!(rows.contains("Emmy"), "{rows}");
}

#[test]
fn sql_says_what_references_refer_to() {
    use sardonyx::schema::{Schema, Type};
    let directory = tempfile::tempdir().expect("a directory");
    let tables = sardonyx::Tables::open(directory.path().join("db.sdx")).expect("a database");
    let user = Schema::new()
        .column("id", Type::U64)
        .column("name", Type::Text)
        .primary_key(["id"])
        .index("by_name", ["name"])
        .unique();
    let order = Schema::new()
        .column("id", Type::U64)
        .column("name", Type::Text)
        .primary_key(["id"])
        .foreign_key("of_user", ["name"], "user", ["name"]);
    let created = tables.run(|tx| {
        tx.create_table("user", user.clone())?;
        tx.create_table("order", order.clone())
    });
    created.expect("created");
    tables.close().expect("closed");
    let sql = done(directory.path(), &["schema", "db.sdx"]);
    let reference = "FOREIGN KEY (name) REFERENCES \"user\"(name);";
    assert!(
        sql.contains("CREATE TABLE \"order\" (") && sql.contains(reference),
        "{sql}"
    );
}
