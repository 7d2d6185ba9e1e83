//! The choice among functions of one name by the types of the arguments, and the call.
//!
//! Source: PostgreSQL's documentation, 10.3. Tables keep expressions of earlier versions, in which a function for narrower
//! numbers was called if no other one takes the arguments: `left('abc', 2::bigint)`, which is refused elsewhere.

use super::definition::{Function, Kind};
use super::unresolved::{OF_OTHER_TYPES, missing, not_unique, unknown, without_type};
use super::{JSON_MOMENT, named};
use crate::class::sets_session;
use crate::error::{SqlError, code};
use crate::expression::coercion::padded;
use crate::expression::compile::Compiler;
use crate::expression::whole_rows::text_of_rows;
use crate::expression::{Expr, Typed, check_rights};
use crate::types::{SqlType, TypeSpec};
use crate::values::arrays::array_kind;
use crate::values::cast::{Coercion, can_cast};
use sardonyx::schema::Value;
use std::borrow::Cow;

/// The call of a named function for arguments of these types.
///
/// # Errors
/// `42883` if there is none, `42725` if several are as good.
pub(in crate::expression) fn resolve(
    compiler: &mut Compiler<'_>,
    name: &str,
    arguments: Vec<Typed>,
) -> Result<Typed, SqlError> {
    // Tables keep expressions of earlier versions, in which these calls had another meaning.
    let is_of_table = compiler.nested.is_none();
    if !is_of_table && compiler.parameters.is_kept() {
        // Texts of views and procedures mean the same as others, and what was taken before is taken still.
        let given = arguments.clone();
        return match resolve_in(compiler, name, given, false) {
            Err(error) if [code::UNKNOWN_FUNCTION, "42725"].contains(&error.code) => {
                resolve_in(compiler, name, arguments, true).map_err(|_| error)
            }
            resolved => resolved,
        };
    }
    resolve_in(compiler, name, arguments, is_of_table)
}

/// The same, by the rules for kept expressions if it `is_kept`.
fn resolve_in(
    compiler: &mut Compiler<'_>,
    name: &str,
    arguments: Vec<Typed>,
    is_kept: bool,
) -> Result<Typed, SqlError> {
    let kinds: Vec<SqlType> = arguments.iter().map(Typed::kind).collect();
    let is_literal = kinds == [SqlType::Unknown];
    // The name of a type called with a literal is a cast.
    let literal = is_literal.then(|| arguments.clone());
    if let (Some(literal), false) = (&literal, is_kept)
        && let Some(cast) = cast_call(compiler, name, literal.clone())?
    {
        return Ok(cast);
    }
    if OF_OTHER_TYPES.contains(&name) && is_literal && !is_kept {
        return Err(not_unique(name, &kinds));
    }
    let mut functions = Cow::Borrowed(named(name));
    if !is_kept && functions.iter().any(|function| function.0.is_old) {
        functions.to_mut().retain(|function| !function.0.is_old);
    }
    let found = match chosen(&functions, &kinds, is_kept)[..] {
        [function] => called(compiler, function, arguments),
        [] => cast_call(compiler, name, arguments)?.ok_or_else(|| missing(name, &kinds)),
        _ => Err(not_unique(name, &kinds)),
    };
    match found {
        Err(error) if is_kept => match literal {
            Some(literal) => cast_call(compiler, name, literal)?.ok_or(error),
            None => Err(error),
        },
        found => found,
    }
}

/// The best functions for arguments of these types: none if no function takes them, several if they are equally good.
/// Functions of narrower numbers are taken in kept expressions alone.
fn chosen(functions: &[Function], kinds: &[SqlType], is_kept: bool) -> Vec<Function> {
    // Most names have one function, or one for exactly these types.
    let is_exactly = |function: &&Function| {
        let arguments = function.0.arguments;
        arguments.len() == kinds.len()
            && arguments
                .iter()
                .zip(kinds)
                .all(|(kind, given)| *kind == Kind::Of(*given))
    };
    if let Some(exact) = functions.iter().find(is_exactly) {
        return vec![*exact];
    }
    let widest = match is_kept {
        true => Coercion::Assignment,
        false => Coercion::Implicit,
    };
    if let [only] = functions {
        let takes = takes(*only, kinds, widest);
        return takes.then_some(*only).into_iter().collect();
    }
    let taking = |how: Coercion| -> Vec<Function> {
        let functions = functions.iter().copied();
        let takes = functions.filter(|function| takes(*function, kinds, how));
        takes.collect()
    };
    let mut left = taking(Coercion::Implicit);
    if left.is_empty() && is_kept {
        left = taking(Coercion::Assignment);
    }
    let is_exact = |kind: Kind, given| kind == Kind::Of(given);
    keep_most(&mut left, kinds, is_exact);
    keep_most(&mut left, kinds, |kind, given| {
        is_exact(kind, given) || is_preferred(kind)
    });
    for (at, kind) in kinds.iter().enumerate() {
        if left.len() > 1 && *kind == SqlType::Unknown {
            keep_category(&mut left, at);
        }
    }
    if left.len() > 1
        && let Some(known) = kinds.iter().find(|kind| **kind != SqlType::Unknown)
    {
        // A literal counts as one of the others' type.
        let alike: Vec<SqlType> = kinds
            .iter()
            .map(|kind| match kind {
                SqlType::Unknown => *known,
                kind => *kind,
            })
            .collect();
        let mut taking = left.clone();
        taking.retain(|function| takes(*function, &alike, Coercion::Implicit));
        if let [_] = taking[..] {
            left = taking;
        }
    }
    left
}

