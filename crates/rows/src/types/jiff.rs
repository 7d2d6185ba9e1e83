//! Conversions to and from the dates and times of the crate `jiff`, whose years end at 9999.

use super::{Date, Time, Timestamp};
use jiff::civil;

impl TryFrom<Date> for civil::Date {
    type Error = jiff::Error;

    /// # Errors
    /// For a day beyond the years that `jiff` has.
    fn try_from(date: Date) -> Result<Self, jiff::Error> {
        let days = jiff::Span::new().try_days(date.0)?;
        civil::date(1970, 1, 1).checked_add(days)
    }
}

impl From<civil::Date> for Date {
    fn from(date: civil::Date) -> Self {
        let (year, month, day) = (date.year(), date.month(), date.day());
        Date::new(year.into(), month as u32, day as u32).unwrap_or_default()
    }
}

impl TryFrom<Time> for civil::Time {
    type Error = jiff::Error;

    /// # Errors
    /// For microseconds that are no time of a day.
    fn try_from(time: Time) -> Result<Self, jiff::Error> {
        let micros = jiff::Span::new().try_microseconds(time.0)?;
        civil::Time::midnight().checked_add(micros)
    }
}

impl From<civil::Time> for Time {
    /// Nanoseconds are cut off.
    fn from(time: civil::Time) -> Self {
        let whole = (i64::from(time.hour()) * 60 + i64::from(time.minute())) * 60
            + i64::from(time.second());
        let micros = i64::from(time.subsec_nanosecond()) / 1_000;
        Time(whole * 1_000_000 + micros)
    }
}

impl TryFrom<Timestamp> for jiff::Timestamp {
    type Error = jiff::Error;

    /// # Errors
    /// For a point in time beyond the years that `jiff` has.
    fn try_from(time: Timestamp) -> Result<Self, jiff::Error> {
        jiff::Timestamp::from_microsecond(time.0)
    }
}

impl From<jiff::Timestamp> for Timestamp {
    /// Nanoseconds are cut off, towards the past.
    fn from(time: jiff::Timestamp) -> Self {
        let nanos = time.as_nanosecond().div_euclid(1_000);
        Timestamp(i64::try_from(nanos).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Days of the years -9999 to 9999, and a few beyond.
        #[test]
        fn days_are_the_same_days(days in -4_400_000..3_000_000_i32) {
            match civil::Date::try_from(Date(days)) {
                Ok(day) => {
                    prop_assert_eq!(Date::from(day), Date(days));
                    let (year, month, of_month) = Date(days).parts();
                    let same = (i32::from(day.year()), day.month() as u32, day.day() as u32);
                    prop_assert_eq!(same, (year, month, of_month));
                    prop_assert_eq!(day.weekday().to_monday_one_offset() as u32, Date(days).weekday());
                }
                Err(_) => prop_assert!(!(-9999..=9999).contains(&Date(days).parts().0)),
            }
        }

        #[test]
        fn times_are_the_same(time in -10..86_400_000_010_i64, micros: i64) {
            match civil::Time::try_from(Time(time)) {
                Ok(same) => prop_assert_eq!(Time::from(same), Time(time)),
                Err(_) => prop_assert_eq!(Time(time).parts(), None),
            }
            let near = Timestamp(micros / 100);
            let same = jiff::Timestamp::try_from(near);
            prop_assert_eq!(same.map(Timestamp::from).ok(), Some(near));
        }
    }
}
