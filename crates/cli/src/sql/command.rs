//! Lines that begin with a backslash: orders to the shell itself.

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
    /// Shows the time that statements take, or not; `None` toggles it.
    Timing(Option<bool>),
    /// The format of rows.
    Format(Format),
    /// Shows each row as a record, or not; `None` toggles it.
    Expanded(Option<bool>),
    /// Shows long results through a pager, or not; `None` toggles it.
    Pager(Option<bool>),
    /// Runs a file's statements.
    Include(String),
}

/// The list of orders.
pub const HELP: &str = "\
  \\d            list the tables                \\d NAME     describe a table
  \\x            show each row as a record      \\timing     show times
  \\aligned  \\csv  \\json   the format of rows   \\pager      long results through a pager
  \\i FILE       run a file's statements        \\q, exit, quit   end
A statement ends with a semicolon and may take several lines. Ctrl-C forgets what is typed, Ctrl-D ends.
";

/// The order of a word that a user types at a prompt; `None` if it is SQL.
pub fn of_word(line: &str) -> Option<Command> {
    let word = line.trim().trim_end_matches(';').trim_end();
    match word.to_ascii_lowercase().as_str() {
        "exit" | "quit" => Some(Command::Quit),
        "help" => Some(Command::Help),
        _ => None,
    }
}

/// The order of a line; `None` if it is not an order.
///
/// # Errors
/// The fault of the line.
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
        ("timing", switch @ ("" | "on" | "off")) => Ok(Command::Timing(switched(switch))),
        ("x", switch @ ("" | "on" | "off")) => Ok(Command::Expanded(switched(switch))),
        ("pager", switch @ ("" | "on" | "off")) => Ok(Command::Pager(switched(switch))),
        ("aligned", "") => Ok(Command::Format(Format::Aligned)),
        ("csv", "") => Ok(Command::Format(Format::Csv)),
        ("json", "") => Ok(Command::Format(Format::Json)),
        ("i" | "include", file) if !file.is_empty() => Ok(Command::Include(file.to_string())),
        _ => Err(format!("unknown command \\{rest}: see \\?")),
    })
}

/// The value of a switch; `None` toggles it.
fn switched(argument: &str) -> Option<bool> {
    (!argument.is_empty()).then_some(argument == "on")
}

/// A name in the catalogue's form.
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
        assert_eq!(parse("\\x"), Some(Ok(Command::Expanded(None))));
        assert_eq!(parse("\\x on"), Some(Ok(Command::Expanded(Some(true)))));
        assert_eq!(parse("\\pager off"), Some(Ok(Command::Pager(Some(false)))));
        for wrong in ["\\x auto", "\\pager 1", "\\y"] {
            assert!(matches!(parse(wrong), Some(Err(_))), "{wrong}");
        }
    }

    #[test]
    fn words_that_end() {
        for word in ["exit", " quit ", "EXIT;", "quit ;"] {
            assert_eq!(of_word(word), Some(Command::Quit), "{word}");
        }
        assert_eq!(of_word("help"), Some(Command::Help));
        for statement in ["exit now", "exits", "select quit", ""] {
            assert_eq!(of_word(statement), None, "{statement}");
        }
    }
}
