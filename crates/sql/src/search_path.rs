//! The schemas in which a session looks up unqualified names: `search_path`, with the schema of its temporary tables
//! before it.

use crate::error::{SqlError, code};
use crate::names::{DATABASE, is_this_database, qualified, quoted, value_text};
use crate::path::{
    NOWHERE, OF_CATALOGUE, OF_KEYS, PUBLIC, TEMPORARY, is_of_catalogue, is_temporary, kept, local,
    name_in_database, schema_of, unknown_schema, written_whole,
};
use crate::schemas::{has_schema, is_there};
use crate::source::Source;
use crate::values::zones::{DateOrder, SessionZone};
use sqlparser::ast::{Expr, ObjectName};
use std::sync::Arc;

/// The schemas in which a session looks up unqualified names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SearchPath {
    /// The schema of the session's temporary tables, once it has one.
    temporary: Option<Arc<str>>,
    /// The schemas of the parameter, in their order; some may not exist.
    schemas: Vec<String>,
    /// True for a session, which does not see the temporary tables of others.
    is_of_session: bool,
    /// The session's time zone, in which literals are read; UTC if there is none. It is here since a plan is forgotten
    /// when either changes.
    zone: Option<SessionZone>,
    /// True if the session creates functions without a look at the objects that their bodies name. It is here since each
    /// definition has the path.
    skips_bodies: bool,
    /// The name by which the session connected to the database, if it is another one than the usual.
    database: Option<Arc<str>>,
}

impl Default for SearchPath {
    /// The path of a program without a session.
    fn default() -> Self {
        SearchPath {
            temporary: None,
            schemas: vec![PUBLIC.to_string()],
            is_of_session: false,
            zone: None,
            skips_bodies: false,
            database: None,
        }
    }
}

impl SearchPath {
    /// The path of a user's session by its parameter `search_path`.
    pub fn of(text: &str, user: &str, temporary: Option<Arc<str>>) -> SearchPath {
        let schemas = names_in(text).into_iter();
        let schemas = schemas.map(|name| match &*name {
            "$user" => user.to_string(),
            _ => name,
        });
        SearchPath {
            temporary,
            schemas: schemas.filter(|name| !name.is_empty()).collect(),
            is_of_session: true,
            zone: None,
            skips_bodies: false,
            database: None,
        }
    }

    /// The same with the schemas of another parameter. That of temporary tables is looked in only if it is named, unless
    /// `implicit` is true.
    pub fn naming(&self, text: &str, user: &str, implicit: bool) -> SearchPath {
        let SearchPath { schemas, .. } = SearchPath::of(text, user, None);
        let is_looked_in = implicit || schemas.iter().any(|schema| schema == TEMPORARY);
        SearchPath {
            temporary: self.temporary.clone().filter(|_| is_looked_in),
            schemas,
            ..self.clone()
        }
    }

    /// The schemas, as the parameter has them.
    pub fn text(&self) -> String {
        let names: Vec<String> = self.schemas.iter().map(|name| quoted(name)).collect();
        names.join(", ")
    }

    /// In a session's time zone.
    pub fn in_zone(mut self, zone: Option<SessionZone>) -> SearchPath {
        self.zone = zone;
        self
    }

    /// With `check_function_bodies` on or off.
    pub fn skipping_bodies(mut self, skips: bool) -> SearchPath {
        self.skips_bodies = skips;
        self
    }

    /// True if the objects that the body of a new function names may come later.
    pub fn skips_bodies(&self) -> bool {
        self.skips_bodies
    }

    /// In a database that the session connected to by this name.
    pub fn in_database(mut self, database: Option<Arc<str>>) -> SearchPath {
        self.database = database;
        self
    }

    /// The name by which the session connected to the database.
    pub fn database(&self) -> &str {
        self.database.as_deref().unwrap_or(DATABASE)
    }

    /// Checks that a session may keep the text of queries: their dates are read with the month first.
    ///
    /// # Errors
    /// `0A000` if it reads them in another order.
    pub fn check_order(&self, what: &str) -> Result<(), SqlError> {
        let order = self.zone.as_ref().map(SessionZone::order);
        match order.unwrap_or_default() == DateOrder::default() {
            true => Ok(()),
            false => Err(SqlError::unsupported(format!(
                "{what} with another order of dates than MDY is not supported"
            ))
            .hint("SET datestyle = 'ISO, MDY' before.")),
        }
    }

