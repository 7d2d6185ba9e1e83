//! From text to syntax trees, with bounds on the length and the depth of a text.

mod arguments;
mod block;
mod collations;
pub(crate) mod comment;
mod conflict;
mod constraints;
mod copies;
mod database;
mod deferrals;
mod depth;
mod errors;
mod explains;
mod fetch;
mod forms;
mod frames;
mod grammar;
mod grouping_sets;
mod identities;
mod intervals;
mod labels;
mod limits;
mod locks;
mod merges;
mod nested;
mod procedure;
mod quantifiers;
mod records;
mod recursions;
mod recursive_views;
mod rights_command;
mod rows_from;
mod sequence_command;
mod shown;
mod signal;
mod spellings;
mod substrings;
mod symmetric;
mod table_queries;
mod tables;
mod tablespaces;
mod trigger_arguments;
mod type_command;
mod whole_rows;
mod words;
mod wrapped;

pub(crate) use arguments::variadic;
pub(crate) use block::{Block, Handler, Line, Raise, Target, Variable, filled, parse_routine};
pub(crate) use collations::collated;
pub(crate) use conflict::written_expression;
pub(crate) use constraints::SetConstraints;
pub(crate) use copies::ALL_COLUMNS;
pub(crate) use database::without_database;
pub(crate) use errors::syntax;
pub use fetch::Direction;
pub(crate) use fetch::Fetch;
pub(crate) use forms::FORMS;
pub(crate) use frames::{Excluded, excluded};
pub(crate) use grouping_sets::NESTED_SETS;
pub(crate) use identities::{declared_sequence, drops_identity, names_sequence};
pub(crate) use merges::{DEFAULT_VALUES, OVERRIDING_SYSTEM, OVERRIDING_USER};
pub(crate) use procedure::ProcedureDefinition;
pub(crate) use quantifiers::{ALL, ANY};
pub(crate) use records::{Record, with_fields};
use recursions::with_recursions;
pub(crate) use recursions::{Clauses, take_clauses};
pub(crate) use rights_command::{ObjectKind, Objects, Privileges, RightsCommand, Role};
pub(crate) use rows_from::ROWS_FROM;
use rows_from::with_rows_from;
pub(crate) use sequence_command::{Restart, SequenceChange, SequenceCommand};
pub(crate) use shown::shown_text;
pub(crate) use symmetric::symmetric_bound;
pub(crate) use tables::{LIKE, UNSAID, is_without_data};
pub(crate) use type_command::{TypeChange, TypeCommand};
pub(crate) use wrapped::{query_of, selected_from};

use crate::error::{SqlError, code};
use crate::kept::keep;
use crate::lexer;
use crate::position::Places;
use arguments::with_arguments;
use block::{is_do, parse_do};
use collations::with_collations;
use comment::{Comment, is_comment, parse_comment};
use conflict::with_conflict_targets;
use constraints::{is_set_constraints, parse_set_constraints};
use copies::with_copy_options;
use deferrals::with_one_deferral;
use depth::check_depth;
use errors::{NESTING_MAX, at_location, escape_error};
use explains::with_explained_queries;
use fetch::{check_no_position, is_fetch, parse_fetch};
use forms::check_forms;
use frames::{with_cast_offsets, with_exclusions};
use grammar::check_grammar;
use grouping_sets::{with_nested_sets, with_whole_parts};
use identities::with_identities;
use intervals::with_digits;
use labels::with_labels;
pub(crate) use limits::count_with_ties;
use limits::with_limits;
pub(crate) use locks::WEAK;
use locks::with_locks;
use merges::with_merges;
use nested::with_nested_queries;
use procedure::{is_alter_procedure, is_procedure, parse_alter_procedure, parse_procedure};
use quantifiers::with_quantifiers;
use recursive_views::with_recursive_views;
use rights_command::{is_rights_command, parse_rights_command};
use sequence_command::{is_sequence_command, parse_sequence_command};
use signal::{is_signal, parse_signal};
use spellings::with_spellings;
use sqlparser::ast::{Expr, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, TokenizerError};
use std::ops::Range;
use substrings::with_substrings;
use symmetric::with_symmetric;
use table_queries::with_tables;
use tablespaces::without_tablespaces;
use trigger_arguments::with_trigger_arguments;
use type_command::{is_type_command, parse_type_command};
use whole_rows::with_whole_rows;

