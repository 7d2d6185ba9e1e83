//! Functions: which there are, by name and types, and what they give.

use super::cast::Coercion;
use super::compile::Compiler;
use super::function::Function;
use super::{Expr, Typed};
use crate::error::{SqlError, code};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;

/// What `version()` says.
pub const VERSION: &str = concat!("PostgreSQL 15.0 (Sardonyx ", env!("CARGO_PKG_VERSION"), ")");

/// The function of a name for arguments of these types.
///
/// # Errors
/// `42883` if there is none.
pub(super) fn resolve(
    compiler: &mut Compiler<'_>,
    name: &str,
    arguments: Vec<Typed>,
) -> Result<Typed, SqlError> {
    use Function as F;
    use SqlType::{Bool, Bytea, Date, Float8, Int4, Int8, Numeric, Text, Timestamp, Timestamptz};
    let kinds: Vec<SqlType> = arguments.iter().map(Typed::kind).collect();
    let count = kinds.len();
    let first = kinds.first().copied().unwrap_or(SqlType::Unknown);
    let constant = |value: Value, kind| Ok(Typed::new(Expr::Literal(value), kind));
    let text = |text: &str| constant(Value::Text(text.to_string()), Text);
    // Of numbers: floats stay floats, all others are numeric.
    let number = match first {
        SqlType::Float4 | Float8 => Float8,
        _ => Numeric,
    };
    // Real functions are exact of numerics: whole numbers alone are doubles.
    let is_float = |kind: &SqlType| matches!(kind, SqlType::Float4 | SqlType::Float8);
    let real = match kinds.contains(&Numeric) && !kinds.iter().any(is_float) {
        true => Numeric,
        false => Float8,
    };
    let (function, wanted, result): (Function, &[SqlType], SqlType) = match (name, count) {
        ("length" | "char_length" | "character_length", 1) if first != Bytea => {
            (F::CharLength, &[Text], Int4)
        }
        ("length", 1) => (F::OctetLength, &[Bytea], Int4),
        ("octet_length", 1) if first == Bytea => (F::OctetLength, &[Bytea], Int4),
        ("octet_length", 1) if first == SqlType::Char => {
            let parts = arguments.into_iter().map(super::coercion::padded);
            return Ok(Typed::new(
                Expr::Call(F::OctetLength, parts.collect()),
                Int4,
            ));
        }
        ("octet_length", 1) => (F::OctetLength, &[Text], Int4),
        ("lower", 1) => (F::Lower, &[Text], Text),
        ("upper", 1) => (F::Upper, &[Text], Text),
        ("initcap", 1) => (F::InitCap, &[Text], Text),
        ("reverse", 1) => (F::Reverse, &[Text], Text),
        ("ascii", 1) => (F::Ascii, &[Text], Int4),
        ("chr", 1) => (F::Chr, &[Int4], Text),
        ("substring" | "substr", 2) => (F::Substring, &[Text, Int4], Text),
        ("substring" | "substr", 3) => (F::Substring, &[Text, Int4, Int4], Text),
        ("left", 2) => (F::Left, &[Text, Int4], Text),
        ("right", 2) => (F::Right, &[Text, Int4], Text),
        ("btrim" | "trim", 1) => (F::Btrim, &[Text], Text),
        ("btrim", 2) => (F::Btrim, &[Text, Text], Text),
        ("ltrim", 1) => (F::Ltrim, &[Text], Text),
        ("ltrim", 2) => (F::Ltrim, &[Text, Text], Text),
        ("rtrim", 1) => (F::Rtrim, &[Text], Text),
        ("rtrim", 2) => (F::Rtrim, &[Text, Text], Text),
        ("lpad", 2) => (F::Lpad, &[Text, Int4], Text),
        ("lpad", 3) => (F::Lpad, &[Text, Int4, Text], Text),
        ("rpad", 2) => (F::Rpad, &[Text, Int4], Text),
        ("rpad", 3) => (F::Rpad, &[Text, Int4, Text], Text),
        ("repeat", 2) => (F::Repeat, &[Text, Int4], Text),
        ("replace", 3) => (F::Replace, &[Text, Text, Text], Text),
        ("split_part", 3) => (F::SplitPart, &[Text, Text, Int4], Text),
        ("strpos", 2) => (F::Strpos, &[Text, Text], Int4),
        ("starts_with", 2) => (F::StartsWith, &[Text, Text], Bool),
        ("concat", 1..) => return all_text(compiler, F::Concat, arguments),
        ("concat_ws", 1..) => return all_text(compiler, F::ConcatWs, arguments),
        ("quote_ident", 1) => (F::QuoteIdent, &[Text], Text),
        ("abs", 1) if first.is_integer() => {
            let parts = arguments.into_iter().map(|argument| argument.expr);
            let call = Expr::Call(F::Abs, parts.collect());
            // The least one has no positive counterpart.
            let checked = Expr::Cast(Box::new(call), Numeric, TypeSpec::plain(first), false);
            return Ok(Typed::new(checked, first));
        }
        ("abs", 1) => (
            F::Abs,
            if number == Float8 {
                &[Float8]
            } else {
                &[Numeric]
            },
            number,
        ),
        ("ceil" | "ceiling" | "floor" | "round" | "trunc" | "sign", 1) => {
            // Whole numbers are doubles there, too.
            let number = if first.is_integer() || first == SqlType::Unknown {
                Float8
            } else {
                number
            };
            let function = match name {
                "floor" => F::Floor,
                "round" => F::Round,
                "trunc" => F::Trunc,
                "sign" => F::Sign,
                _ => F::Ceil,
            };
            (
                function,
                if number == Float8 {
                    &[Float8]
                } else {
                    &[Numeric]
                },
                number,
            )
        }
        ("round", 2) => (F::Round, &[Numeric, Int4], Numeric),
        ("trunc", 2) => (F::Trunc, &[Numeric, Int4], Numeric),
        ("mod", 2) => {
            let [left, right]: [Typed; 2] = match arguments.try_into() {
                Ok(both) => both,
                Err(_) => return Err(unknown(name, &kinds)),
            };
            return modulo(compiler, left, right);
        }
        ("power" | "pow", 2) => match real {
            Numeric => (F::Power, &[Numeric, Numeric], Numeric),
            _ => (F::Power, &[Float8, Float8], Float8),
        },
        ("log", 2) if !kinds.iter().any(is_float) => (F::Log, &[Numeric, Numeric], Numeric),
        ("div", 2) if !kinds.iter().any(is_float) => (F::Div, &[Numeric, Numeric], Numeric),
        ("sqrt" | "exp" | "ln" | "log" | "log10", 1) => {
            let function = match name {
                "sqrt" => F::Sqrt,
                "exp" => F::Exp,
                "ln" => F::Ln,
                _ => F::Log,
            };
            match real {
                Numeric => (function, &[Numeric], Numeric),
                _ => (function, &[Float8], Float8),
            }
        }
        ("random", 0) => (F::Random, &[], Float8),
        ("gen_random_uuid" | "uuid_generate_v4", 0) => (F::RandomUuid, &[], SqlType::Uuid),
        ("now" | "current_timestamp" | "transaction_timestamp", 0) => (F::Now, &[], Timestamptz),
        ("localtimestamp", 0) => (F::Now, &[], Timestamp),
        ("statement_timestamp", 0) => (F::StatementTimestamp, &[], Timestamptz),
        ("clock_timestamp", 0) => (F::ClockTimestamp, &[], Timestamptz),
        ("current_date", 0) => (F::CurrentDate, &[], Date),
        ("date", 1) => {
            let mut arguments = arguments;
            let argument = arguments.remove(0);
            let spec = TypeSpec::plain(Date);
            let expr = compiler.coerce(argument, spec, Coercion::Explicit)?;
            return Ok(Typed { expr, spec });
        }
        ("extract" | "date_part", 2) => {
            if name == "date_part" {
                let part = resolve(compiler, "extract", arguments)?;
                let spec = TypeSpec::plain(Float8);
                let expr = compiler.coerce(part, spec, Coercion::Explicit)?;
                return Ok(Typed { expr, spec });
            }
            match kinds[1] {
                Date => (F::DatePart, &[Text, Date], Numeric),
                SqlType::Time => (F::DatePart, &[Text, SqlType::Time], Numeric),
                _ => (F::DatePart, &[Text, Timestamp], Numeric),
            }
        }
        ("date_trunc", 2) => match kinds[1] {
            Timestamp => (F::DateTrunc, &[Text, Timestamp], Timestamp),
            _ => (F::DateTrunc, &[Text, Timestamptz], Timestamptz),
        },
        ("make_date", 3) => (F::MakeDate, &[Int4, Int4, Int4], Date),
        ("to_timestamp", 1) => (F::ToTimestamp, &[Float8], Timestamptz),
        ("version", 0) => return text(VERSION),
        ("current_schemas", 1) if first == Bool => {
            let mut parts = arguments.into_iter().map(|argument| argument.expr);
            let all = parts.next().unwrap_or(Expr::Literal(Value::Null));
            let schemas = |text: &str| Expr::Literal(Value::Text(text.to_string()));
            let case = super::Case {
                arms: vec![
                    (all.clone(), schemas("{pg_catalog,public}")),
                    (Expr::Not(Box::new(all)), schemas("{public}")),
                ],
                otherwise: Expr::Literal(Value::Null),
            };
            return Ok(Typed::new(Expr::Case(Box::new(case)), SqlType::TextArray));
        }
        ("current_schema", 0) => return constant(Value::Text("public".into()), SqlType::Name),
        ("current_database" | "current_catalog", 0) => {
            return constant(Value::Text("sardonyx".into()), SqlType::Name);
        }
        ("current_user" | "session_user" | "user" | "current_role", 0) => {
            (F::CurrentUser, &[], SqlType::Name)
        }
        ("pg_get_userbyid", 1) => (F::CurrentUser, &[], SqlType::Name),
        ("pg_backend_pid", 0) => {
            return constant(Value::Int(i128::from(std::process::id())), Int4);
        }
        ("pg_is_in_recovery", 0) => return constant(Value::Bool(false), Bool),
        ("txid_current" | "pg_current_xact_id", 0) => return constant(Value::Int(0), Int8),
        ("pg_encoding_to_char", 1) => return constant(Value::Text("UTF8".into()), SqlType::Name),
        (
            "pg_type_is_visible"
            | "pg_function_is_visible"
            | "pg_collation_is_visible"
            | "pg_opclass_is_visible"
            | "pg_opfamily_is_visible"
            | "pg_operator_is_visible"
            | "pg_statistics_obj_is_visible"
            | "has_table_privilege"
            | "has_schema_privilege"
            | "has_database_privilege"
            | "has_column_privilege",
            1..,
        ) => return constant(Value::Bool(true), Bool),
        (
            "pg_get_partkeydef"
            | "pg_get_statisticsobjdef_columns"
            | "pg_get_function_result"
            | "pg_get_function_arguments"
            | "pg_get_functiondef"
            | "pg_get_triggerdef"
            | "pg_get_ruledef"
            | "pg_get_statisticsobjdef",
            1..,
        ) => return constant(Value::Null, Text),
        ("pg_table_is_visible", 1) => {
            // Only information_schema stands beside what is found without a schema.
            let mut arguments = arguments;
            let number = arguments.remove(0);
            let number =
                compiler.coerce(number, TypeSpec::plain(SqlType::Oid), Coercion::Explicit)?;
            let bound = |comparison, bound: u32| {
                let bound = Expr::Literal(Value::Int(bound.into()));
                Expr::Compare(comparison, Box::new((number.clone(), bound)))
            };
            let range = crate::relation::ASIDE;
            let beside = vec![
                bound(super::Comparison::GreaterOrEqual, range.start),
                bound(super::Comparison::Less, range.end),
            ];
            return Ok(Typed::new(Expr::Not(Box::new(Expr::And(beside))), Bool));
        }
        ("pg_size_pretty", 1) => (F::SizePretty, &[Int8], Text),
        ("pg_get_expr", 2 | 3) => {
            // Expressions stand in the catalogue as they are written.
            let mut arguments = arguments;
            arguments.truncate(1);
            return Ok(arguments.remove(0));
        }
        // Nothing is partitioned.
        ("pg_partition_ancestors", 1) => return constant(Value::Null, SqlType::Regclass),
        ("pg_relation_is_publishable", 1) => return constant(Value::Bool(false), Bool),
        (
            "pg_total_relation_size" | "pg_relation_size" | "pg_table_size" | "pg_indexes_size",
            1..,
        ) => {
            return constant(Value::Int(0), Int8);
        }
        ("pg_get_indexdef", 1) => (F::IndexDefinition, &[SqlType::Oid], Text),
        ("pg_get_indexdef", 3) => (F::IndexDefinition, &[SqlType::Oid, Int4, Bool], Text),
        ("pg_get_viewdef", 1..) => (F::ViewDefinition, &[SqlType::Oid], Text),
        ("pg_get_constraintdef", 1..) => (F::ConstraintDefinition, &[SqlType::Oid], Text),
        ("obj_description", 1) => (F::ObjectDescription, &[SqlType::Oid], Text),
        ("obj_description" | "shobj_description", 2) => {
            (F::ObjectDescription, &[SqlType::Oid, Text], Text)
        }
        ("col_description", 2) => (F::ColumnDescription, &[SqlType::Oid, Int4], Text),
        ("pg_get_serial_sequence", 2) => (F::SerialSequence, &[Text, Text], Text),
        ("array_to_string", 2 | 3) if first.element().is_some() || first == SqlType::Unknown => {
            let mut parts = Vec::with_capacity(3);
            for (at, argument) in arguments.into_iter().enumerate() {
                parts.push(match at {
                    0 => argument.expr,
                    _ => compiler.coerce(argument, TypeSpec::plain(Text), Coercion::Implicit)?,
                });
            }
            return Ok(Typed::new(Expr::Call(F::ArrayToString, parts), Text));
        }
        ("unnest" | "_pg_expandarray", 1) if first.element().is_some() => {
            let element = first.element().unwrap_or(Text);
            let parts = arguments.into_iter().map(|argument| argument.expr);
            return Ok(Typed::new(Expr::Call(F::Unnest, parts.collect()), element));
        }
        (
            "generate_subscripts"
            | "array_upper"
            | "array_lower"
            | "array_length"
            | "cardinality"
            | "array_ndims"
            | "array_dims"
            | "array_append"
            | "array_prepend"
            | "array_cat"
            | "array_remove"
            | "array_position"
            | "string_to_array"
            | "array_to_json",
            1..=3,
        ) => return super::array_calls::resolve(compiler, name, arguments),
        ("json_build_object" | "jsonb_build_object" | "json_build_array" | "to_json", _) => {
            return super::array_calls::json(compiler, name, arguments);
        }
        ("format_type", 2) => (F::FormatType, &[Int8, Int4], Text),
        // Nobody can hold one, so none is given up.
        ("pg_advisory_unlock_all", 0) => return constant(Value::Null, SqlType::Void),
        ("to_regtype", 1) => (F::ToRegtype, &[Text], SqlType::Oid),
        ("to_regclass", 1) => (F::ToRegclass, &[Text], SqlType::Regclass),
        ("set_config", 3) => (F::SetConfig, &[Text, Text, Bool], Text),
        ("current_setting", 1) => (F::CurrentSetting, &[Text], Text),
        ("current_setting", 2) => (F::CurrentSetting, &[Text, Bool], Text),
        ("nextval", 1) => (F::Nextval, &[Text], Int8),
        ("currval", 1) => (F::Currval, &[Text], Int8),
        ("lastval", 0) => (F::Lastval, &[], Int8),
        ("setval", 2) => (F::Setval, &[Text, Int8], Int8),
        ("setval", 3) => (F::Setval, &[Text, Int8, Bool], Int8),
        ("pg_typeof", 1) => return text(first.name()),
        _ => return Err(unknown(name, &kinds)),
    };
    // A sequence is named by a text, also where it is cast to a table's number.
    let is_sequence = matches!(function, F::Nextval | F::Currval | F::Setval);
    let mut parts = Vec::with_capacity(wanted.len());
    for (argument, wanted) in arguments.into_iter().zip(wanted) {
        if is_sequence && let Expr::Call(Function::ToRegclass, mut inner) = argument.expr {
            parts.append(&mut inner);
            continue;
        }
        let how = match argument.kind().is_number() && wanted.is_number() {
            true => Coercion::Assignment,
            false => Coercion::Implicit,
        };
        let coerced = compiler.coerce(argument, TypeSpec::plain(*wanted), how);
        parts.push(coerced.map_err(|error| match error.code {
            code::DATATYPE_MISMATCH => unknown(name, &kinds),
            _ => error,
        })?);
    }
    let call = Expr::Call(function, parts);
    let is_of_session =
        is_sequence || matches!(function, F::Lastval | F::SetConfig | F::CurrentSetting);
    if is_of_session && let Some(nested) = &mut compiler.nested {
        crate::expression::check_rights(&call, nested.source, nested.queries.rights())?;
        nested.queries.around_mut().asks_session = true;
    }
    Ok(Typed::new(call, result))
}

