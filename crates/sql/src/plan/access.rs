//! How a table's rows are reached: by a key, by a part of an index, or all of them.

use super::key::key_value;
use crate::error::SqlError;
use crate::expression::{Comparison, Environment, Expr};
use crate::relation::Relation;
use crate::source::{EachRow, KeyRange, Source};
use sardonyx::schema::{IndexDefinition, IndexKind, KeyPart, Type, Value};
use std::ops::Bound;

/// A way to the rows of a table.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub table: u16,
    pub path: Path,
}

/// The ways that there are.
#[derive(Clone, Debug)]
pub(crate) enum Path {
    /// All rows.
    Scan,
    /// The one with a primary key.
    Key(Vec<(Expr, Type)>),
    /// The one with a key of a unique index.
    Unique(String, Vec<(Expr, Type)>),
    /// Those that begin with some values of an index, and then are in a range.
    Range(RangePath),
}

/// Rows in the order of an index.
#[derive(Clone, Debug)]
pub(crate) struct RangePath {
    pub index: String,
    pub equal: Vec<(Expr, Type)>,
    /// Of the column behind those that are equal: the bounds, as SQL says them.
    pub lower: Option<(Expr, bool)>,
    pub upper: Option<(Expr, bool)>,
    pub bounded: Option<(Type, bool)>,
    pub backward: bool,
}

/// A condition on one column, as far as an index can use it.
#[derive(Clone, Debug)]
struct Term {
    column: usize,
    comparison: Comparison,
    value: Expr,
    /// Its number among the condition's parts.
    part: usize,
}

/// How rows are to be ordered: columns, and whether from the largest to the smallest.
pub(crate) type WantedOrder = Vec<(usize, bool)>;

/// The choice of a way.
#[derive(Debug)]
pub(crate) struct Choice {
    pub access: Access,
    /// What is still to be tested of each row.
    pub filter: Option<Expr>,
    /// Whether the rows come in the wanted order.
    pub is_ordered: bool,
}

/// Chooses a way to the rows that meet a condition, in an order if it can be had.
pub(crate) fn choose(
    relation: &Relation,
    condition: Option<Expr>,
    order: Option<&WantedOrder>,
    is_limited: bool,
) -> Choice {
    let parts = match condition {
        None => Vec::new(),
        Some(Expr::And(parts)) => flattened(parts),
        Some(one) => vec![one],
    };
    let terms = terms(&parts);
    let schema = &relation.schema;
    let kind = |column: usize| schema.columns[column].kind;
    let found_by = |index: &IndexDefinition| equal_terms(index, &terms, false);
    // One row at most.
    let mut point = None;
    let primary = found_by(&schema.primary);
    if primary.len() == schema.primary.key.len() {
        point = Some((primary, None));
    } else {
        for index in schema.indexes.iter().filter(|index| index.unique) {
            let found = found_by(index);
            if found.len() == index.key.len() {
                point = Some((found, Some(index.name.clone())));
                break;
            }
        }
    }
    if let Some((found, index)) = point {
        let used: Vec<usize> = found.iter().map(|term| term.part).collect();
        let key = found
            .iter()
            .map(|term| (term.value.clone(), kind(term.column)));
        let key = key.collect();
        let path = match index {
            None => Path::Key(key),
            Some(index) => Path::Unique(index, key),
        };
        return Choice {
            access: Access {
                table: relation.number,
                path,
            },
            filter: without(parts, &used),
            is_ordered: true,
        };
    }
    let ordered = [&schema.primary].into_iter().chain(&schema.indexes);
    let ordered = ordered.filter(|index| index.kind == IndexKind::Ordered);
    let mut best: Option<(usize, RangePath, bool)> = None;
    for index in ordered {
        let equal = equal_terms(index, &terms, true);
        let next = index.key.get(equal.len());
        let bound = |wanted: &[Comparison]| {
            let next = next?;
            let mut terms = terms.iter();
            terms.find(|term| term.column == next.column && wanted.contains(&term.comparison))
        };
        let lower = bound(&[Comparison::Greater, Comparison::GreaterOrEqual]);
        let upper = bound(&[Comparison::Less, Comparison::LessOrEqual]);
        let is_bounded = lower.is_some() || upper.is_some();
        let direction =
            order.and_then(|order| direction_of(&index.key, equal.len(), &terms, order));
        let mut score =
            equal.len() * 4 + usize::from(lower.is_some()) + usize::from(upper.is_some());
        if direction.is_some() && (score > 0 || is_limited) {
            score += if is_limited { 3 } else { 1 };
        }
        let is_better = best.as_ref().is_none_or(|(before, ..)| score > *before);
        if score == 0 || !is_better {
            continue;
        }
        let bound = |term: Option<&Term>, inclusive: Comparison| {
            term.map(|term| (term.value.clone(), term.comparison == inclusive))
        };
        let values = equal
            .iter()
            .map(|term| (term.value.clone(), kind(term.column)));
        let path = RangePath {
            index: index.name.clone(),
            equal: values.collect(),
            lower: bound(lower, Comparison::GreaterOrEqual),
            upper: bound(upper, Comparison::LessOrEqual),
            bounded: next
                .filter(|_| is_bounded)
                .map(|part| (kind(part.column), part.descending)),
            backward: direction.unwrap_or(false),
        };
        best = Some((score, path, direction.is_some()));
    }
    let (path, is_ordered) = match best {
        Some((_, path, is_ordered)) => (Path::Range(path), is_ordered),
        None => (Path::Scan, false),
    };
    Choice {
        access: Access {
            table: relation.number,
            path,
        },
        // Bounds may be looser than what they are made of.
        filter: without(parts, &[]),
        is_ordered,
    }
}