/// The type of an argument of a function.
fn argument(function: Function, at: usize) -> Kind {
    let arguments = function.0.arguments;
    let last = arguments.last().copied().unwrap_or(Kind::Any);
    arguments.get(at).copied().unwrap_or(last)
}

fn takes(function: Function, kinds: &[SqlType], how: Coercion) -> bool {
    let count = function.0.arguments.len();
    let has_count = match function.0.is_variadic {
        true => kinds.len() >= count,
        false => kinds.len() == count,
    };
    has_count
        && kinds
            .iter()
            .enumerate()
            .all(|(at, kind)| match argument(function, at) {
                Kind::Of(to) => can_cast(*kind, to, way(*kind, to, how)),
                Kind::Array => kind.element().is_some() || *kind == SqlType::Unknown,
                Kind::Enum => matches!(kind, SqlType::Enum(_) | SqlType::Unknown),
                Kind::Enums => false,
                Kind::Range => kind.is_range() || *kind == SqlType::Unknown,
                Kind::Any | Kind::Element | Kind::Bound => true,
            })
}

/// The coercion of an argument to a type of the function.
fn way(from: SqlType, to: SqlType, how: Coercion) -> Coercion {
    match (from, to) {
        (SqlType::Int8, to) if to == SqlType::Oid || to.is_object() => Coercion::Assignment,
        (from, SqlType::Regclass) if from.is_text() => Coercion::Explicit,
        (from, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) if from.is_integer() => how,
        _ => Coercion::Implicit,
    }
}

/// Keeps the functions with the most arguments that fit the known types.
fn keep_most(left: &mut Vec<Function>, kinds: &[SqlType], is_so: impl Fn(Kind, SqlType) -> bool) {
    if left.len() < 2 {
        return;
    }
    let count = |function: Function| {
        let known = kinds.iter().enumerate();
        let known = known.filter(|(_, kind)| **kind != SqlType::Unknown);
        known
            .filter(|(at, kind)| is_so(argument(function, *at), **kind))
            .count()
    };
    let most = left.iter().map(|function| count(*function)).max();
    left.retain(|function| Some(count(*function)) == most);
}

/// For an argument that is a literal, keeps the functions that take a text there. Without one, keeps those of the only
/// category, and of these the preferred type.
fn keep_category(left: &mut Vec<Function>, at: usize) {
    let categories: Vec<char> = left
        .iter()
        .map(|one| category(argument(*one, at)))
        .collect();
    let wanted = match (categories.contains(&'S'), categories.first()) {
        (true, _) => 'S',
        (false, Some(first)) if categories.iter().all(|one| one == first) => *first,
        _ => return,
    };
    left.retain(|one| category(argument(*one, at)) == wanted);
    if left.iter().any(|one| is_preferred(argument(*one, at))) {
        left.retain(|one| is_preferred(argument(*one, at)));
    }
}

fn category(kind: Kind) -> char {
    match kind {
        Kind::Of(kind) => kind.category(),
        Kind::Any
        | Kind::Array
        | Kind::Element
        | Kind::Enum
        | Kind::Enums
        | Kind::Range
        | Kind::Bound => 'P',
    }
}

fn is_preferred(kind: Kind) -> bool {
    matches!(kind, Kind::Of(kind) if kind.is_preferred())
}

