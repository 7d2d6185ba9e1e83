//! The common type of values that meet in one place: results of `CASE`, elements of `ARRAY[…]`, columns of `UNION`.

use super::cast::{Coercion, can_cast, could_be_implicit};
use super::compile::Compiler;
use super::{Expr, Typed};
use crate::error::{SqlError, code};
use crate::types::{Collation, SqlType, TypeSpec};
use sardonyx::schema::Value;

impl Compiler<'_> {
    /// Converts expressions to one type.
    ///
    /// # Errors
    /// `42804` if they are of several categories, `42846` if one is not cast to the chosen type by itself.
    pub fn unified(
        &mut self,
        parts: Vec<Typed>,
        of: &str,
    ) -> Result<(Vec<Expr>, TypeSpec), SqlError> {
        let is_cast_to = match self.is_of_kept_text() {
            true => could_be_implicit,
            false => |from, to| can_cast(from, to, Coercion::Implicit),
        };
        let mut spec = TypeSpec::plain(common_type(parts.iter().map(Typed::kind), of, is_cast_to)?);
        let mut known = parts
            .iter()
            .filter(|part| part.kind() != SqlType::Unknown)
            .map(|part| (part.kind(), part.spec.modifier));
        if let Some(first) = known.next()
            && known.all(|other| other == first)
        {
            spec.modifier = first.1;
        }
        let collations = parts.iter().map(|part| part.spec.collation);
        spec.collation = collations.fold(Collation::Database, Collation::with);
        if let Collation::Contradicted(..) = spec.collation {
            spec.collation.decided()?;
        }
        let has_length = |part: &Typed| {
            part.kind() != SqlType::Unknown || part.expr == Expr::Literal(Value::Null)
        };
        if !parts.iter().all(has_length) {
            // A literal without a type is not padded to the others' length.
            spec.modifier = -1;
        }
        let mut coerced = Vec::with_capacity(parts.len());
        for part in parts {
            if !is_cast_to(part.kind(), spec.kind) {
                return Err(SqlError::new(
                    code::CANNOT_COERCE,
                    format!(
                        "{of} could not convert type {} to {}",
                        part.kind().name(),
                        spec.kind.name()
                    ),
                ));
            }
            coerced.push(self.coerce(part, spec, Coercion::Implicit)?);
        }
        Ok((coerced, spec))
    }
}

/// The type of values that meet in one place, if they have one to which each is cast by itself.
pub(super) fn common_kind(kinds: impl Iterator<Item = SqlType> + Clone) -> Option<SqlType> {
    let is_cast_to = |from, to| can_cast(from, to, Coercion::Implicit);
    let chosen = common_type(kinds.clone(), "IN", is_cast_to).ok()?;
    let mut kinds = kinds.filter(|kind| *kind != SqlType::Unknown);
    (chosen != SqlType::Record && kinds.all(|kind| is_cast_to(kind, chosen))).then_some(chosen)
}

/// The type of values that meet in one place, such as the results of `CASE`: the first one that is known, unless a later
/// one of its category is wider. Text without any.
///
/// Source: PostgreSQL 15, `select_common_type`.
///
/// # Errors
/// `42804` for types of several categories.
fn common_type(
    kinds: impl Iterator<Item = SqlType>,
    of: &str,
    is_cast_to: fn(SqlType, SqlType) -> bool,
) -> Result<SqlType, SqlError> {
    let mut chosen = SqlType::Unknown;
    for kind in kinds {
        if kind == chosen || kind == SqlType::Unknown {
            continue;
        }
        if chosen == SqlType::Unknown {
            chosen = kind;
        } else if kind.category() != chosen.category() {
            let (one, other) = (chosen.name(), kind.name());
            return Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                format!("{of} types {one} and {other} cannot be matched"),
            ));
        } else if !chosen.is_preferred() && is_cast_to(chosen, kind) && !is_cast_to(kind, chosen) {
            chosen = kind;
        }
    }
    Ok(match chosen {
        SqlType::Unknown => SqlType::Text,
        chosen => chosen,
    })
}
