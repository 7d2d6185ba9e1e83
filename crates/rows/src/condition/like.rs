//! `LIKE`: whether a text is like a pattern. Once for conditions and for SQL.

/// Whether a text is like a pattern: `%` stands for any characters, `_` for one, and the character behind `escape` for
/// itself. At the pattern's end `escape` stands for itself.
///
/// Only the last `%` is ever tried again, further on: what stood before it matched as early as it could. So it takes time
/// in proportion to the product of the lengths at most, and no memory.
pub fn is_like(text: &str, pattern: &str, escape: Option<char>, ignores_case: bool) -> bool {
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

#[cfg(test)]
mod tests {
    use super::is_like;

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
        // The escape is of its own case: a letter of the other one stands for itself.
        assert!(is_like("AX%", "axX%", Some('X'), true));
    }
}
