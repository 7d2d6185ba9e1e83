//! Expressions: compiled once, with columns and parameters by number and every type known, then evaluated over rows.
//!
//! - [`compile`](self::compile): from a syntax tree to an [`Expr`], by SQL's rules of types; its parts are
//!   [`predicates`], [`operators`], [`calls`], [`coercion`] and [`subqueries`];
//! - [`evaluate`]: an [`Expr`] over a row;
//! - [`cast`]: conversion of values between types; [`arithmetic`]: numbers and dates;
//! - [`functions`]: the tables of functions.
//!
//! A comparison with a null is null, as in SQL. Values are the engine's; text and bytes are borrowed from the row until
//! an operation changes them.

mod aggregates;
mod around;
mod array_calls;
mod array_operators;
mod bit_operators;
mod calls;
mod catalogue;
mod check;
mod coercion;
mod collating;
mod common_type;
mod comparable;
mod compile;
mod datum;
mod drawing;
mod each;
mod elements;
mod environment;
mod evaluate;
pub(crate) mod functions;
mod hstore_operators;
mod in_lists;
mod inlined;
mod json_operators;
pub(crate) mod json_path;
mod kept;
pub(crate) mod labels;
mod lists;
mod literal;
mod moments;
mod named_arguments;
mod named_parts;
mod network_operators;
mod null_beside;
mod operator_errors;
mod operator_trees;
mod operators;
mod order;
mod ordered_sets;
mod outer_aggregates;
mod parameters;
pub(crate) mod patterns;
mod precedence;
mod predicates;
mod range_operators;
mod records;
mod regex_syntax;
mod routine_calls;
pub(crate) mod row_calls;
mod scope;
mod search_operators;
pub(crate) mod shown;
pub(crate) mod shown_casts;
mod similarity_operators;
mod subqueries;
mod subquery;
mod system_columns;
mod time_operators;
mod trees;
mod variadic;
mod whole_rows;
pub(crate) mod window;
mod windows;

pub(crate) use crate::values::cast::{crosses_zone, writes_intervals};
pub(crate) use around::{Around, Drafted, DraftedQuery, OuterColumn, PlannedRoutine, Queries};
pub(crate) use catalogue::Catalogue;
pub(crate) use check::{
    NamedColumn, Use, declared_check, declared_expression, not_immutable, program_check,
    row_condition, scope_of_columns, stored_check, stored_expression,
};
pub(crate) use coercion::literal_as;
pub(crate) use comparable::{distinguishable, ordered, sortable};
pub(crate) use compile::Compiler;
pub(crate) use datum::Datum;
pub(crate) use drawing::{check_numbers_read, check_rights, may_read_numbers, name_of_right};
pub(crate) use each::{Each, Elements};
pub(crate) use elements::EXPANDED;
pub(crate) use environment::{Environment, StatementContext};
pub(crate) use evaluate::are_same;
pub(crate) use functions::Function;
pub(crate) use inlined::inlined;
pub(crate) use kept::{Answer, Found, Kept, KeyedAnswers, Progress, Reading, SemiRows};
pub(crate) use lists::{List, ListOf, Lists};
pub(crate) use literal::literal_value;
use literal::word;
pub(crate) use moments::kept_expression;
pub(crate) use order::{SortKey, in_order, is_descending, sort_key};
pub(crate) use parameters::Parameters;
pub(crate) use routine_calls::is_known;
pub(crate) use scope::{Scope, ScopeColumn, ScopeTable};
pub(crate) use shown::{shown_check, with_names};
pub(crate) use subquery::{Compared, InnerQuery, Question, Subquery};
pub(crate) use system_columns::SystemColumns;
pub(crate) use time_operators::interval_of;
pub(crate) use trees::{parts_of_tree, row_of};
pub(crate) use whole_rows::{
    is_row, not_known, row_of_field, row_of_fields, text_of_row, whole_row,
};

pub(crate) use crate::values::Comparison;
use crate::values::{arithmetic, arrays, cast};

use crate::types::{SqlType, TypeSpec};
use crate::values::intervals::Interval;
use arithmetic::Arithmetic;
use sardonyx::schema::Value;

/// A compiled expression.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expr {
    Literal(Value),
    /// A parameter by its number, from 0.
    Parameter(usize),
    /// A column of the row, by its place there.
    Column(usize),
    /// A value of the rows around this query's, by its number among those that the query asks for.
    Outer(usize),
    /// A column of the row to which another one is joined, by its place in the whole row.
    Before(usize),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Comparison, Box<(Expr, Expr)>),
    /// `is distinct from`, or not.
    Distinct(Box<(Expr, Expr)>, bool),
    IsNull(Box<Expr>),
    /// `is true`, `is false`.
    IsBool(Box<Expr>, bool),
    /// A value is one of a list.
    In(Box<Expr>, List),
    Like(Box<Like>),
    /// A value is tested with each element of an array.
    Each(Box<Each>),
    Case(Box<Case>),
    Coalesce(Vec<Expr>),
    Arithmetic(Arithmetic, SqlType, Box<(Expr, Expr)>),
    Negate(SqlType, Box<Expr>),
    /// A timestamp moved by an interval.
    Shift(Box<Expr>, Interval, SqlType),
    Cast(Box<Expr>, SqlType, TypeSpec, bool),
    Call(Function, Vec<Expr>),
    Subquery(Box<Subquery>),
}

