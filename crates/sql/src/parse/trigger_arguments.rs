//! The arguments of a trigger's function, `EXECUTE FUNCTION f('a', 1, b)`, as names in quotes: the parser reads types there,
//! and knows no literals. They are those of one statement: literals of the statements behind it stay as they are.

use super::words::{behind, behind_name, is_word};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Writes them so.
pub(super) fn with_trigger_arguments(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "trigger")) {
        return tokens;
    }
    let mut at = 0;
    while at < tokens.len() {
        let rest = tokens.iter().skip(at);
        let end = at + rest.take_while(|one| one.token != Token::SemiColon).count();
        if is_trigger(&tokens, at)
            && let Some(open) = arguments_of(&tokens, at, end)
        {
            let given = tokens.iter_mut().take(end).skip(open);
            given
                .take_while(|one| one.token != Token::RParen)
                .for_each(quote);
        }
        at = end + 1;
    }
    tokens
}

/// True if a statement that begins at a place creates a trigger.
fn is_trigger(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(mut at) = behind(tokens, at, &["create"]) else {
        return false;
    };
    at = behind(tokens, at, &["or", "replace"]).unwrap_or(at);
    at = behind(tokens, at, &["constraint"]).unwrap_or(at);
    behind(tokens, at, &["trigger"]).is_some()
}

/// The place behind the parenthesis that opens the arguments. Conditions stand in parentheses, where it is not sought.
fn arguments_of(tokens: &[TokenWithSpan], at: usize, end: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().take(end).skip(at) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth == 0 && is_word(token, "execute") => {
                let named = behind(tokens, at, &["execute", "function"])
                    .or_else(|| behind(tokens, at, &["execute", "procedure"]));
                if let Some(named) = named {
                    return behind_path(tokens, named);
                }
            }
            _ => {}
        }
    }
    None
}

/// The place behind a name with points and the parenthesis behind it.
fn behind_path(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let mut at = behind_name(tokens, at)?;
    loop {
        let mut rest = tokens.iter().enumerate().skip(at);
        let (next, token) = rest.find(|(_, one)| !matches!(one.token, Token::Whitespace(_)))?;
        at = match token.token {
            Token::Period => behind_name(tokens, next + 1)?,
            Token::LParen => return Some(next + 1),
            _ => return None,
        };
    }
}

/// A literal or a word as a name in quotes. A word may be that of a type, which the parser would spell otherwise.
fn quote(token: &mut TokenWithSpan) {
    let text = match &token.token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::UnicodeStringLiteral(text)
        | Token::Number(text, _) => text.clone(),
        Token::DollarQuotedString(text) => text.value.clone(),
        Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
        _ => return,
    };
    token.token = Token::make_word(&text, Some('"'));
}
