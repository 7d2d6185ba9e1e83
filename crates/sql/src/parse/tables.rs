//! The syntax of `CREATE TABLE` that the parser does not know: `LIKE` with its options among the columns, and names of
//! columns without types before `AS`. Both are written as columns that it knows, and read when the table is made.
//! `SELECT … INTO` is written as `CREATE TABLE … AS`. `WITH [NO] DATA` behind a materialized view is read here, too.

use crate::error::SqlError;
use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{CreateView, Expr, ObjectName, SelectInto, SetExpr, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of the column that is written for `LIKE`. Its type is the table, with the options.
pub(crate) const LIKE: &str = "sql.like";
/// The type of a column that is written without one.
pub(crate) const UNSAID: &str = "sql.unsaid";

/// Reads `WITH [NO] DATA` behind a materialized view. Without data it becomes `WITH NO SCHEMA BINDING` of another
/// database system, which the parser does not read in this dialect.
pub(super) fn parse_data(parser: &mut Parser<'_>, view: &mut CreateView) {
    if !parser.parse_keywords(&[Keyword::WITH, Keyword::DATA]) {
        view.with_no_schema_binding =
            parser.parse_keywords(&[Keyword::WITH, Keyword::NO, Keyword::DATA]);
    }
}

/// True if a materialized view is made without its rows.
pub(crate) fn is_without_data(view: &CreateView) -> bool {
    view.materialized && view.with_no_schema_binding
}

/// The tokens of a text without blanks, by their places.
struct Words<'t> {
    tokens: &'t [TokenWithSpan],
    at: usize,
}

impl Words<'_> {
    /// Moves to the next token that is no blank.
    fn here(&mut self) -> Option<&Token> {
        while let Some(token) = self.tokens.get(self.at) {
            match &token.token {
                Token::Whitespace(_) => self.at += 1,
                _ => break,
            }
        }
        self.tokens.get(self.at).map(|token| &token.token)
    }

    fn take(&mut self, is_it: impl Fn(&Token) -> bool) -> bool {
        let is_here = self.here().is_some_and(is_it);
        self.at += usize::from(is_here);
        is_here
    }

    fn take_word(&mut self, words: &[&str]) -> Option<String> {
        let word = match self.here()? {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
            _ => return None,
        };
        words.contains(&&*word).then(|| {
            self.at += 1;
            word
        })
    }

    /// A name with points: its words.
    fn take_name(&mut self) -> Option<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            match self.here()? {
                Token::Word(word) => words.push(word.clone()),
                _ => return None,
            }
            self.at += 1;
            if !self.take(|token| *token == Token::Period) {
                return Some(words);
            }
        }
    }
}

const OPTIONS: [&str; 10] = [
    "all",
    "comments",
    "compression",
    "constraints",
    "defaults",
    "generated",
    "identity",
    "indexes",
    "statistics",
    "storage",
];

/// Rewrites clauses of `CREATE TABLE` that the parser does not know as columns.
pub(super) fn with_columns(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_create = |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::CREATE);
    if !tokens.iter().any(is_create) {
        return tokens;
    }
    let mut changes: Vec<(std::ops::Range<usize>, Vec<Token>)> = Vec::new();
    let mut begins = true;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::SemiColon => begins = true,
            _ if begins && is_create(token) => {
                let mut words = Words {
                    tokens: &tokens,
                    at: at + 1,
                };
                changes.extend(changes_of(&mut words).unwrap_or_default());
                begins = false;
            }
            _ => begins = false,
        }
    }
    let mut written = tokens;
    for (range, new) in changes.into_iter().rev() {
        let Some(span) = written.get(range.start).map(|token| token.span) else {
            continue;
        };
        let new = new.into_iter().map(|token| TokenWithSpan::new(token, span));
        written.splice(range, new);
    }
    written
}

/// The tokens to replace in a statement that begins with `CREATE`, in the order of their places.
fn changes_of(words: &mut Words<'_>) -> Option<Vec<(std::ops::Range<usize>, Vec<Token>)>> {
    while words
        .take_word(&["local", "global", "temp", "temporary", "unlogged"])
        .is_some()
    {}
    words.take_word(&["table"])?;
    if words.take_word(&["if"]).is_some() {
        words.take_word(&["not"])?;
        words.take_word(&["exists"])?;
    }
    words.take_name()?;
    if !words.take(|token| *token == Token::LParen) {
        return None;
    }
    let first = words.at;
    if let Some(names) = names_alone(words) {
        return Some(names);
    }
    words.at = first;
    let (mut changes, mut depth, mut begins) = (Vec::new(), 0_usize, true);
    while words.here().is_some() {
        let at = words.at;
        let Some(token) = words.tokens.get(at).map(|token| &token.token) else {
            break;
        };
        match token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => break,
            Token::RParen => depth -= 1,
            Token::SemiColon => break,
            Token::Comma if depth == 0 => {
                begins = true;
                words.at += 1;
                continue;
            }
            _ if begins => {
                if let Some(change) = like(words) {
                    changes.push((at..words.at, change));
                    continue;
                }
                words.at = at;
            }
            _ => {}
        }
        begins = false;
        words.at += 1;
    }
    Some(changes)
}

