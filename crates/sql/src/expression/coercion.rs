//! Conversion of expressions to other types: literals and parameters without a type get it, others are cast.

use super::arithmetic::{Arithmetic, calculate, shift};
use super::cast::{
    Coercion, can_cast, cast_in, could_be_implicit, could_cast, crosses_zone, is_number_of,
    writes_intervals,
};
use super::check::{NamedColumn, scope_of_columns};
use super::compile::Compiler;
use super::functions::{
    OBJECT_NAME, OBJECT_NUMBER, OUTSIDE_OF_DOMAIN, PRESENT, TABLE_NUMBER, TABLE_OF_TEXT,
    WITH_ALL_DIGITS,
};
use super::operator_errors::no_operator;
use super::whole_rows::check_fields;
pub(super) use super::whole_rows::padded;
use super::{Case, Expr, Function, Parameters, Typed};
use crate::error::{SqlError, code};
use crate::parse::parse_expression;
use crate::path::written;
use crate::text::datetime::{asks_clock, lacks_clock};
use crate::text::{decode_text, decode_text_in};
use crate::types::{FREE_SCALE, SqlType, TypeSpec};
use crate::user_types::DomainDefinition;
use crate::values::arrays::Array;
use crate::values::intervals::Interval;
use crate::values::search::Config;
use sardonyx::schema::Value;
use sqlparser::ast::{self, ArrayElemTypeDef, CastKind, DataType, Expr as Tree};

/// The elements of an array as literals, in as many levels as it has dimensions.
///
/// # Errors
/// `0A000` for an array with other bounds.
fn names_in(array: Array, cast: impl Fn(Tree) -> Tree) -> Result<Vec<Tree>, SqlError> {
    if array.bounds.iter().any(|(first, _)| *first != 1) {
        return Err(SqlError::unsupported(
            "an array of names with bounds of its own is not supported",
        ));
    }
    let literal = |name: Option<String>| match name {
        Some(name) => ast::Value::SingleQuotedString(name),
        None => ast::Value::Null,
    };
    let names = array.elements.into_iter();
    let names = names.map(|name| cast(Tree::Value(literal(name).into())));
    let mut names: Vec<Tree> = names.collect();
    for (_, length) in array.bounds.iter().skip(1).rev() {
        let inner = names.chunks((*length).max(1)).map(|elements| {
            Tree::Array(ast::Array {
                elem: elements.to_vec(),
                named: true,
            })
        });
        names = inner.collect();
    }
    Ok(names)
}

