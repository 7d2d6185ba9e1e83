//! Patterns of Lua 5.1, matched within bounds: Lua's own matcher bounds neither its depth nor its steps.
//!
//! Supported as in Lua's library, with its errors, are classes, sets, the items `* + - ?`, captures, captures of
//! places, `%b`, `%f`, anchors, and references to captures. As there, a pattern ends before its first zero byte.
//!
//! Invariants: a match is at most [`DEPTH_MAX`] calls deep; it ends when it has taken the steps that it was given.
//!
//! Source: `lstrlib.c` of Lua 5.1.5; the bound of the depth is that of Lua 5.2.

use super::limits::BYTES_MAX;
use smallvec::SmallVec;
use std::ops::Range;

/// So many items that repeat something, and ends of captures, can be open at once.
const DEPTH_MAX: usize = 200;
const CAPTURES_MAX: usize = 32;
/// So many bytes that are compared at once count as a step.
const STEP_BYTES: usize = 8;

/// Why there is neither a match nor none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum PatternError {
    #[error("invalid capture index")]
    CaptureIndex,
    #[error("invalid pattern capture")]
    NoCapture,
    #[error("unfinished capture")]
    Unfinished,
    #[error("too many captures")]
    Captures,
    #[error("malformed pattern (ends with '%')")]
    EndsEscaped,
    #[error("malformed pattern (missing ']')")]
    NoSetEnd,
    #[error("unbalanced pattern")]
    Unbalanced,
    #[error("missing '[' after '%f' in pattern")]
    NoFrontier,
    #[error("pattern too complex")]
    Depth,
    #[error("the script has run for too long")]
    Steps,
    #[error("not enough memory")]
    Memory,
}

/// A part of the text, or a place in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Text(Range<usize>),
    /// Counted from 1.
    Place(usize),
}

#[derive(Clone, Copy)]
enum End {
    Open,
    IsPlace,
    At(usize),
}

type Matched<T> = Result<T, PatternError>;

/// A pattern with a text, and the captures of its last match.
pub(super) struct Matcher<'m> {
    text: &'m [u8],
    pattern: &'m [u8],
    is_anchored: bool,
    captures: SmallVec<[(usize, End); CAPTURES_MAX]>,
    depth: usize,
    steps_left: i64,
}

impl<'m> Matcher<'m> {
    /// A matcher that takes at most so many steps. For `gmatch` no pattern is anchored.
    pub fn new(text: &'m [u8], pattern: &'m [u8], anchors: bool, steps: i64) -> Self {
        let end = pattern.iter().position(|byte| *byte == 0);
        let pattern = &pattern[..end.unwrap_or(pattern.len())];
        let anchored = pattern.strip_prefix(b"^").filter(|_| anchors);
        Matcher {
            text,
            pattern: anchored.unwrap_or(pattern),
            is_anchored: anchored.is_some(),
            captures: SmallVec::new(),
            depth: 0,
            steps_left: steps,
        }
    }

    /// The steps given and not taken; negative if the match wanted more.
    pub fn steps_left(&self) -> i64 {
        self.steps_left
    }

    /// The first match from a place on, or none there.
    pub fn find(&mut self, from: usize) -> Matched<Option<Range<usize>>> {
        for start in from..=self.text.len() {
            self.captures.clear();
            self.depth = 0;
            if let Some(end) = self.go(start, 0)? {
                return Ok(Some(start..end));
            }
            if self.is_anchored {
                break;
            }
        }
        Ok(None)
    }

    /// The captures; the whole match, if it is asked for and the pattern captures nothing.
    pub fn found(&self, whole: Option<Range<usize>>) -> Matched<Vec<Found>> {
        match whole {
            Some(whole) if self.captures.is_empty() => Ok(vec![Found::Text(whole)]),
            _ => (0..self.captures.len())
                .map(|number| self.capture(number, 0..0))
                .collect(),
        }
    }

    fn capture(&self, number: usize, whole: Range<usize>) -> Matched<Found> {
        match self.captures.get(number) {
            None if number == 0 => Ok(Found::Text(whole)),
            None => Err(PatternError::CaptureIndex),
            Some((_, End::Open)) => Err(PatternError::Unfinished),
            Some((start, End::IsPlace)) => Ok(Found::Place(start + 1)),
            Some((start, End::At(end))) => Ok(Found::Text(*start..*end)),
        }
    }

    /// The text with at most so many matches replaced, in which `%` and a digit are replaced by captures. Returns the
    /// number of matches.
    pub fn replaced(&mut self, by: &[u8], most: i64) -> Matched<(Vec<u8>, i64)> {
        let (mut written, mut count, mut at) = (Vec::new(), 0, 0);
        while count < most {
            let Some(found) = self.find(at)? else { break };
            count += 1;
            self.write(&mut written, &self.text[at..found.start])?;
            self.write_replacement(&mut written, by, &found)?;
            at = found.end;
            if found.is_empty() {
                let Some(byte) = self.text.get(at) else { break };
                self.write(&mut written, &[*byte])?;
                at += 1;
            }
            if self.is_anchored {
                break;
            }
        }
        self.write(&mut written, &self.text[at..])?;
        Ok((written, count))
    }

