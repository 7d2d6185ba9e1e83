//! Types in PostgreSQL's catalogue: their numbers and names, and their arrays.

use super::enums::Definition;
use super::{CompositeType, EnumType, SqlType};

/// Types, their numbers, their names in SQL, and the bytes of a value: -1 for any length.
const ALL: [(SqlType, u32, &str, i16); 88] = [
    (SqlType::Bool, 16, "boolean", 1),
    (SqlType::Bytea, 17, "bytea", -1),
    (SqlType::OneChar, 18, "\"char\"", 1),
    (SqlType::Name, 19, "name", 64),
    (SqlType::Int8, 20, "bigint", 8),
    (SqlType::Int2, 21, "smallint", 2),
    (SqlType::Int4, 23, "integer", 4),
    (SqlType::Text, 25, "text", -1),
    (SqlType::Oid, 26, "oid", 4),
    (SqlType::Float4, 700, "real", 4),
    (SqlType::Float8, 701, "double precision", 8),
    (SqlType::Unknown, 705, "unknown", -2),
    (SqlType::Char, 1042, "character", -1),
    (SqlType::Varchar, 1043, "character varying", -1),
    (SqlType::Date, 1082, "date", 4),
    (SqlType::Time, 1083, "time without time zone", 8),
    (SqlType::Timestamp, 1114, "timestamp without time zone", 8),
    (SqlType::Timestamptz, 1184, "timestamp with time zone", 8),
    (SqlType::Timetz, 1266, "time with time zone", 12),
    (SqlType::Interval, 1186, "interval", 16),
    (SqlType::Numeric, 1700, "numeric", -1),
    (SqlType::Regclass, 2205, "regclass", 4),
    (SqlType::Regcollation, 4191, "regcollation", 4),
    (SqlType::Regconfig, 3734, "regconfig", 4),
    (SqlType::Regnamespace, 4089, "regnamespace", 4),
    (SqlType::Regproc, 24, "regproc", 4),
    (SqlType::Regprocedure, 2202, "regprocedure", 4),
    (SqlType::Regrole, 4096, "regrole", 4),
    (SqlType::Regtype, 2206, "regtype", 4),
    (SqlType::Void, 2278, "void", 4),
    (SqlType::Record, 2249, "record", -1),
    (SqlType::RecordArray, 2287, "record[]", -1),
    (SqlType::Uuid, 2950, "uuid", 16),
    (SqlType::Inet, 869, "inet", -1),
    (SqlType::Cidr, 650, "cidr", -1),
    (SqlType::Bit, 1560, "bit", -1),
    (SqlType::Varbit, 1562, "bit varying", -1),
    (SqlType::Json, 114, "json", -1),
    (SqlType::Jsonb, 3802, "jsonb", -1),
    (SqlType::JsonArray, 199, "json[]", -1),
    (SqlType::Jsonpath, 4072, "jsonpath", -1),
    (SqlType::JsonpathArray, 4073, "jsonpath[]", -1),
    (SqlType::JsonbArray, 3807, "jsonb[]", -1),
    (SqlType::Int2Vector, 22, "int2vector", -1),
    (SqlType::OidVector, 30, "oidvector", -1),
    (SqlType::BoolArray, 1000, "boolean[]", -1),
    (SqlType::OneCharArray, 1002, "\"char\"[]", -1),
    (SqlType::NameArray, 1003, "name[]", -1),
    (SqlType::Int2Array, 1005, "smallint[]", -1),
    (SqlType::Int4Array, 1007, "integer[]", -1),
    (SqlType::TextArray, 1009, "text[]", -1),
    (SqlType::Int8Array, 1016, "bigint[]", -1),
    (SqlType::OidArray, 1028, "oid[]", -1),
    (SqlType::Float4Array, 1021, "real[]", -1),
    (SqlType::Float8Array, 1022, "double precision[]", -1),
    (SqlType::NumericArray, 1231, "numeric[]", -1),
    (SqlType::VarcharArray, 1015, "character varying[]", -1),
    (SqlType::CharArray, 1014, "character[]", -1),
    (SqlType::ByteaArray, 1001, "bytea[]", -1),
    (SqlType::DateArray, 1182, "date[]", -1),
    (SqlType::TimeArray, 1183, "time without time zone[]", -1),
    (
        SqlType::TimestampArray,
        1115,
        "timestamp without time zone[]",
        -1,
    ),
    (
        SqlType::TimestamptzArray,
        1185,
        "timestamp with time zone[]",
        -1,
    ),
    (SqlType::TimetzArray, 1270, "time with time zone[]", -1),
    (SqlType::IntervalArray, 1187, "interval[]", -1),
    (SqlType::UuidArray, 2951, "uuid[]", -1),
    (SqlType::InetArray, 1041, "inet[]", -1),
    (SqlType::CidrArray, 651, "cidr[]", -1),
    (SqlType::BitArray, 1561, "bit[]", -1),
    (SqlType::VarbitArray, 1563, "bit varying[]", -1),
    (SqlType::Int4Range, 3904, "int4range", -1),
    (SqlType::Int8Range, 3926, "int8range", -1),
    (SqlType::NumRange, 3906, "numrange", -1),
    (SqlType::DateRange, 3912, "daterange", -1),
    (SqlType::TsRange, 3908, "tsrange", -1),
    (SqlType::TstzRange, 3910, "tstzrange", -1),
    (SqlType::Int4RangeArray, 3905, "int4range[]", -1),
    (SqlType::Int8RangeArray, 3927, "int8range[]", -1),
    (SqlType::NumRangeArray, 3907, "numrange[]", -1),
    (SqlType::DateRangeArray, 3913, "daterange[]", -1),
    (SqlType::TsRangeArray, 3909, "tsrange[]", -1),
    (SqlType::TstzRangeArray, 3911, "tstzrange[]", -1),
    (SqlType::Tsvector, 3614, "tsvector", -1),
    (SqlType::TsvectorArray, 3643, "tsvector[]", -1),
    (SqlType::Tsquery, 3615, "tsquery", -1),
    (SqlType::TsqueryArray, 3645, "tsquery[]", -1),
    // PostgreSQL numbers them when the extension is created.
    (SqlType::Hstore, 13_998, "hstore", -1),
    (SqlType::HstoreArray, 13_999, "hstore[]", -1),
];

