//! PostgreSQL's "advanced" regular expressions, written in the language of the crate `regex`: escapes, quantifiers, brackets
//! and embedded options mean other things there, or nothing.
//!
//! References back and conditions on what surrounds a match are refused by name. Source: PostgreSQL's documentation, 9.7.3,
//! and `regc_lex.c`.

use super::patterns::Options;
use crate::error::SqlError;
use std::fmt::Write;

/// The most that a quantifier counts to.
const REPETITIONS_MAX: u32 = 255;

/// A pattern in the language of `regex`.
#[derive(Debug)]
pub(super) struct Translated {
    pub text: String,
    /// The options, with those that the pattern names itself.
    pub options: Options,
    /// The match that is wanted of several at one place; none if there cannot be several.
    pub length: Option<Length>,
}

/// The length of a match that is wanted. That of a whole pattern is the one that its first quantifier wants, and the longest
/// if it has several branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Length {
    Longest,
    Shortest,
}

/// Translates a pattern.
///
/// # Errors
/// `2201B` if it is no pattern; `0A000` for what is not supported.
pub(super) fn translated(pattern: &str, options: Options) -> Result<Translated, SqlError> {
    let as_literal = |text: &str, options| {
        let text = regex::escape(text);
        let length = None;
        Ok(Translated {
            text,
            options,
            length,
        })
    };
    let mut options = options;
    let mut rest = pattern;
    if let Some(behind) = rest.strip_prefix("***") {
        if let Some(literal) = behind.strip_prefix('=') {
            return as_literal(literal, options);
        }
        let advanced = behind.strip_prefix(':');
        rest = advanced.ok_or_else(|| wrong("quantifier operand invalid"))?;
    }
    if let Some(named) = rest.strip_prefix("(?")
        && named.starts_with(|letter: char| letter.is_ascii_alphabetic())
    {
        let (letters, behind) = named
            .split_once(')')
            .ok_or_else(|| wrong("invalid embedded option"))?;
        for letter in letters.chars() {
            match letter {
                'i' => options.ignores_case = true,
                'c' => options.ignores_case = false,
                'n' | 'm' | 'p' | 's' | 'w' => options.set_lines(letter),
                'x' => options.is_expanded = true,
                't' => options.is_expanded = false,
                'q' => return as_literal(behind, options),
                'b' | 'e' => {
                    return Err(SqlError::unsupported(format!(
                        "the regular expression option \"{letter}\" is not supported"
                    )));
                }
                _ => return Err(wrong("invalid embedded option")),
            }
        }
        rest = behind;
    }
    // The form of `similar_to_escape` with a part: what is before it takes as little as it can.
    let least = rest
        .strip_prefix("^(?:")
        .filter(|rest| rest.contains("){1,1}?("));
    let mut writer = Writer {
        rest: least.unwrap_or(rest).chars().peekable(),
        out: String::with_capacity(rest.len() + 8),
        is_expanded: options.is_expanded,
        stops_at_lines: options.stops_at_lines,
        depth: usize::from(least.is_some()),
        before: Before::Nothing,
        levels: vec![Level::default()],
        ambiguity: 0,
    };
    if least.is_some() {
        writer.out.push_str("^(?U:");
    }
    writer.write()?;
    let length = writer.levels.first_mut().and_then(Level::wanted);
    // One quantifier that takes as much as it can has one match at a place.
    let is_ambiguous = writer.ambiguity > 1 && least.is_none();
    Ok(Translated {
        text: writer.out,
        options,
        length: is_ambiguous.then(|| length.unwrap_or(Length::Longest)),
    })
}

#[cold]
fn wrong(message: &str) -> SqlError {
    SqlError::new("2201B", format!("invalid regular expression: {message}"))
}

/// The part of a pattern before a quantifier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The beginning of a branch, or a condition: nothing that can be repeated.
    Nothing,
    Atom,
    Quantifier,
}

/// A group that is read, or the whole pattern.
#[derive(Default)]
struct Level {
    /// The length that the branch wants, by the atoms before the last one.
    branch: Option<Length>,
    /// The length that the last atom wants.
    atom: Option<Length>,
    has_branches: bool,
}

impl Level {
    fn next_atom(&mut self, wants: Option<Length>) {
        self.branch = self.branch.or(self.atom);
        self.atom = wants;
    }

