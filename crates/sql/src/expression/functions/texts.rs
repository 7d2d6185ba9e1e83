//! Functions of texts and of bytes.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::names::quoted;
use crate::text::text_of;
use crate::types::NamedCollation;
use crate::values::collations;
use sardonyx::schema::{VALUE_BYTES_MAX, Value, ValueRef};

pub(super) static TABLE: &[Definition] = functions! {
    ascii(TEXT) -> INT4, |a, _| int(a.text(0).chars().next().map_or(0, u32::from)), "number of the first character";
    btrim(TEXT) -> TEXT, |a, _| text(a.text(0).trim_matches(' ')), "without blanks at both ends";
    btrim(TEXT, TEXT) -> TEXT, |a, _| text(a.text(0).trim_matches(cut(a))), "without these characters at both ends";
    char_length(TEXT) -> INT4, |a, _| int(a.text(0).chars().count()), "number of characters";
    character_length(TEXT) -> INT4, |a, _| int(a.text(0).chars().count()), "number of characters";
    chr(INT4) -> TEXT, |a, _| chr(a.int(0)), "character with this number";
    concat(ANY) -> TEXT, |a, _| text(texts(a, 0).concat()), "the arguments as texts, one behind the other", variadic, on_null;
    concat_ws(TEXT, ANY) -> TEXT, concat_ws, "the arguments as texts, with the first one between them", variadic, on_null;
    initcap(TEXT) -> TEXT, |a, _| text(init_cap(a.text(0))), "each word's first letter in upper case";
    left(TEXT, INT4) -> TEXT, |a, _| left(a.text(0), a.int(1)), "first characters; without the last ones if the number is negative";
    length(BYTEA) -> INT4, |a, _| bytes(a), "number of bytes";
    length(BYTEA, NAME) -> INT4, |a, _| super::bytes::characters(a), "number of characters of a text that bytes are in UTF8";
    length(TEXT) -> INT4, |a, _| int(a.text(0).chars().count()), "number of characters";
    lower(TEXT) -> TEXT, |a, _| text(a.text(0).chars().map(lower).collect::<String>()), "letters in lower case";
    lpad(TEXT, INT4) -> TEXT, |a, _| padded(a, true), "filled with blanks before it, or cut, to a length";
    lpad(TEXT, INT4, TEXT) -> TEXT, |a, _| padded(a, true), "filled with a text before it, or cut, to a length";
    ltrim(TEXT) -> TEXT, |a, _| text(a.text(0).trim_start_matches(' ')), "without blanks before it";
    ltrim(TEXT, TEXT) -> TEXT, |a, _| text(a.text(0).trim_start_matches(cut(a))), "without these characters before it";
    octet_length(BYTEA) -> INT4, |a, _| bytes(a), "number of bytes";
    octet_length(CHAR) -> INT4, |a, _| bytes(a), "number of bytes, with the blanks at its end";
    octet_length(TEXT) -> INT4, |a, _| bytes(a), "number of bytes";
    position(TEXT, TEXT) -> INT4, |a, _| strpos(a.text(0), a.text(1)), "place of the second text, from 1; 0 if it is not found: `POSITION(text IN text)`";
    quote_ident(TEXT) -> TEXT, |a, _| text(quoted(a.text(0))), "as a name in SQL, in quotes if it needs them";
    repeat(TEXT, INT4) -> TEXT, |a, _| repeat(a.text(0), a.int(1)), "so many times, one behind the other";
    replace(TEXT, TEXT, TEXT) -> TEXT, |a, _| replace(a.text(0), a.text(1), a.text(2)), "with the third text in the place of the second";
    reverse(TEXT) -> TEXT, |a, _| text(a.text(0).chars().rev().collect::<String>()), "characters from the last to the first";
    right(TEXT, INT4) -> TEXT, |a, _| right(a.text(0), a.int(1)), "last characters; without the first ones if the number is negative";
    rpad(TEXT, INT4) -> TEXT, |a, _| padded(a, false), "filled with blanks behind it, or cut, to a length";
    rpad(TEXT, INT4, TEXT) -> TEXT, |a, _| padded(a, false), "filled with a text behind it, or cut, to a length";
    rtrim(TEXT) -> TEXT, |a, _| text(a.text(0).trim_end_matches(' ')), "without blanks behind it";
    rtrim(TEXT, TEXT) -> TEXT, |a, _| text(a.text(0).trim_end_matches(cut(a))), "without these characters behind it";
    split_part(TEXT, TEXT, INT4) -> TEXT, |a, _| split_part(a.text(0), a.text(1), a.int(2)), "part between separators, from 1; from the end if negative";
    starts_with(TEXT, TEXT) -> BOOL, |a, _| Ok(Value::Bool(a.text(0).starts_with(a.text(1)))), "true if it begins with the second text";
    strpos(TEXT, TEXT) -> INT4, |a, _| strpos(a.text(0), a.text(1)), "place of the second text, from 1; 0 if it is not found";
    substr(TEXT, INT4) -> TEXT, |a, _| substring(a.text(0), a.int(1), None), "characters from a place on, from 1";
    substr(TEXT, INT4, INT4) -> TEXT, |a, _| substring(a.text(0), a.int(1), Some(a.int(2))), "so many characters from a place on, from 1";
    substring(TEXT, INT4) -> TEXT, |a, _| substring(a.text(0), a.int(1), None), "characters from a place on, from 1";
    substring(TEXT, INT4, INT4) -> TEXT, |a, _| substring(a.text(0), a.int(1), Some(a.int(2))), "so many characters from a place on, from 1";
    textcat(TEXT, TEXT) -> TEXT, |a, _| text(format!("{}{}", a.text(0), a.text(1))), "operator of two bars: both texts, one behind the other";
    upper(TEXT) -> TEXT, |a, _| text(a.text(0).chars().map(upper).collect::<String>()), "letters in upper case";
};

