//! `LIKE`: whether a text is like a pattern. Once for conditions and for SQL.

/// Returns true if a text matches a pattern. `%` matches any characters, `_` one; the character behind `escape` is
/// literal. At the pattern's end `escape` itself is literal.
///
/// Only the last `%` is ever retried, further on: the parts before it matched as early as they could. So the time is
/// at most proportional to the product of the lengths, and no memory is needed.
pub fn is_like(text: &str, pattern: &str, escape: Option<char>, ignores_case: bool) -> bool {
    let is_plain = |byte: u8| byte != b'_';
    if !ignores_case
        && pattern.bytes().all(is_plain)
        && escape.is_none_or(|escape| !pattern.contains(escape))
    {
        return has_parts(text.as_bytes(), pattern.as_bytes());
    }
    by_characters(text, pattern, escape, ignores_case)
}

/// The same for any pattern, a character at a time.
fn by_characters(text: &str, pattern: &str, escape: Option<char>, ignores_case: bool) -> bool {
    let same = |a: char, b: char| a == b || (ignores_case && a.to_lowercase().eq(b.to_lowercase()));
    let (mut text, mut pattern) = (text.chars(), pattern.chars());
    let mut again = None;
    loop {
        let mut rest = pattern.clone();
        let mut after = text.clone();
        let matches = match (rest.next(), after.next()) {
            (None, None) => return true,
            (Some(wanted), found) if Some(wanted) == escape => {
                let wanted = rest.next().unwrap_or(wanted);
                found.is_some_and(|found| same(wanted, found))
            }
            (Some('%'), _) => {
                again = Some((text.clone(), rest.clone()));
                pattern = rest;
                continue;
            }
            (Some('_'), Some(_)) => true,
            (Some(wanted), Some(found)) => same(wanted, found),
            _ => false,
        };
        if matches {
            (text, pattern) = (after, rest);
            continue;
        }
        let Some((skipped, after_percent)) = &mut again else {
            return false;
        };
        if skipped.next().is_none() {
            return false;
        }
        (text, pattern) = (skipped.clone(), after_percent.clone());
    }
}

/// Returns true if a text matches a pattern whose only wildcard is `%`. Parts of texts in UTF-8 are found by their
/// bytes.
fn has_parts(text: &[u8], pattern: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'%');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let Some(mut part) = parts.next() else {
        // Without `%` it is the whole text.
        return rest.is_empty();
    };
    for next in parts {
        match found(rest, part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
        part = next;
    }
    rest.ends_with(part)
}

/// The offset of the first occurrence of a part in a text.
fn found(text: &[u8], part: &[u8]) -> Option<usize> {
    let Some((first, others)) = part.split_first() else {
        return Some(0);
    };
    let last = text.len().checked_sub(part.len())?;
    let mut from = 0;
    while from <= last {
        let at = from + position_of(&text[from..=last], *first)?;
        if text[at + 1..].starts_with(others) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// The offset of the first such byte. Sixteen are compared at once, which the compiler does with one instruction.
fn position_of(text: &[u8], wanted: u8) -> Option<usize> {
    let (chunks, rest) = text.as_chunks::<16>();
    let is_it = |byte: &u8| *byte == wanted;
    for (number, chunk) in chunks.iter().enumerate() {
        if chunk.iter().fold(false, |any, byte| any | is_it(byte)) {
            return Some(number * 16 + chunk.iter().position(is_it)?);
        }
    }
    Some(chunks.len() * 16 + rest.iter().position(is_it)?)
}

#[cfg(test)]
mod tests {
    use super::{by_characters, is_like, position_of};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_found_as_characters_are(text in "[abż]{0,12}", pattern in "[abż%]{0,8}") {
            let expected = by_characters(&text, &pattern, Some('\\'), false);
            prop_assert_eq!(is_like(&text, &pattern, Some('\\'), false), expected);
        }
    }

    proptest! {
        #[test]
        fn bytes_are_found_in_texts_of_any_length(text in "[ab]{0,5}[a-z]{0,60}") {
            let text = text.as_bytes();
            for wanted in *b"abz" {
                let expected = text.iter().position(|byte| *byte == wanted);
                prop_assert_eq!(position_of(text, wanted), expected);
            }
        }
    }

    #[test]
    fn patterns() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("Ada", "A%", true),
            ("Ada", "a%", false),
            ("Ada", "___", true),
            ("Ada", "__", false),
            ("abc", "%c", true),
            ("abc", "a_", false),
            ("abcabc", "%bc", true),
            ("abcbcd", "a%bcd", true),
            ("abcbce", "a%bcd", false),
            ("50%", r"50\%", true),
            ("505", r"50\%", false),
            (r"a\", r"a\", true),
            ("a", r"a\", false),
            ("żółw", "ż_łw", true),
            (
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
                "%a%a%a%a%a%a%a%a%c",
                false,
            ),
        ] {
            let like = is_like(text, pattern, Some('\\'), false);
            assert_eq!(like, expected, "{text} like {pattern}");
        }
    }

    #[test]
    fn another_escape_or_none_and_either_case() {
        assert!(is_like("a%", "aX%", Some('X'), false));
        assert!(!is_like("ab", "aX%", Some('X'), false));
        assert!(is_like(r"a\b", r"a\%", None, false));
        assert!(is_like("ÄÖx", "äö_", None, true));
        // The escape is case-sensitive: a letter of the other case is literal.
        assert!(is_like("AX%", "axX%", Some('X'), true));
    }
}
