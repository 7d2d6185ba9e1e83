//! `substring(text SIMILAR pattern ESCAPE letter)`, which the parser does not know, as the call with three arguments that
//! it is; the clauses of recursive queries that are not supported, refused by their names.

use super::words::{is_one_of, is_word};
use crate::error::SqlError;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

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

/// Refuses `SEARCH` and `CYCLE` of recursive queries.
///
/// # Errors
/// `0A000`, and its place.
pub(super) fn check_recursion(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    if !tokens
        .iter()
        .any(|token| is_one_of(token, &["search", "cycle"]))
    {
        return Ok(());
    }
    let seen = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let seen: Vec<&TokenWithSpan> = seen.collect();
    for pair in seen.windows(4) {
        let [close, word, one, other] = pair else {
            continue;
        };
        let is_search = is_word(word, "search")
            && is_one_of(one, &["breadth", "depth"])
            && is_word(other, "first");
        let is_cycle = is_word(word, "cycle")
            && matches!(one.token, Token::Word(_))
            && (is_word(other, "set") || other.token == Token::Comma);
        let what = match (is_search, is_cycle) {
            (true, _) => "SEARCH",
            (_, true) => "CYCLE",
            _ => continue,
        };
        if close.token == Token::RParen {
            let error = SqlError::unsupported(format!("{what} of WITH RECURSIVE is not supported"));
            let hint = "Collect the path in an array of the query's own, as PostgreSQL's documentation shows it.";
            return Err((error.hint(hint), word.span.start));
        }
    }
    Ok(())
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
