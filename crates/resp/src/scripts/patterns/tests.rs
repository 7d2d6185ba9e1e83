//! Matches beside those of Lua's own library, and their bounds.

use super::*;
use mlua::{Lua, MultiValue, Value};
use sardonyx_base::random::Random;

const STEPS: i64 = 1_000_000;

/// A match in the form of Lua's `string.find`.
fn ours(text: &[u8], pattern: &[u8]) -> String {
    if is_plain(pattern) {
        return match find_plain(text, pattern, 0, STEPS).0 {
            Ok(Some(at)) => format!("{} {}", at + 1, at + pattern.len()),
            Ok(None) => "nil".into(),
            Err(error) => error.to_string(),
        };
    }
    let mut matcher = Matcher::new(text, pattern, true, STEPS);
    let found = match matcher.find(0) {
        Ok(Some(found)) => found,
        Ok(None) => return "nil".into(),
        Err(error) => return error.to_string(),
    };
    let mut said = format!("{} {}", found.start + 1, found.end);
    match matcher.found(None) {
        Ok(captured) => {
            for captured in captured {
                said += &match captured {
                    Found::Text(range) => format!(" {}", text[range].escape_ascii()),
                    Found::Place(place) => format!(" {place}"),
                };
            }
            said
        }
        Err(error) => error.to_string(),
    }
}

fn shown(values: mlua::Result<MultiValue>) -> String {
    let values = match values {
        Ok(values) => values,
        Err(mlua::Error::RuntimeError(text)) => {
            let text = text.lines().next().unwrap_or_default();
            return text.to_string();
        }
        Err(other) => panic!("{other}"),
    };
    let values = values.iter().map(|value| match value {
        Value::String(text) => text.as_bytes().escape_ascii().to_string(),
        Value::Nil => "nil".into(),
        other => other.to_string().expect("a number"),
    });
    values.collect::<Vec<_>>().join(" ")
}

#[test]
fn random_patterns_match_as_those_of_lua() {
    let lua = Lua::new();
    let find: mlua::Function = lua.load("return string.find").eval().unwrap();
    let gsub: mlua::Function = lua.load("return string.gsub").eval().unwrap();
    let mut random = Random::new(1);
    let mut some = |pieces: &[&str], most: u64| {
        let count = random.next() % (most + 1);
        let piece = |_| pieces[(random.next() % pieces.len() as u64) as usize];
        (0..count).map(piece).collect::<String>()
    };
    let mut matches = 0;
    for _ in 0..20_000 {
        let text = some(&["a", "b", "ab", "(", ")", "1", " ", "A", "_", "\0"], 8);
        let pattern = some(
            &[
                "a", "b", ".", "%a", "%d", "%s", "%W", "%u", "%p", "%z", "*", "+", "-", "?", "(",
                ")", "()", "[", "]", "[ab]", "[^a]", "[a-z]", "[%a_]", "^", "$", "%b()", "%f[%w]",
                "%f", "%b", "%", "%1", "%2", "%0", "-]", "\0",
            ],
            6,
        );
        let real = find.call::<MultiValue>((text.as_str(), pattern.as_str()));
        let real = shown(real);
        matches += usize::from(real.starts_with(|first: char| first.is_ascii_digit()));
        let got = ours(text.as_bytes(), pattern.as_bytes());
        assert_eq!(got, real, "{text:?} {pattern:?}");
        let by = some(&["x", "%0", "%1", "%2", "%%", "%"], 3);
        let real = gsub.call::<MultiValue>((text.as_str(), pattern.as_str(), by.as_str()));
        let mut matcher = Matcher::new(text.as_bytes(), pattern.as_bytes(), true, STEPS);
        let got = match matcher.replaced(by.as_bytes(), i64::MAX) {
            Ok((written, count)) => format!("{} {count}", written.escape_ascii()),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, shown(real), "{text:?} {pattern:?} {by:?}");
    }
    // Enough of them are patterns that match something.
    assert!(matches > 3_000, "{matches}");
}

#[test]
fn a_match_is_bounded_in_depth_and_in_steps() {
    let texts = "a".repeat(200_000);
    let deep = "a?".repeat(200_000);
    let mut matcher = Matcher::new(texts.as_bytes(), deep.as_bytes(), true, i64::MAX);
    assert_eq!(matcher.find(0), Err(PatternError::Depth));
    // As many ways as there are subsets.
    let slow = format!("{}b", ".-".repeat(30));
    let mut matcher = Matcher::new(texts.as_bytes(), slow.as_bytes(), true, STEPS);
    assert_eq!(matcher.find(0), Err(PatternError::Steps));
    assert!(matcher.steps_left() < 0);
    let part = format!("{}b", "a".repeat(1000));
    let (found, left) = find_plain(texts.as_bytes(), part.as_bytes(), 0, STEPS);
    assert_eq!((found, left < 0), (Err(PatternError::Steps), true));
    // The bytes written are bounded, too.
    let by = "a".repeat(BYTES_MAX / 2);
    let mut matcher = Matcher::new(texts.as_bytes(), b".", true, i64::MAX);
    let replaced = matcher.replaced(by.as_bytes(), i64::MAX);
    assert_eq!(replaced, Err(PatternError::Memory));
}
