//! Spans of a server's work, for subscribers of `tracing`: one for each connection and one for each flight, the
//! statements that arrived at once and ran together. The spans of the SQL layer are within the flight's.
//!
//! A connection lasts for days and has millions of flights. So a flight is the root of a trace of its own, or continues
//! the trace that its client names: it *follows from* its connection and is not within it.
//!
//! Their level is TRACE and their target is [`SPANS_TARGET`], so they must be asked for. Without a subscriber, a span
//! costs the comparison of a number. The names of the fields are those of OpenTelemetry's semantic conventions.
//!
//! Invariant: of clients' data a span has only texts of statements, cut as [`sardonyx_sql`] cuts them, and names of
//! known Redis commands. It has no parameter values and no passwords.

use crate::metrics::Protocol;
use crate::stream::Stream;
use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Span, trace_span};

pub use sardonyx_sql::SPANS_TARGET;

/// The name of a connection's span.
pub const CONNECTION: &str = "connection";
/// The name of a flight's span.
pub const FLIGHT: &str = "flight";
/// The field of a flight's span with the client's W3C `traceparent`; only flights of clients that send one have it.
pub const TRACE_PARENT: &str = "traceparent";
/// The last bytes of a statement in which a client's trace is searched for.
const COMMENT_BYTES_MAX: usize = 1 << 10;

/// Makes a span part of the trace that a client names by W3C's `traceparent`, which was checked. It is called before
/// the span begins.
pub type ContinueTrace = fn(&Span, &str);

/// A flight's span with its number of statements or commands and fields of its own.
macro_rules! flight {
    ($protocol:expr, $count:expr, $($fields:tt)*) => {
        trace_span!(
            target: SPANS_TARGET,
            parent: None,
            FLIGHT,
            otel.kind = "server",
            db.system.name = "sardonyx",
            network.protocol.name = $protocol.name(),
            db.operation.batch.size = $count,
            error.type = Empty,
            otel.status_code = Empty,
            $($fields)*
        )
    };
}

pub(crate) fn connection(protocol: Protocol, stream: &Stream) -> Span {
    if !is_on() {
        return Span::none();
    }
    let client = stream.client();
    trace_span!(
        target: SPANS_TARGET,
        parent: None,
        CONNECTION,
        otel.kind = "server",
        network.protocol.name = protocol.name(),
        client.address = client.map(|client| tracing::field::display(client.ip())),
        client.port = client.map(|client| client.port()),
        user.name = Empty,
    )
}

/// Records the user of the connection after authentication.
pub(crate) fn let_in(user: &str) {
    if is_on() {
        Span::current().record("user.name", user);
    }
}

/// The span of a flight of a PostgreSQL client: these statements, which arrived at once.
pub(crate) fn postgres_flight<'a>(
    user: &str,
    statements: impl Iterator<Item = &'a str> + Clone,
    continues: Option<ContinueTrace>,
) -> Span {
    if !is_on() {
        return Span::none();
    }
    let parent = continues.and_then(|continues| {
        let parent = statements.clone().find_map(trace_parent)?;
        Some((continues, parent))
    });
    let count = statements.count();
    let Some((continues, parent)) = parent else {
        return followed(flight!(
            Protocol::Postgres,
            count,
            user.name = user,
            db.response.status_code = Empty,
        ));
    };
    let span = flight!(
        Protocol::Postgres,
        count,
        user.name = user,
        traceparent = parent,
        db.response.status_code = Empty,
    );
    if !span.is_disabled() {
        continues(&span, parent);
    }
    followed(span)
}

/// The span of a flight of a Redis client: the number of commands that arrived at once, and the first one's name.
pub(crate) fn redis_flight(commands: usize, first: &'static str) -> Span {
    followed(flight!(
        Protocol::Redis,
        commands,
        db.operation.name = first,
    ))
}

/// Records the number of commands of a flight that failed with errors that have no code.
pub(crate) fn failed_without_code(span: &Span, count: u64) {
    if count > 0 {
        span.record("error.type", "_OTHER");
        span.record("otel.status_code", "ERROR");
    }
}

/// A flight's span that follows from the connection's span, in which this is called.
fn followed(span: Span) -> Span {
    if !span.is_disabled() {
        span.follows_from(Span::current());
    }
    span
}

/// Returns true if a subscriber may want spans.
fn is_on() -> bool {
    LevelFilter::current() == LevelFilter::TRACE
}

/// The value of `traceparent` in a comment at the end of a statement, as clients with sqlcommenter write it:
/// `/*traceparent='00-0af7…319c-b7ad…3331-01'*/`.
fn trace_parent(statement: &str) -> Option<&str> {
    let end = statement.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == ';');
    let end = end.strip_suffix("*/")?;
    let end = &end[end.ceil_char_boundary(end.len().saturating_sub(COMMENT_BYTES_MAX))..];
    let (_, comment) = end.rsplit_once("/*")?;
    let (_, value) = comment.split_once("traceparent='")?;
    let (value, _) = value.split_once('\'')?;
    // Version, trace, span, flags: only the first version is defined.
    let parts: Vec<&str> = value.split('-').collect();
    let is_hexadecimal = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let lengths = parts.iter().map(|part| part.len());
    let is_one = lengths.eq([2, 32, 16, 2])
        && parts[0] == "00"
        && parts.iter().all(|part| is_hexadecimal(part))
        && parts[1..3]
            .iter()
            .all(|part| part.bytes().any(|b| b != b'0'));
    is_one.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn the_trace_of_a_client_is_in_the_comment_at_the_end() {
        for statement in [
            format!("SELECT 1 /*traceparent='{VALUE}'*/"),
            format!("SELECT 1 /*a='b',traceparent='{VALUE}',tracestate='x%3D1'*/ ;\n"),
            format!("SELECT '{}€' /*traceparent='{VALUE}'*/", "€".repeat(2000)),
        ] {
            assert_eq!(trace_parent(&statement), Some(VALUE), "{statement}");
        }
    }

    #[test]
    fn what_is_no_trace_is_none() {
        let zero = "0".repeat(32);
        for statement in [
            "".to_string(),
            "SELECT 1".into(),
            "*/".into(),
            "SELECT 1 /*traceparent*/".into(),
            format!("/*traceparent='{VALUE}'*/ SELECT 1"),
            format!("SELECT 1 /*traceparent='{VALUE}"),
            format!("SELECT 1 /*traceparent='{VALUE}-00'*/"),
            format!("SELECT 1 /*traceparent='{}'*/", VALUE.to_uppercase()),
            format!("SELECT 1 /*traceparent='ff{}'*/", &VALUE[2..]),
            format!("SELECT 1 /*traceparent='00-{zero}-b7ad6b7169203331-01'*/"),
            format!("SELECT 1 /*traceparent='{}'*/", "-".repeat(55)),
            format!(
                "SELECT 1 /*traceparent='{VALUE}'{}*/",
                " ".repeat(COMMENT_BYTES_MAX)
            ),
        ] {
            assert_eq!(trace_parent(&statement), None, "{statement}");
        }
    }
}
