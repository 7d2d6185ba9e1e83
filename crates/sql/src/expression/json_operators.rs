//! Operators of JSON: each is a function of PostgreSQL's, which is called by its name.

use super::cast::Coercion;
use super::compile::Compiler;
use super::functions::{MADE, PATH, PATH_TEXT};
use super::operator_errors::{ambiguous, no_operator};
use super::{Expr, Function, Typed};
use crate::error::{SqlError, code};
use crate::relation::{kind as objects, object};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::{AccessExpr, BinaryOperator, Subscript};

impl Compiler<'_> {
    /// The call of an operator of JSON; none for another operator.
    ///
    /// # Errors
    /// `42883` if there is none of these types; the errors of the call.
    pub(super) fn of_json(
        &mut self,
        operator: &BinaryOperator,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        use BinaryOperator as Of;
        use SqlType::{Json, Jsonb, TextArray, Unknown};
        let is_json = |kind| matches!(kind, Json | Jsonb);
        let (a, b) = (left.kind(), right.kind());
        if a == Unknown && !is_json(b) {
            return self.of_untyped_json(operator, left, right);
        }
        let own = match a {
            Json => "json",
            _ => "jsonb",
        };
        let step = match b.is_integer() {
            true => "array_element",
            false => "object_field",
        };
        let is_path = matches!(operator, Of::HashArrow | Of::HashLongArrow);
        let name = match operator {
            Of::Arrow => format!("{own}_{step}"),
            Of::LongArrow => format!("{own}_{step}_text"),
            Of::HashArrow | Of::HashLongArrow => String::new(),
            Of::AtQuestion => "jsonb_path_exists_opr".to_string(),
            Of::AtAt if a == Jsonb => "jsonb_path_match_opr".to_string(),
            Of::AtArrow => "jsonb_contains".to_string(),
            Of::ArrowAt => "jsonb_contained".to_string(),
            Of::Question => "jsonb_exists".to_string(),
            Of::QuestionPipe => "jsonb_exists_any".to_string(),
            Of::QuestionAnd => "jsonb_exists_all".to_string(),
            Of::HashMinus => "jsonb_delete_path".to_string(),
            Of::StringConcat if a == Jsonb || b == Jsonb => "jsonb_concat".to_string(),
            Of::Minus if a == Jsonb => "jsonb_delete".to_string(),
            _ => return None,
        };
        let (is_left, is_right) = (is_json(a) || a == Unknown, is_json(b) || b == Unknown);
        if !is_json(a) && !is_json(b) {
            return None;
        }
        // A text is appended to the text of a value.
        if *operator == Of::StringConcat && !(is_left && is_right) {
            return None;
        }
        let is_of_both = matches!(operator, Of::Arrow | Of::LongArrow) || is_path;
        let takes = |kind| kind == Jsonb || kind == Json && is_of_both || kind == Unknown;
        if !takes(a) || b != Unknown && !takes_right(operator, b) {
            return Some(Err(no_operator(&operator.to_string(), a, b)));
        }
        let (left, mut right) = (left.clone(), right.clone());
        if is_path {
            let path = match self.as_type(right, TextArray) {
                Ok(path) => path.expr,
                Err(error) => return Some(Err(error)),
            };
            let (function, kind) = match operator {
                Of::HashArrow => (Function(&PATH), a),
                _ => (Function(&PATH_TEXT), SqlType::Text),
            };
            let call = Expr::Call(function, vec![left.expr, path]);
            return Some(Ok(Typed::new(call, kind)));
        }
        if b == Unknown {
            let kind = match operator {
                Of::AtQuestion | Of::AtAt => SqlType::Jsonpath,
                Of::AtArrow | Of::ArrowAt | Of::StringConcat => Jsonb,
                Of::QuestionPipe | Of::QuestionAnd | Of::HashMinus => TextArray,
                _ => SqlType::Text,
            };
            right = match self.as_type(right, kind) {
                Ok(right) => right,
                Err(error) => return Some(Err(error)),
            };
        }
        Some(self.call(&name, vec![left, right]))
    }

    /// The call of an operator of JSON behind a text without a type. PostgreSQL looks for the operators with the type of
    /// the right side: the only one is taken, and several are ambiguous.
    fn of_untyped_json(
        &mut self,
        operator: &BinaryOperator,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        use BinaryOperator as Of;
        use SqlType::{Hstore, Jsonb, Unknown};
        let b = right.kind();
        let is_of_both = matches!(
            operator,
            Of::Arrow | Of::LongArrow | Of::HashArrow | Of::HashLongArrow
        );
        let is_of_hstore = matches!(
            operator,
            Of::Question | Of::QuestionPipe | Of::QuestionAnd | Of::Minus
        );
        let is_of_jsonb = matches!(operator, Of::HashMinus | Of::AtQuestion)
            || *operator == Of::AtAt && b != Unknown
            || is_of_hstore && (*operator != Of::Minus || b.is_text() || b.element().is_some());
        if !is_of_both && !is_of_jsonb || *operator == Of::Minus && b == Unknown {
            return None;
        }
        let is_slice = *operator == Of::Arrow && takes_right(&Of::HashArrow, b);
        let kind = match b == Unknown || takes_right(operator, b) {
            true if is_of_both => None,
            true if is_of_hstore => match self.has_hstore() {
                Ok(true) => None,
                Ok(false) => Some(Jsonb),
                Err(error) => return Some(Err(error)),
            },
            true => Some(Jsonb),
            false if is_slice && matches!(self.has_hstore(), Ok(true)) => Some(Hstore),
            false => return None,
        };
        let Some(kind) = kind else {
            return Some(Err(ambiguous(operator, Unknown, b)));
        };
        let left = self.as_type(left.clone(), kind);
        Some(left.and_then(|left| self.combined(left, operator, right.clone())))
    }

    /// True if the extension `hstore` is created, which has operators with the names of those of JSON. An expression
    /// that a table keeps is compiled without it.
    fn has_hstore(&self) -> Result<bool, SqlError> {
        match &self.nested {
            Some(nested) => {
                Ok(object(nested.source, objects::EXTENSION, SqlType::Hstore.name())?.is_some())
            }
            None => Ok(false),
        }
    }

    /// The part of a value of `jsonb` that subscripts name, as `#>` with their texts finds it. So a number is also the
    /// name of an object's field.
    ///
    /// # Errors
    /// `42804` for a slice, and for a subscript that is neither a text nor an `integer`.
    pub(super) fn part_of_json(
        &mut self,
        json: Typed,
        chain: &[AccessExpr],
    ) -> Result<Typed, SqlError> {
        let mut path = vec![Expr::Literal(Value::Int(SqlType::Text.number().into()))];
        for access in chain {
            let AccessExpr::Subscript(Subscript::Index { index }) = access else {
                let text = "jsonb subscript does not support slices";
                return Err(SqlError::new(code::DATATYPE_MISMATCH, text));
            };
            let step = self.compile(index)?;
            let kind = step.kind();
            if !matches!(
                kind,
                SqlType::Unknown | SqlType::Text | SqlType::Varchar | SqlType::Int2 | SqlType::Int4
            ) {
                let text = format!("subscript type {} is not supported", kind.name());
                let hint = "jsonb subscript must be coercible to either integer or text.";
                return Err(SqlError::new(code::DATATYPE_MISMATCH, text).hint(hint));
            }
            let text = TypeSpec::plain(SqlType::Text);
            path.push(self.coerce(step, text, Coercion::Assignment)?);
        }
        let path = Expr::Call(Function(&MADE), path);
        let call = Expr::Call(Function(&PATH), vec![json.expr, path]);
        Ok(Typed::new(call, SqlType::Jsonb))
    }
}

/// True if an operator of JSON takes a value of this type at its right side.
fn takes_right(operator: &BinaryOperator, kind: SqlType) -> bool {
    use BinaryOperator as Of;
    use SqlType::{Int2, Int4, Jsonb, Jsonpath, Unknown};
    let is_text = kind.is_text() && kind != Unknown;
    let is_array = kind.element().is_some_and(SqlType::is_text);
    let is_index = matches!(kind, Int2 | Int4);
    match operator {
        Of::Arrow | Of::LongArrow => is_text || is_index,
        Of::HashArrow | Of::HashLongArrow | Of::HashMinus => is_array,
        Of::QuestionPipe | Of::QuestionAnd => is_array,
        Of::Question => is_text,
        Of::AtQuestion | Of::AtAt => kind == Jsonpath,
        Of::Minus => is_text || is_array || is_index,
        Of::AtArrow | Of::ArrowAt | Of::StringConcat => kind == Jsonb,
        _ => false,
    }
}
