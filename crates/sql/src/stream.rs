//! A result that is read from its snapshot in portions, as fast as its client takes them.
//!
//! Invariant: it reads one snapshot, so all its rows are of one state. If the bound on memory for snapshots ends that
//! snapshot, the stream fails.

mod portions;

use crate::memory::outside;
use crate::plan::tree::{Input, SelectPlan};
use crate::rows::InputRow;
pub(crate) use portions::SnapshotPortions;

use crate::error::SqlError;
use crate::expression::{Environment, Kept, Lists, StatementContext};
use crate::plan::access::Path;
use crate::plan::{Plan, Planned};
use crate::source::{KeyRange, Source};
use crate::values::equality_keys;
use sardonyx::Snapshot;
use sardonyx::schema::{IndexDefinition, Schema, Value};
use sardonyx_rows::ScanPlace;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// The bytes of texts and bytes with which a portion ends, so that rows of large values are few.
const PORTION_BYTES: usize = 1 << 20;

/// Rows that are still to be read.
pub(crate) struct SnapshotStream {
    snapshot: Snapshot,
    planned: Arc<Planned>,
    parameters: Vec<Value>,
    context: StatementContext,
    lists: Lists,
    place: Place,
    skip: u64,
    left: u64,
}

/// The position of the stream.
#[derive(Debug)]
enum Place {
    Scan(ScanPlace),
    Range(RangePlace),
}

/// The position in an index: the last key, and the number of rows with it that were met. `last_apart` distinguishes the
/// key from others, and in it a NaN equals itself.
#[derive(Debug)]
struct RangePlace {
    range: KeyRange,
    /// True if the range has more rows than its condition.
    is_loose: bool,
    columns: Vec<usize>,
    last: Vec<Value>,
    last_apart: Vec<u8>,
    met: u64,
}

impl fmt::Debug for SnapshotStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stream at {:?}", self.place)
    }
}

impl SnapshotStream {
    /// The rows of a statement, if they can be read in portions: neither sorted nor grouped.
    ///
    /// # Errors
    /// A value that cannot be computed.
    pub fn of(
        snapshot: Snapshot,
        planned: Arc<Planned>,
        parameters: &[Value],
        context: StatementContext,
    ) -> Result<Option<SnapshotStream>, SqlError> {
        let Plan::Select(plan) = &planned.plan else {
            return Ok(None);
        };
        let (source, kept) = (&**snapshot.space(), Kept::default());
        let with = Environment::new(parameters, &context);
        let with = with.over(&source, &kept);
        let Some(place) = place_of(plan, &snapshot, &with)? else {
            return Ok(None);
        };
        let (skip, left) = plan.limits(&with)?;
        Ok(Some(SnapshotStream {
            place,
            skip,
            left,
            snapshot,
            parameters: parameters.to_vec(),
            context,
            lists: Lists::default(),
            planned,
        }))
    }

    /// Adds the next rows, at most `most`. Returns their number, and true if there may be more.
    ///
    /// # Errors
    /// A value that cannot be computed; `40001` if the snapshot was ended.
    pub fn next(&mut self, most: u64, out: &mut Vec<Value>) -> Result<(u64, bool), SqlError> {
        let Plan::Select(plan) = &self.planned.plan else {
            return Ok((0, false));
        };
        let (source, kept) = (&**self.snapshot.space(), Kept::default());
        let with = Environment::new(&self.parameters, &self.context);
        // Functions of the catalogue read the tables of types. The sets of lists stay for the next portions.
        let with = Environment {
            lists: Some(&self.lists),
            ..with.over(&source, &kept)
        };
        let wanted = most.min(self.left);
        let (mut given, mut bytes) = (0, 0);
        let skip = &mut self.skip;
        let Input::Table(access) = &plan.input else {
            return Ok((0, false));
        };
        let is_loose = matches!(&self.place, Place::Range(place) if place.is_loose);
        let tested = access.condition.as_ref().filter(|_| is_loose);
        let mut each = |row: &dyn InputRow| {
            with.context.look_at_row()?;
            let conditions = tested.into_iter().chain(&plan.filter);
            for condition in conditions {
                if !condition.holds(row, &with)? {
                    return Ok(true);
                }
            }
            if *skip > 0 {
                *skip -= 1;
                return Ok(true);
            }
            let from = out.len();
            plan.output.push_shown(row, &with, out)?;
            given += 1;
            bytes += out[from..].iter().map(outside).sum::<usize>();
            Ok(given < wanted && bytes < PORTION_BYTES)
        };
        if wanted == 0 {
            return Ok((0, false));
        }
        let ended = match (&mut self.place, &access.path) {
            (Place::Scan(place), _) => source.scan_from(access.table, place, &mut each)?,
            (Place::Range(place), Path::Range(path)) => {
                place.walk(&source, access.table, &path.index, &mut each)?
            }
            _ => true,
        };
        self.left = if ended { 0 } else { self.left - given };
        Ok((given, self.left > 0))
    }
}