impl Compiler<'_> {
    /// An expression that must be a text.
    pub(super) fn text(&mut self, tree: &Tree, operator: &str) -> Result<Expr, SqlError> {
        let typed = self.compile(tree)?;
        if !typed.kind().is_text() {
            return Err(no_operator(operator, typed.kind(), SqlType::Text));
        }
        self.coerce(typed, TypeSpec::plain(SqlType::Text), Coercion::Implicit)
    }

    /// A text that is matched with a pattern, with its blanks.
    pub(super) fn matched(&mut self, tree: &Tree, operator: &str) -> Result<Expr, SqlError> {
        let typed = self.compile(tree)?;
        self.matched_value(typed, operator)
    }

    /// A value that is matched with a pattern, as [`Compiler::matched`] of its tree.
    pub(super) fn matched_value(&mut self, typed: Typed, operator: &str) -> Result<Expr, SqlError> {
        match typed.kind() {
            SqlType::Char => Ok(padded(typed)),
            kind if !kind.is_text() => Err(no_operator(operator, kind, SqlType::Text)),
            _ => self.coerce(typed, TypeSpec::plain(SqlType::Text), Coercion::Implicit),
        }
    }

    pub(super) fn cast(&mut self, tree: &Tree, of: &DataType) -> Result<Typed, SqlError> {
        let to = TypeSpec::of_cast(of, self.parameters.types())?;
        if let (Some(_), Tree::Array(array)) = (to.kind.element(), tree)
            && array.elem.is_empty()
        {
            return Ok(Typed::new(Expr::Literal(Value::Text("{}".into())), to.kind));
        }
        let typed = match self.array_of_objects(tree, of)? {
            Some(array) => array,
            None => self.compile(tree)?,
        };
        let expr = self.coerce(typed, to, Coercion::Explicit)?;
        let domain = self.parameters.types().domain(of);
        let domain = domain.map(|(kept, _, domain)| (written(kept), domain.clone()));
        match domain {
            Some((name, domain)) => self.of_domain(Typed { expr, spec: to }, &name, &domain),
            None => Ok(Typed { expr, spec: to }),
        }
    }

    /// An array of objects that is written as their names, `'{int, text}'::regtype[]`: each name is cast by itself, since
    /// the array's own type is that of numbers.
    fn array_of_objects(&mut self, tree: &Tree, of: &DataType) -> Result<Option<Typed>, SqlError> {
        let DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) = of else {
            return Ok(None);
        };
        let kind = TypeSpec::of_cast(element, self.parameters.types())?.kind;
        if !kind.is_object() {
            return Ok(None);
        }
        let cast = |name: Tree| Tree::Cast {
            kind: CastKind::DoubleColon,
            expr: Box::new(name),
            data_type: (**element).clone(),
            format: None,
        };
        let casts = match tree {
            Tree::Array(array) => {
                if array.elem.iter().any(|name| matches!(name, Tree::Array(_))) {
                    return Ok(None);
                }
                array.elem.iter().cloned().map(cast).collect()
            }
            Tree::Value(value) => match &value.value {
                ast::Value::SingleQuotedString(text) => names_in(Array::read(text)?, cast)?,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        if casts.is_empty() {
            return Ok(None);
        }
        self.array(&casts).map(Some)
    }

    /// A value that meets the conditions of a domain, or an error.
    ///
    /// # Errors
    /// `0A000` for a value that may differ each time it is computed.
    fn of_domain(
        &mut self,
        value: Typed,
        name: &str,
        domain: &DomainDefinition,
    ) -> Result<Typed, SqlError> {
        if value.expr.is_volatile() || value.expr.any(&|part| matches!(part, Expr::Subquery(_))) {
            return Err(SqlError::unsupported(format!(
                "a cast of this expression to the domain {name} is not supported"
            ))
            .hint("Compute the value in a query in FROM, and cast its column."));
        }
        let fails = |check: &str| {
            let names = [name, check].map(|text| Expr::Literal(Value::Text(text.to_string())));
            Expr::Call(Function(&OUTSIDE_OF_DOMAIN), names.to_vec())
        };
        let mut arms = Vec::new();
        if domain.not_null {
            arms.push((Expr::IsNull(Box::new(value.expr.clone())), fails("")));
        }
        let columns = [NamedColumn {
            number: 0,
            name: "value",
            spec: value.spec,
        }];
        let scope = scope_of_columns("", &columns);
        for check in &domain.checks {
            let tree = parse_expression(&check.text)?;
            let mut parameters = Parameters::default();
            let mut compiler = Compiler::new(&scope, &mut parameters);
            let mut condition = compiler.condition(&tree, "CHECK")?;
            condition.replace_columns(&|_| value.expr.clone());
            arms.push((Expr::IsBool(Box::new(condition), false), fails(&check.name)));
        }
        if arms.is_empty() {
            return Ok(value);
        }
        let spec = value.spec;
        let case = Case {
            arms,
            otherwise: value.expr,
        };
        Ok(Typed {
            expr: Expr::Case(Box::new(case)),
            spec,
        })
    }

    /// An expression as a value of a type.
    ///
    /// # Errors
    /// `42804` if there is no cast; an error in a literal's text.
    pub fn coerce(&mut self, typed: Typed, to: TypeSpec, how: Coercion) -> Result<Expr, SqlError> {
        let from = typed.spec;
        if from.kind == SqlType::Unknown {
            match typed.expr {
                Expr::Parameter(number) if to.kind.is_object() => {
                    // An object's name, too.
                    self.parameters.set(number, SqlType::Text);
                    return Ok(number_of_name(to.kind, Expr::Parameter(number)));
                }
                Expr::Parameter(number) => {
                    self.parameters.set(number, to.kind);
                    return Ok(shaped(Expr::Parameter(number), to.kind, to, how));
                }
                Expr::Literal(Value::Null) => return Ok(Expr::Literal(Value::Null)),
                Expr::Literal(Value::Text(text)) => {
                    // Configurations of text search are the same in every database.
                    if let (SqlType::Regconfig, Some(config)) = (to.kind, Config::written(&text)) {
                        return Ok(Expr::Literal(Value::Int(config.number().into())));
                    }
                    // An object's name is looked up when the expression runs.
                    if to.kind.is_object() && text.parse::<u32>().is_err() {
                        return Ok(number_of_name(to.kind, Expr::Literal(Value::Text(text))));
                    }
                    let is_moment = matches!(
                        to.kind,
                        SqlType::Date
                            | SqlType::Time
                            | SqlType::Timetz
                            | SqlType::Timestamp
                            | SqlType::Timestamptz
                    );
                    let zone = self.parameters.zone();
                    // The clock is read when the expression runs.
                    if is_moment
                        && self.nested.is_some()
                        && (asks_clock(&text) || lacks_clock(to.kind, &text, zone))
                    {
                        let text = Expr::Literal(Value::Text(text));
                        let parts = vec![text, super::functions::element_number(to.kind)];
                        let call = Expr::Call(Function(&PRESENT), parts);
                        return Ok(shaped(call, to.kind, to, how));
                    }
                    let value = match to.kind {
                        // The blanks are kept without a length.
                        SqlType::Char => Value::Text(text.clone()),
                        SqlType::Interval => {
                            let is_kept = self.is_of_kept_text();
                            Interval::read_in(&text, to.modifier, is_kept)?.value()
                        }
                        _ => decode_text_in(to.kind, &text, zone)?,
                    };
                    if let Some(moments) = self.parameters.moments() {
                        moments.note(to.kind, &text, &value);
                    }
                    if matches!(value, Value::Float(value) if value.is_nan()) {
                        // Equal expressions must compare as equal, and NaN is not equal to itself.
                        let text = Box::new(Expr::Literal(Value::Text(text)));
                        return Ok(Expr::Cast(text, SqlType::Text, to, true));
                    }
                    return Ok(shaped(Expr::Literal(value), to.kind, to, how));
                }
                expr => return Ok(expr),
            }
        }
        let is_kept = self.is_of_kept_text() && could_cast(from.kind, to.kind, how);
        if !is_kept && !can_cast(from.kind, to.kind, how) {
            return Err(SqlError::new(
                if how == Coercion::Explicit {
                    code::CANNOT_COERCE
                } else {
                    code::DATATYPE_MISMATCH
                },
                format!(
                    "a value of type {} cannot be used as {}",
                    from.kind.name(),
                    to.kind.name()
                ),
            )
            .hint("You will need to rewrite or cast the expression."));
        }
        if let (SqlType::Record, SqlType::Composite(of), false) =
            (from.kind, to.kind, self.is_of_kept_text())
        {
            check_fields(&typed.expr, of, how)?;
        }
        if to.kind == SqlType::Regclass && from.kind.is_text() && !self.is_of_kept_text() {
            return Ok(Expr::Call(Function(&TABLE_OF_TEXT), vec![typed.expr]));
        }
        if to.kind.is_object() && from.kind.is_text() {
            return Ok(number_of_name(to.kind, typed.expr));
        }
        if from.kind.is_object() && to.kind.is_text() {
            let parts = vec![super::functions::element_number(from.kind), typed.expr];
            let name = Typed::new(Expr::Call(Function(&OBJECT_NAME), parts), SqlType::Text);
            return self.coerce(name, to, how);
        }
        if (from.kind, to.kind) == (SqlType::Char, SqlType::Bytea) {
            let text = Typed::new(padded(typed), SqlType::Text);
            return self.coerce(text, to, how);
        }
        // A declared scale is kept, also that which columns without one have.
        let has_scale = |(_, scale)| scale == FREE_SCALE;
        if from.kind == SqlType::Numeric
            && to.kind.is_text()
            && from.precision_and_scale().is_some_and(has_scale)
        {
            let text = Expr::Call(Function(&WITH_ALL_DIGITS), vec![typed.expr]);
            let typed = Typed::new(text, SqlType::Text);
            return self.coerce(typed, to, how);
        }
        if from.kind == to.kind {
            return match to.modifier < 0 || from.modifier == to.modifier {
                true if from.kind == SqlType::Char && to.modifier < 0 => Ok(padded(typed)),
                true => Ok(typed.expr),
                false => Ok(shaped(typed.expr, from.kind, to, how)),
            };
        }
        self.crosses_zone |=
            crosses_zone(from.kind, to.kind) || writes_intervals(from.kind, to.kind);
        let is_utc = self.parameters.types().is_in_utc();
        let is_free = from.kind.is_text() && to.kind == SqlType::Text && from.kind != SqlType::Char
            || from.kind == SqlType::Char && from.length().is_some() && to.kind == SqlType::Text
            || is_utc
                && to.fraction_digits().is_none()
                && matches!(
                    (from.kind, to.kind),
                    (SqlType::Timestamp, SqlType::Timestamptz)
                        | (SqlType::Timestamptz, SqlType::Timestamp)
                )
            || (from.kind, to.kind) == (SqlType::Cidr, SqlType::Inet)
            || from.kind.is_integer()
                && to.kind.is_integer()
                && match self.is_of_kept_text() {
                    true => could_be_implicit(from.kind, to.kind),
                    false if is_number_of(to.kind) && !is_number_of(from.kind) => false,
                    false => can_cast(from.kind, to.kind, Coercion::Implicit),
                };
        if is_free {
            return Ok(typed.expr);
        }
        let is_explicit = how == Coercion::Explicit;
        let value = match &typed.expr {
            Expr::Literal(value) => {
                let zone = self.parameters.zone();
                let cast = cast_in(value.as_ref(), from.kind, to, is_explicit, zone);
                cast.ok()
            }
            _ => None,
        };
        let cast = |expr| Expr::Cast(Box::new(expr), from.kind, to, is_explicit);
        Ok(value.map_or_else(|| cast(typed.expr), Expr::Literal))
    }
}

