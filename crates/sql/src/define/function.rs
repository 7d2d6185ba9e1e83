//! `CREATE FUNCTION` and `DROP FUNCTION`. A body in SQL is compiled as a check, unless `check_function_bodies` is off;
//! one in PL/pgSQL is read only: its tables may come later, as in PostgreSQL.

use super::granting::Owners;
use super::options::{refuse, skipped};
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::{name_of, qualified, quoted};
use crate::parse::{parse_expression, parse_new, parse_routine};
use crate::path::{PUBLIC, is_temporary, split};
use crate::plan::routine::{Routine, kind_of};
use crate::relation::Relation;
use crate::result::{Complete, Tag};
use crate::rights::Rights;
use crate::routines::{
    Language, OutParameter, Returns, RoutineDefinition, RoutineParameter, all, free_number, named,
};
use crate::search_path::{SearchPath, path_text};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::{TypeNames, UserTypes};
use sqlparser::ast::{
    ArgMode, CreateFunction, CreateFunctionBody, DataType, DropBehavior, DropFunction, Expr,
    FunctionBehavior, FunctionCalledOnNull, FunctionDesc, FunctionReturnType, FunctionSecurity,
    FunctionSetValue, Value,
};
use std::sync::Arc;

const WORD: &str = "CREATE FUNCTION";
/// The most parameters, as in PostgreSQL.
const PARAMETERS_MAX: usize = 100;

/// Creates a function, or replaces it.
///
/// # Errors
/// Invalid SQL in the body; `42723` if there is one with these arguments; `42P13` for another result than that of the one
/// that is replaced, `42501` if its owner has rights that the user lacks; `0A000`.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    create: &CreateFunction,
    (owners, rights): (Owners<'_>, &Arc<Rights>),
) -> Result<Complete, SqlError> {
    refuse(
        WORD,
        &[
            (create.temporary, "TEMPORARY"),
            (create.if_not_exists, "IF NOT EXISTS"),
        ],
    )?;
    let set = set_path(create, rights.path())?;
    let source = tx.view();
    let kept = rights.path().new_name(source, &create.name, false)?;
    let (schema, name) = split(&kept);
    refuse(WORD, &[(is_temporary(schema), "the schema pg_temp")])?;
    let (parameters, outs) = parameters(source, create, rights)?;
    let mut definition = RoutineDefinition {
        number: 0,
        schema: schema.to_string(),
        name: name.to_string(),
        parameters,
        returns: returns(source, create, &outs, rights)?,
        outs,
        language: Language::Sql,
        body: String::new(),
        volatility: match create.behavior {
            Some(FunctionBehavior::Immutable) => 'i',
            Some(FunctionBehavior::Stable) => 's',
            Some(FunctionBehavior::Volatile) | None => 'v',
        },
        is_strict: matches!(
            create.called_on_null,
            Some(FunctionCalledOnNull::Strict | FunctionCalledOnNull::ReturnsNullOnNullInput)
        ),
        owner: owners.user.to_string(),
        is_definer: create.security == Some(FunctionSecurity::Definer),
        path: set,
    };
    if definition.is_definer && definition.path.is_none() {
        definition.path = path_of_creator(source, rights.path())?;
    }
    (definition.language, definition.body) = body(create)?;
    let kinds = |of: &RoutineDefinition| -> Vec<u32> {
        of.parameters
            .iter()
            .map(|parameter| parameter.kind)
            .collect()
    };
    let there = named(source, rights.path(), Some(schema), name)?;
    let there = there
        .into_iter()
        .find(|there| kinds(there) == kinds(&definition));
    if let (Some(there), true) = (&there, create.or_replace) {
        owners.check_owner_of(there, rights)?;
    }
    definition.number = match &there {
        Some(there) if !create.or_replace => {
            let text = format!(
                "function \"{}\" already exists with same argument types",
                there.name
            );
            return Err(SqlError::new("42723", text));
        }
        Some(there) if there.returns != definition.returns || there.outs != definition.outs => {
            let text = "cannot change return type of existing function";
            let mut error = SqlError::new("42P13", text).hint(format!(
                "Use DROP FUNCTION {} first.",
                shown(source, there)?
            ));
            if matches!(
                (&there.returns, &definition.returns),
                (Returns::Row(_), Returns::Row(_))
            ) {
                error = error.detail("Row type defined by OUT parameters is different.");
            }
            return Err(error);
        }
        Some(there) => there.number,
        None => free_number(source)?,
    };
    // A body is compiled in the path in which it runs.
    let own = definition.own_path(rights.path(), owners.user);
    let looking = own.map(|path| Arc::new(rights.looking_in(&Arc::new(path))));
    check(source, &definition, looking.as_ref().unwrap_or(rights))?;
    definition.store(tx)?;
    Ok(Complete::of(Tag::plain(WORD)))
}

