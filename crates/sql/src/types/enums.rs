//! Enum types: an ordered list of labels, each with a number by which values are stored and ordered.
//!
//! A type is a small value that is copied everywhere, so the labels are kept once for the process, as the fields of composite
//! types are. Equal types share
//! one entry, which is made when a type is first read. Entries are never freed: a plan, a result or another database of
//! the process may have them. [`BYTES_MAX`] bounds all of them. Beyond it no type can be created or changed before the
//! program starts again. Existing types are still read.
//!
//! Invariants: the numbers of labels are in their order. The number of a label never changes, so stored values and
//! indexes stay as they are when labels are added or renamed.

use super::composites::{CompositeField, depth_of};
use crate::error::{SqlError, code};
use crate::path::{local, schema_of, written};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The bytes of all enum types that a process has read, beyond which none is created or changed.
const BYTES_MAX: usize = 64 << 20;
/// The most labels of a type.
pub(crate) const LABELS_MAX: usize = 10_000;
/// The most bytes of a label.
pub(crate) const LABEL_BYTES_MAX: usize = 63;
/// The distance of two labels that are declared one after the other, as room for new labels between them.
const GAP: i64 = 1 << 40;
/// The first number by which functions get user-defined types: the catalogue's are smaller.
const FIRST_NUMBER: u32 = 0xC000_0000;

/// A label of an enum type.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Label {
    pub name: String,
    /// Its number in `pg_enum`.
    pub oid: u32,
    /// The number that is stored; labels are in the order of these.
    pub position: i64,
}

impl Label {
    /// Its place in `pg_enum`: 1, 2, 3, and fractions for labels that were added between.
    pub fn sort_order(&self) -> f64 {
        self.position as f64 / GAP as f64 + 1.0
    }
}

/// An enum type.
pub(crate) struct Definition {
    /// Its number among those of the process.
    number: u32,
    pub oid: u32,
    pub schema: String,
    /// The names in SQL of the type, and of its arrays.
    pub name: String,
    pub array_name: String,
    /// The names in `pg_type` of the type, and of its arrays.
    pub internal_name: String,
    pub array_internal_name: String,
    /// In their order.
    pub labels: Vec<Label>,
    /// The fields of a composite type.
    pub fields: Option<Vec<CompositeField>>,
    /// The levels of rows in a value of a composite type.
    pub(super) depth: usize,
    places: HashMap<String, usize>,
}

/// The content of a type: the labels of an enum, or the fields of a composite type.
#[derive(Clone, Copy)]
pub(super) struct Content<'c> {
    pub labels: &'c [Label],
    pub fields: Option<&'c [CompositeField]>,
}

impl<'c> Content<'c> {
    fn of_labels(labels: &'c [Label]) -> Content<'c> {
        Content {
            labels,
            fields: None,
        }
    }

    fn is_of(self, there: &Definition) -> bool {
        there.labels == self.labels && there.fields.as_deref() == self.fields
    }

    /// The bytes of an entry, about.
    fn bytes(self, kept: &str) -> usize {
        let label_bytes = self.labels.iter().map(|label| 2 * label.name.len() + 128);
        let fields = self.fields.unwrap_or_default().iter();
        let field_bytes = fields.map(|field| field.name.len() + 128);
        512 + 4 * kept.len() + label_bytes.chain(field_bytes).sum::<usize>()
    }
}

impl Definition {
    /// The number by which functions get the type, or its arrays. It belongs to this process, not to the database.
    pub(super) fn number(&self, of_array: bool) -> u32 {
        FIRST_NUMBER + 2 * self.number + u32::from(of_array)
    }

    /// The type of such a number, and true for its arrays.
    pub(super) fn of_number(number: u32) -> Option<(&'static Definition, bool)> {
        let number = number.checked_sub(FIRST_NUMBER)?;
        let known = known();
        let found = known.all.get(number as usize / 2)?;
        Some((found, number % 2 == 1))
    }

