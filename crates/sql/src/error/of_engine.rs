//! PostgreSQL's errors for the errors of the engine. Their texts are the engine's, unless clients know PostgreSQL's.

use super::{SqlError, Violation, code, not_null};
use crate::names::{
    DOMAIN_NOT_NULL, domain_of_check, is_full_match, name_of_primary, reference_of_full_match,
};
use crate::path::local;
use sardonyx::Error;
use sardonyx::errors::{RowError, SnapshotEnded};
use sardonyx::schema::{Limit, SchemaError, Value};
use sardonyx_rows::TableError;
use sardonyx_storage::log::LogError;

impl From<TableError> for SqlError {
    fn from(error: TableError) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for SqlError {
    #[cold]
    fn from(error: Error) -> Self {
        let error = match error.downcast::<SqlError>() {
            Ok(own) => return own,
            Err(error) => error,
        };
        let message = error.to_string();
        if let Some(reason) = sardonyx::low_level::interruption(&error) {
            return SqlError::interrupted(reason);
        }
        if let Some(table) = error.downcast_ref::<TableError>()
            && let Some(known) = of_table_error(table, &message)
        {
            return known;
        }
        if error.downcast_ref::<SnapshotEnded>().is_some() {
            return SqlError::ended(message);
        }
        let code = match error {
            Error::Conflict(_) => code::SERIALIZATION_FAILURE,
            Error::Duplicate(_) => code::UNIQUE,
            Error::NotFound(_) | Error::Refused(_) => code::NOT_IN_PREREQUISITE_STATE,
            Error::Limit(_) => code::PROGRAM_LIMIT,
            Error::Full(_) if is_full_log(&error) => code::DISK_FULL,
            Error::Full(_) => code::OUT_OF_MEMORY,
            Error::Unavailable(_) | Error::Locked(_) => code::INSUFFICIENT_RESOURCES,
            Error::Damaged(_) => code::DATA_CORRUPTED,
            Error::Poisoned(_) | Error::System(_) => code::IO_ERROR,
            Error::Closed(_) => code::SHUTDOWN,
            _ => code::INTERNAL,
        };
        let too_large = matches!(
            error.downcast_ref(),
            Some(TableError::TransactionTooLarge { .. })
        );
        let mut error = SqlError::new(code, message);
        error.0.is_too_large = too_large;
        error
    }
}

/// True if there is no room for more log, on the disk or below its limit.
fn is_full_log(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(LogError::Full { .. }))
}

/// PostgreSQL's error for an error of tables.
fn of_table_error(error: &TableError, message: &str) -> Option<SqlError> {
    let sql = |code| SqlError::new(code, message);
    Some(match error {
        TableError::DuplicateKey { table, values, .. } => duplicate(table, None, values),
        TableError::DuplicateValue {
            table,
            index,
            values,
            ..
        } => duplicate(table, Some(index), values),
        TableError::NoSuchReference {
            table,
            foreign_key,
            values,
            ..
        } => {
            let message = format!(
                "insert or update on table \"{}\" violates foreign key constraint \"{foreign_key}\"",
                local(table)
            );
            reference(message, (table, foreign_key), values, false)
        }
        TableError::Referenced {
            table,
            foreign_key,
            referenced,
            values,
            ..
        } => {
            let message = format!(
                "update or delete on table \"{}\" violates foreign key constraint \"{foreign_key}\" on table \"{}\"",
                local(referenced),
                local(table)
            );
            reference(message, (table, foreign_key), values, true)
        }
        TableError::TableReferenced { table, .. } => sql(code::DEPENDENT_OBJECTS).of_table(table),
        TableError::ReservedName { .. } => sql(code::INVALID_TABLE_DEFINITION),
        TableError::SchemaDiffers { table, .. } => sql(code::DUPLICATE_TABLE).of_table(table),
        TableError::UnknownIndex { .. } => sql(code::UNKNOWN_OBJECT),
        TableError::Schema { source, .. } => sql(match **source {
            SchemaError::UnknownColumn { .. } => code::UNKNOWN_COLUMN,
            SchemaError::UnknownTable { .. } => code::UNKNOWN_TABLE,
            SchemaError::Twice { .. } => code::DUPLICATE_COLUMN,
            SchemaError::Change { .. } => code::DEPENDENT_OBJECTS,
            SchemaError::TooMany { .. } | SchemaError::RowTooLong { .. } => code::PROGRAM_LIMIT,
            SchemaError::Condition { .. } | SchemaError::NotWider { .. } => {
                code::FEATURE_NOT_SUPPORTED
            }
            _ => code::INVALID_TABLE_DEFINITION,
        }),
        TableError::Row(row) => return of_row_error(row, message),
        TableError::DamagedTable { .. } => sql(code::DATA_CORRUPTED),
        _ => return None,
    })
}