/// The schemas of `SET search_path`, as the parameter has them.
///
/// # Errors
/// `0A000` for another parameter, and without a value.
fn set_path(create: &CreateFunction, callers: &SearchPath) -> Result<Option<String>, SqlError> {
    let mut path = None;
    for set in &create.set_params {
        let name = set.name.to_string().replace('"', "").to_lowercase();
        if name != "search_path" {
            return Err(SqlError::unsupported(format!(
                "{WORD} with SET {name} is not supported: only SET search_path is"
            )));
        }
        path = match &set.value {
            FunctionSetValue::Values(values) => Some(path_text(values)),
            FunctionSetValue::FromCurrent => Some(callers.text()),
            FunctionSetValue::Default => {
                return Err(SqlError::unsupported(format!(
                    "{WORD} with SET search_path TO DEFAULT is not supported: name the schemas"
                )));
            }
        };
    }
    Ok(path)
}

/// The path of a new function with the rights of its creator: the creator's schemas. `None` for `public` alone, and if
/// there are none: a dump is loaded so.
fn path_of_creator(source: &dyn Source, path: &SearchPath) -> Result<Option<String>, SqlError> {
    let mut schemas = path.all(source, false)?;
    schemas.retain(|schema| !is_temporary(schema));
    let is_usual = schemas.iter().all(|schema| schema == PUBLIC);
    let named: Vec<String> = schemas.iter().map(|schema| quoted(schema)).collect();
    Ok((!is_usual).then(|| named.join(", ")))
}

/// Reads the body, and compiles one in SQL.
fn check(
    source: &dyn Source,
    definition: &RoutineDefinition,
    rights: &Arc<Rights>,
) -> Result<(), SqlError> {
    match (definition.language, &definition.returns) {
        (Language::Sql, Returns::Trigger) => Err(SqlError::new(
            "42P13",
            "SQL functions cannot return type trigger",
        )),
        (Language::Sql, _) => {
            let statements = parse_new(&definition.body)?;
            drop(statements);
            if rights.path().skips_bodies() {
                return Ok(());
            }
            let routine = Routine::new(definition.clone()).declared();
            routine.code(source, rights).map(drop)
        }
        (Language::Plpgsql, Returns::Trigger) if !definition.parameters.is_empty() => {
            Err(SqlError::new(
                "42P13",
                "trigger functions cannot have declared arguments",
            )
            .hint("The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead."))
        }
        (Language::Plpgsql, _) => parse_routine(&definition.body).map(drop),
    }
}

/// The number of a type, and the schema of none.
fn number_of(source: &dyn Source, data_type: &DataType, rights: &Rights) -> Result<u32, SqlError> {
    let names = TypeNames::of(source, rights.path())?;
    if let Some((_, _, _)) = names.domain(data_type) {
        return Err(SqlError::unsupported(format!(
            "domains are not supported as types of functions: {data_type}"
        )));
    }
    let spec = TypeSpec::of_data_type(data_type, &names)?;
    Ok(spec.kind.oid())
}

