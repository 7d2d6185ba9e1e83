//! Parts and arithmetic of dates, times and timestamps. A day has 86,400 seconds, always: leap seconds are not counted.

use super::{Date, Time, Timestamp};
use crate::value_text::{DAY, add_months, date_of, days_of};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECOND: i64 = 1_000_000;

impl Date {
    /// The day of a year, a month (1 to 12) and a day of the month: `None` if there is no such day.
    ///
    /// ```
    /// # use sardonyx_rows as sardonyx;
    /// use sardonyx::types::Date;
    /// let leap = Date::new(2024, 2, 29).unwrap();
    /// assert_eq!(leap.to_string(), "2024-02-29");
    /// assert_eq!("2024-02-29".parse(), Ok(leap));
    /// assert_eq!(leap.checked_add_months(12), Date::new(2025, 2, 28));
    /// assert_eq!(Date::new(2023, 2, 29), None);
    /// ```
    pub fn new(year: i32, month: u32, day: u32) -> Option<Self> {
        let days = days_of(year.into(), month, day)?;
        i32::try_from(days).ok().map(Date)
    }

    /// The year, the month (1 to 12) and the day of the month, of the Gregorian calendar.
    #[inline]
    pub fn parts(self) -> (i32, u32, u32) {
        let (year, month, day) = date_of(self.0.into());
        // 2^31 days are less than six million years.
        (year as i32, month, day)
    }

    /// The day of the week: 1 for Monday to 7 for Sunday.
    pub fn weekday(self) -> u32 {
        // 1970-01-01 was a Thursday.
        (i64::from(self.0) + 3).rem_euclid(7) as u32 + 1
    }

    /// So many days later, or earlier if negative.
    pub fn checked_add_days(self, days: i64) -> Option<Self> {
        let moved = i64::from(self.0).checked_add(days)?;
        i32::try_from(moved).ok().map(Date)
    }

    /// The same day of the month so many months later, or earlier if negative; in a shorter month its last day.
    #[inline]
    pub fn checked_add_months(self, months: i32) -> Option<Self> {
        let moved = add_months(self.0.into(), months.into())?;
        i32::try_from(moved).ok().map(Date)
    }

    /// The number of days from another day to this; negative if this is earlier.
    pub fn days_since(self, other: Date) -> i64 {
        i64::from(self.0) - i64::from(other.0)
    }

    /// This day at a time, UTC: `None` if it is outside the range of timestamps.
    pub fn at(self, time: Time) -> Option<Timestamp> {
        let midnight = i64::from(self.0).checked_mul(DAY)?;
        midnight.checked_add(time.0).map(Timestamp)
    }
}

impl Time {
    /// The time of hours (0 to 23), minutes, seconds (0 to 59) and microseconds: `None` if there is no such time.
    pub fn new(hours: u32, minutes: u32, seconds: u32, micros: u32) -> Option<Self> {
        if hours > 23 || minutes > 59 || seconds > 59 || micros > 999_999 {
            return None;
        }
        let whole = i64::from((hours * 60 + minutes) * 60 + seconds) * SECOND;
        Some(Time(whole + i64::from(micros)))
    }

    /// The hours, minutes, seconds and microseconds: `None` if the microseconds exceed a day.
    pub fn parts(self) -> Option<(u32, u32, u32, u32)> {
        if !(0..DAY).contains(&self.0) {
            return None;
        }
        let (seconds, micros) = ((self.0 / SECOND) as u32, (self.0 % SECOND) as u32);
        Some((seconds / 3600, seconds / 60 % 60, seconds % 60, micros))
    }
}

impl Timestamp {
    /// The time of the system's clock. Times beyond 290,000 years become the first or the last timestamp.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// The day, UTC.
    pub fn date(self) -> Date {
        // Less than 2^27 days.
        Date(self.0.div_euclid(DAY) as i32)
    }

    /// The time of that day, UTC.
    pub fn time(self) -> Time {
        Time(self.0.rem_euclid(DAY))
    }