    /// True if it is a session's.
    pub fn is_of_session(&self) -> bool {
        self.is_of_session
    }

    /// The session's time zone; UTC if there is none.
    pub fn zone(&self) -> Option<&SessionZone> {
        self.zone.as_ref()
    }

    /// Checks that a name is not of another session's temporary table.
    ///
    /// # Errors
    /// `0A000` if it is.
    pub fn check_own(&self, kept: &str) -> Result<(), SqlError> {
        self.check_own_schema(schema_of(kept))
    }

    /// The same for a schema.
    ///
    /// # Errors
    /// `0A000` if it is of another session's temporary tables.
    pub fn check_own_schema(&self, schema: &str) -> Result<(), SqlError> {
        match self.is_of_others(schema) {
            true => Err(SqlError::unsupported(
                "cannot access temporary tables of other sessions",
            )),
            false => Ok(()),
        }
    }

    /// True if a schema has the temporary tables of another session.
    fn is_of_others(&self, schema: &str) -> bool {
        self.is_of_session && is_temporary(schema) && self.temporary() != Some(schema)
    }

    /// The schema of the session's temporary tables, if it has one.
    pub fn temporary(&self) -> Option<&str> {
        self.temporary.as_deref()
    }

    /// A schema that a statement names.
    fn said<'p>(&'p self, schema: &'p str) -> &'p str {
        match (&self.temporary, schema) {
            (Some(own), TEMPORARY) => own,
            _ => schema,
        }
    }

    /// The existing schemas in which a name is looked up. A path need not name that of temporary tables.
    fn looked_in(&self) -> impl Iterator<Item = &str> {
        let named = self.schemas.iter().map(|schema| self.said(schema));
        let own = self.temporary.as_deref();
        let own = own.filter(|own| !self.schemas.iter().any(|name| self.said(name) == *own));
        own.into_iter().chain(named)
    }

    /// The name under which a named object is kept. An object that does not exist gets a name that no object has.
    ///
    /// # Errors
    /// `0A000` for a name of another database, or of a temporary table of another session; an error of reading.
    pub fn find(&self, source: &dyn Source, name: &ObjectName) -> Result<String, SqlError> {
        let (schema, name) = qualified(name)?;
        self.find_name(source, schema.as_deref(), &name)
    }

    /// The same for a name whose parts are known.
    ///
    /// # Errors
    /// `0A000` for a temporary table of another session; an error of reading.
    pub fn find_name(
        &self,
        source: &dyn Source,
        schema: Option<&str>,
        name: &str,
    ) -> Result<String, SqlError> {
        let found = self.looked_up(source, schema, name)?;
        self.check_own(&found)?;
        Ok(found)
    }

    fn looked_up(
        &self,
        source: &dyn Source,
        schema: Option<&str>,
        name: &str,
    ) -> Result<String, SqlError> {
        if let Some(schema) = schema {
            let found = kept(self.said(schema), name);
            // A name with a point may be older than schemas.
            let may_be_old = schema == PUBLIC && name.contains('.');
            return Ok(
                match may_be_old && !is_there(source, &found)? && is_there(source, name)? {
                    true => name.to_string(),
                    false => found,
                },
            );
        }
        for schema in self.looked_in() {
            let is_last =
                schema == PUBLIC && self.schemas.last().is_some_and(|last| last == PUBLIC);
            let found = kept(schema, name);
            // A name with a point may be older than schemas.
            if schema == PUBLIC && name.contains('.') && !is_there(source, &found)? {
                if is_there(source, name)? {
                    return Ok(name.to_string());
                }
                continue;
            }
            if is_last {
                return Ok(found);
            }
            // Most names are in no schema but the last one, so the schema itself is looked up last.
            if is_there(source, &found)?
                && (self.temporary() == Some(schema) || has_schema(source, schema)?)
            {
                return Ok(found);
            }
        }
        Ok(format!("{NOWHERE}{name}"))
    }