fn parameters(
    source: &dyn Source,
    create: &CreateFunction,
    rights: &Rights,
) -> Result<(Vec<RoutineParameter>, Vec<OutParameter>), SqlError> {
    let mut found: Vec<RoutineParameter> = Vec::new();
    let mut outs: Vec<OutParameter> = Vec::new();
    for (at, argument) in create.args.iter().flatten().enumerate() {
        if argument.mode == Some(ArgMode::Variadic) {
            return Err(SqlError::unsupported(
                "VARIADIC parameters of functions are not supported",
            ));
        }
        let name = argument.name.as_ref().map(name_of).unwrap_or_default();
        let is_taken = found.iter().any(|there| there.name == name)
            || outs.iter().any(|there| there.name == name);
        if !name.is_empty() && is_taken {
            let text = format!("parameter name \"{name}\" used more than once");
            return Err(SqlError::new("42P13", text));
        }
        if let Some(ArgMode::Out | ArgMode::InOut) = argument.mode {
            let is_in = argument.mode == Some(ArgMode::InOut);
            outs.push(OutParameter {
                name: name.clone(),
                kind: number_of(source, &argument.data_type, rights)?,
                at,
                is_in,
            });
            if !is_in && argument.default_expr.is_some() {
                let text = "only input parameters can have default values";
                return Err(SqlError::new("42P13", text));
            }
            if !is_in {
                continue;
            }
        }
        let default = argument.default_expr.as_ref().map(ToString::to_string);
        if let Some(text) = &default {
            parse_expression(text)?;
        } else if found.iter().any(|there| there.default.is_some()) {
            let text = "input parameters after one with a default value must also have defaults";
            return Err(SqlError::new("42P13", text));
        }
        found.push(RoutineParameter {
            name,
            kind: number_of(source, &argument.data_type, rights)?,
            default,
        });
    }
    if found.len() + outs.len() > PARAMETERS_MAX {
        let text = format!("functions cannot have more than {PARAMETERS_MAX} arguments");
        return Err(SqlError::new("54023", text));
    }
    Ok((found, outs))
}

/// The result of a function with `OUT` parameters.
///
/// # Errors
/// `42P13` if another one is declared.
fn returns_of_outs(
    source: &dyn Source,
    declared: Option<&FunctionReturnType>,
    outs: &[OutParameter],
    rights: &Rights,
) -> Result<Returns, SqlError> {
    let columns = outs.iter().zip(1..).map(|(out, number)| {
        let name = match out.name.is_empty() {
            true => format!("column{number}"),
            false => out.name.clone(),
        };
        (name, out.kind)
    });
    let (data_type, is_set) = match declared {
        None => (None, false),
        Some(FunctionReturnType::DataType(DataType::Table(_))) => {
            let text = "OUT and INOUT arguments aren't allowed in TABLE functions";
            return Err(SqlError::syntax(text));
        }
        Some(FunctionReturnType::DataType(data_type)) => (Some(data_type), false),
        Some(FunctionReturnType::SetOf(data_type)) => (Some(data_type), true),
    };
    let refused = |name: &str| {
        let text = format!("function result type must be {name} because of OUT parameters");
        SqlError::new("42P13", text)
    };
    let [only] = outs else {
        return match data_type {
            Some(data_type) if !is_named(data_type, "record") => Err(refused("record")),
            _ if is_set => Ok(Returns::Table(columns.collect())),
            _ => Ok(Returns::Row(columns.collect())),
        };
    };
    if let Some(data_type) = data_type
        && (is_named(data_type, "record") || number_of(source, data_type, rights)? != only.kind)
    {
        let types = UserTypes::of(source)?;
        return Err(refused(kind_of(&types, only.kind)?.name()));
    }
    Ok(match is_set {
        true => Returns::Rows(only.kind),
        false => Returns::Value(only.kind),
    })
}

/// The table whose rows a type name means.
fn table_of(
    source: &dyn Source,
    data_type: &DataType,
    rights: &Rights,
) -> Result<Option<String>, SqlError> {
    let DataType::Custom(name, _) = data_type else {
        return Ok(None);
    };
    let found = rights.path().find(source, name)?;
    Ok(Relation::named(source, &found)
        .ok()
        .map(|relation| relation.name))
}

