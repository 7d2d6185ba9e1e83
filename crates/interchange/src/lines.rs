//! Lines of a file, counted, with an upper bound of their length. Lines can be given back, so that a reader that
//! misread one goes on at the next.

use crate::LINE_BYTES_MAX;
use std::io::{self, BufRead, Read};

/// UTF-8's byte order mark, with which some programs begin a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file of lines, being read.
#[derive(Debug)]
pub(crate) struct Lines<S> {
    source: S,
    /// Lines that were given back, and how many bytes of them were read since.
    again: Vec<u8>,
    again_from: usize,
    /// Lines that were read.
    pub count: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

/// A line, as it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// There are no more lines: the file ends.
    End,
    Whole,
    /// It is longer than lines may be; it was passed over.
    TooLong,
}

impl<S: BufRead> Lines<S> {
    pub fn new(source: S) -> Self {
        Lines {
            source,
            again: Vec::new(),
            again_from: 0,
            count: 0,
            bytes: 0,
        }
    }

    /// Adds the next line with its end to the buffer. A byte order mark at the file's beginning is left out.
    pub fn next(&mut self, buffer: &mut Vec<u8>) -> io::Result<Line> {
        let from = buffer.len();
        let rest = self.again.get(self.again_from..).unwrap_or_default();
        if rest.is_empty() {
            let mut limited = Read::take(&mut self.source, LINE_BYTES_MAX as u64 + 1);
            limited.read_until(b'\n', buffer)?;
        } else {
            let length = rest.iter().position(|byte| *byte == b'\n');
            let length = length.map_or(rest.len(), |at| at + 1);
            buffer.extend(rest.iter().take(length));
            self.again_from += length;
        }
        let length = buffer.len() - from;
        if length == 0 {
            return Ok(Line::End);
        }
        self.bytes += length as u64;
        self.count += 1;
        if length > LINE_BYTES_MAX && buffer.last() != Some(&b'\n') {
            buffer.truncate(from);
            self.bytes += pass_line(&mut self.source)?;
            return Ok(Line::TooLong);
        }
        let line = buffer.get(from..).unwrap_or_default();
        if self.count == 1 && line.starts_with(BYTE_ORDER_MARK) {
            buffer.drain(from..from + BYTE_ORDER_MARK.len());
        }
        Ok(Line::Whole)
    }

    /// Gives lines back that were read last: they are read again.
    pub fn give_back(&mut self, lines: &[u8]) {
        self.again.drain(..self.again_from);
        self.again_from = 0;
        self.again.splice(..0, lines.iter().copied());
        let ends = lines.iter().filter(|byte| **byte == b'\n').count();
        let is_cut = lines.last().is_some_and(|byte| *byte != b'\n');
        self.count -= (ends + usize::from(is_cut)) as u64;
        self.bytes -= lines.len() as u64;
    }
}

/// Passes over the rest of a line; how many bytes it had.
fn pass_line(source: &mut impl BufRead) -> io::Result<u64> {
    let mut passed = 0;
    loop {
        let there = source.fill_buf()?;
        let end = there.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(there.len(), |at| at + 1);
        let is_end = end.is_some() || there.is_empty();
        source.consume(length);
        passed += length as u64;
        if is_end {
            return Ok(passed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(lines: &mut Lines<&[u8]>) -> (Line, String) {
        let mut buffer = Vec::new();
        let line = lines.next(&mut buffer).expect("memory is read");
        (line, String::from_utf8(buffer).expect("UTF-8"))
    }

    #[test]
    fn lines_given_back_are_read_again_with_their_numbers() {
        let mut lines = Lines::new(&b"\xef\xbb\xbfa\nb\nc"[..]);
        assert_eq!(next(&mut lines), (Line::Whole, "a\n".into()));
        assert_eq!(next(&mut lines), (Line::Whole, "b\n".into()));
        assert_eq!(next(&mut lines), (Line::Whole, "c".into()));
        lines.give_back(b"b\nc");
        assert_eq!((lines.count, lines.bytes), (1, 5));
        assert_eq!(next(&mut lines), (Line::Whole, "b\n".into()));
        lines.give_back(b"b\n");
        assert_eq!(next(&mut lines), (Line::Whole, "b\n".into()));
        assert_eq!(next(&mut lines), (Line::Whole, "c".into()));
        assert_eq!(next(&mut lines).0, Line::End);
        assert_eq!((lines.count, lines.bytes), (3, 8));
    }

    #[test]
    fn a_line_without_an_end_is_passed_over() {
        let mut text = vec![b'x'; LINE_BYTES_MAX + 100];
        text.extend(b"\nnext\n");
        let mut lines = Lines::new(&text[..]);
        assert_eq!(next(&mut lines), (Line::TooLong, String::new()));
        assert_eq!(next(&mut lines), (Line::Whole, "next\n".into()));
        assert_eq!((lines.count, lines.bytes), (2, text.len() as u64));
    }
}