    /// The name under which an object is kept that a statement names in a text, as `nextval` and `regclass` read it.
    /// Only existing objects are found.
    ///
    /// # Errors
    /// `42601`, `42602` for a text that is no name.
    pub fn find_in(
        &self,
        text: &str,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, SqlError> {
        let is_named = |parts: &[String]| {
            is_this_database(parts) || matches!(parts, [name] if name == self.database())
        };
        let (schema, name) = name_in_database(text, is_named)?;
        if let Some(schema) = schema {
            let found = kept(self.said(&schema), &name);
            if is_there(&found) {
                return Ok(Some(found));
            }
            let is_old = schema == PUBLIC && name.contains('.') && is_there(&name);
            return Ok(is_old.then_some(name));
        }
        Ok(self.find_local(&name, is_there))
    }

    /// The same for an unqualified name.
    pub fn find_local(&self, name: &str, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let of_catalogue = self.schemas.iter().any(|schema| schema == OF_CATALOGUE[0]);
        let first = (!of_catalogue).then_some(OF_CATALOGUE[0]);
        let mut candidates = first.into_iter().chain(self.looked_in());
        candidates.find_map(|schema| {
            let found = kept(schema, name);
            match is_there(&found) {
                true => Some(found),
                false if schema == PUBLIC && is_there(name) => Some(name.to_string()),
                false => None,
            }
        })
    }

    /// A name as SQL writes it in a session: without a schema if it is found so.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn written(&self, source: &dyn Source, kept: &str) -> Result<String, SqlError> {
        let name = local(kept);
        Ok(match self.looked_up(source, None, name)? == kept {
            true => quoted(name),
            false => written_whole(kept),
        })
    }

    /// The name under which something new is to be kept; `temporary` has it in the session's own schema.
    ///
    /// # Errors
    /// `3F000` if there is no such schema, or the path names none; `42501` for a schema of the catalogue; `42P16` for a
    /// temporary table in another schema, and for a schema of another session's temporary tables.
    pub fn new_name(
        &self,
        source: &dyn Source,
        name: &ObjectName,
        temporary: bool,
    ) -> Result<String, SqlError> {
        let (schema, name) = qualified(name)?;
        let schema = match (&schema, temporary) {
            (Some(schema), true) if self.said(schema) != self.temporary().unwrap_or(TEMPORARY) => {
                return Err(SqlError::new(
                    code::INVALID_TABLE_DEFINITION,
                    "cannot create temporary relation in non-temporary schema",
                ));
            }
            (_, true) => self.temporary().unwrap_or(TEMPORARY).to_string(),
            (Some(schema), false) => self.said(schema).to_string(),
            (None, false) => self.schema_for_new(source)?,
        };
        self.new_name_in(source, &schema, &name)
    }

    /// The name under which something is to be kept that `SET SCHEMA` moves.
    ///
    /// # Errors
    /// `3F000` if there is no such schema; `42501` for a schema of the catalogue, and for that of Redis' keys; `0A000` for
    /// a schema of temporary tables.
    pub fn moved_name(
        &self,
        source: &dyn Source,
        schema: &str,
        name: &str,
    ) -> Result<String, SqlError> {
        let schema = self.said(schema);
        if is_temporary(schema) {
            return Err(SqlError::unsupported(
                "cannot move objects into or out of temporary schemas",
            ));
        }
        self.new_name_in(source, schema, name)
    }