fn returns(
    source: &dyn Source,
    create: &CreateFunction,
    outs: &[OutParameter],
    rights: &Rights,
) -> Result<Returns, SqlError> {
    if !outs.is_empty() {
        return returns_of_outs(source, create.return_type.as_ref(), outs, rights);
    }
    let types = UserTypes::of(source)?;
    let is_row = |number: u32| matches!(types.numbered(number), Some(SqlType::Composite(_)));
    let of_rows = |data_type: &DataType| match number_of(source, data_type, rights) {
        Ok(number) if is_row(number) => Ok(Returns::RowsOfType(number)),
        Ok(number) => Ok(Returns::Rows(number)),
        Err(error) => match table_of(source, data_type, rights)? {
            Some(table) => Ok(Returns::RowsOf(table)),
            None => Err(error),
        },
    };
    match &create.return_type {
        None => Err(SqlError::new(
            "42P13",
            "function result type must be specified",
        )),
        Some(FunctionReturnType::SetOf(data_type)) => {
            if is_named(data_type, "record") {
                return Err(SqlError::unsupported(
                    "RETURNS SETOF record without OUT parameters is not supported: use RETURNS TABLE",
                ));
            }
            of_rows(data_type)
        }
        Some(FunctionReturnType::DataType(DataType::Table(columns))) => {
            let columns = columns.iter().flatten().map(|column| {
                let kind = number_of(source, &column.data_type, rights)?;
                Ok((name_of(&column.name), kind))
            });
            Ok(Returns::Table(columns.collect::<Result<_, SqlError>>()?))
        }
        Some(FunctionReturnType::DataType(data_type)) => {
            if matches!(data_type, DataType::Trigger) || is_named(data_type, "trigger") {
                return Ok(Returns::Trigger);
            }
            if is_named(data_type, "void") {
                return Ok(Returns::Void);
            }
            if is_named(data_type, "record") {
                return Err(SqlError::unsupported(
                    "RETURNS record without OUT parameters is not supported: use RETURNS TABLE",
                ));
            }
            match number_of(source, data_type, rights) {
                Ok(number) if is_row(number) => Ok(Returns::RowOfType(number)),
                Ok(number) => Ok(Returns::Value(number)),
                Err(error) => match table_of(source, data_type, rights)? {
                    Some(table) => Ok(Returns::RowOf(table)),
                    None => Err(error),
                },
            }
        }
    }
}

fn is_named(data_type: &DataType, wanted: &str) -> bool {
    data_type.to_string().eq_ignore_ascii_case(wanted)
}

fn body(create: &CreateFunction) -> Result<(Language, String), SqlError> {
    let language = match &create.language {
        Some(language) => language.value.to_ascii_lowercase(),
        None if matches!(
            create.function_body,
            Some(CreateFunctionBody::Return(_) | CreateFunctionBody::BeginAtomic(_))
        ) =>
        {
            "sql".to_string()
        }
        None => return Err(SqlError::new("42P13", "no language specified")),
    };
    let language = match language.as_str() {
        "sql" => Language::Sql,
        "plpgsql" => Language::Plpgsql,
        "c" | "internal" => {
            let text = format!("the language {language} is not supported");
            return Err(SqlError::unsupported(text));
        }
        _ => {
            let text = format!("language \"{language}\" does not exist");
            return Err(SqlError::new(code::UNKNOWN_OBJECT, text));
        }
    };
    let text = match &create.function_body {
        None => return Err(SqlError::new("42P13", "no function body specified")),
        Some(CreateFunctionBody::AsBeforeOptions {
            body: Expr::Value(value),
            link_symbol: None,
        }) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => text.clone(),
            Value::DollarQuotedString(quoted) => quoted.value.clone(),
            _ => return Err(SqlError::syntax("a body in quotes is expected")),
        },
        Some(CreateFunctionBody::Return(expression)) => format!("SELECT {expression}"),
        Some(CreateFunctionBody::BeginAtomic(statements)) => {
            let statements = statements.statements.iter().map(ToString::to_string);
            statements.collect::<Vec<_>>().join("; ")
        }
        Some(_) => {
            return Err(SqlError::unsupported(
                "this form of a function's body is not supported",
            ));
        }
    };
    Ok((language, text))
}

