//! `serve --follow` and `sql --follow`: real processes that read a database which another process has open. And `serve
//! --store --stale-reads`: a host that answers reads while another one serves.

use crate::common::{command, run, text};
use crate::hosting::{Cluster, kill};
use crate::machine::Machine;
use crate::serving::Serving;
use futures_util::StreamExt;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Error, NoTls};

/// The bound on a wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(120);

/// Clients of servers.
struct Clients(Runtime);

impl Clients {
    fn new() -> Clients {
        Clients(Builder::new_current_thread().enable_all().build().unwrap())
    }

    fn try_connect(&self, to: &[&Serving], wanted: &str) -> Result<Client, Error> {
        let at: Vec<&str> = to.iter().map(|server| &*server.postgres).collect();
        let url = format!("postgres://ada@{}/bank?{wanted}", at.join(","));
        let (client, connection) = self.0.block_on(tokio_postgres::connect(&url, NoTls))?;
        self.0.spawn(connection);
        Ok(client)
    }

    fn connect(&self, to: &Serving) -> Client {
        self.try_connect(&[to], "").unwrap()
    }

    fn execute(&self, client: &Client, text: &str) {
        self.0.block_on(client.batch_execute(text)).expect(text);
    }

    /// The first column of a text's rows.
    fn query(&self, client: &Client, text: &str) -> Result<Vec<String>, Error> {
        let messages = self.0.block_on(client.simple_query(text))?;
        let values = messages.iter().filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null")),
            _ => None,
        });
        Ok(values.map(String::from).collect())
    }

    /// The data that a text copies out.
    fn copied(&self, client: &Client, text: &str) -> String {
        let data = self.0.block_on(async {
            let data: Vec<_> = client.copy_out(text).await.unwrap().collect().await;
            data.into_iter()
                .flat_map(Result::unwrap)
                .collect::<Vec<u8>>()
        });
        String::from_utf8(data).unwrap()
    }

    /// A client of a host that follows, as soon as it answers reads.
    fn reads_of(&self, host: &Serving) -> Client {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.try_connect(&[host], "target_session_attrs=read-only") {
                Ok(client) => return client,
                Err(error) => assert!(Instant::now() < until, "it answers no reads: {error}"),
            }
        }
    }

    /// A client of a following host, as soon as this is its answer. Meanwhile the host may begin to follow again, and
    /// end connections.
    fn reads_when(&self, host: &Serving, text: &str, wanted: &[&str]) -> Client {
        let until = Instant::now() + PATIENCE;
        loop {
            let client = self.reads_of(host);
            let found = self.query(&client, text);
            if found.as_ref().is_ok_and(|found| found == wanted) {
                return client;
            }
            assert!(
                Instant::now() < until,
                "{text}: {found:?} instead of {wanted:?}"
            );
        }
    }

    /// Repeats a query until this is the answer.
    fn wait_for(&self, client: &Client, text: &str, wanted: &[&str]) {
        let until = Instant::now() + PATIENCE;
        loop {
            let found = self.query(client, text);
            if found.as_ref().is_ok_and(|found| found == wanted) {
                return;
            }
            assert!(
                Instant::now() < until,
                "{text}: {found:?} instead of {wanted:?}"
            );
        }
    }

    /// The code and the hint of a refused statement.
    fn refused(&self, client: &Client, text: &str) -> (String, String) {
        let error = self.0.block_on(client.batch_execute(text)).expect_err(text);
        let error = error.as_db_error().expect("an answer");
        let hint = error.hint().unwrap_or_default();
        (error.code().code().to_string(), hint.to_string())
    }
}

/// The first line of a server's answer to a Redis command.
fn redis(server: &Serving, command: &str) -> String {
    let mut stream = TcpStream::connect(server.redis.as_ref().unwrap()).unwrap();
    stream
        .write_all(format!("{command}\r\n").as_bytes())
        .unwrap();
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().unwrap().unwrap();
    match first.starts_with('$') && first != "$-1" {
        true => lines.next().unwrap().unwrap(),
        false => first,
    }
}

