//! Patterns of Lua 5.1, for `string.find`, `match`, `gmatch` and `gsub`: Lua's own go back without a bound of time and of
//! the stack.
//!
//! Source: the rules of Lua 5.1's reference manual, section 5.4.1; texts of errors as `lstrlib.c` has them.

/// Captures of a pattern.
const CAPTURES_MAX: usize = 32;
/// A pattern goes back so deep.
const DEPTH_MAX: usize = 200;

/// Why there is no match, besides that there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wrong {
    /// The pattern is none.
    Pattern(&'static str),
    /// It has taken too many steps.
    TooLong,
}

/// Takes steps; false if there are none left.
pub(super) type Steps<'s> = &'s dyn Fn(i64) -> bool;
/// So many are taken at once.
const STEPS: i64 = 1000;

/// What is captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Capture {
    /// These bytes.
    Bytes(usize, usize),
    /// The place before this byte.
    Position(usize),
    Open(usize),
}

/// A pattern at a text.
pub(super) struct Matcher<'m> {
    text: &'m [u8],
    pattern: &'m [u8],
    captures: Vec<Capture>,
    depth: usize,
    steps: Steps<'m>,
    taken: i64,
}

type Found = Result<Option<usize>, Wrong>;

impl<'m> Matcher<'m> {
    /// Of a pattern without its anchor.
    pub fn new(text: &'m [u8], pattern: &'m [u8], steps: Steps<'m>) -> Self {
        Matcher {
            text,
            pattern,
            captures: Vec::new(),
            depth: 0,
            steps,
            taken: 0,
        }
    }

    /// Matches at a place; returns the end, and keeps the captures.
    pub fn at(&mut self, start: usize) -> Found {
        self.captures.clear();
        self.depth = 0;
        self.run(start, 0)
    }

    /// Matches at a place from one on, or only there; returns both ends.
    pub fn find(
        &mut self,
        from: usize,
        is_anchored: bool,
    ) -> Result<Option<(usize, usize)>, Wrong> {
        for start in from..=self.text.len() {
            if let Some(end) = self.at(start)? {
                return Ok(Some((start, end)));
            }
            if is_anchored {
                break;
            }
        }
        Ok(None)
    }

    /// Whether the last match has captures.
    pub fn has_captures(&self) -> bool {
        !self.captures.is_empty()
    }

    /// The captures of the last match, or all of it if the pattern has none.
    pub fn captures(&self, start: usize, end: usize) -> Result<Vec<Capture>, Wrong> {
        if self.captures.is_empty() {
            return Ok(vec![Capture::Bytes(start, end)]);
        }
        match self
            .captures
            .iter()
            .any(|one| matches!(one, Capture::Open(_)))
        {
            true => Err(Wrong::Pattern("unfinished capture")),
            false => Ok(self.captures.clone()),
        }
    }

    fn step(&mut self) -> Result<(), Wrong> {
        self.taken += 1;
        if self.taken >= STEPS {
            self.taken = 0;
            if !(self.steps)(STEPS) {
                return Err(Wrong::TooLong);
            }
        }
        Ok(())
    }

    /// Matches one level deeper.
    fn deeper(&mut self, at: usize, place: usize) -> Found {
        if self.depth >= DEPTH_MAX {
            return Err(Wrong::Pattern("pattern too complex"));
        }
        self.depth += 1;
        let found = self.run(at, place);
        self.depth -= 1;
        found
    }

    fn run(&mut self, mut at: usize, mut place: usize) -> Found {
        loop {
            self.step()?;
            match self.pattern.get(place..).unwrap_or_default() {
                [] => return Ok(Some(at)),
                [b'(', b')', ..] => return self.capture(Capture::Position(at), at, place + 2),
                [b'(', ..] => return self.capture(Capture::Open(at), at, place + 1),
                [b')', ..] => return self.close(at, place + 1),
                [b'%', b'b', ..] => match self.balanced(at, place + 2)? {
                    Some(end) => {
                        (at, place) = (end, place + 4);
                        continue;
                    }
                    None => return Ok(None),
                },
                [b'%', b'f', ..] => {
                    place += 2;
                    if self.pattern.get(place) != Some(&b'[') {
                        return Err(Wrong::Pattern("missing '[' after '%f' in pattern"));
                    }
                    let end = self.class_end(place)?;
                    let before = at.checked_sub(1).map_or(0, |before| self.text[before]);
                    let behind = self.text.get(at).copied().unwrap_or(0);
                    let class = &self.pattern[place..end];
                    if in_set(before, class) || !in_set(behind, class) {
                        return Ok(None);
                    }
                    place = end;
                    continue;
                }
                [b'%', digit @ b'0'..=b'9', ..] => match self.same(at, *digit)? {
                    Some(end) => {
                        (at, place) = (end, place + 2);
                        continue;
                    }
                    None => return Ok(None),
                },
                [b'$'] => return Ok((at == self.text.len()).then_some(at)),
                _ => {}
            }
            let end = self.class_end(place)?;
            let is_it = self.is_one(at, place, end);
            match self.pattern.get(end) {
                Some(b'?') => {
                    if is_it && let Some(found) = self.deeper(at + 1, end + 1)? {
                        return Ok(Some(found));
                    }
                    place = end + 1;
                }
                Some(b'*') => return self.longest(at, place, end),
                Some(b'+') => {
                    return match is_it {
                        true => self.longest(at + 1, place, end),
                        false => Ok(None),
                    };
                }
                Some(b'-') => return self.shortest(at, place, end),
                _ if !is_it => return Ok(None),
                _ => (at, place) = (at + 1, end),
            }
        }
    }

