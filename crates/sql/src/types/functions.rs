//! PostgreSQL's functions of its types, which read and write values and lengths. Drivers read them in `pg_type` and
//! `pg_proc` to find the format of values; statements cannot call them.

use super::SqlType::{self, Bytea, Int4, Oid};
use super::{NamedCollation, TypeSpec, without_values};
use std::sync::LazyLock;

/// `cstring`, `internal` and `cstring[]`, which have no values here.
const CSTRING: u32 = 2275;
const INTERNAL: u32 = 2281;
const CSTRING_ARRAY: u32 = 1263;
const ANY_ARRAY: u32 = 2277;

pub(crate) struct TypeFunction {
    pub number: u32,
    pub name: String,
    pub arguments: Vec<u32>,
    pub result: u32,
    /// It depends on settings.
    pub is_stable: bool,
}

/// The numbers of a type's functions in `pg_type`; 0 for absent ones.
#[derive(Clone, Copy, Default)]
pub(crate) struct Numbers {
    pub input: u32,
    pub output: u32,
    pub receive: u32,
    pub send: u32,
    pub modifier_input: u32,
    pub modifier_output: u32,
    pub subscript: u32,
    pub analyze: u32,
}

/// Types, the beginning of the names of their functions, and the numbers of those that read and write texts and bytes.
const OWN: [(SqlType, &str, [u32; 4]); 43] = [
    (SqlType::Bool, "bool", [1242, 1243, 2436, 2437]),
    (SqlType::Bytea, "bytea", [1244, 31, 2412, 2413]),
    (SqlType::OneChar, "char", [1245, 33, 2434, 2435]),
    (SqlType::Name, "name", [34, 35, 2422, 2423]),
    (SqlType::Int8, "int8", [460, 461, 2408, 2409]),
    (SqlType::Int2, "int2", [38, 39, 2404, 2405]),
    (SqlType::Int4, "int4", [42, 43, 2406, 2407]),
    (SqlType::Text, "text", [46, 47, 2414, 2415]),
    (SqlType::Oid, "oid", [1798, 1799, 2418, 2419]),
    (SqlType::Float4, "float4", [200, 201, 2424, 2425]),
    (SqlType::Float8, "float8", [214, 215, 2426, 2427]),
    (SqlType::Unknown, "unknown", [109, 110, 2416, 2417]),
    (SqlType::Char, "bpchar", [1044, 1045, 2430, 2431]),
    (SqlType::Varchar, "varchar", [1046, 1047, 2432, 2433]),
    (SqlType::Date, "date_", [1084, 1085, 2468, 2469]),
    (SqlType::Time, "time_", [1143, 1144, 2470, 2471]),
    (SqlType::Timestamp, "timestamp_", [1312, 1313, 2474, 2475]),
    (
        SqlType::Timestamptz,
        "timestamptz_",
        [1150, 1151, 2476, 2477],
    ),
    (SqlType::Numeric, "numeric_", [1701, 1702, 2460, 2461]),
    (SqlType::Regclass, "regclass", [2218, 2219, 2452, 2453]),
    (SqlType::Regconfig, "regconfig", [3736, 3737, 3738, 3739]),
    (
        SqlType::Regcollation,
        "regcollation",
        [4193, 4194, 4196, 4197],
    ),
    (
        SqlType::Regnamespace,
        "regnamespace",
        [4084, 4085, 4087, 4088],
    ),
    (SqlType::Regproc, "regproc", [44, 45, 2444, 2445]),
    (
        SqlType::Regprocedure,
        "regprocedure",
        [2212, 2213, 2446, 2447],
    ),
    (SqlType::Regrole, "regrole", [4098, 4092, 4094, 4095]),
    (SqlType::Regtype, "regtype", [2220, 2221, 2454, 2455]),
    (SqlType::Void, "void_", [2298, 2299, 3120, 3121]),
    (SqlType::Timetz, "timetz_", [1350, 1351, 2472, 2473]),
    (SqlType::Interval, "interval_", [1160, 1161, 2478, 2479]),
    (SqlType::Uuid, "uuid_", [2952, 2953, 2961, 2962]),
    (SqlType::Inet, "inet_", [910, 911, 2496, 2497]),
    (SqlType::Cidr, "cidr_", [1267, 1427, 2498, 2499]),
    (SqlType::Bit, "bit_", [1564, 1565, 2456, 2457]),
    (SqlType::Varbit, "varbit_", [1579, 1580, 2458, 2459]),
    (SqlType::Hstore, "hstore_", [13_994, 13_995, 13_996, 13_997]),
    (SqlType::Tsvector, "tsvector", [3610, 3611, 3639, 3638]),
    (SqlType::Tsquery, "tsquery", [3612, 3613, 3641, 3640]),
    (SqlType::Json, "json_", [321, 322, 323, 324]),
    (SqlType::Jsonb, "jsonb_", [3806, 3804, 3805, 3803]),
    (SqlType::Jsonpath, "jsonpath_", [4001, 4003, 4002, 4004]),
    (SqlType::Int2Vector, "int2vector", [40, 41, 2410, 2411]),
    (SqlType::OidVector, "oidvector", [54, 55, 2420, 2421]),
];

