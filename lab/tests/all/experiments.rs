//! The experiments on mapped memory as their users run them: a real process, its processes, its output, its exit codes.

use crate::common::run;
use crate::path;
use serde_json::Value;
use std::path::Path;

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&run(0, arguments).0).unwrap()
}

const QUICK_TOUCH: [&str; 7] = [
    "page-touch",
    "--pages",
    "8",
    "--repetitions",
    "4",
    "--snapshot-bytes",
    "1MiB",
];

#[test]
fn page_touch_measures_every_mechanism_and_the_recipe_of_the_thesis() {
    let report = json(&[&QUICK_TOUCH[..], &["--json"]].concat());
    assert_eq!(report["durable"], false);
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4 * 2 * (5 + 4 + 3));
    for cell in cells {
        assert!(cell["per_page"]["median_nanoseconds"].as_f64().unwrap() > 0.0);
        assert_eq!(cell["repetitions"], 4);
    }
    let of = |subject: &str| {
        cells
            .iter()
            .filter(|cell| cell["subject"] == subject)
            .count()
    };
    assert_eq!((of("explicit"), of("libxac"), of("signal")), (8, 16, 24));
    assert_eq!(report["models"].as_array().unwrap().len(), 5 * 2);
    assert!(report["models"][1]["c_nanoseconds"].is_number());
    assert!(report["decomposition"]["mmap_nanoseconds"].is_number());
    assert_eq!(report["snapshot"]["bytes"], 1 << 20);
    assert!(report["sync_latency"].is_null());
}

#[test]
fn page_touch_prints_tables_and_writes_files() {
    let directory = tempfile::tempdir().unwrap();
    let files = path(directory.path(), "files");
    let (printed, _) = run(0, &[&QUICK_TOUCH[..], &["--output", &files]].concat());
    for heading in [
        "read n pages, each announced",
        "aR + bW + c",
        "Tables 4.3 to 4.5",
        "Table 4.6",
        "A read-only snapshot of 1.0 MiB",
    ] {
        assert!(printed.contains(heading), "{heading} in {printed}");
    }
    let read = |name: &str| std::fs::read_to_string(directory.path().join("files").join(name));
    let csv = read("page-touch.csv").unwrap();
    assert_eq!(csv.lines().count(), 1 + 4 * 2 * (5 + 4 + 3));
    assert!(csv.starts_with("mechanism,access,advice,pages,"));
    assert!(read("page-touch.svg").unwrap().starts_with("<svg"));
    for name in ["revisits", "model", "steps", "estimates", "snapshot"] {
        assert!(
            read(&format!("{name}.csv")).unwrap().lines().count() > 1,
            "{name}"
        );
    }
}