/// The longest text, in bytes.
pub const TEXT_BYTES_MAX: usize = 16 << 20;
/// The most statements in one text.
pub(crate) const STATEMENTS_MAX: usize = 10_000;
/// The most levels of queries nested in parentheses.
const QUERIES_MAX: usize = 16;
/// The most of those levels without a deeper stack: the parser needs much of it for each.
const QUERIES_SHALLOW: usize = 3;
/// The same of parentheses.
const LEVELS_SHALLOW: usize = 8;
/// The bytes of that stack.
const PARSER_STACK_BYTES: usize = 32 << 20;

/// A statement of a text.
#[derive(Debug)]
pub(crate) enum Parsed {
    Statement(Box<Statement>),
    /// `FETCH` or `MOVE`, which the parser does not know as PostgreSQL has them.
    Fetch(Fetch),
    /// `SET CONSTRAINTS`, which it does not know.
    Constraints(SetConstraints),
    /// `COMMENT ON`, of which it knows too little.
    Comment(Comment),
    /// `ALTER TYPE`, of which it knows too little.
    Type(Box<TypeCommand>),
    /// `ALTER SEQUENCE`, which it does not know.
    Sequence(Box<SequenceCommand>),
    /// `GRANT` and the like, of which it knows other forms.
    Rights(Box<RightsCommand>),
    /// `CREATE PROCEDURE`, of whose bodies it knows too little.
    Procedure(ProcedureDefinition),
    /// `DO`, which it does not know.
    Do(Block),
}

/// A statement of a text, and its bytes there: those between two semicolons.
pub(crate) type Part<S> = (S, Range<usize>);

/// The statements of a text.
///
/// # Errors
/// `42601` with the place, `54000` or `54001` beyond the bounds; `55000` for rows of a cursor that are not ahead.
pub(crate) fn parse(text: &str) -> Result<Vec<Part<Parsed>>, SqlError> {
    let tokens = tokens(text)?;
    check_grammar(&tokens).map_err(|(error, at)| at_location(text, error, at))?;
    parse_tokens(text, tokens)
}

fn parse_tokens(text: &str, tokens: Vec<TokenWithSpan>) -> Result<Vec<Part<Parsed>>, SqlError> {
    let (depth, levels) = query_depth(&tokens);
    if depth > QUERIES_MAX {
        return Err(SqlError::new(
            code::TOO_COMPLEX,
            format!("queries may be nested {QUERIES_MAX} deep"),
        ));
    }
    let parse = || parse_all(text, parser_of_tokens(tokens));
    match depth > QUERIES_SHALLOW || levels > LEVELS_SHALLOW {
        false => parse(),
        true => on_deep_stack(parse)?,
    }
}

