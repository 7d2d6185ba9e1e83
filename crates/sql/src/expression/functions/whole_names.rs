//! Names with their schemas in texts of the catalogue, if the session's path has not the schema `public`: the database keeps names of
//! `public` without a schema. `pg_dump` sets an empty path, and PostgreSQL shows each name so that the session finds it.
//!
//! The tree of a text shows the names in it, and the rest of the text stays as it is kept.

use super::definition::Answer;
use super::{hstores, named, trigrams};
use crate::changed_text::{changes_at, with_changes};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::expression::named_parts::{Named, in_expression, in_statement};
use crate::names::{name_of, quoted, quoted_literal};
use crate::parse::{parse_expression, parse_kept};
use crate::path::{PUBLIC, name_in, split};
use crate::routines;
use crate::schemas::is_there;
use crate::source::Source;
use crate::types::SqlType;
use crate::user_types::UserTypes;
use sardonyx::schema::Value;
use sqlparser::ast::{Expr as Tree, Ident, ObjectName, Statement};
use sqlparser::tokenizer::Span;
use std::collections::BTreeSet;

/// Operator classes of extensions, which are in `public`.
const OPERATOR_CLASSES: [&str; 4] = [
    "gin_hstore_ops",
    "gin_trgm_ops",
    "gist_hstore_ops",
    "gist_trgm_ops",
];

/// A text of the catalogue, as the session can read it.
pub(super) fn whole(answer: Value, with: &Environment<'_>) -> Answer {
    let (Value::Text(text), Some(reading)) = (&answer, with.reading) else {
        return Ok(answer);
    };
    if finds_public(with)? {
        return Ok(answer);
    }
    let whole = with_schemas(text, reading.source)?;
    Ok(whole.map_or(answer, Value::Text))
}

/// True if names of `public` are found without their schema.
pub(super) fn finds_public(with: &Environment<'_>) -> Result<bool, SqlError> {
    let settings = with.context.settings.borrow();
    let Some(reading) = with.reading else {
        return Ok(true);
    };
    let path = settings.path().all(reading.source, false)?;
    Ok(path.iter().any(|schema| schema == PUBLIC))
}

/// A text of the catalogue as a tree.
enum Parsed {
    Expression(Box<Tree>),
    Statements(Vec<Statement>),
}

/// The beginning of the statement by which a constraint is a text that can be parsed.
const ADD: &str = "ALTER TABLE t ADD ";

/// The tree of a text, and the words that were put before it.
fn parsed(text: &str) -> Option<(Parsed, &'static str)> {
    let first = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let first = first.split(|c: char| !is_of_word(c)).next()?;
    let is_one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(first));
    let statements = |before: &'static str| {
        let parsed = parse_kept(&format!("{before}{text}")).ok()?;
        Some((Parsed::Statements(parsed), before))
    };
    let parsed = match () {
        () if is_one_of(&["check", "foreign"]) => statements(ADD),
        () if is_one_of(&["create", "select", "with", "values", "table"]) => statements(""),
        () => None,
    };
    let expression = || {
        let parsed = Parsed::Expression(Box::new(parse_expression(text).ok()?));
        Some((parsed, ""))
    };
    parsed.or_else(expression)
}

/// The text with schemas; `None` if it needs none, or is not SQL.
fn with_schemas(text: &str, source: &dyn Source) -> Result<Option<String>, SqlError> {
    let Some((parsed, before)) = parsed(text) else {
        return Ok(None);
    };
    let names = match &parsed {
        Parsed::Expression(tree) => in_expression(tree),
        Parsed::Statements(statements) => statements.iter().flat_map(in_statement).collect(),
    };
    let known = known(source)?;
    let whole = format!("{before}{text}");
    let mut spans = Vec::new();
    for name in names {
        spans.extend(known.with_schema(name)?);
    }
    if spans.is_empty() {
        return Ok(None);
    }
    let whole = with_changes(&whole, &changes_at(&whole, spans));
    Ok(whole.strip_prefix(before).map(str::to_string))
}

/// The names of `public` that a text may have.
struct Known<'a> {
    source: &'a dyn Source,
    types: BTreeSet<String>,
    routines: BTreeSet<String>,
}

fn known(source: &dyn Source) -> Result<Known<'_>, SqlError> {
    let mut types = BTreeSet::new();
    for name in UserTypes::of(source)?.types.keys() {
        let (schema, name) = split(name);
        if schema == PUBLIC {
            types.insert(name.to_string());
        }
    }
    let all = routines::all(source)?.into_iter();
    let own = all.filter(|one| one.schema == PUBLIC && named(&one.name).is_empty());
    let mut routines: BTreeSet<String> = own.map(|one| one.name).collect();
    types.insert(SqlType::Hstore.name().to_string());
    let of_extensions = hstores::TABLE.iter().chain(trigrams::TABLE);
    routines.extend(of_extensions.map(|one| one.name.to_string()));
    routines.insert("uuid_generate_v4".to_string());
    Ok(Known {
        source,
        types,
        routines,
    })
}

/// The span of a name without a schema, and the name with it.
type Change = Option<(Span, String)>;

impl Known<'_> {
    /// The place of a name that means an object of `public`, and the name with its schema.
    fn with_schema(&self, name: Named<'_>) -> Result<Change, SqlError> {
        match name {
            Named::Relation(name) => of_public(name, &|name| is_there(self.source, name)),
            Named::Routine(name) => of_public(name, &|name| Ok(self.routines.contains(name))),
            Named::Type(name) => of_public(name, &|name| Ok(self.types.contains(name))),
            Named::Class(name) => of_public(name, &|name| Ok(OPERATOR_CLASSES.contains(&name))),
            Named::Text(literal) => {
                let text = literal.value.clone().into_string().unwrap_or_default();
                Ok(match name_in(&text) {
                    Ok((None, name)) if is_there(self.source, &name)? => {
                        let whole = format!("{PUBLIC}.{}", quoted(&name));
                        Some((literal.span, quoted_literal(&whole)))
                    }
                    _ => None,
                })
            }
        }
    }
}

/// A name without a schema that is `known`.
fn of_public(
    name: &ObjectName,
    known: &dyn Fn(&str) -> Result<bool, SqlError>,
) -> Result<Change, SqlError> {
    let Some(only) = only_part(name) else {
        return Ok(None);
    };
    let is_it = known(&name_of(only))?;
    Ok(is_it.then(|| (only.span, format!("{}.{only}", quoted(PUBLIC)))))
}

/// A name that has no schema.
fn only_part(name: &ObjectName) -> Option<&Ident> {
    match name.0.as_slice() {
        [only] => only.as_ident(),
        _ => None,
    }
}
