//! A type with its modifier and collation, as a column or a cast declares it, and the engine's type for it.

use super::{Collation, FREE_SCALE, NamedCollation, SqlType, interval_fields};
use crate::names::quoted;
use sardonyx::schema::{Limit, Type};

/// A type with its length, or precision and scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeSpec {
    /// Without its modifier.
    pub kind: SqlType,
    /// PostgreSQL's type modifier: -1 without; the length plus 4; `(precision << 16 | scale) + 4`; the digits of a
    /// second's fraction.
    pub modifier: i32,
    /// The collation of a text.
    pub collation: Collation,
}

impl TypeSpec {
    /// A type without a length.
    pub fn plain(kind: SqlType) -> TypeSpec {
        TypeSpec::new(kind, -1)
    }

    /// With the collation of the database.
    pub fn new(kind: SqlType, modifier: i32) -> TypeSpec {
        let collation = Collation::Database;
        TypeSpec {
            kind,
            modifier,
            collation,
        }
    }

    /// The same with another collation.
    pub(crate) fn with_collation(self, collation: Collation) -> TypeSpec {
        TypeSpec { collation, ..self }
    }

    /// The limit of its values.
    pub fn limit(self) -> Limit {
        Limit::of(self.kind.oid(), self.modifier)
    }

    /// The most characters of `varchar(n)` and `char(n)`.
    pub fn length(self) -> Option<usize> {
        let is_text = matches!(self.kind, SqlType::Varchar | SqlType::Char);
        (is_text && self.modifier >= 4).then(|| (self.modifier - 4) as usize)
    }

    /// The bits of `bit(n)`, and the most of `bit varying(n)`.
    pub fn bits(self) -> Option<usize> {
        let length = usize::try_from(self.modifier).ok();
        length.filter(|_| self.kind.is_bits())
    }

    /// The digits of a `numeric(precision, scale)`, and those behind the point, as a column has them.
    pub fn precision_and_scale(self) -> Option<(u16, u8)> {
        let (precision, scale) = self.digits()?;
        let scale = u8::try_from(scale).ok()?;
        (scale <= 38 && u16::from(scale) <= precision).then_some((precision, scale))
    }

    /// The same as a cast has them: the scale may be negative, or greater than the precision.
    pub(crate) fn digits(self) -> Option<(u16, i16)> {
        let has = self.kind == SqlType::Numeric && self.modifier >= 4;
        has.then(|| {
            let packed = self.modifier - 4;
            // The scale has eleven bits, the highest of which is its sign.
            let scale = (packed & 0x7ff) as i16;
            ((packed >> 16) as u16, (scale << 5) >> 5)
        })
    }

    /// The digits of a second's fraction in `time(n)`, `timetz(n)`, `timestamp(n)` and `timestamptz(n)`.
    pub fn fraction_digits(self) -> Option<u32> {
        let has = matches!(
            self.kind,
            SqlType::Time | SqlType::Timetz | SqlType::Timestamp | SqlType::Timestamptz
        );
        has.then(|| u32::try_from(self.modifier).ok()).flatten()
    }

    /// True if each value of another type with the same kind of storage is one of this type, too.
    pub(crate) fn holds_all_of(self, other: TypeSpec) -> bool {
        let is_least = |own: Option<usize>, others: Option<usize>| match (own, others) {
            (None, _) => true,
            (Some(own), Some(others)) => own >= others,
            (Some(_), None) => false,
        };
        let digits = |spec: TypeSpec| spec.fraction_digits().map(|digits| digits as usize);
        let precision = |spec: TypeSpec| {
            spec.precision_and_scale()
                .map(|(all, _)| usize::from(all).min(38))
        };
        // A value of another text may end with blanks, which a `character` does not have.
        let has_blanks = self.kind == SqlType::Char && other.kind != SqlType::Char;
        !has_blanks
            && self.kind.is_text() == other.kind.is_text()
            && (self.kind == other.kind || !self.is_form_of_other(other))
            && (self.kind != SqlType::Interval
                && self.kind.element().is_none()
                && !self.kind.is_bits()
                || self.modifier < 0
                || self.modifier == other.modifier)
            && is_least(self.length(), other.length())
            && is_least(digits(self), digits(other))
            && is_least(precision(self), precision(other).or(Some(38)))
    }

    /// True if one of them has values that are stored as texts or bytes of a form.
    fn is_form_of_other(self, other: TypeSpec) -> bool {
        let is_it = |spec: TypeSpec| match spec.stored() {
            Type::Text => !spec.kind.is_text(),
            Type::Bytes => spec.kind != SqlType::Bytea,
            _ => false,
        };
        is_it(self) || is_it(other)
    }

    /// The engine's type for it.
    pub fn stored(self) -> Type {
        match self.kind {
            SqlType::Bool => Type::Bool,
            SqlType::Int2 => Type::I16,
            SqlType::Int4 => Type::I32,
            SqlType::Int8 | SqlType::Oid | SqlType::Enum(_) => Type::I64,
            kind if kind.is_object() => Type::I64,
            SqlType::Float4 => Type::F32,
            SqlType::Float8 => Type::F64,
            SqlType::Numeric => Type::Decimal {
                scale: self
                    .precision_and_scale()
                    .map_or(FREE_SCALE, |(_, scale)| scale),
            },
            SqlType::Bytea | SqlType::Inet | SqlType::Cidr | SqlType::Timetz | SqlType::Record => {
                Type::Bytes
            }
            kind if kind.is_range() => Type::Bytes,
            SqlType::Date => Type::Date,
            SqlType::Time => Type::Time,
            SqlType::Timestamp | SqlType::Timestamptz => Type::Timestamp,
            SqlType::Uuid => Type::Uuid,
            _ => Type::Text,
        }
    }

    /// The declaration of a column of it in SQL: with its collation, if that is not the database's.
    pub(crate) fn declared(self) -> String {
        let written = self.to_sql();
        match self.collation.name() {
            name if name == NamedCollation::default() => written,
            name => format!("{written} COLLATE {}", quoted(name.name())),
        }
    }

    /// The name in SQL: `numeric(10,2)`.
    pub fn to_sql(self) -> String {
        if let Some(element) = self.kind.element().filter(|_| self.modifier >= 0) {
            return format!("{}[]", TypeSpec::new(element, self.modifier).to_sql());
        }
        if self.kind == SqlType::Interval {
            return format!("interval{}", interval_fields::shown(self.modifier));
        }
        match (self.length(), self.digits()) {
            (Some(length), _) => format!("{}({length})", self.kind.name()),
            _ if let Some(bits) = self.bits() => format!("{}({bits})", self.kind.name()),
            (_, Some((precision, scale))) => format!("numeric({precision},{scale})"),
            _ => match self.fraction_digits() {
                None => self.kind.name().to_string(),
                Some(digits) => {
                    let (name, zone) = self.kind.name().split_once(' ').unwrap_or_default();
                    format!("{name}({digits}) {zone}")
                }
            },
        }
    }
}
