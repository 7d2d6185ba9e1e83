//! `ALTER COLUMN … DROP IDENTITY [IF EXISTS]`, which the parser does not know, as an option of the column that it drops.

use super::words::{behind, behind_alter_column, is_word};
use sqlparser::ast::AlterGenericOption;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of the option.
const IDENTITY: &str = "sql.identity";
/// Its name with `IF EXISTS`.
const IDENTITY_IF_EXISTS: &str = "sql.identity.if_exists";

/// Writes it so.
pub(super) fn with_identities(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let has = |word| tokens.iter().any(|token| is_word(token, word));
    if !(has("alter") && has("identity") && has("drop")) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    // A column of this name is dropped by DROP COLUMN, or behind the name of a table.
    let mut is_of_column = false;
    while let Some(token) = tokens.get(at) {
        let end = behind(&tokens, at, &["drop", "identity"]).filter(|_| is_of_column);
        let Some(end) = end else {
            match &token.token {
                Token::Whitespace(_) => {}
                Token::Comma | Token::SemiColon => is_of_column = false,
                _ => {
                    is_of_column |=
                        is_word(token, "column") || behind_alter_column(&tokens, at).is_some()
                }
            }
            written.push(token.clone());
            at += 1;
            continue;
        };
        let if_exists = behind(&tokens, end, &["if", "exists"]);
        let name = match if_exists {
            Some(_) => IDENTITY_IF_EXISTS,
            None => IDENTITY,
        };
        let name = Token::Word(Word {
            value: name.into(),
            quote_style: Some('"'),
            keyword: Keyword::NoKeyword,
        });
        let parts = [
            Token::make_keyword("OPTIONS"),
            Token::LParen,
            Token::make_keyword("DROP"),
            name,
            Token::RParen,
        ];
        written.extend(parts.map(|part| TokenWithSpan::new(part, token.span)));
        at = if_exists.unwrap_or(end);
    }
    written
}

/// True if options of a column say that its identity is dropped; the second is true with `IF EXISTS`.
pub(crate) fn drops_identity(options: &[AlterGenericOption]) -> Option<bool> {
    match options {
        [AlterGenericOption::Drop(name)] if name.value == IDENTITY => Some(false),
        [AlterGenericOption::Drop(name)] if name.value == IDENTITY_IF_EXISTS => Some(true),
        _ => None,
    }
}