/// A `character` without blanks at its end.
pub(crate) static TRIMMED: Definition = Definition::new(
    "rtrim",
    &[TEXT],
    TEXT,
    |a, _| text(a.text(0).trim_end_matches(' ')),
    "",
);

/// `upper` of a text in a collation of ICU, whose number follows: a letter may become several.
pub(crate) static UPPER: Definition = in_language("upper", |a, _| text(a.text(0).to_uppercase()));

/// `lower` of a text in a collation of ICU, whose number follows.
pub(crate) static LOWER: Definition = in_language("lower", |a, _| text(a.text(0).to_lowercase()));

/// A function whose result depends on a language's rules.
const fn in_language(name: &'static str, code: Code) -> Definition {
    Definition::new(name, &[TEXT, INT4], TEXT, code, "")
}

/// The order of two texts in a collation, whose number follows: -1, 0 or 1.
pub(crate) static COLLATION_ORDER: Definition = Definition::new(
    "collation_order",
    &[TEXT, TEXT, INT4],
    INT4,
    |a, _| {
        let collation = NamedCollation::of_number(a.int(2)).unwrap_or_default();
        let order = collations::compare(a.text(0), a.text(1), collation)?;
        Ok(Value::Int(order as i128))
    },
    "",
);

/// The key of a text in a collation, whose number follows.
pub(crate) static COLLATION_KEY: Definition = Definition::new(
    "collation_key",
    &[TEXT, INT4],
    BYTEA,
    |a, _| {
        let collation = NamedCollation::of_number(a.int(1)).unwrap_or_default();
        Ok(Value::Bytes(collations::key(a.text(0), collation)?))
    },
    "",
);

/// A number with all digits behind its point.
pub(crate) static WITH_ALL_DIGITS: Definition = Definition::new(
    "numeric_out",
    &[NUMERIC],
    TEXT,
    |a, _| text(a.value(0).to_string()),
    "",
);

/// A `character(n)` with its blanks.
pub(crate) static PADDED: Definition = Definition::new(
    "bpchar",
    &[TEXT, INT4],
    CHAR,
    |a, _| {
        let length = usize::try_from(a.int(1)).unwrap_or(0);
        text(format!("{:<length$}", a.text(0)))
    },
    "",
);

/// `~`
pub(crate) static MATCHES: Definition = Definition::new(
    "textregexeq",
    &[TEXT, TEXT],
    BOOL,
    |a, with| {
        let patterns = &with.context.patterns;
        let matches = patterns.matches(a.text(0), a.text(1), false);
        Ok(Value::Bool(matches?))
    },
    "",
);

/// `~*`
pub(crate) static MATCHES_ANY_CASE: Definition = Definition::new(
    "texticregexeq",
    &[TEXT, TEXT],
    BOOL,
    |a, with| {
        let patterns = &with.context.patterns;
        let matches = patterns.matches(a.text(0), a.text(1), true);
        Ok(Value::Bool(matches?))
    },
    "",
);

/// Values as clients get them: a boolean is `t` or `f`, while its cast to a text is `true` or `false`.
fn texts(a: Arguments<'_>, from: usize) -> Vec<String> {
    let texts = a
        .typed(from)
        .filter_map(|(kind, value)| text_of(kind, value));
    texts.collect()
}

fn concat_ws(a: Arguments<'_>, _: &crate::expression::Environment<'_>) -> Answer {
    match a.given_text(0) {
        Some(separator) => text(texts(a, 1).join(separator)),
        None => Ok(Value::Null),
    }
}

fn bytes(a: Arguments<'_>) -> Answer {
    match a.value(0) {
        ValueRef::Bytes(bytes) => int(bytes.len()),
        _ => int(a.text(0).len()),
    }
}

/// The characters that are removed.
fn cut(a: Arguments<'_>) -> impl Fn(char) -> bool {
    let characters: Vec<char> = a.text(1).chars().collect();
    move |c| characters.contains(&c)
}

