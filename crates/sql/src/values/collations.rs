//! Collations: named orders of texts.
//!
//! The database orders texts by their bytes, and so do `C`, `POSIX` and `ucs_basic`. A collation of ICU, `sv-x-icu` for
//! example, orders by the rules of a language in CLDR. It is deterministic: texts that are equal by these rules are
//! ordered by their bytes. So two texts are equal in every collation if their bytes are, and keys, references, `=`,
//! `IN` and `LIKE` need no collation.
//!
//! A text is compared by its [`key`]: the sort key of ICU, then the bytes. Keys are computed when they are needed and
//! never stored, since another release of CLDR has others.
//!
//! An expression derives its collation from its parts ([`Collation::with`]), as PostgreSQL's `parse_collate.c` does.
//!
//! Source: PostgreSQL 15, `src/backend/parser/parse_collate.c`, `varstr_cmp`; Unicode Technical Standard 10.

use super::collation_names::{FIRST_OF_ICU, NAMES};
use crate::error::{SqlError, code};
use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed};
use icu_locale_core::Locale;
use std::cmp::Ordering;
use std::sync::{LazyLock, OnceLock};

/// A collation that has a name, by its number among them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct NamedCollation(u16);

/// The collation of a value, and the way in which the value got it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Collation {
    /// No other was named.
    #[default]
    Database,
    /// A column has it.
    Implicit(NamedCollation),
    /// `COLLATE` names it.
    Explicit(NamedCollation),
    /// The columns have different ones: a comparison needs `COLLATE`.
    Undecided,
    /// `COLLATE` names two.
    Contradicted(NamedCollation, NamedCollation),
}

impl NamedCollation {
    /// The one of the database.
    const DATABASE: NamedCollation = NamedCollation(0);

    /// The collation of a name, in lower or upper case.
    pub(crate) fn named(name: &str) -> Option<NamedCollation> {
        let bytes = match name.to_ascii_lowercase().as_str() {
            "default" => Some(0),
            "c" => Some(1),
            "posix" => Some(2),
            "ucs_basic" => Some(3),
            "c.utf8" | "c.utf-8" | "pg_c_utf8" => Some(4),
            _ => None,
        };
        let of_icu = || {
            let found = NAMES.binary_search(&name).ok()?;
            u16::try_from(found + FIRST_OF_ICU).ok()
        };
        bytes.or_else(of_icu).map(NamedCollation)
    }

    /// The name of one of ICU.
    fn icu(self) -> Option<&'static str> {
        let place = usize::from(self.0).checked_sub(FIRST_OF_ICU)?;
        NAMES.get(place).copied()
    }

    pub(crate) fn name(self) -> &'static str {
        match (self.icu(), self.0) {
            (Some(name), _) => name,
            (None, 0) => "default",
            (None, 1) => "C",
            (None, 2) => "POSIX",
            (None, 3) => "ucs_basic",
            (None, _) => "C.utf8",
        }
    }

    /// Its number in `pg_collation`.
    pub(crate) fn oid(self) -> u32 {
        match self.0 {
            0 => 100,
            1 => 950,
            2 => 951,
            3 => 962,
            other => 12_300 + u32::from(other),
        }
    }

    /// The locale of ICU in `pg_collation`.
    pub(crate) fn locale(self) -> Option<&'static str> {
        self.icu()?.strip_suffix("-x-icu")
    }

    /// True if the language changes the case of letters in another way than Unicode's own table.
    pub(crate) fn has_own_cases(self) -> bool {
        let language = self.locale().and_then(|locale| locale.split('-').next());
        language.is_some_and(|language| ["az", "el", "hy", "lt", "tr"].contains(&language))
    }

    /// True if texts are ordered by a language's rules.
    pub(crate) fn is_of_icu(self) -> bool {
        self.icu().is_some()
    }

    /// The error of an operation that does not support it.
    #[cold]
    pub(crate) fn unknown_to(self, of: &str) -> SqlError {
        let name = self.name();
        SqlError::unsupported(format!("the collation \"{name}\" is not supported by {of}"))
            .hint("COLLATE \"C\" orders by bytes.")
    }

    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = NamedCollation> {
        let count = FIRST_OF_ICU + NAMES.len();
        (0..count).filter_map(|number| u16::try_from(number).ok().map(NamedCollation))
    }

    /// The number by which functions get it.
    pub(crate) fn number(self) -> u16 {
        self.0
    }

    /// The one of such a number.
    pub(crate) fn of_number(number: i64) -> Option<NamedCollation> {
        let number = u16::try_from(number).ok()?;
        let is_known = usize::from(number) < FIRST_OF_ICU + NAMES.len();
        is_known.then_some(NamedCollation(number))
    }
}