    /// The length that all of it wants.
    fn wanted(&mut self) -> Option<Length> {
        self.next_atom(None);
        match self.has_branches {
            true => Some(Length::Longest),
            false => self.branch,
        }
    }
}

struct Writer<'p> {
    /// Copied at each bracket and each of its members: a copy is two pointers.
    rest: std::iter::Peekable<std::str::Chars<'p>>,
    out: String,
    is_expanded: bool,
    stops_at_lines: bool,
    depth: usize,
    before: Before,
    /// The pattern, and the groups that are open.
    levels: Vec<Level>,
    /// The number of quantifiers with several counts; more if there may be several matches at one place.
    ambiguity: usize,
}

impl Writer<'_> {
    fn takes(&mut self, wanted: char) -> bool {
        self.rest.next_if_eq(&wanted).is_some()
    }

    fn write(&mut self) -> Result<(), SqlError> {
        while let Some(letter) = self.rest.next() {
            match letter {
                letter if self.is_expanded && letter.is_whitespace() => {}
                '#' if self.is_expanded => while self.rest.next_if(|one| *one != '\n').is_some() {},
                '(' => self.group()?,
                ')' => {
                    let unbalanced = || wrong("parentheses () not balanced");
                    self.depth = self.depth.checked_sub(1).ok_or_else(unbalanced)?;
                    let mut level = self.levels.pop().unwrap_or_default();
                    self.atom(")");
                    if let Some(around) = self.levels.last_mut() {
                        around.atom = level.wanted();
                    }
                }
                '|' => {
                    self.out.push('|');
                    self.before = Before::Nothing;
                    self.ambiguity += 2;
                    if let Some(level) = self.levels.last_mut() {
                        level.has_branches = true;
                    }
                }
                '^' => self.condition("^"),
                '$' => self.condition("$"),
                '*' | '+' | '?' => self.quantifier(&letter.to_string())?,
                '{' if self.rest.peek().is_some_and(char::is_ascii_digit) => {
                    let bounds = self.bounds()?;
                    self.quantifier(&bounds)?;
                }
                '[' => self.bracket()?,
                '\\' => self.escape()?,
                '.' => self.atom("."),
                letter => self.literal(letter),
            }
        }
        match self.depth {
            0 => Ok(()),
            _ => Err(wrong("parentheses () not balanced")),
        }
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.before = Before::Atom;
        if let Some(level) = self.levels.last_mut() {
            level.next_atom(None);
        }
    }

    fn condition(&mut self, text: &str) {
        self.out.push_str(text);
        self.before = Before::Nothing;
    }

    fn literal(&mut self, letter: char) {
        let mut buffer = [0; 4];
        let escaped = regex::escape(letter.encode_utf8(&mut buffer));
        self.atom(&escaped);
    }

    fn group(&mut self) -> Result<(), SqlError> {
        self.depth += 1;
        self.before = Before::Nothing;
        self.levels.push(Level::default());
        if !self.takes('?') {
            self.out.push('(');
            return Ok(());
        }
        match self.rest.next() {
            Some(':') => self.out.push_str("(?:"),
            Some('=' | '!' | '<') => {
                return Err(SqlError::unsupported(
                    "conditions on what surrounds a match are not supported in regular expressions",
                ));
            }
            Some('#') => {
                while self.rest.next_if(|one| *one != ')').is_some() {}
                self.rest.next();
                self.depth -= 1;
                self.levels.pop();
            }
            _ => return Err(wrong("quantifier operand invalid")),
        }
        Ok(())
    }

    fn quantifier(&mut self, text: &str) -> Result<(), SqlError> {
        if self.before != Before::Atom {
            return Err(wrong("quantifier operand invalid"));
        }
        self.out.push_str(text);
        let is_lazy = self.takes('?');
        if is_lazy {
            self.out.push('?');
        }
        self.before = Before::Quantifier;
        // Of `{m}` the atom decides.
        let is_fixed = text.starts_with('{') && !text.contains(',');
        if !is_fixed {
            self.ambiguity += if is_lazy { 2 } else { 1 };
            if let Some(level) = self.levels.last_mut() {
                level.atom = Some(if is_lazy {
                    Length::Shortest
                } else {
                    Length::Longest
                });
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Option<u32> {
        let mut number: Option<u32> = None;
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            let value = digit.to_digit(10).unwrap_or(0);
            number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(value));
        }
        number
    }

    /// `{m}`, `{m,}` or `{m,n}`, behind its first parenthesis.
    fn bounds(&mut self) -> Result<String, SqlError> {
        let least = self.number().unwrap_or(0);
        let is_fixed = !self.takes(',');
        let most = match is_fixed {
            false => self.number(),
            true => Some(least),
        };
        let is_in_order = most.is_none_or(|most| least <= most && most <= REPETITIONS_MAX);
        if !self.takes('}') || !is_in_order || least > REPETITIONS_MAX {
            return Err(wrong("invalid repetition count(s)"));
        }
        Ok(match most {
            Some(_) if is_fixed => format!("{{{least}}}"),
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        })
    }

    fn escape(&mut self) -> Result<(), SqlError> {
        let Some(letter) = self.rest.next() else {
            return Err(wrong("invalid escape \\ sequence"));
        };
        match letter {
            'A' => self.condition("\\A"),
            'Z' => self.condition("\\z"),
            'm' => self.condition("\\b{start}"),
            'M' => self.condition("\\b{end}"),
            'y' => self.condition("\\b"),
            'Y' => self.condition("\\B"),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                let class = class_of_letter(letter);
                self.atom(&format!("[{class}]"));
            }
            // PostgreSQL has no such class. Databases that were made before have it in conditions and indexes.
            'p' | 'P' => {
                let class = self.unicode_class(letter)?;
                self.atom(&class);
            }
            '1'..='9' => {
                return Err(SqlError::unsupported(
                    "references back are not supported in regular expressions",
                ));
            }
            letter => {
                let meant = self.escaped(letter)?;
                self.literal(meant);
            }
        }
        Ok(())
    }

    /// A class of Unicode behind its letter: `\pL`, or `\p{Letter}`.
    fn unicode_class(&mut self, letter: char) -> Result<String, SqlError> {
        let invalid = || wrong("invalid escape \\ sequence");
        let mut class = format!("\\{letter}");
        match self.rest.next() {
            Some('{') => {
                class.push('{');
                while let Some(one) = self.rest.next_if(|one| *one != '}') {
                    class.push(one);
                }
                self.rest.next_if_eq(&'}').ok_or_else(invalid)?;
                class.push('}');
            }
            Some(one) if one.is_ascii_alphabetic() => class.push(one),
            _ => return Err(invalid()),
        }
        Ok(class)
    }

    /// The character of an escape, behind its first letter.
    fn escaped(&mut self, letter: char) -> Result<char, SqlError> {
        let invalid = || wrong("invalid escape \\ sequence");
        let digits = |writer: &mut Self, base: u32, least: usize, most: usize| {
            let (mut value, mut count) = (0_u32, 0);
            while count < most
                && let Some(digit) = writer.rest.peek().and_then(|digit| digit.to_digit(base))
            {
                value = value.wrapping_mul(base).wrapping_add(digit);
                writer.rest.next();
                count += 1;
            }
            match count >= least {
                true => char::from_u32(value).ok_or_else(invalid),
                false => Err(invalid()),
            }
        };
        Ok(match letter {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'c' => {
                let control = self.rest.next().ok_or_else(invalid)?;
                char::from_u32(u32::from(control) & 0x1f).ok_or_else(invalid)?
            }
            'u' => digits(self, 16, 4, 4)?,
            'U' => digits(self, 16, 8, 8)?,
            'x' => digits(self, 16, 1, 255)?,
            '0' => digits(self, 8, 0, 2)?,
            letter if letter.is_ascii_alphanumeric() => return Err(invalid()),
            letter => letter,
        })
    }

    /// A bracket expression, behind its first parenthesis.
    fn bracket(&mut self) -> Result<(), SqlError> {
        let rest: String = self.rest.clone().take(6).collect();
        for (of_words, condition) in [("[:<:]]", "\\b{start}"), ("[:>:]]", "\\b{end}")] {
            if rest == of_words {
                self.rest.nth(5);
                self.condition(condition);
                return Ok(());
            }
        }
        let is_negated = self.takes('^');
        let mut set = String::new();
        let mut is_first = true;
        loop {
            let Some(letter) = self.rest.next() else {
                return Err(wrong("brackets [] not balanced"));
            };
            if letter == ']' && !is_first {
                break;
            }
            is_first = false;
            let Some(low) = self.member(letter, &mut set)? else {
                continue;
            };
            let mut behind = self.rest.clone();
            let is_range =
                behind.next() == Some('-') && behind.next().is_some_and(|one| one != ']');
            if !is_range {
                push_members(&mut set, low, low);
                continue;
            }
            self.rest.next();
            let letter = self.rest.next().unwrap_or('-');
            let high = self.member(letter, &mut set)?;
            let high = high.filter(|high| low <= *high);
            push_members(
                &mut set,
                low,
                high.ok_or_else(|| wrong("invalid character range"))?,
            );
        }
        if is_negated && self.stops_at_lines {
            set.push_str("\\n");
        }
        let negation = if is_negated { "^" } else { "" };
        self.atom(&format!("[{negation}{set}]"));
        Ok(())
    }

    /// A character of a bracket expression; none of a class, which is written to the set.
    fn member(&mut self, letter: char, set: &mut String) -> Result<Option<char>, SqlError> {
        match letter {
            '\\' => {
                let Some(letter) = self.rest.next() else {
                    return Err(wrong("invalid escape \\ sequence"));
                };
                match letter {
                    'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                        let _ = write!(set, "[{}]", class_of_letter(letter));
                        Ok(None)
                    }
                    'p' | 'P' => {
                        set.push_str(&self.unicode_class(letter)?);
                        Ok(None)
                    }
                    letter => self.escaped(letter).map(Some),
                }
            }
            '[' => match self.rest.peek() {
                Some(&kind @ (':' | '.' | '=')) => {
                    self.rest.next();
                    let name = self.name(kind)?;
                    let mut letters = name.chars();
                    match (kind, letters.next(), letters.next()) {
                        (':', ..) => {
                            let class = class_of_name(&name);
                            set.push_str(class.ok_or_else(|| wrong("invalid character class"))?);
                            Ok(None)
                        }
                        (_, Some(letter), None) => Ok(Some(letter)),
                        _ => Err(wrong("invalid collating element")),
                    }
                }
                _ => Ok(Some('[')),
            },
            letter => Ok(Some(letter)),
        }
    }

    /// The name of a class or an element, up to its end.
    fn name(&mut self, kind: char) -> Result<String, SqlError> {
        let mut name = String::new();
        while let Some(letter) = self.rest.next() {
            if letter == kind && self.takes(']') {
                return Ok(name);
            }
            name.push(letter);
        }
        Err(wrong("brackets [] not balanced"))
    }
}

