//! The names of errors, as PL/pgSQL's `EXCEPTION WHEN` and `RAISE` have them, and their codes. PostgreSQL 15's list has
//! them; here are those that statements give, and those that programs raise.

use crate::error::{SqlError, code};

/// Errors that a handler catches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Caught {
    /// All but cancellations.
    Others,
    /// Of one code; of a class, if that ends with `000`.
    Code(String),
}

impl Caught {
    /// True if it catches errors of a code.
    pub fn catches(&self, of: &str) -> bool {
        match self {
            Caught::Others => of != "57014" && of != "P0004",
            Caught::Code(code) => {
                code == of
                    || code.ends_with("000")
                        && code.get(..2).is_some_and(|class| of.starts_with(class))
            }
        }
    }
}

/// The condition of a name in lower case.
pub(crate) fn condition_of(name: &str) -> Option<Caught> {
    if name == "others" {
        return Some(Caught::Others);
    }
    let found = CONDITIONS.iter().find(|(of, _)| *of == name)?;
    Some(Caught::Code(found.1.to_string()))
}

/// A code of the list.
///
/// # Errors
/// `0A000` for one that it does not have.
pub(crate) fn known(wanted: &str) -> Result<&'static str, SqlError> {
    let found = CONDITIONS.iter().find(|(_, code)| *code == wanted);
    found.map(|(_, code)| *code).ok_or_else(|| {
        let text = format!("an error of the code {wanted:?} cannot be raised here");
        SqlError::unsupported(text).hint(format!(
            "The code {} is for errors of programs.",
            code::RAISED
        ))
    })
}

const CONDITIONS: [(&str, &str); 74] = [
    ("no_data", "02000"),
    ("connection_exception", "08000"),
    ("feature_not_supported", "0A000"),
    ("case_not_found", "20000"),
    ("cardinality_violation", "21000"),
    ("data_exception", "22000"),
    ("string_data_right_truncation", "22001"),
    ("numeric_value_out_of_range", "22003"),
    ("null_value_not_allowed", "22004"),
    ("invalid_datetime_format", "22007"),
    ("datetime_field_overflow", "22008"),
    ("invalid_time_zone_displacement_value", "22009"),
    ("substring_error", "22011"),
    ("division_by_zero", "22012"),
    ("invalid_escape_sequence", "22025"),
    ("invalid_regular_expression", "2201B"),
    ("invalid_parameter_value", "22023"),
    ("character_not_in_repertoire", "22021"),
    ("array_subscript_error", "2202E"),
    ("invalid_text_representation", "22P02"),
    ("invalid_binary_representation", "22P03"),
    ("bad_copy_file_format", "22P04"),
    ("untranslatable_character", "22P05"),
    ("integrity_constraint_violation", "23000"),
    ("restrict_violation", "23001"),
    ("not_null_violation", "23502"),
    ("foreign_key_violation", "23503"),
    ("unique_violation", "23505"),
    ("check_violation", "23514"),
    ("exclusion_violation", "23P01"),
    ("invalid_cursor_state", "24000"),
    ("invalid_transaction_state", "25000"),
    ("active_sql_transaction", "25001"),
    ("read_only_sql_transaction", "25006"),
    ("invalid_authorization_specification", "28000"),
    ("dependent_privilege_descriptors_still_exist", "2B000"),
    ("dependent_objects_still_exist", "2BP01"),
    ("invalid_transaction_termination", "2D000"),
    ("external_routine_exception", "38000"),
    ("savepoint_exception", "3B000"),
    ("invalid_catalog_name", "3D000"),
    ("invalid_schema_name", "3F000"),
    ("transaction_rollback", "40000"),
    ("serialization_failure", "40001"),
    ("deadlock_detected", "40P01"),
    ("syntax_error_or_access_rule_violation", "42000"),
    ("syntax_error", "42601"),
    ("insufficient_privilege", "42501"),
    ("cannot_coerce", "42846"),
    ("grouping_error", "42803"),
    ("invalid_foreign_key", "42830"),
    ("invalid_name", "42602"),
    ("name_too_long", "42622"),
    ("reserved_name", "42939"),
    ("datatype_mismatch", "42804"),
    ("wrong_object_type", "42809"),
    ("undefined_column", "42703"),
    ("undefined_function", "42883"),
    ("undefined_table", "42P01"),
    ("undefined_parameter", "42P02"),
    ("undefined_object", "42704"),
    ("duplicate_column", "42701"),
    ("duplicate_database", "42P04"),
    ("duplicate_function", "42723"),
    ("duplicate_schema", "42P06"),
    ("duplicate_table", "42P07"),
    ("duplicate_object", "42710"),
    ("ambiguous_column", "42702"),
    ("invalid_object_definition", "42P17"),
    ("object_not_in_prerequisite_state", "55000"),
    ("lock_not_available", "55P03"),
    ("query_canceled", "57014"),
    ("raise_exception", "P0001"),
    ("no_data_found", "P0002"),
];
