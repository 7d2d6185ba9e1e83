//! Objects of the catalogue by their names: `regclass`, `regtype` and the like are numbers, read from and written as names.
//!
//! Source: PostgreSQL's documentation, 8.19; `regproc.c`.

use super::catalogue::type_name;
use super::definition::*;
use super::named_tables::{table_named, with_tables};
use super::{all, function_number, place_numbered};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Expr};
use crate::names::quoted;
use crate::parse::parser_of;
use crate::path::{is_of_catalogue, name_in, unknown_schema};
use crate::routines::{self, RoutineDefinition};
use crate::schemas::has_schema;
use crate::types::functions::{self as of_types, TypeFunction};
use crate::types::{NamedCollation, OwnTypes, SqlType, TypeSpec, without_values};
use crate::user_types::TypeNames;
use crate::values::search::Config;
use sardonyx::schema::Value;
use sqlparser::tokenizer::Token;

pub(super) static TABLE: &[Definition] = functions! {
    to_regclass(TEXT) -> REGCLASS, |a, with| found(SqlType::Regclass, a.text(0), with), "number of a table; null if there is none", stable;
    to_regcollation(TEXT) -> REGCOLLATION, |a, with| found(SqlType::Regcollation, a.text(0), with), "number of a collation; null if there is none", stable;
    to_regnamespace(TEXT) -> REGNAMESPACE, |a, with| found(SqlType::Regnamespace, a.text(0), with), "number of a schema; null if there is none", stable;
    to_regproc(TEXT) -> REGPROC, |a, with| found(SqlType::Regproc, a.text(0), with), "number of a function by its name; null if there is none, or several", stable;
    to_regprocedure(TEXT) -> REGPROCEDURE, |a, with| found(SqlType::Regprocedure, a.text(0), with), "number of a function by its name and the types of its arguments; null if there is none", stable;
    to_regrole(TEXT) -> REGROLE, |a, with| found(SqlType::Regrole, a.text(0), with), "number of a user; null if there is none", stable;
    to_regtype(TEXT) -> REGTYPE, |a, with| found(SqlType::Regtype, a.text(0), with), "number of a type; null if there is none", stable;
};

/// The number of the user that owns all objects, of whom a session knows its own name only.
const OWNER: u32 = 10;

/// The name of an object's number: the number of the object's type, and that of the object.
pub(crate) static OBJECT_NAME: Definition = Definition::new(
    "regout",
    &[INT4, OID],
    TEXT,
    |a, with| {
        let oid = a.oid(1).unwrap_or(0);
        let name = object_name(a.kind(0), oid, with)?;
        text(name.unwrap_or_else(|| oid.to_string()))
    },
    "",
)
.stable();

/// The number of an object's name: the number of the object's type, and the name.
pub(crate) static OBJECT_NUMBER: Definition = Definition::new(
    "regin",
    &[INT4, TEXT],
    OID,
    |a, with| {
        let (kind, name) = (a.kind(0), a.text(1));
        if let Ok(number) = name.parse::<u32>() {
            return int(number);
        }
        if name == "-" {
            return int(0);
        }
        let number = numbered(kind, name, with)?;
        number.map_or_else(|| Err(absent(kind, name)), int)
    },
    "",
)
.stable();

/// The number of a table's name.
pub(crate) static TABLE_NUMBER: Definition = Definition::new(
    "regclassin",
    &[TEXT],
    REGCLASS,
    |a, with| {
        if a.text(0) == "-" {
            return int(0);
        }
        let found = table_numbered(a.text(0), with)?;
        found.map_or_else(|| Err(no_table(a.text(0), with)), int)
    },
    "",
)
.stable();

/// The number of a table whose name a text is: neither a number nor `-` is one, other than in a literal.
pub(crate) static TABLE_OF_TEXT: Definition = Definition::new(
    "regclass",
    &[TEXT],
    REGCLASS,
    |a, with| {
        let found = table_named(a.text(0), with)?;
        found.map_or_else(|| Err(no_table(a.text(0), with)), int)
    },
    "",
)
.stable();