/// The functions of all enum types.
const ENUMS: [u32; 4] = [3506, 3507, 3532, 3533];
/// `anyenum`.
const ANY_ENUM: u32 = 3500;

/// Types with a length or digits, and the two functions that read and write these.
const WITH_MODIFIERS: [(SqlType, &str, [u32; 2]); 10] = [
    (SqlType::Timestamp, "timestamp", [2905, 2906]),
    (SqlType::Timestamptz, "timestamptz", [2907, 2908]),
    (SqlType::Interval, "interval", [2903, 2904]),
    (SqlType::Time, "time", [2909, 2910]),
    (SqlType::Timetz, "timetz", [2911, 2912]),
    (SqlType::Char, "bpchar", [2913, 2914]),
    (SqlType::Varchar, "varchar", [2915, 2916]),
    (SqlType::Numeric, "numeric", [2917, 2918]),
    (SqlType::Bit, "bit", [2919, 2920]),
    (SqlType::Varbit, "varbit", [2902, 2921]),
];

/// The functions of all range types.
const RANGES: [u32; 4] = [3834, 3835, 3836, 3837];
/// `anyrange`.
const ANY_RANGE: u32 = 3831;
const RANGE_ANALYZE: u32 = 3916;

/// The functions of all types of rows.
pub(crate) const RECORDS: [u32; 4] = [2290, 2291, 2402, 2403];
/// `record`.
const RECORD: u32 = 2249;

const ARRAYS: [u32; 4] = [750, 751, 2400, 2401];
/// `array_subscript_handler`, and `raw_array_subscript_handler` of the types that are arrays of a fixed form.
const ARRAY_SUBSCRIPT: u32 = 6179;
const RAW_ARRAY_SUBSCRIPT: u32 = 6180;
const ARRAY_ANALYZE: u32 = 3816;

/// The functions of a type.
pub(crate) fn numbers(kind: SqlType) -> Numbers {
    let own = OWN.iter().find(|(of, ..)| *of == kind);
    let element = kind.element().filter(|_| own.is_none());
    let [input, output, receive, send] = match kind {
        SqlType::Enum(_) => ENUMS,
        SqlType::Record | SqlType::Composite(_) => RECORDS,
        kind if kind.is_range() => RANGES,
        _ => own.map_or(ARRAYS, |(.., numbers)| *numbers),
    };
    let mut modified = WITH_MODIFIERS.iter();
    let modified = modified.find(|(of, ..)| *of == element.unwrap_or(kind));
    Numbers {
        input,
        output,
        receive,
        send,
        modifier_input: modified.map_or(0, |(.., numbers)| numbers[0]),
        modifier_output: modified.map_or(0, |(.., numbers)| numbers[1]),
        subscript: match kind {
            SqlType::Name => RAW_ARRAY_SUBSCRIPT,
            kind if kind.element().is_some() => ARRAY_SUBSCRIPT,
            _ => 0,
        },
        analyze: match element {
            Some(_) => ARRAY_ANALYZE,
            None if kind.is_range() => RANGE_ANALYZE,
            None => 0,
        },
    }
}

/// All of them.
pub(crate) fn all() -> &'static [TypeFunction] {
    static ALL: LazyLock<Vec<TypeFunction>> = LazyLock::new(made);
    &ALL
}

