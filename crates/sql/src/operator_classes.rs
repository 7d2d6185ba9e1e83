//! Operator classes of indexes, as PostgreSQL's catalogue names them. All indexes order values as `<` does, and texts
//! by their bytes. So a class changes no index: it is checked, noted and shown.
//!
//! `operator_classes.txt` has a line for each class of the other [methods](Method) on types that are supported: the
//! method, and the class's number, name, family, type, whether it is the usual one, and the type of its keys. The classes
//! of extensions have numbers behind those of PostgreSQL's own: each database has others there.

use crate::access_methods::{METHODS, Method};
use crate::types::SqlType;

/// An operator class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OperatorClass {
    pub method: Method,
    pub oid: u32,
    pub name: &'static str,
    pub family: u32,
    /// The number of the type of its values.
    pub of: u32,
    /// The class of an index that names none.
    pub is_default: bool,
    /// The number of the type of its keys, if that is another one.
    pub key: u32,
}

const fn class(
    oid: u32,
    name: &'static str,
    family: u32,
    of: u32,
    is_default: bool,
) -> OperatorClass {
    OperatorClass {
        method: Method::Btree,
        oid,
        name,
        family,
        of,
        is_default,
        key: 0,
    }
}

/// `anyrange`.
const ANY_RANGE: u32 = 3831;

/// Classes of `btree`.
const CLASSES: [OperatorClass; 29] = [
    class(10002, "bit_ops", 423, 1560, true),
    class(10003, "bool_ops", 424, 16, true),
    class(10004, "bpchar_ops", 426, 1042, true),
    class(4219, "bpchar_pattern_ops", 2097, 1042, false),
    class(10006, "bytea_ops", 428, 17, true),
    class(10007, "char_ops", 429, 18, true),
    class(10009, "cidr_ops", 1974, 869, false),
    class(3122, "date_ops", 434, 1082, true),
    class(10069, "enum_ops", 3522, 3500, true),
    class(10012, "float4_ops", 1970, 700, true),
    class(3123, "float8_ops", 1970, 701, true),
    class(10015, "inet_ops", 1974, 869, true),
    class(1979, "int2_ops", 1976, 21, true),
    class(1978, "int4_ops", 1976, 23, true),
    class(3124, "int8_ops", 1976, 20, true),
    OperatorClass {
        key: 2275,
        ..class(10028, "name_ops", 1994, 19, true)
    },
    class(3125, "numeric_ops", 1988, 1700, true),
    class(1981, "oid_ops", 1989, 26, true),
    class(3126, "text_ops", 1994, 25, true),
    class(10076, "range_ops", 3901, ANY_RANGE, true),
    class(4217, "text_pattern_ops", 2095, 25, false),
    class(10038, "time_ops", 1996, 1083, true),
    class(3128, "timestamp_ops", 434, 1114, true),
    class(3127, "timestamptz_ops", 434, 1184, true),
    class(10041, "timetz_ops", 2000, 1266, true),
    class(10065, "uuid_ops", 2968, 2950, true),
    class(10043, "varbit_ops", 2002, 1562, true),
    class(10044, "varchar_ops", 1994, 25, false),
    class(4218, "varchar_pattern_ops", 2095, 25, false),
];

static OTHERS: &str = include_str!("operator_classes.txt");

fn other(line: &'static str) -> Option<OperatorClass> {
    let mut words = line.split(' ');
    let method = words.next()?;
    let mut methods = METHODS.into_iter();
    let method = methods.find(|there| there.name() == method)?;
    let oid = words.next()?.parse().ok()?;
    let name = words.next()?;
    let mut number = || words.next()?.parse::<u32>().ok();
    let (family, of) = (number()?, number()?);
    let is_default = words.next()? == "t";
    let key = words.next()?.parse().ok()?;
    Some(OperatorClass {
        method,
        oid,
        name,
        family,
        of,
        is_default,
        key,
    })
}

/// `anyarray`.
const ANY_ARRAY: u32 = 2277;

/// The number of the type by which the values of a type are ordered.
fn ordered_as(kind: SqlType) -> u32 {
    match kind {
        SqlType::Varchar | SqlType::Unknown => SqlType::Text.oid(),
        SqlType::Cidr => SqlType::Inet.oid(),
        kind if kind.is_object() => SqlType::Oid.oid(),
        SqlType::Enum(_) => 3500,
        kind if kind.is_range() => ANY_RANGE,
        kind if kind.element().is_some() => ANY_ARRAY,
        kind => kind.oid(),
    }
}

impl OperatorClass {
    /// All of them.
    pub fn all() -> impl Iterator<Item = OperatorClass> {
        CLASSES.into_iter().chain(OTHERS.lines().filter_map(other))
    }

    fn of_method(method: Method) -> impl Iterator<Item = OperatorClass> {
        OperatorClass::all().filter(move |class| class.method == method)
    }

    pub fn named(method: Method, name: &str) -> Option<OperatorClass> {
        OperatorClass::of_method(method).find(|class| class.name == name)
    }

    /// The class of an index of values of a type that names none.
    pub fn default_of(method: Method, kind: SqlType) -> Option<OperatorClass> {
        let of = ordered_as(kind);
        OperatorClass::of_method(method).find(|class| class.is_default && class.of == of)
    }

    /// True if an index of values of a type may have it.
    pub fn accepts(self, kind: SqlType) -> bool {
        self.of == ordered_as(kind)
    }
}
