//! Commands that clients send, taken from the front of the bytes received: arrays of bulk strings, and inline
//! commands, which people type.
//!
//! Clients send nothing else, in either version of the protocol. A command stays in one piece of the buffer into which
//! it was received, shared and not copied; its parts are ranges of that buffer. The parser keeps its progress in an
//! incomplete command, so that a command that arrives byte by byte is scanned once.
//!
//! Invariants: no byte is taken before its command is whole; memory grows with the bytes that have arrived, never with
//! a promised length.
//!
//! Source: the Redis serialization protocol specification; limits and texts of errors as Redis 7 has them.

use super::whole;
use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;
use std::ops::Range;

/// The most parts of a command, its name included.
pub const PARTS_MAX: usize = 1 << 20;

/// The longest part of a command, in bytes: the longest value of a table.
pub const PART_BYTES_MAX: usize = sardonyx::schema::VALUE_BYTES_MAX;

/// The longest line: an inline command, or a length.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Digits of a length that are read at once, and a byte behind them.
const SHORT_DIGITS: usize = 9;

/// An error of the protocol in the received bytes. The connection cannot go on: answer it, and close.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The number of parts is none, or more than [`PARTS_MAX`].
    #[error("Protocol error: invalid multibulk length")]
    Parts,
    /// The length of a part is none, or more than [`PART_BYTES_MAX`].
    #[error("Protocol error: invalid bulk length")]
    PartBytes,
    /// Something else where a part should begin.
    #[error("Protocol error: expected '$', got '{}'", shown(*.0))]
    NoPart(u8),
    /// A part is not followed by the end of a line.
    #[error("Protocol error: expected the end of a bulk string")]
    PartEnd,
    /// A line without an end.
    #[error("Protocol error: too big inline request")]
    Line,
    /// An inline command with a quote that does not end.
    #[error("Protocol error: unbalanced quotes in request")]
    Quotes,
    /// A command that is longer than the session's bound.
    #[error("Protocol error: a command of more than {limit} bytes")]
    Command {
        /// The bound.
        limit: usize,
    },
    /// The same for a client that has not authenticated.
    #[error("Protocol error: unauthenticated command of more than {limit} bytes")]
    Unauthenticated {
        /// The bound.
        limit: usize,
    },
    /// An HTTP request.
    #[error("Protocol error: this port speaks Redis' protocol, not HTTP")]
    Http,
}

/// A byte as it is shown in an error: the end of a line is a space there.
fn shown(byte: u8) -> String {
    match byte {
        b'\r' | b'\n' => " ".into(),
        byte => byte.escape_ascii().to_string(),
    }
}

/// The places of so many parts take no memory of their own.
pub(super) const FEW_PARTS: usize = 6;

/// The places of a command's parts in its bytes.
pub(super) type Parts = SmallVec<[Range<u32>; FEW_PARTS]>;

/// A command's parts: its name, and its arguments.
#[derive(Clone, PartialEq, Eq)]
pub struct Line {
    bytes: Bytes,
    parts: Parts,
}

impl Line {
    /// A command of these parts.
    pub fn of(parts: &[&[u8]]) -> Line {
        let mut gathered = Gathered::default();
        parts.iter().for_each(|part| gathered.push(part));
        gathered.line()
    }

    /// The number of parts; at least one.
    #[inline]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// True if there are no parts, which is never so for a command.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// A part; empty if there is none of this number.
    #[inline]
    pub fn part(&self, number: usize) -> &[u8] {
        match self.parts.get(number) {
            Some(place) => &self.bytes[place.start as usize..place.end as usize],
            None => &[],
        }
    }

    /// The parts from this number on; the name of the command is part 0.
    #[inline]
    pub fn parts(&self, from: usize) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (from.min(self.len())..self.len()).map(|number| self.part(number))
    }

    /// The number of a part of this line; `None` of bytes that stand elsewhere.
    pub(crate) fn number_of(&self, part: &[u8]) -> Option<usize> {
        let start = part
            .as_ptr()
            .addr()
            .checked_sub(self.bytes.as_ptr().addr())?;
        let start = u32::try_from(start).ok()?;
        let found = self.parts.binary_search_by_key(&start, |place| place.start);
        found
            .ok()
            .filter(|number| self.part(*number).len() == part.len())
    }

    /// Bytes that it has in memory, without those of the buffer that are not its own.
    pub fn bytes(&self) -> usize {
        let places = match self.parts.spilled() {
            true => self.parts.len() * size_of::<Range<u32>>(),
            false => 0,
        };
        self.bytes.len() + places
    }

    /// The same in memory of its own, of [`Line::bytes`] bytes: the buffer into which it was received is not kept.
    pub(crate) fn by_itself(mut self) -> Line {
        self.parts.shrink_to_fit();
        self.bytes = Bytes::copy_from_slice(&self.bytes);
        self
    }
}