/// The number of a text that may name an object.
fn found(kind: SqlType, name: &str, with: &Environment<'_>) -> Answer {
    // A number in digits names nothing.
    let is_number = !name.is_empty() && name.bytes().all(|digit| digit.is_ascii_digit());
    if kind == SqlType::Regclass && !is_number {
        return Ok(table_numbered(name, with)?.map_or(Value::Null, number));
    }
    match numbered(kind, name, with) {
        _ if is_number && kind == SqlType::Regtype => Err(no_type_name(name)),
        _ if is_number && kind != SqlType::Regprocedure => Ok(Value::Null),
        Ok(found) => Ok(found.map_or(Value::Null, number)),
        Err(error)
            if ["42725", code::UNKNOWN_FUNCTION, code::UNKNOWN_SCHEMA].contains(&error.code) =>
        {
            Ok(Value::Null)
        }
        Err(error) => Err(error),
    }
}

fn number(oid: u32) -> Value {
    Value::Int(oid.into())
}

/// The name by which an object is shown; `None` if none has the number.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn object_name(
    kind: SqlType,
    oid: u32,
    with: &Environment<'_>,
) -> Result<Option<String>, SqlError> {
    if oid == 0 {
        return Ok(Some("-".to_string()));
    }
    Ok(match kind {
        SqlType::Regclass => with_tables(with, |tables, path| tables.name(path, oid)),
        SqlType::Regtype => Some(type_name(oid, -1, with)?).filter(|name| name != "???"),
        SqlType::Regproc | SqlType::Regprocedure => function_name(oid, kind, with)?,
        SqlType::Regnamespace => {
            let schemas = schemas(with)?.into_iter();
            let mut named = schemas.filter(|(_, number)| *number == oid);
            named.next().map(|(name, _)| quoted(&name))
        }
        SqlType::Regrole => (oid == OWNER).then(|| quoted(&with.context.user)),
        SqlType::Regconfig => Config::of_number(oid).map(|known| known.name().to_string()),
        SqlType::Regcollation => {
            let mut named = NamedCollation::all().filter(|known| known.oid() == oid);
            named.next().map(|known| quoted(known.name()))
        }
        _ => None,
    })
}

/// The schemas with their numbers.
fn schemas(with: &Environment<'_>) -> Result<Vec<(String, u32)>, SqlError> {
    match with.reading {
        Some(reading) => with.context.catalogue.schemas(reading.source),
        None => Err(SqlError::unsupported(
            "schemas cannot be asked for where no table is read",
        )),
    }
}

/// The name of a function, with its schema if it has namesakes, or with the types of its arguments.
fn function_name(
    oid: u32,
    kind: SqlType,
    with: &Environment<'_>,
) -> Result<Option<String>, SqlError> {
    let (name, has_namesakes) = match (function_of_type(oid), function_numbered(oid)) {
        (Some(of_type), _) => (of_type.name.clone(), false),
        (None, Some(function)) => {
            let namesakes = || all().filter(|known| known.is(function.0.name)).count();
            let has_namesakes = kind == SqlType::Regproc && namesakes() > 1;
            (quoted(function.0.name), has_namesakes)
        }
        (None, None) => return routine_name(oid, kind, with),
    };
    Ok(match (kind, arguments_of(oid, with)?) {
        (SqlType::Regproc, _) if has_namesakes => Some(format!("pg_catalog.{name}")),
        (SqlType::Regproc, _) => Some(name),
        (_, kinds) => kinds.map(|kinds| format!("{name}({})", kinds.join(","))),
    })
}

/// The name of a user's function, in the same way.
fn routine_name(
    oid: u32,
    kind: SqlType,
    with: &Environment<'_>,
) -> Result<Option<String>, SqlError> {
    let Some(reading) = with.reading else {
        return Ok(None);
    };
    let Some(found) = routines::numbered(reading.source, oid)? else {
        return Ok(None);
    };
    let settings = with.context.settings.borrow();
    let seen = routines::named(reading.source, settings.path(), None, &found.name)?;
    let mut name = quoted(&found.name).to_string();
    if seen.iter().all(|one| one.number != oid) || kind == SqlType::Regproc && seen.len() > 1 {
        name = format!("{}.{name}", quoted(&found.schema));
    }
    if kind == SqlType::Regproc {
        return Ok(Some(name));
    }
    let kinds = found.parameters.iter();
    let kinds: Result<Vec<_>, _> = kinds.map(|one| type_name(one.kind, -1, with)).collect();
    Ok(Some(format!("{name}({})", kinds?.join(","))))
}

/// The functions of users that a text names.
fn routines_named(text: &str, with: &Environment<'_>) -> Result<Vec<RoutineDefinition>, SqlError> {
    let Some(reading) = with.reading else {
        return Ok(Vec::new());
    };
    let (schema, name) = name_in(text)?;
    let path = with.context.path();
    routines::named(reading.source, &path, schema.as_deref(), &name)
}

