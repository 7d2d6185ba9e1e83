//! The extensions of PostgreSQL whose types and functions are here. They are known with and without `CREATE EXTENSION`, which
//! notes that an extension is created ([`crate::define`]); the catalogue shows both.

/// The extensions whose types and functions are here: their names, the version that PostgreSQL 15 has, and their subjects.
pub(crate) const KNOWN: [(&str, &str, &str); 5] = [
    (
        "hstore",
        "1.8",
        "data type for storing sets of (key, value) pairs",
    ),
    (
        "pg_trgm",
        "1.6",
        "text similarity measurement based on trigrams",
    ),
    (
        "pgcrypto",
        "1.3",
        "cryptographic functions: digest and gen_random_uuid",
    ),
    ("unaccent", "1.1", "texts without accents"),
    (
        "uuid-ossp",
        "1.1",
        "universally unique identifiers: uuid_generate_v4",
    ),
];
