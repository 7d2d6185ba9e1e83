//! An entry in the tables of functions: name, types, volatility and code.

use crate::error::SqlError;
use crate::expression::{Datum, Environment};
use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};
use std::fmt;

/// The type of an argument, or of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Of(SqlType),
    /// Any type. The type's number is passed before the value.
    Any,
    /// An array of any elements.
    Array,
    /// A value of an enum type. The type's number is passed before it.
    Enum,
    /// An array of the first argument's enum type.
    Enums,
    /// A range. Its type's number is passed before it.
    Range,
    /// A value of the range's bounds' type.
    Bound,
    /// An element of the array. The number of the elements' type is passed behind all arguments, the array first.
    Element,
}

macro_rules! kinds {
    ($($name:ident = $kind:ident),* $(,)?) => {
        $(pub(super) const $name: Kind = Kind::Of(SqlType::$kind);)*
    };
}

kinds!(
    BIT = Bit,
    BOOL = Bool,
    BYTEA = Bytea,
    CHAR = Char,
    CIDR = Cidr,
    DATE = Date,
    DATERANGE = DateRange,
    FLOAT4 = Float4,
    FLOATS = Float4Array,
    FLOAT8 = Float8,
    HSTORE = Hstore,
    INET = Inet,
    INT2 = Int2,
    INT4 = Int4,
    INT4RANGE = Int4Range,
    INT8 = Int8,
    INT8RANGE = Int8Range,
    INTS = Int4Array,
    INTERVAL = Interval,
    JSON = Json,
    JSONB = Jsonb,
    JSONPATH = Jsonpath,
    NAME = Name,
    NUMERIC = Numeric,
    NUMRANGE = NumRange,
    RECORD = Record,
    OID = Oid,
    OIDVECTOR = OidVector,
    ONE_CHAR = OneChar,
    ONE_CHARS = OneCharArray,
    REGCLASS = Regclass,
    REGCOLLATION = Regcollation,
    REGCONFIG = Regconfig,
    REGNAMESPACE = Regnamespace,
    REGPROC = Regproc,
    REGPROCEDURE = Regprocedure,
    REGROLE = Regrole,
    REGTYPE = Regtype,
    TEXT = Text,
    TEXTS = TextArray,
    TIME = Time,
    TIMESTAMP = Timestamp,
    TIMESTAMPTZ = Timestamptz,
    TIMETZ = Timetz,
    TSRANGE = TsRange,
    TSTZRANGE = TstzRange,
    TSQUERY = Tsquery,
    TSVECTOR = Tsvector,
    UUID = Uuid,
    VARBIT = Varbit,
    VOID = Void,
);

pub(super) const ANY: Kind = Kind::Any;
pub(super) const ARRAY: Kind = Kind::Array;
pub(super) const BOUND: Kind = Kind::Bound;
pub(super) const ELEMENT: Kind = Kind::Element;
pub(super) const ENUM: Kind = Kind::Enum;
pub(super) const ENUMS: Kind = Kind::Enums;
pub(super) const RANGE: Kind = Kind::Range;

impl Kind {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Of(kind) => kind.name(),
            Kind::Any => "\"any\"",
            Kind::Array | Kind::Enums => "anyarray",
            Kind::Element | Kind::Bound => "anyelement",
            Kind::Enum => "anyenum",
            Kind::Range => "anyrange",
        }
    }

    pub fn plain(self) -> Option<SqlType> {
        match self {
            Kind::Of(kind) => Some(kind),
            _ => None,
        }
    }

    /// Its number in PostgreSQL's catalogue.
    pub fn oid(self) -> u32 {
        match self {
            Kind::Of(kind) => kind.oid(),
            Kind::Any => 2276,
            Kind::Array => 2277,
            Kind::Element | Kind::Bound => 2283,
            Kind::Enum => 3500,
            Kind::Enums => 2277,
            Kind::Range => 3831,
        }
    }
}

/// The time for which a function has the same value for the same arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Volatility {
    /// Always, in every session.
    Immutable,
    /// The same during a statement.
    Stable,
    /// Each call may give another value, or has an effect.
    Volatile,
}

/// The values with which a function is called.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'v>(&'v [Datum<'v>]);

