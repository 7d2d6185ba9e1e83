//! Quantities as people read and write them.

use std::time::Duration;

const KIBI: u64 = 1 << 10;
const MEBI: u64 = 1 << 20;
const GIBI: u64 = 1 << 30;

/// A count with a comma between thousands.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes, in the largest unit that leaves at least one.
pub fn bytes(bytes: u64) -> String {
    let (unit, name) = match bytes {
        GIBI.. => (GIBI, "GiB"),
        MEBI.. => (MEBI, "MiB"),
        KIBI.. => (KIBI, "KiB"),
        _ => return format!("{bytes} B"),
    };
    format!("{:.1} {name}", bytes as f64 / unit as f64)
}

/// A rate: `12.3 million/s`, `4,567/s`, `8.9/s`.
pub fn rate(per_second: f64) -> String {
    if per_second >= 1e6 {
        format!("{:.2} million/s", per_second / 1e6)
    } else if per_second >= 100.0 {
        format!("{}/s", count(per_second.round() as u64))
    } else {
        format!("{per_second:.1}/s")
    }
}

/// A time, in the unit that suits it.
pub fn time(seconds: f64) -> String {
    if seconds >= 1.0 || seconds == 0.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.1} us", seconds * 1e6)
    }
}

/// Nanoseconds for a column of them: no more digits than mean something.
pub fn nanoseconds(nanoseconds: f64) -> String {
    if nanoseconds.abs() < 99.95 {
        return format!("{nanoseconds:.1}");
    }
    let sign = if nanoseconds < 0.0 { "-" } else { "" };
    format!("{sign}{}", count(nanoseconds.abs().round() as u64))
}

/// A share from 0 to 1 as a percentage. Only what is all is shown as 100.
pub fn percent(share: f64) -> String {
    let text = format!("{:.2}%", share * 100.0);
    if share < 1.0 && text == "100.00%" {
        "99.99%".into()
    } else {
        text
    }
}

/// Reads a number of bytes: `4096`, `64KiB`, `512 MiB`, `2G`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => KIBI,
        "m" | "mib" => MEBI,
        "g" | "gib" => GIBI,
        _ => return Err(format!("{unit:?} is no unit of bytes: use KiB, MiB or GiB")),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "not a whole number of bytes".to_string())?;
    number
        .checked_mul(unit)
        .ok_or_else(|| "too large".to_string())
}

/// Reads a time: `250us`, `5ms`, `1s`, `10min`, `24h`, `30d`; a bare number is in milliseconds, as the TPK paper gives it.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let unit = match unit {
        "us" | "µs" => 1e-6,
        "" | "ms" => 1e-3,
        "s" => 1.0,
        // A bare `m` may stand for another unit.
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => {
            return Err(format!(
                "{unit:?} is no unit of time: use us, ms, s, min, h or d"
            ));
        }
    };
    let number: f64 = number.parse().map_err(|_| "not a number".to_string())?;
    Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}

/// Reads a rate a second, more than 0: `5000`, `100k`, `1.5M`.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let (number, unit) = split_unit(text);
    let unit = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        _ => return Err(format!("{unit:?} is no unit of a rate: use k or M")),
    };
    let number: f64 = number.parse().map_err(|_| "not a number".to_string())?;
    let rate = number * unit;
    match rate > 0.0 && rate <= 1e9 {
        true => Ok(rate),
        false => Err("more than 0, at most 1000M".to_string()),
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..digits], text[digits..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_for_people() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(5 << 30), "5.0 GiB");
        assert_eq!(rate(5_310_000.0), "5.31 million/s");
        assert_eq!(rate(1_282.4), "1,282/s");
        assert_eq!(rate(7.25), "7.2/s");
        assert_eq!(time(2.5), "2.50 s");
        assert_eq!(time(0.004), "4.00 ms");
        assert_eq!(time(0.0000253), "25.3 us");
        assert_eq!(nanoseconds(17.26), "17.3");
        assert_eq!(nanoseconds(99.97), "100");
        assert_eq!(nanoseconds(-1234.5), "-1,235");
        assert_eq!(percent(1.0), "100.00%");
        assert_eq!(percent(0.999_999), "99.99%");
    }

    #[test]
    fn quantities_are_read_back() {
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("64KiB"), Ok(64 << 10));
        assert_eq!(parse_bytes("512 mib"), Ok(512 << 20));
        assert_eq!(parse_bytes("2G"), Ok(2 << 30));
        assert_eq!(parse_time("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_time("5"), Ok(Duration::from_millis(5)));
        assert_eq!(parse_time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_time("10min"), Ok(Duration::from_secs(600)));
        assert_eq!(parse_time("720h"), Ok(Duration::from_secs(2_592_000)));
        assert_eq!(parse_time("30d"), parse_time("720h"));
        assert_eq!(parse_rate("100k"), Ok(1e5));
        assert_eq!(parse_rate("1.5M"), Ok(1.5e6));
        assert_eq!(parse_rate("0.5"), Ok(0.5));
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "MiB", "1.5MiB", "-1", "3 parsecs", "99999999999G"] {
            assert!(parse_bytes(text).is_err(), "{text:?}");
        }
        for text in ["", "0", "-1", "5 per s", "2000M"] {
            assert!(parse_rate(text).is_err(), "{text:?}");
        }
        for text in ["", "ms", "-5ms", "5 minutes", "5m", "1e40s"] {
            assert!(parse_time(text).is_err(), "{text:?}");
        }
    }
}
