//! Schemas, and the names under which the database keeps their objects.
//!
//! The engine knows tables by one name. A table of `public` has its own name there, one of another schema is
//! `schema.table`: programs without SQL use these names. A name in `public` with a point is kept as `public.a.b`, so
//! the first point of a kept name always ends a schema. A program or an older version may have made a table in `public`
//! with a point in its name. It counts as one of the schema before the point, and is found by its whole name in quotes
//! as before.
//!
//! A schema is an object of its own ([`kind::SCHEMA`]), so that it may be empty. A schema without an object exists as
//! long as it has a table.

use crate::error::{SqlError, code};
use crate::names::{is_this_database, name_of, parts_of, quoted, wrong_parts};
use sqlparser::ast::{Ident, ObjectName};

pub(crate) use crate::names::PUBLIC;
/// The name of the session's temporary schema, in a statement.
pub(crate) const TEMPORARY: &str = "pg_temp";
/// Schemas of the catalogue's tables.
pub(crate) const OF_CATALOGUE: [&str; 2] = ["pg_catalog", "information_schema"];
/// The schema of the tables of Redis' keys.
pub(crate) const OF_KEYS: &str = "pg_redis";
/// The beginning of a name that names nothing: no kept name begins so.
pub(crate) const NOWHERE: char = '.';

/// The name under which the database keeps an object of a schema.
pub(crate) fn kept(schema: &str, name: &str) -> String {
    match schema == PUBLIC && !name.contains('.') {
        true => name.to_string(),
        false => format!("{schema}.{name}"),
    }
}

/// The schema and the name of an object, from its kept name.
pub(crate) fn split(kept: &str) -> (&str, &str) {
    match kept.split_once('.') {
        Some((schema, name)) if !schema.is_empty() && !name.is_empty() => (schema, name),
        _ => (PUBLIC, kept.trim_start_matches(NOWHERE)),
    }
}

/// Its name in its schema.
pub(crate) fn local(kept: &str) -> &str {
    split(kept).1
}

pub(crate) fn schema_of(kept: &str) -> &str {
    split(kept).0
}

/// A name in the schema of another object.
pub(crate) fn beside(kept_name: &str, name: &str) -> String {
    kept(schema_of(kept_name), name)
}

/// The name in errors: with its schema, unless that is `public`.
pub(crate) fn shown(kept: &str) -> String {
    match split(kept) {
        (PUBLIC, name) => name.to_string(),
        (schema, name) => format!("{schema}.{name}"),
    }
}

/// The name in SQL, with its schema unless that is `public`.
pub(crate) fn written(kept: &str) -> String {
    match split(kept) {
        (PUBLIC, name) => quoted(name),
        _ => written_whole(kept),
    }
}

/// The name in SQL, with its schema.
pub(crate) fn written_whole(kept: &str) -> String {
    let (schema, name) = split(kept);
    format!("{}.{}", quoted(schema), quoted(name))
}

/// True if a schema is a session's own, of temporary tables.
pub(crate) fn is_temporary(schema: &str) -> bool {
    let number = schema.strip_prefix("pg_temp_");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// The number of the session whose temporary tables a schema has, if it is such a one.
pub(crate) fn number_of_temporary(schema: &str) -> Option<u64> {
    schema.strip_prefix("pg_temp_")?.parse().ok()
}

/// True if a schema has tables of the catalogue.
pub(crate) fn is_of_catalogue(schema: &str) -> bool {
    OF_CATALOGUE.contains(&schema)
}

pub(crate) fn unknown_schema(name: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_SCHEMA,
        format!("schema \"{name}\" does not exist"),
    )
}

/// A name in a text, with its schema if it has one: parts are in quotes, or folded.
///
/// # Errors
/// `42602` for a text that is no name; `0A000` for a name of another database.
pub(crate) fn name_in(text: &str) -> Result<(Option<String>, String), SqlError> {
    name_in_database(text, is_this_database)
}

