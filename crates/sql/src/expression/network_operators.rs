//! Operators of addresses of hosts and networks: each is a function of PostgreSQL's, which is called by its name.

use super::Typed;
use super::compile::Compiler;
use super::operator_errors::no_operator;
use crate::error::SqlError;
use crate::types::SqlType;
use sqlparser::ast::BinaryOperator;

impl Compiler<'_> {
    /// The call of an operator of addresses; none for another operator.
    ///
    /// # Errors
    /// `42883` if there is none of these types; the errors of the call.
    pub(super) fn of_networks(
        &mut self,
        operator: &BinaryOperator,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        use BinaryOperator as Of;
        let (a, b) = (left.kind(), right.kind());
        // No other type has these two.
        let is_own = matches!(operator, Of::Custom(custom) if custom == "<<=" || custom == ">>=");
        let are_unknown = a == SqlType::Unknown && b == SqlType::Unknown;
        if !(a.is_network() || b.is_network() || is_own && are_unknown) {
            return None;
        }
        let is_address = |kind: SqlType| kind.is_network() || kind == SqlType::Unknown;
        let (name, is_turned) = match operator {
            Of::PGBitwiseShiftLeft => ("network_sub", false),
            Of::PGBitwiseShiftRight => ("network_sup", false),
            Of::PGOverlap => ("network_overlap", false),
            Of::Custom(custom) if custom == "<<=" => ("network_subeq", false),
            Of::Custom(custom) if custom == ">>=" => ("network_supeq", false),
            Of::BitwiseAnd => ("inetand", false),
            Of::BitwiseOr => ("inetor", false),
            Of::Plus if !a.is_network() => ("inetpl", true),
            Of::Plus => ("inetpl", false),
            Of::Minus if is_address(b) => ("inetmi", false),
            Of::Minus => ("inetmi_int8", false),
            _ => return None,
        };
        let (one, other) = match is_turned {
            true => (right.clone(), left.clone()),
            false => (left.clone(), right.clone()),
        };
        let takes_number = matches!(name, "inetpl" | "inetmi_int8");
        let fits = match takes_number {
            true => {
                one.kind().is_network()
                    && (other.kind().is_integer() || other.kind() == SqlType::Unknown)
            }
            false => is_address(a) && is_address(b),
        };
        if !fits {
            return Some(Err(no_operator(&operator.to_string(), a, b)));
        }
        Some(self.call(name, vec![one, other]))
    }
}
