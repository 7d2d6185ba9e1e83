//! Numbers as `to_char` writes them: digits, filling and signs, pattern by pattern.
//!
//! Source: `NUM_processor` and `NUM_numpart_to_char` of PostgreSQL's `formatting.c`. In the locale C the point is `.`,
//! groups are divided by `,`, and a blank is the sign of the currency.

use super::numbers::{Anchor, Picture};
use super::{Ordinal, Part, ordinal_end};
use crate::error::SqlError;

/// A number while it is written.
struct Writer<'n> {
    picture: Picture,
    number: &'n [u8],
    /// The next byte of the number.
    at: usize,
    /// Places before the first digit.
    spaces: usize,
    /// True if it is below zero; `None` for a Roman number.
    is_negative: Option<bool>,
    sign_is_written: bool,
    /// The last place to write, if zeros at the end are not written.
    last_relevant: Option<usize>,
    /// The places written so far, and the number of all.
    place: usize,
    places: usize,
    has_digit: bool,
    out: String,
    /// The end of the text, if a place had no digit any more.
    end: Option<usize>,
}

/// Writes a number without its sign by the parts of a template, behind the given spaces.
///
/// # Errors
/// `22P02` for an ordinal of infinity or NaN.
pub(super) fn write(
    parts: &[Part],
    mut picture: Picture,
    number: &str,
    is_negative: Option<bool>,
    spaces: usize,
) -> Result<String, SqlError> {
    picture.zero_start = picture.zero_start.saturating_sub(1);
    let is_positive = is_negative == Some(false);
    let sign_is_written = if picture.has_plus || picture.has_minus {
        !picture.has_plus || picture.has_minus
    } else {
        if is_negative != Some(true) && picture.is_bare {
            picture.has_brackets = false;
        }
        picture.anchor_behind_digits();
        is_positive && picture.is_bare && !picture.has_sign
    };
    let places = (picture.behind + picture.before).saturating_sub(1);
    let mut writer = Writer {
        last_relevant: last_relevant(&picture, number, spaces),
        places: places + usize::from(!sign_is_written && spaces == 0),
        picture,
        number: number.as_bytes(),
        at: 0,
        spaces,
        is_negative,
        sign_is_written,
        place: 0,
        has_digit: false,
        out: String::new(),
        end: None,
    };
    for part in parts {
        match part {
            Part::Pattern(pattern, _) => writer.pattern(pattern, number)?,
            Part::Blank(letter) | Part::Separator(letter) | Part::Character(letter) => {
                writer.out.push(*letter);
            }
        }
    }
    writer.out.truncate(writer.end.unwrap_or(usize::MAX));
    Ok(writer.out)
}

/// The last place to write of a number with a point, without blanks and zeros.
fn last_relevant(picture: &Picture, number: &str, spaces: usize) -> Option<usize> {
    if !picture.is_bare || !picture.has_point {
        return None;
    }
    let point = number.find('.')?;
    let digits = number.bytes().enumerate().skip(point + 1);
    let last = digits.rev().find(|(_, digit)| *digit != b'0');
    let last = last.map_or(point, |(at, _)| at);
    // Zeros of the template are written.
    let zero = match picture.zero_end > spaces {
        true => (number.len() - 1).min(picture.zero_end - spaces),
        false => 0,
    };
    Some(last.max(zero))
}

