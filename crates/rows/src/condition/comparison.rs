//! The six operators that compare two values, and what several truths decide: once for conditions and for SQL.

use std::cmp::Ordering;
use std::convert::Infallible;

/// A comparison of two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// True if two values of this order meet it.
    #[inline]
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
    #[inline]
    pub fn orders(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::Unequal)
    }

    /// The same with the sides exchanged.
    #[must_use]
    #[inline]
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
    #[inline]
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

    /// The comparison that SQL writes so.
    #[inline]
    pub fn of_symbol(symbol: &str) -> Option<Comparison> {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Unequal};
        let all = [Equal, Unequal, Less, LessOrEqual, Greater, GreaterOrEqual];
        all.into_iter().find(|of| of.symbol() == symbol)
    }

    /// Its operator in SQL.
    #[inline]
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

/// The truth of several parts, of which one with the deciding truth decides: `false` for AND, `true` for OR and for IN.
/// Without one, an unknown part leaves it unknown. Parts behind the one that decides are not asked.
///
/// # Errors
/// The error of a part before the one that decides.
#[inline]
pub fn decided_by<E>(
    deciding: bool,
    parts: impl Iterator<Item = Result<Option<bool>, E>>,
) -> Result<Option<bool>, E> {
    let mut truth = Some(!deciding);
    for part in parts {
        match part? {
            Some(part) if part == deciding => return Ok(Some(deciding)),
            Some(_) => {}
            None => truth = None,
        }
    }
    Ok(truth)
}

/// [`decided_by`] of parts that cannot fail.
#[inline]
pub fn decided(deciding: bool, parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let Ok(truth) = decided_by(deciding, parts.map(Ok::<_, Infallible>));
    truth
}
