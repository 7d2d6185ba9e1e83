//! The extensions of PostgreSQL that `CREATE EXTENSION` knows. Their types and functions are known with and without it.
//! The statement notes that an extension is created ([`crate::define`]), and the catalogue shows both.

pub(crate) struct Extension {
    pub name: &'static str,
    /// The version that PostgreSQL 15 has.
    pub version: &'static str,
    /// Its subject, for the catalogue.
    pub about: &'static str,
    /// The parts that are refused by name: a notice lists them when it is created.
    pub lacks: Option<&'static str>,
}

impl Extension {
    const fn new(name: &'static str, version: &'static str, about: &'static str) -> Extension {
        Extension {
            name,
            version,
            about,
            lacks: None,
        }
    }

    const fn lacking(mut self, lacks: &'static str) -> Extension {
        self.lacks = Some(lacks);
        self
    }
}

/// All that are known.
pub(crate) static KNOWN: [Extension; 10] = [
    Extension::new(
        "bloom",
        "1.0",
        "bloom access method - signature file based index",
    )
    .lacking("indexes USING bloom are not supported"),
    Extension::new(
        "btree_gin",
        "1.3",
        "support for indexing common datatypes in GIN",
    )
    .lacking("indexes USING gin on single values are not supported"),
    Extension::new(
        "btree_gist",
        "1.7",
        "support for indexing common datatypes in GiST",
    )
    .lacking("indexes USING gist on single values, and its operators <-> of distances, are not supported"),
    Extension::new(
        "citext",
        "1.6",
        "data type for case-insensitive character strings",
    )
    .lacking("the type citext is not supported"),
    Extension::new(
        "hstore",
        "1.8",
        "data type for storing sets of (key, value) pairs",
    ),
    Extension::new(
        "pg_trgm",
        "1.6",
        "text similarity measurement based on trigrams",
    ),
    Extension::new(
        "pgcrypto",
        "1.3",
        "cryptographic functions: digest and gen_random_uuid",
    ),
    Extension::new("plpgsql", "1.0", "procedural language of functions and DO")
        .lacking("functions and DO blocks in PL/pgSQL are not supported"),
    Extension::new("unaccent", "1.1", "texts without accents"),
    Extension::new(
        "uuid-ossp",
        "1.1",
        "universally unique identifiers: uuid_generate_v4",
    ),
];

pub(crate) fn extension(name: &str) -> Option<&'static Extension> {
    KNOWN.iter().find(|known| known.name == name)
}