/// The call of a function for arguments that it takes.
fn called(
    compiler: &mut Compiler<'_>,
    function: Function,
    mut arguments: Vec<Typed>,
) -> Result<Typed, SqlError> {
    let of = function.0;
    let kinds: Vec<SqlType> = arguments.iter().map(Typed::kind).collect();
    let wrong = || unknown(of.name, &kinds);
    let unlike = |error: SqlError| match error.code {
        code::DATATYPE_MISMATCH => wrong(),
        _ => error,
    };
    match of.arguments {
        [Kind::Array, Kind::Element] | [Kind::Element, Kind::Array] => {
            if of.arguments[0] == Kind::Element {
                arguments.reverse();
            }
            return with_element(compiler, function, arguments).ok_or_else(wrong)?;
        }
        [Kind::Array, Kind::Element, Kind::Of(to)] => {
            let Some(last) = arguments.pop() else {
                return Err(wrong());
            };
            let last = as_argument(compiler, function, last, *to).map_err(unlike)?;
            let made = with_element(compiler, function, arguments).ok_or_else(wrong)?;
            return made.map(|mut typed| {
                if let Expr::Call(_, parts) = &mut typed.expr {
                    parts.push(last);
                }
                typed
            });
        }
        [Kind::Array, Kind::Element, Kind::Element] => {
            return with_elements(compiler, function, arguments).map_err(unlike);
        }
        [Kind::Array, Kind::Array] => {
            return of_two_arrays(compiler, function, arguments).ok_or_else(wrong)?;
        }
        _ => {}
    }
    let mut parts = Vec::with_capacity(arguments.len());
    let mut array = SqlType::Unknown;
    let one_of = kinds.iter().find(|kind| matches!(kind, SqlType::Enum(_)));
    let range = kinds.iter().copied().find(|kind| kind.is_range());
    for (at, typed) in arguments.into_iter().enumerate() {
        let typed = match argument(function, at) {
            Kind::Any | Kind::Element | Kind::Array => in_session(compiler, of.name, typed)?,
            _ => typed,
        };
        match argument(function, at) {
            Kind::Of(to) => {
                let part = as_argument(compiler, function, typed, to);
                parts.push(part.map_err(unlike)?);
            }
            Kind::Any => {
                let typed = match of.is_variadic {
                    true => compiler.as_decided(typed)?,
                    false => typed,
                };
                parts.extend([element_number(typed.kind()), padded(typed)]);
            }
            Kind::Enum | Kind::Enums => {
                let kind = *one_of.ok_or_else(wrong)?;
                let spec = TypeSpec::plain(kind);
                let part = compiler.coerce(typed, spec, Coercion::Implicit);
                parts.extend([element_number(kind), part.map_err(|_| wrong())?]);
            }
            Kind::Range => {
                // Functions of one range are of multiranges, too.
                let kind = range.ok_or_else(|| match kinds.len() {
                    1 => not_unique(of.name, &kinds),
                    _ => without_type(),
                })?;
                let part = compiler.coerce(typed, TypeSpec::plain(kind), Coercion::Implicit);
                parts.extend([element_number(kind), part.map_err(unlike)?]);
            }
            Kind::Bound => {
                let kind = range.and_then(SqlType::bound);
                let kind = kind.ok_or_else(without_type)?;
                // As in PostgreSQL, only this type is taken, no narrower one.
                if ![kind, SqlType::Unknown].contains(&typed.kind()) {
                    return Err(wrong());
                }
                let part = compiler.coerce(typed, TypeSpec::plain(kind), Coercion::Implicit);
                parts.push(part?);
            }
            // That of a document, too.
            Kind::Array if typed.kind() == SqlType::Unknown && of.name == "unnest" => {
                return Err(not_unique(of.name, &kinds));
            }
            Kind::Array | Kind::Element if typed.kind() == SqlType::Unknown => {
                return Err(without_type());
            }
            Kind::Element => {
                if of.result == Kind::Array {
                    array = array_of(typed.kind())?;
                }
                parts.extend([element_number(typed.kind()), padded(typed)]);
            }
            Kind::Array => {
                array = typed.kind();
                if of.is_typed {
                    parts.push(element_number(array));
                }
                parts.push(typed.expr);
            }
        }
    }
    let call = Expr::Call(function, parts);
    if of.is_of_session
        && let Some(nested) = &mut compiler.nested
    {
        check_rights(&call, nested.source, nested.queries.rights())?;
        let around = nested.queries.around_mut();
        around.asks_session = true;
        around.sets_session |= sets_session(of.name);
    }
    let result = match of.result {
        Kind::Of(kind) => kind,
        Kind::Element => array.element().unwrap_or(SqlType::Text),
        Kind::Enum => one_of.copied().unwrap_or(SqlType::Text),
        Kind::Enums => one_of.map_or(SqlType::TextArray, |kind| kind.array()),
        Kind::Range => range.unwrap_or(SqlType::Text),
        Kind::Bound => range.and_then(SqlType::bound).unwrap_or(SqlType::Text),
        Kind::Array | Kind::Any => array,
    };
    Ok(Typed::new(call, result))
}