/// `case`: conditions with their results.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Case {
    pub arms: Vec<(Expr, Expr)>,
    pub otherwise: Expr,
}

/// `like`, `ilike`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Like {
    pub text: Expr,
    pub pattern: Expr,
    pub escape: Option<char>,
    pub ignores_case: bool,
}

/// An expression with its type.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Typed {
    pub expr: Expr,
    pub spec: TypeSpec,
}

impl Typed {
    pub fn new(expr: Expr, kind: SqlType) -> Self {
        Typed {
            expr,
            spec: TypeSpec::plain(kind),
        }
    }

    pub fn kind(&self) -> SqlType {
        self.spec.kind
    }
}

impl Expr {
    /// Calls `each` with every part, itself first. The parts of a subquery are its arguments: the columns inside it are
    /// of its own rows.
    pub fn walk(&self, each: &mut dyn FnMut(&Expr)) {
        each(self);
        match self {
            Expr::Literal(_)
            | Expr::Parameter(_)
            | Expr::Column(_)
            | Expr::Outer(_)
            | Expr::Before(_) => {}
            Expr::And(parts) | Expr::Or(parts) | Expr::Coalesce(parts) | Expr::Call(_, parts) => {
                parts.iter().for_each(|part| part.walk(each));
            }
            Expr::Not(part)
            | Expr::IsNull(part)
            | Expr::IsBool(part, _)
            | Expr::Negate(_, part)
            | Expr::Shift(part, ..)
            | Expr::Cast(part, ..) => part.walk(each),
            Expr::Compare(_, sides) | Expr::Distinct(sides, _) | Expr::Arithmetic(_, _, sides) => {
                sides.0.walk(each);
                sides.1.walk(each);
            }
            Expr::In(part, list) => {
                part.walk(each);
                list.parts().iter().for_each(|part| part.walk(each));
            }
            Expr::Like(like) => {
                like.text.walk(each);
                like.pattern.walk(each);
            }
            // The columns of the test are of its own row.
            Expr::Each(test) => {
                test.value.walk(each);
                test.elements
                    .parts()
                    .iter()
                    .for_each(|part| part.walk(each));
            }
            Expr::Case(case) => {
                for (condition, result) in &case.arms {
                    condition.walk(each);
                    result.walk(each);
                }
                case.otherwise.walk(each);
            }
            Expr::Subquery(subquery) => subquery.parts().for_each(|part| part.walk(each)),
        }
    }

    /// Replaces every column by another expression.
    pub fn replace_columns(&mut self, with: &dyn Fn(usize) -> Expr) {
        match self {
            Expr::Column(place) => *self = with(*place),
            Expr::Literal(_) | Expr::Parameter(_) | Expr::Outer(_) | Expr::Before(_) => {}
            Expr::And(parts) | Expr::Or(parts) | Expr::Coalesce(parts) | Expr::Call(_, parts) => {
                parts.iter_mut().for_each(|part| part.replace_columns(with));
            }
            Expr::Not(part)
            | Expr::IsNull(part)
            | Expr::IsBool(part, _)
            | Expr::Negate(_, part)
            | Expr::Shift(part, ..)
            | Expr::Cast(part, ..) => part.replace_columns(with),
            Expr::Compare(_, sides) | Expr::Distinct(sides, _) | Expr::Arithmetic(_, _, sides) => {
                sides.0.replace_columns(with);
                sides.1.replace_columns(with);
            }
            Expr::In(part, list) => {
                part.replace_columns(with);
                list.replace_columns(with);
            }
            Expr::Like(like) => {
                like.text.replace_columns(with);
                like.pattern.replace_columns(with);
            }
            Expr::Each(each) => {
                each.value.replace_columns(with);
                let parts = each.elements.parts_mut().iter_mut();
                parts.for_each(|part| part.replace_columns(with));
            }
            Expr::Case(case) => {
                for (condition, result) in &mut case.arms {
                    condition.replace_columns(with);
                    result.replace_columns(with);
                }
                case.otherwise.replace_columns(with);
            }
            Expr::Subquery(subquery) => {
                let parts = subquery.parts_mut();
                parts.for_each(|part| part.replace_columns(with));
            }
        }
    }

    /// Moves the places of columns by `by`, for a row that begins later.
    pub fn shift_columns(&mut self, by: usize) {
        self.replace_columns(&|place| Expr::Column(place - by));
    }

    /// True if it reads no column, so that it has one value for all rows.
    pub fn is_constant(&self) -> bool {
        !self.any(&|part| match part {
            Expr::Column(_) => true,
            Expr::Call(function, _) => function.is_volatile(),
            _ => false,
        })
    }

    /// True if another evaluation may give another value, or have an effect.
    pub fn is_volatile(&self) -> bool {
        self.any(&|part| match part {
            Expr::Call(function, _) => function.is_volatile(),
            Expr::Subquery(subquery) => subquery.query.is_volatile(),
            _ => false,
        })
    }

    /// True if a part of it meets a condition.
    pub fn any(&self, is_so: &dyn Fn(&Expr) -> bool) -> bool {
        let mut any = false;
        self.walk(&mut |part| any |= is_so(part));
        any
    }

    /// True if it depends on each row only: neither volatile, nor a subquery.
    pub fn is_plain(&self) -> bool {
        !self.any(&|part| match part {
            Expr::Call(function, _) => function.is_volatile(),
            Expr::Subquery(_) => true,
            _ => false,
        })
    }
}
