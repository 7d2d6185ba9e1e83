//! Tables of `pg_catalog` on other objects: `pg_namespace`, `pg_type`, `pg_range`, `pg_database`, `pg_roles`,
//! `pg_collation`.

use super::Contents::Rows;
use super::views::view_numbers;
use super::{
    INFORMATION_SCHEMA, OWNER, PG_CATALOG, PUBLIC, VirtualRows, VirtualTable, number_of_schema,
    oid, schema_numbers, text,
};
use crate::access_methods::Method;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::names::{DATABASE, quoted};
use crate::operator_classes::OperatorClass;
use crate::path::local;
use crate::relation::{is_own, table_oid};
use crate::routines::other_owners;
use crate::settings::Settings;
use crate::source::Source;
use crate::types::SqlType::{
    self, Bool, Float4, Int2, Int4, Name, Oid, OneChar, Regproc, Text, TextArray, Timestamptz,
};
use crate::types::functions;
use crate::types::without_values::{self, WithoutValues};
use crate::types::{NamedCollation, TypeSpec};
use crate::user_types::{DomainDefinition, UserType, UserTypes};
use crate::values::arrays::array_of;
use crate::values::search::Config;
use sardonyx::schema::{Value, ValueRef};
use sardonyx_storage::catalogue::Kind;

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_namespace",
        oid: 2615,
        columns: &[
            ("oid", Oid),
            ("nspname", Name),
            ("nspowner", Oid),
            ("nspacl", TextArray),
        ],
        contents: Rows(namespaces),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_type",
        oid: 1247,
        columns: &[
            ("oid", Oid),
            ("typname", Name),
            ("typnamespace", Oid),
            ("typowner", Oid),
            ("typlen", Int2),
            ("typbyval", Bool),
            ("typtype", OneChar),
            ("typcategory", OneChar),
            ("typispreferred", Bool),
            ("typisdefined", Bool),
            ("typdelim", OneChar),
            ("typrelid", Oid),
            ("typsubscript", Regproc),
            ("typelem", Oid),
            ("typarray", Oid),
            ("typinput", Regproc),
            ("typoutput", Regproc),
            ("typreceive", Regproc),
            ("typsend", Regproc),
            ("typmodin", Regproc),
            ("typmodout", Regproc),
            ("typanalyze", Regproc),
            ("typalign", OneChar),
            ("typstorage", OneChar),
            ("typnotnull", Bool),
            ("typbasetype", Oid),
            ("typtypmod", Int4),
            ("typndims", Int4),
            ("typcollation", Oid),
            ("typdefaultbin", Text),
            ("typdefault", Text),
            ("typacl", TextArray),
        ],
        contents: Rows(types),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_enum",
        oid: 3501,
        columns: &[
            ("oid", Oid),
            ("enumtypid", Oid),
            ("enumsortorder", Float4),
            ("enumlabel", Name),
        ],
        contents: Rows(enums),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_ts_config",
        oid: 3602,
        columns: &[
            ("oid", Oid),
            ("cfgname", Name),
            ("cfgnamespace", Oid),
            ("cfgowner", Oid),
            ("cfgparser", Oid),
        ],
        contents: Rows(search_configs),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_range",
        oid: 3541,
        columns: &[
            ("rngtypid", Oid),
            ("rngsubtype", Oid),
            ("rngmultitypid", Oid),
            ("rngcollation", Oid),
            ("rngsubopc", Oid),
            ("rngcanonical", Oid),
            ("rngsubdiff", Oid),
        ],
        contents: Rows(ranges),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_database",
        oid: 1262,
        columns: &[
            ("oid", Oid),
            ("datname", Name),
            ("datdba", Oid),
            ("encoding", Int4),
            ("datlocprovider", OneChar),
            ("datistemplate", Bool),
            ("datallowconn", Bool),
            ("datconnlimit", Int4),
            ("datfrozenxid", Oid),
            ("datminmxid", Oid),
            ("dattablespace", Oid),
            ("datcollate", Text),
            ("datctype", Text),
            ("daticulocale", Text),
            ("datcollversion", Text),
            ("datacl", TextArray),
        ],
        contents: Rows(databases),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_roles",
        oid: 12_003,
        columns: &[
            ("rolname", Name),
            ("rolsuper", Bool),
            ("rolinherit", Bool),
            ("rolcreaterole", Bool),
            ("rolcreatedb", Bool),
            ("rolcanlogin", Bool),
            ("rolreplication", Bool),
            ("rolconnlimit", Int4),
            ("rolpassword", Text),
            ("rolvaliduntil", Timestamptz),
            ("rolbypassrls", Bool),
            ("rolconfig", TextArray),
            ("oid", Oid),
        ],
        contents: Rows(roles),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_collation",
        oid: 3456,
        columns: &[
            ("oid", Oid),
            ("collname", Name),
            ("collnamespace", Oid),
            ("collowner", Oid),
            ("collprovider", OneChar),
            ("collisdeterministic", Bool),
            ("collencoding", Int4),
            ("collcollate", Text),
            ("collctype", Text),
            ("colliculocale", Text),
            ("collversion", Text),
        ],
        contents: Rows(collations),
    },
];

