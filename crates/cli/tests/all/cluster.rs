//! `sardonyx cluster` and `node` as their users run them: real processes, their output, their exit codes. The loads are
//! those of `sardonyx-lab`.

use crate::common::{json, run};
use serde_json::Value;
use std::process::Command;

#[test]
fn nodes_are_started_killed_drained_and_started_again() {
    for coupling in ["close", "loose"] {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().join("nodes");
        let directory = ["--directory", place.to_str().unwrap()];
        let call = |verb: &[&str]| json(&[&["cluster"], verb, &directory].concat());
        let small = ["--nodes", "2", "--accounts-per-branch", "20"];
        let up = call(&[&["up", "--coupling", coupling], &small[..]].concat());
        assert_eq!(up["nodes"], serde_json::json!([0, 1]));
        call(&["kill", "1"]);
        let status = call(&["status"]);
        assert_eq!(status["nodes"][1], Value::Null);
        assert!(status["nodes"][0]["process"].is_u64(), "{status}");
        let (_, said) = run(2, &["cluster", "kill", "1", directory[0], directory[1]]);
        assert!(said.contains("node 1 does not run"), "{said}");
        assert_eq!(call(&["up"])["nodes"], serde_json::json!([1]));
        // After a signal a node leaves in order, too.
        let process = status["nodes"][0]["process"].to_string();
        let killed = Command::new("kill").arg(&process).status().unwrap();
        assert!(killed.success());
        while call(&["status"])["nodes"][0] != Value::Null {}
        assert_eq!(call(&["drain", "1"])["nodes"], serde_json::json!([1]));
        if coupling == "loose" {
            // The page server alone is killed, started and drained, and each is reported.
            let call = |verb: &[&str]| run(0, &[&["cluster"], verb, &directory].concat()).0;
            assert!(call(&["kill", "2"]).ends_with(": the page server\n"));
            assert!(call(&["up"]).ends_with(": the page server, node 0, 1\n"));
            call(&["kill", "2"]);
            assert!(call(&["up"]).ends_with(": the page server\n"));
            call(&["drain", "0"]);
            call(&["drain", "1"]);
        }
        let down = call(&["down"]);
        let server = coupling == "loose";
        assert_eq!(
            (&down["nodes"], &down["page_server"]),
            (&serde_json::json!([]), &server.into())
        );
    }
}

#[test]
fn a_load_is_refused_since_it_is_another_programs() {
    let (_, said) = run(2, &["cluster", "bench"]);
    assert!(said.contains("unrecognized subcommand 'bench'"), "{said}");
    let help = run(0, &["cluster", "--help"]).0;
    // Its lines are as wide as the terminal.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("`sardonyx-lab cluster`"), "{help}");
}