    /// The entry of a type with this content.
    pub(super) fn kept(oid: u32, kept: &str, content: Content<'_>) -> &'static Definition {
        known().keep(oid, kept, content)
    }

    /// Checks that such an entry has room.
    ///
    /// # Errors
    /// `54000` if the process has read too many types.
    pub(super) fn check_room(oid: u32, kept: &str, content: Content<'_>) -> Result<(), SqlError> {
        known().check_room(oid, kept, content)
    }
}

/// A handle of an enum type. Two are equal if they are of one type of a database, whichever labels they have.
#[derive(Clone, Copy)]
pub struct EnumType(&'static Definition);

impl PartialEq for EnumType {
    fn eq(&self, other: &EnumType) -> bool {
        self.0.oid == other.0.oid
    }
}

impl Eq for EnumType {}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.oid.hash(state);
    }
}

impl fmt::Debug for EnumType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

#[derive(Default)]
struct Known {
    all: Vec<&'static Definition>,
    /// Entries by number and name.
    by_content: HashMap<(u32, String), Vec<&'static Definition>>,
    bytes: usize,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

impl Known {
    /// The entry with this content, if there is one.
    fn find(&self, oid: u32, kept: &str, content: Content<'_>) -> Option<&'static Definition> {
        let same = self.by_content.get(&(oid, kept.to_string()))?;
        same.iter().copied().find(|there| content.is_of(there))
    }

    /// Checks that an entry exists, or has room.
    ///
    /// # Errors
    /// `54000` if there is none.
    fn check_room(&self, oid: u32, kept: &str, content: Content<'_>) -> Result<(), SqlError> {
        let is_there = || self.find(oid, kept, content).is_some();
        if self.bytes + content.bytes(kept) <= BYTES_MAX || is_there() {
            return Ok(());
        }
        Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!("types of users of a process have at most {BYTES_MAX} bytes"),
        )
        .hint("Types that were dropped or changed count until the program starts again."))
    }

    /// The entry with this content, which is made if there is none.
    fn keep(&mut self, oid: u32, kept: &str, content: Content<'_>) -> &'static Definition {
        if let Some(found) = self.find(oid, kept, content) {
            return found;
        }
        let labels = content.labels;
        let internal = local(kept).to_string();
        let places = labels.iter().enumerate();
        let definition: &'static Definition = Box::leak(Box::new(Definition {
            number: self.all.len() as u32,
            oid,
            schema: schema_of(kept).to_string(),
            name: written(kept),
            array_name: format!("{}[]", written(kept)),
            array_internal_name: format!("_{internal}"),
            internal_name: internal,
            labels: labels.to_vec(),
            fields: content.fields.map(<[CompositeField]>::to_vec),
            depth: content.fields.map_or(0, depth_of),
            places: places
                .map(|(place, label)| (label.name.clone(), place))
                .collect(),
        }));
        self.bytes += content.bytes(kept);
        self.all.push(definition);
        let key = (oid, kept.to_string());
        self.by_content.entry(key).or_default().push(definition);
        definition
    }
}

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EnumType {
    /// The type with this number, name and labels, which are in their order. It exists in a database, so it is read
    /// beyond the bound, too.
    pub(crate) fn of(oid: u32, kept: &str, labels: &[Label]) -> EnumType {
        EnumType(Definition::kept(oid, kept, Content::of_labels(labels)))
    }

    /// Checks that such a type may be created, or be changed. It takes room once it is read.
    ///
    /// # Errors
    /// `54000` if the process has read too many.
    pub(crate) fn check_room(oid: u32, kept: &str, labels: &[Label]) -> Result<(), SqlError> {
        Definition::check_room(oid, kept, Content::of_labels(labels))
    }

    /// The type whose definition this is.
    pub(super) fn of_entry(entry: &'static Definition) -> EnumType {
        EnumType(entry)
    }

    /// Its name, schema and labels.
    pub(crate) fn definition(self) -> &'static Definition {
        self.0
    }

    /// The number by which functions get the type, or its arrays.
    pub(super) fn number(self, of_array: bool) -> u32 {
        self.0.number(of_array)
    }

    /// The stored number of a label.
    pub(crate) fn position(self, label: &str) -> Option<i64> {
        let place = self.0.places.get(label)?;
        self.0.labels.get(*place).map(|label| label.position)
    }

    /// The label of a stored number.
    pub(crate) fn label(self, position: i128) -> Option<&'static str> {
        let labels = &self.0.labels;
        let place = labels.binary_search_by_key(&position, |label| label.position.into());
        place.ok().map(|place| &*labels[place].name)
    }
}

