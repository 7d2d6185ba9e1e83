//! `substring(text SIMILAR pattern ESCAPE letter)`, which the parser does not know, as the call with three arguments that
//! it is.

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
pub(super) fn with_substrings(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
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