fn duplicate(table: &str, index: Option<&String>, values: &[Value]) -> SqlError {
    let name = index
        .cloned()
        .unwrap_or_else(|| name_of_primary(local(table)));
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    let error = SqlError::new(code::UNIQUE, message).of_table(table);
    error.of_constraint(&name).of_violation(Violation::Key {
        table: table.to_string(),
        index: index.cloned(),
        values: values.to_vec(),
        built_of: None,
    })
}

fn reference(
    message: String,
    (table, name): (&str, &str),
    values: &[Value],
    is_referenced: bool,
) -> SqlError {
    let error = SqlError::new(code::FOREIGN_KEY, message).of_table(table);
    error
        .of_constraint(name)
        .of_violation(Violation::Reference {
            table: table.to_string(),
            name: name.to_string(),
            values: values.to_vec(),
            is_referenced,
        })
}

fn of_row_error(error: &RowError, message: &str) -> Option<SqlError> {
    let sql = |code| SqlError::new(code, message);
    Some(match error {
        RowError::UnknownTable { .. } => sql(code::UNKNOWN_TABLE),
        RowError::UnknownColumn { .. } => sql(code::UNKNOWN_COLUMN),
        RowError::WrongType { table, column, .. } => sql(code::DATATYPE_MISMATCH)
            .of_table(table)
            .of_column(column),
        RowError::OutOfRange { table, column, .. } => {
            sql(code::OUT_OF_RANGE).of_table(table).of_column(column)
        }
        RowError::Null { table, column } | RowError::Missing { table, column } => {
            not_null(table, column)
        }
        RowError::TooLong { table, column, .. } => {
            sql(code::PROGRAM_LIMIT).of_table(table).of_column(column)
        }
        RowError::Check { table, name, .. }
            if let Some((domain, check)) = domain_of_check(name) =>
        {
            let code = if check == DOMAIN_NOT_NULL {
                code::NOT_NULL
            } else {
                code::CHECK
            };
            let message = "value for a domain violates one of its constraints";
            let error = SqlError::new(code, message).of_table(table);
            error.of_violation(Violation::Domain { domain, check })
        }
        RowError::Check { table, name, .. } if is_full_match(name) => {
            mixed_nulls(table, reference_of_full_match(name).unwrap_or_default())
        }
        RowError::Declared {
            table,
            column,
            declared,
            limit,
            ..
        } => {
            let (code, message) = match limit {
                Limit::Digits(..) => (code::OUT_OF_RANGE, "numeric field overflow".to_string()),
                Limit::Fraction(_) => (code::DATETIME_OVERFLOW, message.to_string()),
                Limit::Network(_)
                | Limit::Range(_)
                | Limit::Zoned(_)
                | Limit::Bits(_)
                | Limit::BitsAtMost(_) => (code::INVALID_TEXT, message.to_string()),
                _ => (
                    code::STRING_TOO_LONG,
                    format!("value too long for type {declared}"),
                ),
            };
            SqlError::new(code, message)
                .of_table(table)
                .of_column(column)
        }
        RowError::Uncomputed { code, reason, .. } => SqlError::new(code, reason.clone()),
        RowError::Ungenerated { code, reason, .. } => SqlError::new(code, reason.clone()),
        RowError::Untested { code, reason, .. } => SqlError::new(code, reason.clone()),
        RowError::Check { table, name, .. } => {
            let message = format!(
                "new row for relation \"{}\" violates check constraint \"{name}\"",
                local(table)
            );
            let error = SqlError::new(code::CHECK, message).of_table(table);
            error.of_constraint(name)
        }
        _ => return None,
    })
}

/// The error of a row with some null columns of a reference with `MATCH FULL`.
#[cold]
pub(crate) fn mixed_nulls(table: &str, reference: &str) -> SqlError {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{reference}\"",
        local(table)
    );
    SqlError::new(code::FOREIGN_KEY, message)
        .of_table(table)
        .of_constraint(reference)
        .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
}
