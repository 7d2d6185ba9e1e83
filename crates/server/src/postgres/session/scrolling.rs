//! The position of a cursor that goes back and forth, and the rows that a direction means from there.
//!
//! Its rows stay when they were given, so that none is computed twice. They are read as far as a direction asks.
//!
//! Source: PostgreSQL's `PortalRunFetch` and `DoPortalRunFetch`.

use crate::postgres::portions::Portions;
use sardonyx_base::waiting::Interrupt;
use sardonyx_sql::{Direction, SqlError};

/// The number of the row at which a cursor is: 0 before the first one, one more than there are behind the last.
#[derive(Debug, Default)]
pub(super) struct Scrolling {
    place: usize,
}

/// Consecutive rows, by their numbers from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    first: usize,
    last: usize,
    /// The last one comes first.
    is_backward: bool,
}

impl Found {
    const NONE: Found = Found::of(1, 0, false);

    const fn of(first: usize, last: usize, is_backward: bool) -> Found {
        Found {
            first,
            last,
            is_backward,
        }
    }

    /// The number of these rows.
    pub fn count(self) -> usize {
        (self.last + 1).saturating_sub(self.first)
    }

    /// The numbers, in the order in which the rows are sent.
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        (0..self.count()).map(move |at| match self.is_backward {
            true => self.last - at,
            false => self.first + at,
        })
    }
}

fn number(of: u64) -> usize {
    usize::try_from(of).unwrap_or(usize::MAX)
}

impl Scrolling {
    /// Goes in a direction, and returns the rows that it meets.
    ///
    /// # Errors
    /// The errors of reading the rows.
    pub async fn go(
        &mut self,
        direction: Direction,
        rows: &mut Portions,
        interrupt: Option<&Interrupt>,
    ) -> Result<Found, SqlError> {
        let place = self.place;
        match direction {
            Direction::Forward(count) => {
                let count = count.map_or(usize::MAX, number);
                let wanted = place.saturating_add(count);
                let there = rows.reach(wanted, interrupt).await?;
                let last = wanted.min(there);
                self.place = if wanted > there { there + 1 } else { last };
                Ok(Found::of(place + 1, last, false))
            }
            Direction::Backward(count) => {
                let count = count.map_or(usize::MAX, number);
                let first = place.saturating_sub(count).max(1);
                self.place = place.saturating_sub(count);
                match place {
                    0 | 1 => Ok(Found::NONE),
                    _ => Ok(Found::of(first, place - 1, true)),
                }
            }
            Direction::Absolute(0) => {
                self.place = 0;
                Ok(Found::NONE)
            }
            Direction::Absolute(to @ 1..) => {
                self.go_to(number(to.unsigned_abs()), rows, interrupt).await
            }
            Direction::Absolute(back) => {
                let there = rows.reach(usize::MAX, interrupt).await?;
                let to = (there + 1).saturating_sub(number(back.unsigned_abs()));
                self.go_to(to, rows, interrupt).await
            }
            Direction::Relative(by @ 1..) => {
                let to = place.saturating_add(number(by.unsigned_abs()));
                self.go_to(to, rows, interrupt).await
            }
            Direction::Relative(0) => self.go_to(place, rows, interrupt).await,
            Direction::Relative(by) => {
                let to = place.saturating_sub(number(by.unsigned_abs()));
                self.go_to(to, rows, interrupt).await
            }
        }
    }

    /// Goes to the row of a number, if there is one.
    async fn go_to(
        &mut self,
        to: usize,
        rows: &mut Portions,
        interrupt: Option<&Interrupt>,
    ) -> Result<Found, SqlError> {
        let there = rows.reach(to, interrupt).await?;
        self.place = to.min(there + 1);
        match (1..=there).contains(&to) {
            true => Ok(Found::of(to, to, false)),
            false => Ok(Found::NONE),
        }
    }
}
