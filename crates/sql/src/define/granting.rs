//! `GRANT`, `REVOKE`, `ALTER DEFAULT PRIVILEGES`, and statements on roles. The server's configuration has the users and
//! their rights, and no statement changes it. A statement that asks for nothing else than the configuration gives is
//! taken, with a notice; every other one is refused, and says where the right is given.

use super::routines::{named_routines, routines_in};
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::expression::name_of_right;
use crate::keyspace;
use crate::parse::{ObjectKind, Objects, Privileges, RightsCommand, Role};
use crate::path::{is_of_catalogue, schema_name, schema_of, unknown_schema};
use crate::relation::{kind, object, objects};
use crate::result::{Complete, Notice, Tag};
use crate::rights::{Access, Rights, Users};
use crate::routines::RoutineDefinition;
use crate::schemas::has_schema;
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::views::view_named;
use crate::virtual_tables::relations;
use sqlparser::ast::ObjectName;

/// The users that statements may name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owners<'a> {
    /// The session's user.
    pub user: &'a str,
    pub users: &'a Users,
}

impl Owners<'_> {
    /// True if a user owns what the session makes: all users with that right own everything.
    pub fn may_own(&self, name: &str) -> bool {
        name == self.user
            || match self.users {
                Users::Unknown => false,
                Users::Everyone => true,
                Users::Known(known) => {
                    (known.get(name)).is_some_and(|rights| rights.elsewhere() >= Access::Define)
                }
            }
    }

    /// True if the session may act for a user: it is the user's own, or has all of the user's rights.
    pub fn may_act_for(&self, user: &str, rights: &Rights) -> bool {
        match self.users {
            Users::Known(known) if user != self.user => known
                .get(user)
                .is_none_or(|of_user| rights.include(of_user)),
            _ => true,
        }
    }

    /// Checks that the session may replace, change or drop a function. Another function may call it with the rights of its
    /// owner.
    ///
    /// # Errors
    /// `42501` if the owner has rights that the session lacks.
    pub fn check_owner_of(
        &self,
        function: &RoutineDefinition,
        rights: &Rights,
    ) -> Result<(), SqlError> {
        match self.may_act_for(&function.owner, rights) {
            true => Ok(()),
            false => Err(SqlError::new(
                code::INSUFFICIENT_PRIVILEGE,
                format!("must be owner of function {}", function.name),
            )
            .detail(format!(
                "Its owner \"{}\" has rights that the user lacks.",
                function.owner
            ))),
        }
    }

    /// The error of another owner.
    pub fn refused(&self, name: &str, what: &str) -> SqlError {
        match self.users {
            Users::Known(known) if known.contains_key(name) => SqlError::unsupported(format!(
                "{what} have no owners here, and \"{name}\" may not define any"
            ))
            .hint(format!(
                "Give the right in the configuration: [users.{name}] tables = \"own\"."
            )),
            _ => unknown_role(name).hint(format!(
                "{what} have no owners here: users and their rights are in the configuration."
            )),
        }
    }
}

fn unknown_role(name: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_OBJECT,
        format!("role \"{name}\" does not exist"),
    )
}

/// A right that a privilege is.
enum Need {
    /// Every user has it.
    None,
    On(String, Access),
    /// With all tables that are not named.
    Elsewhere(Access),
}

impl Need {
    fn is_met(&self, rights: &Rights) -> bool {
        match self {
            Need::None => true,
            Need::On(name, access) => rights.on(name) >= *access,
            Need::Elsewhere(access) => rights.elsewhere() >= *access,
        }
    }
}

/// Runs a statement on rights.
///
/// # Errors
/// `0A000` if it asks for other rights than the configuration gives; `42704`, `42883`, `42P01` or `3F000` if it names something
/// that does not exist; `42710` for a role that exists; `0LP01` for a privilege that its objects do not have.
pub(super) fn run(
    source: &dyn Source,
    database: &Database,
    command: &RightsCommand,
    owners: Owners<'_>,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    match command {
        RightsCommand::Privileges(asked) => privileges(source, database, asked, owners, rights),
        RightsCommand::Membership { is_grant } => Err(SqlError::unsupported(format!(
            "{} of roles to roles is not supported: a user has no roles",
            word_of(*is_grant)
        ))
        .hint(GIVE)),
        RightsCommand::Roles {
            word,
            names,
            if_exists,
        } => roles(word, names, *if_exists, owners),
    }
}

