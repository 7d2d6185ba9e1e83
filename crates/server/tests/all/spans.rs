//! Spans: real statements through a server, and the spans that a subscriber of `tracing` receives. A process has one
//! subscriber, which would see the servers of other tests, so the test runs in a process of its own.

use crate::common::{Running, Socket, postgres_alone};
use sardonyx_server::scram::Verifier;
use sardonyx_server::spans::{CONNECTION, FLIGHT, SPANS_TARGET};
use sardonyx_server::{Options, Right, User};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Read;
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

const PASSWORD: &str = "correct horse battery";
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Set in the test's own process.
const OWN_PROCESS: &str = "SARDONYX_TEST_OF_SPANS";

/// A span as it was when it ended. Spans are numbered as they begin.
#[derive(Clone, Debug, Default)]
struct Seen {
    number: u64,
    name: &'static str,
    fields: BTreeMap<String, String>,
    parent: Option<u64>,
    follows: Option<u64>,
    entered: bool,
}

impl Seen {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// The span's name and operation.
    fn summary(&self) -> (&str, &str) {
        (self.name, self.field("db.operation.name"))
    }
}

impl Visit for Seen {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}");
        self.fields.insert(field.name().into(), value);
    }
}

/// All ended spans, in the order of their end.
#[derive(Clone, Default)]
struct Collected(Arc<Ended>);

#[derive(Default)]
struct Ended {
    spans: Mutex<Vec<Seen>>,
    more: Condvar,
    begun: AtomicU64,
}

/// A flight and the spans in it, in the order in which they began.
struct Flight {
    span: Seen,
    children: Vec<Seen>,
}

impl Flight {
    fn summaries(&self) -> Vec<(&str, &str)> {
        self.children.iter().map(Seen::summary).collect()
    }
}

impl Collected {
    /// The first wanted span, when it has ended.
    fn until(&self, wanted: impl Fn(&Seen) -> bool) -> Seen {
        let mut spans = self.0.spans.lock().unwrap();
        loop {
            if let Some(seen) = spans.iter().find(|seen| wanted(seen)) {
                return seen.clone();
            }
            spans = self.0.more.wait(spans).unwrap();
        }
    }

    /// The last flight that has a statement of this operation, when that many flights had one.
    fn flight(&self, operation: &str, count: usize) -> Flight {
        let mut spans = self.0.spans.lock().unwrap();
        loop {
            let statements = spans
                .iter()
                .filter(|seen| seen.summary() == ("statement", operation));
            let flights: Vec<u64> = statements.filter_map(|seen| seen.parent).collect();
            let mut ended = spans.iter().filter(|seen| flights.contains(&seen.number));
            if let Some(span) = ended.nth(count - 1) {
                let mut children = spans.clone();
                children.retain(|seen| seen.parent == Some(span.number));
                children.sort_by_key(|seen| seen.number);
                assert_eq!((span.name, span.parent), (FLIGHT, None));
                let span = span.clone();
                return Flight { span, children };
            }
            spans = self.0.more.wait(spans).unwrap();
        }
    }

    /// The number of spans that have begun.
    fn begun(&self) -> u64 {
        self.0.begun.load(Ordering::Relaxed)
    }

    fn all(&self) -> Vec<Seen> {
        self.0.spans.lock().unwrap().clone()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collected {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let parent = span.parent();
        let mut seen = Seen {
            number: self.0.begun.fetch_add(1, Ordering::Relaxed),
            name: span.name(),
            parent: parent.map(|parent| parent.extensions().get::<Seen>().unwrap().number),
            ..Seen::default()
        };
        attributes.record(&mut seen);
        span.extensions_mut().insert(seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        values.record(span.extensions_mut().get_mut::<Seen>().unwrap());
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        let follows = context.span(follows).unwrap();
        let number = follows.extensions().get::<Seen>().unwrap().number;
        let span = context.span(id).unwrap();
        let mut extensions = span.extensions_mut();
        extensions.get_mut::<Seen>().unwrap().follows = Some(number);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        span.extensions_mut().get_mut::<Seen>().unwrap().entered = true;
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let seen = context.span(&id).unwrap().extensions_mut().remove::<Seen>();
        self.0.spans.lock().unwrap().extend(seen);
        self.0.more.notify_all();
    }
}

/// Passes the server's spans while they are wanted; otherwise everything except them.
struct Wanted(Arc<AtomicBool>);

impl Wanted {
    fn level(&self) -> LevelFilter {
        match self.0.load(Ordering::Relaxed) {
            true => LevelFilter::TRACE,
            false => LevelFilter::DEBUG,
        }
    }
}

impl<S> Filter<S> for Wanted {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        metadata.target() == SPANS_TARGET && *metadata.level() <= self.level()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level())
    }
}

