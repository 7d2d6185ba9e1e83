//! What a session may do, table by table.
//!
//! Names are checked where a statement's tables are looked up: by [`Planning::relation`] for what reads and writes rows, by
//! `define::check` for what changes tables; a sequence is asked for with the table that has it, by `sequences::check_rights`. So a table is found by nobody who may not
//! use it, in whatever part of a statement it stands. A procedure's statements are planned with the rights
//! of who creates it, and then without: whoever may call procedures may do what they do. So is a view's query: whoever may
//! read the view may read what it gives.
//!
//! [`Planning::relation`]: crate::plan::planning::Planning::relation

use crate::error::{SqlError, code};
use crate::path::{schema_of, shown};
use crate::search_path::SearchPath;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a session may do with a table, or with all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Access {
    /// Nothing with data.
    Nothing,
    /// Read.
    Read,
    /// Change rows, too. With all tables: and call procedures.
    Write,
    /// Create, change and drop tables and procedures, too.
    #[default]
    Define,
}

/// What a session may do with each table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rights {
    others: Access,
    tables: BTreeMap<String, Access>,
    /// Where the session looks up names: what finds a table asks here for both.
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
    /// These, but for one table, of which more or less is allowed: `schema.table` outside of the schema `public`.
    pub fn with_table(mut self, name: impl Into<String>, access: Access) -> Rights {
        self.tables.insert(name.into(), access);
        self
    }

    /// These, of a session that looks up names so.
    pub(crate) fn looking_in(&self, path: &Arc<SearchPath>) -> Rights {
        Rights {
            path: path.clone(),
            ..self.clone()
        }
    }

    /// Where names are looked up.
    pub(crate) fn path(&self) -> &Arc<SearchPath> {
        &self.path
    }

    /// What is allowed with a table.
    pub fn on(&self, table: &str) -> Access {
        // Temporary tables are of who made them.
        if self.path.temporary() == Some(schema_of(table)) {
            return Access::Define;
        }
        self.tables.get(table).copied().unwrap_or(self.others)
    }

    /// What is allowed with what is no single table: with tables that are not there yet, with procedures.
    pub(crate) fn elsewhere(&self) -> Access {
        self.others
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

    /// Checks that so much is allowed with a table.
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

impl Access {
    /// What it allows, in words.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Access::Nothing => "do anything",
            Access::Read => "read it",
            Access::Write => "change its rows",
            Access::Define => "change or drop it",
        }
    }
}
