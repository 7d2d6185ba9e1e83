//! Calls of functions of arrays and of JSON, compiled. Where elements, or values, are to be read or written, their type's
//! number stands beside them among the arguments.

use super::arrays::array_kind;
use super::cast::{Coercion, can_cast};
use super::coercion::padded;
use super::compile::Compiler;
use super::functions::unknown;
use super::operators::no_operator;
use super::predicates::boolean;
use super::{Comparison, Expr, Function, Typed};
use crate::error::{SqlError, code};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::Expr as Tree;

fn number_of(kind: SqlType) -> Expr {
    Expr::Literal(Value::Int(kind.oid().into()))
}

/// The function of a name for arguments of which one is an array, or gives one.
///
/// # Errors
/// `42883` if there is none for their types.
pub(super) fn resolve(
    compiler: &mut Compiler<'_>,
    name: &str,
    arguments: Vec<Typed>,
) -> Result<Typed, SqlError> {
    let kinds: Vec<SqlType> = arguments.iter().map(Typed::kind).collect();
    let wrong = || unknown(name, &kinds);
    let is_array = |at: usize| kinds.get(at).is_some_and(|kind| kind.element().is_some());
    let function = match (name, kinds.len()) {
        ("string_to_array", 2 | 3) => {
            let mut parts = Vec::with_capacity(3);
            for argument in arguments {
                let text = TypeSpec::plain(SqlType::Text);
                parts.push(compiler.coerce(argument, text, Coercion::Implicit)?);
            }
            let call = Expr::Call(Function::StringToArray, parts);
            return Ok(Typed::new(call, SqlType::TextArray));
        }
        ("array_to_json", 1) if is_array(0) => return json(compiler, "to_json", arguments),
        ("array_append" | "array_remove" | "array_position", 2) if is_array(0) => {
            let function = match name {
                "array_append" => Function::ArrayAppend,
                "array_remove" => Function::ArrayRemove,
                _ => Function::ArrayPosition,
            };
            return with_element(compiler, function, arguments).ok_or_else(wrong)?;
        }
        ("array_prepend", 2) if is_array(1) => {
            let turned = arguments.into_iter().rev().collect();
            return with_element(compiler, Function::ArrayPrepend, turned).ok_or_else(wrong)?;
        }
        ("array_cat", 2) => {
            let [left, right]: [Typed; 2] = arguments.try_into().map_err(|_| wrong())?;
            let sides = joined(compiler, left, right).ok_or_else(wrong)?;
            return sides;
        }
        ("array_upper", 2) => Function::ArrayUpper,
        ("array_lower", 2) => Function::ArrayLower,
        ("array_length", 2) => Function::ArrayLength,
        ("generate_subscripts", 2) => Function::Subscripts,
        ("cardinality", 1) => Function::ArrayCount,
        ("array_ndims", 1) => Function::ArrayDimensions,
        ("array_dims", 1) => Function::ArrayBounds,
        _ => return Err(wrong()),
    };
    if !is_array(0) {
        return Err(wrong());
    }
    let mut parts = Vec::with_capacity(2);
    for (at, argument) in arguments.into_iter().enumerate() {
        let whole = TypeSpec::plain(SqlType::Int4);
        parts.push(match at {
            0 => argument.expr,
            _ => compiler.coerce(argument, whole, Coercion::Implicit)?,
        });
    }
    let kind = match function {
        Function::ArrayBounds => SqlType::Text,
        _ => SqlType::Int4,
    };
    Ok(Typed::new(Expr::Call(function, parts), kind))
}

/// A function of an array and a value that is, or becomes, one of its elements; `None` if it cannot.
fn with_element(
    compiler: &mut Compiler<'_>,
    function: Function,
    arguments: Vec<Typed>,
) -> Option<Result<Typed, SqlError>> {
    let [array, value]: [Typed; 2] = arguments.try_into().ok()?;
    let element = array.kind().element()?;
    let kind = match value.kind() {
        kind if can_cast(kind, element, Coercion::Implicit) => element,
        kind if can_cast(element, kind, Coercion::Implicit) && kind.element().is_none() => kind,
        _ => return None,
    };
    Some(element_call(compiler, function, array, value, kind))
}

fn element_call(
    compiler: &mut Compiler<'_>,
    function: Function,
    array: Typed,
    value: Typed,
    kind: SqlType,
) -> Result<Typed, SqlError> {
    let of = array_kind(kind);
    let array = compiler.coerce(array, TypeSpec::plain(of), Coercion::Explicit)?;
    let value = compiler.coerce(value, TypeSpec::plain(kind), Coercion::Implicit)?;
    let result = match function {
        Function::ArrayPosition => SqlType::Int4,
        _ => of,
    };
    let parts = vec![array, value, number_of(kind)];
    Ok(Typed::new(Expr::Call(function, parts), result))
}

