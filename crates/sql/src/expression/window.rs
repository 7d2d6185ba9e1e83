//! Calls of window functions, compiled: the function, its rows and their order.
//!
//! The number of columns is unknown while expressions are compiled. So the value of a window function has a place from
//! [`FIRST`] on, until the query around it is planned.

use super::functions::Kind;
use super::{Expr, SortKey, Typed};
use crate::aggregate::Aggregate;
use crate::parse::Excluded;
use crate::types::{SqlType, TypeSpec};

/// The place of the first window function's value while expressions are compiled. No row has so many columns.
pub(crate) const FIRST: usize = 1 << 30;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumulativeDistribution,
    Buckets,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    Aggregate(Box<Aggregate>),
}

/// An entry of the table of window functions.
pub(crate) struct WindowEntry {
    pub name: &'static str,
    function: WindowFunction,
    /// The least number of arguments.
    pub least: usize,
    pub arguments: &'static [Kind],
    pub result: Kind,
    /// For people.
    pub about: &'static str,
}

macro_rules! window_functions {
    ($($name:ident = $function:ident, $least:literal..[$($argument:expr),*] -> $result:expr, $about:literal;)*) => {
        /// Window functions that are no aggregates.
        pub(crate) const WINDOW_FUNCTIONS: &[WindowEntry] = &[$(WindowEntry {
            name: stringify!($name),
            function: WindowFunction::$function,
            least: $least,
            arguments: &[$($argument),*],
            result: $result,
            about: $about,
        }),*];
    };
}

window_functions! {
    cume_dist = CumulativeDistribution, 0..[] -> FLOAT8, "share of the rows up to this one and its equals";
    dense_rank = DenseRank, 0..[] -> INT8, "number of the row's group of equals";
    first_value = FirstValue, 1..[Kind::Element] -> Kind::Element, "value of the frame's first row";
    lag = Lag, 1..[Kind::Element, INT4, Kind::Element] -> Kind::Element, "value of a row before this one, or a default";
    last_value = LastValue, 1..[Kind::Element] -> Kind::Element, "value of the frame's last row";
    lead = Lead, 1..[Kind::Element, INT4, Kind::Element] -> Kind::Element, "value of a row behind this one, or a default";
    nth_value = NthValue, 2..[Kind::Element, INT4] -> Kind::Element, "value of a row of the frame, by its number";
    ntile = Buckets, 1..[INT4] -> INT4, "number of the part, of so many equal ones, in which the row is";
    percent_rank = PercentRank, 0..[] -> FLOAT8, "rank as a share, from 0 to 1";
    rank = Rank, 0..[] -> INT8, "number of the first of the row's equals";
    row_number = RowNumber, 0..[] -> INT8, "number of the row in its partition";
}

const FLOAT8: Kind = Kind::Of(SqlType::Float8);
const INT4: Kind = Kind::Of(SqlType::Int4);
const INT8: Kind = Kind::Of(SqlType::Int8);

impl WindowFunction {
    /// The window function of this name that is no aggregate.
    pub fn named(name: &str) -> Option<WindowFunction> {
        let found = WINDOW_FUNCTIONS.iter().find(|entry| entry.name == name);
        found.map(|entry| entry.function.clone())
    }
}

/// The beginning or the end of a frame.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Bound {
    /// The partition's first row.
    First,
    /// A number of rows or groups before the row, or a distance.
    Preceding(Expr),
    /// The row, or but for [`FrameUnit::Rows`] the rows that are equal in order.
    Current,
    /// A number of rows or groups behind the row, or a distance.
    Following(Expr),
    /// The partition's last row.
    Last,
}

/// The rows of the partition from which an aggregate is computed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Frame {
    pub unit: FrameUnit,
    pub start: Bound,
    pub end: Bound,
    pub excluded: Excluded,
    /// The key of [`FrameUnit::Range`] with an offset.
    pub range: Option<RangeKey>,
}

/// The unit of a frame's offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameUnit {
    Rows,
    /// Distances of the key. Rows that are equal in order belong together.
    Range,
    /// Groups of rows that are equal in order.
    Groups,
}

/// The key whose distance decides which rows belong to a frame.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RangeKey {
    pub expr: Expr,
    pub kind: SqlType,
    pub descending: bool,
    pub nulls_first: bool,
}

impl Frame {
    /// The default frame: up to the row and those that are equal in order.
    pub const DEFAULT: Frame = Frame {
        unit: FrameUnit::Range,
        start: Bound::First,
        end: Bound::Current,
        excluded: Excluded::Nothing,
        range: None,
    };
}

/// `OVER (…)`: the partition, and its order.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Window {
    pub partition: Vec<Expr>,
    pub order: Vec<SortKey>,
    /// The keys of the order as they are written, until the window is compiled.
    pub values: Vec<Typed>,
    /// The frame, if one is given.
    pub frame: Option<Frame>,
}

/// A call of a window function.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WindowCall {
    pub function: WindowFunction,
    pub arguments: Vec<Expr>,
    pub window: Window,
}

impl WindowCall {
    /// The frame of the rows.
    pub fn frame(&self) -> &Frame {
        self.window.frame.as_ref().unwrap_or(&Frame::DEFAULT)
    }

    /// Calls `each` with every expression over the rows.
    pub fn each_expression(&mut self, each: &mut dyn FnMut(&mut Expr)) {
        self.arguments.iter_mut().for_each(&mut *each);
        self.window.partition.iter_mut().for_each(&mut *each);
        for key in &mut self.window.order {
            each(&mut key.expression);
        }
        let frame = self.window.frame.as_mut();
        if let Some(key) = frame.and_then(|frame| frame.range.as_mut()) {
            each(&mut key.expr);
        }
        if let WindowFunction::Aggregate(aggregate) = &mut self.function {
            aggregate.each_part(each);
        }
    }
}

/// The window functions of a query while it is compiled, and the windows that it names.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    pub named: Vec<(String, Window)>,
    pub calls: Vec<WindowCall>,
}

impl Windows {
    /// True if window functions are called.
    pub fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The place of a call's value, which may be a known one.
    pub fn add(&mut self, call: WindowCall, spec: TypeSpec) -> Typed {
        let found = self.calls.iter().position(|there| *there == call);
        let number = found.unwrap_or_else(|| {
            self.calls.push(call);
            self.calls.len() - 1
        });
        Typed {
            expr: Expr::Column(FIRST + number),
            spec,
        }
    }
}