#[test]
fn a_server_reads_beside_the_one_that_writes_and_beside_the_next_one() {
    let (machine, clients) = (Machine::new(), Clients::new());
    let path = machine.path("bank.sdx");
    let more = ["--redis", ":0", "--http", ":0"];
    let writer = Serving::start_at(&path, &more[..2]);
    let follows = Serving::start_at(&path, &[&["--follow"], &more[..]].concat());
    let (writes, reads) = (clients.connect(&writer), clients.connect(&follows));
    clients.execute(&writes, "CREATE TABLE t (id int PRIMARY KEY, x text)");
    clients.execute(&writes, "INSERT INTO t VALUES (1, 'one')");
    clients.wait_for(&reads, "SELECT x FROM t", &["one"]);
    let (code, hint) = clients.refused(&reads, "INSERT INTO t VALUES (2, 'two')");
    assert_eq!(code, "25006");
    assert!(hint.contains("has the database open"), "{hint}");
    assert_eq!(clients.refused(&reads, "COPY t FROM STDIN").0, "25006");
    assert_eq!(
        clients.query(&reads, "SELECT pg_is_in_recovery()").unwrap(),
        ["t"]
    );
    // Drivers that are given both servers find the one that they ask for.
    for (wanted, recovers) in [("read-write", "f"), ("read-only", "t")] {
        for to in [[&writer, &follows], [&follows, &writer]] {
            let found = clients.try_connect(&to, &format!("target_session_attrs={wanted}"));
            let found = clients.query(&found.unwrap(), "SELECT pg_is_in_recovery()");
            assert_eq!(found.unwrap(), [recovers], "{wanted}");
        }
    }
    assert!(follows.http("/readyz").ends_with("\r\n\r\nready\n"));
    let metrics = follows.http("/metrics");
    assert!(metrics.contains("\nsardonyx_ready 1\n"), "{metrics}");
    assert!(
        metrics.contains("\nsardonyx_host_behind_seconds "),
        "{metrics}"
    );
    assert!(
        metrics.contains("\nsardonyx_table_rows{table=\"t\"} 1\n"),
        "{metrics}"
    );
    assert!(!metrics.contains("sardonyx_host_serves"), "{metrics}");
    // Keys.
    assert_eq!(redis(&writer, "SET k one"), "+OK");
    let until = Instant::now() + PATIENCE;
    while redis(&follows, "GET k") != "one" {
        assert!(Instant::now() < until, "{}", redis(&follows, "GET k"));
    }
    assert!(redis(&follows, "SET k two").starts_with("-READONLY "));
    assert_eq!(redis(&follows, "DBSIZE"), ":1");
    // Cursors, and data that is copied out.
    let fetched = "BEGIN; DECLARE c CURSOR FOR SELECT x FROM t; FETCH ALL FROM c; COMMIT";
    assert_eq!(clients.query(&reads, fetched).unwrap(), ["one"]);
    let copied = clients.copied(&reads, "COPY t TO STDOUT WITH (FORMAT csv)");
    assert_eq!(copied, "1,one\n");
    // A schema that changes during a reader's transaction.
    clients.execute(&reads, "BEGIN");
    assert_eq!(clients.query(&reads, "SELECT x FROM t").unwrap(), ["one"]);
    clients.execute(&writes, "DROP TABLE t");
    clients.execute(&writes, "CREATE TABLE t (id int PRIMARY KEY, y int)");
    clients.execute(&writes, "INSERT INTO t VALUES (3, 7)");
    let others = clients.connect(&follows);
    clients.wait_for(&others, "SELECT y FROM t", &["7"]);
    assert_eq!(clients.query(&reads, "SELECT x FROM t").unwrap(), ["one"]);
    clients.execute(&reads, "COMMIT");
    assert_eq!(clients.query(&reads, "SELECT y FROM t").unwrap(), ["7"]);
    // The program that writes is killed, and another one opens the database.
    kill(writer);
    assert_eq!(clients.query(&reads, "SELECT y FROM t").unwrap(), ["7"]);
    let writer = Serving::start_at(&path, &[]);
    clients.execute(&clients.connect(&writer), "UPDATE t SET y = 8");
    clients.wait_for(&reads, "SELECT y FROM t", &["8"]);
    // The shell does the same without a server.
    let bank = machine.text("bank.sdx");
    let select = ["sql", &bank, "-c", "SELECT y FROM t", "--format", "csv"];
    let (_, said) = run(3, &select);
    assert!(said.contains("--follow"), "{said}");
    let (printed, _) = run(0, &[&select[..], &["--follow"]].concat());
    assert_eq!(printed, "y\n8\n");
    // So do the verbs that read.
    let (printed, said) = run(0, &["rows", &bank, "t", "--follow", "--json"]);
    assert_eq!((&*printed, &*said), ("{\"id\":3,\"y\":8}\n", ""));
    let export = ["export", &bank, "t", "-", "--format", "csv", "--follow"];
    assert_eq!(run(0, &export).0, "id,y\n3,8\n");
    let (printed, _) = run(0, &["schema", &bank, "--follow"]);
    assert!(printed.contains("CREATE TABLE t"), "{printed}");
    let (_, said) = run(2, &[&export[..], &["--wait", "1s"]].concat());
    assert!(said.contains("--wait"), "{said}");
    let (_, said) = run(4, &["rows", &bank, "u", "--follow"]);
    assert!(said.contains('u'), "{said}");
    let insert = [
        "sql",
        &bank,
        "--follow",
        "-c",
        "INSERT INTO t VALUES (1, 1)",
    ];
    let output = command(&insert).output().unwrap();
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("25006"),
        "{}",
        text(&output.stderr)
    );
    follows.end();
    writer.end();
}