impl Writer<'_> {
    fn pattern(&mut self, pattern: &str, number: &str) -> Result<(), SqlError> {
        let is_bare = self.picture.is_bare;
        match pattern.to_ascii_uppercase().as_str() {
            "0" | "9" | "." | "D" => self.place(pattern == "0"),
            "," | "G" => match (self.has_digit, is_bare) {
                (true, _) => self.out.push(','),
                (false, true) => {}
                (false, false) => self.out.push(' '),
            },
            "L" => self.out.push(' '),
            "RN" => {
                let text = match pattern == "rn" {
                    true => number.to_ascii_lowercase(),
                    false => number.to_string(),
                };
                match is_bare {
                    true => self.out.push_str(&text),
                    false => self.out.push_str(&format!("{text:>15}")),
                }
            }
            "TH" => {
                let is_none = self.picture.is_roman
                    || self.number.first() == Some(&b'#')
                    || self.is_negative == Some(true)
                    || self.picture.has_point;
                if !is_none {
                    let ordinal = match pattern {
                        "TH" => Ordinal::Upper,
                        _ => Ordinal::Lower,
                    };
                    self.out.push_str(ordinal_end(number, ordinal)?);
                }
            }
            "MI" => match self.is_negative == Some(true) {
                true => self.out.push('-'),
                false if is_bare => {}
                false => self.out.push(' '),
            },
            "PL" => match self.is_negative == Some(false) {
                true => self.out.push('+'),
                false if is_bare => {}
                false => self.out.push(' '),
            },
            "SG" => {
                let sign = self.is_negative.map(|is_negative| self.sign(is_negative));
                self.out.extend(sign);
            }
            _ => {}
        }
        Ok(())
    }

    fn sign(&self, is_negative: bool) -> char {
        if is_negative { '-' } else { '+' }
    }

    /// True at the zero before the point of a number below 1, which is not written.
    fn is_at_lone_zero(&self) -> bool {
        !self.picture.has_zero
            && self.at == 0
            && self.number.first() == Some(&b'0')
            && self.picture.behind != 0
    }

    /// True if nothing follows the point.
    fn ends_with_point(&self) -> bool {
        let last = self.last_relevant.and_then(|at| self.number.get(at));
        last == Some(&b'.')
    }

    /// A place for a digit, or for the point.
    fn place(&mut self, is_zero: bool) {
        if self.picture.is_roman {
            return;
        }
        self.has_digit = false;
        let zero_start = self.picture.zero_start;
        let starts_zeros = self.picture.has_zero && zero_start == self.place;
        if !self.sign_is_written
            && (self.place >= self.spaces || starts_zeros)
            && (!self.is_at_lone_zero() || self.ends_with_point())
        {
            self.sign_before();
        }
        let is_before = self.place < self.spaces;
        if is_before && (zero_start > self.place || !self.picture.has_zero) {
            if !self.picture.is_bare {
                self.out.push(' ');
            }
        } else if is_before && self.picture.has_zero {
            self.out.push('0');
            self.has_digit = true;
        } else {
            self.digit(is_zero);
        }
        let mut end = self.places + usize::from(self.spaces > 0);
        end += usize::from(self.picture.has_point);
        if self.last_relevant == Some(self.at) {
            end = self.place;
        }
        if self.place + 1 == end {
            self.sign_behind();
        }
        self.place += 1;
    }

    fn sign_before(&mut self) {
        let is_negative = self.is_negative == Some(true);
        let picture = &self.picture;
        if picture.has_sign {
            if picture.anchor == Anchor::Before {
                self.out.push(self.sign(is_negative));
                self.sign_is_written = true;
            }
            return;
        }
        let sign = match (picture.has_brackets, is_negative) {
            (true, true) => Some('<'),
            (true, false) => Some(' '),
            (false, true) => Some('-'),
            (false, false) => (!picture.is_bare).then_some(' '),
        };
        self.out.extend(sign);
        self.sign_is_written = true;
    }

    fn sign_behind(&mut self) {
        let is_negative = self.is_negative == Some(true);
        if self.sign_is_written && self.picture.has_brackets {
            self.out.push(if is_negative { '>' } else { ' ' });
        } else if self.picture.has_sign && self.picture.anchor == Anchor::Behind {
            self.out.push(self.sign(is_negative));
        }
    }

    fn digit(&mut self, is_zero: bool) {
        let byte = self.number.get(self.at).copied();
        let ends_with_point = self.ends_with_point();
        match byte {
            Some(b'.') => {
                if !ends_with_point || self.picture.is_bare {
                    self.out.push('.');
                }
            }
            _ => {
                let is_behind_last = self.last_relevant.is_some_and(|last| self.at > last);
                if is_behind_last && !is_zero {
                    // It is a zero at the end.
                } else if self.is_at_lone_zero() {
                    match self.picture.is_bare {
                        false => self.out.push(' '),
                        true if ends_with_point => self.out.push('0'),
                        true => {}
                    }
                } else if let Some(byte) = byte {
                    self.out.push(byte.into());
                    self.has_digit = true;
                } else {
                    // For a number with fewer digits than places, PostgreSQL writes nothing from here on.
                    self.end.get_or_insert(self.out.len());
                }
            }
        }
        if byte.is_some() {
            self.at += 1;
        }
    }
}
