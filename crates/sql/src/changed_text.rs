//! Texts of SQL that are changed at places: other names, other literals, the body of a function for its call.
//!
//! The places are those of tokens ([`crate::lexer::placed`]), or of parts of a tree. The rest of the text stays as it was
//! written. A text is never put together from printed tokens: a token has the value of a literal, not the letters that
//! mean it.

use crate::position::Places;
use sqlparser::tokenizer::Span;
use std::ops::Range;

/// A range of bytes of a text, and its replacement.
pub(crate) type Change = (Range<usize>, String);

/// The changes at spans of a text, in their order. A span without a place changes nothing.
pub(crate) fn changes_at(text: &str, mut spans: Vec<(Span, String)>) -> Vec<Change> {
    spans.retain(|(span, _)| span.start.line > 0);
    spans.sort_by_key(|(span, _)| span.start);
    let mut places = Places::of(text);
    let changes = spans.into_iter();
    changes
        .map(|(span, now)| (places.range(span), now))
        .collect()
}

/// A text with changes, which are in ascending order.
pub(crate) fn with_changes(text: &str, changes: &[Change]) -> String {
    let (mut changed, mut from) = (String::with_capacity(length_with(text, changes)), 0);
    for (range, now) in changes {
        changed.push_str(text.get(from..range.start).unwrap_or_default());
        changed.push_str(now);
        from = range.end;
    }
    changed.push_str(text.get(from..).unwrap_or_default());
    changed
}

/// The bytes of a text with changes.
pub(crate) fn length_with(text: &str, changes: &[Change]) -> usize {
    let added: usize = changes.iter().map(|(_, now)| now.len()).sum();
    let left: usize = changes.iter().map(|(range, _)| range.len()).sum();
    (text.len() + added).saturating_sub(left)
}

#[cfg(test)]
mod tests {
    use super::{changes_at, length_with, with_changes};
    use crate::lexer::placed;
    use sqlparser::tokenizer::Token;

    #[test]
    fn the_rest_of_a_text_stays_as_it_was_written() {
        let text = "a || E'\\n' || U&'\\0061' || \"ä\"\"\" -- a\r\n || 'it''s' || a";
        let tokens = placed(text).expect("tokens");
        let names = tokens.iter().filter(|placed| match &placed.token {
            Token::Word(word) => word.value == "a",
            _ => false,
        });
        let changes: Vec<_> = names
            .map(|placed| (placed.at.clone(), "body".to_string()))
            .collect();
        let changed = with_changes(text, &changes);
        let expected = "body || E'\\n' || U&'\\0061' || \"ä\"\"\" -- a\r\n || 'it''s' || body";
        assert_eq!(changed, expected);
        assert_eq!(length_with(text, &changes), expected.len());
        assert_eq!(with_changes(text, &changes_at(text, Vec::new())), text);
    }
}