/// Converts a moment, or a range of moments, for a function that writes texts: to the session's time zone. Intervals become
/// texts in the session's style, and records texts there. Other arguments stay unchanged.
///
/// # Errors
/// None of a moment or a record.
pub(in crate::expression) fn in_session(
    compiler: &mut Compiler<'_>,
    function: &str,
    typed: Typed,
) -> Result<Typed, SqlError> {
    let is_json = function.contains("json");
    let writing = [
        "concat",
        "concat_ws",
        "format",
        "quote_literal",
        "quote_nullable",
    ];
    let is_of_texts = writing.contains(&function);
    if let Some(kind) = text_of_rows(function, typed.kind()) {
        let spec = TypeSpec::plain(kind);
        let expr = compiler.coerce(typed, spec, Coercion::Explicit)?;
        return Ok(Typed { expr, spec });
    }
    let is_array = typed.kind().element().is_some();
    let is_of_session = matches!(
        typed.kind().single(),
        SqlType::Timestamptz | SqlType::Interval
    );
    if function == "array_to_string" && is_array && is_of_session {
        let spec = TypeSpec::plain(SqlType::TextArray);
        let expr = compiler.coerce(typed, spec, Coercion::Explicit)?;
        return Ok(Typed { expr, spec });
    }
    if typed.kind().single() == SqlType::Interval && (is_of_texts || is_json && !is_array) {
        let spec = TypeSpec::plain(SqlType::Text);
        let expr = compiler.coerce(typed, spec, Coercion::Explicit)?;
        return Ok(Typed { expr, spec });
    }
    if is_json && typed.kind() == SqlType::TimestamptzArray {
        compiler.crosses_zone = true;
    }
    if compiler.parameters.zone().is_none()
        || typed.kind().single() != SqlType::Timestamptz
        || typed.kind().element().is_some()
        || !is_json && !is_of_texts
    {
        return Ok(typed);
    }
    let is_range = typed.kind().is_range();
    let text = TypeSpec::plain(SqlType::Text);
    let shown = compiler.coerce(typed, text, Coercion::Explicit)?;
    Ok(Typed::new(
        match is_json && !is_range {
            true => Expr::Call(Function(&JSON_MOMENT), vec![shown]),
            false => shown,
        },
        SqlType::Text,
    ))
}

fn as_argument(
    compiler: &mut Compiler<'_>,
    function: Function,
    typed: Typed,
    to: SqlType,
) -> Result<Expr, SqlError> {
    let how = way(typed.kind(), to, Coercion::Assignment);
    let expr = compiler.coerce(typed, TypeSpec::plain(to), how)?;
    Ok(match expr {
        // Sequences are named by texts.
        Expr::Call(cast, mut name)
            if function.0.is_of_session && (cast.is("regclassin") || cast.is("regclass")) =>
        {
            name.remove(0)
        }
        expr => expr,
    })
}

/// A type's number, as an argument of functions.
pub(crate) fn element_number(kind: SqlType) -> Expr {
    Expr::Literal(Value::Int(kind.number().into()))
}

/// A function of an array and a value that is, or becomes, one of its elements; `None` if it cannot.
fn with_element(
    compiler: &mut Compiler<'_>,
    function: Function,
    arguments: Vec<Typed>,
) -> Option<Result<Typed, SqlError>> {
    let [array, value]: [Typed; 2] = arguments.try_into().ok()?;
    let element = match (array.kind(), value.kind()) {
        // Literals alone are texts.
        (SqlType::Unknown, SqlType::Unknown) => SqlType::Text,
        (SqlType::Unknown, kind) if !compiler.is_of_kept_text() => {
            if let Err(error) = array_of(kind) {
                return Some(Err(error));
            }
            kind
        }
        (SqlType::Unknown, kind) => kind,
        (kind, _) => kind.element()?,
    };
    let kind = match value.kind() {
        kind if can_cast(kind, element, Coercion::Implicit) => element,
        kind if can_cast(element, kind, Coercion::Implicit) && kind.element().is_none() => kind,
        _ => return None,
    };
    let of = array_kind(kind);
    let mut parts = || {
        let array = compiler.coerce(array.clone(), TypeSpec::plain(of), Coercion::Explicit)?;
        let value = compiler.coerce(value.clone(), TypeSpec::plain(kind), Coercion::Implicit)?;
        Ok(vec![array, value, element_number(kind)])
    };
    let result = match function.0.result {
        Kind::Of(kind) => kind,
        _ => of,
    };
    Some(parts().map(|parts| Typed::new(Expr::Call(function, parts), result)))
}

