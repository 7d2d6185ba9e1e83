//! Types that users define, as the database keeps them and as statements name them.
//!
//! All of them are one object of `sql.objects`. So a statement is planned with one lookup, however many there are. A
//! database without any pays for the lookup only.

mod labels;

pub use labels::EnumLabels;

use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::qualified;
use crate::path::kept;
use crate::relation::{delete_object, kind, object, parsed, printed, put_object};
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::types::{EnumType, Label, NamedTypes, SqlType, TypeSpec, unknown_type};
use crate::values::zones::SessionZone;
use serde::{Deserialize, Serialize};
use sqlparser::ast::DataType;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the object.
const ALL: &str = "all";
/// The first number of types in the catalogue. A type has two numbers, the second for its arrays, and each label has
/// one.
const FIRST_OID: u32 = 8 << 24;

/// A type as the database keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct UserType {
    /// Its number in `pg_type`; the next one is that of its arrays.
    pub oid: u32,
    /// The labels of an enum, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainDefinition>,
    /// `COMMENT ON TYPE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A domain: another type with a default and conditions.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DomainDefinition {
    /// The number and the modifier of the other type.
    pub base: u32,
    pub modifier: i32,
    #[serde(default)]
    pub not_null: bool,
    /// An expression.
    #[serde(default)]
    pub default: Option<String>,
    #[serde(default)]
    pub checks: Vec<DomainCheck>,
    /// The greatest number that a condition has had.
    #[serde(default)]
    pub last: u32,
}

/// A condition of a domain.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct DomainCheck {
    pub number: u32,
    pub name: String,
    /// It speaks of `VALUE`.
    pub text: String,
}

/// All types that users defined, by the names under which they are kept.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct UserTypes {
    pub types: BTreeMap<String, UserType>,
}

impl UserTypes {
    /// The types of a database.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn of(source: &dyn Source) -> Result<Arc<UserTypes>, SqlError> {
        thread_local! {
            /// The text of the last read, which is most often the next one, too.
            static LAST: RefCell<(String, Arc<UserTypes>)> = RefCell::default();
        }
        let Some(body) = object(source, kind::TYPES, ALL)? else {
            return Ok(Arc::default());
        };
        LAST.with(|last| {
            let mut last = last.borrow_mut();
            if last.0 != body {
                let types = parsed(&body)?;
                *last = (body, Arc::new(types));
            }
            Ok(last.1.clone())
        })
    }

    /// Stores them.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn store(&self, tx: &mut dyn DefineTarget) -> Result<(), SqlError> {
        match self.types.is_empty() {
            true => delete_object(tx, kind::TYPES, ALL).map(drop),
            false => put_object(tx, kind::TYPES, ALL, &printed(self)?),
        }
    }

    /// The type of a number of the catalogue, built in or not.
    pub fn numbered(&self, oid: u32) -> Option<SqlType> {
        if oid < FIRST_OID {
            return SqlType::from_oid(oid);
        }
        for (name, there) in &self.types {
            if let Some(domain) = there.domain.as_ref().filter(|_| there.oid == oid) {
                return self.numbered(domain.base);
            }
            if there.oid == oid {
                return Some(SqlType::Enum(there.handle(name)));
            }
            if there.oid + 1 == oid {
                return Some(SqlType::EnumArray(there.handle(name)));
            }
        }
        None
    }

    /// The type with a number, and its name.
    pub fn with_oid(&self, oid: u32) -> Option<(&String, &UserType)> {
        self.types.iter().find(|(_, there)| there.oid == oid)
    }

    /// The type of the values of a domain.
    ///
    /// # Errors
    /// `XX001` if it is not known.
    pub fn base_of(&self, domain: &DomainDefinition) -> Result<TypeSpec, SqlError> {
        let kind = self.numbered(domain.base).ok_or_else(|| {
            let text = format!("type {} of a domain is not known", domain.base);
            SqlError::new(code::DATA_CORRUPTED, text)
        })?;
        let modifier = domain.modifier;
        Ok(TypeSpec::new(kind, modifier))
    }

    /// Free consecutive numbers.
    pub fn free_oids(&self, count: u32) -> u32 {
        let used = self.types.values().flat_map(|there| {
            let labels = there.labels.iter().map(|label| label.oid);
            labels.chain([there.oid, there.oid + 1])
        });
        let mut used: Vec<u32> = used.collect();
        used.sort_unstable();
        let mut first = FIRST_OID;
        for oid in used {
            if oid.saturating_sub(first) >= count {
                break;
            }
            first = oid + 1;
        }
        first
    }
}

