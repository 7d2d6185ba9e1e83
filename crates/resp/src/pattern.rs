//! Patterns of keys and members: `*`, `?`, `[a-z]`, `[^a]`, and `\` before any of them.
//!
//! A pattern is matched in time of its length times the text's at most: of several stars only the last is tried again.

pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // The positions to continue from if the text does not match behind the last star.
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            star = Some((p, t));
            continue;
        }
        let step = match (pattern.get(p..), text.get(t)) {
            (Some([]) | None, None) => return true,
            (Some(rest @ [_, ..]), Some(byte)) => one(rest, *byte),
            _ => None,
        };
        match (step, star) {
            (Some(length), _) => {
                p += length;
                t += 1;
            }
            (None, Some((behind, from))) if from < text.len() => {
                star = Some((behind, from + 1));
                (p, t) = (behind, from + 1);
            }
            (None, _) => return false,
        }
    }
}

/// The length of the first element of a pattern, if a byte matches it.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [b'[', set @ ..] => {
            let (length, matches) = in_set(set, byte);
            matches.then_some(length + 1)
        }
        [plain, ..] => (*plain == byte).then_some(1),
        [] => None,
    }
}

/// The length of a set, its end included, and true if a byte is in it. A set without an end ends with the pattern.
fn in_set(set: &[u8], byte: u8) -> (usize, bool) {
    let negated = set.first() == Some(&b'^');
    let (mut at, mut found) = (usize::from(negated), false);
    loop {
        match &set[at.min(set.len())..] {
            [] => return (set.len(), found != negated),
            [b']', ..] => return (at + 1, found != negated),
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                at += 2;
            }
            [first, b'-', last, ..] => {
                let (low, high) = (first.min(last), first.max(last));
                found |= (low..=high).contains(&&byte);
                at += 3;
            }
            [plain, ..] => {
                found |= *plain == byte;
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_redis() {
        let yes = [
            ("", ""),
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbc"),
            ("a*b*c", "aXbYbZc"),
            ("h?llo", "hallo"),
            ("h[ae]llo", "hello"),
            ("h[^e]llo", "hallo"),
            ("h[a-b]llo", "hbllo"),
            ("h[b-a]llo", "hallo"),
            ("\\*", "*"),
            ("a\\?", "a?"),
            ("**a", "ba"),
            ("[\\]]", "]"),
            ("[a", "a"),
            ("user:*:name", "user:1:name"),
        ];
        for (pattern, text) in yes {
            assert!(
                matches(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
        let no = [
            ("", "a"),
            ("a", ""),
            ("?", ""),
            ("a*c", "ab"),
            ("h[^e]llo", "hello"),
            ("\\*", "a"),
            ("[a-c]", "d"),
            ("abc", "abcd"),
            ("*a", "ab"),
        ];
        for (pattern, text) in no {
            assert!(
                !matches(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = b"a*".repeat(64);
        assert!(!matches(&[&pattern[..], b"b"].concat(), &[b'a'; 4096]));
    }
}