/// A function of an array and values that become, as its elements do, values of one type. The number of that type
/// follows all.
///
/// # Errors
/// `42804` if there is no such type.
fn with_elements(
    compiler: &mut Compiler<'_>,
    function: Function,
    mut arguments: Vec<Typed>,
) -> Result<Typed, SqlError> {
    let array = arguments.remove(0);
    let element = array.kind().element().unwrap_or(SqlType::Unknown);
    let mut alike = vec![Typed::new(Expr::Literal(Value::Null), element)];
    alike.extend(arguments);
    let (mut parts, spec) = compiler.unified(alike, function.0.name)?;
    let of = array_of(spec.kind)?;
    parts[0] = compiler.coerce(array, TypeSpec::plain(of), Coercion::Explicit)?;
    parts.push(element_number(spec.kind));
    Ok(Typed::new(Expr::Call(function, parts), of))
}

/// The type of arrays of a type.
///
/// # Errors
/// `42704` for an array: there is no array of arrays.
fn array_of(kind: SqlType) -> Result<SqlType, SqlError> {
    match kind.element() {
        None => Ok(kind.array()),
        Some(_) => Err(SqlError::new(
            code::UNKNOWN_OBJECT,
            format!("could not find array type for data type {}", kind.name()),
        )),
    }
}

/// Compiles a function of two arrays. The number of the elements' type follows them if its result is no array. `None`
/// if the types of their elements do not match.
fn of_two_arrays(
    compiler: &mut Compiler<'_>,
    function: Function,
    arguments: Vec<Typed>,
) -> Option<Result<Typed, SqlError>> {
    let [left, right]: [Typed; 2] = arguments.try_into().ok()?;
    let kind = match (left.kind(), right.kind()) {
        (SqlType::Unknown, SqlType::Unknown) => match function.0.result {
            Kind::Of(_) => return Some(Err(without_type())),
            _ => SqlType::TextArray,
        },
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
    let element = kind.element()?;
    let spec = TypeSpec::plain(kind);
    let mut sides = || {
        let left = compiler.coerce(left.clone(), spec, Coercion::Explicit)?;
        let right = compiler.coerce(right.clone(), spec, Coercion::Explicit)?;
        Ok(match function.0.result {
            Kind::Of(result) => {
                let parts = vec![left, right, element_number(element)];
                Typed::new(Expr::Call(function, parts), result)
            }
            _ => Typed::new(Expr::Call(function, vec![left, right]), kind),
        })
    };
    Some(sides())
}

/// `||` with an array on one side; `None` if the other one is neither an array nor an element of the same type.
pub(in crate::expression) fn concatenated(
    compiler: &mut Compiler<'_>,
    left: Typed,
    right: Typed,
) -> Option<Result<Typed, SqlError>> {
    let is_array = |kind: SqlType| kind.element().is_some();
    let (a, b) = (left.kind(), right.kind());
    let are_arrays = [a, b]
        .iter()
        .all(|kind| is_array(*kind) || *kind == SqlType::Unknown);
    let function = |name| named(name).first().copied();
    match are_arrays {
        true => of_two_arrays(compiler, function("array_cat")?, vec![left, right]),
        false if is_array(a) => {
            with_element(compiler, function("array_append")?, vec![left, right])
        }
        false => with_element(compiler, function("array_prepend")?, vec![right, left]),
    }
}

/// A type's name called like a function, which is a cast: `date('2024-01-01')`.
fn cast_call(
    compiler: &mut Compiler<'_>,
    name: &str,
    arguments: Vec<Typed>,
) -> Result<Option<Typed>, SqlError> {
    let (Some(kind), Ok([argument])) = (SqlType::named(name), <[Typed; 1]>::try_from(arguments))
    else {
        return Ok(None);
    };
    if !can_cast(argument.kind(), kind, Coercion::Explicit) {
        return Ok(None);
    }
    let spec = TypeSpec::plain(kind);
    let expr = compiler.coerce(argument, spec, Coercion::Explicit)?;
    Ok(Some(Typed { expr, spec }))
}
