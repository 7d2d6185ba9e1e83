//! Operators of strings of bits: each is a function of PostgreSQL's, which is called by its name.

use super::Typed;
use super::compile::Compiler;
use super::operator_errors::no_operator;
use crate::error::SqlError;
use crate::types::SqlType;
use sqlparser::ast::BinaryOperator;

impl Compiler<'_> {
    /// The call of an operator of bits; none for another operator.
    ///
    /// # Errors
    /// `42883` if there is none of these types; the errors of the call.
    pub(super) fn of_bits(
        &mut self,
        operator: &BinaryOperator,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        use BinaryOperator as Of;
        let (a, b) = (left.kind(), right.kind());
        if !a.is_bits() && !b.is_bits() {
            return None;
        }
        let (name, shifts) = match operator {
            Of::BitwiseAnd => ("bitand", false),
            Of::BitwiseOr => ("bitor", false),
            Of::PGBitwiseXor => ("bitxor", false),
            Of::PGBitwiseShiftLeft => ("bitshiftleft", true),
            Of::PGBitwiseShiftRight => ("bitshiftright", true),
            Of::StringConcat if is_bits(a) && is_bits(b) => ("bitcat", false),
            _ => return None,
        };
        let fits = match shifts {
            true => a.is_bits() && matches!(b, SqlType::Int2 | SqlType::Int4 | SqlType::Unknown),
            false => is_bits(a) && is_bits(b),
        };
        if !fits {
            return Some(Err(no_operator(&operator.to_string(), a, b)));
        }
        Some(self.call(name, vec![left.clone(), right.clone()]))
    }
}

fn is_bits(kind: SqlType) -> bool {
    kind.is_bits() || kind == SqlType::Unknown
}
