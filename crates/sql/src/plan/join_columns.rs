//! The columns that a join reads: unread columns are neither copied from the tables nor kept in a hash table.

use super::access::{Access, Path};
use super::sought::Sought;
use super::tree::{Input, JoinNode, JoinPlan, JoinStep, Side};
use crate::expression::Expr;

/// The places of the whole row that are read.
#[derive(Debug)]
pub(crate) struct Read(Vec<bool>);

impl Read {
    /// No places of a row of this width.
    pub fn none(width: usize) -> Read {
        Read(vec![false; width])
    }

    /// Adds the columns that an expression over the whole row reads.
    pub fn add(&mut self, expr: &Expr) {
        expr.walk(&mut |part| {
            if let Expr::Column(place) = part {
                self.add_place(*place);
            }
        });
    }

    /// Adds the columns that a side's expression reads of the row to which the side is joined.
    fn add_before(&mut self, expr: &Expr) {
        expr.walk(&mut |part| {
            if let Expr::Before(place) = part {
                self.add_place(*place);
            }
        });
    }

    pub fn add_place(&mut self, place: usize) {
        if let Some(read) = self.0.get_mut(place) {
            *read = true;
        }
    }

    pub fn places(&self) -> Vec<usize> {
        let numbered = self.0.iter().enumerate();
        let read = numbered.filter(|(_, is_read)| **is_read);
        read.map(|(place, _)| place).collect()
    }

    fn has(&self, place: usize) -> bool {
        self.0.get(place).copied().unwrap_or(true)
    }
}

impl JoinPlan {
    /// Leaves out the columns that are read neither by the join's parts nor by the consumer of its rows.
    pub fn keep_only(&mut self, mut read: Read) {
        self.root.add_read(&mut read);
        self.root.keep_only(&read);
    }
}

impl JoinNode {
    pub fn add_read(&self, read: &mut Read) {
        match self {
            JoinNode::Side(side) => side.add_read(read),
            JoinNode::Join(step) => {
                for (left, right) in &step.keys {
                    read.add(left);
                    read.add(right);
                }
                step.condition.iter().for_each(|part| read.add(part));
                step.sought.iter().for_each(|side| side.add_read(read));
                step.left.add_read(read);
                step.right.add_read(read);
            }
        }
    }

    fn keep_only(&mut self, read: &Read) {
        match self {
            JoinNode::Side(side) => side.keep_only(read),
            JoinNode::Join(step) => {
                let JoinStep {
                    left,
                    right,
                    kept,
                    other,
                    sought,
                    ..
                } = &mut **step;
                let both = [kept].into_iter().chain(other);
                both.for_each(|places| places.retain(|place| read.has(*place)));
                sought.iter_mut().for_each(|side| side.keep_only(read));
                left.keep_only(read);
                right.keep_only(read);
            }
        }
    }
}

impl Side {
    fn keep_only(&mut self, read: &Read) {
        let start = self.places.start;
        self.columns.retain(|column| read.has(start + column));
    }

    pub fn add_read(&self, read: &mut Read) {
        if let Some(filter) = &self.filter {
            read.add_before(filter);
        }
        match &self.input {
            Input::Table(access) => access.add_read(read),
            Input::Lateral(_, arguments) => arguments.iter().for_each(|part| read.add(part)),
            Input::Series(series) => series.parts().into_iter().for_each(|part| read.add(part)),
            _ => {}
        }
    }
}

impl Access {
    fn add_read(&self, read: &mut Read) {
        self.condition.iter().for_each(|part| read.add_before(part));
        for column in self.sought() {
            match &column.sought {
                Sought::One(part) => read.add_before(part),
                Sought::Any(list) => list.parts().iter().for_each(|part| read.add_before(part)),
                Sought::Query(query) => {
                    query
                        .arguments
                        .iter()
                        .for_each(|part| read.add_before(part));
                }
            }
        }
        match &self.path {
            Path::Range(path) => {
                let bounds = [&path.lower, &path.upper].into_iter().flatten();
                bounds.for_each(|(part, _)| read.add_before(part));
            }
            Path::Union(path) => {
                for (way, filter) in &path.ways {
                    way.add_read(read);
                    filter.iter().for_each(|part| read.add_before(part));
                }
            }
            Path::Scan | Path::Key(_) => {}
        }
    }
}
