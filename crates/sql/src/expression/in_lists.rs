//! The test that a value is one of a list, compiled: `IN (…)` and `= ANY (ARRAY[…])`.

use super::cast::Coercion;
use super::common_type::common_kind;
use super::compile::Compiler;
use super::predicates::boolean;
use super::subqueries::array_made;
use super::trees::row_of;
use super::{Comparison, Expr, List, Typed};
use crate::error::{SqlError, code};
use crate::types::{SqlType, TypeSpec};
use sqlparser::ast::{Expr as Tree, InTarget};
use std::collections::BTreeMap;

impl Compiler<'_> {
    pub(super) fn in_list(
        &mut self,
        tree: &Tree,
        target: &InTarget,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        match target {
            InTarget::List(list) => match list.as_slice() {
                // A query in two pairs of parentheses is still a query.
                [Tree::Subquery(query)] => self.in_query(tree, query, negated),
                list => self.one_of(tree, list, negated),
            },
            InTarget::Subquery(query) => self.in_query(tree, query, negated),
            _ => Err(SqlError::unsupported(
                "IN is supported with a list, or a query",
            )),
        }
    }

    /// Compiles `= ANY (ARRAY[…])`: the items have one type before the value is compared with them.
    pub(super) fn one_of_array(
        &mut self,
        tree: &Tree,
        list: &[Tree],
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let value = self.compile(tree)?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            items.push(self.compile(item)?);
        }
        let is_open = |item: &Typed| matches!(item.expr, Expr::Parameter(_));
        let are_unknown = items.iter().all(|item| item.kind() == SqlType::Unknown);
        // In earlier versions each item had the value's type.
        let is_open = items.iter().any(is_open) || self.is_of_kept_text();
        if items.is_empty() || are_unknown && is_open {
            return self.one_of_items(value, items, negated);
        }
        let (items, spec) = self.unified(items, "ARRAY")?;
        if spec.kind.element().is_some() {
            // The elements of an array of arrays are theirs.
            let array = array_made(items, spec);
            return self.in_elements(value, array, negated);
        }
        let mut sought = None;
        let mut compared = Vec::with_capacity(items.len());
        for expr in items {
            let (left, right) = self.comparable(value.clone(), Typed { expr, spec }, "=")?;
            sought = Some(left);
            compared.push(right);
        }
        let sought = sought.unwrap_or(value.expr);
        let list = List::of_items(compared);
        Ok(boolean(Expr::In(Box::new(sought), list), negated))
    }

    /// Compiles the test that a value is one of a list, for `IN`.
    pub(super) fn one_of(
        &mut self,
        tree: &Tree,
        list: &[Tree],
        negated: bool,
    ) -> Result<Typed, SqlError> {
        if let Some(values) = row_of(tree) {
            return self.one_of_rows(&values, list, negated);
        }
        let value = self.compile(tree)?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            items.push(self.compile(item)?);
        }
        self.one_of_items(value, items, negated)
    }

    /// The test that a value is one of these. They are compiled already: nested tests take as many steps as their text is
    /// long.
    fn one_of_items(
        &mut self,
        value: Typed,
        items: Vec<Typed>,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let items = self.with_common_type(&value, items)?;
        let count = items.len();
        let mut sought: Option<Expr> = None;
        // The casts of the value that differ from the first one.
        let mut others = BTreeMap::new();
        let mut right_sides = Vec::with_capacity(count);
        for (at, item) in items.into_iter().enumerate() {
            let item = self.with_found_type(item);
            let (left, right) = self.comparable(value.clone(), item, "=")?;
            match &sought {
                None => sought = Some(left),
                Some(first) if *first == left => {}
                Some(_) => {
                    check_repeated(&left, count)?;
                    others.insert(at, left);
                }
            }
            right_sides.push(right);
        }
        let sought = sought.unwrap_or(value.expr);
        if others.is_empty() {
            let list = List::of_items(right_sides);
            return Ok(boolean(Expr::In(Box::new(sought), list), negated));
        }
        // They are compared one by one.
        let mut parts = Vec::with_capacity(count);
        for (at, right) in right_sides.into_iter().enumerate() {
            let left = others.remove(&at).unwrap_or_else(|| sought.clone());
            parts.push(Expr::Compare(Comparison::Equal, Box::new((left, right))));
        }
        Ok(boolean(Expr::Or(parts), negated))
    }

    /// The items with one type, which they have together with the value: PostgreSQL makes an array of those that read no column. If
    /// they have no such type, each is compared by itself.
    ///
    /// Source: PostgreSQL 15, `transformAExprIn`.
    ///
    /// # Errors
    /// An error in a literal's text.
    fn with_common_type(
        &mut self,
        value: &Typed,
        items: Vec<Typed>,
    ) -> Result<Vec<Typed>, SqlError> {
        let is_plain = |item: &Typed| {
            let reads = |part: &Expr| matches!(part, Expr::Column(_) | Expr::Before(_));
            !item.expr.any(&reads)
        };
        if items.iter().filter(|item| is_plain(item)).count() < 2 {
            return Ok(items);
        }
        let kinds = items.iter().filter(|item| is_plain(item)).map(Typed::kind);
        let Some(kind) = common_kind(std::iter::once(value.kind()).chain(kinds)) else {
            return Ok(items);
        };
        let spec = TypeSpec::plain(kind);
        let mut of_one_type = Vec::with_capacity(items.len());
        for item in items.clone() {
            of_one_type.push(match is_plain(&item) && item.kind() != kind {
                true => {
                    let spec = spec.with_collation(item.spec.collation);
                    match self.coerce(item, spec, Coercion::Implicit) {
                        Ok(expr) => Typed { expr, spec },
                        Err(_) if self.is_of_kept_text() => return Ok(items),
                        Err(error) => return Err(error),
                    }
                }
                false => item,
            });
        }
        Ok(of_one_type)
    }

    /// A parameter with the type that was found for it after it was compiled.
    fn with_found_type(&self, item: Typed) -> Typed {
        match item.expr {
            Expr::Parameter(number) if item.kind() == SqlType::Unknown => {
                let kind = self.parameters.kind_of(number);
                Typed::new(item.expr, kind)
            }
            _ => item,
        }
    }

    /// Compiles the test that a row of values equals one of a list.
    fn one_of_rows(
        &mut self,
        values: &[&Tree],
        list: &[Tree],
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let mut rows = Vec::with_capacity(list.len());
        for item in list {
            let Some(others) = row_of(item) else {
                return Err(SqlError::syntax(
                    "a row is compared with rows of as many values only",
                ));
            };
            rows.push(
                self.compare_tuples(values, Comparison::Equal, &others)?
                    .expr,
            );
        }
        Ok(boolean(Expr::Or(rows), negated))
    }
}

/// The most parts of the copies of a value that is compared with each item of a list.
const REPEATED_MAX: usize = 100_000;

/// Checks that a value may be copied for each item: nested ones would be exponentially large.
///
/// # Errors
/// `54001` if the copies had too many parts.
fn check_repeated(value: &Expr, times: usize) -> Result<(), SqlError> {
    let mut parts: usize = 0;
    value.walk(&mut |_| parts += 1);
    // A list of plain values is as long as its text.
    if parts > 1 && parts.saturating_mul(times) > REPEATED_MAX {
        return Err(SqlError::new(
            code::TOO_COMPLEX,
            "the value is too large for a list of items that need different casts of it",
        )
        .hint("Compute the value in a query in FROM, or cast the items to one type."));
    }
    Ok(())
}
