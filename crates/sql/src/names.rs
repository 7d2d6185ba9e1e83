//! Names in SQL: folded to lower case unless they are quoted.

use crate::error::{SqlError, code};
use crate::types::NamedCollation;
use sqlparser::ast::{Expr, Function, Ident, ObjectName, ObjectNamePart};

/// The schema of unqualified names.
pub(crate) const PUBLIC: &str = "public";

/// In lower case, unless it was quoted.
pub(crate) fn name_of(word: &Ident) -> String {
    match word.quote_style {
        Some(_) => word.value.clone(),
        None => word.value.to_lowercase(),
    }
}

/// The parts of a name with points, folded.
pub(crate) fn parts_of(name: &ObjectName) -> Result<Vec<String>, SqlError> {
    let parts = name.0.iter().map(|part| match part {
        ObjectNamePart::Identifier(word) => Ok(name_of(word)),
        ObjectNamePart::Function(_) => Err(SqlError::syntax(format!("\"{name}\" is no name"))),
    });
    parts.collect()
}

/// The usual name of the database. Each server has one database, and a session sees it under the name by which it connected.
pub(crate) const DATABASE: &str = "sardonyx";

/// True if the parts of a name before its schema name this database, or none.
pub(crate) fn is_this_database(parts: &[String]) -> bool {
    match parts {
        [] => true,
        [database] => database == DATABASE,
        _ => false,
    }
}

/// The schema, if one is given, and the name of an object in the database.
///
/// # Errors
/// `0A000` if it is of another database.
pub(crate) fn qualified(name: &ObjectName) -> Result<(Option<String>, String), SqlError> {
    let mut parts = parts_of(name)?;
    let last = parts.pop().unwrap_or_default();
    let schema = parts.pop();
    match is_this_database(&parts) {
        true => Ok((schema, last)),
        false => Err(wrong_parts(&parts_of(name)?, true)),
    }
}

/// The name of a function, without `pg_catalog.` before it.
pub(crate) fn function_name(function: &Function) -> Result<String, SqlError> {
    let (schema, name) = qualified(&function.name)?;
    match schema.as_deref() {
        None | Some("pg_catalog" | "public" | "information_schema") => Ok(name),
        Some(_) => Err(SqlError::new(
            code::UNKNOWN_FUNCTION,
            format!(
                "function {} does not exist",
                parts_of(&function.name)?.join(".")
            ),
        )),
    }
}

/// The error of a name with parts before its schema that do not name this database.
pub(crate) fn wrong_parts(parts: &[String], of_relation: bool) -> SqlError {
    let name = parts.join(".");
    let most = if of_relation { 3 } else { 4 };
    match parts.len() > most {
        true => SqlError::syntax(format!(
            "improper qualified name (too many dotted names): {name}"
        )),
        false if of_relation => SqlError::unsupported(format!(
            "cross-database references are not implemented: \"{name}\""
        )),
        false => SqlError::unsupported(format!(
            "cross-database references are not implemented: {name}"
        )),
    }
}

/// The name of a procedure or another kind of object that only `public` has: with that schema, or with none.
///
/// # Errors
/// `3F000` if it is of another schema.
pub(crate) fn of_public(name: &ObjectName) -> Result<String, SqlError> {
    match qualified(name)? {
        (None, name) => Ok(name),
        (Some(schema), name) if schema == "public" => Ok(name),
        (Some(schema), _) => Err(SqlError::new(
            code::UNKNOWN_SCHEMA,
            format!("schema \"{schema}\" does not exist"),
        )),
    }
}

/// True if parentheses are around the whole of an expression.
pub(crate) fn is_wrapped(expression: &str) -> bool {
    let (mut depth, mut is_quoted) = (0_u32, false);
    let last = expression.len().saturating_sub(1);
    for (at, letter) in expression.bytes().enumerate() {
        match letter {
            b'\'' => is_quoted = !is_quoted,
            b'(' if !is_quoted => depth += 1,
            b')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && at < last {
            return false;
        }
    }
    expression.len() > 1
}

