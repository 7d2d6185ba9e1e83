//! Spans of a session's work for subscribers of `tracing`: each statement, the replay before it, and each wait for
//! stable storage. They are within the span that the caller of [`Session::run`](super::Session::run) has entered.
//!
//! They are of level TRACE, so that only subscribers who ask get them. Without a subscriber, making one is a comparison
//! of a number.
//!
//! Invariant: no value of a parameter, and no text of an error, which may have one, is in a span. Texts of statements
//! are cut at [`TOLD_TEXT_BYTES_MAX`].
//!
//! Source: OpenTelemetry's "Semantic conventions for database client spans", for the names of the fields.

use crate::error::SqlError;
use crate::prepared::Prepared;
use crate::result::Outcome;
use sqlparser::ast::Statement;
use std::borrow::Cow;
use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Span, trace_span};

/// The target of all spans of a server, by which subscribers choose them.
pub const SPANS_TARGET: &str = "sardonyx::spans";
/// The most bytes of a statement's text in spans and in lists of slow statements.
pub const TOLD_TEXT_BYTES_MAX: usize = 1 << 10;

/// The span of this thread, if it has one.
pub(super) fn current() -> Span {
    match LevelFilter::current() {
        LevelFilter::TRACE => Span::current(),
        _ => Span::none(),
    }
}

/// A statement that is run.
pub(super) fn statement(prepared: &Prepared) -> Span {
    let span = trace_span!(
        target: SPANS_TARGET,
        "statement",
        otel.name = Empty,
        db.system.name = "sardonyx",
        db.operation.name = Empty,
        db.query.text = beginning(prepared.text()),
        db.response.status_code = Empty,
        error.type = Empty,
        otel.status_code = Empty,
    );
    if !span.is_disabled() {
        let operation = operation(prepared);
        span.record("otel.name", &*operation);
        span.record("db.operation.name", &*operation);
    }
    span
}

/// Records the result of a statement in its span.
pub(super) fn ended(span: &Span, outcome: &Outcome) {
    if let Outcome::Failed(error) = outcome {
        record_error(span, error);
    }
}

/// The replay of an open transaction.
pub(super) fn replay() -> Span {
    trace_span!(target: SPANS_TARGET, "replay")
}

/// The wait until a result, or the changes that it read, are on stable storage.
pub(super) fn durability() -> Span {
    trace_span!(target: SPANS_TARGET, "durability")
}

/// Records an error in a span with fields for it: the SQLSTATE only, since its text may have values.
pub fn record_error(span: &Span, error: &SqlError) {
    span.record("db.response.status_code", error.code);
    span.record("error.type", error.code);
    span.record("otel.status_code", "ERROR");
}

fn beginning(text: &str) -> &str {
    let end = text.floor_char_boundary(TOLD_TEXT_BYTES_MAX);
    text.get(..end).unwrap_or_default()
}

/// The operation of a statement: its first word.
fn operation(prepared: &Prepared) -> Cow<'static, str> {
    let Some(statement) = prepared.statement() else {
        let special = prepared.as_special().map(|special| special.word());
        // A text without a statement is a procedure that is created, or empty.
        let is_empty = prepared.is_empty();
        return special
            .unwrap_or(if is_empty { "" } else { "CREATE" })
            .into();
    };
    match statement {
        Statement::Query(_) => "SELECT".into(),
        Statement::Insert(_) => "INSERT".into(),
        Statement::Update(_) => "UPDATE".into(),
        Statement::Delete(_) => "DELETE".into(),
        Statement::Merge(_) => "MERGE".into(),
        Statement::Call(_) => "CALL".into(),
        Statement::StartTransaction { .. } => "BEGIN".into(),
        Statement::Commit { .. } => "COMMIT".into(),
        Statement::Rollback { .. } => "ROLLBACK".into(),
        other => {
            let text = other.to_string();
            let word = text.split(|c: char| !c.is_ascii_alphabetic()).next();
            word.unwrap_or_default().to_ascii_uppercase().into()
        }
    }
}
