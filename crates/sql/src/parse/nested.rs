//! Queries in expressions that begin with a parenthesis, such as `IN ((SELECT …) UNION …)`: the parser takes an expression
//! there. They are written as `(SELECT * FROM ((SELECT …) UNION …) AS "sql.query")`, which is the same query.
//!
//! Invariant: a text is looked at once from its end and once from its begin, however its parentheses are nested.

use super::words::is_one_of;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Words that are no function's name before a parenthesis.
const BEFORE_VALUES: [&str; 22] = [
    "in", "exists", "any", "some", "all", "array", "then", "else", "when", "by", "between", "and",
    "or", "not", "select", "from", "limit", "offset", "placing", "where", "on", "having",
];

/// The name of such a query.
const QUERY: &str = "sql.query";

/// A parenthesis that opens.
#[derive(Clone, Copy, Default)]
struct Open {
    /// The place of the one that closes it.
    close: usize,
    /// True if a query begins behind it and behind others.
    begins_query: bool,
}

/// Writes them so.
pub(super) fn with_nested_queries(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let seen: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
        .collect();
    let opens = opens_of(&tokens, &seen);
    // The places of the parentheses around such queries.
    let mut begins = vec![false; tokens.len()];
    let mut ends = vec![false; tokens.len()];
    let mut found = false;
    // True if the parser takes a query behind the parenthesis before.
    let mut in_query = false;
    for at in 0..seen.len() {
        let Some(open) = opens[at] else {
            in_query = false;
            continue;
        };
        let before = at.checked_sub(1).map(|before| &tokens[seen[before]]);
        let is_query = (in_query || before.is_none_or(takes_query)) && open.begins_query
            || match wants(&tokens, &seen, &opens, at, before) {
                true => {
                    begins[seen[at]] = true;
                    ends[seen[open.close]] = true;
                    found = true;
                    true
                }
                false => false,
            };
        in_query = is_query;
    }
    if !found {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + 16);
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        let put = |written: &mut Vec<TokenWithSpan>, token| {
            written.push(TokenWithSpan::new(token, span));
        };
        if ends[at] {
            put(&mut written, Token::RParen);
            put(&mut written, Token::make_keyword("AS"));
            let name = Word {
                value: QUERY.into(),
                quote_style: Some('"'),
                keyword: Keyword::NoKeyword,
            };
            put(&mut written, Token::Word(name));
        }
        written.push(token);
        if begins[at] {
            put(&mut written, Token::make_keyword("SELECT"));
            put(&mut written, Token::Mul);
            put(&mut written, Token::make_keyword("FROM"));
            put(&mut written, Token::LParen);
        }
    }
    written
}

/// The parentheses that open and are closed, by their places among the tokens that are seen.
fn opens_of(tokens: &[TokenWithSpan], seen: &[usize]) -> Vec<Option<Open>> {
    let mut opens: Vec<Option<Open>> = vec![None; seen.len()];
    let mut closes = Vec::new();
    for at in (0..seen.len()).rev() {
        match tokens[seen[at]].token {
            Token::RParen => closes.push(at),
            Token::LParen => {
                let Some(close) = closes.pop() else {
                    continue;
                };
                let begins_query = match (opens.get(at + 1), seen.get(at + 1)) {
                    (Some(Some(inner)), _) => inner.begins_query,
                    (_, Some(next)) => {
                        is_one_of(&tokens[*next], &["select", "with", "values", "table"])
                    }
                    _ => false,
                };
                opens[at] = Some(Open {
                    close,
                    begins_query,
                });
            }
            _ => {}
        }
    }
    opens
}

/// True if a parenthesis, at a place where the parser takes an expression, has a query in parentheses and more of a query.
fn wants(
    tokens: &[TokenWithSpan],
    seen: &[usize],
    opens: &[Option<Open>],
    at: usize,
    before: Option<&TokenWithSpan>,
) -> bool {
    // The parser takes a query behind ANY and ALL only if it begins with SELECT.
    let first = seen.get(at + 1).map(|at| &tokens[*at]);
    if before.is_some_and(|before| is_one_of(before, &["any", "some", "all"]))
        && first.is_some_and(|first| is_one_of(first, &["values"]))
    {
        return true;
    }
    // It would be a call.
    if first.is_some_and(|first| is_one_of(first, &["values"]))
        && matches!(opens.get(at + 2), Some(Some(_)))
        && before.is_some_and(|before| before.token == Token::LParen || begins_operand(before))
    {
        return true;
    }
    let Some(Some(inner)) = opens.get(at + 1) else {
        return false;
    };
    let Some(behind) = seen.get(inner.close + 1).map(|at| &tokens[*at]) else {
        return false;
    };
    if !inner.begins_query {
        return false;
    }
    if is_one_of(behind, &["union", "intersect", "except"]) {
        return true;
    }
    // Of a call, such as `array_agg((SELECT …) ORDER BY …)`, these are no query's.
    let is_call = before.is_some_and(|before| {
        matches!(before.token, Token::Word(_)) && !is_one_of(before, &BEFORE_VALUES)
    });
    !is_call && is_one_of(behind, &["order", "limit", "offset", "fetch"])
}

/// True for a token behind which an operand of an expression begins, and no query of `FROM`.
fn begins_operand(before: &TokenWithSpan) -> bool {
    let words = [
        "select", "and", "or", "not", "when", "then", "else", "case", "where", "on", "by", "limit",
        "offset", "between", "like", "ilike",
    ];
    let operators = [
        Token::Eq,
        Token::Neq,
        Token::Lt,
        Token::Gt,
        Token::LtEq,
        Token::GtEq,
        Token::Plus,
        Token::Minus,
        Token::Mul,
        Token::Div,
        Token::StringConcat,
        Token::Comma,
    ];
    operators.contains(&before.token) || is_one_of(before, &words)
}

/// True for a token behind which the parser takes a query in parentheses.
fn takes_query(before: &TokenWithSpan) -> bool {
    let words = [
        "from",
        "join",
        "lateral",
        "as",
        "materialized",
        "union",
        "intersect",
        "except",
        "explain",
        "analyze",
    ];
    before.token == Token::SemiColon || is_one_of(before, &words)
}