impl UserType {
    pub fn handle(&self, name: &str) -> EnumType {
        EnumType::of(self.oid, name, &self.labels)
    }

    /// Checks that it may be stored under a name.
    ///
    /// # Errors
    /// `54000` if the process has read too many types.
    pub fn check_room(&self, name: &str) -> Result<(), SqlError> {
        EnumType::check_room(self.oid, name, &self.labels)
    }
}

/// True if a number of the catalogue belongs to a user's type.
pub(crate) fn is_of_user(oid: u32) -> bool {
    oid >= FIRST_OID
}

/// The meaning of types and literals in a statement: the types that it may name, its search path, and the session's
/// time zone.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeNames {
    types: Arc<UserTypes>,
    path: Arc<SearchPath>,
    zone: Option<SessionZone>,
    is_in_utc: bool,
}

impl TypeNames {
    /// The types of a database, for a session with a search path.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn of(source: &dyn Source, path: &SearchPath) -> Result<TypeNames, SqlError> {
        let types = UserTypes::of(source)?;
        let zone = path.zone().cloned();
        let is_in_utc = path.is_of_session() && zone.is_none();
        let path = match types.types.is_empty() {
            true => Arc::default(),
            false => Arc::new(path.clone()),
        };
        Ok(TypeNames {
            types,
            path,
            zone,
            is_in_utc,
        })
    }

    /// The types of a database, named as kept objects name them: with their schemas, or without `public`.
    pub fn all(types: &Arc<UserTypes>) -> TypeNames {
        TypeNames {
            types: types.clone(),
            ..TypeNames::default()
        }
    }

    /// PostgreSQL's own types only, with literals read in a zone; in UTC if there is none.
    pub fn in_zone(zone: Option<&SessionZone>) -> TypeNames {
        TypeNames {
            zone: zone.cloned(),
            ..TypeNames::default()
        }
    }

    /// The same for kept texts, whose dates have the month first.
    pub fn with_month_first(mut self) -> TypeNames {
        let (order, style) = Default::default();
        self.zone = SessionZone::written(self.zone, order, style);
        self
    }

    /// The time zone in which literals are read; UTC if there is none.
    pub fn zone(&self) -> Option<&SessionZone> {
        self.zone.as_ref()
    }

    /// True if the statement runs in UTC only: it is a session's, which has no other zone.
    pub fn is_in_utc(&self) -> bool {
        self.is_in_utc
    }

    /// The type of a name, and the name under which it is kept.
    pub fn find(&self, schema: Option<&str>, name: &str) -> Option<(&str, &UserType)> {
        if self.types.types.is_empty() {
            return None;
        }
        let found = match schema {
            Some(schema) => Some(kept(schema, name)),
            None => {
                let is_there = |kept: &str| self.types.types.contains_key(kept);
                self.path.find_local(name, is_there)
            }
        };
        let (kept, found) = self.types.types.get_key_value(&found?)?;
        Some((kept, found))
    }
}

impl NamedTypes for TypeNames {
    fn named(&self, schema: Option<&str>, name: &str) -> Result<TypeSpec, SqlError> {
        match self.find(schema, name) {
            Some((
                _,
                UserType {
                    domain: Some(domain),
                    ..
                },
            )) => self.types.base_of(domain),
            Some((kept, found)) => Ok(TypeSpec::plain(SqlType::Enum(found.handle(kept)))),
            None => Err(unknown_type(schema, name)),
        }
    }

    fn is_domain(&self, of: &DataType) -> bool {
        self.domain(of).is_some()
    }
}

impl TypeNames {
    pub fn domain(&self, of: &DataType) -> Option<(&str, u32, &DomainDefinition)> {
        let DataType::Custom(name, _) = of else {
            return None;
        };
        let (schema, name) = qualified(name).ok()?;
        if schema.is_none() && SqlType::named(&name).is_some() {
            return None;
        }
        let (kept, found) = self.find(schema.as_deref(), &name)?;
        Some((kept, found.oid, found.domain.as_ref()?))
    }
}
