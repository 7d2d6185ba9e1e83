//! Expressions: compiled once, with columns and parameters by number and every type known, then evaluated over rows.
//!
//! - [`compile`](self::compile): from a text's tree to an [`Expr`], by SQL's rules of types; its parts are
//!   [`predicates`], [`operators`], [`calls`] and [`coercion`];
//! - [`evaluate`]: an [`Expr`] over a row;
//! - [`cast`]: values from one type to another; [`arithmetic`]: numbers and dates;
//! - [`functions`]: which there are, and what they do.
//!
//! A comparison with a null is null, as in SQL. Values are the engine's; text and bytes are borrowed from the row as
//! long as nothing is computed of them.

pub(crate) mod arithmetic;
mod calls;
pub(crate) mod cast;
mod coercion;
mod compile;
mod evaluate;
mod function_calls;
mod function_numbers;
mod function_texts;
mod function_times;
pub(crate) mod functions;
mod literal;
mod operators;
mod parameters;
mod predicates;
mod scope;

pub(crate) use compile::Compiler;
pub(crate) use evaluate::{Datum, Environment, InputRow, StatementContext, Values};
pub(crate) use functions::Function;
pub(crate) use literal::literal_value;
pub(crate) use parameters::Parameters;
pub(crate) use scope::{Scope, ScopeColumn, ScopeTable};

use crate::types::{SqlType, TypeSpec};
use arithmetic::{Arithmetic, Interval};
use sardonyx::schema::Value;
use std::cmp::Ordering;

/// A compiled expression.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expr {
    Literal(Value),
    /// By its number, from 0.
    Parameter(usize),
    /// A column of the row, by its place there.
    Column(usize),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Comparison, Box<(Expr, Expr)>),
    /// `is distinct from`, or not.
    Distinct(Box<(Expr, Expr)>, bool),
    IsNull(Box<Expr>),
    /// `is true`, `is false`.
    IsBool(Box<Expr>, bool),
    In(Box<Expr>, Vec<Expr>),
    Like(Box<Like>),
    Case(Box<Case>),
    Coalesce(Vec<Expr>),
    Arithmetic(Arithmetic, SqlType, Box<(Expr, Expr)>),
    Negate(SqlType, Box<Expr>),
    /// A timestamp, and what is added to it.
    Shift(Box<Expr>, Interval, SqlType),
    Cast(Box<Expr>, SqlType, TypeSpec, bool),
    Call(Function, Vec<Expr>),
}

/// `case`: conditions with what they give.
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

/// How two values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub fn accepts(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::Unequal => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The same with the sides exchanged.
    pub fn reversed(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::Unequal => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
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
    /// Calls `each` with every part, itself first.
    pub fn walk(&self, each: &mut dyn FnMut(&Expr)) {
        each(self);
        match self {
            Expr::Literal(_) | Expr::Parameter(_) | Expr::Column(_) => {}
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
                list.iter().for_each(|part| part.walk(each));
            }
            Expr::Like(like) => {
                like.text.walk(each);
                like.pattern.walk(each);
            }
            Expr::Case(case) => {
                for (condition, result) in &case.arms {
                    condition.walk(each);
                    result.walk(each);
                }
                case.otherwise.walk(each);
            }
        }
    }

    /// Columns by their places in a row that begins so many later.
    pub fn shift_columns(&mut self, by: usize) {
        match self {
            Expr::Column(place) => *place -= by,
            Expr::Literal(_) | Expr::Parameter(_) => {}
            Expr::And(parts) | Expr::Or(parts) | Expr::Coalesce(parts) | Expr::Call(_, parts) => {
                parts.iter_mut().for_each(|part| part.shift_columns(by));
            }
            Expr::Not(part)
            | Expr::IsNull(part)
            | Expr::IsBool(part, _)
            | Expr::Negate(_, part)
            | Expr::Shift(part, ..)
            | Expr::Cast(part, ..) => part.shift_columns(by),
            Expr::Compare(_, sides) | Expr::Distinct(sides, _) | Expr::Arithmetic(_, _, sides) => {
                sides.0.shift_columns(by);
                sides.1.shift_columns(by);
            }
            Expr::In(part, list) => {
                part.shift_columns(by);
                list.iter_mut().for_each(|part| part.shift_columns(by));
            }
            Expr::Like(like) => {
                like.text.shift_columns(by);
                like.pattern.shift_columns(by);
            }
            Expr::Case(case) => {
                for (condition, result) in &mut case.arms {
                    condition.shift_columns(by);
                    result.shift_columns(by);
                }
                case.otherwise.shift_columns(by);
            }
        }
    }

    /// Whether it reads no column, so that it has one value for all rows.
    pub fn is_constant(&self) -> bool {
        let mut constant = true;
        self.walk(&mut |part| match part {
            Expr::Column(_) => constant = false,
            Expr::Call(function, _) if function.is_volatile() => constant = false,
            _ => {}
        });
        constant
    }
}