/// The number of the one function of users that a text names.
fn routine_named(text: &str, with: &Environment<'_>) -> Result<Option<u32>, SqlError> {
    match &routines_named(text, with)?[..] {
        [] => Ok(None),
        [one] => Ok(Some(one.number)),
        _ => Err(several(text)),
    }
}

/// The types of a function's arguments, as SQL writes them; `None` without a function of the number.
///
/// # Errors
/// An error of reading the tables.
pub(super) fn arguments_of(
    oid: u32,
    with: &Environment<'_>,
) -> Result<Option<Vec<String>>, SqlError> {
    if let Some(of_type) = function_of_type(oid) {
        let kinds = of_type.arguments.iter();
        let names: Result<_, _> = kinds.map(|kind| type_name(*kind, -1, with)).collect();
        return names.map(Some);
    }
    Ok(function_numbered(oid).map(|function| {
        let kinds = function.0.arguments.iter();
        kinds.map(|kind| kind.name().to_string()).collect()
    }))
}

fn function_of_type(oid: u32) -> Option<&'static TypeFunction> {
    let mut of_types = of_types::all().iter();
    of_types.find(|one| one.number == oid)
}

fn function_numbered(oid: u32) -> Option<Function> {
    all().nth(place_numbered(oid)?)
}

/// The types whose names are names of several functions: casts, which are no functions here.
const CASTS: [&str; 16] = [
    "bool",
    "bpchar",
    "char",
    "date",
    "float4",
    "float8",
    "int2",
    "int4",
    "int8",
    "interval",
    "name",
    "numeric",
    "text",
    "timestamp",
    "timestamptz",
    "varchar",
];

#[cold]
fn several(name: &str) -> SqlError {
    let text = format!("more than one function named \"{name}\"");
    SqlError::new("42725", text)
}

/// The number of an object by its name.
///
/// # Errors
/// `42601`, `42602` for a text that is no name of one; `42725` if several functions have the name; `3F000`.
fn numbered(kind: SqlType, name: &str, with: &Environment<'_>) -> Result<Option<u32>, SqlError> {
    match kind {
        SqlType::Regtype => type_named(name, with),
        SqlType::Regproc => {
            let Some(plain) = own_name(name, with)? else {
                return routine_named(name, with);
            };
            if let Some(number) = of_types::named(&plain) {
                return Ok(Some(number));
            }
            if CASTS.contains(&plain.as_str()) {
                return Err(several(name));
            }
            let mut found = all().enumerate().filter(|(_, one)| one.is(&plain));
            match (found.next(), found.next()) {
                (Some((place, _)), None) => Ok(Some(function_number(place))),
                (None, _) => routine_named(name, with),
                _ => Err(several(name)),
            }
        }
        SqlType::Regprocedure => {
            let (of, parts) = signature_of(name)?;
            let plain = own_name(of.trim(), with)?;
            let mut kinds = Vec::with_capacity(parts.len());
            for part in parts {
                match type_named(part, with)? {
                    Some(oid) => kinds.push(oid),
                    None => return Err(absent(SqlType::Regtype, part)),
                }
            }
            let of_user = || {
                let is_it = |one: &&RoutineDefinition| {
                    let own = one.parameters.iter().map(|one| one.kind);
                    own.eq(kinds.iter().copied())
                };
                let named = routines_named(of.trim(), with)?;
                Ok(named.iter().find(is_it).map(|one| one.number))
            };
            let Some(plain) = plain else {
                return of_user();
            };
            let mut of_types = of_types::all().iter();
            let is_it = |one: &&TypeFunction| one.name == plain && one.arguments == kinds;
            if let Some(found) = of_types.find(is_it) {
                return Ok(Some(found.number));
            }
            let has = |one: &Function| {
                one.is(&plain)
                    && one
                        .0
                        .arguments
                        .iter()
                        .map(|kind| kind.oid())
                        .eq(kinds.iter().copied())
            };
            let mut found = all().enumerate().filter(|(_, one)| has(one));
            match found.next() {
                Some((place, _)) => Ok(Some(function_number(place))),
                None => of_user(),
            }
        }
        SqlType::Regnamespace => {
            let name = single(name)?;
            let mut found = schemas(with)?
                .into_iter()
                .filter(|(known, _)| *known == name);
            Ok(found.next().map(|(_, oid)| oid))
        }
        SqlType::Regrole => {
            let name = single(name)?;
            Ok((*with.context.user == *name).then_some(OWNER))
        }
        SqlType::Regconfig => Ok(own_name(name, with)?
            .and_then(|name| Config::named(&name))
            .map(Config::number)),
        SqlType::Regcollation => {
            let Some(name) = own_name(name, with)? else {
                return Ok(None);
            };
            let mut found = NamedCollation::all().filter(|known| known.name() == name);
            Ok(found.next().map(NamedCollation::oid))
        }
        _ => table_numbered(name, with),
    }
}