fn made() -> Vec<TypeFunction> {
    let mut found = Vec::new();
    let mut add = |number, name: String, arguments: &[u32], result, is_stable| {
        found.push(TypeFunction {
            number,
            name,
            arguments: arguments.to_vec(),
            result,
            is_stable,
        });
    };
    let arrays = (ANY_ARRAY, "array_", ARRAYS, [true; 4]);
    let own = OWN.iter().map(|(kind, prefix, numbers)| {
        let is_time = matches!(kind, SqlType::Time | SqlType::Timetz | SqlType::Interval);
        let is_date = is_time || kind.category() == 'D' || kind.is_object();
        // The encoding of texts is a setting.
        let is_text = kind.is_text() && !matches!(kind, SqlType::OneChar | SqlType::Unknown);
        let stable = [is_date, is_date && !is_time, is_text, is_text];
        (kind.oid(), *prefix, *numbers, stable)
    });
    let enums = (ANY_ENUM, "enum_", ENUMS, [true; 4]);
    let ranges = (ANY_RANGE, "range_", RANGES, [true; 4]);
    let records = (RECORD, "record_", RECORDS, [true; 4]);
    for (kind, prefix, numbers, stable) in own.chain([arrays, enums, ranges, records]) {
        let is_made = matches!(kind, ANY_ARRAY | ANY_RANGE | RECORD);
        let more: &[u32] = match is_made || has_modifier(kind) {
            true => &[Oid.oid(), Int4.oid()],
            false => &[],
        };
        let more = if kind == ANY_ENUM {
            &[Oid.oid()][..]
        } else {
            more
        };
        let taken = |first: u32| [&[first], more].concat();
        let described = [
            ("in", taken(CSTRING), kind),
            ("out", vec![kind], CSTRING),
            ("recv", taken(INTERNAL), kind),
            ("send", vec![kind], Bytea.oid()),
        ];
        for (place, (end, arguments, result)) in described.into_iter().enumerate() {
            let name = format!("{prefix}{end}");
            add(numbers[place], name, &arguments, result, stable[place]);
        }
    }
    for (_, prefix, [input, output]) in WITH_MODIFIERS {
        let name = |end: &str| format!("{prefix}{end}");
        add(input, name("typmodin"), &[CSTRING_ARRAY], Int4.oid(), false);
        add(output, name("typmodout"), &[Int4.oid()], CSTRING, false);
    }
    let subscripts = [
        (ARRAY_SUBSCRIPT, "array_subscript_handler"),
        (RAW_ARRAY_SUBSCRIPT, "raw_array_subscript_handler"),
    ];
    for (number, name) in subscripts {
        add(number, name.into(), &[INTERNAL], INTERNAL, false);
    }
    let boolean = SqlType::Bool.oid();
    for (number, name) in [
        (ARRAY_ANALYZE, "array_typanalyze"),
        (RANGE_ANALYZE, "range_typanalyze"),
    ] {
        add(number, name.into(), &[INTERNAL], boolean, true);
    }
    found.extend(without_values::functions((CSTRING, INTERNAL, Bytea.oid())));
    found
}

fn has_modifier(number: u32) -> bool {
    WITH_MODIFIERS.iter().any(|(of, ..)| of.oid() == number)
}

/// The number of a named function.
pub(crate) fn named(name: &str) -> Option<u32> {
    let mut all = all().iter();
    all.find(|one| one.name == name).map(|one| one.number)
}

/// The layout of a type in PostgreSQL: passed by value or not, alignment, storage.
pub(crate) fn layout(kind: SqlType) -> (bool, &'static str, &'static str) {
    let element = kind.element().filter(|_| !kind.is_vector());
    let single = element.unwrap_or(kind);
    // A range is aligned as its bounds are.
    let align = match single.bound().unwrap_or(single).size() {
        _ if matches!(kind, SqlType::Name | SqlType::Uuid | SqlType::Unknown) => "c",
        _ if kind.is_record() || matches!(single, SqlType::Composite(_)) => "d",
        8 | 12 | 16 => "d",
        2 if element.is_none() => "s",
        1 if element.is_none() => "c",
        _ => "i",
    };
    let storage = match (kind, kind.size()) {
        (SqlType::Numeric | SqlType::Inet | SqlType::Cidr, _) => "m",
        (SqlType::Int2Vector | SqlType::OidVector, _) => "p",
        (_, -1) => "x",
        _ => "p",
    };
    (matches!(kind.size(), 1 | 2 | 4 | 8), align, storage)
}

/// The number of a type's collation: by default the database's own for texts, C for names.
pub(crate) fn collation(spec: TypeSpec) -> u32 {
    let (kind, name) = (spec.kind, spec.collation.name());
    if name != NamedCollation::default() {
        return name.oid();
    }
    match kind.element().filter(|_| !kind.is_vector()).unwrap_or(kind) {
        SqlType::Text | SqlType::Varchar | SqlType::Char => 100,
        SqlType::Name => 950,
        _ => 0,
    }
}
