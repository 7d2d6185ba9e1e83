//! The rights of a session, table by table.
//!
//! Names are checked where a statement's tables are looked up: by [`Planning::relation`] for statements that read and
//! write rows, by `define::check` for those that change tables. A sequence is checked with the table that owns it, by
//! `sequences::check_rights`. So a session finds no table without the right to use it, in any part of a statement. A
//! procedure's statements are planned with the rights of its creator, and then with all: the right to call procedures
//! includes everything that they do. A view's query is planned likewise: the right to read the view includes its rows.
//! Functions of users have the rights of the session that runs the statement, wherever they are called ([`Routine::rights`]).
//! Those with `SECURITY DEFINER` have their owner's; a call of one needs the right to call procedures.
//!
//! [`Planning::relation`]: crate::plan::planning::Planning::relation
//! [`Routine::rights`]: crate::plan::routine::Routine::rights

use crate::error::{SqlError, code};
use crate::path::{schema_of, shown};
use crate::search_path::SearchPath;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The access of a session to a table, or to all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Access {
    /// Nothing with data.
    Nothing,
    /// Queries only.
    Read,
    /// Change rows, too. With all tables: and call procedures.
    Write,
    /// Create, change and drop tables and procedures, too.
    #[default]
    Define,
}

/// The users that the server's configuration has, for statements that name them.
#[derive(Clone, Debug, Default)]
pub(crate) enum Users {
    /// A program without a server: only the session's user is known.
    #[default]
    Unknown,
    /// Every name is admitted, with all rights.
    Everyone,
    /// These, with their rights.
    Known(BTreeMap<String, Rights>),
}

impl Users {
    /// True if a user has all rights on all tables.
    pub fn may_define(&self, user: &str) -> bool {
        match self {
            Users::Unknown | Users::Everyone => true,
            Users::Known(known) => known
                .get(user)
                .is_some_and(|rights| rights.elsewhere() == Access::Define),
        }
    }
}

/// The access of a session to each table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rights {
    others: Access,
    tables: BTreeMap<String, Access>,
    /// The session's search path: the code that finds a table needs both.
    path: Arc<SearchPath>,
}

impl From<Access> for Rights {
    /// The same with all tables.
    fn from(access: Access) -> Rights {
        Rights {
            others: access,
            ..Rights::default()
        }
    }
}

impl Rights {
    /// These rights, with another access to one table: `schema.table` outside the schema `public`.
    pub fn with_table(mut self, name: impl Into<String>, access: Access) -> Rights {
        self.tables.insert(name.into(), access);
        self
    }

    /// These rights, for a session with a search path.
    pub(crate) fn looking_in(&self, path: &Arc<SearchPath>) -> Rights {
        Rights {
            path: path.clone(),
            ..self.clone()
        }
    }

    /// The schemas in which names are looked up.
    pub(crate) fn path(&self) -> &Arc<SearchPath> {
        &self.path
    }

    /// A temporary table belongs to its session.
    pub fn on(&self, table: &str) -> Access {
        // Temporary tables belong to the session that made them.
        if self.path.temporary() == Some(schema_of(table)) {
            return Access::Define;
        }
        self.tables.get(table).copied().unwrap_or(self.others)
    }

    /// The access to objects that are no existing table: tables to be created, procedures.
    pub(crate) fn elsewhere(&self) -> Access {
        self.others
    }

    /// True if everything that another user may do is allowed.
    pub(crate) fn include(&self, other: &Rights) -> bool {
        let on = |rights: &Rights, table: &String| {
            let own = rights.tables.get(table).copied();
            own.unwrap_or(rights.others)
        };
        let mut tables = self.tables.keys().chain(other.tables.keys());
        self.others >= other.others && tables.all(|table| on(self, table) >= on(other, table))
    }

    /// The least that is allowed with any table.
    pub(crate) fn least(&self) -> Access {
        let tables = self.tables.values().copied();
        tables.fold(self.others, Ord::min)
    }

    /// The most that is allowed with any table.
    pub(crate) fn most(&self) -> Access {
        let tables = self.tables.values().copied();
        tables.fold(self.others, Ord::max)
    }

    /// Checks that the wanted access to a table is allowed.
    ///
    /// # Errors
    /// `42501` if it is not.
    pub(crate) fn check(&self, table: &str, wanted: Access) -> Result<(), SqlError> {
        match self.on(table) >= wanted {
            true => Ok(()),
            false => Err(SqlError::new(
                code::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for table {}", shown(table)),
            )
            .detail(format!("The user may not {}.", wanted.what()))),
        }
    }
}

impl Rights {
    /// Checks that the session is an owner of a table with `ROW LEVEL SECURITY`: one that may change and drop it. Without a
    /// policy, no others see its rows in PostgreSQL.
    ///
    /// # Errors
    /// `42501` if it is not.
    pub(crate) fn check_owner(&self, table: &str) -> Result<(), SqlError> {
        match self.on(table) >= Access::Define {
            true => Ok(()),
            false => Err(SqlError::new(
                code::INSUFFICIENT_PRIVILEGE,
                format!("the rows of table {} are secured", shown(table)),
            )
            .detail("It has ROW LEVEL SECURITY, and policies are not supported.")
            .hint("A user that may define the table uses it.")),
        }
    }
}

impl Access {
    /// The words for it in an error.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Access::Nothing => "do anything",
            Access::Read => "read it",
            Access::Write => "change its rows",
            Access::Define => "change or drop it",
        }
    }
}
