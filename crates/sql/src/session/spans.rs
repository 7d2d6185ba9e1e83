//! Spans of what a session does, for whoever looks at a server's work through `tracing`: each statement, what is run again
//! before it, and each wait for stable storage. They are within the span that the caller of
//! [`Session::run`](super::Session::run) has entered.
//!
//! They are of level TRACE, so that nobody gets them unasked: where nobody does, making one is a comparison of a number.
//!
//! Invariant: no value of a parameter, and no text of an error, which may have one, gets into a span; texts of statements
//! are cut at [`TOLD_TEXT_BYTES_MAX`].
//!
//! Source: OpenTelemetry's "Semantic conventions for database client spans", which the names of the fields are from.

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
/// So much of a statement's text is told to those who look at a server, in bytes.
pub const TOLD_TEXT_BYTES_MAX: usize = 1 << 10;

/// The span in which this thread is, if there are any.
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

/// What a statement's span says at its end.
pub(super) fn ended(span: &Span, outcome: &Outcome) {
    if let Outcome::Failed(error) = outcome {
        record_error(span, error);
    }
}

/// What an open transaction did is run again.
pub(super) fn replay() -> Span {
    trace_span!(target: SPANS_TARGET, "replay")
}

/// From when something has run to when it, or what it has read, is on stable storage.
pub(super) fn durability() -> Span {
    trace_span!(target: SPANS_TARGET, "durability")
}

/// Tells an error by its SQLSTATE, in a span that has the fields for it: not by its text, which may have values.
pub fn record_error(span: &Span, error: &SqlError) {
    span.record("db.response.status_code", error.code);
    span.record("error.type", error.code);
    span.record("otel.status_code", "ERROR");
}

fn beginning(text: &str) -> &str {
    let end = text.floor_char_boundary(TOLD_TEXT_BYTES_MAX);
    text.get(..end).unwrap_or_default()
}

/// What a statement does, by its first word.
fn operation(prepared: &Prepared) -> Cow<'static, str> {
    let Some(statement) = prepared.statement() else {
        let special = prepared.as_special().map(|special| special.word());
        // What else has no statement is a procedure that is created, or nothing at all.
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