#[cold]
pub(super) fn unknown(name: &str, kinds: &[SqlType]) -> SqlError {
    if name == "generate_series" {
        return SqlError::unsupported("generate_series gives rows: it is supported in FROM only");
    }
    let kinds: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    SqlError::new(
        code::UNKNOWN_FUNCTION,
        format!("function {name}({}) does not exist", kinds.join(", ")),
    )
    .hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

/// A function of texts, as clients are sent them: a boolean is `t` or `f`, whose cast to a text is `true` or `false`.
fn all_text(
    compiler: &mut Compiler<'_>,
    function: Function,
    arguments: Vec<Typed>,
) -> Result<Typed, SqlError> {
    let mut parts = Vec::with_capacity(arguments.len());
    for (at, argument) in arguments.into_iter().enumerate() {
        let is_separator = function == Function::ConcatWs && at == 0;
        parts.push(match argument.kind() {
            SqlType::Char if is_separator => compiler.as_type(argument, SqlType::Text)?.expr,
            SqlType::Bool => argument.expr,
            SqlType::Char => super::coercion::padded(argument),
            _ => compiler.coerce(argument, TypeSpec::plain(SqlType::Text), Coercion::Explicit)?,
        });
    }
    Ok(Typed::new(Expr::Call(function, parts), SqlType::Text))
}

pub(super) fn modulo(
    compiler: &mut Compiler<'_>,
    left: Typed,
    right: Typed,
) -> Result<Typed, SqlError> {
    let (parts, spec) = compiler.unified(vec![left, right], "mod")?;
    let [left, right]: [Expr; 2] = match parts.try_into() {
        Ok(both) => both,
        Err(_) => return Err(unknown("mod", &[])),
    };
    if !spec.kind.is_integer() && spec.kind != SqlType::Numeric {
        return Err(unknown("mod", &[spec.kind, spec.kind]));
    }
    let sides = Box::new((left, right));
    let expr = Expr::Arithmetic(super::arithmetic::Arithmetic::Modulo, spec.kind, sides);
    Ok(Typed::new(expr, spec.kind))
}
