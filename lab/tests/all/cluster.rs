//! `sardonyx-lab cluster`, `node` and `trace record` as their users run them: real processes, their output, their exit
//! codes.

use crate::common::{json, run};
use serde_json::Value;
use std::process::Command;

/// A small bank.
const SMALL: [&str; 4] = ["--nodes", "2", "--accounts-per-branch", "20"];

#[test]
fn nodes_are_started_killed_drained_and_started_again() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().join("nodes");
    let directory = ["--directory", place.to_str().unwrap()];
    let call = |verb: &[&str]| json(&[&["cluster"], verb, &directory].concat());
    let up = call(&[&["up"], &SMALL[..]].concat());
    assert_eq!(up["nodes"], serde_json::json!([0, 1]));
    let bench = call(&["bench", "--transactions", "120", "--routing", "random"]);
    assert_eq!(bench["holds"], true);
    assert_eq!(bench["all"]["counts"]["committed"], 120);
    call(&["kill", "1"]);
    let status = call(&["status"]);
    assert_eq!(status["nodes"][1], Value::Null);
    assert_eq!(status["nodes"][0]["counts"]["committed"], 60);
    let bench = call(&["bench", "--transactions", "60"]);
    assert_eq!(
        (&bench["holds"], &bench["sums"]["transactions"]),
        (&true.into(), &180.into())
    );
    let (_, said) = run(2, &["cluster", "kill", "1", directory[0], directory[1]]);
    assert!(said.contains("node 1 does not run"), "{said}");
    assert_eq!(call(&["up"])["nodes"], serde_json::json!([1]));
    // After a signal a node leaves in order, too.
    let process = call(&["status"])["nodes"][0]["process"].to_string();
    assert!(
        Command::new("kill")
            .arg(&process)
            .status()
            .unwrap()
            .success()
    );
    while call(&["status"])["nodes"][0] != Value::Null {}
    assert_eq!(call(&["down"])["nodes"], serde_json::json!([1]));
}

#[test]
fn loosely_coupled_nodes_and_their_page_server_are_started_loaded_killed_and_drained() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().join("nodes");
    let directory = ["--directory", place.to_str().unwrap()];
    let call = |verb: &[&str]| json(&[&["cluster"], verb, &directory].concat());
    let up = call(&[&["up", "--coupling", "loose"], &SMALL[..]].concat());
    assert_eq!(up["nodes"], serde_json::json!([0, 1]));
    let bench = call(&["bench", "--transactions", "120", "--routing", "random"]);
    assert_eq!(bench["holds"], true);
    assert_eq!(bench["all"]["counts"]["committed"], 120);
    call(&["kill", "1"]);
    let status = call(&["status"]);
    assert_eq!(status["nodes"][1], Value::Null);
    assert!(status["page_server"]["process"].is_u64(), "{status}");
    let (table, _) = run(0, &["cluster", "status", directory[0], directory[1]]);
    assert!(table.contains("loosely coupled") && table.contains("page server"));
    let (table, _) = run(
        0,
        &[
            &["cluster", "bench", "--transactions", "60"],
            &directory[..],
        ]
        .concat(),
    );
    assert!(
        table.contains("equal; each transaction is in HISTORY (180)"),
        "{table}"
    );
    assert_eq!(call(&["up"])["nodes"], serde_json::json!([1]));
    assert_eq!(call(&["drain", "0"])["nodes"], serde_json::json!([0]));
    assert_eq!(call(&["down"])["nodes"], serde_json::json!([1]));
    assert_eq!(call(&["status"])["page_server"], Value::Null);
}

#[test]
fn what_nodes_did_is_recorded_routed_and_run() {
    let place = tempfile::tempdir().unwrap();
    let (trace, routing) = (place.path().join("a.trace"), place.path().join("a.toml"));
    let (trace, routing) = (trace.to_str().unwrap(), routing.to_str().unwrap());
    let record = [
        &["trace", "record"],
        &SMALL[..],
        &["-o", trace, "--transactions", "400"],
    ]
    .concat();
    assert_eq!(json(&record)["transactions"], 400);
    let routed = json(&["trace", "route", trace, "--nodes", "2", "-o", routing]);
    let share = |of: &str| routed[of]["local_share"].as_f64().unwrap();
    assert!(share("affinity") > share("random"), "{routed}");
    let bench = [
        &["cluster", "bench"],
        &SMALL[..],
        &["--transactions", "200", "--routing", routing],
    ];
    let bench = bench.concat();
    for coupling in ["close", "loose"] {
        let bench = json(&[&bench[..], &["--coupling", coupling]].concat());
        assert_eq!(
            (&bench["holds"], &bench["all"]["counts"]["committed"]),
            (&true.into(), &200.into())
        );
        if coupling == "loose" {
            // The file's authorities are the nodes'.
            assert!(bench["setting"]["authority"]["tables"]["text"].is_string());
            let local = bench["all"]["each"]["local_share"].as_f64().unwrap();
            assert!(local > share("random"), "{local} {routed}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_sentence() {
    for (arguments, sentence) in [
        (
            &["cluster", "bench", "--authority", "random"][..],
            "add --coupling loose",
        ),
        (
            &[
                "cluster",
                "bench",
                "--coupling",
                "loose",
                "--authority",
                "nowhere.toml",
            ],
            "--authority is affinity, random, or a file",
        ),
        (
            &["cluster", "bench", "--nodes", "64"],
            "a number of nodes of 64 is not possible",
        ),
        (
            &["cluster", "bench", "--clients", "400"],
            "a number of clients of 400",
        ),
        (
            &["cluster", "bench", "--routing", "nowhere.toml"],
            "--routing is affinity, random, or a file",
        ),
        (
            &["cluster", "status", "--directory", "nowhere"],
            "start some with `cluster up`",
        ),
        (&["cluster", "compare", "--all"], "--output DIR"),
        (
            &["cluster", "bench", "--tls", "nowhere"],
            "--coupling loose, or leave --tls and --etcd out",
        ),
        (
            &[
                "cluster",
                "bench",
                "--coupling",
                "loose",
                "--tls",
                "nowhere",
            ],
            "nowhere/ca.pem cannot be read",
        ),
        (
            &[
                "cluster",
                "bench",
                "--coupling",
                "loose",
                "--etcd",
                "https://127.0.0.1:1",
            ],
            "an endpoint of etcd of https://127.0.0.1:1 is not possible",
        ),
        (
            &["node", "nowhere", "--slot", "0"],
            "start some with `cluster up`",
        ),
    ] {
        let (_, said) = run(2, arguments);
        assert!(said.contains(sentence), "{arguments:?}: {said}");
    }
}