#[test]
fn durable_page_touch_has_no_recipe_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let place = path(directory.path(), "segments");
    let more = [
        "--json",
        "--durable",
        &place,
        "--mechanism",
        "explicit",
        "--mechanism",
        "libxac",
    ];
    let report = json(&[&QUICK_TOUCH[..], &more].concat());
    assert_eq!(report["durable"], true);
    assert!(report["sync_latency"]["idle"]["median_microseconds"].is_number());
    let cells = report["cells"].as_array().unwrap();
    assert!(!cells.is_empty() && cells.iter().all(|cell| cell["subject"] == "explicit"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    // An existing directory is not ours to remove.
    std::fs::create_dir(&place).unwrap();
    run(2, &[&QUICK_TOUCH[..], &more].concat());
    assert!(Path::new(&place).exists());
}

#[test]
fn concurrency_runs_each_test_by_processes_that_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let files = path(directory.path(), "files");
    let quick = [
        "concurrency",
        "--json",
        "--transactions",
        "60",
        "--runs",
        "2",
    ];
    let mechanisms = ["--mechanism", "asynchronous", "--mechanism", "signal"];
    let more = [
        "--mechanism",
        "explicit",
        "--processes",
        "1,3",
        "--output",
        &files,
    ];
    let report = json(&[&quick[..], &mechanisms, &more].concat());
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3 * 3 * 2);
    for row in rows {
        assert_eq!(row["transactions"], 60);
        assert_eq!(row["conflicts"], 0, "{row}");
        assert_eq!(row["runs_nanoseconds"].as_array().unwrap().len(), 2);
        assert_eq!(row["processes"] == 1, row["speedup"] == 1.0, "{row}");
    }
    let csv = std::fs::read_to_string(Path::new(&files).join("concurrency.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 3 * 3 * 2 * 2);
    assert!(Path::new(&files).join("concurrency.svg").exists());
}

#[test]
fn concurrency_is_durable_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let place = path(directory.path(), "segments");
    let quick = [
        "concurrency",
        "--json",
        "--transactions",
        "40",
        "--runs",
        "1",
        "--busy",
    ];
    let report = json(&[&quick[..], &["--test", "a", "--durable", &place]].concat());
    let processes = report["rows"].as_array().unwrap().iter();
    let processes = processes.map(|row| row["processes"].as_u64().unwrap());
    assert_eq!(processes.collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(
        (&report["durable"], &report["face"]),
        (&true.into(), &"busy".into())
    );
    assert!(report["sync_latency"]["busy"]["median_microseconds"].is_number());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn tree_inserts_share_a_tree_among_processes() {
    let directory = tempfile::tempdir().unwrap();
    let files = path(directory.path(), "files");
    let here = path(directory.path(), "");
    let quick = [
        "tree-inserts",
        "--json",
        "--inserts",
        "30",
        "--preload",
        "2000",
    ];
    let more = [
        "--processes",
        "1,2",
        "--directory",
        &here,
        "--output",
        &files,
    ];
    let report = json(&[&quick[..], &more].concat());
    let trees = report["engines"].as_array().unwrap();
    assert_eq!(trees.len(), 2);
    for tree in trees {
        for (cell, workers) in tree["cells"].as_array().unwrap().iter().zip([1, 2]) {
            assert_eq!(
                (&cell["workers"], &cell["inserts"]),
                (&workers.into(), &30.into())
            );
            assert!(cell["inserts_per_second"].as_f64().unwrap() > 0.0);
        }
    }
    let csv = std::fs::read_to_string(Path::new(&files).join("tree-inserts.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 2);
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        1,
        "only the files"
    );
}

#[test]
fn a_hot_object_is_what_was_acknowledged_under_each_way_of_locking() {
    let directory = tempfile::tempdir().unwrap();
    let files = path(directory.path(), "files");
    let here = path(directory.path(), "");
    let quick = ["hot-object", "--json", "--transactions", "20"];
    let more = [
        "--strategy",
        "ordered-log,s1",
        "--threads",
        "1,3",
        "--directory",
        &here,
        "--output",
        &files,
    ];
    let report = json(&[&quick[..], &more].concat());
    let series = report["series"].as_array().unwrap();
    assert_eq!(series.len(), 4 + 2);
    for series in series {
        for (cell, threads) in series["cells"].as_array().unwrap().iter().zip([1, 3]) {
            assert_eq!(
                (&cell["threads"], &cell["transactions"]),
                (&threads.into(), &(20 * threads).into())
            );
        }
    }
    let csv = std::fs::read_to_string(Path::new(&files).join("hot-object.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 6 * 2);
    let chart = std::fs::read_to_string(Path::new(&files).join("hot-object.svg")).unwrap();
    assert!(chart.starts_with("<svg") && chart.contains("exclusive locks"));
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        1,
        "only the files"
    );
}

#[test]
fn tpcc_is_consistent_before_and_after_recovery() {
    let directory = tempfile::tempdir().unwrap();
    let (shop, files) = (
        path(directory.path(), "shop.sdx"),
        path(directory.path(), "files"),
    );
    let quick = [
        "tpcc",
        "--small",
        "--warehouses",
        "2",
        "--transactions",
        "500",
    ];
    let places = ["--directory", &shop, "--output", &files];
    let report = json(&[&quick[..], &places, &["--json", "--batch", "50"]].concat());
    for when in ["consistency", "recovered"] {
        assert_eq!(report[when]["first"], serde_json::Value::Null);
        let violations = report[when]["violations"].as_array().unwrap();
        assert!(violations.len() == 12 && violations.iter().all(|count| *count == 0));
    }
    let kinds = report["kinds"].as_array().unwrap();
    let committed: u64 = kinds
        .iter()
        .map(|kind| kind["committed"].as_u64().unwrap())
        .sum();
    assert_eq!(committed + report["rolled_back"].as_u64().unwrap(), 500);
    let csv = std::fs::read_to_string(Path::new(&files).join("tpcc.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 5);
    assert!(!Path::new(&shop).exists());
}

#[test]
fn the_floor_is_an_experiment_with_every_form() {
    let directory = tempfile::tempdir().unwrap();
    let (here, files) = (path(directory.path(), ""), path(directory.path(), "files"));
    let quick = [
        "floor",
        "--accounts",
        "1000",
        "--seconds",
        "0",
        "--writes",
        "3",
    ];
    let report = json(&[&quick[..], &["--json", "--directory", &here]].concat());
    assert!(report["bare_pipeline"]["transactions_per_second"].is_number());
    let more = ["--directory", &here, "--output", &files];
    let (printed, _) = run(0, &[&quick[..], &more].concat());
    assert!(printed.contains("Durable writes"), "{printed}");
    assert!(printed.contains("written: "), "{printed}");
    let csv = std::fs::read_to_string(Path::new(&files).join("floor.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 4 + 6 + 2);
}

#[test]
fn what_cannot_work_is_wrong_usage() {
    for arguments in [
        &["page-touch", "--pages", "0"][..],
        &["page-touch", "--repetitions", "0"],
        &["concurrency", "--processes", "0"],
        &["concurrency", "--transactions", "1"],
        &["tree-inserts", "--value-bytes", "256"],
        &["tree-inserts", "--processes", "0"],
        &["tree-inserts", "--inserts", "1", "--processes", "2"],
        &["tree-inserts", "--seconds", "-1"],
        &["hot-object", "--threads", "0"],
        &["hot-object", "--cold-records", "1"],
        &["hot-object", "--transactions", "0"],
        &["tpcc", "--warehouses", "0"],
        &["tpcc", "--log-bytes", "1MiB"],
        &["ycsb", "--fields", "2"],
        &["ycsb", "--batch", "0"],
        &["floor", "--seconds", "-1"],
    ] {
        let (_, said) = run(2, arguments);
        assert!(!said.is_empty(), "{arguments:?}");
    }
    let help = run(0, &["--help"]).0;
    assert!(help.contains("page-touch") && !help.contains("experiment-worker"));
}