fn flattened(parts: Vec<Expr>) -> Vec<Expr> {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Expr::And(inner) => flat.extend(flattened(inner)),
            other => flat.push(other),
        }
    }
    flat
}

fn without(parts: Vec<Expr>, used: &[usize]) -> Option<Expr> {
    let numbered = parts.into_iter().enumerate();
    let mut rest: Vec<Expr> = numbered
        .filter(|(number, _)| !used.contains(number))
        .map(|(_, part)| part)
        .collect();
    match rest.len() {
        0 => None,
        1 => rest.pop(),
        _ => Some(Expr::And(rest)),
    }
}

fn terms(parts: &[Expr]) -> Vec<Term> {
    let mut terms = Vec::new();
    for (part, expr) in parts.iter().enumerate() {
        let Expr::Compare(comparison, sides) = expr else {
            // A column that is true.
            continue;
        };
        let (column, comparison, value) = match &**sides {
            (Expr::Column(column), value) if value.is_constant() => (*column, *comparison, value),
            (value, Expr::Column(column)) if value.is_constant() => {
                (*column, comparison.reversed(), value)
            }
            _ => continue,
        };
        terms.push(Term {
            column,
            comparison,
            value: value.clone(),
            part,
        });
    }
    terms
}

/// The terms that say the first columns of an index.
fn equal_terms<'t>(index: &IndexDefinition, terms: &'t [Term], prefix: bool) -> Vec<&'t Term> {
    let mut found = Vec::new();
    for part in &index.key {
        let mut terms = terms.iter();
        let term =
            terms.find(|term| term.column == part.column && term.comparison == Comparison::Equal);
        match term {
            Some(term) => found.push(term),
            None if prefix => break,
            None => return Vec::new(),
        }
    }
    found
}

/// Whether an index gives rows in an order, behind columns that are equal: backward if that is needed.
fn direction_of(
    key: &[KeyPart],
    equal: usize,
    terms: &[Term],
    order: &WantedOrder,
) -> Option<bool> {
    let is_equal = |column: usize| {
        let mut terms = terms.iter();
        terms.any(|term| term.column == column && term.comparison == Comparison::Equal)
    };
    // Columns that are the same in all rows order nothing.
    let wanted = order.iter().filter(|(column, _)| !is_equal(*column));
    let mut backward = None;
    let mut rest = key.get(equal..)?.iter();
    for (column, descending) in wanted {
        let part = rest.next()?;
        if part.column != *column {
            return None;
        }
        let reversed = part.descending != *descending;
        if *backward.get_or_insert(reversed) != reversed {
            return None;
        }
    }
    Some(backward.unwrap_or(false))
}

/// The values of a key, each as its column has them; `None` if one is no value of its column.
fn key_of(parts: &[(Expr, Type)], with: &Environment<'_>) -> Result<Option<Vec<Value>>, SqlError> {
    let mut key = Vec::with_capacity(parts.len() + 1);
    for (part, kind) in parts {
        match key_value(part.constant(with)?, *kind) {
            Some(value) => key.push(value),
            None => return Ok(None),
        }
    }
    Ok(Some(key))
}

impl RangePath {
    /// The keys between which the rows are; `None` if there are none.
    ///
    /// # Errors
    /// What cannot be computed.
    pub fn range(&self, with: &Environment<'_>) -> Result<Option<KeyRange>, SqlError> {
        let Some(prefix) = key_of(&self.equal, with)? else {
            return Ok(None);
        };
        let whole = || match prefix.is_empty() {
            true => Bound::Unbounded,
            false => Bound::Included(prefix.clone()),
        };
        let (mut lower, mut upper) = (whole(), whole());
        if let Some((kind, descending)) = self.bounded {
            let mut bound = |said: &Option<(Expr, bool)>, is_lower: bool| {
                let Some((value, inclusive)) = said else {
                    return Ok::<_, SqlError>(true);
                };
                let value = value.constant(with)?;
                if value == Value::Null {
                    return Ok(false);
                }
                // A bound between two values of the column is left to the filter.
                if let Some(value) = key_value(value, kind) {
                    let mut key = prefix.clone();
                    key.push(value);
                    let bound = match inclusive {
                        true => Bound::Included(key),
                        false => Bound::Excluded(key),
                    };
                    match is_lower != descending {
                        true => lower = bound,
                        false => upper = bound,
                    }
                }
                Ok(true)
            };
            if !bound(&self.lower, true)? || !bound(&self.upper, false)? {
                return Ok(None);
            }
        }
        Ok(Some(KeyRange {
            lower,
            upper,
            backward: self.backward,
        }))
    }
}

impl Access {
    /// Calls `each` with the rows.
    ///
    /// # Errors
    /// What `each` returns; a row that cannot be read; a key that cannot be computed.
    pub fn walk(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let each: EachRow<'_> = &mut |row| {
            with.context.look_at_row()?;
            each(row)
        };
        match &self.path {
            Path::Scan => source.scan(self.table, each),
            Path::Key(parts) => match key_of(parts, with)? {
                Some(key) => source.point(self.table, &key, each),
                None => Ok(()),
            },
            Path::Unique(index, parts) => match key_of(parts, with)? {
                Some(key) => source.first(self.table, index, &key, each),
                None => Ok(()),
            },
            Path::Range(path) => match path.range(with)? {
                Some(range) => source.range(self.table, &path.index, &range, each),
                None => Ok(()),
            },
        }
    }

    /// Whether it looks at few rows, so that it does not hold others up.
    pub fn is_short(&self) -> bool {
        matches!(self.path, Path::Key(_) | Path::Unique(..))
    }
}
