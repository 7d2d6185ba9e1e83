//! Operators of `hstore`: each is a function of PostgreSQL's, which is called by its name.

use super::compile::Compiler;
use super::operator_errors::no_operator;
use super::predicates::boolean;
use super::{Comparison, Expr, Typed};
use crate::error::SqlError;
use crate::types::SqlType;
use sqlparser::ast::BinaryOperator;

/// The comparison of an operator by the order of `hstore`, which has no meaning but to sort.
fn order_of(symbol: &str) -> Option<Comparison> {
    Some(match symbol {
        "#<#" => Comparison::Less,
        "#<=#" => Comparison::LessOrEqual,
        "#>#" => Comparison::Greater,
        "#>=#" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

impl Compiler<'_> {
    /// The call of an operator of `hstore`; none for another operator.
    ///
    /// # Errors
    /// `42883` if there is none of these types; the errors of the call.
    pub(super) fn of_hstore(
        &mut self,
        operator: &BinaryOperator,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        use BinaryOperator as Of;
        use SqlType::{Hstore, Text, TextArray, Unknown};
        let (a, b) = (left.kind(), right.kind());
        if a != Hstore && b != Hstore {
            return None;
        }
        if let Of::Custom(symbol) = operator
            && let Some(comparison) = order_of(symbol)
        {
            let sides = self.comparable_by_keys(left.clone(), right.clone(), symbol);
            let compare = |sides| Expr::Compare(comparison, Box::new(sides));
            return Some(sides.map(|sides| boolean(compare(sides), false)));
        }
        let is_array = b.element().is_some_and(SqlType::is_text);
        let (name, second) = match operator {
            Of::Arrow if is_array => ("slice_array", TextArray),
            Of::Arrow => ("fetchval", Text),
            Of::Question => ("exist", Text),
            Of::QuestionAnd => ("exists_all", TextArray),
            Of::QuestionPipe => ("exists_any", TextArray),
            Of::AtArrow => ("hs_contains", Hstore),
            Of::ArrowAt => ("hs_contained", Hstore),
            Of::StringConcat => ("hs_concat", Hstore),
            Of::Minus if is_array => ("delete", TextArray),
            Of::Minus if b.is_text() && b != Unknown => ("delete", Text),
            Of::Minus => ("delete", Hstore),
            _ => return None,
        };
        let fits = (a == Hstore || a == Unknown && second == Hstore)
            && (b == Unknown
                || b == second
                || second == Text && b.is_text()
                || second == TextArray && is_array);
        // A text is appended to the text of a value.
        if !fits && *operator == Of::StringConcat {
            return None;
        }
        if !fits {
            return Some(Err(no_operator(&operator.to_string(), a, b)));
        }
        let sides = [(left, Hstore), (right, second)];
        let sides = sides.map(|(side, kind)| self.as_type(side.clone(), kind));
        Some(match sides {
            [Ok(left), Ok(right)] => self.call(name, vec![left, right]),
            [Err(error), _] | [_, Err(error)] => Err(error),
        })
    }
}
