//! What begins with a backslash: orders to the shell itself.

use super::show::Format;

/// An order to the shell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    Quit,
    Help,
    /// The tables and indexes.
    Tables,
    /// One table: its columns, indexes and keys.
    Describe(String),
    /// Whether the time that statements take is shown; `None`: the other way round.
    Timing(Option<bool>),
    /// How rows are shown.
    Format(Format),
    /// A file's statements.
    Include(String),
}

/// What there is, for people.
pub const HELP: &str = "\
  \\d            the tables           \\d NAME     a table: its columns, indexes and keys
  \\timing       whether times are shown          \\i FILE     run a file's statements
  \\aligned  \\csv  \\json   how rows are shown      \\q          end
A statement ends with a semicolon and may take several lines. Ctrl-C forgets what is typed, Ctrl-D ends.
";

/// The order of a line; `None` if it is none.
///
/// # Errors
/// What is wrong with it.
pub fn parse(line: &str) -> Option<Result<Command, String>> {
    let rest = line.trim().strip_prefix('\\')?;
    let (name, argument) = match rest.split_once(char::is_whitespace) {
        Some((name, argument)) => (name, argument.trim().trim_end_matches(';').trim()),
        None => (rest.trim_end_matches(';'), ""),
    };
    Some(match (name, argument) {
        ("q" | "quit", "") => Ok(Command::Quit),
        ("?" | "h" | "help", _) => Ok(Command::Help),
        ("d" | "dt" | "dt+" | "d+", "") => Ok(Command::Tables),
        ("d" | "d+", name) => Ok(Command::Describe(unquoted(name))),
        ("timing", "") => Ok(Command::Timing(None)),
        ("timing", "on") => Ok(Command::Timing(Some(true))),
        ("timing", "off") => Ok(Command::Timing(Some(false))),
        ("aligned", "") => Ok(Command::Format(Format::Aligned)),
        ("csv", "") => Ok(Command::Format(Format::Csv)),
        ("json", "") => Ok(Command::Format(Format::Json)),
        ("i" | "include", file) if !file.is_empty() => Ok(Command::Include(file.to_string())),
        _ => Err(format!("there is no order \\{rest}: see \\?")),
    })
}

/// A name as the catalogue has it.
fn unquoted(name: &str) -> String {
    let name = name.strip_prefix("public.").unwrap_or(name);
    match name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => name.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders() {
        assert_eq!(parse("select 1"), None);
        assert_eq!(parse(" \\d;"), Some(Ok(Command::Tables)));
        let described = |line| match parse(line) {
            Some(Ok(Command::Describe(name))) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(described("\\d Accounts"), "accounts");
        assert_eq!(described("\\d public.\"Odd \"\"one\""), "Odd \"one");
        assert_eq!(
            parse("\\timing off"),
            Some(Ok(Command::Timing(Some(false))))
        );
        assert!(matches!(parse("\\x"), Some(Err(_))));
    }
}