fn namespaces(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut all: Vec<(String, u32)> = schema_numbers(source)?.into_iter().collect();
    all.sort_by_key(|(_, number)| *number);
    let rows = all.iter();
    let owner = quoted(&with.context.user);
    // All users may use what is in `public`, which is said with the schema.
    let rights = [format!("{owner}=UC/{owner}"), format!("=U/{owner}")];
    let rights = array_of(Text, rights.iter().map(|text| ValueRef::Text(text)));
    let rows = rows.map(|(name, number)| {
        let rights = match *number {
            PUBLIC => rights.clone(),
            _ => Value::Null,
        };
        vec![oid(*number), text(name), oid(OWNER), rights]
    });
    Ok(rows.collect())
}

fn types(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows: VirtualRows = SqlType::all()
        .map(|kind| type_row(kind, PG_CATALOG))
        .chain(without_values::all().map(row_without_values))
        .collect();
    let schemas = schema_numbers(source)?;
    let types = UserTypes::of(source)?;
    for (name, there) in &types.types {
        let schema = number_of_schema(&schemas, name);
        if let Some(domain) = &there.domain {
            // Earlier versions dropped types under their domains, which are shown all the same.
            let known = types.base_of(domain);
            let base = known.unwrap_or(TypeSpec::new(SqlType::Text, domain.modifier));
            rows.push(domain_row(name, there, (domain, base), schema));
            continue;
        }
        let kind = types.kind_of(name, there);
        let mut row = type_row(kind, schema);
        if there.fields.is_some() {
            row[11] = oid(there.class_oid());
        }
        rows.push(row);
        rows.push(type_row(kind.array(), schema));
    }
    for (number, definition) in source.definitions().iter().enumerate() {
        if matches!(definition.kind, Kind::Table { .. }) && !is_own(&definition.name) {
            let name = &definition.name;
            let schema = number_of_schema(&schemas, name);
            rows.push(row_type(local(name), table_oid(number as u16), schema));
        }
    }
    for (name, number) in &view_numbers(source)? {
        rows.push(row_type(
            local(name),
            *number,
            number_of_schema(&schemas, name),
        ));
    }
    rows.extend(super::all().map(|table| {
        let schema = match table.schema {
            "pg_catalog" => PG_CATALOG,
            _ => INFORMATION_SCHEMA,
        };
        row_type(table.name, table.oid, schema)
    }));
    Ok(rows)
}

/// The number of the type of a relation's rows.
pub(super) fn row_type_oid(relation: u32) -> u32 {
    (1 << 28) + relation
}