    fn write_replacement(
        &mut self,
        written: &mut Vec<u8>,
        by: &[u8],
        found: &Range<usize>,
    ) -> Matched<()> {
        let mut rest = by;
        while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
            self.write(written, &rest[..at])?;
            let mark = rest.get(at + 1).copied().unwrap_or(0);
            match mark {
                b'0' => self.write(written, &self.text[found.clone()])?,
                b'1'..=b'9' => match self.capture((mark - b'1').into(), found.clone())? {
                    Found::Text(range) => self.write(written, &self.text[range])?,
                    Found::Place(place) => self.write(written, place.to_string().as_bytes())?,
                },
                mark => self.write(written, &[mark])?,
            }
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        self.write(written, rest)
    }

    fn write(&mut self, written: &mut Vec<u8>, bytes: &[u8]) -> Matched<()> {
        self.take(bytes.len())?;
        if written.len() + bytes.len() > BYTES_MAX {
            return Err(PatternError::Memory);
        }
        written.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes a step, and those of so many bytes.
    fn take(&mut self, bytes: usize) -> Matched<()> {
        self.steps_left -= 1 + (bytes / STEP_BYTES) as i64;
        match self.steps_left < 0 {
            true => Err(PatternError::Steps),
            false => Ok(()),
        }
    }

    /// A byte of the pattern; zero at its end.
    fn mark(&self, at: usize) -> u8 {
        self.pattern.get(at).copied().unwrap_or(0)
    }

    /// The end of the match of the pattern from a place on, with the text from a place on.
    fn go(&mut self, s: usize, p: usize) -> Matched<Option<usize>> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(PatternError::Depth);
        }
        let end = self.items(s, p)?;
        self.depth -= 1;
        Ok(end)
    }

    fn items(&mut self, mut s: usize, mut p: usize) -> Matched<Option<usize>> {
        loop {
            self.take(0)?;
            match (self.mark(p), self.mark(p + 1)) {
                (0, _) => return Ok(Some(s)),
                (b'(', b')') => return self.open(s, p + 2, End::IsPlace),
                (b'(', _) => return self.open(s, p + 1, End::Open),
                (b')', _) => return self.close(s, p + 1),
                (b'$', 0) => return Ok((s == self.text.len()).then_some(s)),
                (b'%', b'b') => {
                    let Some(end) = self.balanced(s, p + 2)? else {
                        return Ok(None);
                    };
                    (s, p) = (end, p + 4);
                }
                (b'%', b'f') => {
                    p += 2;
                    if self.mark(p) != b'[' {
                        return Err(PatternError::NoFrontier);
                    }
                    let end = self.item_end(p)?;
                    let before = s.checked_sub(1).map_or(0, |before| self.text[before]);
                    let here = self.text.get(s).copied().unwrap_or(0);
                    if self.is_in_set(before, p, end - 1) || !self.is_in_set(here, p, end - 1) {
                        return Ok(None);
                    }
                    p = end;
                }
                (b'%', digit @ b'0'..=b'9') => {
                    let Some(end) = self.captured_again(s, digit)? else {
                        return Ok(None);
                    };
                    (s, p) = (end, p + 2);
                }
                _ => {
                    let end = self.item_end(p)?;
                    let is_one = self.is_one(s, p, end)?;
                    match self.mark(end) {
                        b'?' => {
                            if is_one && let Some(found) = self.go(s + 1, end + 1)? {
                                return Ok(Some(found));
                            }
                            p = end + 1;
                        }
                        b'*' => return self.most(s, p, end),
                        b'+' if is_one => return self.most(s + 1, p, end),
                        b'-' => return self.fewest(s, p, end),
                        b'+' => return Ok(None),
                        _ if is_one => (s, p) = (s + 1, end),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    /// Behind the item that begins here.
    fn item_end(&mut self, mut p: usize) -> Matched<usize> {
        let start = p;
        p += 1;
        match self.mark(start) {
            b'%' if self.mark(p) == 0 => return Err(PatternError::EndsEscaped),
            b'%' => p += 1,
            b'[' => {
                if self.mark(p) == b'^' {
                    p += 1;
                }
                loop {
                    let mark = self.mark(p);
                    p += 1;
                    match mark {
                        0 => return Err(PatternError::NoSetEnd),
                        b'%' if self.mark(p) != 0 => p += 1,
                        _ => {}
                    }
                    if self.mark(p) == b']' {
                        break;
                    }
                }
                p += 1;
                self.take(p - start)?;
            }
            _ => {}
        }
        Ok(p)
    }

    /// True if the byte of the text is one of the item's.
    fn is_one(&mut self, s: usize, p: usize, end: usize) -> Matched<bool> {
        self.take(end - p)?;
        let Some(byte) = self.text.get(s).copied() else {
            return Ok(false);
        };
        Ok(match self.mark(p) {
            b'.' => true,
            b'%' => is_in_class(byte, self.mark(p + 1)),
            b'[' => self.is_in_set(byte, p, end - 1),
            mark => mark == byte,
        })
    }

    /// True if a byte is in the set between these places, at which `[` and `]` are.
    fn is_in_set(&self, byte: u8, mut p: usize, end: usize) -> bool {
        let is_other = self.mark(p + 1) == b'^';
        p += usize::from(is_other);
        loop {
            p += 1;
            if p >= end {
                return is_other;
            }
            let is_in = if self.mark(p) == b'%' {
                p += 1;
                is_in_class(byte, self.mark(p))
            } else if self.mark(p + 1) == b'-' && p + 2 < end {
                p += 2;
                (self.mark(p - 2)..=self.mark(p)).contains(&byte)
            } else {
                self.mark(p) == byte
            };
            if is_in {
                return !is_other;
            }
        }
    }

    fn balanced(&mut self, s: usize, p: usize) -> Matched<Option<usize>> {
        let (open, close) = (self.mark(p), self.mark(p + 1));
        if open == 0 || close == 0 {
            return Err(PatternError::Unbalanced);
        }
        if self.text.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1_usize;
        for at in s + 1..self.text.len() {
            self.take(0)?;
            match self.text[at] {
                byte if byte == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(Some(at + 1));
                    }
                }
                byte if byte == open => depth += 1,
                _ => {}
            }
        }
        Ok(None)
    }

    fn most(&mut self, s: usize, p: usize, end: usize) -> Matched<Option<usize>> {
        let mut count = 0;
        while self.is_one(s + count, p, end)? {
            count += 1;
        }
        for count in (0..=count).rev() {
            if let Some(found) = self.go(s + count, end + 1)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn fewest(&mut self, mut s: usize, p: usize, end: usize) -> Matched<Option<usize>> {
        loop {
            if let Some(found) = self.go(s, end + 1)? {
                return Ok(Some(found));
            }
            if !self.is_one(s, p, end)? {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn open(&mut self, s: usize, p: usize, end: End) -> Matched<Option<usize>> {
        if self.captures.len() >= CAPTURES_MAX {
            return Err(PatternError::Captures);
        }
        self.captures.push((s, end));
        let found = self.go(s, p)?;
        if found.is_none() {
            self.captures.pop();
        }
        Ok(found)
    }

    fn close(&mut self, s: usize, p: usize) -> Matched<Option<usize>> {
        let is_open = |(_, end): &(usize, End)| matches!(end, End::Open);
        let number = self.captures.iter().rposition(is_open);
        let number = number.ok_or(PatternError::NoCapture)?;
        self.captures[number].1 = End::At(s);
        let found = self.go(s, p)?;
        if found.is_none() {
            self.captures[number].1 = End::Open;
        }
        Ok(found)
    }

    /// The position behind a repetition of a captured text, if it is repeated here.
    fn captured_again(&mut self, s: usize, digit: u8) -> Matched<Option<usize>> {
        let number = digit.checked_sub(b'1').map(usize::from);
        match number.and_then(|number| self.captures.get(number)) {
            None | Some((_, End::Open)) => Err(PatternError::CaptureIndex),
            Some((_, End::IsPlace)) => Ok(None),
            Some((start, End::At(end))) => {
                let range = *start..*end;
                self.take(range.len())?;
                let is_here = self.text[s..].starts_with(&self.text[range.clone()]);
                Ok(is_here.then_some(s + range.len()))
            }
        }
    }
}

/// True if a byte is in the class of a letter, or is the byte behind `%`.
fn is_in_class(byte: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, b' ' | 9..=13),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is_in == class.is_ascii_lowercase()
}

/// True if a pattern is plain text.
pub(super) fn is_plain(pattern: &[u8]) -> bool {
    let end = pattern.iter().position(|byte| *byte == 0);
    let pattern = &pattern[..end.unwrap_or(pattern.len())];
    !pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte))
}

/// The first place from `init` on at which a text occurs literally; and the steps that are left then.
pub(super) fn find_plain(
    text: &[u8],
    part: &[u8],
    from: usize,
    steps: i64,
) -> (Matched<Option<usize>>, i64) {
    let Some(first) = part.first() else {
        return (Ok(Some(from)), steps);
    };
    let (mut at, mut steps) = (from, steps);
    while at + part.len() <= text.len() {
        let skipped = text[at..].iter().position(|byte| byte == first);
        steps -= 1 + (skipped.unwrap_or(text.len() - at) / STEP_BYTES) as i64;
        let Some(skipped) = skipped else { break };
        at += skipped;
        let same = text[at..].iter().zip(part).take_while(|(a, b)| a == b);
        let same = same.count();
        steps -= (same / STEP_BYTES) as i64;
        if steps < 0 {
            return (Err(PatternError::Steps), steps);
        }
        if same == part.len() {
            return (Ok(Some(at)), steps);
        }
        at += 1;
    }
    match steps < 0 {
        true => (Err(PatternError::Steps), steps),
        false => (Ok(None), steps),
    }
}

#[cfg(test)]
mod tests;
