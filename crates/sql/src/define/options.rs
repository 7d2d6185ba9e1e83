//! Options of tables, indexes and views: those without an effect on results are accepted, others are rejected.
//!
//! The parser's structures are destructured completely. A new field in a newer parser is then a compile error until it
//! is handled here.

use super::granting::Owners;
use crate::access_methods::Method;
use crate::error::{SqlError, code};
use crate::names::{name_of, parts_of};
use crate::parse::UNSAID;
use crate::result::{Complete, Notice, Tag};
use sqlparser::ast::{
    CreateTable, CreateTableOptions, DataType, Expr, HiveDistributionStyle, HiveFormat, Owner,
    SqlOption, SqliteTableOptions,
};

// The parser's structures are destructured, not compared: one `==` compiles the comparisons of nearly all of them, a
// twentieth of this crate.

/// True if no format is given.
fn is_none(formats: &HiveFormat) -> bool {
    let HiveFormat {
        row_format,
        serde_properties,
        storage,
        location,
    } = formats;
    row_format.is_none() && serde_properties.is_none() && storage.is_none() && location.is_none()
}

/// Rejects the first clause that is present.
///
/// # Errors
/// `0A000` with the clause's name.
pub(super) fn refuse(statement: &str, asked: &[(bool, &str)]) -> Result<(), SqlError> {
    match asked.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(SqlError::unsupported(format!(
            "{statement} with {what} is not supported"
        ))),
        None => Ok(()),
    }
}

/// Checks the clauses of `CREATE TABLE`, except its name, columns and constraints.
///
/// # Errors
/// `0A000` with the name of an unsupported clause; `22023` for unknown storage parameters.
pub(super) fn check_table(create: &CreateTable) -> Result<(), SqlError> {
    let CreateTable {
        or_replace,
        temporary: _,
        // Every table is logged: the notice says so.
        unlogged: _,
        external,
        dynamic,
        // `LOCAL` and `GLOBAL` have no effect.
        global: _,
        if_not_exists: _,
        transient,
        volatile,
        iceberg,
        snapshot,
        name: _,
        columns: _,
        constraints: _,
        hive_distribution,
        hive_formats,
        table_options,
        file_format,
        location,
        query,
        sqlite_table_options,
        like,
        clone,
        version,
        comment,
        on_commit: _,
        on_cluster,
        primary_key,
        order_by,
        partition_by,
        cluster_by,
        clustered_by,
        inherits,
        partition_of,
        for_values,
        copy_grants,
        enable_schema_evolution,
        change_tracking,
        data_retention_time_in_days,
        max_data_extension_time_in_days,
        default_ddl_collation,
        with_aggregation_policy,
        with_row_access_policy,
        with_storage_lifecycle_policy,
        with_tags,
        external_volume,
        with_connection,
        base_location,
        catalog,
        catalog_sync,
        storage_serialization_policy,
        target_lag,
        warehouse,
        refresh_mode,
        initialize,
        require_user,
        diststyle,
        distkey,
        sortkey,
        backup,
        multiset,
        fallback,
        with_data,
    } = create;
    let of_postgresql = [
        (*or_replace, "OR REPLACE"),
        (query.is_some(), "AS"),
        (like.is_some(), "LIKE"),
        (inherits.is_some(), "INHERITS"),
        (
            partition_by.is_some() || partition_of.is_some() || for_values.is_some(),
            "PARTITION",
        ),
    ];
    refuse("CREATE TABLE", &of_postgresql)?;
    let of_others = [
        *external,
        *dynamic,
        *transient,
        *volatile,
        *iceberg,
        *snapshot,
        !matches!(hive_distribution, HiveDistributionStyle::NONE),
        hive_formats
            .as_ref()
            .is_some_and(|formats| !is_none(formats)),
        file_format.is_some(),
        location.is_some(),
        *sqlite_table_options != SqliteTableOptions::default(),
        clone.is_some(),
        version.is_some(),
        comment.is_some(),
        on_cluster.is_some(),
        primary_key.is_some(),
        order_by.is_some(),
        cluster_by.is_some(),
        clustered_by.is_some(),
        *copy_grants,
        enable_schema_evolution.is_some(),
        change_tracking.is_some(),
        data_retention_time_in_days.is_some(),
        max_data_extension_time_in_days.is_some(),
        default_ddl_collation.is_some(),
        with_aggregation_policy.is_some(),
        with_row_access_policy.is_some(),
        with_storage_lifecycle_policy.is_some(),
        with_tags.is_some(),
        external_volume.is_some(),
        with_connection.is_some(),
        base_location.is_some(),
        catalog.is_some(),
        catalog_sync.is_some(),
        storage_serialization_policy.is_some(),
        target_lag.is_some(),
        warehouse.is_some(),
        refresh_mode.is_some(),
        initialize.is_some(),
        *require_user,
        diststyle.is_some(),
        distkey.is_some(),
        sortkey.is_some(),
        backup.is_some(),
        multiset.is_some(),
        fallback.is_some(),
        with_data.is_some(),
    ];
    let other = of_others.contains(&true);
    refuse(
        "CREATE TABLE",
        &[(other, "a clause of another database system")],
    )?;
    check_options("CREATE TABLE", table_options)
}

