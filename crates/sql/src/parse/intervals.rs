//! `INTERVAL(3) '…'`, as `'…'::INTERVAL(3)`: the parser drops the digits of such a literal.

use sqlparser::tokenizer::{Token, TokenWithSpan};

fn is_interval(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("interval"))
}

/// The place of the literal of an `INTERVAL` at a place, if digits precede it.
fn literal(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let behind = tokens.iter().enumerate().skip(at + 1);
    let mut said = behind.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let is_open = matches!(said.next()?.1.token, Token::LParen);
    let is_number = matches!(said.next()?.1.token, Token::Number(..));
    let is_closed = matches!(said.next()?.1.token, Token::RParen);
    let (place, last) = said.next()?;
    let is_text = matches!(
        last.token,
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_)
    );
    (is_open && is_number && is_closed && is_text).then_some(place)
}

/// Writes them so.
pub(super) fn with_digits(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(is_interval) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + 1);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let found = is_interval(token).then(|| literal(&tokens, at)).flatten();
        match (found, found.and_then(|place| tokens.get(place))) {
            (Some(place), Some(text)) => {
                written.push(text.clone());
                written.push(TokenWithSpan::new(Token::DoubleColon, token.span));
                written.extend(tokens.iter().take(place).skip(at).cloned());
                at = place + 1;
            }
            _ => {
                written.push(token.clone());
                at += 1;
            }
        }
    }
    written
}
