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
use crate::types::{
    CompositeField, CompositeType, EnumType, Label, NamedTypes, SqlType, TypeSpec, composite_depth,
    enum_named, unknown_type,
};
use crate::values::zones::SessionZone;
use serde::{Deserialize, Serialize};
use sqlparser::ast::DataType;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

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
    /// The fields of a composite type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldDefinition>>,
    /// `COMMENT ON TYPE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A field of a composite type.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct FieldDefinition {
    pub name: String,
    /// The number and the modifier of its type.
    pub kind: u32,
    pub modifier: i32,
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
    /// They are changed by [`UserTypes::change`].
    pub types: BTreeMap<String, UserType>,
    #[serde(skip)]
    kinds: Kinds,
}

/// The types by their numbers, computed once: the fields of a type have types with fields, so to follow them for each use
/// takes time that grows exponentially. A copy computes its own.
#[derive(Default, Debug)]
struct Kinds(OnceLock<HashMap<u32, SqlType>>);

impl Clone for Kinds {
    fn clone(&self) -> Kinds {
        Kinds::default()
    }
}

impl PartialEq for Kinds {
    fn eq(&self, _: &Kinds) -> bool {
        true
    }
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

    /// The types, to change them.
    pub fn change(&mut self) -> &mut BTreeMap<String, UserType> {
        self.kinds = Kinds::default();
        &mut self.types
    }

    /// The type of a number of the catalogue, built in or not.
    pub fn numbered(&self, oid: u32) -> Option<SqlType> {
        if oid < FIRST_OID {
            return SqlType::from_oid(oid);
        }
        let kinds = self.kinds.0.get_or_init(|| self.all_kinds());
        kinds.get(&oid).copied()
    }

    /// The types by their numbers.
    fn all_kinds(&self) -> HashMap<u32, SqlType> {
        let all = self.types.iter();
        let all = all.map(|(name, there)| (there.oid, (name, there)));
        let by_oid: HashMap<u32, (&String, &UserType)> = all.collect();
        let mut kinds = HashMap::with_capacity(2 * by_oid.len());
        for oid in by_oid.keys() {
            Self::add_kind(*oid, &by_oid, &mut kinds);
        }
        kinds
    }

    /// Adds a type behind those of its fields. They are there before it, so this comes to an end.
    fn add_kind(
        oid: u32,
        all: &HashMap<u32, (&String, &UserType)>,
        kinds: &mut HashMap<u32, SqlType>,
    ) {
        let Some((name, there)) = all.get(&oid) else {
            return;
        };
        if kinds.contains_key(&oid) {
            return;
        }
        let fields = there.fields.iter().flatten().map(|field| field.kind);
        let base = there.domain.as_ref().map(|domain| domain.base);
        for needed in fields.chain(base).filter(|needed| *needed >= FIRST_OID) {
            // The number of arrays is the next one.
            let own = if all.contains_key(&needed) {
                needed
            } else {
                needed - 1
            };
            Self::add_kind(own, all, kinds);
        }
        let known = |number: u32| match number < FIRST_OID {
            true => SqlType::from_oid(number),
            false => kinds.get(&number).copied(),
        };
        let kind = match (&there.domain, &there.fields) {
            (Some(domain), _) => known(domain.base),
            (None, Some(fields)) => {
                let fields = known_fields(fields, known);
                Some(SqlType::Composite(CompositeType::of(oid, name, &fields)))
            }
            (None, None) => Some(SqlType::Enum(there.handle(name))),
        };
        let Some(kind) = kind else {
            return;
        };
        kinds.insert(oid, kind);
        if there.domain.is_none() {
            kinds.insert(oid + 1, kind.array());
        }
    }

    /// An enum or a composite type.
    pub fn kind_of(&self, name: &str, there: &UserType) -> SqlType {
        match self.fields_of(there) {
            Some(fields) => SqlType::Composite(CompositeType::of(there.oid, name, &fields)),
            None => SqlType::Enum(there.handle(name)),
        }
    }

    /// The fields of a composite type.
    pub fn fields_of(&self, there: &UserType) -> Option<Vec<CompositeField>> {
        let fields = there.fields.as_ref()?;
        Some(known_fields(fields, |number| self.numbered(number)))
    }

    /// The composite types with their fields, each behind those that it has as fields.
    pub fn composites(&self) -> Vec<(&String, Vec<CompositeField>)> {
        let all = self.types.iter();
        let fields = all.filter_map(|(name, there)| Some((name, self.fields_of(there)?)));
        let mut found: Vec<_> = fields.collect();
        found.sort_by_key(|(_, fields)| {
            let depths = fields.iter().map(|field| composite_depth(field.spec.kind));
            depths.max().unwrap_or(0)
        });
        found
    }

    /// The type with a number, and its name.
    pub fn with_oid(&self, oid: u32) -> Option<(&String, &UserType)> {
        self.types.iter().find(|(_, there)| there.oid == oid)
    }

    /// The type of the values of a domain.
    ///
    /// # Errors
    /// `XX001` if it is not known: an earlier version dropped it under the domain.
    pub fn base_of(&self, domain: &DomainDefinition) -> Result<TypeSpec, SqlError> {
        let kind = self.numbered(domain.base).ok_or_else(|| {
            let text = format!("type {} of a domain is not known", domain.base);
            SqlError::new(code::DATA_CORRUPTED, text)
        })?;
        let modifier = domain.modifier;
        Ok(TypeSpec::new(kind, modifier))
    }

    /// Free consecutive numbers, other than those of types that are `named` elsewhere.
    pub fn free_oids(&self, count: u32, named: impl Iterator<Item = u32>) -> u32 {
        let used = self.types.values().flat_map(|there| {
            let labels = there.labels.iter().map(|label| label.oid);
            let class = there.fields.as_ref().map(|_| there.class_oid());
            let base = there.domain.as_ref().map(|domain| domain.base);
            let fields = there.fields.iter().flatten().map(|field| field.kind);
            let needed = base.into_iter().chain(fields).filter(|of| is_of_user(*of));
            let own = labels.chain([there.oid, there.oid + 1]).chain(class);
            own.chain(needed)
        });
        let mut used: Vec<u32> = used.chain(named).collect();
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

fn known_fields(
    fields: &[FieldDefinition],
    known: impl Fn(u32) -> Option<SqlType>,
) -> Vec<CompositeField> {
    let fields = fields.iter().map(|field| CompositeField {
        name: field.name.clone(),
        spec: TypeSpec::new(known(field.kind).unwrap_or(SqlType::Text), field.modifier),
    });
    fields.collect()
}

impl UserType {
    /// The number of a composite type in `pg_class`.
    pub fn class_oid(&self) -> u32 {
        self.oid + 2
    }

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
    /// Types that are named beside the others: those of a table's columns.
    beside: Vec<EnumType>,
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
            beside: Vec::new(),
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

    /// The same with the names of other types, which go behind its own.
    pub fn beside(mut self, types: &[EnumType]) -> TypeNames {
        self.beside = types.to_vec();
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
            Some((kept, found)) => Ok(TypeSpec::plain(self.types.kind_of(kept, found))),
            None => match enum_named(&self.beside, schema, name) {
                Some(found) => Ok(TypeSpec::plain(SqlType::Enum(found))),
                None => Err(unknown_type(schema, name)),
            },
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
