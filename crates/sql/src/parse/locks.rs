//! `FOR UPDATE OF a, b SKIP LOCKED`, which the parser takes with one name, as a clause for each name. `FOR NO KEY UPDATE` and
//! `FOR KEY SHARE`, which it does not know, are `FOR UPDATE` and `FOR SHARE` with a [mark](WEAK) before the name.

use super::words::{behind, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use std::ops::Range;

/// The part of a name after `OF` that means `NO KEY` or `KEY`. No table has this name.
pub(crate) const WEAK: &str = "\u{1}key";

/// A lock of rows, by the places of its tokens.
struct Clause {
    /// `UPDATE` or `SHARE`.
    word: usize,
    is_weak: bool,
    names: Vec<Range<usize>>,
    /// `NOWAIT` or `SKIP LOCKED`.
    nonblock: Range<usize>,
}

/// Rewrites tokens so that each lock of rows names one table at most.
pub(super) fn with_locks(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "for")) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match is_word(token, "for")
            .then(|| clause(&tokens, at + 1))
            .flatten()
        {
            Some(clause) if clause.is_weak || !clause.names.is_empty() => {
                clause.write(&tokens, at, &mut written);
                at = clause.nonblock.end;
            }
            _ => {
                written.push(token.clone());
                at += 1;
            }
        }
    }
    written
}

/// The clause whose first word, `FOR`, is before a place.
fn clause(tokens: &[TokenWithSpan], at: usize) -> Option<Clause> {
    let modes: [(&[&str], bool); 4] = [
        (&["update"], false),
        (&["no", "key", "update"], true),
        (&["share"], false),
        (&["key", "share"], true),
    ];
    let mut found = modes
        .iter()
        .filter_map(|(words, is_weak)| Some((behind(tokens, at, words)?, *is_weak)));
    let (mut end, is_weak) = found.next()?;
    let word = end - 1;
    let mut names = Vec::new();
    if let Some(of) = behind(tokens, end, &["of"]) {
        end = of;
        while let Some(name) = name_at(tokens, end) {
            end = name.end;
            names.push(name);
            match next_token(tokens, end) {
                Some((comma, Token::Comma)) if name_at(tokens, comma + 1).is_some() => {
                    end = comma + 1;
                }
                _ => break,
            }
        }
    }
    let nonblock = behind(tokens, end, &["nowait"]);
    let nonblock = nonblock.or_else(|| behind(tokens, end, &["skip", "locked"]));
    Some(Clause {
        word,
        is_weak,
        names,
        nonblock: end..nonblock.unwrap_or(end),
    })
}

/// The next token that is no space, and its place.
fn next_token(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, &Token)> {
    let mut rest = tokens.iter().enumerate().skip(at);
    let is_space = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let (at, token) = rest.find(|(_, token)| !is_space(token))?;
    Some((at, &token.token))
}

/// The places of a name, perhaps with points, that comes next.
fn name_at(tokens: &[TokenWithSpan], at: usize) -> Option<Range<usize>> {
    let (first, Token::Word(_)) = next_token(tokens, at)? else {
        return None;
    };
    let mut end = first + 1;
    while let (Some(Token::Period), Some(Token::Word(_))) = (
        tokens.get(end).map(|token| &token.token),
        tokens.get(end + 1).map(|token| &token.token),
    ) {
        end += 2;
    }
    Some(first..end)
}

impl Clause {
    fn write(&self, tokens: &[TokenWithSpan], at: usize, written: &mut Vec<TokenWithSpan>) {
        let span = tokens[self.word].span;
        let of = TokenWithSpan::new(Token::make_keyword("OF"), span);
        let mark = Token::Word(Word {
            value: WEAK.into(),
            quote_style: Some('"'),
            keyword: Keyword::NoKeyword,
        });
        let mark = TokenWithSpan::new(mark, span);
        let none = 0..0;
        let names = match self.names.is_empty() {
            true => std::slice::from_ref(&none),
            false => self.names.as_slice(),
        };
        for name in names {
            written.extend([tokens[at].clone(), tokens[self.word].clone(), of.clone()]);
            if self.is_weak {
                written.push(mark.clone());
                if !name.is_empty() {
                    written.push(TokenWithSpan::new(Token::Period, span));
                }
            }
            written.extend_from_slice(&tokens[name.clone()]);
            written.extend_from_slice(&tokens[self.nonblock.clone()]);
        }
    }
}
