//! The classes of keys' events, as a set, and by the letters with which clients say them.

/// Classes of events, as a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Classes(pub u32);

/// The classes by their letters, in the order in which they are said.
const LETTERS: [(char, u32); 13] = [
    ('g', GENERIC.0),
    ('$', STRING.0),
    ('l', LIST.0),
    ('s', SET.0),
    ('h', HASH.0),
    ('z', SORTED_SET.0),
    ('x', EXPIRED.0),
    ('e', 1 << 7),
    ('t', STREAM.0),
    ('d', 1 << 9),
    ('n', NEW.0),
    ('K', BY_KEY.0),
    ('E', BY_EVENT.0),
];

pub(crate) const GENERIC: Classes = Classes(1);
pub(crate) const STRING: Classes = Classes(1 << 1);
pub(crate) const LIST: Classes = Classes(1 << 2);
pub(crate) const SET: Classes = Classes(1 << 3);
pub(crate) const HASH: Classes = Classes(1 << 4);
pub(crate) const SORTED_SET: Classes = Classes(1 << 5);
pub(crate) const EXPIRED: Classes = Classes(1 << 6);
pub(crate) const STREAM: Classes = Classes(1 << 8);
/// A key that is not there is read.
pub(crate) const MISSED: Classes = Classes(1 << 10);
/// A key comes.
pub(crate) const NEW: Classes = Classes(1 << 11);
pub(crate) const BY_KEY: Classes = Classes(1 << 12);
pub(crate) const BY_EVENT: Classes = Classes(1 << 13);
/// The classes that `A` means: all but missed keys and new keys.
const ALL: Classes = Classes((1 << 10) - 1);

impl Classes {
    #[inline]
    pub fn has(self, other: Classes) -> bool {
        self.0 & other.0 != 0
    }
}

/// The classes that a text says.
pub(crate) fn parse_classes(text: &str) -> Option<Classes> {
    let mut classes = 0;
    for letter in text.chars() {
        classes |= match letter {
            'A' => ALL.0,
            'm' => MISSED.0,
            letter => LETTERS.iter().find(|(known, _)| *known == letter)?.1,
        };
    }
    Some(Classes(classes))
}

impl std::fmt::Display for Classes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_all = self.0 & ALL.0 == ALL.0;
        if is_all {
            f.write_str("A")?;
        }
        for (letter, class) in LETTERS {
            // As Redis does: behind `A` no class is said again.
            let is_said = is_all && ![BY_KEY.0, BY_EVENT.0].contains(&class);
            if self.0 & class != 0 && !is_said {
                write!(f, "{letter}")?;
            }
        }
        match self.has(MISSED) {
            true => f.write_str("m"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_said_as_redis_says_them() {
        let said = |text| parse_classes(text).map(|classes| classes.to_string());
        for (given, wanted) in [
            ("", ""),
            ("KEA", "AKE"),
            ("g$lshzxetdKE", "AKE"),
            ("Kx", "xK"),
            ("AKEmn", "AKEm"),
            ("KEn", "nKE"),
            ("mA", "Am"),
            ("KE$lm", "$lKEm"),
        ] {
            assert_eq!(said(given).as_deref(), Some(wanted), "{given}");
        }
        assert_eq!(said("Q"), None);
    }
}
