//! What DataFusion says went wrong, with the codes that PostgreSQL has for it.

use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use sardonyx_sql::{SqlError, code};

/// An error of the SQL layer, on its way through DataFusion.
pub fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// That something is not as this crate has it.
pub fn internal(what: impl Into<String>) -> DataFusionError {
    external(SqlError::new(code::INTERNAL, what))
}

/// That something is not there: `0A000`.
pub fn unsupported(what: impl Into<String>) -> SqlError {
    SqlError::new(code::FEATURE_NOT_SUPPORTED, what)
}

/// The error as clients are told it.
pub fn told(error: &DataFusionError) -> SqlError {
    let whole = error.strip_backtrace();
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => told(inner),
        DataFusionError::Shared(inner) => told(inner),
        DataFusionError::Collection(errors) => match errors.first() {
            Some(first) => told(first),
            None => SqlError::new(code::INTERNAL, whole),
        },
        DataFusionError::External(inner) => of_box(inner.as_ref(), whole),
        DataFusionError::ArrowError(error, _) => of_arrow(error, whole),
        DataFusionError::SQL(error, _) => SqlError::new(code::SYNTAX, error.to_string()),
        DataFusionError::SchemaError(error, _) => of_schema(error, whole),
        DataFusionError::NotImplemented(what) => SqlError::new(code::FEATURE_NOT_SUPPORTED, what),
        DataFusionError::ResourcesExhausted(what) => SqlError::new(code::OUT_OF_MEMORY, what),
        DataFusionError::Plan(what) => SqlError::new(code_of_plan(what), what),
        DataFusionError::Execution(what) => SqlError::new(code_of_execution(what), what),
        _ => SqlError::new(code_of_execution(&whole), whole),
    }
}

fn of_box(error: &(dyn std::error::Error + Send + Sync + 'static), whole: String) -> SqlError {
    if let Some(error) = error.downcast_ref::<SqlError>() {
        return error.clone();
    }
    if let Some(error) = error.downcast_ref::<DataFusionError>() {
        return told(error);
    }
    SqlError::new(code::INTERNAL, whole)
}

fn of_arrow(error: &ArrowError, whole: String) -> SqlError {
    let text = error.to_string();
    match error {
        ArrowError::DivideByZero => SqlError::new(code::DIVISION_BY_ZERO, "division by zero"),
        ArrowError::ArithmeticOverflow(_) => SqlError::new(code::OUT_OF_RANGE, text),
        ArrowError::CastError(_) | ArrowError::ParseError(_) => {
            SqlError::new(code_of_cast(&text), text)
        }
        ArrowError::ComputeError(_) | ArrowError::InvalidArgumentError(_) => {
            SqlError::new(code_of_execution(&text), text)
        }
        ArrowError::NotYetImplemented(_) => SqlError::new(code::FEATURE_NOT_SUPPORTED, text),
        ArrowError::ExternalError(inner) => of_box(inner.as_ref(), whole),
        _ => SqlError::new(code::INTERNAL, whole),
    }
}

fn of_schema(error: &SchemaError, whole: String) -> SqlError {
    let code = match error {
        SchemaError::AmbiguousReference { .. } => code::AMBIGUOUS_COLUMN,
        SchemaError::FieldNotFound { .. } => code::UNKNOWN_COLUMN,
        _ => code::DUPLICATE_COLUMN,
    };
    let text = match error {
        SchemaError::FieldNotFound { field, .. } => {
            format!("column \"{}\" does not exist", field.flat_name())
        }
        _ => whole,
    };
    SqlError::new(code, text)
}

fn code_of_plan(what: &str) -> &'static str {
    let has = |part: &str| what.contains(part);
    if has("Invalid function") {
        code::UNKNOWN_FUNCTION
    } else if has("not found") && has("table") {
        code::UNKNOWN_TABLE
    } else if has("GROUP BY") || has("group by") || has("in the SELECT clause") {
        code::GROUPING
    } else if has("more than one row") || has("returned more than") {
        code::CARDINALITY_VIOLATION
    } else if has("nsupported") || has("not supported") {
        code::FEATURE_NOT_SUPPORTED
    } else if has("coerc") || has("type") {
        code::DATATYPE_MISMATCH
    } else {
        code::SYNTAX
    }
}

fn code_of_cast(text: &str) -> &'static str {
    let is_large = [
        "too large",
        "out of range",
        "Can't cast value",
        "too small",
        "overflow",
    ];
    match is_large.iter().any(|part| text.contains(part)) {
        true => code::OUT_OF_RANGE,
        false => code::INVALID_TEXT,
    }
}

fn code_of_execution(text: &str) -> &'static str {
    let has = |part: &str| text.contains(part);
    if has("ivide by zero") || has("ivision by zero") {
        code::DIVISION_BY_ZERO
    } else if has("more than one row") || has("more than 1 row") {
        code::CARDINALITY_VIOLATION
    } else if has("verflow") || has("too large") || has("out of range") {
        code::OUT_OF_RANGE
    } else if has("Cannot cast") || has("parsing") {
        code::INVALID_TEXT
    } else if has("regex") || has("Regular expression") {
        code::INVALID_PARAMETER_VALUE
    } else {
        code::INTERNAL
    }
}