/// A function with the types of its arguments, as messages show it.
pub(super) fn shown(
    source: &dyn Source,
    definition: &RoutineDefinition,
) -> Result<String, SqlError> {
    let types = UserTypes::of(source)?;
    let mut kinds = Vec::with_capacity(definition.parameters.len());
    for parameter in &definition.parameters {
        kinds.push(kind_of(&types, parameter.kind)?.name());
    }
    Ok(format!("{}({})", definition.name, kinds.join(",")))
}

/// The function that a statement names, with the types of its arguments or without.
///
/// # Errors
/// `42883` if there is none, `42725` if there are several of the name.
pub(super) fn found(
    source: &dyn Source,
    description: &FunctionDesc,
    rights: &Rights,
) -> Result<RoutineDefinition, SqlError> {
    let (schema, name) = qualified(&description.name)?;
    let mut found = named(source, rights.path(), schema.as_deref(), &name)?;
    if let Some(arguments) = &description.args {
        let mut kinds = Vec::with_capacity(arguments.len());
        for argument in arguments {
            if argument.mode != Some(ArgMode::Out) {
                kinds.push(number_of(source, &argument.data_type, rights)?);
            }
        }
        found.retain(|one| {
            one.parameters
                .iter()
                .map(|one| one.kind)
                .eq(kinds.iter().copied())
        });
        if found.is_empty() {
            let kinds = kinds.iter().map(|kind| {
                let kind = SqlType::from_oid(*kind);
                kind.map_or("?", SqlType::name)
            });
            let kinds: Vec<&str> = kinds.collect();
            let text = format!("function {name}({}) does not exist", kinds.join(", "));
            return Err(SqlError::new(code::UNKNOWN_FUNCTION, text));
        }
    }
    if found.len() > 1 {
        let text = format!("function name \"{name}\" is not unique");
        return Err(SqlError::new("42725", text)
            .hint("Specify the argument list to select the function unambiguously."));
    }
    found.pop().ok_or_else(|| {
        let text = format!("could not find a function named \"{name}\"");
        SqlError::new(code::UNKNOWN_FUNCTION, text)
    })
}

/// Drops functions.
///
/// # Errors
/// `42883` if there is none of a name; `2BP01` if a trigger needs one; `42501` if its owner has rights that the user lacks.
pub(super) fn drop_functions(
    tx: &mut dyn DefineTarget,
    statement: &DropFunction,
    owners: Owners<'_>,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP FUNCTION";
    let mut complete = Complete::of(Tag::plain(WORD));
    let cascades = statement.drop_behavior == Some(DropBehavior::Cascade);
    for description in &statement.func_desc {
        let definition = match found(tx.view(), description, rights) {
            Err(error) if statement.if_exists && error.code == code::UNKNOWN_FUNCTION => {
                let (_, name) = qualified(&description.name)?;
                let text = format!("function {name}() does not exist, skipping");
                let notices = skipped(WORD, "00000", text).notices;
                complete.notices.extend(notices);
                continue;
            }
            found => found?,
        };
        owners.check_owner_of(&definition, rights)?;
        if definition.returns == Returns::Trigger {
            super::trigger::forget(tx, &definition, cascades)?;
        }
        definition.remove(tx)?;
    }
    Ok(complete)
}

/// Drops the functions of a schema.
///
/// # Errors
/// `2BP01` if there are some, and they are not to be dropped; an error of the engine.
pub(super) fn drop_of_schema(
    tx: &mut dyn DefineTarget,
    schema: &str,
    cascades: bool,
) -> Result<(), SqlError> {
    for definition in all(tx.view())? {
        if definition.schema != schema {
            continue;
        }
        if !cascades {
            let text = format!("cannot drop schema {schema} because other objects depend on it");
            let detail = format!("function {} depends on schema {schema}", definition.name);
            return Err(SqlError::new(code::DEPENDENT_OBJECTS, text)
                .detail(detail)
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        if definition.returns == Returns::Trigger {
            super::trigger::forget(tx, &definition, true)?;
        }
        definition.remove(tx)?;
    }
    Ok(())
}
