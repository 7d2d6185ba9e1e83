//! The command as its users run it: a real process, its output, its exit codes.

use serde_json::Value;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn sardonyx(arguments: &[&str]) -> Output {
    Command::new(crate::PROGRAM)
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs the command, which must end with `code`; returns its output.
fn run(code: i32, arguments: &[&str]) -> String {
    let (printed, said) = crate::common::ended(code, arguments, &sardonyx(arguments));
    assert!(
        !printed.contains('\x1b') && !said.contains('\x1b'),
        "no colour when not a terminal"
    );
    printed
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&run(0, arguments)).unwrap()
}

/// A kept database of a small run, and its report.
fn bank(directory: &Path, more: &[&str]) -> (PathBuf, Value) {
    let path = directory.join("bank.sdx");
    let mut arguments = vec!["debit-credit", "--json", "--keep", "--accounts", "2000"];
    arguments.extend(["--transactions", "3000", "--batch", "100"]);
    arguments.extend([
        "--log-bytes",
        "32MiB",
        "--directory",
        path.to_str().unwrap(),
    ]);
    arguments.extend(more);
    let report = json(&arguments);
    (path, report)
}

#[test]
fn debit_credit_proves_its_outcome_in_every_configuration() {
    let configurations = [
        ["--configuration", "a"].as_slice(),
        &["--configuration", "b", "--input-threads", "2"],
        &["--configuration", "a", "--clients", "3"],
        &["--configuration", "c"],
        &[
            "--configuration",
            "b",
            "--transactions-per-group",
            "50",
            "--time-per-group",
            "2ms",
        ],
    ];
    for more in configurations {
        let directory = tempfile::tempdir().unwrap();
        let (_, report) = bank(directory.path(), more);
        let run = &report["runs"][0];
        assert_eq!(run["committed"], 3000, "{more:?}");
        assert_eq!(run["proof"]["holds"], true, "{more:?}");
        assert_eq!(run["proof"]["rows"], 3000, "{more:?}");
        let sums = &run["proof"]["sums"];
        for table in ["tellers", "branches", "history"] {
            assert_eq!(sums["accounts"], sums[table], "{more:?}");
        }
        assert!(run["log"]["record_bytes_per_transaction"].as_f64().unwrap() <= 120.0);
        assert!(report["sync_latency"]["idle"]["median_microseconds"].is_number());
    }
}

#[test]
fn the_other_host_of_a_benchmark_has_a_database_with_all_checkpoints() {
    let directory = tempfile::tempdir().unwrap();
    let (path, report) = bank(directory.path(), &["--configuration", "c"]);
    let run_of = &report["runs"][0];
    assert_eq!(run_of["memory"]["copy_bytes"], 0);
    assert_eq!(run_of["proof"]["holds"], true);
    let other = &run_of["other_host"];
    assert!(other["lag_groups"].is_number());
    assert!(other["sent_groups"].as_u64().unwrap() > 0);
    let copy = path.with_extension("follower.sdx");
    let copy = copy.to_str().unwrap();
    assert_eq!(json(&["verify", copy, "--json"])["sound"], true);
    let (here, there) = (path.to_str().unwrap(), copy);
    let identity = |path| json(&["inspect", path, "--json"])["manifest"]["identity"].clone();
    assert_eq!(identity(here), identity(there));
    let store = format!("file:{}", path.with_extension("store").display());
    run(0, &["store", "verify", &store]);
}

#[test]
fn a_standby_is_refused_by_its_name() {
    for verb in ["standby", "checkpointer"] {
        let given = [verb, "--listen", "0.0.0.0:7070", "standby.sdx"];
        let (_, said) = crate::common::run(2, &given);
        assert!(
            said.contains("store serve") && said.contains("store follow"),
            "{said}"
        );
        assert!(!std::path::Path::new("standby.sdx").exists());
    }
}

#[test]
fn the_same_seed_gives_the_same_sums() {
    let sums = |seed| {
        let directory = tempfile::tempdir().unwrap();
        let (_, report) = bank(directory.path(), &["--seed", seed]);
        report["runs"][0]["proof"]["sums"].clone()
    };
    assert_eq!(sums("5"), sums("5"));
    assert_ne!(sums("5"), sums("6"));
}

