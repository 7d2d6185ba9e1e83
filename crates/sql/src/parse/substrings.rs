//! `substring(text SIMILAR pattern ESCAPE letter)`, which the parser does not know, as the call with three arguments that
//! it is; `substring(text FOR count FROM place)` with its parts in the order that the parser knows.

use super::words::is_word;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A parenthesis that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Other,
    /// Of `substring`.
    Substring,
    /// Behind its `SIMILAR`.
    Similar,
}

/// Writes them so.
pub(super) fn with_substrings(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "substring")) {
        return tokens;
    }
    let mut tokens = in_order(tokens);
    if !tokens.iter().any(|token| is_word(token, "similar")) {
        return tokens;
    }
    let places: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
        .collect();
    let mut levels = Vec::new();
    let mut is_called = false;
    for (place, at) in places.iter().enumerate() {
        let token = &tokens[*at];
        let next = places.get(place + 1).map(|next| &tokens[*next]);
        let is_test = next.is_some_and(|next| is_word(next, "to"));
        let is_substring = is_word(token, "substring");
        let level = levels.last().copied();
        let (is_similar, is_escape) = (is_word(token, "similar"), is_word(token, "escape"));
        let next_level = match (&token.token, level) {
            (Token::LParen, _) => {
                levels.push(match is_called {
                    true => Level::Substring,
                    false => Level::Other,
                });
                None
            }
            (Token::RParen, _) => {
                levels.pop();
                None
            }
            (Token::SemiColon, _) => {
                levels.clear();
                None
            }
            (_, Some(Level::Substring)) if is_similar && !is_test => Some(Level::Similar),
            (_, Some(Level::Similar)) if is_escape => Some(Level::Other),
            _ => None,
        };
        if let (Some(next), Some(last)) = (next_level, levels.last_mut()) {
            *last = next;
            tokens[*at].token = Token::Comma;
        }
        is_called = is_substring;
    }
    tokens
}

/// Writes `FOR` behind `FROM`.
fn in_order(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut moved = Vec::new();
    // The places of `FOR` and `FROM` in each open parenthesis, if that is of a `substring`.
    let mut levels: Vec<Option<(Option<usize>, Option<usize>)>> = Vec::new();
    let (mut is_called, mut is_distinct) = (false, false);
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::LParen => levels.push(is_called.then_some((None, None))),
            Token::RParen => {
                if let Some(Some((Some(count), Some(from)))) = levels.pop()
                    && count < from
                {
                    moved.push((count, from, at));
                }
            }
            Token::SemiColon => levels.clear(),
            _ => {
                if let Some(Some((count, from))) = levels.last_mut() {
                    let place = match (is_word(token, "for"), is_word(token, "from")) {
                        (true, _) => Some(count),
                        // That of `IS DISTINCT FROM` begins no part.
                        (_, true) if !is_distinct => Some(from),
                        _ => None,
                    };
                    if let Some(place) = place {
                        place.get_or_insert(at);
                    }
                }
            }
        }
        is_called = is_word(token, "substring");
        is_distinct = is_word(token, "distinct");
    }
    let mut tokens = tokens;
    for (count, from, end) in moved {
        // Inner calls are whole already, and as long as before.
        if let Some(parts) = tokens.get_mut(count..end) {
            parts.rotate_left(from - count);
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use crate::parse::parse_expression;

    #[test]
    fn the_standard_form_is_a_call_with_three_arguments() {
        let read = |text: &str| parse_expression(text).expect(text).to_string();
        assert_eq!(
            read("substring('abc' similar '#\"a#\"%' escape '#')"),
            read("substring('abc', '#\"a#\"%', '#')")
        );
        // A test within an argument stays one.
        let test = "substring(('a' similar to 'b' escape '#')::text, 1)";
        assert!(read(test).contains("SIMILAR TO"), "{}", read(test));
    }
}