impl<'v> Arguments<'v> {
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// The argument at a place; null if there are fewer.
    pub fn value(self, at: usize) -> ValueRef<'v> {
        self.0.get(at).map_or(ValueRef::Null, Datum::as_ref)
    }

    pub fn all(self) -> impl Iterator<Item = ValueRef<'v>> {
        self.0.iter().map(Datum::as_ref)
    }

    /// A text; empty if it is none.
    pub fn text(self, at: usize) -> &'v str {
        self.given_text(at).unwrap_or_default()
    }

    pub fn given_text(self, at: usize) -> Option<&'v str> {
        match self.value(at) {
            ValueRef::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number; 0 if it is none.
    pub fn int(self, at: usize) -> i64 {
        self.given_int(at).unwrap_or(0)
    }

    pub fn given_int(self, at: usize) -> Option<i64> {
        match self.value(at) {
            ValueRef::Int(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    pub fn is_true(self, at: usize) -> bool {
        self.value(at) == ValueRef::Bool(true)
    }

    /// The number of an object of the catalogue.
    pub fn oid(self, at: usize) -> Option<u32> {
        u32::try_from(self.given_int(at)?).ok()
    }

    pub fn kind(self, at: usize) -> SqlType {
        let kind = self.oid(at).and_then(SqlType::from_number);
        kind.unwrap_or(SqlType::Text)
    }

    /// The values behind the first ones, each of which follows its type's number.
    pub fn typed(self, from: usize) -> impl ExactSizeIterator<Item = (SqlType, ValueRef<'v>)> {
        let count = self.len().saturating_sub(from) / 2;
        (0..count).map(move |number| {
            let at = from + 2 * number;
            (self.kind(at), self.value(at + 1))
        })
    }
}

pub(super) type Code = fn(Arguments<'_>, &Environment<'_>) -> Result<Value, SqlError>;

/// A function for arguments of certain types.
pub(crate) struct Definition {
    pub name: &'static str,
    pub arguments: &'static [Kind],
    pub result: Kind,
    /// For people.
    pub about: &'static str,
    pub volatility: Volatility,
    /// True if it is null without a call when an argument is.
    pub is_strict: bool,
    /// True if the last argument may be given several times.
    pub is_variadic: bool,
    /// True if an array follows its type's number, as a value of any type does.
    pub is_typed: bool,
    /// True if it gives a row for each element of the array that it returns.
    pub gives_rows: bool,
    /// True if it reads or sets the session's state.
    pub is_of_session: bool,
    /// True if its steps are not linear in its arguments. It has a bound of its own. Kept expressions are computed for
    /// each row that is written, so they do not call it.
    pub is_long: bool,
    /// True if PostgreSQL has no such function. Expressions that tables keep may call it, since earlier versions had it.
    pub is_old: bool,
    code: Code,
}

impl Definition {
    /// An immutable, strict function.
    pub(super) const fn new(
        name: &'static str,
        arguments: &'static [Kind],
        result: Kind,
        code: Code,
        about: &'static str,
    ) -> Definition {
        Definition {
            name,
            arguments,
            result,
            about,
            volatility: Volatility::Immutable,
            is_strict: true,
            is_variadic: false,
            is_typed: false,
            gives_rows: false,
            is_of_session: false,
            is_long: false,
            is_old: false,
            code,
        }
    }

    pub(super) const fn stable(mut self) -> Definition {
        self.volatility = Volatility::Stable;
        self
    }

    pub(super) const fn volatile(mut self) -> Definition {
        self.volatility = Volatility::Volatile;
        self
    }

    pub(super) const fn on_null(mut self) -> Definition {
        self.is_strict = false;
        self
    }

    pub(super) const fn variadic(mut self) -> Definition {
        self.is_variadic = true;
        self
    }

    pub(super) const fn typed(mut self) -> Definition {
        self.is_typed = true;
        self
    }

    pub(super) const fn rows(mut self) -> Definition {
        self.gives_rows = true;
        self
    }

    pub(super) const fn long(mut self) -> Definition {
        self.is_long = true;
        self
    }

    pub(super) const fn old(mut self) -> Definition {
        self.is_old = true;
        self
    }

    pub(super) const fn session(mut self) -> Definition {
        self.is_of_session = true;
        self
    }
}

/// A function of a table, or of an operator.
#[derive(Clone, Copy)]
pub(crate) struct Function(pub &'static Definition);

impl Function {
    /// Calls it.
    ///
    /// # Errors
    /// An error of computing.
    #[inline]
    pub fn call(self, values: &[Datum<'_>], with: &Environment<'_>) -> Result<Value, SqlError> {
        if self.0.is_strict && values.iter().any(Datum::is_null) {
            return Ok(Value::Null);
        }
        (self.0.code)(Arguments(values), with)
    }

    /// True if it is null without a call when an argument is.
    pub fn is_strict(self) -> bool {
        self.0.is_strict
    }

    /// True if it gives a row for each element of the array that it returns.
    pub fn gives_rows(self) -> bool {
        self.0.gives_rows
    }

    /// True if its value depends on its arguments only, in every session.
    pub fn is_immutable(self) -> bool {
        self.0.volatility == Volatility::Immutable
    }

    /// True if it may give another value each time.
    pub fn is_volatile(self) -> bool {
        self.0.volatility == Volatility::Volatile
    }

    /// True if it has this name, with any arguments.
    pub fn is(self, name: &str) -> bool {
        self.0.name == name
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.0.name == other.0.name && self.0.arguments == other.0.arguments
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

/// A table of functions, one entry a line: name, types, code, a line for people, and the differences from an immutable,
/// strict function.
macro_rules! functions {
    ($($name:ident($($argument:ident),*) -> $result:ident, $code:expr, $about:literal
        $(, $differs:ident)*;)*) => {
        &[$(
            Definition::new(stringify!($name), &[$($argument),*], $result, $code, $about)
                $(.$differs())*,
        )*]
    };
}

pub(super) use functions;

/// The result of a function.
pub(super) type Answer = Result<Value, SqlError>;

pub(super) fn text(text: impl Into<String>) -> Answer {
    Ok(Value::Text(text.into()))
}

pub(super) fn int(value: impl TryInto<i128>) -> Answer {
    Ok(Value::Int(value.try_into().unwrap_or(i128::MAX)))
}