#[test]
fn i16_options_of_who_writes_are_refused_by_name() {
    let machine = Machine::new();
    let bank = machine.text("bank.sdx");
    let (_, said) = run(2, &["serve", &bank, "--follow"]);
    assert!(said.contains("bank.sdx"), "{said}");
    run(
        0,
        &[
            "sql",
            &bank,
            "--create",
            "-c",
            "CREATE TABLE t (id int PRIMARY KEY)",
        ],
    );
    let store = machine.store();
    for verb in ["serve", "sql"] {
        for (option, value) in [
            ("--store", Some(&*store)),
            ("--log-directory", Some("x")),
            ("--wait", Some("1s")),
            ("--node", None),
        ] {
            let arguments = [verb, &bank, "--follow", option];
            let arguments = arguments.into_iter().chain(value).collect::<Vec<_>>();
            let (_, said) = run(2, &arguments);
            assert!(said.contains(option) || said.contains("--follow"), "{said}");
        }
    }
    run(2, &["serve", &bank, "--stale-reads", "1s"]);
    // Less than a host can usually guarantee.
    for (age, lease) in [("0s", "1s"), ("100ms", "1s"), ("1900ms", "60s")] {
        let arguments = ["serve", &bank, "--store", &store, "--lease", lease];
        let (_, said) = run(2, &[&arguments[..], &["--stale-reads", age]].concat());
        assert!(said.contains("--stale-reads"), "{said}");
    }
    run(2, &["sql", "postgres://127.0.0.1:1", "--follow"]);
}

#[test]
fn a_server_that_cannot_follow_any_more_says_why_and_ends() {
    let (machine, clients) = (Machine::new(), Clients::new());
    let make = |name: &str| {
        run(
            0,
            &[
                "sql",
                &machine.text(name),
                "--create",
                "-c",
                "CREATE TABLE t (id int PRIMARY KEY)",
            ],
        );
    };
    make("bank.sdx");
    make("other.sdx");
    let mut follows = Serving::start_at(&machine.path("bank.sdx"), &["--follow"]);
    let reads = clients.connect(&follows);
    assert_eq!(
        clients.query(&reads, "SELECT count(*) FROM t").unwrap(),
        ["0"]
    );
    // Another database replaces it, file by file, as a restored backup does.
    let (bank, other) = (machine.path("bank.sdx"), machine.path("other.sdx"));
    std::fs::rename(&bank, machine.path("away.sdx")).unwrap();
    std::fs::rename(&other, &bank).unwrap();
    run(
        0,
        &[
            "sql",
            &machine.text("bank.sdx"),
            "-c",
            "INSERT INTO t VALUES (1)",
        ],
    );
    let status = follows.process.wait().unwrap();
    assert_eq!(status.code(), Some(4));
    let told: Vec<String> = follows.log.iter().collect();
    assert!(
        told.iter().any(|line| line.contains("another database")),
        "{told:?}"
    );
}

/// A host of a store that answers reads of this age while another one serves.
fn stale(cluster: &Cluster, host: &str, age: &str) -> Serving {
    let place = cluster.place();
    let arguments = ["--store", &place, "--host", host, "--lease", cluster.lease];
    let reads = ["--stale-reads", age, "--http", ":0"];
    Serving::start_at(
        &cluster.directory_of(host),
        &[&arguments[..], &reads].concat(),
    )
}

