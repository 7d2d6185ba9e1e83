//! Operators of similar texts, of the extension `pg_trgm`: each is a function of PostgreSQL's, which is called by its name.

use super::Typed;
use super::compile::Compiler;
use crate::error::SqlError;
use crate::types::SqlType;
use sqlparser::ast::BinaryOperator;

impl Compiler<'_> {
    /// The call that an operator of similar texts is; none if it is another operator.
    ///
    /// # Errors
    /// The errors of the function that is called.
    pub(super) fn of_similarity(
        &mut self,
        operator: &BinaryOperator,
        left: &Typed,
        right: &Typed,
    ) -> Option<Result<Typed, SqlError>> {
        let (a, b) = (left.kind(), right.kind());
        let are_texts = a.is_text() && b.is_text();
        if !are_texts || a == SqlType::Unknown && b == SqlType::Unknown {
            return None;
        }
        let name = match operator {
            BinaryOperator::Modulo => "similarity_op",
            BinaryOperator::LtDashGt => "similarity_dist",
            BinaryOperator::Custom(custom) => match custom.as_str() {
                "<%" => "word_similarity_op",
                "%>" => "word_similarity_commutator_op",
                "<<->" => "word_similarity_dist_op",
                "<->>" => "word_similarity_dist_commutator_op",
                "<<%" => "strict_word_similarity_op",
                "%>>" => "strict_word_similarity_commutator_op",
                "<<<->" => "strict_word_similarity_dist_op",
                "<->>>" => "strict_word_similarity_dist_commutator_op",
                _ => return None,
            },
            _ => return None,
        };
        Some(self.call(name, vec![left.clone(), right.clone()]))
    }
}