/// PostgreSQL's words that are no names without quotes everywhere, sorted.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization",
    "between", "bigint", "binary", "bit", "boolean", "both", "case", "cast", "char", "character",
    "check", "coalesce", "collate", "collation", "column", "concurrently", "constraint", "create",
    "cross", "current_catalog", "current_date", "current_role", "current_schema", "current_time",
    "current_timestamp", "current_user", "dec", "decimal", "default", "deferrable", "desc",
    "distinct", "do", "else", "end", "except", "exists", "extract", "false", "fetch", "float",
    "for", "foreign", "freeze", "from", "full", "grant", "greatest", "group", "grouping", "having",
    "ilike", "in", "initially", "inner", "inout", "int", "integer", "intersect", "interval", "into",
    "is", "isnull", "join", "lateral", "leading", "least", "left", "like", "limit", "localtime",
    "localtimestamp", "national", "natural", "nchar", "none", "normalize", "not", "notnull", "null",
    "nullif", "numeric", "offset", "on", "only", "or", "order", "out", "outer", "overlaps",
    "overlay", "placing", "position", "precision", "primary", "real", "references", "returning",
    "right", "row", "select", "session_user", "setof", "similar", "smallint", "some", "substring",
    "symmetric", "table", "tablesample", "then", "time", "timestamp", "to", "trailing", "treat",
    "trim", "true", "union", "unique", "user", "using", "values", "varchar", "variadic", "verbose",
    "when", "where", "window", "with", "xmlattributes", "xmlconcat", "xmlelement", "xmlexists",
    "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable",
];

/// The keywords among them that are names of columns and channels without quotes, sorted.
#[rustfmt::skip]
const OF_COLUMNS: &[&str] = &[
    "between", "bigint", "bit", "boolean", "char", "character", "coalesce", "dec", "decimal",
    "exists", "extract", "float", "greatest", "grouping", "inout", "int", "integer", "interval",
    "least", "national", "nchar", "none", "normalize", "nullif", "numeric", "out", "overlay",
    "position", "precision", "real", "row", "setof", "smallint", "substring", "time", "timestamp",
    "treat", "trim", "values", "varchar", "xmlattributes", "xmlconcat", "xmlelement", "xmlexists",
    "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable",
];

/// True if a word in lower case is the name of a column, or of a channel, without quotes.
pub(crate) fn is_of_column(word: &str) -> bool {
    RESERVED.binary_search(&word).is_err() || OF_COLUMNS.binary_search(&word).is_ok()
}

