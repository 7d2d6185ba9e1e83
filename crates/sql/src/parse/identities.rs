//! Identities of columns, as far as the parser does not know them. `ALTER COLUMN … DROP IDENTITY [IF EXISTS]` becomes
//! an option of the column that it drops. `ADD GENERATED … AS IDENTITY (SEQUENCE NAME s …)`, from dumps of PostgreSQL,
//! becomes an option that a separate change sets. Such a name in the declaration of a column becomes a comment of it.

use super::words::{behind, behind_alter_column, is_word, text_of};
use sqlparser::ast::{AlterGenericOption, CreateServerOption};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of the option.
const IDENTITY: &str = "sql.identity";
/// Its name with `IF EXISTS`.
const IDENTITY_IF_EXISTS: &str = "sql.identity.if_exists";
/// The name of the option that names an identity's sequence.
const SEQUENCE_NAME: &str = "sql.identity.sequence";
/// The most tokens of options, with the blanks between them: so a text of many is read in linear time.
const OPTION_TOKENS_MAX: usize = 256;

/// Writes it so.
pub(super) fn with_identities(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let has = |word| tokens.iter().any(|token| is_word(token, word));
    if !has("identity") || !(has("alter") || has("sequence")) {
        return tokens;
    }
    let tokens = with_declared_names(with_sequence_names(tokens));
    if !tokens.iter().any(|token| is_word(token, "drop")) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    // A column of this name is dropped by DROP COLUMN, or behind the name of a table.
    let mut is_of_column = false;
    while let Some(token) = tokens.get(at) {
        let end = match is_of_column && is_word(token, "drop") {
            true => behind(&tokens, at, &["drop", "identity"]),
            false => None,
        };
        let Some(end) = end else {
            match &token.token {
                Token::Whitespace(_) => {}
                Token::Comma | Token::SemiColon => is_of_column = false,
                _ => {
                    is_of_column |= is_word(token, "column")
                        || is_word(token, "alter") && behind_alter_column(&tokens, at).is_some()
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

/// Moves the names of sequences from the options of identities behind them, in declarations of columns.
fn with_declared_names(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let ways: [&[&str]; 2] = [
            &["generated", "always", "as", "identity"],
            &["generated", "by", "default", "as", "identity"],
        ];
        let end = match is_word(token, "generated") {
            true => ways.iter().find_map(|words| behind(&tokens, at, words)),
            false => None,
        };
        let Some(named) = end.and_then(|end| named_sequence(&tokens, end)) else {
            written.push(token.clone());
            at += 1;
            continue;
        };
        let before = tokens.get(at..named.begin).unwrap_or_default();
        let after = tokens.get(named.end..named.closed).unwrap_or_default();
        written.extend(before.iter().chain(after).cloned());
        let parts = [
            Token::make_keyword("COMMENT"),
            Token::SingleQuotedString(format!("{SEQUENCE_NAME} {}", named.name)),
        ];
        written.extend(parts.map(|part| TokenWithSpan::new(part, token.span)));
        at = named.closed;
    }
    written
}

/// The name of an identity's sequence, if a comment on a column is one.
pub(crate) fn declared_sequence(comment: &str) -> Option<&str> {
    comment.strip_prefix(SEQUENCE_NAME)?.strip_prefix(' ')
}

/// Removes the names of sequences from the options of new identities.
fn with_sequence_names(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let ways: [&[&str]; 2] = [
            &["add", "generated", "always", "as", "identity"],
            &["add", "generated", "by", "default", "as", "identity"],
        ];
        let end = match is_word(token, "add") {
            true => ways.iter().find_map(|words| behind(&tokens, at, words)),
            false => None,
        };
        let named = end.and_then(|end| named_sequence(&tokens, end));
        let is_blank = |token: &&TokenWithSpan| matches!(token.token, Token::Whitespace(_));
        let column = named.as_ref().and_then(|_| {
            let mut before = written.iter().rev();
            before.find(|token| !is_blank(token)).cloned()
        });
        let (Some(named), Some(column)) = (named, column) else {
            written.push(token.clone());
            at += 1;
            continue;
        };
        let before = tokens.get(at..named.begin).unwrap_or_default();
        let after = tokens.get(named.end..named.closed).unwrap_or_default();
        written.extend(before.iter().chain(after).cloned());
        let name = Word {
            value: SEQUENCE_NAME.into(),
            quote_style: Some('"'),
            keyword: Keyword::NoKeyword,
        };
        let parts = [
            Token::Comma,
            Token::make_keyword("ALTER"),
            Token::make_keyword("COLUMN"),
            column.token,
            Token::make_keyword("OPTIONS"),
            Token::LParen,
            Token::make_keyword("SET"),
            Token::Word(name),
            Token::SingleQuotedString(named.name),
            Token::RParen,
        ];
        written.extend(parts.map(|part| TokenWithSpan::new(part, token.span)));
        at = named.closed;
    }
    written
}

/// `SEQUENCE NAME s` among the options of an identity.
struct NamedSequence {
    /// Its tokens are from here.
    begin: usize,
    /// The place behind the name.
    end: usize,
    /// The place behind the parenthesis that ends the options.
    closed: usize,
    name: String,
}

/// Finds it in options that begin at a place.
fn named_sequence(tokens: &[TokenWithSpan], at: usize) -> Option<NamedSequence> {
    let next = |at: usize| {
        let mut rest = tokens.iter().enumerate().skip(at);
        rest.find(|(_, token)| !matches!(token.token, Token::Whitespace(_)))
    };
    let (open, _) = next(at).filter(|(_, token)| token.token == Token::LParen)?;
    let length = tokens.iter().skip(open).take(OPTION_TOKENS_MAX);
    let length = length
        .take_while(|token| token.token != Token::RParen)
        .count();
    let closed = open + length + 1;
    let (begin, behind_words) =
        (open + 1..closed).find_map(|at| Some((at, behind(tokens, at, &["sequence", "name"])?)))?;
    let mut end = behind_words;
    let mut name = String::new();
    loop {
        let (at, word) = next(end).filter(|(_, token)| matches!(token.token, Token::Word(_)))?;
        name.push_str(&text_of(&word.token));
        end = at + 1;
        match next(end).filter(|(_, token)| token.token == Token::Period) {
            Some((at, _)) => {
                name.push('.');
                end = at + 1;
            }
            None => break,
        }
    }
    (tokens.get(closed - 1)?.token == Token::RParen && end < closed).then_some(NamedSequence {
        begin,
        end,
        closed,
        name,
    })
}

/// The name of an identity's sequence, if options of a column give one.
pub(crate) fn names_sequence(options: &[AlterGenericOption]) -> Option<&str> {
    match options {
        [AlterGenericOption::Set(CreateServerOption { key, value })]
            if key.value == SEQUENCE_NAME =>
        {
            Some(&value.value)
        }
        _ => None,
    }
}

/// True if options of a column drop its identity; the value is true with `IF EXISTS`.
pub(crate) fn drops_identity(options: &[AlterGenericOption]) -> Option<bool> {
    match options {
        [AlterGenericOption::Drop(name)] if name.value == IDENTITY => Some(false),
        [AlterGenericOption::Drop(name)] if name.value == IDENTITY_IF_EXISTS => Some(true),
        _ => None,
    }
}
