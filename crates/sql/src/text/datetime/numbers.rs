//! Fields of digits: dates, times, zones, and numbers whose meaning depends on the parts before them.

use super::fields::whole;
use super::parts::{Parts, mask};
use super::words::{Word, special};
use super::{Bad, SECOND};
use crate::values::zones::DateOrder;

/// Digits without a sign, few enough to be a number.
fn small(text: &str) -> i32 {
    text.parse().unwrap_or(i32::MAX)
}

/// Microseconds of a point and digits, rounded as a float is.
pub(super) fn fraction(text: &str) -> Result<i64, Bad> {
    if text == "." {
        return Ok(0);
    }
    let fraction: f64 = format!("0{text}").parse().map_err(|_| Bad::Format)?;
    Ok((fraction * SECOND as f64).round_ties_even() as i64)
}

impl Parts {
    /// Takes a time with colons. Returns the parts that it has.
    ///
    /// # Errors
    /// If it has another form, or is out of range.
    pub fn take_time(&mut self, text: &str) -> Result<u32, Bad> {
        let (hour, rest) = whole::<i32>(text).ok_or(Bad::Field)?;
        let rest = rest.strip_prefix(':').ok_or(Bad::Format)?;
        let (minute, rest) = whole::<i32>(rest).ok_or(Bad::Field)?;
        (self.hour, self.minute, self.second, self.micros) = (hour, minute, 0, 0);
        if rest.starts_with('.') {
            self.micros = fraction(rest)?;
            (self.hour, self.minute, self.second) = (0, hour, minute);
        } else if let Some(rest) = rest.strip_prefix(':') {
            let (second, rest) = whole::<i32>(rest).ok_or(Bad::Field)?;
            self.second = second;
            match rest {
                "" => {}
                rest if rest.starts_with('.') => self.micros = fraction(rest)?,
                _ => return Err(Bad::Format),
            }
        } else if !rest.is_empty() {
            return Err(Bad::Format);
        }
        let is_out = self.minute > 59 || self.second > 60 || self.micros > SECOND;
        if is_out {
            Err(Bad::Field)
        } else {
            Ok(mask::TIME)
        }
    }

    /// Takes a zone without its sign.
    ///
    /// # Errors
    /// If it has another form, or is 16 hours or more from UTC.
    pub fn take_zone(&mut self, is_negative: bool, text: &str) -> Result<(), Bad> {
        let (mut hours, mut rest) = whole::<i32>(text).ok_or(Bad::Zone)?;
        let (mut minutes, mut seconds) = (0, 0);
        if let Some(behind) = rest.strip_prefix(':') {
            (minutes, rest) = whole::<i32>(behind).ok_or(Bad::Zone)?;
            if let Some(behind) = rest.strip_prefix(':') {
                (seconds, rest) = whole::<i32>(behind).ok_or(Bad::Zone)?;
            }
        } else if rest.is_empty() && text.len() > 2 {
            (hours, minutes) = (hours / 100, hours % 100);
        }
        let is_far = !(0..16).contains(&hours);
        if is_far || !(0..60).contains(&minutes) || !(0..60).contains(&seconds) {
            return Err(Bad::Zone);
        }
        if !rest.is_empty() {
            return Err(Bad::Format);
        }
        let east = (hours * 60 + minutes) * 60 + seconds;
        self.zone = if is_negative { east } else { -east };
        Ok(())
    }

    /// Takes a day of the Julian calendar, with a fraction behind its point. Returns the parts that it has.
    ///
    /// # Errors
    /// If the fraction is none.
    pub fn take_julian(&mut self, day: i32, rest: &str) -> Result<u32, Bad> {
        self.set_julian(day);
        if rest.is_empty() {
            return Ok(mask::DATE);
        }
        let day = format!("0{rest}").parse::<f64>().map_err(|_| Bad::Format)?;
        let day = (day * super::DAY as f64) as i64;
        self.micros = day % SECOND;
        let seconds = (day / SECOND) as i32;
        (self.hour, self.minute) = (seconds / 3600, seconds / 60 % 60);
        self.second = seconds % 60;
        Ok(mask::DATE | mask::TIME)
    }