#[test]
fn a_host_answers_reads_while_another_one_serves_and_goes_on_as_the_one_that_writes() {
    let (mut cluster, clients) = (Cluster::new(), Clients::new());
    // Long enough that the first one serves until it is killed, even on a busy machine.
    cluster.lease = "5s";
    let count = "SELECT count(*) FROM t";
    let a = stale(&cluster, "host-1", "60s");
    cluster.create(&[&a]);
    let b = stale(&cluster, "host-2", "60s");
    cluster.insert(&[&a, &b], 0..10);
    let reads = clients.reads_when(&b, count, &["10"]);
    let (code, hint) = clients.refused(&reads, "INSERT INTO t VALUES (10)");
    assert_eq!(code, "25006");
    assert!(hint.contains("host host-1 serves the database"), "{hint}");
    let ready = b.http("/readyz");
    assert!(
        ready.starts_with("HTTP/1.1 503 ") && ready.contains("host-1"),
        "{ready}"
    );
    let metrics = b.http("/metrics");
    assert!(
        metrics.contains("sardonyx_host_serves{host=\"host-2\"} 0"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\nsardonyx_host_behind_seconds "),
        "{metrics}"
    );
    // On failover, readers are disconnected, and writers find the other host.
    kill(a);
    cluster.insert(&[&b], 10..20);
    assert!(clients.query(&reads, "SELECT 1").is_err());
    let client = cluster.served_by(&[&b]);
    assert_eq!(cluster.numbers(&client), (0..20).collect::<Vec<_>>());
    assert!(b.http("/readyz").starts_with("HTTP/1.1 200 "));
    // The other one starts again, reads, and takes over in turn.
    let a = stale(&cluster, "host-1", "60s");
    clients.reads_when(&a, count, &["20"]);
    b.end();
    let client = cluster.served_by(&[&a]);
    assert_eq!(cluster.numbers(&client), (0..20).collect::<Vec<_>>());
    a.end();
}

#[test]
fn a_host_whose_store_gives_no_answer_refuses_reads_that_may_be_too_old() {
    let (mut cluster, clients) = (Cluster::new(), Clients::new());
    cluster.lease = "10s";
    let a = cluster.start("host-1");
    cluster.create(&[&a]);
    let b = stale(&cluster, "host-2", "2s");
    cluster.insert(&[&a, &b], 0..3);
    let reads = clients.reads_when(&b, "SELECT count(*) FROM t", &["3"]);
    let store = cluster.directory.path().join("store");
    let away = cluster.directory.path().join("away");
    std::fs::rename(&store, &away).unwrap();
    let until = Instant::now() + PATIENCE;
    let error = loop {
        match clients.query(&reads, "SELECT count(*) FROM t") {
            Ok(found) => assert_eq!(found, ["3"]),
            Err(error) => break error,
        }
        assert!(Instant::now() < until, "it answers whatever it has");
    };
    let error = error.as_db_error().expect("an answer");
    assert_eq!(error.code().code(), "57P03");
    assert!(error.message().contains("is allowed"), "{error}");
    std::fs::rename(&away, &store).unwrap();
    // The host that serves then has all rows.
    let client = cluster.served_by(&[&a, &b]);
    assert_eq!(cluster.numbers(&client), [0, 1, 2]);
    a.end();
    b.end();
}

#[test]
fn a_host_without_its_lease_answers_reads_of_what_the_store_has_and_serves_again_when_that_is_back()
{
    let (cluster, clients) = (Cluster::new(), Clients::new());
    let a = stale(&cluster, "host-1", "3600s");
    cluster.create(&[&a]);
    cluster.insert(&[&a], 0..3);
    let store = cluster.directory.path().join("store");
    let away = cluster.directory.path().join("away");
    std::fs::rename(&store, &away).unwrap();
    // A transaction that waits for the store holds up no read, and none shows it.
    let url = format!("postgres://{}/bank", a.postgres);
    let insert = ["sql", &url, "-c", "INSERT INTO t VALUES (7)"];
    let mut waits = command(&insert)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let count = "SELECT count(*) FROM t";
    let reads = clients.reads_when(&a, count, &["3"]);
    let (code, hint) = clients.refused(&reads, "INSERT INTO t VALUES (3)");
    assert_eq!(code, "25006");
    let has_run_out = "the lease of this host, host-1, has run out";
    assert!(hint.contains(has_run_out), "{hint}");
    let ready = a.http("/readyz");
    assert!(
        ready.starts_with("HTTP/1.1 503 ") && ready.contains(has_run_out),
        "{ready}"
    );
    waits.wait().unwrap();
    assert_eq!(clients.query(&reads, count).unwrap(), ["3"]);
    std::fs::rename(&away, &store).unwrap();
    // The readers are disconnected, and the same host serves with everything.
    let client = cluster.served_by(&[&a]);
    assert!(cluster.numbers(&client).starts_with(&[0, 1, 2]));
    assert!(clients.query(&reads, "SELECT 1").is_err());
    cluster.insert(&[&a], 10..12);
    a.end();
}