impl Collation {
    pub(crate) fn of_column(name: NamedCollation) -> Collation {
        match name == NamedCollation::DATABASE {
            true => Collation::Database,
            false => Collation::Implicit(name),
        }
    }

    /// The same as a column's or a query's, instead of by `COLLATE`.
    pub(crate) fn implicit(self) -> Collation {
        match self {
            Collation::Explicit(name) => Collation::of_column(name),
            other => other,
        }
    }

    /// The collation of an expression with two parts.
    pub(crate) fn with(self, other: Collation) -> Collation {
        use Collation::{Contradicted, Database, Explicit, Implicit, Undecided};
        match (self, other) {
            (Contradicted(..), _) => self,
            (_, Contradicted(..)) => other,
            (Explicit(one), Explicit(two)) if one != two => Contradicted(one, two),
            (Explicit(_), _) => self,
            (_, Explicit(_)) => other,
            (Undecided, _) | (_, Undecided) => Undecided,
            (Database, other) => other,
            (_, Database) => self,
            (Implicit(one), Implicit(two)) if one != two => Undecided,
            (Implicit(_), Implicit(_)) => self,
        }
    }

    /// The collation by which values are compared.
    ///
    /// # Errors
    /// `42P21`, `42P22` if there is more than one.
    pub(crate) fn decided(self) -> Result<NamedCollation, SqlError> {
        match self {
            Collation::Database => Ok(NamedCollation::DATABASE),
            Collation::Implicit(name) | Collation::Explicit(name) => Ok(name),
            Collation::Undecided => Err(SqlError::new(
                code::INDETERMINATE_COLLATION,
                "could not determine which collation to use for string comparison",
            )
            .hint("Use the COLLATE clause to set the collation explicitly.")),
            Collation::Contradicted(one, two) => Err(SqlError::new(
                code::COLLATION_MISMATCH,
                format!(
                    "collation mismatch between explicit collations \"{}\" and \"{}\"",
                    one.name(),
                    two.name()
                ),
            )),
        }
    }

    /// The collation of ICU by which texts are ordered; `None` if it is by their bytes.
    ///
    /// # Errors
    /// As [`Collation::decided`].
    pub(crate) fn icu(self) -> Result<Option<NamedCollation>, SqlError> {
        Ok(Some(self.decided()?).filter(|name| name.is_of_icu()))
    }

    /// The name in a column's notes.
    pub(crate) fn noted(self) -> Option<String> {
        let name = self.name();
        (name != NamedCollation::DATABASE).then(|| name.name().to_string())
    }

    /// The collation of a column, or a result: the database's if it is undecided.
    pub(crate) fn name(self) -> NamedCollation {
        self.decided().unwrap_or_default()
    }
}

/// The bytes by which a text is ordered.
///
/// # Errors
/// `0A000` for Chinese characters; `XX000` if there are no rules for the language, which the tests exclude.
pub(crate) fn key(text: &str, collation: NamedCollation) -> Result<Vec<u8>, SqlError> {
    let mut key = Vec::with_capacity(3 * text.len() + 4);
    if let Some(collator) = rules(collation, &[text])? {
        let Ok(()) = collator.write_sort_key_to(text, &mut key);
        // No byte of a sort key is less than 1.
        key.push(0);
    }
    key.extend(text.as_bytes());
    Ok(key)
}

/// Compares two texts in the order of their keys, up to the place where they differ.
///
/// # Errors
/// The errors of [`key`].
pub(crate) fn compare(
    one: &str,
    other: &str,
    collation: NamedCollation,
) -> Result<Ordering, SqlError> {
    let by_rules = match rules(collation, &[one, other])? {
        Some(collator) if one != other => collator.compare(one, other),
        _ => Ordering::Equal,
    };
    Ok(by_rules.then_with(|| one.cmp(other)))
}

