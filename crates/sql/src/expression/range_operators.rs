//! Operators of ranges: each is a function of PostgreSQL's, which is called by its name.

use super::Typed;
use super::compile::Compiler;
use super::operator_errors::no_operator;
use crate::error::SqlError;
use crate::types::SqlType;
use sqlparser::ast::BinaryOperator;

impl Compiler<'_> {
    /// The call of an operator of ranges; none for another operator.
    ///
    /// # Errors
    /// `42883` if there is none of these types; the errors of the call.
    pub(super) fn of_ranges(
        &mut self,
        operator: &BinaryOperator,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        use BinaryOperator as Of;
        let (a, b) = (left.kind(), right.kind());
        let kind = if a.is_range() { a } else { b };
        let element = kind.bound()?;
        let is_of_range = |other: SqlType| other == kind || other == SqlType::Unknown;
        let name = match operator {
            Of::AtArrow if b == element => "range_contains_elem",
            Of::AtArrow => "range_contains",
            Of::ArrowAt if a == element => "elem_contained_by_range",
            Of::ArrowAt => "range_contained_by",
            Of::PGOverlap => "range_overlaps",
            Of::PGBitwiseShiftLeft => "range_before",
            Of::PGBitwiseShiftRight => "range_after",
            Of::Plus => "range_union",
            Of::Multiply => "range_intersect",
            Of::Minus => "range_minus",
            Of::AndLt => "range_overleft",
            Of::AndGt => "range_overright",
            Of::Custom(custom) => match custom.as_str() {
                "&<" => "range_overleft",
                "&>" => "range_overright",
                "-|-" => "range_adjacent",
                _ => return None,
            },
            _ => return None,
        };
        let takes_element = matches!(name, "range_contains_elem" | "elem_contained_by_range");
        let fits = takes_element || is_of_range(a) && is_of_range(b);
        if !fits {
            return Some(Err(no_operator(&operator.to_string(), a, b)));
        }
        Some(self.call(name, vec![left.clone(), right.clone()]))
    }
}