/// A command whose parts come one by one. Together they have less than 4 GiB.
#[derive(Default)]
pub(crate) struct Gathered {
    bytes: BytesMut,
    parts: Parts,
}

impl Gathered {
    /// One more part.
    pub fn push(&mut self, part: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(part);
        self.parts.push(start..self.bytes.len() as u32);
    }

    /// The command.
    pub fn line(self) -> Line {
        Line {
            bytes: self.bytes.freeze(),
            parts: self.parts,
        }
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.parts(0).map(|part| part.escape_ascii().to_string()))
            .finish()
    }
}

/// Takes commands from the received bytes, and remembers its progress in the next one.
#[derive(Debug)]
pub(crate) struct Decoder {
    parts: Parts,
    /// Parts that are still to come, once their number is known.
    missing: Option<usize>,
    /// Length of the part that is coming, once it is known.
    part_bytes: Option<usize>,
    /// The offset at which parsing continues.
    at: usize,
    /// Up to where there is no end of the line that begins at `at`.
    searched: usize,
    command_bytes_max: usize,
}

impl Decoder {
    /// For commands of at most so many bytes.
    pub fn new(command_bytes_max: usize) -> Self {
        Decoder {
            parts: SmallVec::new(),
            missing: None,
            part_bytes: None,
            at: 0,
            searched: 0,
            command_bytes_max: command_bytes_max.min(u32::MAX as usize / 2),
        }
    }

    /// Has commands from here on be of at most so many bytes.
    pub fn set_command_bytes_max(&mut self, bytes: usize) {
        self.command_bytes_max = bytes.min(u32::MAX as usize / 2);
    }

    /// Begins with another command.
    fn begin(&mut self) {
        *self = Decoder::new(self.command_bytes_max);
    }

    /// The next command, if it has arrived whole, as nearly all have, and its name is one that is meant. Takes nothing otherwise.
    #[inline]
    pub fn next_whole(
        &mut self,
        input: &mut BytesMut,
        is_meant: impl FnOnce(&[u8]) -> bool,
    ) -> Option<Line> {
        if self.missing.is_some() {
            return None;
        }
        let (parts, end) = whole::parts(input)?;
        let name = parts.first()?;
        let is_it = end <= self.command_bytes_max
            && is_meant(&input[name.start as usize..name.end as usize]);
        if !is_it {
            return None;
        }
        // An inline command may have been looked for before.
        self.searched = 0;
        let bytes = input.split_to(end).freeze();
        Some(Line { bytes, parts })
    }