fn push_members(set: &mut String, low: char, high: char) {
    let _ = write!(set, "\\x{{{:x}}}", u32::from(low));
    if low != high {
        let _ = write!(set, "-\\x{{{:x}}}", u32::from(high));
    }
}

/// Spaces of the locale C.UTF-8: none that does not break a line, and no U+0085.
const SPACES: &str =
    " \\t-\\r\\x{1680}\\x{2000}-\\x{2006}\\x{2008}-\\x{200a}\\x{2028}\\x{2029}\\x{205f}\\x{3000}";
const OTHERS_THAN_SPACES: &str =
    "^ \\t-\\r\\x{1680}\\x{2000}-\\x{2006}\\x{2008}-\\x{200a}\\x{2028}\\x{2029}\\x{205f}\\x{3000}";

/// The members of a class by its letter.
fn class_of_letter(letter: char) -> &'static str {
    match letter {
        'd' => "0-9",
        'D' => "^0-9",
        's' => SPACES,
        'S' => OTHERS_THAN_SPACES,
        'w' => "\\p{Alphabetic}\\p{Nd}_",
        _ => "^\\p{Alphabetic}\\p{Nd}_",
    }
}

/// The members of a class by its name.
fn class_of_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "\\p{Alphabetic}\\p{Nd}",
        "alpha" => "\\p{Alphabetic}",
        "blank" => " \\t",
        "cntrl" => "\\p{Cc}",
        "digit" => "0-9",
        "graph" => "[^\\s\\p{Cc}]",
        "lower" => "\\p{Lowercase}",
        "print" => "[^\\p{Cc}]",
        "punct" => "[!-/:-@\\[-`{-~][\\p{P}\\p{S}]",
        "space" => SPACES,
        "upper" => "\\p{Uppercase}",
        "word" => "\\p{Alphabetic}\\p{Nd}_",
        "xdigit" => "0-9A-Fa-f",
        "ascii" => "\\x{0}-\\x{7f}",
        _ => return None,
    })
}