const GIVE: &str = "The server's configuration has users and their rights (users.NAME.tables, users.NAME.table): change it, \
                    and have the server reload it.";

fn word_of(is_grant: bool) -> &'static str {
    if is_grant { "GRANT" } else { "REVOKE" }
}

fn privileges(
    source: &dyn Source,
    database: &Database,
    asked: &Privileges,
    owners: Owners<'_>,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    let word = match asked.is_default {
        true => "ALTER DEFAULT PRIVILEGES",
        false => word_of(asked.is_grant),
    };
    if asked.has_option {
        return Err(
            SqlError::unsupported(format!("{word} with GRANT OPTION is not supported")).hint(GIVE),
        );
    }
    let needs = needs_of((source, database), asked, rights)?;
    for role in &asked.roles {
        if !holds(asked, role, &needs, owners, rights)? {
            let name = match role {
                Role::Named(name) => format!("user \"{name}\""),
                Role::Public => "PUBLIC".into(),
                Role::Current => format!("user \"{}\"", owners.user),
            };
            let text = match asked.is_grant {
                true => format!(
                    "{word} is not supported: the configuration does not give {name} this right"
                ),
                false => {
                    format!("{word} is not supported: the configuration gives {name} this right")
                }
            };
            return Err(SqlError::unsupported(text).hint(GIVE));
        }
    }
    let is_of_public = asked.roles.iter().all(|role| matches!(role, Role::Public));
    let text = match (asked.is_grant, owners.users) {
        (true, _) => "no privileges were granted: the server's configuration gives them already",
        // Users may have the privileges all the same.
        (false, Users::Known(_)) if is_of_public => {
            "no privileges were revoked: PUBLIC has none, and each user those of the server's configuration"
        }
        (false, _) => "no privileges were revoked: the server's configuration does not give them",
    };
    let notice = Notice::note("00000", text.into());
    Ok(Complete::of(Tag::plain(word)).with_notice(Some(notice)))
}

/// True if the rights of a role are those that the statement asks for.
fn holds(
    asked: &Privileges,
    role: &Role,
    needs: &[Need],
    owners: Owners<'_>,
    rights: &Rights,
) -> Result<bool, SqlError> {
    let is_so = |rights: &Rights| match asked.is_grant {
        true => needs.iter().all(|need| need.is_met(rights)),
        false => !needs.iter().any(|need| need.is_met(rights)),
    };
    Ok(match (role, owners.users) {
        (Role::Current, _) => is_so(rights),
        (Role::Named(name), _) if name == owners.user => is_so(rights),
        (Role::Named(name), Users::Known(known)) => match known.get(name) {
            Some(of_role) => is_so(of_role),
            None => return Err(unknown_role(name).hint(GIVE)),
        },
        (Role::Named(name), Users::Unknown) => return Err(unknown_role(name).hint(GIVE)),
        (Role::Public, Users::Known(known)) => match (asked.is_grant, asked.on.kind()) {
            (true, _) => known.values().all(is_so),
            // In PostgreSQL users call functions as PUBLIC, and only owners still do so after this.
            (false, ObjectKind::Routine(_)) => {
                let mut others = known.values().filter(|of| of.least() < Access::Define);
                others.all(is_so)
            }
            // Each user has rights of its own, and no others.
            (false, _) => true,
        },
        (Role::Public, Users::Unknown) => is_so(rights),
        (Role::Named(_) | Role::Public, Users::Everyone) => is_so(&Rights::default()),
    })
}

