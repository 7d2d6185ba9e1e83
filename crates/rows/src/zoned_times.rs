//! Times of the day with a zone: the values of the declared type `timetz`, whose columns are bytes.
//!
//! ```text
//! 0                8              12
//! ├ time in UTC ───┼ zone ────────┤
//! ```
//!
//! The time in UTC is the time of the day and the zone, in microseconds: it may be before midnight, or behind the next one.
//! The zone is in seconds west of UTC. Both have the most significant byte first and the sign turned. So bytes are ordered as
//! PostgreSQL orders such times: by the time in UTC, then by the zone. Hence indexes and keys of such a column are those of its
//! bytes.
//!
//! Invariant: a value has exactly one form, so equal values have equal bytes. [`ZonedTime::decode`] accepts that form only.
//!
//! Source: PostgreSQL 15, `timetz_cmp_internal` in `src/backend/utils/adt/date.c`.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::value_text::DAY;

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;
/// The bytes of a value.
const BYTES: usize = 12;

/// A time of the day with its zone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ZonedTime {
    micros: i64,
    west: i32,
}

impl ZonedTime {
    /// A time in microseconds since midnight, to 24:00 inclusive, at a distance in seconds west of UTC; `None` for a time that
    /// no day has.
    pub fn new(micros: i64, west: i32) -> Option<ZonedTime> {
        (0..=DAY)
            .contains(&micros)
            .then_some(ZonedTime { micros, west })
    }

    /// The time of the day, in microseconds since midnight.
    pub fn micros(self) -> i64 {
        self.micros
    }

    /// The distance from UTC, in seconds to the west.
    pub fn west(self) -> i32 {
        self.west
    }

    /// The same time in UTC, in microseconds since midnight. It is negative of the day before.
    pub fn in_utc(self) -> i64 {
        self.micros + i64::from(self.west) * SECOND
    }

    /// The same moment of the day in another zone.
    #[must_use]
    pub fn at(self, west: i32) -> ZonedTime {
        let micros = self.in_utc() - i64::from(west) * SECOND;
        ZonedTime {
            micros: micros.rem_euclid(DAY),
            west,
        }
    }

    /// True if it has at most so many digits of a second's fraction.
    pub fn has_digits(self, digits: u32) -> bool {
        let unit = 10_i64.pow(6_u32.saturating_sub(digits));
        self.micros % unit == 0
    }

    /// It as bytes, as a column has them.
    pub fn encode(self) -> Vec<u8> {
        self.order_after(0)
    }

    /// Bytes in the order of times, of one that is so many microseconds later, or earlier, also beyond midnight. No column has
    /// them then.
    pub fn order_after(self, micros: i64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend((self.in_utc().saturating_add(micros) ^ i64::MIN).to_be_bytes());
        bytes.extend((self.west ^ i32::MIN).to_be_bytes());
        bytes
    }

    /// The value of bytes; `None` if they are none.
    pub fn decode(bytes: &[u8]) -> Option<ZonedTime> {
        let (utc, west) = bytes.split_first_chunk()?;
        let in_utc = i64::from_be_bytes(*utc) ^ i64::MIN;
        let west = i32::from_be_bytes(west.try_into().ok()?) ^ i32::MIN;
        let micros = in_utc.checked_sub(i64::from(west) * SECOND)?;
        ZonedTime::new(micros, west)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times() -> impl Strategy<Value = ZonedTime> {
        let zones = prop_oneof![-57_599..57_600, any::<i32>()];
        (0..=DAY, zones).prop_map(|(micros, west)| ZonedTime::new(micros, west).expect("a time"))
    }

    #[test]
    fn bytes_that_are_no_time_are_refused() {
        let time = ZonedTime::new(DAY, -7200)
            .expect("the end of a day")
            .encode();
        assert_eq!(time.len(), BYTES);
        let beyond = [&time[..7], &[time[7] + 1], &time[8..]].concat();
        let before = ZonedTime {
            micros: -1,
            west: 0,
        }
        .encode();
        for bytes in [
            &b""[..],
            b"10:00:00+02",
            &time[1..],
            &beyond,
            &before,
            &[0xff; 12],
            &[0; 12],
        ] {
            assert_eq!(ZonedTime::decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(ZonedTime::new(-1, 0), None);
        assert_eq!(ZonedTime::new(DAY + 1, 0), None);
    }

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(time in times()) {
            prop_assert_eq!(ZonedTime::decode(&time.encode()), Some(time));
        }

        #[test]
        fn bytes_are_ordered_by_the_time_in_utc_and_the_zone(one in times(), other in times()) {
            let order = (one.in_utc(), one.west).cmp(&(other.in_utc(), other.west));
            prop_assert_eq!(one.encode().cmp(&other.encode()), order);
        }

        #[test]
        fn bytes_have_one_form(bytes in proptest::collection::vec(any::<u8>(), 10..14)) {
            if let Some(time) = ZonedTime::decode(&bytes) {
                prop_assert_eq!(time.encode(), bytes);
            }
        }

        #[test]
        fn another_zone_has_the_same_moment(time in times(), west in -57_599..57_600) {
            let there = time.at(west);
            prop_assert_eq!((there.in_utc() - time.in_utc()).rem_euclid(DAY), 0);
            prop_assert!((0..DAY).contains(&there.micros()));
            prop_assert_eq!(there.west(), west);
        }
    }
}
