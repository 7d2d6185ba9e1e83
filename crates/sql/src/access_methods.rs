//! The access methods of PostgreSQL's indexes, and how each is kept here.
//!
//! An index is an ordered tree. `hash` and `brin` answer a part of its queries, so their indexes are such trees, under the
//! method's name. `gin`, `gist` and `spgist` search within values, for which the engine has no structure: their
//! indexes are [listed](crate::relation::ListedIndex) in the catalogue, and no query reads them.

use crate::error::{SqlError, code};
use serde::{Deserialize, Serialize};
use sqlparser::ast::IndexType;

/// An access method of indexes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Method {
    /// The usual one.
    #[default]
    Btree,
    /// Values by their hashes: equality alone.
    Hash,
    /// Generalised search trees.
    Gist,
    /// Inverted indexes: elements, keys, words.
    Gin,
    /// Space-partitioned trees.
    Spgist,
    /// Summaries of ranges of blocks.
    Brin,
}

/// All, in the order of PostgreSQL's catalogue.
pub(crate) const METHODS: [Method; 6] = [
    Method::Btree,
    Method::Hash,
    Method::Gist,
    Method::Gin,
    Method::Spgist,
    Method::Brin,
];

impl Method {
    /// The method that `USING` names.
    ///
    /// # Errors
    /// `42704` for an unknown one; `0A000` for `bloom`, which belongs to an extension.
    pub fn used(using: Option<&IndexType>) -> Result<Method, SqlError> {
        let name = match using {
            None | Some(IndexType::BTree) => return Ok(Method::Btree),
            Some(IndexType::Bloom) => {
                return Err(SqlError::unsupported(
                    "CREATE INDEX with USING bloom is not supported",
                ));
            }
            Some(IndexType::Custom(name)) => name.value.clone(),
            Some(known) => known.to_string().to_lowercase(),
        };
        let mut methods = METHODS.into_iter();
        methods.find(|method| method.name() == name).ok_or_else(|| {
            let message = format!("access method \"{name}\" does not exist");
            SqlError::new(code::UNKNOWN_OBJECT, message)
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Method::Btree => "btree",
            Method::Hash => "hash",
            Method::Gist => "gist",
            Method::Gin => "gin",
            Method::Spgist => "spgist",
            Method::Brin => "brin",
        }
    }

    /// Its number in the catalogue, and its handler's.
    pub fn numbers(self) -> (u32, u32) {
        match self {
            Method::Btree => (403, 330),
            Method::Hash => (405, 331),
            Method::Gist => (783, 332),
            Method::Gin => (2742, 333),
            Method::Spgist => (4000, 334),
            Method::Brin => (3580, 335),
        }
    }

    /// True if its indexes are in the catalogue alone.
    pub fn is_listed(self) -> bool {
        matches!(self, Method::Gist | Method::Gin | Method::Spgist)
    }

    /// True if its indexes may have several columns.
    pub fn has_several_columns(self) -> bool {
        !matches!(self, Method::Hash | Method::Spgist)
    }

    /// True if its indexes may have columns of `INCLUDE`.
    pub fn has_included(self) -> bool {
        matches!(self, Method::Btree | Method::Gist | Method::Spgist)
    }

    /// True if an index may have a storage parameter.
    pub fn has_parameter(self, name: &str) -> bool {
        match self {
            Method::Btree => matches!(name, "fillfactor" | "deduplicate_items"),
            Method::Hash | Method::Spgist => name == "fillfactor",
            Method::Gist => matches!(name, "fillfactor" | "buffering"),
            Method::Gin => matches!(name, "fastupdate" | "gin_pending_list_limit"),
            Method::Brin => matches!(name, "pages_per_range" | "autosummarize"),
        }
    }

    /// The error of a property that its indexes do not have.
    pub fn lacks(self, what: &str) -> SqlError {
        SqlError::unsupported(format!(
            "access method \"{}\" does not support {what}",
            self.name()
        ))
    }
}