/// Parses all statements of a parser.
fn parse_all(text: &str, mut parser: Parser<'_>) -> Result<Vec<Part<Parsed>>, SqlError> {
    let mut statements = Vec::new();
    let (mut places, mut from) = (Places::of(text), 0);
    loop {
        while parser.peek_token_ref().token == Token::SemiColon {
            from = places.byte(parser.next_token().span.end);
        }
        if matches!(parser.peek_token_ref().token, Token::EOF) {
            return Ok(statements);
        }
        if statements.len() == STATEMENTS_MAX {
            return Err(SqlError::new(
                code::PROGRAM_LIMIT,
                format!("a text has at most {STATEMENTS_MAX} statements"),
            ));
        }
        let parsed = match is_fetch(&parser) {
            true => Parsed::Fetch(parse_fetch(text, &mut parser)?),
            false if is_procedure(&parser) => {
                Parsed::Procedure(parse_procedure(text, &mut parser)?)
            }
            false if is_do(&parser) => Parsed::Do(parse_do(&mut parser)?),
            false if is_type_command(&parser) => {
                Parsed::Type(Box::new(parse_type_command(text, &mut parser)?))
            }
            false if is_sequence_command(&parser) => {
                Parsed::Sequence(Box::new(parse_sequence_command(text, &mut parser)?))
            }
            false if is_rights_command(&parser) => {
                Parsed::Rights(Box::new(parse_rights_command(text, &mut parser)?))
            }
            false if is_alter_procedure(&parser) => {
                Parsed::Statement(Box::new(parse_alter_procedure(text, &mut parser)?))
            }
            false if is_comment(&parser) => Parsed::Comment(parse_comment(text, &mut parser)?),
            false if is_set_constraints(&parser) => {
                Parsed::Constraints(parse_set_constraints(text, &mut parser)?)
            }
            false if is_signal(&parser) => {
                Parsed::Statement(Box::new(parse_signal(text, &mut parser)?))
            }
            false => {
                let statement = parser.parse_statement();
                let statement = statement.map_err(|error| syntax(text, error))?;
                let mut statement = Box::new(tables::without_into(statement));
                if let Statement::CreateView(view) = &mut *statement
                    && view.materialized
                {
                    tables::parse_data(&mut parser, view);
                }
                if matches!(*statement, Statement::CreateView(_)) {
                    tables::check_option(&parser)?;
                }
                keep(&mut statement)?;
                Parsed::Statement(statement)
            }
        };
        let next = parser.peek_token_ref();
        let end = match next.token {
            Token::EOF => text.len(),
            Token::SemiColon => places.byte(next.span.start),
            _ => {
                let found = parser.peek_token();
                let refused = parser.expected("end of statement", found);
                return refused.map_err(|error| syntax(text, error));
            }
        };
        statements.push((parsed, from..end));
    }
}

/// Parses a text that is kept in the database, or was made here: it has no cursors, which only clients have.
///
/// # Errors
/// As [`parse`]; `0A000` for `FETCH` and `MOVE`.
pub(crate) fn parse_kept(text: &str) -> Result<Vec<Statement>, SqlError> {
    let parts = parse_body(text, true)?.into_iter();
    Ok(parts.map(|(statement, _)| statement).collect())
}

/// Parses a text that the database is going to keep: the same, by the rules for new texts.
///
/// # Errors
/// As [`parse_kept`].
pub(crate) fn parse_new(text: &str) -> Result<Vec<Statement>, SqlError> {
    let parts = parse_body(text, false)?.into_iter();
    Ok(parts.map(|(statement, _)| statement).collect())
}

/// The statements of a body, which the database keeps or is going to keep, with their bytes in it.
///
/// # Errors
/// As [`parse_kept`].
pub(crate) fn parse_body(text: &str, is_kept: bool) -> Result<Vec<Part<Statement>>, SqlError> {
    let parsed = match is_kept {
        true => parse_tokens(text, tokens(text)?)?,
        false => parse(text)?,
    };
    let parts = parsed.into_iter();
    parts
        .map(|(parsed, at)| Ok((of_database(parsed)?, at)))
        .collect()
}

fn of_database(parsed: Parsed) -> Result<Statement, SqlError> {
    match parsed {
        Parsed::Statement(statement) => Ok(*statement),
        Parsed::Fetch(_) => Err(SqlError::unsupported(
            "cursors are of clients: neither views nor procedures have them",
        )),
        Parsed::Type(_) => Err(SqlError::unsupported(
            "ALTER TYPE is of clients: procedures do not have it",
        )),
        Parsed::Sequence(_) => Err(SqlError::unsupported(
            "ALTER SEQUENCE is of clients: procedures do not have it",
        )),
        Parsed::Rights(_) => Err(SqlError::unsupported(
            "GRANT and its kin are of clients: procedures do not have them",
        )),
        Parsed::Comment(_) => Err(SqlError::unsupported(
            "COMMENT is of clients: procedures do not have it",
        )),
        Parsed::Procedure(_) => Err(SqlError::unsupported(
            "CREATE PROCEDURE is of clients: procedures do not have it",
        )),
        Parsed::Do(_) => Err(SqlError::unsupported(
            "DO is of clients: procedures do not have it",
        )),
        Parsed::Constraints(_) => Err(SqlError::unsupported(
            "SET CONSTRAINTS is of clients: procedures do not have it",
        )),
    }
}