    /// So much later. Less than a microsecond is cut off.
    ///
    /// ```
    /// # use sardonyx_rows as sardonyx;
    /// use sardonyx::types::Timestamp;
    /// use std::time::Duration;
    /// let due: Timestamp = "2026-12-31T23:59:59Z".parse()?;
    /// let later = due.checked_add(Duration::from_millis(1_500)).unwrap();
    /// assert_eq!(later.to_string(), "2027-01-01T00:00:00.500000Z");
    /// assert_eq!(format!("{later:?}"), later.to_string());
    /// assert_eq!(later.micros_since(due), Some(1_500_000));
    /// # Ok::<(), sardonyx_rows::value_text::ValueTextError>(())
    /// ```
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        let micros = i64::try_from(duration.as_micros()).ok()?;
        self.0.checked_add(micros).map(Timestamp)
    }

    /// So much earlier. Less than a microsecond is cut off.
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        let micros = i64::try_from(duration.as_micros()).ok()?;
        self.0.checked_sub(micros).map(Timestamp)
    }

    /// The number of microseconds from another point in time to this; negative if this is earlier.
    pub fn micros_since(self, other: Timestamp) -> Option<i64> {
        self.0.checked_sub(other.0)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Timestamp(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => micros(after),
            Err(before) => -micros(before.duration()),
        })
    }
}

impl From<Timestamp> for SystemTime {
    /// The same point in time. Linux' clocks have the range of a timestamp.
    fn from(time: Timestamp) -> Self {
        let span = Duration::from_micros(time.0.unsigned_abs());
        match time.0 < 0 {
            false => UNIX_EPOCH + span,
            true => UNIX_EPOCH - span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_make_the_same_day_and_time(days: i32, time in 0..DAY, micros: i64) {
            let (year, month, day) = Date(days).parts();
            prop_assert_eq!(Date::new(year, month, day), Some(Date(days)));
            let (hours, minutes, seconds, rest) = Time(time).parts().unwrap();
            prop_assert_eq!(Time::new(hours, minutes, seconds, rest), Some(Time(time)));
            let at = Timestamp(micros);
            let midnight = i128::from(at.date().0) * i128::from(DAY);
            prop_assert_eq!(midnight + i128::from(at.time().0), i128::from(micros));
            prop_assert_eq!(Timestamp::from(SystemTime::from(at)), at);
        }

        #[test]
        fn texts_are_read_as_the_same(days: i32, time in 0..DAY, micros: i64, uuid: [u8; 16]) {
            prop_assert_eq!(Date(days).to_string().parse(), Ok(Date(days)));
            prop_assert_eq!(Time(time).to_string().parse(), Ok(Time(time)));
            prop_assert_eq!(Timestamp(micros).to_string().parse(), Ok(Timestamp(micros)));
            let uuid = super::super::Uuid(uuid);
            prop_assert_eq!(uuid.to_string().parse(), Ok(uuid));
        }

        #[test]
        fn days_added_are_days_since(days: i32, more: i32) {
            let sum = i32::try_from(i64::from(days) + i64::from(more));
            match Date(days).checked_add_days(more.into()) {
                Some(later) => prop_assert_eq!(later.days_since(Date(days)), i64::from(more)),
                None => prop_assert!(sum.is_err()),
            }
        }
    }

    #[test]
    fn ends_of_months_weeks_and_types() {
        let day = |text: &str| text.parse::<Date>().expect("it is a day");
        let months = [
            ("2024-01-31", 1, "2024-02-29"),
            ("2023-01-31", 1, "2023-02-28"),
            ("2024-02-29", -12, "2023-02-28"),
            ("2024-12-15", 1, "2025-01-15"),
            ("2024-03-31", -13, "2023-02-28"),
        ];
        for (from, months, to) in months {
            assert_eq!(
                day(from).checked_add_months(months),
                Some(day(to)),
                "{from}"
            );
        }
        for (text, weekday) in [("1970-01-01", 4), ("2026-11-27", 5), ("1969-12-28", 7)] {
            assert_eq!(day(text).weekday(), weekday, "{text}");
        }
        assert_eq!(Date(i32::MAX).checked_add_days(1), None);
        assert_eq!(Date(i32::MIN).checked_add_months(-1), None);
        assert_eq!(Date(i32::MAX).checked_add_months(i32::MAX), None);
        assert_eq!(Date(i32::MAX).at(Time(0)), None);
        assert_eq!(Time::new(24, 0, 0, 0), None);
        assert_eq!(Time(-1).parts(), None);
        assert_eq!(
            Timestamp(i64::MAX).checked_add(Duration::from_micros(1)),
            None
        );
        assert_eq!(Timestamp(0).checked_sub(Duration::MAX), None);
        assert_eq!(Timestamp(i64::MAX).micros_since(Timestamp(-1)), None);
    }
}