    /// The next command, if it is whole. Empty ones are skipped.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<Option<Line>, ProtocolError> {
        if let Some(line) = self.next_whole(input, |_| true) {
            return Ok(Some(line));
        }
        loop {
            let missing = match self.missing {
                Some(missing) => missing,
                None => match input.first() {
                    None => return Ok(None),
                    Some(b'*') => {
                        let Some(parts) = self.length(input)? else {
                            return Ok(None);
                        };
                        let parts = parts.ok_or(ProtocolError::Parts)?;
                        let parts = usize::try_from(parts.max(0)).unwrap_or(usize::MAX);
                        if parts > PARTS_MAX {
                            return Err(ProtocolError::Parts);
                        }
                        *self.missing.insert(parts)
                    }
                    Some(_) => {
                        let Some(line) = self.inline(input)? else {
                            return Ok(None);
                        };
                        if line.is_empty() {
                            continue;
                        }
                        return Ok(Some(line));
                    }
                },
            };
            if !self.take_parts(missing, input)? {
                return match self.at.max(input.len()) > self.command_bytes_max {
                    true => Err(self.too_long()),
                    false => Ok(None),
                };
            }
            let bytes = input.split_to(self.at).freeze();
            let parts = std::mem::take(&mut self.parts);
            self.begin();
            if !parts.is_empty() {
                return Ok(Some(Line { bytes, parts }));
            }
        }
    }

    /// Goes on with the parts of a command. Returns whether it has all.
    fn take_parts(&mut self, mut missing: usize, input: &BytesMut) -> Result<bool, ProtocolError> {
        while missing > 0 {
            let bytes = match self.part_bytes {
                Some(bytes) => bytes,
                None => {
                    match input.get(self.at) {
                        None => return Ok(false),
                        Some(b'$') => {}
                        Some(other) => return Err(ProtocolError::NoPart(*other)),
                    }
                    let Some(bytes) = self.length(input)? else {
                        return Ok(false);
                    };
                    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
                    let bytes = bytes.filter(|bytes| *bytes <= PART_BYTES_MAX);
                    let bytes = bytes.ok_or(ProtocolError::PartBytes)?;
                    if self.at + bytes > self.command_bytes_max {
                        return Err(self.too_long());
                    }
                    *self.part_bytes.insert(bytes)
                }
            };
            let end = self.at + bytes;
            match input.get(end..end + 2) {
                None => return Ok(false),
                Some(b"\r\n") => {}
                Some(_) => return Err(ProtocolError::PartEnd),
            }
            self.parts.push(self.at as u32..end as u32);
            self.at = end + 2;
            self.searched = self.at;
            self.part_bytes = None;
            missing -= 1;
            self.missing = Some(missing);
        }
        Ok(true)
    }

    /// The number of the line that begins here, if it is one, and moves behind the line; `None` if it has not all arrived.
    #[inline]
    fn length(&mut self, input: &[u8]) -> Result<Option<Option<i64>>, ProtocolError> {
        // The common one: a few digits and the line's end.
        let mut length = 0;
        let digits = input[self.at + 1..].iter().take(SHORT_DIGITS);
        for (count, byte) in digits.enumerate() {
            match byte {
                b'0'..=b'9' => length = length * 10 + i64::from(byte - b'0'),
                // A number is said in one way only: without zeros before it.
                b'\r'
                    if count > 0
                        && (count == 1 || input.get(self.at + 1) != Some(&b'0'))
                        && input.get(self.at + count + 2) == Some(&b'\n') =>
                {
                    self.at += count + 3;
                    self.searched = self.at;
                    return Ok(Some(Some(length)));
                }
                _ => break,
            }
        }
        let start = self.at + 1;
        let Some(end) = self.line_end(input)? else {
            return Ok(None);
        };
        self.at = end + 1;
        self.searched = self.at;
        let line = input.get(start..end).unwrap_or_default();
        Ok(Some(number(line.strip_suffix(b"\r").unwrap_or(line))))
    }

    #[inline]
    fn line_end(&mut self, input: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let from = self.searched.max(self.at);
        let found = input[from..].iter().position(|byte| *byte == b'\n');
        let end = found.map(|found| from + found);
        self.searched = end.unwrap_or(input.len());
        match self.searched - self.at > LINE_BYTES_MAX.min(self.command_bytes_max) {
            true => Err(ProtocolError::Line),
            false => Ok(end),
        }
    }

    /// An inline command, which may be empty; `None` if it is not there yet.
    fn inline(&mut self, input: &mut BytesMut) -> Result<Option<Line>, ProtocolError> {
        let Some(end) = self.line_end(input)? else {
            return Ok(None);
        };
        let line = input.split_to(end + 1).freeze();
        self.begin();
        let parts = split_words(&line).ok_or(ProtocolError::Quotes)?;
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        Ok(Some(Line::of(&parts)))
    }

    fn too_long(&self) -> ProtocolError {
        let limit = self.command_bytes_max;
        ProtocolError::Command { limit }
    }
}

/// Parses the number of a length.
#[inline]
fn number(text: &[u8]) -> Option<i64> {
    let (digits, negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if digits.is_empty() || digits.len() > 18 || digits[0] == b'0' && text.len() > 1 {
        return None;
    }
    let mut number = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(digit - b'0');
    }
    Some(if negative { -number } else { number })
}

