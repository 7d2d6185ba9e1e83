//! Kept texts as a person writes them: with the clauses that the parser does not know, which are kept by marks.

use super::arguments::shown_variadic;
use super::recursions::shown_recursions;
use super::rows_from::shown_rows_from;
use super::symmetric::shown_symmetric;

/// A kept text as a person writes it.
pub(crate) fn shown_text(text: String) -> String {
    shown_recursions(shown_rows_from(shown_symmetric(shown_variadic(text))))
}