fn place_of(
    plan: &SelectPlan,
    snapshot: &Snapshot,
    with: &Environment<'_>,
) -> Result<Option<Place>, SqlError> {
    let is_whole = plan.grouping.is_some()
        || plan.is_distinct
        || !plan.distinct_on.is_empty()
        || !plan.sort.is_empty()
        || plan.with_ties
        || plan.has_subqueries;
    if is_whole {
        return Ok(None);
    }
    let Input::Table(access) = &plan.input else {
        return Ok(None);
    };
    Ok(match &access.path {
        Path::Scan => Some(Place::Scan(ScanPlace::default())),
        Path::Range(path) => {
            let schema = Source::schema(&&**snapshot.space(), access.table);
            let columns = schema.and_then(|schema| key_of(&schema, &path.index));
            // Several ranges are read as a whole.
            match (columns, path.only_range(with)?) {
                (Some(columns), Some((range, is_loose))) => Some(Place::Range(RangePlace {
                    range,
                    is_loose,
                    columns,
                    last: Vec::new(),
                    last_apart: Vec::new(),
                    met: 0,
                })),
                _ => None,
            }
        }
        Path::Key(_) | Path::Union(_) => None,
    })
}

/// The columns of an index.
fn key_of(schema: &Schema, index: &str) -> Option<Vec<usize>> {
    let mut indexes = [&schema.primary].into_iter().chain(&schema.indexes);
    let index: &IndexDefinition = indexes.find(|there| there.name == index)?;
    Some(index.key.iter().map(|part| part.column).collect())
}

impl RangePlace {
    /// Continues the walk. Returns true at the end.
    fn walk(
        &mut self,
        source: &dyn Source,
        table: u16,
        index: &str,
        each: &mut dyn FnMut(&dyn InputRow) -> Result<bool, SqlError>,
    ) -> Result<bool, SqlError> {
        let mut range = self.range.clone();
        if !self.last.is_empty() {
            // The walk continues at the last key, and first meets its rows again.
            let from = Bound::Included(self.last.clone());
            match range.backward {
                true => range.upper = from,
                false => range.lower = from,
            }
        }
        let mut again = self.met;
        let mut ended = true;
        source.range(table, index, &range, &mut |row| {
            if again > 0 {
                again -= 1;
                return Ok(true);
            }
            let mut key = Vec::with_capacity(self.columns.len());
            for column in &self.columns {
                key.push(row.value(*column)?.to_value());
            }
            let mut apart = Vec::new();
            (key.iter()).for_each(|value| equality_keys::key_of(value.as_ref(), &mut apart));
            match apart == self.last_apart && !self.last.is_empty() {
                true => self.met += 1,
                false => (self.last, self.last_apart, self.met) = (key, apart, 1),
            }
            let goes_on = each(row)?;
            ended = goes_on;
            Ok(goes_on)
        })?;
        Ok(ended)
    }
}
