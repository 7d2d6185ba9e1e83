//! Arguments of calls that the parser does not know: `VARIADIC` before the last one, as an argument of the name
//! [`VARIADIC`], and `COLLATION FOR (…)`, as a call of `pg_collation_for`.

use super::words::{behind, is_one_of, is_word};
use sqlparser::ast::{FunctionArg, FunctionArgExpr};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of the argument.
const VARIADIC: &str = "sql.variadic";

/// Writes them so.
pub(super) fn with_arguments(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_one = |token: &TokenWithSpan| is_one_of(token, &["variadic", "collation"]);
    if !tokens.iter().any(is_one) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 1);
    // The last token that is no blank.
    let mut before = Token::EOF;
    let mut skipped_to = 0;
    for (at, token) in tokens.iter().enumerate() {
        if at < skipped_to {
            continue;
        }
        let is_argument = matches!(before, Token::LParen | Token::Comma);
        if is_argument && is_word(token, "variadic") {
            let name = word(VARIADIC, Some('"'));
            written.extend([name, Token::RArrow].map(|one| TokenWithSpan::new(one, token.span)));
        } else if is_word(token, "collation")
            && let Some(end) = behind(&tokens, at, &["collation", "for"])
            && !is_of_object(&before)
        {
            written.push(TokenWithSpan::new(
                word("pg_collation_for", None),
                token.span,
            ));
            skipped_to = end;
        } else {
            written.push(token.clone());
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            before = token.token.clone();
        }
    }
    written
}

/// True for a word behind which a collation is named: `ON`, `CREATE`, `DROP` and `ALTER`.
fn is_of_object(before: &Token) -> bool {
    let words = ["on", "create", "drop", "alter"];
    matches!(before, Token::Word(word) if words.iter().any(|known| known.eq_ignore_ascii_case(&word.value)))
}

fn word(value: &str, quote_style: Option<char>) -> Token {
    Token::Word(Word {
        value: value.into(),
        quote_style,
        keyword: Keyword::NoKeyword,
    })
}

/// The array behind `VARIADIC`, if it is the last argument, and the arguments before it.
pub(crate) fn variadic(given: &[FunctionArg]) -> Option<(&[FunctionArg], &sqlparser::ast::Expr)> {
    let (last, before) = given.split_last()?;
    match last {
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(array),
            ..
        } if name.value == VARIADIC => Some((before, array)),
        FunctionArg::ExprNamed {
            name: sqlparser::ast::Expr::Identifier(name),
            arg: FunctionArgExpr::Expr(array),
            ..
        } if name.value == VARIADIC => Some((before, array)),
        _ => None,
    }
}

/// A kept text as a person writes it, with the word.
pub(crate) fn shown_variadic(text: String) -> String {
    let argument = format!("\"{VARIADIC}\" => ");
    match text.contains(&argument) {
        true => text.replace(&argument, "VARIADIC "),
        false => text,
    }
}