/// The name of a function, and the types of its arguments, as a text names them: `round(numeric(10, 2), integer)`.
///
/// Source: PostgreSQL 15, `parseNameAndArgTypes`.
///
/// # Errors
/// `22P02`, `54023`
fn signature_of(text: &str) -> Result<(&str, Vec<&str>), SqlError> {
    const ARGUMENTS_MAX: usize = 100;
    let wrong = |what: &str| SqlError::new(code::INVALID_TEXT, what.to_string());
    let mut is_quoted = false;
    let left = text.find(|letter| {
        is_quoted ^= letter == '"';
        letter == '(' && !is_quoted
    });
    let (name, rest) = match left {
        Some(at) => (text.get(..at), text.get(at + 1..)),
        None => return Err(wrong("expected a left parenthesis")),
    };
    let list = rest.unwrap_or_default().trim_end().strip_suffix(')');
    let list = list.ok_or_else(|| wrong("expected a right parenthesis"))?;
    let (mut types, mut begin) = (Vec::new(), 0);
    let (mut is_quoted, mut depth) = (false, 0_i32);
    for (at, letter) in list.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                types.push(list.get(begin..at).unwrap_or_default().trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    if is_quoted || depth != 0 {
        return Err(wrong("improper type name"));
    }
    match list.get(begin..).unwrap_or_default().trim() {
        "" if types.is_empty() => {}
        "" => return Err(wrong("expected a type name")),
        last => types.push(last),
    }
    if types.len() > ARGUMENTS_MAX {
        return Err(SqlError::new("54023", "too many arguments"));
    }
    Ok((name.unwrap_or_default(), types))
}

/// A name without its schema, if that is the catalogue's; `None` of another schema.
///
/// # Errors
/// `42602`; `3F000` for an unknown schema.
fn own_name(text: &str, with: &Environment<'_>) -> Result<Option<String>, SqlError> {
    let (schema, name) = name_in(text)?;
    if let (Some(schema), Some(reading)) = (&schema, with.reading)
        && !is_of_catalogue(schema)
        && !has_schema(reading.source, schema)?
    {
        return Err(unknown_schema(schema));
    }
    let is_own = schema.is_none_or(|schema| is_of_catalogue(&schema));
    Ok(is_own.then_some(name))
}

/// A name without a schema.
///
/// # Errors
/// `42602`
fn single(text: &str) -> Result<String, SqlError> {
    match name_in(text)? {
        (None, name) => Ok(name),
        (Some(_), _) => Err(SqlError::new(code::INVALID_NAME, "invalid name syntax")),
    }
}

/// The error of a name that no object of a kind has.
#[cold]
fn absent(kind: SqlType, name: &str) -> SqlError {
    let (code, what) = match kind {
        SqlType::Regtype => (code::UNKNOWN_OBJECT, "type"),
        SqlType::Regproc | SqlType::Regprocedure => (code::UNKNOWN_FUNCTION, "function"),
        SqlType::Regnamespace => (code::UNKNOWN_SCHEMA, "schema"),
        SqlType::Regrole => (code::UNKNOWN_OBJECT, "role"),
        SqlType::Regconfig => {
            let text = format!("text search configuration \"{name}\" does not exist");
            return SqlError::new(code::UNKNOWN_OBJECT, text);
        }
        SqlType::Regcollation => {
            let text = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
            return SqlError::new(code::UNKNOWN_OBJECT, text);
        }
        _ => return SqlError::unknown_table(name),
    };
    // The plain name of an object without a schema, as it is folded.
    let shown = match kind {
        SqlType::Regnamespace | SqlType::Regrole => single(name).unwrap_or_else(|_| name.into()),
        _ => name.to_string(),
    };
    SqlError::new(code, format!("{what} \"{shown}\" does not exist"))
}

/// The error of a text that names no table: an unknown schema goes first.
fn no_table(text: &str, with: &Environment<'_>) -> SqlError {
    let schema = name_in(text).ok().and_then(|(schema, _)| schema);
    if let (Some(schema), Some(reading)) = (schema, with.reading)
        && !is_of_catalogue(&schema)
        && has_schema(reading.source, &schema).is_ok_and(|is_there| !is_there)
    {
        return unknown_schema(&schema);
    }
    SqlError::unknown_table(text)
}

/// The number of a table by its name, or by the number as a text.
fn table_numbered(name: &str, with: &Environment<'_>) -> Result<Option<u32>, SqlError> {
    match name.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => table_named(name, with),
    }
}

