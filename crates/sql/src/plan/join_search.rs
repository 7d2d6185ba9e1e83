//! The search for the order of inner joins. Of all orders in which a table is joined to those before it, the one that
//! reads and keeps the fewest rows is chosen. Beyond [`SEARCHED_MOST`] tables, the next table is the one that yields
//! the fewest rows.
//!
//! Costs are in rows read sequentially. If few rows of a table are wanted, an index finds them and the table is not
//! read. Estimates are rough ([`super::expected`]). The use of an index is decided at run time, by the counted rows of
//! the other side ([`super::join_run`]).
//!
//! Source: P. G. Selinger et al., Access Path Selection in a Relational Database Management System, SIGMOD 1979.

use super::draft::{FromNode, FromTable};
use super::join::equal_sides_of;
use super::join_classes::Classes;
use super::join_order::NO_ROWS;
use super::tree::JoinNode;
use crate::expression::Expr;
use crate::relation::Relation;
use sardonyx::schema::{IndexDefinition, IndexKind};
use std::ops::Range;

/// The most tables of which all orders are compared: a thousand sets of tables take about a millisecond.
const SEARCHED_MOST: usize = 10;
/// The most tables of a search: a set of tables is a word of bits.
const TABLES_MOST: usize = 64;
/// The cost of a seek by an index, in rows that a scan tests on their bytes: about 3,500 instructions beside 220.
const SEEK: f64 = 16.0;
/// The cost of fetching a row that an index found.
const FETCH: f64 = 8.0;
/// The cost of a seek where reads are noted: a read of the whole table conflicts with each change of it, and seeks only
/// with those of their rows.
pub(super) const SEEK_NOTED: f64 = 8.0;

/// The cost of so many seeks that find `found` rows each.
pub(super) fn cost_of_seeks(seeks: f64, found: f64) -> f64 {
    seeks * (SEEK + found.max(1.0) * FETCH)
}

/// The cost of keeping a row in a hash table.
const KEEP: f64 = 2.0;

/// The estimates of one joined item.
#[derive(Debug)]
pub(super) struct Sized {
    pub places: Range<usize>,
    /// The number of rows that meet the conditions on the item alone.
    pub rows: f64,
    /// The number of rows that are read to find these.
    read: f64,
    table: Option<Stored>,
}

/// The estimates of a stored table.
#[derive(Debug)]
pub(super) struct Stored {
    rows: f64,
    /// The columns of its unique keys, by their places in the whole row.
    keys: Vec<Vec<usize>>,
    /// The columns of its ordered indexes.
    ordered: Vec<Vec<usize>>,
}

/// An equality between two joined items whose sides are not columns of a class.
#[derive(Debug)]
struct Edge {
    of: [u64; 2],
}

/// The joined items, and their conditions.
#[derive(Debug)]
pub(super) struct Search<'s> {
    sized: &'s [Sized],
    classes: &'s Classes,
    edges: Vec<Edge>,
    /// The number of distinct values of each class, if known.
    values: Vec<Option<f64>>,
}

/// The cheapest join found so far of a set of tables.
#[derive(Clone, Copy, Debug)]
struct Best {
    cost: f64,
    rows: f64,
    is_counted: bool,
    last: usize,
}

/// A class that joins a table to others.
struct Link<'c> {
    members: &'c [(usize, usize)],
    /// The number of distinct values.
    values: f64,
    /// True if a unique column gave it, and it is no guess.
    is_known: bool,
    /// True if they were counted with those of other classes, as values of a key.
    is_counted: bool,
}

impl Link<'_> {
    fn has(&self, table: usize, place: usize) -> bool {
        self.members.contains(&(table, place))
    }
}

/// The columns by which a table is joined.
fn columns_of(links: &[Link<'_>], table: usize) -> Vec<usize> {
    let members = links.iter().flat_map(|link| link.members);
    let own = members.filter(|(of, _)| *of == table);
    own.map(|(_, place)| *place).collect()
}

/// A step of a join.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub rows: f64,
    /// True if the numbers of distinct values, of which the rows were computed, are those of unique columns.
    is_counted: bool,
    cost: f64,
    is_connected: bool,
}

impl Sized {
    pub fn new(places: Range<usize>, node: &JoinNode, table: Option<Stored>) -> Sized {
        let rows = node.expected();
        let is_found = node.rank() <= super::join::FEW;
        let read = match &table {
            Some(table) if !is_found => table.rows,
            _ => rows,
        };
        Sized {
            places,
            rows,
            read,
            table,
        }
    }

    /// True if the item is so large that the order of joins matters.
    pub fn matters(&self) -> bool {
        self.read.max(self.rows) > NO_ROWS
    }

    /// True if its rows are found by an index rather than read, for a number of rows of the other side.
    pub fn is_sought(&self, rows: f64) -> bool {
        rows * SEEK_NOTED < self.read
    }