#[test]
fn closures_one_at_a_time_are_proved_too() {
    for durability in ["durable", "deferred"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bank.sdx");
        let report = json(&[
            "debit-credit",
            "--json",
            "--one-at-a-time",
            "--durability",
            durability,
            "--accounts",
            "1000",
            "--transactions",
            "200",
            "--clients",
            "2",
            "--log-bytes",
            "32MiB",
            "--directory",
            path.to_str().unwrap(),
        ]);
        assert_eq!(report["runs"][0]["proof"]["holds"], true);
        assert!(!path.exists(), "removed unless kept");
    }
}

#[test]
fn a_kept_database_can_be_looked_into() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = bank(directory.path(), &[]);
    let path = path.to_str().unwrap();

    assert_eq!(json(&["verify", path, "--json"])["sound"], true);
    assert!(run(0, &["verify", path]).contains("Sound"));

    let inspected = json(&["inspect", path, "--json"]);
    assert_eq!(inspected["manifest"]["stripes"], 1);
    assert!(inspected["log"]["transactions"].as_u64().unwrap() >= 3000);
    assert!(run(0, &["inspect", path]).contains("identity"));

    let dry = json(&["recover", path, "--dry-run", "--json"]);
    assert!(dry.to_string().contains("redo_transactions"), "{dry}");

    // The rows of all accounts together are the history.
    let rows = |account: u64| {
        let account = account.to_string();
        let answer = run(0, &["history", path, "--account", &account]);
        answer.lines().count()
    };
    assert!((1..=20).map(rows).sum::<usize>() > 20);
    run(2, &["history", path, "--account", "99999999"]);

    let taken = json(&["checkpoint", path, "--json"]);
    assert!(!taken.is_null());
    let after = json(&["recover", path, "--json"]).to_string();
    assert!(after.contains("\"redo_transactions\":0"), "{after}");
    assert_eq!(json(&["verify", path, "--json"])["sound"], true);
}

/// Inverts the 16 bytes at `offset`, so that they differ in any case.
fn overwrite(file: &Path, offset: u64) {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).open(file).unwrap();
    let mut bytes = [0; 16];
    file.read_exact_at(&mut bytes, offset).unwrap();
    file.write_all_at(&bytes.map(|byte| !byte), offset).unwrap();
}

#[test]
fn damage_is_found_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let (path, report) = bank(directory.path(), &[]);
    let text_of = path.to_str().unwrap();
    let recovery = &report["runs"][0]["recovery"];
    let lsn = |name: &str| recovery[name].as_u64().unwrap();
    // In the middle of the log that the next recovery needs; later groups knew it durable. A group's last block ends in
    // padding, which no checksum covers: the beginning of a block is never padding.
    let middle = (lsn("redo_from_lsn") + lsn("redo_to_lsn")) / 2 / 4096 * 4096;
    overwrite(&path.join("log/0000000000000000.log"), middle);
    for verb in ["verify", "recover"] {
        let output = sardonyx(&[verb, text_of]);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{verb}: {said}");
        assert!(said.contains("0000000000000000.log"), "{verb}: {said}");
        assert!(!said.contains("panicked"), "{verb}: {said}");
    }
}

#[test]
fn what_a_crash_may_tear_is_told_from_damage() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = bank(directory.path(), &[]);
    // The only version of the only block; but the log reaches back to the beginning.
    overwrite(&path.join("backup/stripe-000"), 5000);
    let found = run(0, &["verify", path.to_str().unwrap()]);
    assert!(
        found.contains("leftover") && found.contains("stripe-000"),
        "{found}"
    );
    assert_eq!(
        json(&["recover", path.to_str().unwrap(), "--json"])["recovery"]["damaged_slots"],
        1
    );
}

