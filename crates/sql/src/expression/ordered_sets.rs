//! Calls of aggregates of an ordered set, compiled: `percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`.

use super::cast::Coercion;
use super::compile::Compiler;
use super::functions::{not_unique, unknown};
use super::order::sort_key;
use super::{Expr, Typed, sortable};
use crate::aggregate::{Aggregate, AggregateKind, Grouping, Named, OrderedSet};
use crate::error::{SqlError, code};
use crate::types::{SqlType, TypeSpec};
use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
};

impl Compiler<'_> {
    /// An aggregate of an ordered set, with its arguments.
    ///
    /// # Errors
    /// Invalid SQL; `42883` for types that it does not take, and without `WITHIN GROUP`.
    pub(super) fn ordered_set(
        &mut self,
        (name, set): (&'static str, OrderedSet),
        function: &ast::Function,
    ) -> Result<Aggregate, SqlError> {
        let FunctionArguments::List(list) = &function.args else {
            return Err(SqlError::syntax(
                "an aggregate needs arguments in parentheses",
            ));
        };
        check_list(list)?;
        let filter = self.filter_of(function)?;
        let mut direct = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
                return Err(SqlError::unsupported(format!(
                    "the argument {argument} of {name} is not supported"
                )));
            };
            direct.push(self.beside(|compiler| compiler.compile(tree))?);
        }
        let mut values = Vec::with_capacity(function.within_group.len());
        for by in &function.within_group {
            values.push(self.compile(&by.expr)?);
        }
        let kinds = direct.iter().chain(&values).map(Typed::kind);
        // Without WITHIN GROUP it has too few arguments.
        let refused = unknown(name, &kinds.collect::<Vec<_>>());
        let mut is_array = false;
        let wanted = match set {
            _ if set.ranks() => values.len(),
            _ => usize::from(set.takes_fraction()),
        };
        if direct.len() != wanted || (!set.ranks() && values.len() != 1) {
            return Err(refused);
        }
        if set.ranks() {
            for (value, hypothetical) in values.iter_mut().zip(&mut direct) {
                let both = vec![value.clone(), hypothetical.clone()];
                let (both, spec) = self.unified(both, "WITHIN GROUP")?;
                let mut both = both.into_iter().map(|expr| Typed { expr, spec });
                if let (Some(first), Some(second)) = (both.next(), both.next()) {
                    (*value, *hypothetical) = (first, second);
                }
                hypothetical.expr = sortable(hypothetical.clone())?;
            }
        } else {
            for value in &mut values {
                *value = self.as_decided(value.clone())?;
                let is_number = value.kind().is_number() && value.kind() != SqlType::Float8;
                if set == OrderedSet::PercentileContinuous && is_number {
                    *value = self.as_type(value.clone(), SqlType::Float8)?;
                }
            }
            for fraction in &mut direct {
                // A fraction, or an array of them: only a number beside it decides.
                let is_decided = values.iter().all(|value| value.kind().is_number());
                let is_interval = values.iter().all(|value| value.kind() == SqlType::Interval);
                if set == OrderedSet::PercentileContinuous && !is_decided && !is_interval {
                    return Err(refused);
                }
                if fraction.kind() == SqlType::Unknown && !is_decided {
                    let kinds = [SqlType::Unknown]
                        .into_iter()
                        .chain(values.iter().map(Typed::kind));
                    return Err(not_unique(name, &kinds.collect::<Vec<_>>()));
                }
                is_array = fraction.kind().element().is_some();
                let to = match is_array {
                    true => SqlType::Float8.array(),
                    false => SqlType::Float8,
                };
                let to = TypeSpec::plain(to);
                let coerced = self.coerce(fraction.clone(), to, Coercion::Implicit);
                let expr = coerced.map_err(|error| match error.code {
                    code::DATATYPE_MISMATCH | code::CANNOT_COERCE => refused.clone(),
                    _ => error,
                })?;
                *fraction = Typed { expr, spec: to };
            }
        }
        let named = Named {
            name,
            kind: AggregateKind::OrderedSet { set, is_array },
        };
        let first = values.first().cloned();
        let made = Aggregate::new(named, first, false, filter);
        let mut aggregate = made.map_err(|error| match error.code {
            code::UNKNOWN_FUNCTION => refused,
            _ => error,
        })?;
        for (value, by) in values.into_iter().zip(&function.within_group) {
            aggregate.order.push(sort_key(sortable(value)?, by)?);
        }
        aggregate.direct = direct.into_iter().map(|typed| typed.expr).collect();
        Ok(aggregate)
    }
}

/// Refuses clauses that such an aggregate does not take.
///
/// # Errors
/// `42601`, as in PostgreSQL.
fn check_list(list: &FunctionArgumentList) -> Result<(), SqlError> {
    if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
        return Err(SqlError::syntax("cannot use DISTINCT with WITHIN GROUP"));
    }
    match list.clauses.is_empty() {
        true => Ok(()),
        false => Err(SqlError::syntax(
            "cannot use multiple ORDER BY clauses with WITHIN GROUP",
        )),
    }
}

/// Checks that the arguments before `WITHIN GROUP` have one value in a group.
///
/// # Errors
/// `42803` for a column that is no key; `0A000` for one that is a key of some groupings.
pub(super) fn check_direct(aggregate: &Aggregate, grouping: &Grouping) -> Result<(), SqlError> {
    let is_key = |expr: &Expr| grouping.keys.iter().any(|key| key.expr == *expr);
    for direct in &aggregate.direct {
        let reads = direct.any(&|part| matches!(part, Expr::Column(_)));
        let reads_other =
            direct.any(&|part| matches!(part, Expr::Column(_)) && !is_key(part)) && !is_key(direct);
        if reads_other {
            return Err(SqlError::new(
                code::GROUPING,
                "a column must appear in the GROUP BY clause or be used in an aggregate function",
            )
            .detail(
                "Direct arguments of an ordered-set aggregate must use only grouped columns.",
            ));
        }
        if reads && grouping.sets.is_some() {
            return Err(SqlError::unsupported(
                "arguments before WITHIN GROUP that read columns are not supported with grouping sets",
            ));
        }
    }
    Ok(())
}
