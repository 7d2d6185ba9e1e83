//! The steps of a function's body, compiled.

use super::host::Statement;
use crate::conditions::Caught;
use crate::expression::OuterColumn;
use crate::types::{SqlType, TypeSpec};

/// A body, compiled for the tables as they are.
#[derive(Debug)]
pub(crate) struct Code {
    /// The number of places in the frame.
    pub width: usize,
    pub result: Shape,
    pub steps: Vec<Step>,
    /// The place that is true if the last statement found a row.
    pub found: usize,
    /// The places of the number and the text of a handled error.
    pub error: (usize, usize),
    /// The places of a trigger.
    pub trigger: Option<TriggerPlaces>,
    /// The places of the `OUT` parameters.
    pub outs: Vec<usize>,
    /// True if a step changes rows.
    pub writes: bool,
    /// True if a query of it locks rows.
    pub locks_rows: bool,
}

/// The places of a trigger's variables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TriggerPlaces {
    /// The first place of the new row, and of the old one.
    pub new: usize,
    pub old: usize,
    /// The columns of a row.
    pub width: usize,
    /// The first place of `TG_NAME` and the variables behind it.
    pub about: usize,
}

/// The form of the result.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Void,
    /// The row of a trigger.
    Row,
    Value(TypeSpec),
    Rows(Vec<TypeSpec>),
    /// One row of several columns, or none.
    OneRow(Vec<TypeSpec>),
}

/// A statement of a body.
#[derive(Debug)]
pub(crate) struct Query {
    pub plan: Box<dyn Statement>,
    /// The values of the frame that it asks for.
    pub asked: Vec<OuterColumn>,
    /// The types of its columns.
    pub columns: Vec<SqlType>,
}

/// A variable that gets a value.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub at: usize,
    pub spec: TypeSpec,
    /// Its name, if it may not be null.
    pub not_null: Option<String>,
}

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a body has few steps, and each is made once"
)]
pub(crate) enum Step {
    /// A statement whose rows are dropped.
    Run(Query),
    /// Its first row goes into the places.
    Into {
        query: Query,
        places: Vec<Place>,
        is_strict: bool,
        /// False for an assignment, which does not set `FOUND`.
        finds: bool,
    },
    If(Vec<(Query, Vec<Step>)>, Vec<Step>),
    /// Without a condition, the loop ends by itself.
    While(Option<Query>, Vec<Step>),
    For(Query, Vec<Place>, Vec<Step>),
    Count {
        place: usize,
        from: Query,
        to: Query,
        by: Option<Query>,
        is_reverse: bool,
        steps: Vec<Step>,
    },
    Leave {
        continues: bool,
        when: Option<Query>,
    },
    /// `RETURN`
    Give(Option<Query>),
    GiveRow(GivenRow),
    GiveRows(Query),
    /// `RETURN NEXT` of places.
    GiveNext(Vec<usize>),
    GiveNextOf(Query),
    Raise(Box<Message>),
    Block(Vec<Step>, Vec<(Vec<Caught>, Vec<Step>)>),
    /// `GET DIAGNOSTICS`
    CountOfRows(Place),
}

/// The row that a trigger's function returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GivenRow {
    New,
    Old,
    /// The new row, or else the old one.
    Either,
    None,
}

/// `RAISE`
#[derive(Debug)]
pub(crate) struct Message {
    pub level: &'static str,
    pub format: Option<String>,
    pub arguments: Vec<Query>,
    pub code: Option<&'static str>,
    pub detail: Option<Query>,
    pub hint: Option<Query>,
}