    fn is_one(&self, at: usize, place: usize, end: usize) -> bool {
        self.text
            .get(at)
            .is_some_and(|byte| match self.pattern[place] {
                b'.' => true,
                b'%' => in_class(*byte, self.pattern[place + 1]),
                b'[' => in_set(*byte, &self.pattern[place..end]),
                other => other == *byte,
            })
    }

    /// Behind the class that begins at a place.
    fn class_end(&self, place: usize) -> Result<usize, Wrong> {
        let mut at = place + 1;
        match self.pattern[place] {
            b'%' if at >= self.pattern.len() => {
                Err(Wrong::Pattern("malformed pattern (ends with '%')"))
            }
            b'%' => Ok(at + 1),
            b'[' => {
                at += usize::from(self.pattern.get(at) == Some(&b'^'));
                loop {
                    let missing = Wrong::Pattern("malformed pattern (missing ']')");
                    let byte = *self.pattern.get(at).ok_or(missing)?;
                    at += 1 + usize::from(byte == b'%');
                    if self.pattern.get(at) == Some(&b']') {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(at),
        }
    }

    fn longest(&mut self, at: usize, place: usize, end: usize) -> Found {
        let mut count = 0;
        while self.is_one(at + count, place, end) {
            self.step()?;
            count += 1;
        }
        loop {
            if let Some(found) = self.deeper(at + count, end + 1)? {
                return Ok(Some(found));
            }
            match count {
                0 => return Ok(None),
                _ => count -= 1,
            }
        }
    }

    fn shortest(&mut self, mut at: usize, place: usize, end: usize) -> Found {
        loop {
            if let Some(found) = self.deeper(at, end + 1)? {
                return Ok(Some(found));
            }
            if !self.is_one(at, place, end) {
                return Ok(None);
            }
            at += 1;
        }
    }

    fn capture(&mut self, capture: Capture, at: usize, place: usize) -> Found {
        if self.captures.len() >= CAPTURES_MAX {
            return Err(Wrong::Pattern("too many captures"));
        }
        let count = self.captures.len();
        self.captures.push(capture);
        let found = self.deeper(at, place)?;
        if found.is_none() {
            self.captures.truncate(count);
        }
        Ok(found)
    }

    fn close(&mut self, at: usize, place: usize) -> Found {
        let is_open = |one: &Capture| matches!(one, Capture::Open(_));
        let number = self.captures.iter().rposition(is_open);
        let number = number.ok_or(Wrong::Pattern("invalid pattern capture"))?;
        let open = self.captures[number];
        if let Capture::Open(start) = open {
            self.captures[number] = Capture::Bytes(start, at);
        }
        let found = self.deeper(at, place)?;
        if found.is_none() {
            self.captures[number] = open;
        }
        Ok(found)
    }

    /// What stands between two bytes, and has as many of the one as of the other.
    fn balanced(&mut self, at: usize, place: usize) -> Found {
        let (Some(open), Some(close)) = (self.pattern.get(place), self.pattern.get(place + 1))
        else {
            return Err(Wrong::Pattern("unbalanced pattern"));
        };
        let (open, close) = (*open, *close);
        if self.text.get(at) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1;
        for end in at + 1..self.text.len() {
            self.step()?;
            let byte = self.text[end];
            if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(end + 1));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// What was captured before, once more.
    fn same(&mut self, at: usize, digit: u8) -> Found {
        let number = usize::from(digit).checked_sub(usize::from(b'1'));
        let capture = number.and_then(|number| self.captures.get(number));
        let Some(Capture::Bytes(start, end)) = capture else {
            return Err(Wrong::Pattern("invalid capture index"));
        };
        let captured = &self.text[*start..*end];
        let end = at + captured.len();
        Ok((self.text.get(at..end) == Some(captured)).then_some(end))
    }
}

fn in_class(byte: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 11,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is_in != class.is_ascii_uppercase()
}

/// Whether a byte is in a set, which stands there with its brackets.
fn in_set(byte: u8, set: &[u8]) -> bool {
    let inner = &set[1..set.len() - 1];
    let (inner, is_wanted) = match inner {
        [b'^', inner @ ..] => (inner, false),
        inner => (inner, true),
    };
    let mut at = 0;
    while at < inner.len() {
        match &inner[at..] {
            [b'%', class, ..] => {
                if in_class(byte, *class) {
                    return is_wanted;
                }
                at += 2;
            }
            [from, b'-', to, ..] => {
                if (*from..=*to).contains(&byte) {
                    return is_wanted;
                }
                at += 3;
            }
            [one, ..] => {
                if *one == byte {
                    return is_wanted;
                }
                at += 1;
            }
            [] => break,
        }
    }
    !is_wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn patterns_find_what_luas_own_find() {
        let lua = mlua::Lua::new();
        let own: mlua::Function = lua
            .load("return function(s, p) return pcall(string.find, s, p) end")
            .eval()
            .unwrap();
        let texts = [
            "",
            "a",
            "hello world",
            "key = value",
            "f(a(b)c)d",
            "THE (quick) fox",
            "aaa",
            "x-1.5e10",
        ];
        let patterns = [
            "",
            "a",
            "^a",
            "l+",
            "l*",
            "l-o",
            "(%w+) = (%w+)",
            "%b()",
            "()ll()",
            "o$",
            "[aeiou]",
            "[^aeiou ]+",
            "%f[%a]%a+",
            "(a)(a)%1",
            "a?a?aaa",
            "[%w_]+",
            "[a-f]+",
            "%d+%.?%d*",
            "^(.-)%s*$",
            "(.)%1",
            "%S+$",
            "[]]",
            "[^]]",
            "%",
            "[a",
            "%f",
            "(a",
            "a)",
            "%1",
            "%b",
            "[%",
            "[a-]",
            "%-%d",
            "$",
            "^$",
            ".-x",
            "([^=]*)=",
        ];
        for text in texts {
            // Without these a pattern is a text.
            let is_pattern = |pattern: &&&str| {
                pattern.contains(['^', '$', '*', '+', '?', '.', '(', '[', '%', '-'])
            };
            for pattern in patterns.iter().filter(is_pattern) {
                let values: mlua::MultiValue = own.call((text, *pattern)).unwrap();
                let values: Vec<String> = values
                    .iter()
                    .map(|value| value.to_string().unwrap())
                    .collect();
                let anchored = pattern.strip_prefix('^');
                let steps = |_| true;
                let inner = anchored.unwrap_or(pattern).as_bytes();
                let mut matcher = Matcher::new(text.as_bytes(), inner, &steps);
                let found = matcher
                    .find(0, anchored.is_some())
                    .and_then(|found| match found {
                        None => Ok(vec!["true".to_string(), "nil".into()]),
                        Some((start, end)) => {
                            let mut told =
                                vec!["true".into(), (start + 1).to_string(), end.to_string()];
                            if !matcher.captures.is_empty() {
                                told.extend(matcher.captures(start, end)?.iter().map(
                                    |one| match one {
                                        Capture::Bytes(from, to) => text[*from..*to].to_string(),
                                        Capture::Position(at) | Capture::Open(at) => {
                                            (at + 1).to_string()
                                        }
                                    },
                                ));
                            }
                            Ok(told)
                        }
                    });
                match found {
                    Ok(told) => assert_eq!(told, values, "{text:?} {pattern:?}"),
                    Err(Wrong::Pattern(wrong)) => {
                        assert!(
                            values[1].contains(wrong),
                            "{text:?} {pattern:?}: {wrong} {values:?}"
                        );
                    }
                    Err(Wrong::TooLong) => panic!("{pattern}"),
                }
            }
        }
    }

    #[test]
    fn a_pattern_that_goes_back_for_ever_ends_with_its_steps_and_a_deep_one_at_its_bound() {
        let left = Cell::new(100_000);
        let steps = |count| {
            left.set(left.get() - count);
            left.get() > 0
        };
        let pattern = format!("{}b", "a?".repeat(60));
        let text = "a".repeat(60);
        let found = Matcher::new(text.as_bytes(), pattern.as_bytes(), &steps).find(0, true);
        assert_eq!(found, Err(Wrong::TooLong));
        let steps = |_| true;
        let pattern = "a?".repeat(10_000);
        let found = Matcher::new("a".repeat(10_000).as_bytes(), pattern.as_bytes(), &steps).at(0);
        assert_eq!(found, Err(Wrong::Pattern("pattern too complex")));
    }
}
