//! Texts in quotes that follow each other on several lines, which are one text: `'a'` and `'b'` are `'ab'`.
//!
//! Source: SQL:2016, part 2, 5.3 (literals); PostgreSQL 15, 4.1.2.1 (string constants).

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Joins texts that are apart by space with a line's end in it. On one line they stay two, which is a syntax error.
pub(super) fn with_joined_texts(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for mut token in tokens {
        if let Token::SingleQuotedString(more) = &mut token.token
            && let Some(before) = text_before(&joined)
            && let Some(
                Token::SingleQuotedString(text)
                | Token::EscapedStringLiteral(text)
                | Token::UnicodeStringLiteral(text)
                | Token::NationalStringLiteral(text)
                | Token::HexStringLiteral(text),
            ) = joined.get_mut(before).map(|token| &mut token.token)
        {
            text.push_str(more);
            joined.truncate(before + 1);
            continue;
        }
        joined.push(token);
    }
    joined
}

/// The place of the last token before space with a line's end, if there is such space at the end.
fn text_before(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut has_end = false;
    for (place, token) in tokens.iter().enumerate().rev() {
        match &token.token {
            Token::Whitespace(Whitespace::Newline | Whitespace::SingleLineComment { .. }) => {
                has_end = true;
            }
            Token::Whitespace(Whitespace::Space | Whitespace::Tab) => {}
            _ => return has_end.then_some(place),
        }
    }
    None
}
