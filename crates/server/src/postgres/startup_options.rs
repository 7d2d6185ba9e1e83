//! The parameters of a startup message: the session's, those in `options`, and those of the connection itself.
//!
//! `options` (`PGOPTIONS`) holds switches of PostgreSQL's server; those that set parameters are supported: `-c
//! name=value` and `--name=value`. They are applied before the message's own parameters, as in PostgreSQL.

use sardonyx_sql::SqlError;

/// The session parameters of a startup message, in the order in which they are applied.
///
/// # Errors
/// `42601` for unknown switches; `0A000` for replication.
pub fn session_parameters(
    parameters: &[(String, String)],
) -> Result<Vec<(String, String)>, SqlError> {
    let mut found = Vec::new();
    let switches = parameters.iter().filter(|(name, _)| name == "options");
    for (_, text) in switches {
        found.extend(switched(text)?);
    }
    for (name, value) in parameters {
        match name.as_str() {
            "user" | "database" | "options" => {}
            "replication" => check_replication(value)?,
            // Extensions of the protocol, which are negotiated.
            name if name.starts_with("_pq_.") => {}
            name => found.push((name.to_string(), value.clone())),
        }
    }
    Ok(found)
}

fn check_replication(value: &str) -> Result<(), SqlError> {
    let none = ["off", "false", "no", "0"];
    match none.contains(&value.to_ascii_lowercase().as_str()) {
        true => Ok(()),
        false => Err(SqlError::new(
            "0A000",
            "replication connections are not supported",
        )),
    }
}

/// The parameters that the switches set.
fn switched(text: &str) -> Result<Vec<(String, String)>, SqlError> {
    let mut found = Vec::new();
    let mut words = words(text).into_iter();
    while let Some(word) = words.next() {
        let invalid =
            |word: &str| format!("invalid command-line argument for server process: {word}");
        let (switch, setting) = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(setting), _) => ("--", setting.to_string()),
            (None, Some("")) => match words.next() {
                Some(setting) => ("-c ", setting),
                None => return Err(SqlError::new("42601", invalid(&word))),
            },
            (None, Some(setting)) => ("-c ", setting.to_string()),
            (None, None) => return Err(SqlError::new("42601", invalid(&word))),
        };
        let Some((name, value)) = setting.split_once('=') else {
            let text = format!("{switch}{setting} requires a value");
            return Err(SqlError::new("42601", text));
        };
        found.push((name.replace('-', "_"), value.to_string()));
    }
    Ok(found)
}

/// Splits at blanks; a character after a backslash is part of a word.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            one if one.is_ascii_whitespace() => found.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(characters.next()),
            one => word.get_or_insert_default().push(one),
        }
    }
    found.extend(word);
    found
}

#[cfg(test)]
mod tests {
    use super::session_parameters;

    fn of(parameters: &[(&str, &str)]) -> Result<Vec<String>, &'static str> {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let found = session_parameters(&parameters).map_err(|error| error.code)?;
        let found = found.into_iter();
        Ok(found
            .map(|(name, value)| format!("{name}={value}"))
            .collect())
    }

    #[test]
    fn switches_stand_before_the_other_parameters() {
        let parameters = [
            ("user", "ada"),
            ("search_path", "public"),
            (
                "options",
                r"-c statement_timeout=5s  -cdatestyle=ISO,\ MDY --application-name=a\\b",
            ),
            ("database", "bank"),
            ("_pq_.unknown", "1"),
            ("replication", "false"),
        ];
        let expected = [
            "statement_timeout=5s",
            "datestyle=ISO, MDY",
            r"application_name=a\b",
            "search_path=public",
        ];
        assert_eq!(of(&parameters).unwrap(), expected);
        assert_eq!(of(&[("options", "  ")]).unwrap(), [""; 0]);
    }

    #[test]
    fn switches_that_are_not_known_are_refused() {
        for text in ["-c", "-c a", "--a", "-B 5", "a=b", "-e", "-", "--"] {
            assert_eq!(of(&[("options", text)]), Err("42601"), "{text}");
        }
        assert_eq!(of(&[("replication", "database")]), Err("0A000"));
    }
}
