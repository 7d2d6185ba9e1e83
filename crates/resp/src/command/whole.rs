//! A command that has arrived whole, as nearly all have: its parts' places, found in one pass without a state.
//!
//! Anything else, also what is no command, is left to the [`Decoder`](super::line::Decoder), which keeps its progress
//! and knows the errors.

use super::line::{FEW_PARTS, Parts};
use std::ops::Range;

/// More parts than this are not looked for: the pass is repeated if the command has not arrived.
const PARTS_MAX: usize = 32;
/// A number with more digits is left to the decoder.
const NUMBER_MAX: usize = 99_999;

/// The places of the parts of the array at the front of the input, and its end.
#[inline]
pub(super) fn parts(input: &[u8]) -> Option<(Parts, usize)> {
    if input.first() != Some(&b'*') {
        return None;
    }
    let (count, mut at) = number(input, 1)?;
    if count == 0 || count > PARTS_MAX {
        return None;
    }
    if count <= FEW_PARTS {
        let mut few = [const { 0..0 }; FEW_PARTS];
        for place in few.get_mut(..count)? {
            (*place, at) = part(input, at)?;
        }
        return Some((Parts::from_buf_and_len(few, count), at));
    }
    let mut parts = Parts::with_capacity(count);
    for _ in 0..count {
        let place;
        (place, at) = part(input, at)?;
        parts.push(place);
    }
    Some((parts, at))
}

/// The place of the part that begins here, and the place behind it.
#[inline(always)]
fn part(input: &[u8], at: usize) -> Option<(Range<u32>, usize)> {
    if input.get(at) != Some(&b'$') {
        return None;
    }
    let (bytes, start) = number(input, at + 1)?;
    let end = start + bytes;
    let is_ended = input.get(end..end + 2) == Some(b"\r\n");
    is_ended.then_some((start as u32..end as u32, end + 2))
}

/// The number of the line that begins at a place, and the place behind the line.
#[inline(always)]
fn number(input: &[u8], at: usize) -> Option<(usize, usize)> {
    let digit = |byte: u8| usize::from(byte.wrapping_sub(b'0'));
    // Nearly all have one digit or two.
    match input.get(at..at + 4) {
        Some(&[one, b'\r', b'\n', _]) if one.is_ascii_digit() => Some((digit(one), at + 3)),
        Some(&[ten @ b'1'..=b'9', one, b'\r', b'\n']) if one.is_ascii_digit() => {
            Some((digit(ten) * 10 + digit(one), at + 4))
        }
        _ => any_number(input, at),
    }
}

/// The same of any number of digits.
fn any_number(input: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let digit = |at: usize| {
        let digit = input.get(at)?.wrapping_sub(b'0');
        (digit < 10).then_some(usize::from(digit))
    };
    let mut number = digit(at)?;
    at += 1;
    while input.get(at) != Some(&b'\r') {
        // A number is said in one way only: without zeros before it.
        if number == 0 || number > NUMBER_MAX / 10 {
            return None;
        }
        number = number * 10 + digit(at)?;
        at += 1;
    }
    (input.get(at + 1) == Some(&b'\n')).then_some((number, at + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(input: &str) -> Option<(Vec<&str>, usize)> {
        let (parts, end) = parts(input.as_bytes())?;
        let text = |place: &std::ops::Range<u32>| &input[place.start as usize..place.end as usize];
        Some((parts.iter().map(text).collect(), end))
    }

    #[test]
    fn commands_that_are_whole_are_found_and_all_else_is_left() {
        let get = "*2\r\n$3\r\nGET\r\n$10\r\nkey:\r\n0123\r\n";
        let found = Some((vec!["GET", "key:\r\n0123"], get.len()));
        assert_eq!(texts(get), found);
        assert_eq!(texts(&format!("{get}*2")), found);
        assert_eq!(
            texts("*1\r\n$0\r\n\r\n"),
            Some((vec![""], "*1\r\n$0\r\n\r\n".len()))
        );
        for end in 0..get.len() {
            assert_eq!(texts(&get[..end]), None, "{end}");
        }
        let left = [
            "GET a\r\n",
            "*0\r\n",
            "*-1\r\n",
            "*33\r\n",
            "*01\r\n$1\r\na\r\n",
            "*1\r\n$01\r\na\r\n",
            "*1\r\n$-1\r\n",
            "*1\r\n$100000\r\n",
            "*1\n$1\r\na\r\n",
            "*1\r\r$1\r\na\r\n",
            "*1\r\n$1\r\nab\r\n",
            "*1\r\n$1\r\na\r\r",
            "*1\r\nGET\r\n",
            "*\r\n",
        ];
        for input in left {
            assert_eq!(texts(input), None, "{input:?}");
        }
    }
}
