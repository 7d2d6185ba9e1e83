//! `sardonyx-lab trace` as its users run it: a real process, its files, its output, its exit codes.

use serde_json::Value;
use std::path::{Path, PathBuf};

fn run(code: i32, arguments: &[&str]) -> (String, String) {
    crate::common::run(code, &[&["trace"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    crate::common::json(&[&["trace"], arguments].concat())
}

/// A directory, and the names of files in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }
}

const SMALL: &str = "sardonyx-trace 1
page-bytes 4096
type look
type change
partition hot 10
partition cold 1000
transaction look
r hot 1 1 1
r cold 7
transaction change
r hot 1 2
w hot 2
w cold 8
end
";

fn small(place: &Place) -> String {
    std::fs::write(place.path("small.txt"), SMALL).unwrap();
    place.name("small.txt")
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn a_generated_trace_has_the_published_statistics_and_replays() {
    let place = Place::new();
    let (one, other, text) = (place.name("one"), place.name("other"), place.name("third"));
    let made = json(&["generate", "--seed", "3", "-o", &one]);
    run(0, &["generate", "--seed", "3", "-o", &other]);
    run(0, &["generate", "--seed", "3", "--text", "-o", &text]);
    assert_eq!(read(&place.path("one")), read(&place.path("other")));
    assert_eq!(made["bytes"], read(&place.path("one")).len());
    assert!(read(&place.path("third")).starts_with(b"sardonyx-trace 1\n"));
    let statistics = json(&["stats", &one]);
    for figure in ["transactions", "accesses", "distinct_pages", "largest"] {
        assert_eq!(statistics[figure], made["statistics"][figure], "{figure}");
    }
    assert!(statistics["transactions"].as_u64().unwrap() > 17_500);
    assert!(statistics["largest"].as_u64().unwrap() > 11_000);
    assert_eq!(statistics["types"].as_array().unwrap().len(), 12);
    assert_eq!(statistics["partitions"].as_array().unwrap().len(), 13);
    assert_eq!(json(&["stats", &text])["types"], statistics["types"]);
    assert_eq!(place.files(), ["one", "other", "third"]);
}

#[test]
fn stats_prints_tables() {
    let place = Place::new();
    let (printed, said) = run(0, &["stats", &small(&place)]);
    assert_eq!(said, "");
    let types = "type    transactions  updates  accesses  writes  a transaction  \
                 locks a transaction  largest";
    let change = "change             1        1         4       2            4.0  \
                  \x20               3.0        4";
    for line in [
        types,
        change,
        "Transactions",
        "  transactions             2        of 2 types",
        "  updates                  1        50.00% of the transactions",
        "  accesses                 8        4.0 a transaction",
        "  writes                   2        25.00% of the accesses",
        "file  pages  accessed  accesses  writes  to hottest 1%  to hottest 10%",
        "hot      10         2         6       1         66.67%          66.67%",
    ] {
        assert!(
            printed.lines().any(|printed| printed == line),
            "{line}\n{printed}"
        );
    }
}

#[test]
fn a_trace_converts_there_and_back() {
    let place = Place::new();
    let source = small(&place);
    let (binary, back) = (place.name("a.trace"), place.name("b.txt"));
    let report = json(&["convert", &source, &binary]);
    assert_eq!(
        (&report["transactions"], &report["references"]),
        (&2.into(), &8.into())
    );
    run(0, &["convert", &binary, &back]);
    let text = String::from_utf8(read(&place.path("b.txt"))).unwrap();
    let body = SMALL.strip_suffix("end\n").unwrap();
    assert!(text.starts_with(&format!("{body}end 2 8 ")), "{text}");
    // The form by --to, over an existing file.
    let said = run(2, &["convert", &source, &back, "--to", "binary"]).1;
    assert!(
        said.contains("exists already: --force replaces it"),
        "{said}"
    );
    run(0, &["convert", &source, &back, "--to", "binary", "--force"]);
    assert_eq!(read(&place.path("b.txt")), read(&place.path("a.trace")));
    // In place.
    run(0, &["convert", &binary, &binary, "--force"]);
    assert_eq!(read(&place.path("b.txt")), read(&place.path("a.trace")));
    let said = run(2, &["convert", &source, &place.name("c.dat")]).1;
    assert!(said.contains("say --to text or --to binary"), "{said}");
    assert_eq!(place.files(), ["a.trace", "b.txt", "small.txt"]);
}

#[test]
fn damage_is_found_and_leaves_no_file() {
    let place = Place::new();
    let binary = place.name("a.trace");
    run(0, &["convert", &small(&place), &binary]);
    let mut bytes = read(&place.path("a.trace"));
    bytes[30] ^= 4;
    std::fs::write(place.path("a.trace"), bytes).unwrap();
    let target = place.name("b.txt");
    for arguments in [
        &["stats", &binary][..],
        &["convert", &binary, &target],
        &["route", &binary, "--nodes", "2", "-o", &target],
    ] {
        let (printed, said) = run(1, arguments);
        assert_eq!(printed, "");
        assert!(
            said.contains("a.trace, at byte 12: the checksum is"),
            "{said}"
        );
    }
    std::fs::write(
        place.path("c.txt"),
        SMALL.replace("w cold 8", "w cold 1000"),
    )
    .unwrap();
    let said = run(1, &["convert", &place.name("c.txt"), &target]).1;
    let expected = "c.txt, in line 13: page 1000 of partition \"cold\" does not exist";
    assert!(said.contains(expected), "{said}");
    assert_eq!(place.files(), ["a.trace", "c.txt", "small.txt"]);
}

#[test]
fn what_is_no_trace_is_wrong_usage() {
    let place = Place::new();
    std::fs::write(place.path("x"), "hello").unwrap();
    for (name, expected) in [
        ("x", "this is no trace"),
        ("y", "does not exist: no trace to read"),
        (".", "is a directory, not a trace"),
    ] {
        let said = run(2, &["stats", &place.name(name)]).1;
        assert!(said.contains(expected), "{said}");
    }
    run(2, &["route", &place.name("x"), "--nodes", "0"]);
    run(2, &["route", &place.name("x"), "--nodes", "1001"]);
}

#[test]
fn route_writes_tables_and_what_they_are_worth() {
    let place = Place::new();
    let source = small(&place);
    let tables = place.name("routing.toml");
    let report = json(&["route", &source, "--nodes", "2", "-o", &tables]);
    assert_eq!(report["random"]["expected"]["local_share"], 0.5);
    let affinity = report["affinity"]["local_share"].as_f64().unwrap();
    // Five locks, one page of them common to both types.
    assert!(affinity >= 0.8, "{report}");
    assert_eq!(report["routing"].as_array().unwrap().len(), 2);
    let text = String::from_utf8(read(&place.path("routing.toml"))).unwrap();
    assert!(
        text.contains("format = \"sardonyx-routing-1\"\nnodes = 2\n"),
        "{text}"
    );
    let trace = sardonyx_workload::trace::Trace::read(SMALL.as_bytes(), "small").unwrap();
    sardonyx_workload::routing::Tables::from_toml(&text, &tables, trace.header()).unwrap();
    let (printed, _) = run(0, &["route", &source, "--nodes", "2"]);
    assert!(printed.starts_with("local lock requests"), "{printed}");
    assert_eq!(place.files(), ["routing.toml", "small.txt"]);
}