/// Types of elements, the names of their arrays in `pg_type`, and these.
const ARRAYS: &[(SqlType, &str, SqlType)] = &[
    (SqlType::Bool, "_bool", SqlType::BoolArray),
    (SqlType::OneChar, "_char", SqlType::OneCharArray),
    (SqlType::Name, "_name", SqlType::NameArray),
    (SqlType::Int2, "_int2", SqlType::Int2Array),
    (SqlType::Int4, "_int4", SqlType::Int4Array),
    (SqlType::Int8, "_int8", SqlType::Int8Array),
    (SqlType::Oid, "_oid", SqlType::OidArray),
    (SqlType::Text, "_text", SqlType::TextArray),
    (SqlType::Float4, "_float4", SqlType::Float4Array),
    (SqlType::Float8, "_float8", SqlType::Float8Array),
    (SqlType::Numeric, "_numeric", SqlType::NumericArray),
    (SqlType::Varchar, "_varchar", SqlType::VarcharArray),
    (SqlType::Char, "_bpchar", SqlType::CharArray),
    (SqlType::Bytea, "_bytea", SqlType::ByteaArray),
    (SqlType::Date, "_date", SqlType::DateArray),
    (SqlType::Time, "_time", SqlType::TimeArray),
    (SqlType::Timestamp, "_timestamp", SqlType::TimestampArray),
    (
        SqlType::Timestamptz,
        "_timestamptz",
        SqlType::TimestamptzArray,
    ),
    (SqlType::Timetz, "_timetz", SqlType::TimetzArray),
    (SqlType::Json, "_json", SqlType::JsonArray),
    (SqlType::Jsonb, "_jsonb", SqlType::JsonbArray),
    (SqlType::Jsonpath, "_jsonpath", SqlType::JsonpathArray),
    (SqlType::Interval, "_interval", SqlType::IntervalArray),
    (SqlType::Uuid, "_uuid", SqlType::UuidArray),
    (SqlType::Inet, "_inet", SqlType::InetArray),
    (SqlType::Cidr, "_cidr", SqlType::CidrArray),
    (SqlType::Bit, "_bit", SqlType::BitArray),
    (SqlType::Varbit, "_varbit", SqlType::VarbitArray),
    (SqlType::Int4Range, "_int4range", SqlType::Int4RangeArray),
    (SqlType::Int8Range, "_int8range", SqlType::Int8RangeArray),
    (SqlType::NumRange, "_numrange", SqlType::NumRangeArray),
    (SqlType::DateRange, "_daterange", SqlType::DateRangeArray),
    (SqlType::TsRange, "_tsrange", SqlType::TsRangeArray),
    (SqlType::TstzRange, "_tstzrange", SqlType::TstzRangeArray),
    (SqlType::Hstore, "_hstore", SqlType::HstoreArray),
    (SqlType::Tsvector, "_tsvector", SqlType::TsvectorArray),
    (SqlType::Tsquery, "_tsquery", SqlType::TsqueryArray),
    (SqlType::Record, "_record", SqlType::RecordArray),
];