/// The number of an object of a type, by its name.
fn number_of_name(kind: SqlType, name: Expr) -> Expr {
    match kind {
        SqlType::Regclass => Expr::Call(Function(&TABLE_NUMBER), vec![name]),
        kind => {
            let parts = vec![super::functions::element_number(kind), name];
            Expr::Call(Function(&OBJECT_NUMBER), parts)
        }
    }
}

/// Truncates or rounds a value to the length or the digits of its type.
pub(super) fn shaped(expr: Expr, from: SqlType, to: TypeSpec, how: Coercion) -> Expr {
    match needs_shape(to) {
        true => folded(Expr::Cast(
            Box::new(expr),
            from,
            to,
            how == Coercion::Explicit,
        )),
        false => expr,
    }
}

/// True if values of a type are truncated or rounded to its length, or precision.
fn needs_shape(to: TypeSpec) -> bool {
    to.modifier >= 0 && (to.kind.element().is_some() || to.kind == SqlType::Interval)
        || to.length().is_some()
        || to.bits().is_some()
        || to.digits().is_some()
        || to.fraction_digits().is_some()
}

/// Reads a literal in quotes as a value to store, of a type.
///
/// # Errors
/// `22P02` if the text is no value of the type, `22003`, `22008` if it is out of range, `22001` if it is too long.
pub(crate) fn literal_as(text: &str, to: TypeSpec) -> Result<Value, SqlError> {
    let value = decode_text(to.kind, text)?;
    match needs_shape(to) {
        true => super::cast::cast(value.as_ref(), to.kind, to, false),
        false => Ok(value),
    }
}

