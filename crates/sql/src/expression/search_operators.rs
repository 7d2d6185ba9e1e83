//! Operators of text search: each is a function of PostgreSQL's, which is called by its name.

use super::Typed;
use super::compile::Compiler;
use super::operator_errors::no_operator;
use crate::error::SqlError;
use crate::types::SqlType;
use sqlparser::ast::BinaryOperator;

impl Compiler<'_> {
    /// The call of an operator of text search; none for another operator.
    ///
    /// # Errors
    /// `42883` if there is none of these types; the errors of the call.
    pub(super) fn of_search(
        &mut self,
        operator: &BinaryOperator,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        use BinaryOperator as Of;
        use SqlType::{Tsquery, Tsvector, Unknown};
        let (a, b) = (left.kind(), right.kind());
        let is_text = |kind: SqlType| kind.is_text() || kind == Unknown;
        if *operator == Of::AtAt
            && (a.is_text() && (b == Tsquery || is_text(b)) || b.is_text() && is_text(a))
        {
            let (name, kind) = match b {
                Tsquery => ("ts_match_tq", Tsquery),
                _ => ("ts_match_tt", SqlType::Text),
            };
            let left = self.as_type(left.clone(), SqlType::Text);
            return Some(left.and_then(|left| {
                let right = self.as_type(right.clone(), kind)?;
                self.call(name, vec![left, right])
            }));
        }
        let is_it = |kind| matches!(kind, Tsquery | Tsvector);
        if !is_it(a) && !is_it(b) {
            return None;
        }
        let is_query = a == Tsquery || b == Tsquery;
        let (name, first, second) = match operator {
            Of::AtAt if a == Tsquery || b == Tsvector => ("ts_match_qv", Tsquery, Tsvector),
            Of::AtAt => ("ts_match_vq", Tsvector, Tsquery),
            Of::PGOverlap => ("tsquery_and", Tsquery, Tsquery),
            Of::LtDashGt => ("tsquery_phrase", Tsquery, Tsquery),
            Of::StringConcat if is_query => ("tsquery_or", Tsquery, Tsquery),
            Of::StringConcat => ("tsvector_concat", Tsvector, Tsvector),
            _ => return None,
        };
        let fits = |kind, wanted| kind == wanted || kind == Unknown;
        if !fits(a, first) || !fits(b, second) {
            // A text is appended to the text of a value.
            return match operator {
                Of::StringConcat if a.is_text() || b.is_text() => None,
                _ => Some(Err(no_operator(&operator.to_string(), a, b))),
            };
        }
        let sides = [(left, first), (right, second)];
        let sides = sides.map(|(side, kind)| self.as_type(side.clone(), kind));
        Some(match sides {
            [Ok(left), Ok(right)] => self.call(name, vec![left, right]),
            [Err(error), _] | [_, Err(error)] => Err(error),
        })
    }
}