impl SqlType {
    fn row(self) -> &'static (SqlType, u32, &'static str, i16) {
        let found = ALL.iter().find(|(kind, ..)| *kind == self);
        found.unwrap_or(&ALL[7])
    }

    /// Its number in PostgreSQL's catalogue.
    pub fn oid(self) -> u32 {
        match self {
            SqlType::Enum(of) => of.definition().oid,
            SqlType::EnumArray(of) => of.definition().oid + 1,
            SqlType::Composite(of) => of.definition().oid,
            SqlType::CompositeArray(of) => of.definition().oid + 1,
            _ => self.row().1,
        }
    }

    /// The number by which functions get it: it is unique among the types of all databases of this process.
    pub(crate) fn number(self) -> u32 {
        match self {
            SqlType::Enum(of) => of.number(false),
            SqlType::EnumArray(of) => of.number(true),
            SqlType::Composite(of) => of.definition().number(false),
            SqlType::CompositeArray(of) => of.definition().number(true),
            _ => self.oid(),
        }
    }

    /// The type with such a number.
    pub(crate) fn from_number(number: u32) -> Option<SqlType> {
        let Some((entry, of_array)) = Definition::of_number(number) else {
            return SqlType::from_oid(number);
        };
        let of = (EnumType::of_entry(entry), CompositeType::of_entry(entry));
        Some(match (entry.fields.is_some(), of_array) {
            (false, false) => SqlType::Enum(of.0),
            (false, true) => SqlType::EnumArray(of.0),
            (true, false) => SqlType::Composite(of.1),
            (true, true) => SqlType::CompositeArray(of.1),
        })
    }

    /// The type of PostgreSQL's own with this number.
    pub fn from_oid(oid: u32) -> Option<SqlType> {
        let found = ALL.iter().find(|(_, number, ..)| *number == oid);
        found.map(|(kind, ..)| *kind)
    }

    /// The type of a name in SQL or the catalogue.
    pub fn named(name: &str) -> Option<SqlType> {
        SqlType::all().find(|kind| kind.name() == name || kind.internal_name() == name)
    }

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            SqlType::Enum(of) => &of.definition().name,
            SqlType::EnumArray(of) => &of.definition().array_name,
            SqlType::Composite(of) => &of.definition().name,
            SqlType::CompositeArray(of) => &of.definition().array_name,
            _ => self.row().2,
        }
    }

    /// Its name in `pg_type`.
    pub fn internal_name(self) -> &'static str {
        match self {
            SqlType::Enum(of) => &of.definition().internal_name,
            SqlType::EnumArray(of) => &of.definition().array_internal_name,
            SqlType::Composite(of) => &of.definition().internal_name,
            SqlType::CompositeArray(of) => &of.definition().array_internal_name,
            SqlType::Bool => "bool",
            SqlType::Int2 => "int2",
            SqlType::Int4 => "int4",
            SqlType::Int8 => "int8",
            SqlType::Float4 => "float4",
            SqlType::Float8 => "float8",
            SqlType::Varchar => "varchar",
            SqlType::Char => "bpchar",
            SqlType::OneChar => "char",
            SqlType::Time => "time",
            SqlType::Timestamp => "timestamp",
            SqlType::Timestamptz => "timestamptz",
            SqlType::Timetz => "timetz",
            SqlType::Varbit => "varbit",
            other => match ARRAYS.iter().find(|(.., array)| *array == other) {
                Some((_, name, _)) => name,
                None => other.name(),
            },
        }
    }

    pub(crate) fn schema(self) -> &'static str {
        match self {
            SqlType::Enum(of) | SqlType::EnumArray(of) => &of.definition().schema,
            SqlType::Composite(of) | SqlType::CompositeArray(of) => &of.definition().schema,
            _ => "pg_catalog",
        }
    }

    /// Bytes of a value in PostgreSQL: -1 if they differ.
    pub fn size(self) -> i16 {
        match self {
            SqlType::Enum(_) => 4,
            SqlType::EnumArray(_) | SqlType::Composite(_) | SqlType::CompositeArray(_) => -1,
            _ => self.row().3,
        }
    }

    /// All types of PostgreSQL's own.
    pub fn all() -> impl Iterator<Item = SqlType> {
        ALL.iter().map(|(kind, ..)| *kind)
    }

    /// The type of an array's elements; `None` if it is no array.
    pub fn element(self) -> Option<SqlType> {
        match self {
            SqlType::Int2Vector => Some(SqlType::Int2),
            SqlType::OidVector => Some(SqlType::Oid),
            SqlType::EnumArray(of) => Some(SqlType::Enum(of)),
            SqlType::CompositeArray(of) => Some(SqlType::Composite(of)),
            _ => {
                let found = ARRAYS.iter().find(|(.., array)| *array == self);
                found.map(|(element, ..)| *element)
            }
        }
    }

    /// The type of arrays of this type's values; without one, the type of arrays of their texts.
    pub(crate) fn array(self) -> SqlType {
        let found = ARRAYS.iter().find(|(element, ..)| *element == self);
        match (found, self) {
            (Some((.., array)), _) => *array,
            (None, SqlType::Enum(of)) => SqlType::EnumArray(of),
            (None, SqlType::Composite(of)) => SqlType::CompositeArray(of),
            (None, kind) if kind.is_object() => SqlType::OidArray,
            (None, _) => SqlType::TextArray,
        }
    }
}
