//! Values of parameters without an effect here, and those that would need one.
//!
//! A parameter is known only if each value that it takes is honoured: it has an effect, or it asks for the behaviour
//! that is always the case. A value that would change the behaviour is refused.

use super::time;

/// A parameter's kept value, or the reason for which it is invalid.
pub(super) type Value = Result<String, &'static str>;

/// The kept value of a parameter; `None` if the parameter's values are unknown.
pub(super) fn of(name: &str, value: &str) -> Option<Value> {
    let bare = value.trim().trim_matches('\'');
    let lower = bare.to_ascii_lowercase();
    Some(match name {
        // Function bodies are checked or not. The others change nothing: there are no tables of other owners, no second
        // scan.
        "check_function_bodies"
        | "default_transaction_deferrable"
        | "escape_string_warning"
        | "jit"
        | "row_security"
        | "synchronize_seqscans" => truth(&lower),
        "client_min_messages" => one_of(&lower, &MESSAGES, "a level of messages, such as notice"),
        "DateStyle" => date_style(&lower),
        "default_table_access_method" => one_of(&lower, &["heap"], "heap is the one method"),
        "default_tablespace" => one_of(&lower, &["", "pg_default"], "there is one tablespace"),
        "default_transaction_isolation" | "transaction_isolation" => isolation(&lower),
        // Floats are written with all digits that they need, the meaning of 1 and more.
        "extra_float_digits" => match lower.parse::<i32>() {
            Ok(1..=3) => Ok(lower),
            _ => Err("floats are written with all digits that they need: 1, 2 or 3"),
        },
        "lock_timeout"
        | "idle_in_transaction_session_timeout"
        | "idle_session_timeout"
        | "statement_timeout" => match time::milliseconds(bare) {
            Some(limit) if limit <= i32::MAX as u64 => Ok(time::written(limit)),
            _ => Err(
                "a time, in milliseconds or with one of the units us, ms, s, min, h, d; 0 for no limit",
            ),
        },
        "default_text_search_config" => match crate::values::search::Config::written(bare) {
            Some(config) => Ok(format!("pg_catalog.{}", config.name())),
            None => Err("english or simple"),
        },
        "lc_messages" => locale(bare, "messages are in English", true),
        "lc_monetary" | "lc_numeric" | "lc_time" => locale(bare, "the locale is C", false),
        "pg_trgm.similarity_threshold"
        | "pg_trgm.strict_word_similarity_threshold"
        | "pg_trgm.word_similarity_threshold" => match bare.parse::<f32>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share.to_string()),
            _ => Err("a number from 0 to 1"),
        },
        // Unknown names of schemas are skipped at lookups, as in PostgreSQL.
        "search_path" => match value.len() <= 1000 {
            true => Ok(value.to_string()),
            false => Err("at most 1000 bytes"),
        },
        "xmloption" => one_of(&lower, &["content", "document"], "content or document"),
        _ => return super::planner::value(name, &lower),
    })
}

/// Levels of messages, the least important first.
pub(super) const MESSAGES: [&str; 9] = [
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error",
];

fn one_of(value: &str, known: &[&str], what: &'static str) -> Value {
    match known.contains(&value) {
        true => Ok(value.to_string()),
        false => Err(what),
    }
}

/// `on` or `off`, from any of their spellings.
pub(super) fn truth(lower: &str) -> Value {
    match lower {
        "on" | "true" | "yes" | "1" | "t" | "y" => Ok("on".into()),
        "off" | "false" | "no" | "0" | "f" | "n" => Ok("off".into()),
        _ => Err("on or off"),
    }
}

/// The output is ISO's; the input has an order, which is kept if the value has none.
fn date_style(lower: &str) -> Value {
    const WRONG: &str =
        "dates are written as ISO has them: ISO, with one of the orders MDY, DMY and YMD";
    let mut order = None;
    for word in lower.split(',').map(str::trim) {
        let of_word = match word {
            "iso" => continue,
            "mdy" | "us" | "noneuro" | "noneuropean" | "default" => "MDY",
            "dmy" | "euro" | "european" => "DMY",
            "ymd" => "YMD",
            _ => return Err(WRONG),
        };
        if *order.get_or_insert(of_word) != of_word {
            return Err("DateStyle has one order: MDY, DMY or YMD");
        }
    }
    Ok(match order {
        Some(order) => format!("ISO, {order}"),
        None => "ISO".to_string(),
    })
}

fn isolation(lower: &str) -> Value {
    let known = [
        "serializable",
        "repeatable read",
        "read committed",
        "read uncommitted",
    ];
    match known.contains(&lower) {
        // The requested level is shown; transactions are serializable, which includes all of them.
        true => Ok(lower.to_string()),
        false => Err("serializable, repeatable read, read committed or read uncommitted"),
    }
}

fn locale(bare: &str, what: &'static str, english: bool) -> Value {
    let name = bare.split('.').next().unwrap_or_default();
    match name.is_empty() || ["C", "POSIX"].contains(&name) || english && name.starts_with("en") {
        true => Ok(bare.to_string()),
        false => Err(what),
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn values_that_would_matter_are_refused() {
        for (name, kept, refused) in [
            (
                "DateStyle",
                &["ISO", "iso, mdy", "ISO, US", "ISO, DMY", "euro", "ymd"][..],
                &["German", "SQL", "Postgres, MDY", "dmy, mdy"][..],
            ),
            ("extra_float_digits", &["1", "3"], &["0", "-15", "4", "x"]),
            (
                "lock_timeout",
                &["0", "5s", "'1min'"],
                &["-1", "soon", "99999d"],
            ),
            (
                "search_path",
                &[
                    "public",
                    "\"$user\", public",
                    "tenant, public",
                    "",
                    "''",
                    "pg_catalog",
                    "tenant",
                ],
                &[],
            ),
            ("lc_messages", &["C", "en_US.UTF-8", ""], &["de_DE.UTF-8"]),
            ("lc_numeric", &["C", "C.UTF-8"], &["de_DE", "en_US"]),
            ("client_min_messages", &["WARNING", "error"], &["loud"]),
            ("row_security", &["off", "ON"], &["perhaps"]),
            (
                "default_transaction_isolation",
                &["read committed"],
                &["chaos"],
            ),
            ("default_tablespace", &["", "pg_default"], &["fast"]),
            ("default_table_access_method", &["heap"], &["columnar"]),
            ("xmloption", &["content"], &["x"]),
        ] {
            for value in kept {
                assert!(matches!(of(name, value), Some(Ok(_))), "{name} = {value}");
            }
            for value in refused {
                assert!(matches!(of(name, value), Some(Err(_))), "{name} = {value}");
            }
        }
        assert_eq!(of("unheard_of", "1"), None);
    }
}