/// The row of the type of a relation's rows.
fn row_type(name: &str, relation: u32, schema: u32) -> Vec<Value> {
    let mut row = type_row(SqlType::Text, schema);
    let own = [
        (0, oid(row_type_oid(relation))),
        (1, text(name)),
        (6, text("c")),
        (7, text("C")),
        (8, Value::Bool(false)),
        (11, oid(relation)),
        (14, oid(0)),
        (22, text("d")),
        (28, oid(0)),
    ];
    for (place, value) in own {
        row[place] = value;
    }
    for (at, function) in functions::RECORDS.into_iter().enumerate() {
        row[15 + at] = oid(function);
    }
    row
}

/// The row of a domain: that of its base, with the domain's own columns.
fn domain_row(
    name: &str,
    there: &UserType,
    (domain, base): (&DomainDefinition, TypeSpec),
    schema: u32,
) -> Vec<Value> {
    let mut row = type_row(base.kind, schema);
    let default = domain.default.as_deref().map_or(Value::Null, text);
    let own = [
        (0, oid(there.oid)),
        (1, text(local(name))),
        (6, text("d")),
        (8, Value::Bool(false)),
        (14, oid(0)),
        (24, Value::Bool(domain.not_null)),
        (25, oid(domain.base)),
        (26, Value::Int(base.modifier.into())),
        (29, default.clone()),
        (30, default),
    ];
    for (place, value) in own {
        row[place] = value;
    }
    row
}

fn enums(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let types = UserTypes::of(source)?;
    let rows = types.types.values().flat_map(|there| {
        there.labels.iter().map(|label| {
            vec![
                oid(label.oid),
                oid(there.oid),
                Value::Float(label.sort_order()),
                text(&label.name),
            ]
        })
    });
    Ok(rows.collect())
}

fn search_configs(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let rows = Config::all().map(|config| {
        vec![
            oid(config.number()),
            text(config.name()),
            oid(PG_CATALOG),
            oid(OWNER),
            // The parser `default`.
            oid(3722),
        ]
    });
    Ok(rows.collect())
}

/// Range types: they have no multiranges, and no functions of their own that other statements could call.
fn ranges(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let rows = SqlType::all().filter_map(|kind| {
        let of = kind.bound()?;
        let class = OperatorClass::default_of(Method::Btree, of).map_or(0, |class| class.oid);
        Some(vec![
            oid(kind.oid()),
            oid(of.oid()),
            oid(0),
            oid(0),
            oid(class),
            oid(0),
            oid(0),
        ])
    });
    Ok(rows.collect())
}

fn type_row(kind: SqlType, schema: u32) -> Vec<Value> {
    let functions = functions::numbers(kind);
    let (is_by_value, align, storage) = functions::layout(kind);
    let is_pseudo = matches!(kind, SqlType::Unknown | SqlType::Void) || kind.is_record();
    let category = match kind {
        SqlType::OneChar => 'Z',
        SqlType::Void => 'P',
        kind => kind.category(),
    };
    let kind_of_type = match kind {
        SqlType::Enum(_) => "e",
        SqlType::Composite(_) => "c",
        _ if is_pseudo => "p",
        kind if kind.is_range() => "r",
        _ => "b",
    };
    let element = match kind {
        SqlType::Name => SqlType::OneChar.oid(),
        kind => kind.element().map_or(0, SqlType::oid),
    };
    let array = match kind.array().element() {
        Some(element) if element == kind => Some(kind.array().oid()),
        _ => without_values::array_of(kind.oid()),
    };
    let mut row = type_values(&functions);
    let own = [
        (0, oid(kind.oid())),
        (1, text(kind.internal_name())),
        (2, oid(schema)),
        (4, Value::Int(kind.size().into())),
        (5, Value::Bool(is_by_value)),
        (6, text(kind_of_type)),
        (7, text(category.encode_utf8(&mut [0; 4]))),
        (8, Value::Bool(kind.is_preferred())),
        (13, oid(element)),
        (14, oid(array.unwrap_or(0))),
        (22, text(align)),
        (23, text(storage)),
        (28, oid(functions::collation(TypeSpec::plain(kind)))),
    ];
    for (place, value) in own {
        row[place] = value;
    }
    row
}

