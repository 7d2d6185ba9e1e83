//! Texts of stores, and errors, as people see them: bounded, and without secrets.

#[cfg(any(feature = "s3", feature = "nats"))]
use std::error::Error;

/// The most characters that are shown of a store's text.
const REASON_CHARS_MAX: usize = 400;

/// The text of an error, with its causes, without secrets and not endless.
#[cfg(any(feature = "s3", feature = "nats"))]
pub(crate) fn shown(error: &dyn Error, secrets: &[String]) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    shortened(&text, secrets)
}

/// A store's text, without secrets and not endless.
pub(crate) fn shortened(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_string();
    for secret in secrets {
        text = text.replace(secret, "***");
    }
    text = text.replace(['\n', '\r'], " ");
    match text.char_indices().nth(REASON_CHARS_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
