//! The types of SQL, and the engine's types for them. [`known`] has their names and numbers in PostgreSQL's catalogue.

mod composites;
mod enums;
pub(crate) mod functions;
pub(crate) mod interval_fields;
mod known;
mod spec;
pub(crate) mod without_values;
mod written;

pub use composites::CompositeType;
pub(crate) use composites::{CompositeField, composite_depth};
pub use enums::EnumType;
pub(crate) use enums::{
    LABEL_BYTES_MAX, LABELS_MAX, Label, enum_named, position_behind, position_between,
};
pub use spec::TypeSpec;
pub(crate) use written::{NamedTypes, OwnTypes, dimensions_of, unknown_type};

pub use crate::values::collations::{Collation, NamedCollation};
use sardonyx::schema::{Type, Value};
use sardonyx_rows::ranges::RangeOf;

/// A type of values, as PostgreSQL has it. A comment has its name in SQL, if the variant's name does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "most variants have the type's name in SQL")]
pub enum SqlType {
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric`: up to 38 digits
    Numeric,
    Text,
    /// `character varying`
    Varchar,
    /// `character`, padded with blanks
    Char,
    Bytea,
    Date,
    /// `time without time zone`
    Time,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    Timestamptz,
    /// `time with time zone`
    Timetz,
    Interval,
    Uuid,
    /// `inet`: the address of a host, or of a network
    Inet,
    /// `cidr`: the address of a network
    Cidr,
    /// `bit`: so many bits
    Bit,
    /// `bit varying`: so many bits at most
    Varbit,
    Int4Range,
    Int8Range,
    /// `numrange`
    NumRange,
    DateRange,
    /// `tsrange`
    TsRange,
    TstzRange,
    Oid,
    /// `name`: of things in the catalogue
    Name,
    /// `"char"`: one byte, of the catalogue
    OneChar,
    /// `regclass`: a table's number
    Regclass,
    /// `regcollation`: a collation's number
    Regcollation,
    /// `regconfig`: the number of a configuration of text search
    Regconfig,
    /// `regnamespace`: a schema's number
    Regnamespace,
    /// `regproc`: the number of a function that has a name of its own
    Regproc,
    /// `regprocedure`: a function's number
    Regprocedure,
    /// `regrole`: a user's number
    Regrole,
    /// `regtype`: a type's number
    Regtype,
    /// `json`: as it was written
    Json,
    /// `jsonb`: JSON in one form
    Jsonb,
    /// `jsonpath`: a path of SQL/JSON
    Jsonpath,
    /// `hstore`: texts by keys
    Hstore,
    /// `tsvector`: a document of text search
    Tsvector,
    /// `tsquery`: a question of text search
    Tsquery,
    /// `int2vector`: numbers of columns, in the catalogue
    Int2Vector,
    /// `oidvector`, in the catalogue
    OidVector,
    BoolArray,
    OneCharArray,
    NameArray,
    /// `smallint[]`
    Int2Array,
    /// `integer[]`
    Int4Array,
    TextArray,
    /// `bigint[]`
    Int8Array,
    OidArray,
    /// `real[]`
    Float4Array,
    /// `double precision[]`
    Float8Array,
    NumericArray,
    /// `character varying[]`
    VarcharArray,
    CharArray,
    ByteaArray,
    DateArray,
    /// `time without time zone[]`
    TimeArray,
    /// `timestamp without time zone[]`
    TimestampArray,
    /// `timestamp with time zone[]`
    TimestamptzArray,
    /// `time with time zone[]`
    TimetzArray,
    IntervalArray,
    UuidArray,
    InetArray,
    CidrArray,
    BitArray,
    VarbitArray,
    JsonArray,
    JsonbArray,
    JsonpathArray,
    Int4RangeArray,
    Int8RangeArray,
    /// `numrange[]`
    NumRangeArray,
    DateRangeArray,
    /// `tsrange[]`
    TsRangeArray,
    TstzRangeArray,
    HstoreArray,
    TsvectorArray,
    TsqueryArray,
    /// An enum type of a user
    Enum(EnumType),
    EnumArray(EnumType),
    Composite(CompositeType),
    CompositeArray(CompositeType),
    /// The type of a literal in quotes, or a null, before it is known.
    Unknown,
    /// `void`: of functions that return nothing
    Void,
    /// `record`: a row as a value
    Record,
    RecordArray,
}

/// Digits behind the point of a `numeric` without a scale.
pub(crate) const FREE_SCALE: u8 = 18;

impl SqlType {
    /// The enum type of which it is, or its arrays are.
    pub(crate) fn enum_type(self) -> Option<EnumType> {
        match self {
            SqlType::Enum(of) | SqlType::EnumArray(of) => Some(of),
            _ => None,
        }
    }

    /// True if it is `int2vector` or `oidvector`, whose elements are counted from 0.
    pub fn is_vector(self) -> bool {
        matches!(self, SqlType::Int2Vector | SqlType::OidVector)
    }

    /// True for a type of single values.
    pub(crate) fn is_storable(self) -> bool {
        self.element().is_none() && !self.is_json() && !self.is_form() && !self.is_record()
    }

    /// True if values are rows, or arrays of rows.
    pub(crate) fn is_record(self) -> bool {
        matches!(self, SqlType::Record | SqlType::RecordArray)
    }

    /// True if values are JSON.
    fn is_json(self) -> bool {
        matches!(self, SqlType::Json | SqlType::Jsonb)
    }

    /// True for a type of an extension, of text search, or of paths, whose values are texts of one form each.
    pub(crate) fn is_form(self) -> bool {
        matches!(
            self,
            SqlType::Hstore | SqlType::Jsonpath | SqlType::Tsvector | SqlType::Tsquery
        )
    }

    /// True if a column of a table may have the type.
    pub(crate) fn is_of_columns(self) -> bool {
        let is_own = matches!(
            self,
            SqlType::OneCharArray | SqlType::NameArray | SqlType::OidArray
        );
        !self.is_vector() && !is_own && !self.is_record()
    }

    /// True if values are texts in an expression, and are compared by keys instead of these texts.
    pub(crate) fn has_keys(self) -> bool {
        self.element().is_some()
            || self.is_form()
            || matches!(
                self,
                SqlType::Interval | SqlType::Jsonb | SqlType::Record | SqlType::Composite(_)
            )
    }

    /// True if values are addresses of hosts and networks.
    pub fn is_network(self) -> bool {
        matches!(self, SqlType::Inet | SqlType::Cidr)
    }

    /// True if values are strings of bits.
    pub fn is_bits(self) -> bool {
        matches!(self, SqlType::Bit | SqlType::Varbit)
    }

    /// The kind of a range's values, as the engine has them; `None` if it is no range.
    pub(crate) fn range(self) -> Option<RangeOf> {
        Some(match self {
            SqlType::Int4Range => RangeOf::Int4,
            SqlType::Int8Range => RangeOf::Int8,
            SqlType::NumRange => RangeOf::Numeric,
            SqlType::DateRange => RangeOf::Date,
            SqlType::TsRange => RangeOf::Timestamp,
            SqlType::TstzRange => RangeOf::Timestamptz,
            _ => return None,
        })
    }

    /// The type of the bounds of a range; `None` if it is none.
    pub fn bound(self) -> Option<SqlType> {
        self.range().map(|of| match of {
            RangeOf::Int4 => SqlType::Int4,
            RangeOf::Int8 => SqlType::Int8,
            RangeOf::Numeric => SqlType::Numeric,
            RangeOf::Date => SqlType::Date,
            RangeOf::Timestamp => SqlType::Timestamp,
            RangeOf::Timestamptz => SqlType::Timestamptz,
        })
    }

    /// True if values are ranges.
    pub fn is_range(self) -> bool {
        self.bound().is_some()
    }

    /// The type of single values without parts: of an array's elements, of a range's bounds, of bounds in an array of
    /// ranges.
    pub(crate) fn single(self) -> SqlType {
        let one = self.element().unwrap_or(self);
        one.bound().unwrap_or(one)
    }

    /// True if values have days, moments or zones, of which a text is read in a session's order of dates and its time zone.
    pub(crate) fn is_of_days(self) -> bool {
        matches!(
            self.single(),
            SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz | SqlType::Timetz
        )
    }

    /// True if values are numbers of objects of the catalogue, which are read from names and written as names.
    pub fn is_object(self) -> bool {
        matches!(
            self,
            SqlType::Regclass
                | SqlType::Regcollation
                | SqlType::Regconfig
                | SqlType::Regnamespace
                | SqlType::Regproc
                | SqlType::Regprocedure
                | SqlType::Regrole
                | SqlType::Regtype
        )
    }

    /// True if values are numbers.
    pub fn is_number(self) -> bool {
        self.is_integer() || matches!(self, SqlType::Float4 | SqlType::Float8 | SqlType::Numeric)
    }

    /// True if values are whole numbers of a fixed width.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid
        ) || self.is_object()
    }

    /// True if values, or elements, have a collation.
    pub(crate) fn is_collatable(self) -> bool {
        self.element().unwrap_or(self).is_text()
    }

    /// True if values are texts.
    pub fn is_text(self) -> bool {
        matches!(
            self,
            SqlType::Text
                | SqlType::Varchar
                | SqlType::Char
                | SqlType::Name
                | SqlType::OneChar
                | SqlType::Unknown
        )
    }

    /// The category in `pg_type`.
    pub(crate) fn category(self) -> char {
        match self {
            SqlType::Bool => 'B',
            kind if kind.is_number() => 'N',
            SqlType::Unknown | SqlType::Void => 'X',
            SqlType::OneChar => 'Z',
            kind if kind.is_text() => 'S',
            SqlType::Date
            | SqlType::Time
            | SqlType::Timetz
            | SqlType::Timestamp
            | SqlType::Timestamptz => 'D',
            SqlType::Interval => 'T',
            SqlType::Enum(_) => 'E',
            SqlType::Composite(_) => 'C',
            kind if kind.is_record() => 'P',
            kind if kind.is_network() => 'I',
            kind if kind.is_bits() => 'V',
            kind if kind.is_range() => 'R',
            kind if kind.element().is_some() => 'A',
            _ => 'U',
        }
    }

    /// True for the preferred type of its category.
    pub(crate) fn is_preferred(self) -> bool {
        matches!(
            self,
            SqlType::Bool
                | SqlType::Float8
                | SqlType::Inet
                | SqlType::Interval
                | SqlType::Varbit
                | SqlType::Oid
                | SqlType::Text
                | SqlType::Timestamptz
        )
    }

    /// The least and the greatest of a type of whole numbers.
    pub(crate) fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            SqlType::Int2 => (i16::MIN.into(), i16::MAX.into()),
            SqlType::Int4 => (i32::MIN.into(), i32::MAX.into()),
            SqlType::Int8 => (i64::MIN.into(), i64::MAX.into()),
            kind if kind == SqlType::Oid || kind.is_object() => (0, u32::MAX.into()),
            _ => return None,
        })
    }

    /// The type that a value has by itself.
    pub(crate) fn of_value(value: &Value) -> SqlType {
        match value {
            Value::Bool(_) => SqlType::Bool,
            Value::Int(value) if i64::try_from(*value).is_ok() => SqlType::Int8,
            Value::Int(_) | Value::U128(_) | Value::Decimal(..) | Value::NonFinite(_) => {
                SqlType::Numeric
            }
            Value::Float(_) => SqlType::Float8,
            Value::Bytes(_) => SqlType::Bytea,
            Value::Date(_) => SqlType::Date,
            Value::Time(_) => SqlType::Time,
            Value::Timestamp(_) => SqlType::Timestamptz,
            Value::Uuid(_) => SqlType::Uuid,
            _ => SqlType::Text,
        }
    }

    /// The type for a column of the engine.
    pub fn of_stored(stored: Type) -> TypeSpec {
        let numeric = |scale: u8| (38 << 16 | i32::from(scale)) + 4;
        let (kind, modifier) = match stored {
            Type::Bool => (SqlType::Bool, -1),
            Type::I8 | Type::U8 | Type::I16 => (SqlType::Int2, -1),
            Type::U16 | Type::I32 => (SqlType::Int4, -1),
            Type::U32 | Type::I64 => (SqlType::Int8, -1),
            Type::U64 | Type::I128 | Type::U128 => (SqlType::Numeric, numeric(0)),
            Type::F32 => (SqlType::Float4, -1),
            Type::F64 => (SqlType::Float8, -1),
            Type::Decimal { scale } => (SqlType::Numeric, numeric(scale)),
            Type::Text => (SqlType::Text, -1),
            Type::Date => (SqlType::Date, -1),
            Type::Time => (SqlType::Time, -1),
            Type::Timestamp => (SqlType::Timestamptz, -1),
            Type::Uuid => (SqlType::Uuid, -1),
            _ => (SqlType::Bytea, -1),
        };
        TypeSpec::new(kind, modifier)
    }
}
