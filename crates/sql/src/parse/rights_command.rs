//! `GRANT`, `REVOKE`, `ALTER DEFAULT PRIVILEGES`, and statements on roles: the parser knows other forms of them.
//!
//! They are read as far as their meaning here depends on them: the configuration has users and rights, so it is enough to
//! know what a statement asks for.

use super::errors::syntax;
use crate::error::{SqlError, code};
use crate::names::{DATABASE, name_of, parts_of};
use sqlparser::ast::{DataType, ObjectName};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// A statement on rights or roles.
#[derive(Clone, Debug)]
pub(crate) enum RightsCommand {
    Privileges(Privileges),
    /// A role is made a member of others, or no longer.
    Membership {
        is_grant: bool,
    },
    /// `CREATE`, `ALTER` or `DROP` of roles, and of what they own.
    Roles {
        word: &'static str,
        names: Vec<Role>,
        if_exists: bool,
    },
}

impl RightsCommand {
    /// Checks the names of databases: there is one, under the name by which the session connected and its own.
    ///
    /// # Errors
    /// `3D000` for another name.
    pub fn check_databases(&self, connected: &str) -> Result<(), SqlError> {
        let RightsCommand::Privileges(Privileges {
            on: Objects::Named(ObjectKind::Database, names),
            ..
        }) = self
        else {
            return Ok(());
        };
        for name in names {
            let name = parts_of(name)?.pop().unwrap_or_default();
            if name != connected && name != DATABASE {
                let text = format!("database \"{name}\" does not exist");
                return Err(SqlError::new(code::UNKNOWN_DATABASE, text));
            }
        }
        Ok(())
    }
}

/// The types of a routine's arguments, if they are named.
pub(crate) type Arguments = Option<Vec<DataType>>;

/// Privileges to give or to take.
#[derive(Clone, Debug)]
pub(crate) struct Privileges {
    pub is_grant: bool,
    /// In lower case; `all` for all.
    pub privileges: Vec<String>,
    pub on: Objects,
    /// The types of the arguments of routines, for each that is named with them.
    pub arguments: Vec<Arguments>,
    pub roles: Vec<Role>,
    /// `WITH GRANT OPTION`, or `GRANT OPTION FOR`.
    pub has_option: bool,
    /// True in `ALTER DEFAULT PRIVILEGES`.
    pub is_default: bool,
}

/// The objects of privileges.
#[derive(Clone, Debug)]
pub(crate) enum Objects {
    Named(ObjectKind, Vec<ObjectName>),
    /// All in schemas.
    AllIn(ObjectKind, Vec<ObjectName>),
    /// Objects that are made later.
    New(ObjectKind),
}

