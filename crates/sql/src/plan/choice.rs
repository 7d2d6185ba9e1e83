//! The choice of an access path to the rows of a table that meet a condition.

use super::access::{Access, BoundedColumn, KeyPath, Path, RangePath, UnionPath};
use super::costs::tested_in;
use super::factoring::factored;
use super::sought::{KeyColumn, Sought, UNKNOWN_COUNT, count_of, is_single};
use crate::expression::{Comparison, Expr, List, ListOf, Subquery};
use crate::indexed::Indexed;
use crate::relation::Relation;
use sardonyx::schema::{IndexDefinition, IndexKind, KeyPart, Value};

/// The most keys that the lists of several columns may combine to. Beyond this limit, the last lists are tested on each
/// row.
const COMBINATIONS_MAX: usize = 10_000;

/// A condition on one column, as far as an index can use it.
#[derive(Clone, Debug)]
struct Term {
    column: usize,
    says: Says,
    /// Its number among the condition's parts; `None` if it is derived from several parts.
    part: Option<usize>,
    /// True if it implies the condition of a partial index.
    is_of_index: bool,
}

/// The values that a term allows for its column.
#[derive(Clone, Debug)]
enum Says {
    Compares(Comparison, Expr),
    /// The column equals one of several values.
    IsOf(List),
    /// The column equals one of a query's values.
    IsOfQuery(Box<Subquery>),
}

/// The wanted order: columns, and true if it is descending.
pub(crate) type WantedOrder = Vec<(usize, bool)>;

/// A chosen access path.
#[derive(Debug)]
pub(crate) struct Choice {
    pub access: Access,
    /// The rest of the condition, which is tested on each row.
    pub filter: Option<Expr>,
    /// True if the rows come in the wanted order.
    pub is_ordered: bool,
}

/// An access path that may be chosen.
struct Candidate {
    path: Path,
    /// The parts of the condition that the path implements.
    parts: Vec<usize>,
    is_ordered: bool,
}

/// Chooses an access path to the rows that meet a condition, in the wanted order if possible.
pub(crate) fn choose(
    relation: &Relation,
    condition: Option<Expr>,
    order: Option<&WantedOrder>,
    is_limited: bool,
) -> Choice {
    let parts = parts_of(condition);
    let indexed = Indexed::of(&relation.schema);
    let choosing = Choosing {
        relation,
        terms: terms(&parts, &indexed),
        order,
        is_limited,
    };
    let chosen = choosing.by_key();
    let chosen = chosen.or_else(|| choosing.by_range(true));
    let chosen = chosen.or_else(|| choosing.by_union(&parts));
    let chosen = chosen.or_else(|| choosing.by_range(false));
    let Candidate {
        path,
        parts: used,
        is_ordered,
    } = chosen.unwrap_or(Candidate {
        path: Path::Scan,
        parts: Vec::new(),
        is_ordered: false,
    });
    let (own, rest) = divided(parts, &used);
    Choice {
        access: Access {
            table: relation.number,
            path,
            condition: all_of(own),
            rows: relation.rows,
        },
        filter: tested_in(&relation.schema, rest),
        is_ordered,
    }
}

/// The condition and the order for which a path is chosen.
struct Choosing<'c> {
    relation: &'c Relation,
    terms: Vec<Term>,
    order: Option<&'c WantedOrder>,
    is_limited: bool,
}

