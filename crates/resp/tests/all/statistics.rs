//! Statistics of commands: each is counted once, by its end; `EXEC`, scripts and refused commands, too; and times of commands.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use sardonyx_resp::Session;

fn say(session: &mut Session, line: &str) -> String {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    answers(&send(session, &encode(&words)).0).remove(0)
}

/// The lines of a section of `INFO`.
fn section(session: &mut Session, name: &str) -> Vec<String> {
    let text = say(session, &format!("INFO {name}"));
    let lines = text.trim_matches('"').split("\\r\\n");
    lines
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(str::to_string)
        .collect()
}

/// The counts of commands, without their times: `get 2 0 1` ran twice, was refused never, and failed once.
fn counts(session: &mut Session) -> Vec<String> {
    let number = |line: &str, name: &str| {
        let (_, rest) = line.split_once(name).expect("a field");
        rest.split(',').next().unwrap_or_default().to_string()
    };
    let told = |line: String| {
        let (name, _) = line.split_once(':').expect("a line");
        let name = name
            .strip_prefix("cmdstat_")
            .expect("a command")
            .to_string();
        let [calls, refused, failed] =
            ["calls=", "rejected_calls=", "failed_calls="].map(|name| number(&line, name));
        format!("{name} {calls} {refused} {failed}")
    };
    let lines = section(session, "commandstats");
    let told = lines.into_iter().map(told);
    told.filter(|line| !line.starts_with("info") && !line.starts_with("config"))
        .collect()
}

fn reset(session: &mut Session) {
    assert_eq!(say(session, "CONFIG RESETSTAT"), "+OK");
}

#[test]
fn each_command_is_counted_once_by_its_end() {
    let world = World::new(1);
    let mut session = world.session();
    say(&mut session, "SET text 1");
    reset(&mut session);
    for line in [
        "GET text",
        "LPUSH text a",
        "GET",
        "NOSUCH",
        "CLIENT ID",
        "CLIENT NOSUCH",
    ] {
        say(&mut session, line);
    }
    // A pipeline is one flight.
    let pipeline = [
        encode(&["GET", "text"]),
        encode(&["GET", "text"]),
        encode(&["PING"]),
    ];
    send(&mut session, &pipeline.concat());
    let wanted = [
        "client 0 1 0",
        "client|id 1 0 0",
        "get 3 1 0",
        "lpush 1 0 1",
        "ping 1 0 0",
    ];
    assert_eq!(counts(&mut session), wanted);
    let errors = ["errorstat_ERR:count=3", "errorstat_WRONGTYPE:count=1"];
    assert_eq!(section(&mut session, "errorstats"), errors);
    let stats = section(&mut session, "stats");
    assert!(
        stats.contains(&"total_error_replies:4".to_string()),
        "{stats:?}"
    );
    // Without a section's name, commands are left out.
    let usual = say(&mut session, "INFO");
    assert!(
        usual.contains("errorstat_ERR") && !usual.contains("cmdstat_"),
        "{usual}"
    );
    assert!(say(&mut session, "INFO everything").contains("cmdstat_get"));
    reset(&mut session);
    assert_eq!(counts(&mut session), Vec::<String>::new());
}

#[test]
fn commands_of_an_exec_are_counted_when_they_run() {
    let world = World::new(1);
    let mut session = world.session();
    reset(&mut session);
    for line in ["MULTI", "SET k 1", "LPUSH k a", "CLIENT ID"] {
        say(&mut session, line);
    }
    assert_eq!(counts(&mut world.session()), ["multi 1 0 0"]);
    say(&mut session, "EXEC");
    for line in ["MULTI", "SET k", "EXEC", "WATCH k"] {
        say(&mut session, line);
    }
    say(&mut world.session(), "SET k 2");
    for line in ["MULTI", "GET k", "EXEC"] {
        say(&mut session, line);
    }
    let wanted = [
        "client|id 1 0 0",
        "exec 3 0 1",
        "lpush 1 0 1",
        "multi 3 0 0",
        "set 2 1 0",
        "watch 1 0 0",
    ];
    assert_eq!(counts(&mut session), wanted);
    let errors = [
        "errorstat_ERR:count=1",
        "errorstat_EXECABORT:count=1",
        "errorstat_WRONGTYPE:count=1",
    ];
    assert_eq!(section(&mut session, "errorstats"), errors);
}

#[cfg(feature = "lua")]
#[test]
fn commands_of_a_script_are_counted() {
    let world = World::new(1);
    let mut session = world.session();
    reset(&mut session);
    let script =
        "redis.call('set', 'k', 1) redis.pcall('lpush', 'k', 1) return redis.call('get', 'k')";
    let answer = answers(&send(&mut session, &encode(&["EVAL", script, "0"])).0);
    assert_eq!(answer, ["\"1\""]);
    let wanted = ["eval 1 0 0", "get 1 0 0", "lpush 1 0 1", "set 1 0 0"];
    assert_eq!(counts(&mut session), wanted);
}

#[test]
fn times_of_commands_are_told_by_names() {
    let world = World::new(1);
    let mut session = world.session();
    reset(&mut session);
    for line in [
        "SET a 1",
        "SET b 2",
        "GET a",
        "CLIENT ID",
        "CLIENT GETNAME",
        "GET",
    ] {
        say(&mut session, line);
    }
    let mut told = |line: &str| say(&mut session, line);
    let set = told("LATENCY HISTOGRAM nosuch SET");
    assert!(
        set.starts_with("[\"set\" [\"calls\" :2 \"histogram_usec\" ["),
        "{set}"
    );
    assert!(set.contains(" :2]"), "{set}");
    let client = told("LATENCY HISTOGRAM client");
    assert!(
        client.contains("client|id") && client.contains("client|getname"),
        "{client}"
    );
    assert_eq!(told("LATENCY HISTOGRAM nosuch"), "[]");
    assert!(told("LATENCY HISTOGRAM client|id").contains("\"client|id\" [\"calls\" :1"));
    let doctor = told("LATENCY DOCTOR");
    assert!(doctor.contains("latency-monitor-threshold"), "{doctor}");
    assert_eq!(told("CONFIG SET latency-monitor-threshold 1000000"), "+OK");
    let doctor = told("LATENCY DOCTOR");
    assert!(
        doctor.contains("No flight of commands took 1000000 ms"),
        "{doctor}"
    );
    told("CONFIG RESETSTAT");
    assert!(told("LATENCY HISTOGRAM").contains("config|resetstat"));
    assert_eq!(told("LATENCY HISTOGRAM set"), "[]");
}