/// Names with nothing else, in a list: each gets a type.
fn names_alone(words: &mut Words<'_>) -> Option<Vec<(std::ops::Range<usize>, Vec<Token>)>> {
    let mut changes = Vec::new();
    loop {
        let Token::Word(word) = words.here()? else {
            return None;
        };
        let name = Token::Word(word.clone());
        let at = words.at;
        words.at += 1;
        changes.push((at..at + 1, vec![name, quoted(UNSAID)]));
        if words.take(|token| *token == Token::RParen) {
            return Some(changes);
        }
        if !words.take(|token| *token == Token::Comma) {
            return None;
        }
    }
}

/// `LIKE t INCLUDING ALL` as a column.
fn like(words: &mut Words<'_>) -> Option<Vec<Token>> {
    words.take_word(&["like"])?;
    let mut column = vec![quoted(LIKE)];
    for (at, word) in words.take_name()?.into_iter().enumerate() {
        if at > 0 {
            column.push(Token::Period);
        }
        column.push(quoted(&match word.quote_style {
            Some(_) => word.value,
            None => word.value.to_lowercase(),
        }));
    }
    let mut options = Vec::new();
    while let Some(how) = words.take_word(&["including", "excluding"]) {
        let what = words.take_word(&OPTIONS)?;
        options.push(Token::SingleQuotedString(format!("{how} {what}")));
    }
    let ends = matches!(words.here()?, Token::Comma | Token::RParen);
    if !options.is_empty() {
        column.push(Token::LParen);
        for (at, option) in options.into_iter().enumerate() {
            column.extend((at > 0).then_some(Token::Comma));
            column.push(option);
        }
        column.push(Token::RParen);
    }
    ends.then_some(column)
}

fn quoted(name: &str) -> Token {
    Token::Word(Word {
        value: name.to_string(),
        quote_style: Some('"'),
        keyword: Keyword::NoKeyword,
    })
}

/// `SELECT … INTO t` as `CREATE TABLE t AS SELECT …`; other statements unchanged.
pub(super) fn without_into(mut statement: Statement) -> Statement {
    // Trees may be too deep for a copy.
    let Statement::Query(query) = &mut statement else {
        return statement;
    };
    let SetExpr::Select(select) = &mut *query.body else {
        return statement;
    };
    let Some((name, [temporary, unlogged])) = select.into.as_ref().and_then(target) else {
        return statement;
    };
    select.into = None;
    match statement {
        Statement::Query(query) => {
            let create = CreateTableBuilder::new(name)
                .temporary(temporary)
                .unlogged(unlogged)
                .query(Some(query))
                .build();
            Statement::CreateTable(create)
        }
        other => other,
    }
}

/// The table of `INTO`, and if it is temporary, and unlogged; none for the syntax of other systems.
fn target(into: &SelectInto) -> Option<(ObjectName, [bool; 2])> {
    let SelectInto {
        temporary,
        unlogged,
        table: _,
        targets,
    } = into;
    let name = match targets.as_slice() {
        [Expr::Identifier(name)] => ObjectName::from(vec![name.clone()]),
        [Expr::CompoundIdentifier(names)] => ObjectName::from(names.clone()),
        _ => return None,
    };
    Some((name, [*temporary, *unlogged]))
}

/// Refuses `WITH CHECK OPTION` behind a view's query, as PostgreSQL does where no row can be changed by the view.
///
/// # Errors
/// `0A000`.
pub(super) fn check_option(parser: &Parser<'_>) -> Result<(), SqlError> {
    let is_word = |at: usize, known: &[&str]| {
        matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
            if word.quote_style.is_none()
                && known.iter().any(|known| word.value.eq_ignore_ascii_case(known)))
    };
    let check = if is_word(1, &["local", "cascaded"]) {
        2
    } else {
        1
    };
    let is_there = is_word(0, &["with"]) && is_word(check, &["check"]);
    match is_there && is_word(check + 1, &["option"]) {
        false => Ok(()),
        true => Err(SqlError::unsupported(
            "WITH CHECK OPTION is supported only on automatically updatable views",
        )
        .hint("Views are read only. A CHECK of the table holds for all programs.")),
    }
}