/// Computes a cast of a literal, or arithmetic of literals, to a literal, if that is possible. So it is not computed
/// for each row.
pub(super) fn folded(expr: Expr) -> Expr {
    let value = match &expr {
        Expr::Cast(inner, from, to, explicit) => match &**inner {
            Expr::Literal(value) => super::cast::cast(value.as_ref(), *from, *to, *explicit).ok(),
            _ => None,
        },
        // A computed text may be cast to a type that depends on the time.
        Expr::Arithmetic(operation, kind, sides) if *operation != Arithmetic::Concatenate => {
            match &**sides {
                (Expr::Literal(left), Expr::Literal(right)) => {
                    let value = calculate(*operation, *kind, left.as_ref(), right.as_ref());
                    value.ok().filter(is_itself)
                }
                _ => None,
            }
        }
        Expr::Shift(inner, interval, kind) => match &**inner {
            Expr::Literal(value) => {
                let value = shift(value.as_ref(), interval, *kind);
                value.ok().filter(is_itself)
            }
            _ => None,
        },
        _ => None,
    };
    value.map_or(expr, Expr::Literal)
}

/// True if a value equals itself, and has a type of its own.
fn is_itself(value: &Value) -> bool {
    !matches!(value, Value::Null) && !matches!(value, Value::Float(value) if value.is_nan())
}