impl Objects {
    pub fn kind(&self) -> ObjectKind {
        match self {
            Objects::Named(kind, _) | Objects::AllIn(kind, _) | Objects::New(kind) => *kind,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ObjectKind {
    Table,
    Sequence,
    Schema,
    Database,
    /// By its word.
    Routine(&'static str),
    Type,
    /// Of a kind that is not there.
    Other(&'static str),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Named(String),
    Public,
    /// The session's user.
    Current,
}

/// The kinds of objects by the words for one and for all.
const KINDS: [(&str, &str, ObjectKind); 13] = [
    ("table", "tables", ObjectKind::Table),
    ("sequence", "sequences", ObjectKind::Sequence),
    ("schema", "schemas", ObjectKind::Schema),
    ("database", "", ObjectKind::Database),
    ("function", "functions", ObjectKind::Routine("function")),
    ("procedure", "procedures", ObjectKind::Routine("procedure")),
    ("routine", "routines", ObjectKind::Routine("routine")),
    ("type", "types", ObjectKind::Type),
    ("domain", "", ObjectKind::Type),
    ("language", "", ObjectKind::Other("LANGUAGE")),
    ("tablespace", "", ObjectKind::Other("TABLESPACE")),
    ("parameter", "", ObjectKind::Other("PARAMETER")),
    ("foreign", "", ObjectKind::Other("FOREIGN")),
];

/// True if the next statement is one of these.
pub(crate) fn is_rights_command(parser: &Parser<'_>) -> bool {
    let is_one = |at: usize, known: &[&str]| {
        matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
            if word.quote_style.is_none()
                && known.iter().any(|known| word.value.eq_ignore_ascii_case(known)))
    };
    if is_one(0, &["grant", "revoke"]) || is_one(0, &["reassign"]) && is_one(1, &["owned"]) {
        return true;
    }
    let is_role = is_one(1, &["role", "user", "group"]) && !is_one(2, &["mapping"]);
    is_one(0, &["create", "alter", "drop"]) && is_role
        || is_one(0, &["alter"]) && is_one(1, &["default"]) && is_one(2, &["privileges"])
        || is_one(0, &["drop"]) && is_one(1, &["owned"])
}

/// Reads it.
///
/// # Errors
/// `42601`.
pub(crate) fn parse_rights_command(
    text: &str,
    parser: &mut Parser<'_>,
) -> Result<RightsCommand, SqlError> {
    command(parser).map_err(|error| syntax(text, error))
}

fn command(parser: &mut Parser<'_>) -> Result<RightsCommand, ParserError> {
    if take(parser, "grant") {
        return privileges(parser, true, false);
    }
    if take(parser, "revoke") {
        return privileges(parser, false, false);
    }
    if take(parser, "reassign") {
        return owned(parser, "REASSIGN OWNED");
    }
    let (is_create, is_drop) = (take(parser, "create"), take(parser, "drop"));
    if !is_create && !is_drop {
        parser.next_token();
        if take(parser, "default") {
            return default_privileges(parser);
        }
    }
    if is_drop && take(parser, "owned") {
        take_back(parser);
        return owned(parser, "DROP OWNED");
    }
    parser.next_token();
    let if_exists = is_drop && take(parser, "if") && take(parser, "exists");
    let word = match (is_create, is_drop) {
        (true, _) => "CREATE ROLE",
        (_, true) => "DROP ROLE",
        _ => "ALTER ROLE",
    };
    let names = match is_drop {
        true => roles(parser)?,
        false => vec![role(parser)?],
    };
    if !is_drop {
        skip(parser);
    }
    Ok(RightsCommand::Roles {
        word,
        names,
        if_exists,
    })
}

/// `OWNED BY roles …`.
fn owned(parser: &mut Parser<'_>, word: &'static str) -> Result<RightsCommand, ParserError> {
    expect(parser, "owned")?;
    expect(parser, "by")?;
    let names = roles(parser)?;
    skip(parser);
    Ok(RightsCommand::Roles {
        word,
        names,
        if_exists: false,
    })
}

fn default_privileges(parser: &mut Parser<'_>) -> Result<RightsCommand, ParserError> {
    expect(parser, "privileges")?;
    if take(parser, "for") {
        parser.next_token();
        roles(parser)?;
    }
    if take(parser, "in") {
        expect(parser, "schema")?;
        names(parser)?;
    }
    match take(parser, "grant") {
        true => privileges(parser, true, true),
        false => {
            expect(parser, "revoke")?;
            privileges(parser, false, true)
        }
    }
}

/// The words behind `GRANT` or `REVOKE`.
fn privileges(
    parser: &mut Parser<'_>,
    is_grant: bool,
    is_default: bool,
) -> Result<RightsCommand, ParserError> {
    let mut has_option = false;
    if !is_grant && take(parser, "grant") {
        expect(parser, "option")?;
        expect(parser, "for")?;
        has_option = true;
    }
    let given = parser.parse_comma_separated(privilege)?;
    let to = if is_grant { "to" } else { "from" };
    if !take(parser, "on") {
        expect(parser, to)?;
        roles(parser)?;
        skip(parser);
        return Ok(RightsCommand::Membership { is_grant });
    }
    let (on, arguments) = objects(parser, is_default)?;
    expect(parser, to)?;
    let roles = roles(parser)?;
    if is_grant && take(parser, "with") {
        expect(parser, "grant")?;
        expect(parser, "option")?;
        has_option = true;
    }
    if take(parser, "granted") {
        expect(parser, "by")?;
        role(parser)?;
    }
    if !is_grant && !take(parser, "cascade") {
        take(parser, "restrict");
    }
    Ok(RightsCommand::Privileges(Privileges {
        is_grant,
        privileges: given,
        on,
        arguments,
        roles,
        has_option,
        is_default,
    }))
}

/// A privilege, also of columns, or the name of a role.
fn privilege(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let name = name_of(&parser.parse_identifier()?);
    if name == "all" {
        take(parser, "privileges");
    }
    // `ALTER SYSTEM` and `SET` of parameters.
    take(parser, "system");
    if parser.consume_token(&Token::LParen) {
        parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(name)
}

fn objects(
    parser: &mut Parser<'_>,
    is_default: bool,
) -> Result<(Objects, Vec<Arguments>), ParserError> {
    if is_default || take(parser, "all") {
        let found = KINDS
            .iter()
            .find(|(_, all, _)| !all.is_empty() && take(parser, all));
        let Some((_, _, kind)) = found else {
            let next = parser.peek_token();
            return parser.expected("the kind of objects", next);
        };
        if is_default {
            return Ok((Objects::New(*kind), Vec::new()));
        }
        expect(parser, "in")?;
        expect(parser, "schema")?;
        return Ok((Objects::AllIn(*kind, names(parser)?.0), Vec::new()));
    }
    // A table may have the name of a kind.
    let is_name = matches!(
        parser.peek_nth_token_ref(1).token,
        Token::Comma | Token::Period
    ) || is_word(parser, 1, "to")
        || is_word(parser, 1, "from");
    let found = KINDS
        .iter()
        .find(|(one, _, _)| !is_name && take(parser, one));
    let kind = found.map_or(ObjectKind::Table, |(_, _, kind)| *kind);
    if kind == ObjectKind::Other("FOREIGN") {
        parser.next_token();
        take(parser, "wrapper");
    }
    let (names, arguments) = names(parser)?;
    Ok((Objects::Named(kind, names), arguments))
}

/// Names of objects; those of routines with their arguments.
fn names(parser: &mut Parser<'_>) -> Result<(Vec<ObjectName>, Vec<Arguments>), ParserError> {
    let all = parser.parse_comma_separated(|parser| {
        let name = parser.parse_object_name(false)?;
        Ok((name, arguments(parser)?))
    })?;
    Ok(all.into_iter().unzip())
}

/// The types of the arguments of a routine, if it has parentheses behind its name.
fn arguments(parser: &mut Parser<'_>) -> Result<Arguments, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(None);
    }
    if parser.consume_token(&Token::RParen) {
        return Ok(Some(Vec::new()));
    }
    let types = parser.parse_comma_separated(|parser| {
        if !take(parser, "in") {
            take(parser, "variadic");
        }
        let first = parser.parse_data_type()?;
        // A name comes before its type.
        match parser.peek_token_ref().token {
            Token::Comma | Token::RParen => Ok(first),
            _ => parser.parse_data_type(),
        }
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(Some(types))
}

fn roles(parser: &mut Parser<'_>) -> Result<Vec<Role>, ParserError> {
    parser.parse_comma_separated(role)
}

fn role(parser: &mut Parser<'_>) -> Result<Role, ParserError> {
    take(parser, "group");
    let word = parser.parse_identifier()?;
    let name = name_of(&word);
    Ok(match (word.quote_style, &*name) {
        (None, "public") => Role::Public,
        (None, "current_user" | "session_user" | "current_role") => Role::Current,
        _ => Role::Named(name),
    })
}

/// Goes to the end of the statement.
fn skip(parser: &mut Parser<'_>) {
    while !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        parser.next_token();
    }
}

fn is_word(parser: &Parser<'_>, at: usize, known: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(known))
}

fn take(parser: &mut Parser<'_>, known: &str) -> bool {
    let is_it = is_word(parser, 0, known);
    if is_it {
        parser.next_token();
    }
    is_it
}

fn take_back(parser: &mut Parser<'_>) {
    parser.prev_token();
}

fn expect(parser: &mut Parser<'_>, known: &str) -> Result<(), ParserError> {
    match take(parser, known) {
        true => Ok(()),
        false => {
            let next = parser.peek_token();
            parser.expected(&known.to_uppercase(), next)
        }
    }
}
