//! `jsonpath`: paths of SQL/JSON, read as trees and written in one form. The tree is walked over a value in
//! `expression/json_path.rs`.
//!
//! Invariant: the text of a path is the one that PostgreSQL writes for it. So a kept path is read without errors.
//!
//! Source: PostgreSQL 15's documentation, 9.16.2; `jsonpath_gram.y`.

mod reading;
mod tokens;
mod writing;

use super::Comparison;
use crate::error::{SqlError, code};

/// The most steps, operators and values of a path: they are walked by recursion.
pub(crate) const NODES_MAX: usize = 256;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct JsonPath {
    pub is_strict: bool,
    pub root: Chain,
}

/// A value or a condition, and the steps that go on from it.
pub(crate) type Chain = Vec<Node>;

/// An operator of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operator {
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Modulo => "%",
        }
    }
}

/// A method of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    Abs,
    Size,
    Type,
    Floor,
    Double,
    Ceiling,
    KeyValue,
}

impl Method {
    pub const ALL: [Method; 7] = [
        Method::Abs,
        Method::Size,
        Method::Type,
        Method::Floor,
        Method::Double,
        Method::Ceiling,
        Method::KeyValue,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Method::Abs => "abs",
            Method::Size => "size",
            Method::Type => "type",
            Method::Floor => "floor",
            Method::Double => "double",
            Method::Ceiling => "ceiling",
            Method::KeyValue => "keyvalue",
        }
    }
}

/// A pattern of `like_regex` with its flags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    pub pattern: String,
    /// The letters of `i`, `s`, `m` and `q` that are given, in this order.
    pub flags: String,
}

/// The number of levels that means the last one.
pub(crate) const LAST_LEVEL: u32 = u32::MAX;

/// A part of a path.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Node {
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`, in a subscript
    Last,
    Null,
    Bool(bool),
    /// The text of a `numeric`
    Number(String),
    Text(String),
    Variable(String),
    /// `.name`
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyArray,
    /// `[a, b to c]`
    Indexes(Vec<(Chain, Option<Chain>)>),
    /// `.**{first to last}`
    Any(u32, u32),
    /// `?(condition)`
    Filter(Chain),
    Method(Method),
    Arithmetic(Operator, Chain, Chain),
    /// A prefix: `+`, and if true, `-`.
    Sign(bool, Chain),
    And(Chain, Chain),
    Or(Chain, Chain),
    Not(Chain),
    IsUnknown(Chain),
    Exists(Chain),
    Compare(Comparison, Chain, Chain),
    StartsWith(Chain, Chain),
    LikeRegex(Chain, Pattern),
}

impl Node {
    /// True if it is true, false or unknown.
    pub fn is_condition(&self) -> bool {
        matches!(
            self,
            Node::And(..)
                | Node::Or(..)
                | Node::Not(_)
                | Node::IsUnknown(_)
                | Node::Exists(_)
                | Node::Compare(..)
                | Node::StartsWith(..)
                | Node::LikeRegex(..)
        )
    }
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// `42601` with the place; `22P02` for an empty text; `22P05`; `0A000` for `datetime()` and the flag `x`; `54001` for
    /// one of too many parts.
    pub fn read(text: &str) -> Result<JsonPath, SqlError> {
        reading::read(text)
    }

    /// Its text in the one form.
    pub fn text(&self) -> String {
        writing::written(self)
    }
}

#[cold]
fn too_complex() -> SqlError {
    SqlError::new(code::TOO_COMPLEX, "stack depth limit exceeded").detail(format!(
        "A jsonpath has at most {NODES_MAX} steps, operators and values."
    ))
}
