//! `VACUUM`, `ANALYZE` and `REINDEX`: their grammar, and the tables, columns and indexes that they name.
//!
//! They change nothing, since rows have no dead versions and plans no statistics. The objects that they name must
//! exist.

use crate::class::Special;
use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::parse::{parser_of, syntax};
use crate::path::{is_of_catalogue, local, unknown_schema};
use crate::relation::{Relation, index_named};
use crate::schemas::has_schema;
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::views::view_named;
use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// The object that a statement names.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Target {
    /// A table, and some of its columns.
    Table(ObjectName, Vec<String>),
    Index(ObjectName),
    Schema(String),
}

/// A statement of maintenance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Maintenance {
    special: Special,
    targets: Vec<Target>,
    analyzes: bool,
    is_alone: bool,
}

/// An option in parentheses, with its value.
type Choice = (String, Option<String>);

impl Maintenance {
    /// Reads a statement.
    ///
    /// # Errors
    /// `42601` for invalid syntax.
    pub fn parse(special: Special, text: &str) -> Result<Maintenance, SqlError> {
        let mut parser = parser_of(text)?;
        let read = Maintenance::read(special, &mut parser);
        let read = read.map_err(|error| match error {
            Wrong::Syntax(error) => syntax(text, error),
            Wrong::Other(error) => error,
        })?;
        let _ = parser.consume_token(&Token::SemiColon);
        match parser.peek_token_ref().token {
            Token::EOF => Ok(read),
            _ => {
                let found = parser.peek_token();
                let refused = parser.expected("end of statement", found);
                refused.map_err(|error| syntax(text, error))
            }
        }
    }

    fn read(special: Special, parser: &mut Parser<'_>) -> Result<Maintenance, Wrong> {
        parser.next_token();
        let mut read = Maintenance {
            special,
            targets: Vec::new(),
            analyzes: special == Special::Analyze,
            is_alone: special == Special::Vacuum,
        };
        let choices = choices(parser)?;
        let has_choices = choices.is_some();
        let (mut is_full, mut is_parallel) = (false, false);
        for (name, value) in choices.unwrap_or_default() {
            let is_on = check_choice(special, &name, value.as_deref())?;
            is_full |= name == "full" && is_on;
            is_parallel |= name == "parallel" && value.as_deref() != Some("0");
            read.analyzes |= name == "analyze" && is_on;
            read.is_alone |= name == "concurrently" && is_on;
        }
        if is_full && is_parallel {
            let text = "VACUUM FULL cannot be performed in parallel";
            return Err(SqlError::unsupported(text).into());
        }
        if special == Special::Reindex {
            read.reindexed(parser)?;
            return Ok(read);
        }
        if !has_choices {
            let words: &[&str] = match special {
                Special::Vacuum => &["full", "freeze", "verbose", "analyze"],
                _ => &["verbose"],
            };
            for word in words {
                let is_there = take_word(parser, word);
                read.analyzes |= is_there && *word == "analyze";
            }
        }
        if special == Special::Checkpoint
            || matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon)
        {
            return Ok(read);
        }
        loop {
            let name = parser.parse_object_name(false)?;
            let mut columns = Vec::new();
            if parser.consume_token(&Token::LParen) {
                let names = parser.parse_comma_separated(|parser| parser.parse_identifier())?;
                columns.extend(names.iter().map(name_of));
                parser.expect_token(&Token::RParen)?;
            }
            read.targets.push(Target::Table(name, columns));
            if !parser.consume_token(&Token::Comma) {
                return Ok(read);
            }
        }
    }

    /// Reads the target of `REINDEX`.
    fn reindexed(&mut self, parser: &mut Parser<'_>) -> Result<(), Wrong> {
        let kinds = ["index", "table", "schema", "database", "system"];
        let found = kinds.into_iter().find(|word| take_word(parser, word));
        let Some(kind) = found else {
            let found = parser.peek_token();
            return Ok(parser.expected("INDEX, TABLE, SCHEMA or DATABASE", found)?);
        };
        self.is_alone |= take_word(parser, "concurrently") || !matches!(kind, "index" | "table");
        let is_whole = matches!(kind, "database" | "system");
        if is_whole && matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
            return Ok(());
        }
        let name = parser.parse_object_name(false)?;
        match kind {
            "index" => self.targets.push(Target::Index(name)),
            "table" => {
                self.targets.push(Target::Table(name, Vec::new()));
            }
            "schema" => {
                let name = crate::names::parts_of(&name)?.pop().unwrap_or_default();
                self.targets.push(Target::Schema(name));
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that it may run inside a transaction.
    ///
    /// # Errors
    /// `25001` if it may not.
    pub fn check_in_transaction(&self) -> Result<(), SqlError> {
        match self.is_alone || self.special == Special::Checkpoint {
            false => Ok(()),
            true => Err(SqlError::new(
                code::ACTIVE_TRANSACTION,
                format!(
                    "{} cannot run inside a transaction block",
                    self.special.word()
                ),
            )),
        }
    }

    /// Checks that the named objects exist.
    ///
    /// # Errors
    /// `42P01`, `42703` and `3F000` for those that do not; `42809` for an index that is a table.
    pub fn check(&self, source: &dyn Source, path: &SearchPath) -> Result<(), SqlError> {
        let mut targets = self.targets.iter();
        targets.try_for_each(|target| self.check_target(target, source, path))
    }

    fn check_target(
        &self,
        target: &Target,
        source: &dyn Source,
        path: &SearchPath,
    ) -> Result<(), SqlError> {
        match target {
            Target::Table(name, columns) => {
                let name = &path.find(source, name)?;
                if view_named(source, name)?.is_some() {
                    // PostgreSQL warns, and skips it.
                    return Ok(());
                }
                let relation = Relation::named(source, name)?;
                if !columns.is_empty() && !self.analyzes {
                    return Err(SqlError::unsupported(
                        "ANALYZE option must be specified when a column list is provided",
                    ));
                }
                let mut rest = columns.iter();
                while let Some(column) = rest.next() {
                    if rest.clone().any(|other| other == column) {
                        return Err(SqlError::new(
                            code::DUPLICATE_COLUMN,
                            format!(
                                "column \"{column}\" of relation \"{}\" appears more than once",
                                relation.local()
                            ),
                        ));
                    }
                }
                columns
                    .iter()
                    .try_for_each(|name| relation.column(name).map(drop))
            }
            Target::Index(name) => {
                let name = &path.find(source, name)?;
                match index_named(source, name) {
                    Some(_) => Ok(()),
                    None if Relation::named(source, name).is_ok() => Err(SqlError::new(
                        code::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is not an index", local(name)),
                    )),
                    None => Err(SqlError::unknown_table(name)),
                }
            }
            Target::Schema(name) => {
                let is_there = is_of_catalogue(name) || name == "pg_toast";
                match is_there || has_schema(source, name)? {
                    true => Ok(()),
                    false => Err(unknown_schema(name)),
                }
            }
        }
    }
}

/// A parse error whose place in the text is not known yet.
enum Wrong {
    Syntax(ParserError),
    Other(SqlError),
}

impl From<ParserError> for Wrong {
    fn from(error: ParserError) -> Wrong {
        Wrong::Syntax(error)
    }
}

impl From<SqlError> for Wrong {
    fn from(error: SqlError) -> Wrong {
        Wrong::Other(error)
    }
}

/// Takes a word that is not in quotes.
fn take_word(parser: &mut Parser<'_>, word: &str) -> bool {
    let is_it = matches!(&parser.peek_token_ref().token, Token::Word(found)
        if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word));
    if is_it {
        parser.next_token();
    }
    is_it
}

