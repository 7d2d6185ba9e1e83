//! Times as values of parameters: a number with a unit, as PostgreSQL reads and writes them.

/// Units, the largest first, with their milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("min", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// The milliseconds of a text. Without a unit it is in milliseconds; fractions of a millisecond are rounded.
pub fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|one: char| !matches!(one, '0'..='9' | '.' | '+'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().ok()?;
    let milliseconds = match unit.trim() {
        "" => number,
        "us" => number / 1000.0,
        unit => number * UNITS.iter().find(|(name, _)| *name == unit)?.1 as f64,
    };
    let milliseconds = milliseconds.round_ties_even();
    (milliseconds < u64::MAX as f64).then_some(milliseconds as u64)
}

/// Milliseconds, in the largest unit in which they are a whole number.
pub fn written(milliseconds: u64) -> String {
    let whole = |(_, one): &&(&str, u64)| milliseconds.is_multiple_of(*one);
    match UNITS.iter().find(whole) {
        Some((name, one)) if milliseconds > 0 => format!("{}{name}", milliseconds / one),
        _ => "0".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_as_postgresql_does() {
        // `SET statement_timeout TO …; SHOW statement_timeout` of PostgreSQL 15.
        for (text, shown) in [
            ("0", "0"),
            ("5", "5ms"),
            ("1000", "1s"),
            ("1500", "1500ms"),
            ("90s", "90s"),
            ("60000", "1min"),
            ("1.5s", "1500ms"),
            (" 2 min ", "2min"),
            ("120min", "2h"),
            ("24h", "1d"),
            ("700us", "1ms"),
            ("400us", "0"),
        ] {
            let read = milliseconds(text).map(written);
            assert_eq!(read.as_deref(), Some(shown), "{text}");
        }
        for text in ["", "s", "5 parsecs", "1S", "-1", "five", "1e99999", "1.2.3"] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