/// The same where a session sees the database under a name of its own.
///
/// # Errors
/// As [`name_in`].
pub(crate) fn name_in_database(
    text: &str,
    is_named: impl Fn(&[String]) -> bool,
) -> Result<(Option<String>, String), SqlError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !text.is_empty() && text.chars().all(is_plain) {
        return Ok((None, text.to_string()));
    }
    let names =
        parts_in(text).ok_or_else(|| SqlError::new(code::INVALID_NAME, "invalid name syntax"))?;
    match names.as_slice() {
        [name] => Ok((None, name.clone())),
        [before @ .., schema, name] if before.is_empty() || is_named(before) => {
            Ok((Some(schema.clone()), name.clone()))
        }
        names if names.len() > 3 => Err(SqlError::syntax(format!(
            "improper relation name (too many dotted names): {}",
            names.join(".")
        ))),
        names => Err(wrong_parts(names, true)),
    }
}

/// The parts of a name in a text, between points: each in quotes, or whatever letters are before the next point or blank.
/// `None` if a part is missing, or a word follows another one.
///
/// Source: PostgreSQL 15, `SplitIdentifierString`.
fn parts_in(text: &str) -> Option<Vec<String>> {
    let is_blank = |letter: char| matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{c}');
    let (mut rest, mut names) = (text.trim_matches(is_blank), Vec::new());
    loop {
        match rest.strip_prefix('"') {
            Some(quoted) => {
                let (mut name, mut letters) = (String::new(), quoted.char_indices().peekable());
                let end = loop {
                    match letters.next()? {
                        (_, '"') if letters.next_if(|(_, next)| *next == '"').is_some() => {
                            name.push('"');
                        }
                        (at, '"') => break at + 1,
                        (_, letter) => name.push(letter),
                    }
                };
                names.push(name);
                rest = quoted.get(end..)?;
            }
            None => {
                let end = rest.find(|letter| letter == '.' || is_blank(letter));
                let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
                if name.is_empty() {
                    return None;
                }
                names.push(name_of(&Ident::new(name)));
                rest = behind;
            }
        }
        rest = rest.trim_start_matches(is_blank);
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix('.')?.trim_start_matches(is_blank);
    }
}

/// The one schema that a statement names.
///
/// # Errors
/// `0A000` for a name of another database.
pub(crate) fn schema_name(name: &ObjectName) -> Result<String, SqlError> {
    let mut parts = parts_of(name)?;
    match (parts.pop(), is_this_database(&parts)) {
        (Some(name), true) => Ok(name),
        _ => Err(wrong_parts(&parts_of(name)?, true)),
    }
}

#[cfg(test)]
mod tests {
    use super::{kept, name_in, shown, split, written};

    #[test]
    fn a_kept_name_has_one_meaning() {
        for (schema, name, as_kept, as_shown, as_written) in [
            ("public", "t", "t", "t", "t"),
            ("public", "a.b", "public.a.b", "a.b", "\"a.b\""),
            ("app", "t", "app.t", "app.t", "app.t"),
            ("app", "a.b", "app.a.b", "app.a.b", "app.\"a.b\""),
            ("App", "T", "App.T", "App.T", "\"App\".\"T\""),
        ] {
            let of = kept(schema, name);
            assert_eq!(of, as_kept);
            assert_eq!(split(&of), (schema, name));
            assert_eq!(shown(&of), as_shown);
            assert_eq!(written(&of), as_written);
        }
        assert_eq!(shown(".t"), "t");
    }

    #[test]
    fn names_in_texts_are_folded_unless_they_are_quoted() {
        let plain = |schema: Option<&str>, name: &str| (schema.map(String::from), name.into());
        assert_eq!(name_in("T").unwrap(), plain(None, "t"));
        assert_eq!(name_in("app.\"T.x\"").unwrap(), plain(Some("app"), "T.x"));
        assert_eq!(name_in("\"A\".b").unwrap(), plain(Some("A"), "b"));
        assert_eq!(
            name_in(" a-b . \"x\"\"y\" ").unwrap(),
            plain(Some("a-b"), "x\"y")
        );
        assert_eq!(name_in("f()").unwrap(), plain(None, "f()"));
        assert_eq!(name_in("a.").unwrap_err().code, "42602");
        assert_eq!(name_in("\"a").unwrap_err().code, "42602");
        assert_eq!(name_in("a b").unwrap_err().code, "42602");
        assert_eq!(name_in("").unwrap_err().code, "42602");
        assert_eq!(name_in("a.b.c").unwrap_err().code, "0A000");
        assert_eq!(name_in("a.b.c.d").unwrap_err().code, "42601");
        assert_eq!(name_in("sardonyx.b.c").unwrap(), plain(Some("b"), "c"));
    }
}