/// A text as a literal of SQL.
pub(crate) fn quoted_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as it is written in SQL, in quotes if it needs some.
pub(crate) fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts = |c: char| c.is_ascii_lowercase() || c == '_';
    let is_word = name.starts_with(starts) && name.chars().all(plain);
    match is_word && RESERVED.binary_search(&name).is_err() {
        true => name.to_string(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// The value of a parameter, as `SET` names it: a literal, or a word.
pub(crate) fn value_text(value: &Expr) -> String {
    match value {
        Expr::Value(value) => match value.value.clone().into_string() {
            Some(text) => text,
            None => value.to_string(),
        },
        Expr::Identifier(word) => word.value.clone(),
        other => other.to_string(),
    }
}

/// The collation of a name.
///
/// # Errors
/// `0A000` for others, `42704` for one that no system has.
pub(crate) fn collation_of(name: &ObjectName) -> Result<NamedCollation, SqlError> {
    let parts = parts_of(name)?;
    let found = match parts.as_slice() {
        [name] => NamedCollation::named(name),
        [schema, name] if schema == "pg_catalog" => NamedCollation::named(name),
        _ => None,
    };
    found.ok_or_else(|| {
        // Names of locales have such characters: PostgreSQL may have one.
        let is_locale = |name: &String| name.contains(['-', '_', '.', '@']);
        if parts.len() == 1 && !parts.iter().any(is_locale) {
            let text = format!("collation \"{}\" for encoding \"UTF8\" does not exist", parts.concat());
            return SqlError::new(code::UNKNOWN_OBJECT, text);
        }
        SqlError::unsupported(format!("the collation {name} is not supported")).hint(
            "Texts are ordered by their bytes, as with COLLATE \"C\", or by a collation of ICU in pg_collation.",
        )
    })
}

/// The beginning of the name of a condition that a foreign key with `MATCH FULL` adds.
const FULL: &str = "sql.full.";

/// The condition that belongs to a foreign key with `MATCH FULL`.
pub(crate) fn full_match_of(reference: &str) -> String {
    format!("{FULL}{reference}")
}

/// True if a condition is such a one.
pub(crate) fn is_full_match(condition: &str) -> bool {
    reference_of_full_match(condition).is_some()
}

/// The foreign key to which such a condition belongs.
pub(crate) fn reference_of_full_match(condition: &str) -> Option<&str> {
    condition.strip_prefix(FULL)
}

/// The beginning of the name of a condition that a column has by its domain.
const DOMAIN: &str = "sql.domain.";
/// The number of the condition of a domain that does not allow nulls; those of its other conditions are greater.
pub(crate) const DOMAIN_NOT_NULL: u32 = 0;

/// The condition of a column of a domain, by the numbers of the column, of the domain and of its condition.
pub(crate) fn domain_check_of(column: usize, domain: u32, number: u32) -> String {
    format!("{DOMAIN}{column}.{domain}.{number}")
}

/// The numbers of the domain and of its condition, if a condition is such a one.
pub(crate) fn domain_of_check(condition: &str) -> Option<(u32, u32)> {
    let mut parts = condition.strip_prefix(DOMAIN)?.split('.').skip(1);
    let domain = parts.next()?.parse().ok()?;
    Some((domain, parts.next()?.parse().ok()?))
}

/// True if a condition belongs to a domain of the given column.
pub(crate) fn is_domain_check_of(condition: &str, column: usize) -> bool {
    let rest = condition.strip_prefix(DOMAIN);
    let of = rest.and_then(|rest| rest.split('.').next());
    of.is_some_and(|of| of.parse() == Ok(column))
}

/// True if a condition was not declared for its table: it belongs to a foreign key, or to a domain.
pub(crate) fn is_hidden_check(condition: &str) -> bool {
    is_full_match(condition) || condition.starts_with(DOMAIN)
}

/// The names of the comments of the schema `public` and the database.
pub(crate) const COMMENT_OF_PUBLIC: &str = "schema";

/// See [`COMMENT_OF_PUBLIC`].
pub(crate) const COMMENT_OF_DATABASE: &str = "database";

/// The name of the comment of a view, of a column of one, or of a sequence.
pub(crate) fn comment_name(of: &str, name: &str, column: Option<&str>) -> String {
    match column {
        // No name has a zero byte.
        Some(column) => format!("{of}\0{name}\0{column}"),
        None => format!("{of}\0{name}"),
    }
}

/// The longest name, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 63;

/// The usual name of a column's sequence.
pub(crate) fn name_of_sequence(table: &str, column: &str) -> String {
    object_name(table, column, "seq")
}

/// The usual name of a primary key.
pub(crate) fn name_of_primary(table: &str) -> String {
    object_name(table, "", "pkey")
}

/// `table_columns_label`, with the longer part cut until it fits.
///
/// Source: `makeObjectName` in PostgreSQL's `indexcmds.c`.
pub(crate) fn object_name(table: &str, columns: &str, label: &str) -> String {
    let points = 1 + usize::from(!columns.is_empty());
    let most = NAME_BYTES_MAX.saturating_sub(label.len() + points);
    let (mut of_table, mut of_columns) = (table.len(), columns.len());
    while of_table + of_columns > most {
        match of_table > of_columns {
            true => of_table -= 1,
            false => of_columns -= 1,
        }
    }
    let (table, columns) = (cut(table, of_table), cut(columns, of_columns));
    match columns.is_empty() {
        true => format!("{table}_{label}"),
        false => format!("{table}_{columns}_{label}"),
    }
}

/// The longest prefix of a text within a number of bytes that ends between characters.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes).rev().find(|&at| text.is_char_boundary(at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}