/// Parses a text that is one expression.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_expression(text: &str) -> Result<Expr, SqlError> {
    let tokens = tokens(text)?;
    let (depth, levels) = query_depth(&tokens);
    let parse = || {
        let mut parser = parser_of_tokens(tokens);
        let expression = parser.parse_expr().and_then(|expression| {
            parser.expect_token(&Token::EOF)?;
            Ok(expression)
        });
        expression.map_err(|error| syntax(text, error))
    };
    match depth > QUERIES_SHALLOW || levels > LEVELS_SHALLOW {
        false => parse(),
        true => on_deep_stack(parse)?,
    }
}

/// The type that a text names.
///
/// # Errors
/// `42601`; `42704` for a type that does not exist.
pub(crate) fn parsed_type(
    text: &str,
    names: &dyn crate::types::NamedTypes,
) -> Result<crate::types::TypeSpec, SqlError> {
    let mut parser = parser_of(text)?;
    let data_type = parser.parse_data_type().and_then(|data_type| {
        parser.expect_token(&Token::EOF)?;
        Ok(data_type)
    });
    let data_type = data_type.map_err(|error| syntax(text, error))?;
    crate::types::TypeSpec::of_data_type(&data_type, names)
}

/// A parser of a text, within the bounds.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parser_of(text: &str) -> Result<Parser<'static>, SqlError> {
    Ok(parser_of_tokens(tokens(text)?))
}

/// Runs a function on a stack of its own, deep enough for any text within the bounds.
fn on_deep_stack<R: Send>(body: impl FnOnce() -> R + Send) -> Result<R, SqlError> {
    let refused = || {
        SqlError::new(
            code::INSUFFICIENT_RESOURCES,
            "there is no thread for a text with queries in queries: try again",
        )
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("sql-parser".into())
            .stack_size(PARSER_STACK_BYTES);
        let thread = thread.spawn_scoped(scope, body).map_err(|_| refused())?;
        thread.join().map_err(|_| refused())
    })
}

/// The depth of nested queries in parentheses, and of all parentheses, in a text.
fn query_depth(tokens: &[TokenWithSpan]) -> (usize, usize) {
    let mut levels: Vec<bool> = Vec::new();
    let (mut depth, mut deepest, mut most, mut begins) = (0_usize, 0_usize, 0_usize, false);
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::LParen => {
                levels.push(false);
                most = most.max(levels.len());
                begins = true;
                continue;
            }
            Token::RParen => depth -= usize::from(levels.pop() == Some(true)),
            Token::Word(word) if begins && word.quote_style.is_none() => {
                let words = ["select", "with", "values", "table"];
                let is_query = words
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(&word.value));
                if let (true, Some(level)) = (is_query, levels.last_mut()) {
                    *level = true;
                    depth += 1;
                    deepest = deepest.max(depth);
                }
            }
            _ => {}
        }
        begins = false;
    }
    (deepest, most)
}

fn parser_of_tokens(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&PostgreSqlDialect {})
        .with_recursion_limit(NESTING_MAX)
        .with_tokens_with_locations(tokens)
}

/// The tokens of a text as they are written, within the bound on its length.
///
/// # Errors
/// `42601` with the place, `54000` beyond the bound.
fn plain_tokens(text: &str) -> Result<Vec<TokenWithSpan>, SqlError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!("a text has at most {TEXT_BYTES_MAX} bytes"),
        )
        .hint("Use COPY, or parameters, for large data."));
    }
    lexer::tokens(text).map_err(|TokenizerError { message, location }| {
        let of_escape = escape_error(text, &message, location);
        let error = of_escape.unwrap_or_else(|| SqlError::syntax(message));
        at_location(text, error, location)
    })
}