/// Two arrays, one behind the other; `None` if their elements are of types that do not go together.
fn joined(
    compiler: &mut Compiler<'_>,
    left: Typed,
    right: Typed,
) -> Option<Result<Typed, SqlError>> {
    let kind = match (left.kind(), right.kind()) {
        (SqlType::Unknown, known) | (known, SqlType::Unknown) => known,
        (a, b) => {
            let (one, other) = (a.element()?, b.element()?);
            match can_cast(one, other, Coercion::Implicit) {
                true => b,
                false if can_cast(other, one, Coercion::Implicit) => a,
                false => return None,
            }
        }
    };
    kind.element()?;
    let spec = TypeSpec::plain(kind);
    let mut sides = || {
        let left = compiler.coerce(left.clone(), spec, Coercion::Explicit)?;
        let right = compiler.coerce(right.clone(), spec, Coercion::Explicit)?;
        Ok(Expr::Call(Function::ArrayConcat, vec![left, right]))
    };
    Some(sides().map(|call| Typed::new(call, kind)))
}

/// `||` of which a side is an array.
///
/// # Errors
/// `42883` if the other one is neither an array nor an element of the same type.
pub(super) fn concatenate(
    compiler: &mut Compiler<'_>,
    left: Typed,
    right: Typed,
) -> Result<Typed, SqlError> {
    let (a, b) = (left.kind(), right.kind());
    let are_arrays = [a, b]
        .iter()
        .all(|kind| kind.element().is_some() || *kind == SqlType::Unknown);
    let made = match (are_arrays, a.element()) {
        (true, _) => joined(compiler, left, right),
        (false, Some(_)) => with_element(compiler, Function::ArrayAppend, vec![left, right]),
        (false, None) => with_element(compiler, Function::ArrayPrepend, vec![right, left]),
    };
    made.ok_or_else(|| no_operator("||", a, b))?
}

/// `json_build_object`, `json_build_array` and `to_json`.
///
/// # Errors
/// `22023` with a name that has no value, `42804` if a type is not known.
pub(super) fn json(
    compiler: &mut Compiler<'_>,
    name: &str,
    arguments: Vec<Typed>,
) -> Result<Typed, SqlError> {
    let function = match name {
        "json_build_object" => Function::JsonObject,
        "jsonb_build_object" => Function::JsonbObject,
        "json_build_array" => Function::JsonArray,
        _ => Function::ToJson,
    };
    if function == Function::ToJson {
        match arguments.as_slice() {
            [argument] if argument.kind() == SqlType::Unknown => {
                return Err(SqlError::new(
                    code::DATATYPE_MISMATCH,
                    "could not determine polymorphic type because input has type unknown",
                ));
            }
            [_] => {}
            others => {
                let kinds: Vec<_> = others.iter().map(Typed::kind).collect();
                return Err(unknown(name, &kinds));
            }
        }
    }
    let is_object = matches!(function, Function::JsonObject | Function::JsonbObject);
    if is_object && !arguments.len().is_multiple_of(2) {
        let text = "argument list must have even number of elements";
        let error = SqlError::new(code::INVALID_PARAMETER_VALUE, text);
        return Err(error.hint(format!(
            "The arguments of {name}() must consist of alternating keys and values."
        )));
    }
    let mut parts = Vec::with_capacity(2 * arguments.len());
    for argument in arguments {
        let argument = compiler.as_decided(argument)?;
        parts.push(number_of(argument.kind()));
        parts.push(padded(argument));
    }
    Ok(Typed::new(Expr::Call(function, parts), SqlType::Json))
}

impl Compiler<'_> {
    /// Compares a value with the elements of an array: with any of them, or with all.
    pub(super) fn against_array(
        &mut self,
        left: &Tree,
        comparison: Comparison,
        array: &Tree,
        is_all: bool,
    ) -> Result<Typed, SqlError> {
        let value = self.compile(left)?;
        let mut array = self.compile(array)?;
        if array.kind() == SqlType::Unknown {
            array = self.as_type(array, value.kind().array())?;
        }
        let Some(element) = array.kind().element() else {
            return Err(SqlError::new(
                code::WRONG_OBJECT_TYPE,
                "op ANY/ALL (array) requires array on right side",
            ));
        };
        let of_array = Typed::new(Expr::Literal(Value::Null), element);
        let (value, _) = self.comparable(value, of_array, comparison.symbol())?;
        let symbol = Expr::Literal(Value::Text(comparison.symbol().into()));
        let is_all = Expr::Literal(Value::Bool(is_all));
        let parts = vec![value, array.expr, number_of(element), symbol, is_all];
        Ok(boolean(Expr::Call(Function::AgainstArray, parts), false))
    }
}
