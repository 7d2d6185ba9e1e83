//! The parts of a moment, and a set of those that were found.

use super::Bad;
use crate::values::zones::{DateOrder, Zone};
use sardonyx_rows::value_text::{date_of, days_of};

/// The parts that were found, as bits.
pub(super) mod mask {
    pub const RESERVED: u32 = 1;
    pub const MONTH: u32 = 1 << 1;
    pub const YEAR: u32 = 1 << 2;
    pub const DAY: u32 = 1 << 3;
    pub const ZONE: u32 = 1 << 5;
    pub const DAYLIGHT_ZONE: u32 = 1 << 6;
    pub const NOON: u32 = 1 << 9;
    pub const HOUR: u32 = 1 << 10;
    pub const MINUTE: u32 = 1 << 11;
    pub const SECOND: u32 = 1 << 12;
    pub const FRACTION: u32 = 1 << 13;
    pub const DAY_OF_YEAR: u32 = 1 << 15;
    pub const WEEKDAY: u32 = 1 << 16;
    pub const ERA: u32 = 1 << 18;
    pub const DAYLIGHT: u32 = 1 << 28;
    pub const DATE: u32 = YEAR | MONTH | DAY;
    pub const TIME: u32 = HOUR | MINUTE | SECOND | FRACTION;
}

/// A text as read.
pub(super) enum Decoded {
    /// Parts of a date and a time, and the place whose zone was named.
    Parts(Parts, Option<Zone>),
    /// The first moment of 1970.
    Epoch,
    /// Infinity, positive or negative.
    Infinity { is_negative: bool },
}

/// The parts of a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    pub year: i64,
    pub month: i32,
    pub day: i32,
    pub day_of_year: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    pub micros: i64,
    /// Seconds west of UTC.
    pub zone: i32,
    /// The year was written with two digits.
    pub has_short_year: bool,
    /// The date is a number of days, so its year is complete.
    pub is_julian: bool,
    pub is_before_christ: bool,
    /// Before or after noon.
    pub noon: Option<bool>,
    /// The order of numbers in a date.
    pub order: DateOrder,
}

impl Parts {
    /// The first moment of 1970.
    pub fn epoch() -> Parts {
        Parts {
            year: 1970,
            month: 1,
            day: 1,
            ..Parts::default()
        }
    }

    /// Sets the date to a day since 1970.
    pub fn set_day(&mut self, day: i64) {
        let (year, month, day) = date_of(day);
        (self.year, self.month, self.day) = (year, month as i32, day as i32);
    }

    /// Sets the time of the day, in microseconds.
    pub fn set_clock(&mut self, clock: i64) {
        let seconds = (clock / super::SECOND) as i32;
        (self.hour, self.minute, self.second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        self.micros = clock % super::SECOND;
    }

    /// Sets the date to a day of the Julian calendar.
    pub fn set_julian(&mut self, day: i32) {
        let (year, month, day) = date_of(i64::from(day) - 2_440_588);
        (self.year, self.month, self.day) = (year, month as i32, day as i32);
        self.is_julian = true;
    }

    /// Microseconds since midnight.
    pub fn clock(&self) -> i64 {
        let minutes = i64::from(self.hour) * 60 + i64::from(self.minute);
        (minutes * 60 + i64::from(self.second)) * super::SECOND + self.micros
    }

    pub fn is_time_beyond_day(&self) -> bool {
        !(0..=24).contains(&self.hour)
            || !(0..60).contains(&self.minute)
            || !(0..=60).contains(&self.second)
            || !(0..=super::SECOND).contains(&self.micros)
            || self.clock() > crate::values::arithmetic::DAY
    }

    /// Checks the parts of the date that were found, and converts them to the calendar's.
    ///
    /// # Errors
    /// A year 0, and invalid days and months.
    pub fn check_date(&mut self, found: u32) -> Result<(), Bad> {
        if found & mask::YEAR != 0 && !self.is_julian {
            match (self.is_before_christ, self.has_short_year) {
                (true, _) if self.year > 0 => self.year = 1 - self.year,
                (false, true) if self.year < 70 => self.year += 2000,
                (false, true) if self.year < 100 => self.year += 1900,
                (false, _) if self.year > 0 => {}
                _ => return Err(Bad::Field),
            }
        }
        if found & mask::DAY_OF_YEAR != 0 {
            let first = days_of(self.year, 1, 1).ok_or(Bad::Field)?;
            let (year, month, day) = date_of(first + i64::from(self.day_of_year) - 1);
            (self.year, self.month, self.day) = (year, month as i32, day as i32);
        }
        if found & mask::MONTH != 0 && !(1..=12).contains(&self.month) {
            return Err(Bad::MonthOrDay);
        }
        if found & mask::DAY != 0 && !(1..=31).contains(&self.day) {
            return Err(Bad::MonthOrDay);
        }
        // The calendar repeats every 400 years; the year itself may be beyond all days.
        let year = 2000 + self.year.rem_euclid(400);
        let has_day = || days_of(year, self.month as u32, self.day as u32).is_some();
        match found & mask::DATE == mask::DATE && !has_day() {
            true => Err(Bad::Field),
            false => Ok(()),
        }
    }

    /// Converts an hour of the morning or the afternoon to one of the day.
    ///
    /// # Errors
    /// For an hour beyond 12.
    pub fn apply_noon(&mut self) -> Result<(), Bad> {
        match self.noon {
            Some(_) if self.hour > 12 => return Err(Bad::Field),
            Some(false) if self.hour == 12 => self.hour = 0,
            Some(true) if self.hour != 12 => self.hour += 12,
            _ => {}
        }
        Ok(())
    }
}
