//! The six operators that compare two values.

use std::cmp::Ordering;

/// A comparison of two values.
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

    /// True if it compares the order of values.
    pub fn orders(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::Unequal)
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

    /// The same without equality, and with it.
    pub fn strict_and_wide(self) -> (Comparison, Comparison) {
        match self {
            Comparison::Less | Comparison::LessOrEqual => {
                (Comparison::Less, Comparison::LessOrEqual)
            }
            Comparison::Greater | Comparison::GreaterOrEqual => {
                (Comparison::Greater, Comparison::GreaterOrEqual)
            }
            same => (same, same),
        }
    }

    pub fn of_symbol(symbol: &str) -> Option<Comparison> {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Unequal};
        let all = [Equal, Unequal, Less, LessOrEqual, Greater, GreaterOrEqual];
        all.into_iter().find(|of| of.symbol() == symbol)
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
