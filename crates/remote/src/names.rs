//! Names of entries: 20 decimal digits, so that their order as texts is that of the numbers.

/// The name of an entry.
pub(crate) fn name_of(number: u64) -> String {
    format!("{number:020}")
}

/// The entry of this name.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let digits = name.len() == 20 && name.bytes().all(|digit| digit.is_ascii_digit());
    digits.then(|| name.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_others_are_none() {
        for number in [1, 9, 10, u64::MAX] {
            assert_eq!(number_of(&name_of(number)), Some(number));
        }
        assert!(name_of(9) < name_of(10));
        for other in [
            "",
            "1",
            "+0000000000000000001",
            "99999999999999999999",
            "0000000000000000001x",
        ] {
            assert_eq!(number_of(other), None, "{other}");
        }
    }
}