#[test]
fn a_database_that_is_open_elsewhere_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("held.sdx");
    let database = sardonyx::Options::new().open_tables(&path).unwrap();
    let text_of = path.to_str().unwrap();
    // (Read-only verbs run meanwhile: `manners.rs`.)
    for verb in ["recover", "checkpoint"] {
        let output = sardonyx(&[verb, text_of]);
        assert_eq!(output.status.code(), Some(3), "{verb}");
        let said = text(&output.stderr);
        assert!(
            said.contains("LOCK") && said.contains("open already; if a server has it, connect"),
            "{said}"
        );
    }
    database.close().unwrap();
    run(0, &["verify", text_of]);
}

#[test]
fn wrong_usage_is_told_from_failure() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().to_str().unwrap();
    run(2, &["verify", "/nonexistent/bank.sdx"]);
    run(2, &["verify", here]);
    run(2, &["nonsense"]);
    // A verb of the other program.
    run(2, &["page-touch"]);
    run(2, &["simulate"]);
    run(2, &["debit-credit", "--directory", here]);
    run(2, &["debit-credit", "--accounts", "3", "--branches", "4"]);
    // If an exit code has a meaning of the verb's own, its help names it.
    for (verb, code) in [
        ("verify", "1"),
        ("inspect", "1"),
        ("sql", "4"),
        ("serve", "5"),
    ] {
        let help = run(0, &[verb, "--help"]);
        assert!(
            help.contains(&format!("Exit code {code}")),
            "{verb}: {help}"
        );
    }
    let help = run(0, &["--help"]);
    let at = |text: &str| {
        help.find(text)
            .unwrap_or_else(|| panic!("{text} in {help}"))
    };
    let order = [
        "Serve",
        "Look",
        "Move data",
        "Keep safe",
        "Several hosts",
        "  store",
        "Measure",
        "  debit-credit",
        "  history",
        "Exit codes",
    ];
    assert!(order.map(at).is_sorted(), "{help}");
    assert!(!help.contains("standby"), "{help}");
    assert!(run(0, &["--version"]).starts_with("sardonyx "));
}

#[test]
#[cfg(not(feature = "otlp"))]
fn who_wants_spans_of_a_command_without_them_is_told_how_to_build_it() {
    let endpoint = ["--otlp-endpoint", "http://127.0.0.1:4318"];
    let output = sardonyx(&[&["serve", "/nowhere/at/all.sdx"], &endpoint[..]].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--features otlp"), "{said}");
}

#[test]
fn documents_have_the_exit_codes_of_the_program() {
    let page = include_str!("../../../../docs/commands.md");
    for (exit, meaning) in sardonyx_command::exit::EXIT_CODES {
        let row = format!("| {} | {meaning}", exit.code());
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn bash_completes_verbs_and_options() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("sardonyx.bash");
    std::fs::write(&script, run(0, &["completions", "bash"])).unwrap();
    // As bash does: the words of the line, and the number of the one to complete.
    let completed = |words: &[&str]| {
        let last = words.len() - 1;
        let line = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={last}; \
             _sardonyx sardonyx '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.join(" "),
            words[last],
            words[last - 1]
        );
        let output = Command::new("bash").args(["-c", &line]).output();
        let output = output.expect("bash");
        text(&output.stdout) + &text(&output.stderr)
    };
    assert_eq!(completed(&["sardonyx", "chan"]), "changes\n");
    assert_eq!(completed(&["sardonyx", "verify", "--wa"]), "--wait\n");
    assert_eq!(completed(&["sardonyx", "store", "clon"]), "clone\n");
}

#[test]
fn manual_pages_are_written_for_every_verb() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man1");
    let written = json(&["man", pages.to_str().unwrap(), "--json"]);
    let files = written["files"].as_array().unwrap();
    for name in ["sardonyx.1", "sardonyx-serve.1", "sardonyx-store-follow.1"] {
        assert!(files.iter().any(|file| file == name), "{name}");
        let page = std::fs::read_to_string(pages.join(name)).unwrap();
        for section in ["SYNOPSIS", "EXAMPLES", "OPTIONS", "\"EXIT STATUS\""] {
            assert!(
                page.contains(&format!(".SH {section}\n")),
                "{name}: {section}"
            );
        }
    }
}
