//! The collation that an expression derives from its parts.
//!
//! Source: PostgreSQL's documentation, 24.2.2.

use super::Typed;
use crate::error::SqlError;
use crate::types::Collation;
use sqlparser::ast::Expr as Tree;

/// An expression with the collation that it derives from its parts, unless it names one.
///
/// # Errors
/// `42P21` if its parts name two.
pub(super) fn derived(
    tree: &Tree,
    mut typed: Typed,
    of_parts: Collation,
) -> Result<Typed, SqlError> {
    let own = typed.spec.collation;
    typed.spec.collation = match (typed.kind().is_collatable(), tree) {
        (false, _) => Collation::Database,
        // Its results have decided it.
        (true, Tree::Case { .. }) => own,
        (true, _) if own != Collation::Database => own,
        (true, Tree::Subquery(_)) => own,
        (true, _) => of_parts,
    };
    match typed.spec.collation {
        Collation::Contradicted(..) => typed.spec.collation.decided().map(|_| typed),
        _ => Ok(typed),
    }
}