/// The parts of an inline command: words, or quoted strings with the usual escapes. `None` if a quote does not end, or
/// is not followed by a space.
pub(crate) fn split_words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut parts = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(parts);
        }
        // A quote may begin within a word, and ends it.
        let (mut part, mut quoted) = (Vec::new(), None);
        loop {
            match (quoted, rest) {
                (None, []) => break,
                (None, [byte, ..]) if byte.is_ascii_whitespace() || *byte == 0 => break,
                (None, [quote @ (b'"' | b'\''), behind @ ..]) => {
                    quoted = Some(*quote);
                    rest = behind;
                }
                (Some(_), []) => return None,
                (Some(quote), [byte, behind @ ..]) if *byte == quote => {
                    if behind
                        .first()
                        .is_some_and(|byte| !byte.is_ascii_whitespace())
                    {
                        return None;
                    }
                    rest = behind;
                    break;
                }
                (Some(b'"'), [b'\\', b'x', high, low, behind @ ..])
                    if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
                {
                    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
                    part.push(digit(*high) << 4 | digit(*low));
                    rest = behind;
                }
                (Some(b'"'), [b'\\', escaped, behind @ ..]) => {
                    part.push(match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'b' => 8,
                        b'a' => 7,
                        other => *other,
                    });
                    rest = behind;
                }
                (Some(b'\''), [b'\\', b'\'', behind @ ..]) => {
                    part.push(b'\'');
                    rest = behind;
                }
                (_, [byte, behind @ ..]) => {
                    part.push(*byte);
                    rest = behind;
                }
            }
        }
        parts.push(part);
        if rest.first() == Some(&0) {
            return Some(parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8]) -> Result<Vec<Line>, ProtocolError> {
        let mut input = BytesMut::from(input);
        let mut decoder = Decoder::new(1 << 20);
        let mut lines = Vec::new();
        while let Some(line) = decoder.next(&mut input)? {
            lines.push(line);
        }
        Ok(lines)
    }

    #[test]
    fn arrays_and_inline_commands_are_taken_in_order() {
        let lines =
            all(b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n\r\nPING\r\n*0\r\nset a \"b\\x41 c\" 'd'\r\n");
        let expected = [
            Line::of(&[b"GET", b"a"]),
            Line::of(&[b"PING"]),
            Line::of(&[b"set", b"a", b"bA c", b"d"]),
        ];
        let texts = |lines: &[Line]| lines.iter().map(|l| format!("{l:?}")).collect::<Vec<_>>();
        assert_eq!(texts(&lines.expect("commands")), texts(&expected));
        // A quote may begin within a word.
        let lines = all(b"set a\"b c\" ''\r\n").expect("a command");
        assert_eq!(texts(&lines), texts(&[Line::of(&[b"set", b"ab c", b""])]));
    }

    #[test]
    fn a_command_that_arrives_byte_by_byte_is_the_same() {
        let sent = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\r\n$1\r\nPING\r\n*1\r\n$4\r\nPING\r\n";
        let (mut decoder, mut input) = (Decoder::new(1 << 20), BytesMut::new());
        let mut lines = Vec::new();
        for byte in sent {
            input.extend_from_slice(&[*byte]);
            lines.extend(decoder.next(&mut input).expect("no error"));
        }
        assert!(input.is_empty());
        let texts: Vec<_> = lines.iter().map(|l| format!("{l:?}")).collect();
        let whole: Vec<_> = all(sent).expect("no error");
        assert_eq!(
            texts,
            whole.iter().map(|l| format!("{l:?}")).collect::<Vec<_>>()
        );
        assert_eq!(lines[0].part(2), b"\r\n$1");
    }

    #[test]
    fn what_is_no_command_is_told_as_redis_tells_it() {
        let error = |input: &[u8]| all(input).expect_err("no command").to_string();
        assert_eq!(error(b"*x\r\n"), "Protocol error: invalid multibulk length");
        assert_eq!(
            error(b"*1048577\r\n"),
            "Protocol error: invalid multibulk length"
        );
        assert_eq!(
            error(b"*1\r\nGET\r\n"),
            "Protocol error: expected '$', got 'G'"
        );
        assert_eq!(
            error(b"*1\r\n$-1\r\n"),
            "Protocol error: invalid bulk length"
        );
        assert_eq!(
            error(b"*1\r\n$16777217\r\n"),
            "Protocol error: invalid bulk length"
        );
        // A number has no zeros before it.
        assert_eq!(
            error(b"*01\r\n"),
            "Protocol error: invalid multibulk length"
        );
        assert_eq!(
            error(b"*1\r\n$04\r\nPING\r\n"),
            "Protocol error: invalid bulk length"
        );
        assert_eq!(
            error(b"*1\r\n\r\n"),
            "Protocol error: expected '$', got ' '"
        );
        assert_eq!(
            error(b"set a\"b c\"d\r\n"),
            "Protocol error: unbalanced quotes in request"
        );
        assert_eq!(
            error(b"set a \"b\r\n"),
            "Protocol error: unbalanced quotes in request"
        );
        assert_eq!(
            error(&[b'a'; LINE_BYTES_MAX + 2]),
            "Protocol error: too big inline request"
        );
        assert_eq!(
            error(b"*1\r\n$1048570\r\n"),
            "Protocol error: a command of more than 1048576 bytes"
        );
    }
}