/// The row of a type that has no values here.
fn row_without_values(of: &WithoutValues) -> Vec<Value> {
    let mut row = type_values(&of.functions);
    let own = [
        (0, oid(of.number)),
        (1, text(of.name)),
        (4, Value::Int(of.size.into())),
        (5, Value::Bool(of.is_by_value)),
        (6, text(of.kind)),
        (7, text(of.category)),
        (13, oid(of.element)),
        (14, oid(of.array)),
        (22, text(of.align)),
        (23, text(of.storage)),
    ];
    for (place, value) in own {
        row[place] = value;
    }
    row
}

/// The row of a type of `pg_catalog` with these functions, without its own values.
fn type_values(functions: &functions::Numbers) -> Vec<Value> {
    let mut row = vec![oid(0); 32];
    let usual = [
        (2, oid(PG_CATALOG)),
        (3, oid(OWNER)),
        (8, Value::Bool(false)),
        (9, Value::Bool(true)),
        (10, text(",")),
        (12, oid(functions.subscript)),
        (15, oid(functions.input)),
        (16, oid(functions.output)),
        (17, oid(functions.receive)),
        (18, oid(functions.send)),
        (19, oid(functions.modifier_input)),
        (20, oid(functions.modifier_output)),
        (21, oid(functions.analyze)),
        (24, Value::Bool(false)),
        (26, Value::Int(-1)),
        (29, Value::Null),
        (30, Value::Null),
        (31, Value::Null),
    ];
    for (place, value) in usual {
        row[place] = value;
    }
    row
}

/// The one database, under the name by which the client connected, and under its own: Django connects as `postgres` and
/// looks here for the database of its tests.
fn databases(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let names = database_names(&with.context.settings.borrow()).into_iter();
    Ok(names
        .map(|(number, name)| database(number, &name))
        .collect())
}

/// The numbers and names of the database: the session's, and the usual one.
pub(super) fn database_names(settings: &Settings) -> Vec<(u32, String)> {
    let mut names = vec![(5, settings.database().to_string())];
    if settings.database() != DATABASE {
        names.push((6, DATABASE.to_string()));
    }
    names
}

/// A row of `pg_database`.
fn database(number: u32, name: &str) -> Vec<Value> {
    vec![
        oid(number),
        text(name),
        oid(OWNER),
        Value::Int(6),
        text("c"),
        Value::Bool(false),
        Value::Bool(true),
        Value::Int(-1),
        oid(0),
        oid(0),
        oid(0),
        text("C"),
        text("C"),
        Value::Null,
        Value::Null,
        Value::Null,
    ]
}

fn roles(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let user = &*with.context.user;
    let others = other_owners(source, user)?;
    let others = others.iter().map(|(name, number)| (&**name, *number));
    let all = [(user, OWNER)].into_iter().chain(others);
    let rows = all.map(|(name, number)| {
        vec![
            text(name),
            Value::Bool(number == OWNER),
            Value::Bool(true),
            Value::Bool(false),
            Value::Bool(false),
            Value::Bool(true),
            Value::Bool(false),
            Value::Int(-1),
            text("********"),
            Value::Null,
            Value::Bool(false),
            Value::Null,
            oid(number),
        ]
    });
    Ok(rows.collect())
}

fn collations(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let rows = NamedCollation::all().map(|collation| {
        let (provider, locale) = match (collation.is_of_icu(), collation.oid()) {
            (true, _) => ("i", None),
            (false, 100) => ("d", None),
            (false, _) => ("c", Some(collation.name())),
        };
        let locale = locale.map_or(Value::Null, text);
        vec![
            oid(collation.oid()),
            text(collation.name()),
            oid(PG_CATALOG),
            oid(OWNER),
            text(provider),
            Value::Bool(true),
            Value::Int(-1),
            locale.clone(),
            locale,
            collation.locale().map_or(Value::Null, text),
            Value::Null,
        ]
    });
    Ok(rows.collect())
}
