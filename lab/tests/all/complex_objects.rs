//! The complex-object benchmark as its users run it: a real process, its output, its exit codes.

use crate::{common, path};
use serde_json::Value;
use std::path::Path;

fn run(code: i32, arguments: &[&str]) -> (String, String) {
    common::run(code, &[&["complex-objects"], arguments].concat())
}

/// Small, and without timed work.
const QUICK: [&str; 10] = [
    "--objects",
    "30",
    "--subobjects",
    "50",
    "--references",
    "10",
    "--access-time",
    "0us",
    "--transactions",
    "40",
];

#[test]
fn every_strategy_is_run_at_every_degree_of_multiprogramming() {
    let directory = tempfile::tempdir().unwrap();
    let (place, csv, svg) = (
        path(directory.path(), "objects.sdx"),
        path(directory.path(), "runs.csv"),
        path(directory.path(), "runs.svg"),
    );
    let more = ["--directory", &place, "--csv", &csv, "--svg", &svg];
    let (printed, _) = run(
        0,
        &[&QUICK[..], &["--dmp", "1,4", "--json"], &more].concat(),
    );
    let report: Value = serde_json::from_str(&printed).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4 * 2);
    for row in rows {
        assert_eq!(row["transactions"], 40);
        assert_eq!(row["operations"], 12);
        assert!(row["per_second"].as_f64().unwrap() > 0.0);
        assert!(row["response"]["p95_microseconds"].as_f64().unwrap() > 0.0);
    }
    let forces = |at: usize| rows[at]["forces"].as_f64().unwrap();
    // With one thread: once a transaction, and S2 also after each operation with a change.
    assert_eq!((forces(0), forces(2)), (1.0, 1.0));
    assert!(forces(1) > 6.0, "{}", forces(1));
    assert_eq!(report["values_verified"], (2 * 8 + 1) * 30 * 50);
    assert!(report["sync_latency"]["idle"]["median_microseconds"].is_number());
    assert!(!Path::new(&place).exists());
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 8);
    assert!(csv.starts_with("strategy,over,value,dmp,c,o,f,u_percent,"));
    let svg = std::fs::read_to_string(svg).unwrap();
    assert_eq!(svg.matches("class=\"title\"").count(), 6);
}

#[test]
fn figures_are_the_papers_and_people_get_tables() {
    let directory = tempfile::tempdir().unwrap();
    let place = path(directory.path(), "objects.sdx");
    let more = ["--directory", &place, "--figure", "10", "--dmp", "3"];
    let (printed, _) = run(0, &[&QUICK[..], &more].concat());
    assert!(printed.contains("c=12 o+f=10 u=20%, DMP 3"), "{printed}");
    let lines = |start: &str| {
        printed
            .lines()
            .filter(|line| line.starts_with(start))
            .count()
    };
    // The measures, and the comparison with S1; the paper leaves S2 out.
    assert_eq!((lines("S1 "), lines("S2/PS"), lines("S2 ")), (12, 12, 0));
    assert!(printed.contains("compared with what was committed: all right"));
}

/// Never one rule for deadlocks alone: all of them, beside the paper's number.
#[test]
fn the_rules_for_deadlocks_are_shown_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    let (place, csv, svg) = (
        path(directory.path(), "objects.sdx"),
        path(directory.path(), "runs.csv"),
        path(directory.path(), "runs.svg"),
    );
    let files = ["--directory", &place, "--csv", &csv, "--svg", &svg];
    let victims = ["--victims", "--restart-delays", "1ms,2ms"];
    let few = QUICK.map(|word| if word == "40" { "8" } else { word });
    let (printed, _) = run(0, &[&few[..], &victims, &files].concat());
    assert!(printed.contains("c=12 o=0 f=10 u=20%"), "{printed}");
    assert!(printed.contains("16 x the throughput"), "{printed}");
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 4 * 2 * 2);
    for rule in ["youngest", "oldest", "random", "requester"] {
        let lines = |text: &str| text.lines().filter(|line| line.contains(rule)).count();
        assert_eq!((lines(&printed), lines(&csv)), (4, 4), "{printed}");
    }
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.contains("DASDBS paper, rule not named"));
    run(2, &[&QUICK[..], &["--restart-delays", "1ms"]].concat());
}

#[test]
fn what_cannot_work_is_wrong_usage() {
    let directory = tempfile::tempdir().unwrap();
    let place = path(directory.path(), "objects.sdx");
    for (arguments, about) in [
        (&["--figure", "6"][..], "7..=10"),
        (&["--figure", "8", "--dmp", "1,2"], "one --dmp"),
        (&["--dmp", "0"], "degree of multiprogramming"),
        (&["--operations", "31"], "operations"),
        (&["--own", "0"], "accesses"),
        (&["--updates", "101"], "percent"),
        (&["--objects", "1"], "complex objects"),
        (&["--references", "1000"], "header"),
        (&["--foreign", "1", "--references", "0"], "foreign"),
        (&["--processors", "0"], "processors"),
        (&["--transactions", "0"], "measured"),
        (&["--strategies", "s3"], "s2-ps"),
        (&["--access-time", "soon"], "no unit of time"),
    ] {
        let mut all = QUICK.to_vec();
        // An option given twice is refused for that; so the quick setting is left out.
        for pair in QUICK.chunks(2).rev() {
            if arguments.contains(&pair[0]) {
                let at = all.iter().position(|one| *one == pair[0]).unwrap();
                all.drain(at..at + 2);
            }
        }
        let (_, said) = run(2, &[&all[..], &["--directory", &place], arguments].concat());
        assert!(said.contains(about), "{arguments:?}: {said}");
        assert!(!Path::new(&place).exists());
    }
    // An existing directory is not ours to remove.
    std::fs::create_dir(&place).unwrap();
    run(2, &[&QUICK[..], &["--directory", &place]].concat());
    assert!(Path::new(&place).exists());
}