    fn is(&self, is_so: impl FnOnce(&Stored) -> bool) -> bool {
        self.table.as_ref().is_some_and(is_so)
    }

    /// The number of rows of the stored table.
    fn stored(&self) -> f64 {
        self.table.as_ref().map_or(self.rows, |table| table.rows)
    }
}

impl Stored {
    pub fn of(factor: &FromNode) -> Option<Stored> {
        let FromNode::Leaf(FromTable::Relation(relation), places) = factor else {
            return None;
        };
        let schema = &relation.schema;
        let all = || [&schema.primary].into_iter().chain(&schema.indexes);
        let columns = |index: &IndexDefinition| -> Vec<usize> {
            let columns = index.key.iter().map(|part| place_of(relation, part.column));
            // Stops at the first column that the statement does not see.
            let columns = columns.map_while(|at| Some(places.start + at?));
            columns.collect()
        };
        let is_seen = |index: &&IndexDefinition| columns(index).len() == index.key.len();
        let keys = all().filter(|index| index.unique || index.name == schema.primary.name);
        let ordered = all().filter(|index| index.kind == IndexKind::Ordered);
        Some(Stored {
            rows: relation.rows? as f64,
            keys: keys.filter(is_seen).map(columns).collect(),
            ordered: ordered.map(columns).collect(),
        })
    }

    /// True if the columns are unique together.
    fn is_found_by(&self, columns: &[usize]) -> bool {
        let has = |place: &usize| columns.contains(place);
        self.keys.iter().any(|key| key.iter().all(has))
    }

    /// True if an index finds rows by such columns.
    fn is_sought_by(&self, columns: &[usize]) -> bool {
        let begins = |index: &Vec<usize>| index.first().is_some_and(|at| columns.contains(at));
        self.is_found_by(columns) || self.ordered.iter().any(begins)
    }
}

impl Stored {
    /// Counts the distinct values of keys of several columns, if all of them are joined: as many as rows. The columns
    /// of a key determine together what they do not determine alone.
    fn keyed_values(&self, number: usize, links: &mut [Link<'_>]) -> f64 {
        for key in self.keys.iter().filter(|key| key.len() > 1) {
            let has = |link: &&mut Link<'_>| key.iter().any(|place| link.has(number, *place));
            let is_covered = key.iter().all(|place| {
                let mut links = links.iter();
                links.any(|link| !link.is_counted && link.has(number, *place))
            });
            if is_covered {
                links
                    .iter_mut()
                    .filter(has)
                    .for_each(|link| link.is_counted = true);
                return self.rows.max(1.0);
            }
        }
        1.0
    }
}

fn place_of(relation: &Relation, column: usize) -> Option<usize> {
    let mut columns = relation.columns.iter();
    columns.position(|there| there.number == column)
}

impl<'s> Search<'s> {
    pub fn new(sized: &'s [Sized], classes: &'s Classes, parts: &[Expr]) -> Search<'s> {
        let mut edges = Vec::new();
        for part in parts {
            let is_of = |mask: u64| {
                let all = sized.iter().enumerate();
                let own = all.filter(move |(number, _)| mask >> number & 1 == 1);
                own.map(|(_, sized)| sized.places.clone())
                    .collect::<Vec<_>>()
            };
            let mut read = 0;
            part.walk(&mut |part| {
                if let Expr::Column(place) = part {
                    let all = sized.iter().take(TABLES_MOST);
                    let at = all.clone().position(|sized| sized.places.contains(place));
                    at.into_iter().for_each(|at| read |= 1 << at);
                }
            });
            // In most cases one of the sides is a single table.
            let tables = (0..sized.len().min(TABLES_MOST)).filter(|at| read >> at & 1 == 1);
            let found = tables.map(|at| [1 << at, read & !(1 << at)]).find(|of| {
                of[1] != 0 && equal_sides_of(part, &is_of(of[0]), &is_of(of[1])).is_some()
            });
            edges.extend(found.map(|of| Edge { of }));
        }
        let values = classes.0.iter().map(|class| {
            let keys = class.members.iter().filter_map(|(number, place)| {
                let table = sized.get(*number)?.table.as_ref()?;
                table.is_found_by(&[*place]).then_some(table.rows)
            });
            keys.min_by(f64::total_cmp)
        });
        Search {
            values: values.collect(),
            sized,
            classes,
            edges,
        }
    }

    /// The order, with the estimated number of rows after each step, and true if it is based on unique columns.
    pub fn order(&self) -> Vec<(usize, f64, bool)> {
        match self.sized.len() {
            0..=SEARCHED_MOST => self.searched(),
            _ => self.one_after_the_other(),
        }
    }

    fn first(&self, number: usize) -> Best {
        let Sized { rows, read, .. } = self.sized[number];
        Best {
            cost: read,
            rows,
            is_counted: true,
            last: number,
        }
    }