fn options() -> Options {
    let user = User {
        verifier: Verifier::of_password(PASSWORD).unwrap(),
        tables: Right::Own,
        table: BTreeMap::new(),
        keys: Right::Own,
    };
    Options {
        redis: vec!["127.0.0.1:0".parse().unwrap()],
        users: BTreeMap::from([("ada".to_string(), user)]),
        continue_trace: Some(|span, parent| {
            assert_eq!(parent, TRACE);
            span.record("db.response.status_code", "continued");
        }),
        ..postgres_alone()
    }
}

#[test]
fn a_subscriber_sees_connections_flights_and_statements_and_who_did_not_ask_sees_none() {
    if std::env::var_os(OWN_PROCESS).is_some() {
        return subscriber_sees_what_it_asked_for();
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let name = format!(
        "{module}::a_subscriber_sees_connections_flights_and_statements_and_who_did_not_ask_sees_none"
    );
    let program = std::env::current_exe().unwrap();
    let ran = Command::new(program)
        .args([&name, "--exact", "--nocapture"])
        .env(OWN_PROCESS, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success() && said.contains("1 passed"),
        "{said}{errors}"
    );
}

fn subscriber_sees_what_it_asked_for() {
    let (collected, wanted) = (Collected::default(), Arc::new(AtomicBool::new(false)));
    let want = |are_wanted| {
        wanted.store(are_wanted, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
    };
    let layer = collected.clone().with_filter(Wanted(wanted.clone()));
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let running = Running::start(options());
    let connect = || running.try_client("ada", PASSWORD).unwrap();
    let create = "CREATE TABLE t (id bigint PRIMARY KEY, name text)";
    connect().batch_execute(create).unwrap();
    assert_eq!(collected.begun(), 0);

    want(true);
    let mut client = connect();
    let insert = "INSERT INTO t VALUES ($1, $2)";
    client
        .execute(insert, &[&987_654_321_012i64, &"secret value"])
        .unwrap();
    // The statement has run when stable storage is waited for.
    let flight = collected.flight("INSERT", 1);
    let expected = [("statement", "INSERT"), ("durability", "")];
    assert_eq!(flight.summaries(), expected);
    assert!(flight.span.entered && flight.children.iter().all(|seen| seen.entered));
    assert_eq!(flight.children[0].field("db.query.text"), insert);
    assert_eq!(flight.children[0].field("otel.status_code"), "");
    let fields = [
        ("user.name", "ada"),
        ("network.protocol.name", "postgres"),
        ("db.operation.batch.size", "1"),
        ("otel.status_code", ""),
    ];
    for (name, value) in fields {
        assert_eq!(flight.span.field(name), value, "{name}");
    }
    let connection = flight.span.follows;

    // An error is reported by its code: its text has a value.
    let again = client.execute(insert, &[&987_654_321_012i64, &"secret value"]);
    assert!(again.is_err());
    let flight = collected.flight("INSERT", 2);
    for seen in [&flight.span, &flight.children[0]] {
        assert_eq!(seen.field("db.response.status_code"), "23505", "{seen:?}");
        assert_eq!(seen.field("error.type"), "23505");
        assert_eq!(seen.field("otel.status_code"), "ERROR");
    }
    // So is a syntax error.
    assert!(client.batch_execute("SELEC 'mistyped'").is_err());
    let seen = collected.until(|seen| seen.field("db.response.status_code") == "42601");
    assert_eq!((seen.name, seen.follows), (FLIGHT, connection));

    // An interactive transaction: each flight has its statement.
    let mut transaction = client.transaction().unwrap();
    for _ in 0..2 {
        let update = "UPDATE t SET name = name || $1";
        transaction.execute(update, &[&"secret value"]).unwrap();
    }
    transaction.commit().unwrap();
    assert_eq!(
        collected.flight("BEGIN", 1).summaries(),
        [("statement", "BEGIN")]
    );
    let first = collected.flight("UPDATE", 1);
    assert_eq!(first.summaries(), [("statement", "UPDATE")]);
    let second = collected.flight("UPDATE", 2);
    // All rows are read, so it runs outside of the serial stage.
    assert_eq!(second.summaries(), [("statement", "UPDATE")]);
    let committed = [("statement", "COMMIT"), ("durability", "")];
    assert_eq!(collected.flight("COMMIT", 1).summaries(), committed);

    // Statements that arrive together are one flight, and an error ends it.
    let together = "BEGIN; CALL nothing(); DELETE FROM t; COMMIT";
    assert!(client.batch_execute(together).is_err());
    let flight = collected.flight("CALL", 1);
    assert_eq!(
        flight.summaries()[..2],
        [("statement", "BEGIN"), ("statement", "CALL")]
    );
    assert_eq!(flight.span.field("db.operation.batch.size"), "4");
    assert_eq!(flight.span.field("otel.status_code"), "ERROR");
    client.batch_execute("ROLLBACK").unwrap();

    // A client names its trace; a text is cut.
    let text = format!("DELETE FROM t WHERE name = '{}'", "x".repeat(5000));
    let continued = format!("{text} /*traceparent='{TRACE}'*/");
    client.batch_execute(&continued).unwrap();
    let flight = collected.flight("DELETE", 1);
    assert_eq!(flight.span.field("traceparent"), TRACE);
    assert_eq!(flight.span.field("db.response.status_code"), "continued");
    assert_eq!(flight.children[0].field("db.query.text"), &text[..1 << 10]);

    // Short statements run again, up to the ninth, with which the transaction leaves the serial stage; and at a
    // conflict.
    let mut other = connect();
    other
        .batch_execute("INSERT INTO t VALUES (5, 'five')")
        .unwrap();
    let update = "UPDATE t SET name = 'here' WHERE id = 5";
    let mut transaction = client.transaction().unwrap();
    for _ in 0..10 {
        transaction.batch_execute(update).unwrap();
    }
    // A flight ends after its answer, and flights are numbered as they end.
    collected.flight("UPDATE", 12);
    other.batch_execute("UPDATE t SET name = 'there'").unwrap();
    transaction.commit().unwrap();
    for (number, replays) in [(3, false), (4, true), (11, true), (12, false)] {
        let replay = replays.then_some(("replay", ""));
        let expected: Vec<_> = replay
            .into_iter()
            .chain([("statement", "UPDATE")])
            .collect();
        assert_eq!(collected.flight("UPDATE", number).summaries(), expected);
    }
    let again = ("replay", "");
    let expected = [committed[0], again, committed[0], committed[1]];
    assert_eq!(collected.flight("COMMIT", 2).summaries(), expected);

    drop(client);
    let seen = collected.until(|seen| seen.name == CONNECTION);
    assert_eq!((Some(seen.number), seen.parent), (connection, None));
    assert_eq!(seen.field("user.name"), "ada");
    assert_eq!(seen.field("client.address"), "127.0.0.1");
    assert!(!seen.field("client.port").is_empty() && seen.entered);

    // Redis clients: the names of their commands, and nothing else of what they sent.
    let endpoint = &running.server.as_ref().unwrap().addresses()[1].1;
    let mut redis = Socket(TcpStream::connect(endpoint.to_string()).unwrap());
    let mut ask = |command: &str| {
        redis.send(format!("{command}\r\n").as_bytes());
        let mut answer = [0; 4];
        redis.0.read_exact(&mut answer).unwrap();
        String::from_utf8(answer.to_vec()).unwrap()
    };
    assert_eq!(ask(&format!("AUTH ada \"{PASSWORD}\"")), "+OK\r");
    assert_eq!(ask("SET 987654321012 secret"), "\n+OK");
    assert_eq!(ask("INCR 987654321012"), "\r\n-E");
    drop(redis);
    let is_redis = |seen: &Seen| seen.field("network.protocol.name") == "redis";
    collected.until(|seen| seen.name == CONNECTION && is_redis(seen));
    let all = collected.all();
    let flights = all
        .iter()
        .filter(|seen| seen.name == FLIGHT && is_redis(seen));
    let flights: Vec<_> = flights
        .map(|seen| (seen.field("db.operation.name"), seen.field("error.type")))
        .collect();
    assert_eq!(flights, [("auth", ""), ("set", ""), ("incr", "_OTHER")]);

    for seen in &all {
        let told = format!("{seen:?}");
        for hidden in ["987654321012", "secret", "mistyped", "horse"] {
            assert!(!told.contains(hidden), "{hidden}: {told}");
        }
    }

    want(false);
    let begun = collected.begun();
    let mut client = connect();
    client.batch_execute("SELECT 2").unwrap();
    drop(client);
    drop(running);
    assert_eq!(collected.begun(), begun);
}