/// True if an expression finds a table by a name, or its name.
pub(crate) fn names_tables(expr: &Expr) -> bool {
    let found = [
        OBJECT_NAME.name,
        TABLE_NUMBER.name,
        TABLE_OF_TEXT.name,
        "to_regclass",
        "pg_table_is_visible",
    ];
    expr.any(&|part| matches!(part, Expr::Call(function, _) if found.iter().any(|name| function.is(name))))
}

/// The longest text that is read as a type of the grammar.
const TYPE_BYTES_MAX: usize = 256;

/// The type that a text names as a statement does: `int`, or `numeric(3, 1)[]`.
///
/// # Errors
/// `22023` for a length or digits that the type cannot have.
fn type_of_grammar(text: &str) -> Result<Option<SqlType>, SqlError> {
    if text.len() > TYPE_BYTES_MAX {
        return Ok(None);
    }
    let parsed = || {
        let mut parser = parser_of(text).ok()?;
        let of = parser.parse_data_type().ok()?;
        (parser.peek_token_ref().token == Token::EOF).then_some(of)
    };
    let Some(of) = parsed() else {
        return Ok(None);
    };
    // Types of users have names in schemas, which are looked up.
    match TypeSpec::of_data_type(&of, &OwnTypes) {
        Ok(spec) => Ok(Some(spec.kind)),
        Err(error) if error.code == code::INVALID_PARAMETER_VALUE => Err(error),
        Err(_) => Ok(None),
    }
}

#[cold]
fn no_type_name(text: &str) -> SqlError {
    SqlError::syntax(format!("invalid type name \"{text}\""))
}

/// The type of a name in a text.
///
/// # Errors
/// `42601` for a text that is no name; `22023`.
fn type_named(text: &str, with: &Environment<'_>) -> Result<Option<u32>, SqlError> {
    // Without quotes it is another type.
    if text.eq_ignore_ascii_case("char") {
        return Ok(Some(SqlType::Char.oid()));
    }
    if let Some(kind) = SqlType::named(text) {
        return Ok(Some(kind.oid()));
    }
    if let Some(one) = without_values::named(text) {
        return Ok(Some(one.number));
    }
    if let Some(kind) = type_of_grammar(text)? {
        return Ok(Some(kind.oid()));
    }
    let (of_array, text) = match text.strip_suffix("[]") {
        Some(element) => (true, element),
        None => (false, text),
    };
    let (schema, name) = name_in(text).map_err(|_| no_type_name(text))?;
    let Some(reading) = with.reading else {
        return Ok(None);
    };
    if let Some(schema) = &schema
        && !is_of_catalogue(schema)
        && !has_schema(reading.source, schema)?
    {
        return Err(unknown_schema(schema));
    }
    let names = TypeNames::of(reading.source, &with.context.path())?;
    let is_of_catalogue = schema.as_deref() == Some("pg_catalog");
    if let Some(one) = without_values::named(&name).filter(|_| is_of_catalogue && !of_array) {
        return Ok(Some(one.number));
    }
    let found = match schema.as_deref() {
        Some("pg_catalog") => SqlType::named(&name),
        schema => {
            if let Some((_, found)) = names.find(schema, &name) {
                return Ok(Some(found.oid + u32::from(of_array)));
            }
            // The name of the type of arrays.
            let element = name.strip_prefix('_').filter(|_| !of_array);
            if let Some((_, found)) = element.and_then(|element| names.find(schema, element)) {
                return Ok(Some(found.oid + 1));
            }
            SqlType::named(&name).filter(|_| schema.is_none())
        }
    };
    let kind = found.map(|kind| if of_array { kind.array() } else { kind });
    Ok(kind.map(SqlType::oid))
}