    /// Takes a date with delimiters. Returns the parts that it has.
    ///
    /// # Errors
    /// If it has another form.
    pub fn take_date(&mut self, text: &str, found: u32) -> Result<u32, Bad> {
        let mut parts = [None; 25];
        let mut count = 0;
        let mut rest = text;
        while !rest.is_empty() && count < parts.len() {
            rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            let first = *rest.as_bytes().first().ok_or(Bad::Format)?;
            let is_same = |byte: &u8| match first.is_ascii_digit() {
                true => byte.is_ascii_digit(),
                false => byte.is_ascii_alphabetic(),
            };
            let end = rest.bytes().take_while(is_same).count();
            if let Some(part) = parts.get_mut(count) {
                *part = rest.get(..end);
            }
            count += 1;
            // The character behind a part is its delimiter, in any case.
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        let is_word = |part: &str| part.starts_with(|c: char| c.is_ascii_alphabetic());
        let (mut has_month, mut taken) = (false, 0);
        for part in parts.iter().flatten().filter(|part| is_word(part)) {
            match special(part) {
                Word::Ignored => continue,
                Word::Month(month) => self.month = month,
                _ => return Err(Bad::Format),
            }
            if (found | taken) & mask::MONTH != 0 {
                return Err(Bad::Format);
            }
            has_month = true;
            taken |= mask::MONTH;
        }
        for part in parts.iter().flatten().filter(|part| !is_word(part)) {
            let one = self.take_number(part, has_month, found | taken)?;
            if (found | taken) & one != 0 {
                return Err(Bad::Format);
            }
            taken |= one;
        }
        let rest = mask::DAY_OF_YEAR | mask::ZONE;
        match (found | taken) & !rest == mask::DATE {
            true => Ok(taken),
            false => Err(Bad::Format),
        }
    }

    /// Takes a number as the part that earlier ones determine. Returns the part.
    ///
    /// # Errors
    /// If it can be none.
    pub fn take_number(&mut self, text: &str, has_month: bool, found: u32) -> Result<u32, Bad> {
        const YEAR_MONTH: u32 = mask::YEAR | mask::MONTH;
        const MONTH_DAY: u32 = mask::MONTH | mask::DAY;
        let (value, rest) = whole::<i32>(text).ok_or(Bad::Field)?;
        let digits = text.len() - rest.len();
        if digits == 0 {
            return Err(Bad::Format);
        }
        if rest.starts_with('.') {
            if digits > 2 {
                return self.take_run(text, found | mask::DATE);
            }
            self.micros = fraction(rest)?;
        } else if !rest.is_empty() {
            return Err(Bad::Format);
        }
        let dated = found & mask::DATE;
        if text.len() == 3 && dated == mask::YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(mask::DAY_OF_YEAR | MONTH_DAY);
        }
        let is_long = text.len() >= 3;
        let is_year = is_long || self.order == DateOrder::YearMonthDay;
        let part = match dated {
            0 if is_year => mask::YEAR,
            0 if self.order == DateOrder::DayMonthYear => mask::DAY,
            0 | mask::YEAR | mask::DAY => mask::MONTH,
            mask::MONTH if has_month && is_year => mask::YEAR,
            mask::MONTH => mask::DAY,
            YEAR_MONTH if has_month && is_long && self.has_short_year => {
                // The first number was the day.
                self.day = self.year as i32;
                self.year = value.into();
                self.has_short_year = false;
                return Ok(mask::DAY);
            }
            YEAR_MONTH => mask::DAY,
            MONTH_DAY => mask::YEAR,
            mask::DATE => return self.take_run(text, found),
            _ => return Err(Bad::Format),
        };
        match part {
            mask::YEAR => {
                self.year = value.into();
                self.has_short_year = text.len() <= 2;
            }
            mask::MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(part)
    }

    /// Takes digits that are a date or a time without delimiters. Returns the parts.
    ///
    /// # Errors
    /// If they are none.
    pub fn take_run(&mut self, text: &str, found: u32) -> Result<u32, Bad> {
        let (digits, point) = match text.find('.') {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let part = |from, to| small(digits.get(from..to).unwrap_or_default());
        let length = digits.len();
        if !point.is_empty() {
            self.micros = fraction(point)?;
        } else if found & mask::DATE != mask::DATE && length >= 6 {
            self.day = part(length - 2, length);
            self.month = part(length - 4, length - 2);
            self.year = part(0, length - 4).into();
            self.has_short_year |= length == 6;
            return Ok(mask::DATE);
        }
        if found & mask::TIME == mask::TIME || !matches!(length, 4 | 6) {
            return Err(Bad::Format);
        }
        self.hour = part(0, 2);
        self.minute = part(2, 4);
        self.second = if length == 6 { part(4, 6) } else { 0 };
        Ok(mask::TIME)
    }
}