/// The only one of some types with a name.
pub(crate) fn enum_named(types: &[EnumType], schema: Option<&str>, name: &str) -> Option<EnumType> {
    let is_it = |of: &&EnumType| {
        let of = of.definition();
        of.internal_name == name && schema.is_none_or(|schema| schema == of.schema)
    };
    let mut found = types.iter().filter(is_it);
    let first = found.next()?;
    found.all(|other| other == first).then_some(*first)
}

/// The number of a new label after all others.
///
/// # Errors
/// `54000` if there is no greater one.
pub(crate) fn position_behind(last: Option<i64>) -> Result<i64, SqlError> {
    let next = last.map_or(Some(0), |last| last.checked_add(GAP));
    next.ok_or_else(no_room)
}

/// The number of a new label before another one, or between two.
///
/// # Errors
/// `54000` if there is none.
pub(crate) fn position_between(low: Option<i64>, high: i64) -> Result<i64, SqlError> {
    let position = match low {
        None => high.checked_sub(GAP),
        Some(low) => {
            let middle = low + (high - low) / 2;
            (middle > low && middle < high).then_some(middle)
        }
    };
    position.ok_or_else(no_room)
}

fn no_room() -> SqlError {
    SqlError::new(
        code::PROGRAM_LIMIT,
        "there is no room for another label at this place of the enum",
    )
    .hint("Create a type with the labels in the wanted order, and change the columns' type to it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str, position: i64) -> Label {
        Label {
            name: name.to_string(),
            oid: 1,
            position,
        }
    }

    #[test]
    fn what_says_the_same_is_kept_once() {
        let labels = [label("a", 0), label("b", GAP)];
        let one = EnumType::of(7, "mood", &labels);
        let two = EnumType::of(7, "mood", &labels);
        assert!(std::ptr::eq(one.0, two.0));
        let more = EnumType::of(7, "mood", &labels[..1]);
        assert!(!std::ptr::eq(one.0, more.0));
        assert_eq!(one, more);
        assert_eq!(one.label(GAP.into()), Some("b"));
        assert_eq!(one.label(1), None);
        assert_eq!(more.position("b"), None);
        let (found, of_array) = Definition::of_number(one.number(true)).expect("it is known");
        assert!(std::ptr::eq(found, one.0) && of_array);
    }

    #[test]
    fn what_is_declared_has_a_bound_and_what_is_read_has_none() {
        let labels = [label("a", 0), label("b", GAP)];
        let (one, two) = (
            Content::of_labels(&labels[..1]),
            Content::of_labels(&labels),
        );
        let mut known = Known::default();
        // A type that is declared and never read takes nothing.
        for _ in 0..2 {
            assert!(known.check_room(7, "mood", two).is_ok());
        }
        assert_eq!((known.all.len(), known.bytes), (0, 0));
        known.keep(7, "mood", two);
        let once = known.bytes;
        assert_eq!(once, two.bytes("mood"));
        known.keep(7, "mood", two);
        assert_eq!((known.all.len(), known.bytes), (1, once));
        known.bytes = BYTES_MAX;
        let full = known.check_room(7, "mood", one);
        assert_eq!(full.expect_err("it is full").code, code::PROGRAM_LIMIT);
        // The first labels have an entry still, and those that another program has stored are read.
        assert!(known.check_room(7, "mood", two).is_ok());
        assert_eq!(known.keep(8, "other", one).labels.len(), 1);
        assert!(known.bytes > BYTES_MAX);
    }

    #[test]
    fn a_label_fits_between_two_often_and_then_no_more() {
        let mut high = GAP;
        let mut count = 0;
        while let Ok(middle) = position_between(Some(0), high) {
            assert!(middle > 0 && middle < high);
            high = middle;
            count += 1;
        }
        assert_eq!(count, 40);
        assert!(position_between(None, i64::MIN + 1).is_err());
        assert!(position_behind(Some(i64::MAX)).is_err());
    }
}
