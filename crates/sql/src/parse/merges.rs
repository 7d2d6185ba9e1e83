//! Clauses of `MERGE` that the parser does not know, in forms that it reads: `INSERT DEFAULT VALUES` as one value of the
//! name [`DEFAULT_VALUES`], `OVERRIDING` as a last column of a name of its own, and joins of the source in parentheses.

use super::words::{behind, is_one_of, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of such a value.
pub(crate) const DEFAULT_VALUES: &str = "sql.default_values";
/// The name of a column for `OVERRIDING SYSTEM VALUE`.
pub(crate) const OVERRIDING_SYSTEM: &str = "sql.overriding_system";
/// The same for `OVERRIDING USER VALUE`.
pub(crate) const OVERRIDING_USER: &str = "sql.overriding_user";

/// Writes them so.
pub(super) fn with_merges(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "merge")) {
        return tokens;
    }
    let parentheses = around_sources(&tokens);
    let mut added = parentheses.iter().peekable();
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        while let Some((_, parenthesis)) = added.next_if(|(place, _)| *place == at) {
            written.push(TokenWithSpan::new(parenthesis.clone(), token.span));
        }
        at = match behind_inserted(&tokens, at, &mut written) {
            Some(end) => end,
            None => {
                written.push(token.clone());
                at + 1
            }
        };
    }
    written
}

/// Writes a clause of `INSERT` that begins at a place. Returns the place behind it; `None` if there is none.
fn behind_inserted(
    tokens: &[TokenWithSpan],
    at: usize,
    written: &mut Vec<TokenWithSpan>,
) -> Option<usize> {
    let token = tokens.get(at)?;
    let quoted = |name: &str| {
        Token::Word(Word {
            value: name.into(),
            quote_style: Some('"'),
            keyword: Keyword::NoKeyword,
        })
    };
    let mut add = |token: &TokenWithSpan, parts: Vec<Token>| {
        let parts = parts.into_iter();
        written.extend(parts.map(|part| TokenWithSpan::new(part, token.span)));
    };
    if is_word(token, "then")
        && let Some(end) = behind(tokens, at, &["then", "insert", "default", "values"])
    {
        // The words but DEFAULT, and a value.
        for token in &tokens[at..end] {
            if !is_word(token, "default") {
                add(token, vec![token.token.clone()]);
            }
        }
        add(
            token,
            vec![Token::LParen, quoted(DEFAULT_VALUES), Token::RParen],
        );
        return Some(end);
    }
    let overriding = |at: usize| {
        let kinds = [("system", OVERRIDING_SYSTEM), ("user", OVERRIDING_USER)];
        kinds.into_iter().find_map(|(word, name)| {
            let end = behind(tokens, at, &["overriding", word, "value"])?;
            Some((name, end))
        })
    };
    if is_word(token, "insert")
        && let Some((name, end)) = overriding(at + 1)
    {
        add(
            token,
            vec![
                token.token.clone(),
                Token::LParen,
                quoted(name),
                Token::RParen,
            ],
        );
        return Some(end);
    }
    // Behind the columns.
    if token.token == Token::RParen
        && written_by_insert(tokens, at)
        && let Some((name, end)) = overriding(at + 1)
    {
        add(token, vec![Token::Comma, quoted(name), Token::RParen]);
        return Some(end);
    }
    None
}

/// True if the parenthesis that ends at a place is that of the columns of `THEN INSERT`.
fn written_by_insert(tokens: &[TokenWithSpan], end: usize) -> bool {
    let before = tokens.get(..end).unwrap_or_default().iter().rev();
    let mut before = before.filter(|token| !matches!(token.token, Token::Whitespace(_)));
    // Columns have no parentheses within.
    let is_begin = |token: &TokenWithSpan| matches!(token.token, Token::LParen | Token::RParen);
    let begin = before.by_ref().find(|token| is_begin(token));
    begin.is_some_and(|token| token.token == Token::LParen)
        && before.next().is_some_and(|token| is_word(token, "insert"))
        && before.next().is_some_and(|token| is_word(token, "then"))
}

/// The places of parentheses around the sources that are joins, in their order: each before the token at its place.
fn around_sources(tokens: &[TokenWithSpan]) -> Vec<(usize, Token)> {
    let mut found = Vec::new();
    let mut merge: Option<Source> = None;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::SemiColon => merge = None,
            _ => {}
        }
        if is_word(token, "merge") && behind(tokens, at + 1, &["into"]).is_some() {
            merge = Some(Source {
                depth,
                ..Source::default()
            });
            continue;
        }
        let Some(source) = merge.as_mut().filter(|source| source.depth == depth) else {
            continue;
        };
        match source.begin {
            None if is_word(token, "using") => source.begin = Some(at + 1),
            None => {}
            Some(_) if is_one_of(token, &["join"]) => source.is_join = true,
            Some(_) if is_word(token, "on") => source.end = Some(at),
            Some(begin) if is_word(token, "when") && is_matched(tokens, at) => {
                // The last ON is that of MERGE.
                if let (true, Some(end)) = (source.is_join, source.end) {
                    found.push((begin, Token::LParen));
                    found.push((end, Token::RParen));
                }
                merge = None;
            }
            Some(_) => {}
        }
    }
    found
}

/// The source of a `MERGE`, as far as it was read.
#[derive(Default)]
struct Source {
    /// The parentheses around the statement.
    depth: usize,
    /// The place behind `USING`.
    begin: Option<usize>,
    /// The place of the last `ON`.
    end: Option<usize>,
    is_join: bool,
}

/// True if `WHEN` at a place begins a clause of `MERGE`, and no part of a `CASE`.
fn is_matched(tokens: &[TokenWithSpan], at: usize) -> bool {
    let matched = behind(tokens, at, &["when", "matched"]);
    matched.is_some() || behind(tokens, at, &["when", "not", "matched"]).is_some()
}
