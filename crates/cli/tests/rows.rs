//! `import`, `export`, `rows`, `schema` and `inspect catalogue` on one database, as a user calls them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn sardonyx(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sardonyx"));
    command.current_dir(directory).args(arguments);
    command.output().expect("it runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[track_caller]
fn done(directory: &Path, arguments: &[&str]) -> String {
    let output = sardonyx(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

const PEOPLE: &str = "id,name,born,balance\n\
    1,Ada,1815-12-10,12.5\n\
    2,\"Hopper, Grace\",1906-12-09,-1.25\n\
    3,\"\",,\n";

#[test]
fn what_is_imported_is_shown_and_exported_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sardonyx::Tables::open(at.join("db.sdx"))
        .expect("a database")
        .close()
        .expect("closed");
    fs::write(at.join("people.csv"), PEOPLE).expect("written");
    done(
        at,
        &[
            "import",
            "db.sdx",
            "people",
            "people.csv",
            "--create",
            "--key",
            "id",
        ],
    );

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
        sql.contains("CREATE TABLE people (\n  id BIGINT NOT NULL,\n  name TEXT,"),
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

    for file in ["out.csv", "out.jsonl"] {
        done(at, &["export", "db.sdx", "people", file]);
        let again = file.replace("out.", "table_");
        done(
            at,
            &["import", "db.sdx", &again, file, "--create", "--key", "id"],
        );
        let second = format!("second.{}", file.rsplit('.').next().expect("an ending"));
        done(
            at,
            &[
                "export",
                "db.sdx",
                &again,
                &second,
                "--columns",
                "id,name,born,balance",
            ],
        );
        let lines = |file: &str| {
            let text = fs::read_to_string(at.join(file)).expect("written");
            let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(file), lines(&second));
    }
    assert!(
        !sardonyx(at, &["export", "db.sdx", "people", "out.csv"])
            .status
            .success(),
        "it is there"
    );
}

#[test]
fn bad_lines_stop_an_import_or_are_left_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sardonyx::Tables::open(at.join("db.sdx"))
        .expect("a database")
        .close()
        .expect("closed");
    fs::write(at.join("people.csv"), PEOPLE).expect("written");
    done(
        at,
        &["import", "db.sdx", "people", "people.csv", "--create"],
    );
    fs::write(
        at.join("more.csv"),
        "id,name\n4,Emmy\nfive,Five\n1,Ada again\n6,Mary\n",
    )
    .expect("written");

    let stopped = sardonyx(at, &["import", "db.sdx", "people", "more.csv"]);
    assert!(!stopped.status.success());
    assert!(
        text(&stopped).contains("line 3, column \"id\": \"five\" is not a value of type i64"),
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
        &["rows", "db.sdx", "people", "--columns", "nobody"],
        &["import", "db.sdx", "people", "absent.csv"],
        &["import", "db.sdx", "people", "more.unknown"],
    ] {
        assert!(!sardonyx(at, wrong).status.success(), "{wrong:?}");
    }
}

#[test]
fn rows_are_shown_beside_a_program_that_has_the_database_open() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    fs::write(at.join("people.csv"), PEOPLE).expect("written");
    sardonyx::Tables::open(at.join("db.sdx"))
        .expect("a database")
        .close()
        .expect("closed");
    done(
        at,
        &["import", "db.sdx", "people", "people.csv", "--create"],
    );
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