impl Choosing<'_> {
    fn column(&self, part: &KeyPart, term: &Term) -> KeyColumn {
        let kind = self.relation.schema.columns[part.column].kind;
        KeyColumn::new(term.sought(), part, kind)
    }

    /// A path by the whole key of a unique index: the index with the fewest keys.
    fn by_key(&self) -> Option<Candidate> {
        let schema = &self.relation.schema;
        let unique = schema.indexes.iter().filter(|index| index.unique);
        let primary = [(&schema.primary, None)].into_iter();
        let all = primary.chain(unique.map(|index| (index, Some(index.name.clone()))));
        let found = all.filter_map(|(index, name)| {
            let found = equal_terms(index, &self.terms);
            (found.len() == index.key.len()).then_some((index, name, found))
        });
        let (definition, index, found) = found.min_by_key(|(_, _, found)| keys(found))?;
        let direction = self.direction(definition);
        let columns = definition.key.iter().zip(&found);
        let key: Vec<KeyColumn> = columns
            .map(|(part, term)| self.column(part, term))
            .collect();
        Some(Candidate {
            is_ordered: is_single(&key) || direction.is_some(),
            path: Path::Key(KeyPath {
                index,
                key,
                backward: direction.unwrap_or(false),
            }),
            parts: found.iter().filter_map(|term| term.part).collect(),
        })
    }

    /// A path by the first columns of an index. `is_equal`: only if the condition fixes the first column.
    fn by_range(&self, is_equal: bool) -> Option<Candidate> {
        let schema = &self.relation.schema;
        let ordered = [&schema.primary].into_iter().chain(&schema.indexes);
        let ordered = ordered.filter(|index| index.kind == IndexKind::Ordered);
        let mut best: Option<(usize, Candidate)> = None;
        for index in ordered {
            let Some((score, candidate)) = self.range(index, is_equal) else {
                continue;
            };
            if best.as_ref().is_none_or(|(before, _)| score > *before) {
                best = Some((score, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }

    fn range(&self, index: &IndexDefinition, is_equal: bool) -> Option<(usize, Candidate)> {
        let equal = equal_terms(index, &self.terms);
        let next = index.key.get(equal.len());
        let bound = |strict, wide| {
            let next = next?;
            let mut terms = self.terms.iter();
            terms.find_map(|term| match &term.says {
                Says::Compares(comparison, value)
                    if term.column == next.column
                        && (*comparison == strict || *comparison == wide) =>
                {
                    Some((term.part?, (value.clone(), *comparison == wide)))
                }
                _ => None,
            })
        };
        let lower = bound(Comparison::Greater, Comparison::GreaterOrEqual);
        let upper = bound(Comparison::Less, Comparison::LessOrEqual);
        let bounds = [&lower, &upper].into_iter().flatten();
        let parts = equal.iter().filter_map(|term| term.part);
        let parts: Vec<usize> = parts.chain(bounds.map(|(part, _)| *part)).collect();
        // Many rows may meet the condition of an index, so it alone is no reason to choose the index.
        let sought = equal.iter().filter(|term| !term.is_of_index);
        if is_equal && sought.clone().next().is_none() {
            return None;
        }
        // One value finds fewer rows than several do.
        let scores = sought.map(|term| 3 + usize::from(term.is_single()));
        let bounds = usize::from(lower.is_some()) + usize::from(upper.is_some());
        let mut score = scores.sum::<usize>() + bounds;
        let direction = self.direction(index);
        if direction.is_some() && (score > 0 || self.is_limited) {
            score += if self.is_limited { 3 } else { 1 };
        }
        if score == 0 {
            return None;
        }
        score += equal.iter().filter(|term| term.is_of_index).count();
        let is_bounded = lower.is_some() || upper.is_some();
        let columns = index.key.iter().zip(&equal);
        let path = RangePath {
            index: index.name.clone(),
            equal: columns
                .map(|(part, term)| self.column(part, term))
                .collect(),
            lower: lower.map(|(_, bound)| bound),
            upper: upper.map(|(_, bound)| bound),
            bounded: next.filter(|_| is_bounded).map(|part| {
                let column = &self.relation.schema.columns[part.column];
                BoundedColumn {
                    kind: column.kind,
                    descending: part.descending,
                    is_nullable: column.null.is_some(),
                }
            }),
            backward: direction.unwrap_or(false),
        };
        let candidate = Candidate {
            path: Path::Range(path),
            parts,
            is_ordered: direction.is_some(),
        };
        Some((score, candidate))
    }

    /// A path of several paths, one for each alternative of an `OR`, if each alternative finds its rows by equal values
    /// or a range.
    fn by_union(&self, parts: &[Expr]) -> Option<Candidate> {
        parts.iter().enumerate().find_map(|(number, part)| {
            let Expr::Or(conditions) = part else {
                return None;
            };
            let mut ways = Vec::with_capacity(conditions.len());
            for condition in conditions {
                let chosen = choose(self.relation, Some(condition.clone()), None, false);
                let is_found = match &chosen.access.path {
                    Path::Key(_) | Path::Union(_) => true,
                    Path::Range(path) => {
                        !path.equal.is_empty() || (path.lower.is_some() && path.upper.is_some())
                    }
                    Path::Scan => false,
                };
                if !is_found {
                    return None;
                }
                ways.push((chosen.access, chosen.filter));
            }
            let key = self.relation.schema.primary.key.iter();
            Some(Candidate {
                path: Path::Union(UnionPath {
                    ways,
                    key: key.map(|part| part.column).collect(),
                }),
                parts: vec![number],
                is_ordered: false,
            })
        })
    }

    /// The direction in which an index has the wanted order: true if backward, `None` if in neither direction.
    fn direction(&self, index: &IndexDefinition) -> Option<bool> {
        let order = self.order?;
        // If a query returns many values, all rows are scanned.
        let is_of_query = |term: &Term| matches!(term.says, Says::IsOfQuery(_));
        let mut sought = equal_terms(index, &self.terms).into_iter();
        if sought.any(is_of_query) {
            return None;
        }
        // Columns with the same value in all rows do not affect the order.
        let is_same = |column: usize| {
            let mut terms = self.terms.iter();
            terms.any(|term| term.column == column && term.is_equal() && term.is_single())
        };
        let wanted = order.iter().filter(|(column, _)| !is_same(*column));
        let mut backward = None;
        let mut rest = index.key.iter().filter(|part| !is_same(part.column));
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
}

/// The conjuncts of a condition.
pub(crate) fn parts_of(condition: Option<Expr>) -> Vec<Expr> {
    match condition {
        Some(Expr::And(parts)) => {
            let parts = parts.into_iter();
            parts.flat_map(|part| parts_of(Some(part))).collect()
        }
        Some(Expr::Or(mut parts)) if parts.len() == 1 => parts_of(parts.pop()),
        Some(Expr::Or(parts)) => factored(parts),
        Some(one) => vec![one],
        None => Vec::new(),
    }
}

/// Divides the parts into those used, and the others.
fn divided(parts: Vec<Expr>, used: &[usize]) -> (Vec<Expr>, Vec<Expr>) {
    let (mut own, mut rest) = (Vec::with_capacity(used.len()), Vec::new());
    for (number, part) in parts.into_iter().enumerate() {
        match used.contains(&number) {
            true => own.push(part),
            false => rest.push(part),
        }
    }
    (own, rest)
}

/// The conjunction of some conditions.
pub(crate) fn all_of(mut parts: Vec<Expr>) -> Option<Expr> {
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(Expr::And(parts)),
    }
}

impl Term {
    fn is_equal(&self) -> bool {
        matches!(
            self.says,
            Says::Compares(Comparison::Equal, _) | Says::IsOf(_) | Says::IsOfQuery(_)
        )
    }

    fn is_single(&self) -> bool {
        matches!(self.says, Says::Compares(..))
    }

    /// The number of values, as an upper bound or an estimate.
    fn count(&self) -> usize {
        match &self.says {
            Says::Compares(..) => 1,
            Says::IsOf(list) => count_of(list),
            Says::IsOfQuery(_) => UNKNOWN_COUNT,
        }
    }

    fn sought(&self) -> Sought {
        match &self.says {
            Says::Compares(_, value) => Sought::One(value.clone()),
            Says::IsOf(list) => Sought::Any(list.clone()),
            Says::IsOfQuery(query) => Sought::Query(query.clone()),
        }
    }
}

fn terms(parts: &[Expr], indexed: &Indexed) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for (part, expr) in parts.iter().enumerate() {
        let said = match expr {
            Expr::Compare(comparison, sides) => compared(*comparison, sides, indexed),
            Expr::Or(_) | Expr::In(..) => is_of(expr, indexed),
            Expr::Subquery(query) => {
                let column = query.equal_column();
                column.map(|column| (column, Says::IsOfQuery(query.clone())))
            }
            _ => None,
        };
        if let Some((column, says)) = said {
            let part = Some(part);
            let is_of_index = false;
            terms.push(Term {
                column,
                says,
                part,
                is_of_index,
            });
        }
    }
    let is_sought = |column| terms.iter().any(|term| term.column == column);
    let implied = indexed.implied(parts, is_sought).into_iter();
    let implied = implied.map(|(column, part)| Term {
        column,
        says: Says::Compares(Comparison::Equal, Expr::Literal(Value::Bool(true))),
        part,
        is_of_index: true,
    });
    let implied: Vec<Term> = implied.collect();
    terms.extend(implied);
    terms
}

fn compared(
    comparison: Comparison,
    (left, right): &(Expr, Expr),
    indexed: &Indexed,
) -> Option<(usize, Says)> {
    if right.is_constant()
        && let Some(column) = indexed.column_of(left)
    {
        return Some((column, Says::Compares(comparison, right.clone())));
    }
    let column = indexed.column_of(right).filter(|_| left.is_constant())?;
    Some((column, Says::Compares(comparison.reversed(), left.clone())))
}

/// The column that must equal one of several values, given by a list, or by several equations and lists.
fn is_of(expr: &Expr, indexed: &Indexed) -> Option<(usize, Says)> {
    if let Expr::In(part, list) = expr
        && let Some(column) = indexed.column_of(part)
    {
        let is_constant = list.parts().iter().all(Expr::is_constant);
        let says = match &list.of {
            ListOf::Items(items) if items.len() == 1 => {
                Says::Compares(Comparison::Equal, items[0].clone())
            }
            _ => Says::IsOf(list.clone()),
        };
        return is_constant.then_some((column, says));
    }
    let Expr::Or(conditions) = expr else {
        return None;
    };
    let mut found = None;
    let mut items = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let (column, says) = match condition {
            Expr::Compare(Comparison::Equal, sides) => compared(Comparison::Equal, sides, indexed)?,
            Expr::Or(_) | Expr::In(..) => is_of(condition, indexed)?,
            _ => return None,
        };
        if *found.get_or_insert(column) != column {
            return None;
        }
        match says {
            Says::Compares(_, value) => items.push(value),
            Says::IsOf(list) => match &list.of {
                ListOf::Items(more) => items.extend(more.iter().cloned()),
                ListOf::Array(_) => return None,
            },
            Says::IsOfQuery(_) => return None,
        }
    }
    Some((found?, Says::IsOf(List::of_items(items))))
}

/// The number of keys that the terms combine to.
fn keys(terms: &[&Term]) -> usize {
    let counts = terms.iter().map(|term| term.count());
    counts.fold(1, usize::saturating_mul)
}

/// The terms on the first columns of an index. One value is preferred to several. Lists that combine to too many keys
/// are left out.
fn equal_terms<'t>(index: &IndexDefinition, terms: &'t [Term]) -> Vec<&'t Term> {
    let mut found: Vec<&Term> = Vec::new();
    for part in &index.key {
        let terms = terms.iter();
        let equal = terms.filter(|term| term.column == part.column && term.is_equal());
        let Some(term) = equal.min_by_key(|term| term.count()) else {
            break;
        };
        let has_list = found.iter().any(|term| !term.is_single());
        if has_list && keys(&found).saturating_mul(term.count()) > COMBINATIONS_MAX {
            break;
        }
        found.push(term);
    }
    found
}