/// The options in parentheses, if there are any.
fn choices(parser: &mut Parser<'_>) -> Result<Option<Vec<Choice>>, Wrong> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(None);
    }
    let mut choices = Vec::new();
    loop {
        let name = parser.parse_identifier()?.value.to_ascii_lowercase();
        let name = match name.as_str() {
            "analyse" => "analyze".into(),
            _ => name,
        };
        let value = match &parser.peek_token_ref().token {
            Token::Comma | Token::RParen => None,
            Token::Word(word) if word.keyword == Keyword::NULL => None,
            Token::Word(word) => Some(word.value.to_ascii_lowercase()),
            Token::Number(digits, _) => Some(digits.clone()),
            Token::SingleQuotedString(text) => Some(text.to_ascii_lowercase()),
            _ => None,
        };
        if value.is_some() {
            parser.next_token();
        }
        choices.push((name, value));
        if parser.consume_token(&Token::Comma) {
            continue;
        }
        parser.expect_token(&Token::RParen)?;
        return Ok(Some(choices));
    }
}

/// Checks an option of a statement. Returns true if it is on.
fn check_choice(special: Special, name: &str, value: Option<&str>) -> Result<bool, SqlError> {
    let word = special.word();
    let known: &[&str] = match special {
        Special::Checkpoint => &[],
        Special::Vacuum => &[
            "full",
            "freeze",
            "verbose",
            "analyze",
            "disable_page_skipping",
            "skip_locked",
            "index_cleanup",
            "process_toast",
            "truncate",
            "parallel",
        ],
        Special::Analyze => &["verbose", "skip_locked"],
        Special::Reindex => &["verbose", "concurrently", "tablespace"],
    };
    if !known.contains(&name) {
        return Err(SqlError::syntax(format!(
            "unrecognized {word} option \"{name}\""
        )));
    }
    match (name, value) {
        ("tablespace", _) => Err(SqlError::unsupported(
            "REINDEX with TABLESPACE is not supported",
        )),
        ("parallel", Some(workers)) if workers.parse::<u32>().is_ok_and(|count| count <= 1024) => {
            Ok(true)
        }
        ("parallel", _) => Err(SqlError::syntax(
            "parallel option requires a value between 0 and 1024",
        )),
        ("index_cleanup", Some("auto")) | (_, None | Some("true" | "on" | "1")) => Ok(true),
        (_, Some("false" | "off" | "0")) => Ok(false),
        _ => Err(SqlError::syntax(format!("{name} requires a Boolean value"))),
    }
}