/// The tokens of a text, with clauses that the parser does not know written as ones that it knows.
///
/// # Errors
/// As [`parse`].
pub(crate) fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, SqlError> {
    let tokens = plain_tokens(text)?;
    let deep = check_depth(&tokens, 4 * NESTING_MAX);
    deep.map_err(|(error, at)| at_location(text, error, at))?;
    check_forms(&tokens).map_err(|(error, at)| at_location(text, error, at))?;
    check_no_position(&tokens).map_err(|(error, at)| at_location(text, error, at))?;
    let tokens = with_recursions(with_rows_from(with_recursive_views(tokens)));
    let tokens = with_spellings(with_substrings(tokens));
    let tokens = with_trigger_arguments(with_explained_queries(with_nested_queries(tokens)));
    let tokens = with_one_deferral(without_tablespaces(tokens)?);
    let tokens = with_arguments(with_symmetric(with_whole_rows(tokens)));
    let tokens = with_nested_sets(with_exclusions(with_cast_offsets(tokens)));
    let tokens = with_whole_parts(tokens);
    let tokens = with_conflict_targets(
        text,
        with_limits(with_digits(with_quantifiers(with_merges(tokens)))),
    );
    let tokens = with_identities(with_collations(with_copy_options(with_tables(tokens))));
    let tokens = with_locks(without_modes(with_labels(tokens)));
    Ok(tables::with_columns(tokens))
}

/// Removes modes that the parser does not know, and that all transactions have: `[NOT] DEFERRABLE` of a transaction,
/// since one that reads never waits nor fails.
fn without_modes(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_one = |token: &TokenWithSpan| {
        matches!(&token.token, Token::Word(word)
            if word.value.eq_ignore_ascii_case("deferrable"))
    };
    if !tokens.iter().any(is_one) {
        return tokens;
    }
    let words: Vec<(usize, String)> = (tokens.iter().enumerate())
        .filter_map(|(at, token)| match &token.token {
            Token::Whitespace(_) => None,
            Token::Word(word) if word.quote_style.is_none() => {
                Some((at, word.value.to_ascii_lowercase()))
            }
            Token::Comma => Some((at, ",".into())),
            Token::SemiColon => Some((at, ";".into())),
            _ => Some((at, String::new())),
        })
        .collect();
    let word = |at: usize| words.get(at).map_or("", |(_, word)| word.as_str());
    let mut dropped = Vec::new();
    let mut is_of_transaction = false;
    for at in 0..words.len() {
        if at == 0 || word(at - 1) == ";" {
            is_of_transaction = match word(at) {
                "begin" | "start" => true,
                "set" => matches!(word(at + 1), "transaction" | "session"),
                _ => false,
            };
        }
        if is_of_transaction && word(at) == "deferrable" {
            let first = if word(at - 1) == "not" { at - 1 } else { at };
            let is_behind = word(first - 1) == ",";
            let first = if is_behind { first - 1 } else { first };
            // A comma behind the first mode belongs to it.
            let last = if !is_behind && word(at + 1) == "," {
                at + 1
            } else {
                at
            };
            dropped.extend(first..=last);
        }
    }
    for at in dropped.into_iter().rev() {
        if let Some((place, _)) = words.get(at) {
            tokens.remove(*place);
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::parse;

    /// The rewriting of clauses looks for them at each place of a text. A search from each place to the end would take
    /// hours here.
    #[test]
    fn a_text_of_many_beginnings_of_clauses_is_read_in_linear_time() {
        for (begin, repeated) in [
            ("select 1 collate \"C\" ", "alter a type "),
            (
                "alter table t collate type ",
                "alter column a set data type ((",
            ),
            ("alter table t drop ", "alter column a drop identity if "),
            (
                "alter table t ",
                "alter a add generated always as identity (sequence ",
            ),
            ("alter identity drop collate type ", " "),
            ("alter identity drop collate type ", "\n"),
            ("select 1 of ", "for update of a, "),
            ("create table t (", "like a including "),
            ("select ", "fetch first ("),
            ("select exclude rows ", "range 1 exclude ties) "),
            ("select preceding ", "and '1'::"),
            ("select ", "grouping sets ("),
            ("merge into a using b join c ", "on d when case "),
            ("merge into a using b on c then ", "insert (a) overriding "),
            ("select ", "in ((select 1) union "),
            ("", "create index () tablespace pg_default;"),
            ("select ", "(("),
        ] {
            let text = format!("{begin}{}", repeated.repeat(20_000));
            // Most are refused; all end.
            let _ = parse(&text);
        }
    }
}