fn chr(number: i64) -> Answer {
    let character = u32::try_from(number).ok().and_then(char::from_u32);
    let (code, message) = match character {
        Some('\0') => (code::PROGRAM_LIMIT, "null character not permitted".into()),
        Some(character) => return text(character),
        None if number < 0 => {
            let message = "character number must be positive".to_string();
            (code::INVALID_PARAMETER_VALUE, message)
        }
        None => {
            let message = format!("requested character too large for encoding: {number}");
            (code::PROGRAM_LIMIT, message)
        }
    };
    Err(SqlError::new(code, message))
}

fn left(of: &str, count: i64) -> Answer {
    let taken = match count < 0 {
        true => (of.chars().count() as i64 + count).max(0),
        false => count,
    };
    text(of.chars().take(taken as usize).collect::<String>())
}

fn right(of: &str, count: i64) -> Answer {
    let skipped = match count < 0 {
        // The least number has no positive one: PostgreSQL skips nothing.
        true if count == i64::from(i32::MIN) => 0,
        true => -count,
        false => (of.chars().count() as i64 - count).max(0),
    };
    text(of.chars().skip(skipped as usize).collect::<String>())
}

fn repeat(of: &str, times: i64) -> Answer {
    let times = usize::try_from(times).unwrap_or(0);
    check_length(of.len().saturating_mul(times))?;
    text(of.repeat(times))
}

fn replace(of: &str, from: &str, to: &str) -> Answer {
    if from.is_empty() {
        return text(of);
    }
    let times = of.matches(from).count();
    check_length(of.len().saturating_add(times.saturating_mul(to.len())))?;
    text(of.replace(from, to))
}

fn strpos(of: &str, sought: &str) -> Answer {
    let before = of.split_once(sought).map(|(before, _)| before);
    int(before.map_or(0, |before| before.chars().count() + 1))
}

pub(super) fn check_length(bytes: usize) -> Result<(), SqlError> {
    match bytes <= VALUE_BYTES_MAX {
        true => Ok(()),
        false => Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!("a text of {bytes} bytes is too long: {VALUE_BYTES_MAX} are allowed"),
        )),
    }
}

/// The only character of the other case; the character itself if there are several.
fn in_case(character: char, mut others: impl Iterator<Item = char>) -> char {
    match (others.next(), others.next()) {
        (Some(other), None) => other,
        _ => character,
    }
}

fn lower(character: char) -> char {
    // The only letter whose lower case is several characters: the locale C.UTF-8 takes the first.
    if character == 'İ' {
        return 'i';
    }
    in_case(character, character.to_lowercase())
}

fn upper(character: char) -> char {
    in_case(character, character.to_uppercase())
}

fn init_cap(text: &str) -> String {
    let mut inside = false;
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match inside {
            true => result.push(lower(character)),
            false => result.push(upper(character)),
        }
        inside = character.is_alphanumeric();
    }
    result
}

fn substring(of: &str, start: i64, length: Option<i64>) -> Answer {
    let end = match length {
        Some(length) if length < 0 => {
            return Err(SqlError::new(
                "22011",
                "negative substring length not allowed",
            ));
        }
        Some(length) => start.saturating_add(length),
        None => i64::MAX,
    };
    let first = start.max(1);
    let taken = usize::try_from(end.saturating_sub(first)).unwrap_or(0);
    let skipped = usize::try_from(first - 1).unwrap_or(usize::MAX);
    text(of.chars().skip(skipped).take(taken).collect::<String>())
}

fn padded(a: Arguments<'_>, is_before: bool) -> Answer {
    let width = usize::try_from(a.int(1)).unwrap_or(0);
    let fill = a.given_text(2).unwrap_or(" ");
    let length = a.text(0).chars().count();
    let width = if fill.is_empty() {
        width.min(length)
    } else {
        width
    };
    check_length(width.saturating_mul(4))?;
    let missing = width.saturating_sub(length);
    let filling: String = match fill.is_empty() {
        true => String::new(),
        false => fill.chars().cycle().take(missing).collect(),
    };
    let kept: String = a.text(0).chars().take(width).collect();
    text(match is_before {
        true => filling + &kept,
        false => kept + &filling,
    })
}

fn split_part(of: &str, separator: &str, number: i64) -> Answer {
    let parts: Vec<&str> = match separator.is_empty() {
        true => vec![of],
        false => of.split(separator).collect(),
    };
    let part = match number {
        0 => {
            return Err(SqlError::new(
                code::INVALID_PARAMETER_VALUE,
                "field position must not be zero",
            ));
        }
        at @ 1.. => parts.get(at as usize - 1),
        back => parts
            .len()
            .checked_sub(back.unsigned_abs() as usize)
            .and_then(|at| parts.get(at)),
    };
    text(part.copied().unwrap_or_default())
}