/// The rights that privileges on objects are.
fn needs_of(
    (source, database): (&dyn Source, &Database),
    asked: &Privileges,
    rights: &Rights,
) -> Result<Vec<Need>, SqlError> {
    let path = rights.path();
    if let ObjectKind::Routine(word) = asked.on.kind() {
        for privilege in &asked.privileges {
            access_of(asked.on.kind(), privilege, asked.is_grant)?;
        }
        let calls = match &asked.on {
            // Later ones may be of both kinds.
            Objects::New(_) => vec![None, Some(Access::Write)],
            Objects::Named(_, names) => {
                named_routines((source, database), (word, names), asked, rights)?
            }
            Objects::AllIn(kind, schemas) => {
                all_in(source, *kind, schemas)?;
                routines_in(source, word, schemas)?
            }
        };
        let calls = calls.into_iter();
        return Ok(calls
            .map(|access| access.map_or(Need::None, Need::Elsewhere))
            .collect());
    }
    let (kind, names) = match &asked.on {
        Objects::New(kind) => {
            let kind = *kind;
            let needs = asked
                .privileges
                .iter()
                .map(|privilege| -> Result<Need, SqlError> {
                    Ok(match access_of(kind, privilege, asked.is_grant)? {
                        Some(access) => Need::Elsewhere(access),
                        None => Need::None,
                    })
                });
            return needs.collect();
        }
        Objects::Named(kind, names) => (*kind, names_of(source, *kind, names, path)?),
        Objects::AllIn(kind, schemas) => (*kind, all_in(source, *kind, schemas)?),
    };
    let mut needs = Vec::new();
    for privilege in &asked.privileges {
        let access = access_of(kind, privilege, asked.is_grant)?;
        if asked.is_grant && access == Some(Access::Write) && kind == ObjectKind::Table {
            names
                .iter()
                .try_for_each(|name| may_be_changed(source, name))?;
        }
        match (kind, access) {
            (_, None) => needs.push(Need::None),
            (ObjectKind::Table | ObjectKind::Sequence, Some(access)) => {
                needs.extend(names.iter().map(|name| Need::On(name.clone(), access)));
            }
            (_, Some(access)) => needs.push(Need::Elsewhere(access)),
        }
    }
    Ok(needs)
}

/// Refuses the right to change what no user can change by SQL.
fn may_be_changed(source: &dyn Source, name: &str) -> Result<(), SqlError> {
    if schema_of(name) == keyspace::SCHEMA || view_named(source, name)?.is_some() {
        return Err(SqlError::unsupported(format!(
            "GRANT is not supported: no user can change the rows of \"{name}\" by SQL"
        )));
    }
    Ok(())
}

/// The access that a privilege is; `None` for one that every user has. All privileges are granted with the greatest one,
/// and are still there with the least.
fn access_of(
    kind: ObjectKind,
    privilege: &str,
    is_grant: bool,
) -> Result<Option<Access>, SqlError> {
    const KNOWN: [&str; 13] = [
        "all",
        "select",
        "insert",
        "update",
        "delete",
        "truncate",
        "references",
        "trigger",
        "usage",
        "create",
        "connect",
        "temporary",
        "execute",
    ];
    let privilege = if privilege == "temp" {
        "temporary"
    } else {
        privilege
    };
    if let ObjectKind::Other(what) = kind {
        return Err(SqlError::unsupported(format!(
            "privileges ON {what} are not supported"
        )));
    }
    if privilege == "all" && !is_grant {
        return Ok(match kind {
            ObjectKind::Table | ObjectKind::Sequence => Some(Access::Read),
            ObjectKind::Routine(_) => Some(Access::Write),
            _ => None,
        });
    }
    Ok(Some(match (kind, privilege) {
        (ObjectKind::Table | ObjectKind::Sequence, "select") => Access::Read,
        (ObjectKind::Table, "insert" | "update" | "delete") => Access::Write,
        (ObjectKind::Table, "all" | "truncate" | "trigger") => Access::Define,
        // A reference needs no right to the table.
        (ObjectKind::Table, "references") => return Ok(None),
        (ObjectKind::Sequence, "all" | "usage" | "update") => Access::Write,
        (ObjectKind::Schema, "usage") => return Ok(None),
        (ObjectKind::Schema, "all" | "create") => Access::Define,
        (ObjectKind::Database, "connect") => return Ok(None),
        (ObjectKind::Database, "all" | "create" | "temporary") => Access::Define,
        (ObjectKind::Routine(_), "all" | "execute") => Access::Write,
        (ObjectKind::Type, "all" | "usage") => return Ok(None),
        (_, other) if KNOWN.contains(&other) => {
            let what = match kind {
                ObjectKind::Table => "relation",
                ObjectKind::Sequence => "sequence",
                ObjectKind::Schema => "schema",
                ObjectKind::Database => "database",
                ObjectKind::Routine(_) => "routine",
                ObjectKind::Type | ObjectKind::Other(_) => "type",
            };
            return Err(SqlError::new(
                code::INVALID_GRANT,
                format!("invalid privilege type {} for {what}", other.to_uppercase()),
            ));
        }
        (_, other) => {
            return Err(SqlError::syntax(format!(
                "unrecognized privilege type \"{other}\""
            )));
        }
    }))
}