    /// The cheapest of all orders.
    fn searched(&self) -> Vec<(usize, f64, bool)> {
        let count = self.sized.len();
        let mut best: Vec<Option<Best>> = vec![None; 1 << count];
        for number in 0..count {
            best[1 << number] = Some(self.first(number));
        }
        for joined in 1_usize..1 << count {
            let Some(before) = best[joined] else {
                continue;
            };
            let others = (0..count).filter(|number| joined >> number & 1 == 0);
            let steps =
                others.map(|number| (number, self.step(joined as u64, before.rows, number)));
            let steps: Vec<(usize, Step)> = steps.collect();
            let is_connected = steps.iter().any(|(_, step)| step.is_connected);
            for (number, step) in steps {
                if is_connected && !step.is_connected {
                    continue;
                }
                let place = &mut best[joined | 1 << number];
                let cost = before.cost + step.cost;
                if place.is_none_or(|there| cost < there.cost) {
                    *place = Some(Best {
                        cost,
                        rows: step.rows,
                        is_counted: step.is_counted,
                        last: number,
                    });
                }
            }
        }
        let mut order = Vec::with_capacity(count);
        let mut joined = (1_usize << count) - 1;
        while let Some(step) = best.get(joined).copied().flatten() {
            order.push((step.last, step.rows, step.is_counted));
            joined &= !(1 << step.last);
        }
        order.reverse();
        order
    }

    /// A greedy order: the next table is the one that yields the fewest rows.
    fn one_after_the_other(&self) -> Vec<(usize, f64, bool)> {
        let mut rest: Vec<usize> = (0..self.sized.len()).collect();
        let mut order: Vec<(usize, f64, bool)> = Vec::with_capacity(rest.len());
        let (mut joined, mut rows) = (0_u64, 0.0);
        while !rest.is_empty() {
            let steps = rest.iter().map(|number| match order.is_empty() {
                true => (false, self.sized[*number].rows, true),
                false => {
                    let step = self.step(joined, rows, *number);
                    (!step.is_connected, step.rows, step.is_counted)
                }
            });
            let steps = steps.enumerate();
            let next = steps.min_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let Some((at, (_, given, is_counted))) = next else {
                break;
            };
            let number = rest.remove(at);
            rows = given;
            if number < TABLES_MOST {
                joined |= 1 << number;
            }
            order.push((number, rows, is_counted));
        }
        order
    }

    /// The cost of joining a table to a number of rows of others, and the estimated number of rows after it.
    fn step(&self, joined: u64, rows: f64, number: usize) -> Step {
        let own = &self.sized[number];
        let is_joined = |of: usize| of < TABLES_MOST && joined >> of & 1 == 1;
        let unknown = own.stored().max(rows).sqrt().max(2.0);
        let classes = self.classes.0.iter().zip(&self.values);
        let links = classes.filter_map(|(class, values)| {
            let has =
                |is_of: &dyn Fn(usize) -> bool| class.members.iter().any(|(of, _)| is_of(*of));
            let is_link = has(&|of| of == number) && has(&is_joined);
            is_link.then_some(Link {
                members: &class.members,
                values: values.unwrap_or(unknown).max(1.0),
                is_known: values.is_some(),
                is_counted: false,
            })
        });
        let mut links: Vec<Link<'_>> = links.collect();
        let bit = 1_u64.checked_shl(number as u32).unwrap_or(0);
        let has_edge = self.edges.iter().any(|edge| {
            let [one, other] = edge.of;
            (one == bit && other & !joined == 0) || (other == bit && one & !joined == 0)
        });
        let all = rows * own.rows;
        let is_connected = !links.is_empty() || has_edge;
        let is_found = own.is(|table| table.is_found_by(&columns_of(&links, number)));
        let is_sought = own.is(|table| table.is_sought_by(&columns_of(&links, number)));
        // The number of distinct combinations of the values that the sides have in common.
        let mut values = 1.0;
        let tables = self.sized.iter().enumerate();
        for (of, sized) in tables.filter(|(of, _)| *of == number || is_joined(*of)) {
            if let Some(table) = &sized.table {
                values *= table.keyed_values(of, &mut links);
            }
        }
        let single = links.iter().filter(|link| !link.is_counted);
        let is_counted = !has_edge && single.clone().all(|link| link.is_known);
        values *= single.map(|link| link.values).product::<f64>();
        if has_edge {
            values *= unknown;
        }
        let given = all / values;
        let scanned = own.read + KEEP * rows.min(own.rows) + rows.max(own.rows);
        let fetched = match is_found {
            true => rows,
            false => rows * own.stored() / values.max(1.0),
        };
        let sought = rows * SEEK + fetched * FETCH;
        let cost = match (is_connected, is_sought) {
            (true, true) => scanned.min(sought),
            (true, false) => scanned,
            (false, _) => scanned + 2.0 * all,
        };
        Step {
            rows: given,
            is_counted,
            cost: cost + given,
            is_connected,
        }
    }
}
