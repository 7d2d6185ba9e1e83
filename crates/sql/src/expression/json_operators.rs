//! Operators of JSON: each is a function of PostgreSQL's, which is called by its name.

use super::compile::Compiler;
use super::functions::{PATH, PATH_TEXT};
use super::operators::no_operator;
use super::{Expr, Function, Typed};
use crate::error::SqlError;
use crate::types::SqlType;
use sqlparser::ast::BinaryOperator;

impl Compiler<'_> {
    /// The call that an operator of JSON is; none if it is another operator.
    ///
    /// # Errors
    /// `42883` if there is none of these types; those of the call.
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
        // Texts are joined to the text of a value.
        if *operator == Of::StringConcat && !(is_left && is_right) {
            return None;
        }
        let takes = |kind| is_json(kind) || kind == Unknown && is_json(b);
        if !takes(a) {
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
}