/// The names under which the objects are kept that a statement names.
fn names_of(
    source: &dyn Source,
    of: ObjectKind,
    names: &[ObjectName],
    path: &SearchPath,
) -> Result<Vec<String>, SqlError> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        match of {
            ObjectKind::Table | ObjectKind::Sequence => {
                let kept = path.find(source, name)?;
                let is_table =
                    source.table_named(&kept).is_some() || view_named(source, &kept)?.is_some();
                let is_sequence = object(source, kind::SEQUENCE, &kept)?.is_some();
                let is_there = is_sequence || is_table && of == ObjectKind::Table;
                if !is_there && !is_of_catalogue(schema_of(&kept)) {
                    return Err(SqlError::unknown_table(&kept));
                }
                found.push(match is_sequence {
                    true => name_of_right(source, kept),
                    false => kept,
                });
            }
            ObjectKind::Schema => {
                let schema = schema_name(name)?;
                if !is_of_catalogue(&schema) && !has_schema(source, &schema)? {
                    return Err(unknown_schema(&schema));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// All tables and views of schemas, or all of their sequences.
fn all_in(
    source: &dyn Source,
    of: ObjectKind,
    schemas: &[ObjectName],
) -> Result<Vec<String>, SqlError> {
    let mut found = Vec::new();
    for schema in schemas {
        let schema = schema_name(schema)?;
        if !is_of_catalogue(&schema) && !has_schema(source, &schema)? {
            return Err(unknown_schema(&schema));
        }
        let is_in = |name: &String| schema_of(name) == schema;
        let names = |of: &str| -> Result<Vec<String>, SqlError> {
            let there = objects(source, of)?.into_iter();
            Ok(there.map(|(name, _)| name).filter(is_in).collect())
        };
        match of {
            ObjectKind::Table => {
                let tables = relations(source)?.into_iter();
                found.extend(tables.map(|relation| relation.name).filter(is_in));
                found.extend(names(kind::VIEW)?);
            }
            ObjectKind::Sequence => {
                for name in names(kind::SEQUENCE)? {
                    found.push(name_of_right(source, name));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Statements on roles: none is made, changed or dropped by one.
fn roles(
    word: &'static str,
    names: &[Role],
    if_exists: bool,
    owners: Owners<'_>,
) -> Result<Complete, SqlError> {
    let mut complete = Complete::of(Tag::plain(word));
    for name in names {
        let name = match name {
            Role::Named(name) => name.as_str(),
            Role::Public => "public",
            Role::Current => owners.user,
        };
        let is_there = name == owners.user
            || matches!(owners.users, Users::Known(known) if known.contains_key(name));
        match (word, is_there) {
            ("CREATE ROLE", true) => {
                return Err(SqlError::new(
                    code::DUPLICATE_OBJECT,
                    format!("role \"{name}\" already exists"),
                ));
            }
            ("DROP ROLE", false) if if_exists => {
                let text = format!("role \"{name}\" does not exist, skipping");
                complete.notices.push(Notice::note("00000", text));
                continue;
            }
            ("CREATE ROLE", false) | (_, true) => {}
            (_, false) => return Err(unknown_role(name).hint(GIVE)),
        }
        let text = format!("{word} is not supported: the server's configuration has the users");
        return Err(SqlError::unsupported(text).hint(match word {
            "CREATE ROLE" => format!(
                "Add [users.{name}] with a password (sardonyx password) and rights to the configuration, and have the \
                 server reload it."
            ),
            _ => GIVE.to_string(),
        }));
    }
    Ok(complete)
}