fn check_options(statement: &str, options: &CreateTableOptions) -> Result<(), SqlError> {
    match options {
        CreateTableOptions::None => Ok(()),
        CreateTableOptions::With(options) => options
            .iter()
            .try_for_each(|option| check_storage(statement, option)),
        CreateTableOptions::Plain(options)
        | CreateTableOptions::Options(options)
        | CreateTableOptions::TableProperties(options) => match options.is_empty() {
            true => Ok(()),
            false => Err(SqlError::unsupported(format!(
                "{statement} with {options} is not supported",
                options = shown(options)
            ))),
        },
    }
}

fn shown(options: &[SqlOption]) -> String {
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    options.join(" ")
}

/// Checks that a storage parameter is known and has no effect on results.
///
/// # Errors
/// `22023` for an unknown parameter.
pub(super) fn check_storage(statement: &str, option: &SqlOption) -> Result<(), SqlError> {
    match option {
        SqlOption::KeyValue { key, value } => {
            let name = key.to_string().to_lowercase();
            if name == "oids" {
                return check_no_oids(value);
            }
            check_storage_name(&name)?;
            check_storage_value(&name, value)
        }
        SqlOption::Ident(name) => check_storage_name(&name.to_string()),
        other => Err(SqlError::unsupported(format!(
            "{statement} with {other} is not supported"
        ))),
    }
}

/// `WITH (OIDS = FALSE)` is what every table is.
///
/// # Errors
/// `0A000` for a table with numbers of its rows.
fn check_no_oids(value: &Expr) -> Result<(), SqlError> {
    let value = value.to_string().to_lowercase();
    match matches!(value.trim_matches('\''), "false" | "off" | "no" | "0") {
        true => Ok(()),
        false => Err(SqlError::unsupported(
            "tables declared WITH OIDS are not supported",
        )),
    }
}

/// Checks a storage parameter of an index, which is parsed as a comparison.
///
/// # Errors
/// `22023` for an unknown parameter.
pub(super) fn check_index_storage(option: &Expr, method: Method) -> Result<(), SqlError> {
    match option {
        Expr::BinaryOp { left, right, .. } => {
            let name = left.to_string().to_lowercase();
            check_index_name(&name, method)?;
            check_storage_value(&name, right)
        }
        other => check_index_name(&other.to_string().to_lowercase(), method),
    }
}

fn check_index_name(name: &str, method: Method) -> Result<(), SqlError> {
    match method.has_parameter(name) {
        true => Ok(()),
        false => Err(unrecognized(name)),
    }
}

fn unrecognized(name: &str) -> SqlError {
    SqlError::new(
        code::INVALID_PARAMETER_VALUE,
        format!("unrecognized parameter \"{name}\""),
    )
}

/// Checks the value of a storage parameter that is an integer.
fn check_storage_value(name: &str, value: &Expr) -> Result<(), SqlError> {
    let bare = name.strip_prefix("toast.").unwrap_or(name);
    let (low, high) = match bare {
        "fillfactor" => (10, 100),
        "parallel_workers" => (0, 1024),
        "toast_tuple_target" => (128, 8160),
        "gin_pending_list_limit" => (64, 2_147_483_647),
        "pages_per_range" => (1, 131_072),
        _ => return Ok(()),
    };
    let text = value.to_string();
    let text = text.trim_matches('\'');
    let wrong = |message| Err(SqlError::new(code::INVALID_PARAMETER_VALUE, message));
    match text.parse::<i64>() {
        Ok(number) if (low..=high).contains(&number) => Ok(()),
        Ok(_) => wrong(format!("value {text} out of bounds for option \"{name}\"")),
        Err(_) => wrong(format!(
            "invalid value for integer option \"{name}\": {text}"
        )),
    }
}

fn check_storage_name(name: &str) -> Result<(), SqlError> {
    const KNOWN: [&str; 10] = [
        "fillfactor",
        "parallel_workers",
        "toast_tuple_target",
        "user_catalog_table",
        "vacuum_index_cleanup",
        "vacuum_truncate",
        "deduplicate_items",
        "log_autovacuum_min_duration",
        "buffering",
        "fastupdate",
    ];
    let name = name.to_lowercase();
    let bare = name.strip_prefix("toast.").unwrap_or(&name);
    match KNOWN.contains(&bare) || bare.starts_with("autovacuum_") {
        true => Ok(()),
        false => Err(unrecognized(&name)),
    }
}

/// The result of a statement skipped by `IF EXISTS` or `IF NOT EXISTS`, with its notice.
pub(super) fn skipped(word: &'static str, code: &'static str, message: String) -> Complete {
    Complete::of(Tag::plain(word)).with_notice(Some(Notice::note(code, message)))
}

/// The notice of a table or sequence that is to be `UNLOGGED`: it keeps its rows after a crash, too.
pub(super) fn logged_all_the_same() -> Notice {
    Notice::note(
        "00000",
        "UNLOGGED has no effect: all tables and sequences are logged".into(),
    )
}

/// True if a column has no type.
pub(super) fn is_unsaid(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Custom(name, options)
        if options.is_empty() && parts_of(name).is_ok_and(|parts| parts == [UNSAID]))
}

/// Checks that the owner may define tables: all users with that right own all tables.
pub(super) fn check_owner(owner: &Owner, owners: Owners<'_>) -> Result<(), SqlError> {
    match owner {
        Owner::Ident(name) if !owners.may_own(&name_of(name)) => {
            Err(owners.refused(&name_of(name), "Tables"))
        }
        _ => Ok(()),
    }
}
