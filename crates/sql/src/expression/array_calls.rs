//! Operators of arrays: `||`, `@>`, `<@`, `&&`, `ANY` and `ALL`, compiled.

use super::compile::Compiler;
use super::functions::{COMPARED, concatenated, element_number};
use super::operator_errors::no_operator;
use super::predicates::boolean;
use super::{Comparison, Expr, Function, Typed};
use crate::error::{SqlError, code};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::{BinaryOperator, Expr as Tree};

/// `||` with an array on one side.
///
/// # Errors
/// `42883` if the other one is neither an array nor an element of the same type.
pub(super) fn concatenate(
    compiler: &mut Compiler<'_>,
    left: Typed,
    right: Typed,
) -> Result<Typed, SqlError> {
    let (a, b) = (left.kind(), right.kind());
    let made = concatenated(compiler, left, right);
    made.ok_or_else(|| no_operator("||", a, b))?
}

impl Compiler<'_> {
    /// The call of `@>`, `<@` or `&&` of two arrays; none for another operator.
    ///
    /// # Errors
    /// `42883` for arrays of elements of different types; the errors of the call.
    pub(super) fn of_arrays(
        &mut self,
        operator: &BinaryOperator,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        let name = match operator {
            BinaryOperator::AtArrow => "arraycontains",
            BinaryOperator::ArrowAt => "arraycontained",
            BinaryOperator::PGOverlap => "arrayoverlap",
            _ => return None,
        };
        let (a, b) = (left.kind(), right.kind());
        let element = a.element().or(b.element())?;
        let fits = |kind: SqlType| match kind.element() {
            Some(other) => other == element || other.is_text() && element.is_text(),
            None => kind == SqlType::Unknown,
        };
        if !fits(a) || !fits(b) {
            return Some(Err(no_operator(&operator.to_string(), a, b)));
        }
        let typed = |side: Typed, compiler: &mut Self| match side.kind() {
            SqlType::Unknown => compiler.as_type(side, element.array()),
            _ => Ok(side),
        };
        let sides = [left, right].map(|side| typed(side.clone(), self));
        Some(match sides {
            [Ok(left), Ok(right)] => self.call(name, vec![left, right]),
            [Err(error), _] | [_, Err(error)] => Err(error),
        })
    }

    /// Checks that a literal may be an array of the values of a type: there are no arrays whose elements are arrays.
    ///
    /// # Errors
    /// `42704` for the type of an array.
    pub(super) fn check_has_array(&self, value: &Typed) -> Result<(), SqlError> {
        let kind = value.kind();
        match kind.element().is_some() && !self.is_of_kept_text() {
            true => Err(SqlError::new(
                code::UNKNOWN_OBJECT,
                format!("could not find array type for data type {}", kind.name()),
            )),
            false => Ok(()),
        }
    }

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
            self.check_has_array(&value)?;
            array = self.as_type(array, value.kind().array())?;
        }
        let Some(element) = array.kind().element() else {
            return Err(SqlError::new(
                code::WRONG_OBJECT_TYPE,
                "op ANY/ALL (array) requires array on right side",
            ));
        };
        let of_array = Typed {
            expr: Expr::Literal(Value::Null),
            spec: TypeSpec::plain(element).with_collation(array.spec.collation),
        };
        if comparison.orders()
            && let Some(name) = value.spec.collation.with(array.spec.collation).icu()?
        {
            return Err(name.unknown_to("ANY and ALL of an array"));
        }
        let (value, _) = self.comparable(value, of_array, comparison.symbol())?;
        let symbol = Expr::Literal(Value::Text(comparison.symbol().into()));
        let is_all = Expr::Literal(Value::Bool(is_all));
        let parts = vec![value, array.expr, element_number(element), symbol, is_all];
        Ok(boolean(Expr::Call(Function(&COMPARED), parts), false))
    }
}