/// The rules that order these texts; `None` for the order of their bytes.
///
/// # Errors
/// `0A000` for a character that they order in another way than PostgreSQL.
fn rules(
    collation: NamedCollation,
    texts: &[&str],
) -> Result<Option<&'static CollatorBorrowed<'static>>, SqlError> {
    if !collation.is_of_icu() {
        return Ok(None);
    }
    let name = collation.name();
    let mut characters = texts.iter().flat_map(|text| text.chars());
    if let Some(character) = characters.find(|one| is_han(*one)) {
        let message =
            format!("the order of \"{character}\" in the collation \"{name}\" is not supported");
        return Err(SqlError::unsupported(message).hint("COLLATE \"C\" orders by bytes."));
    }
    let missing = || {
        SqlError::new(
            code::INTERNAL,
            format!("there are no rules for the collation {name}"),
        )
    };
    collator(collation).map(Some).ok_or_else(missing)
}

/// True for Chinese characters: PostgreSQL orders them by radicals and strokes, and the crate's data by their numbers.
fn is_han(character: char) -> bool {
    matches!(u32::from(character), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

/// The rules of a collation. They are kept, since making them costs more than a comparison.
fn collator(collation: NamedCollation) -> Option<&'static CollatorBorrowed<'static>> {
    static KEPT: LazyLock<Vec<OnceLock<Option<CollatorBorrowed<'static>>>>> =
        LazyLock::new(|| NAMES.iter().map(|_| OnceLock::new()).collect());
    let place = usize::from(collation.0).checked_sub(FIRST_OF_ICU)?;
    let kept = KEPT.get(place)?.get_or_init(|| {
        let locale: Locale = collation.locale()?.parse().ok()?;
        Collator::try_new((&locale).into(), CollatorOptions::default()).ok()
    });
    kept.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_base::random::Random;

    #[test]
    fn names_are_in_order_and_have_rules() {
        assert!(NAMES.is_sorted());
        for collation in NamedCollation::all() {
            assert_eq!(NamedCollation::named(collation.name()), Some(collation));
            assert_eq!(
                NamedCollation::of_number(collation.number().into()),
                Some(collation)
            );
            let key = key("a", collation).expect("it has rules");
            assert!(key.ends_with(b"a"), "{}", collation.name());
        }
    }

    #[test]
    fn a_key_is_of_one_text() {
        let collation = NamedCollation::named("sv-x-icu").expect("it is there");
        let of = |text| key(text, collation).expect("it has a key");
        // Canonically equal texts, and texts that differ only by ignored characters.
        for (less, more) in [
            ("a\u{308}", "ä"),
            ("ab", "a\u{ad}b"),
            ("z", "å"),
            ("ä", "ö"),
            ("a", "A"),
        ] {
            assert!(of(less) < of(more), "{less} {more}");
        }
        assert!(key("漢", collation).is_err());
    }

    /// A comparison stops where two texts differ, and keys do not: both have one order.
    #[test]
    fn texts_are_compared_as_their_keys_are() {
        let mut random = Random::new(7);
        let pieces = [
            "a", "A", "ä", "a\u{308}", "å", "b", "z", "\u{ad}", "-", " ", "ß", "ss", "x", "é", "1",
        ];
        let names = ["sv-x-icu", "de-x-icu", "und-x-icu", "es-x-icu", "C"];
        for _ in 0..5_000 {
            let mut text = || -> String {
                let count = random.below(6);
                let drawn = (0..count).map(|_| pieces[random.below(pieces.len() as u64) as usize]);
                drawn.collect()
            };
            let (one, other) = (text(), text());
            for name in names {
                let collation = NamedCollation::named(name).expect("it is there");
                let of = |text: &str| key(text, collation).expect("it has a key");
                let order = compare(&one, &other, collation).expect("they are compared");
                assert_eq!(order, of(&one).cmp(&of(&other)), "{one:?} {other:?} {name}");
            }
        }
        let collation = NamedCollation::named("sv-x-icu").expect("it is there");
        assert!(compare("a", "漢", collation).is_err());
    }

    #[test]
    fn parts_decide_a_collation() {
        let named = |name| NamedCollation::named(name).expect("it is there");
        let (c, sv) = (named("C"), named("sv-x-icu"));
        let (column, other) = (Collation::of_column(sv), Collation::of_column(c));
        assert_eq!(Collation::Database.with(column), column);
        assert_eq!(column.with(other), Collation::Undecided);
        assert_eq!(
            column.with(other).with(Collation::Explicit(c)),
            Collation::Explicit(c)
        );
        assert_eq!(
            Collation::Explicit(sv).with(Collation::Explicit(c)),
            Collation::Contradicted(sv, c)
        );
        assert_eq!(Collation::Explicit(sv).implicit(), column);
        assert_eq!(Collation::of_column(named("default")), Collation::Database);
    }
}