    /// The name of something new in a schema that takes it.
    fn new_name_in(
        &self,
        source: &dyn Source,
        schema: &str,
        name: &str,
    ) -> Result<String, SqlError> {
        if is_of_catalogue(schema) {
            return Err(SqlError::new(
                code::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to create \"{schema}.{name}\""),
            )
            .detail("System catalog modifications are currently disallowed."));
        }
        if schema == OF_KEYS {
            return Err(of_keyspace());
        }
        if self.is_of_others(schema) {
            return Err(SqlError::new(
                code::INVALID_TABLE_DEFINITION,
                "cannot create relations in temporary schemas of other sessions",
            ));
        }
        let is_own = self.temporary() == Some(schema);
        match is_own || has_schema(source, schema)? {
            true => Ok(kept(schema, name)),
            false => Err(unknown_schema(schema)),
        }
    }

    /// The schema in which something is made that names none.
    ///
    /// # Errors
    /// `3F000` if there is none, or if it is that of temporary tables, which the session does not have yet.
    fn schema_for_new(&self, source: &dyn Source) -> Result<String, SqlError> {
        for schema in &self.schemas {
            let schema = self.said(schema);
            if schema == TEMPORARY {
                return Err(unknown_schema(TEMPORARY)
                    .detail("The first schema of search_path is that of temporary tables, and there is none yet.")
                    .hint("CREATE TEMPORARY TABLE makes it; or name another schema."));
            }
            if is_of_catalogue(schema) || has_schema(source, schema)? {
                return Ok(schema.to_string());
            }
        }
        let text = "no schema has been selected to create in";
        Err(SqlError::new(code::UNKNOWN_SCHEMA, text))
    }

    /// The existing schemas of the path; with those in which names are looked up that it does not name.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn all(&self, source: &dyn Source, with_implicit: bool) -> Result<Vec<String>, SqlError> {
        let mut found: Vec<String> = Vec::new();
        let mut add = |schema: &str| {
            if !found.iter().any(|there| there == schema) {
                found.push(schema.to_string());
            }
        };
        let names_catalogue = self.schemas.iter().any(|schema| schema == OF_CATALOGUE[0]);
        if with_implicit {
            self.looked_in()
                .take(usize::from(self.temporary.is_some()))
                .filter(|schema| is_temporary(schema))
                .for_each(&mut add);
            if !names_catalogue {
                add(OF_CATALOGUE[0]);
            }
        }
        for schema in &self.schemas {
            let schema = self.said(schema);
            if is_of_catalogue(schema) || has_schema(source, schema)? {
                add(schema);
            }
        }
        Ok(found)
    }
}

/// The error of a statement that changes the schema of Redis' keys.
pub(crate) fn of_keyspace() -> SqlError {
    let schema = OF_KEYS;
    SqlError::new(
        code::INSUFFICIENT_PRIVILEGE,
        format!("permission denied for schema {schema}"),
    )
    .detail("The schema has the keys of Redis' clients, and is read-only to SQL.")
}

/// The value of the parameter: each value of a statement is a name, and shown as one.
pub(crate) fn path_text(values: &[Expr]) -> String {
    let names = values.iter().map(|value| quoted(&value_text(value)));
    names.collect::<Vec<_>>().join(", ")
}

/// The names of a list, as `SET search_path` has them: in quotes, or folded.
pub(crate) fn names_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c));
        let (name, behind) = match quote {
            Some(quote) => until_quote(rest, quote),
            None => {
                let (name, behind) = rest.split_once(',').unwrap_or((rest, ""));
                (name.trim().to_lowercase(), behind)
            }
        };
        names.push(name);
        rest = behind.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    names
}

/// A name in quotes at the beginning of a text, and the text behind it.
fn until_quote(text: &str, quote: char) -> (String, &str) {
    let mut name = String::new();
    let mut rest = text.strip_prefix(quote).unwrap_or(text);
    loop {
        let Some((part, behind)) = rest.split_once(quote) else {
            name.push_str(rest);
            return (name, "");
        };
        name.push_str(part);
        match behind.strip_prefix(quote) {
            // Two quotes mean one.
            Some(more) => {
                name.push(quote);
                rest = more;
            }
            None => return (name, behind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SearchPath, names_in};

    #[test]
    fn paths_are_read_as_lists_of_names() {
        for (text, names) in [
            ("public", &["public"][..]),
            ("\"$user\", public", &["$user", "public"]),
            ("App, \"App\",'x y'", &["app", "App", "x y"]),
            ("\"a\"\"b\", \"c,d\"", &["a\"b", "c,d"]),
            ("\"\"", &[""]),
            ("''", &[""]),
            ("", &[]),
        ] {
            assert_eq!(names_in(text), names, "{text}");
        }
        let path = SearchPath::of("\"$user\", public", "eva", Some("pg_temp_1".into()));
        let looked_in: Vec<&str> = path.looked_in().collect();
        assert_eq!(looked_in, ["pg_temp_1", "eva", "public"]);
        let path = SearchPath::of("public, pg_temp", "eva", Some("pg_temp_1".into()));
        let looked_in: Vec<&str> = path.looked_in().collect();
        assert_eq!(looked_in, ["public", "pg_temp_1"]);
    }
}
