//! Lines that a user types, with a history and completion.

use super::connection::Standing;
use super::typed::{Typed, prompt};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Context, Editor, Helper, Highlighter, Hinter, Validator};
use std::path::PathBuf;

/// The most lines of the history.
const HISTORY_LINES: usize = 10_000;
/// Words of SQL that are completed.
const WORDS: &[&str] = &[
    "ALTER",
    "AND",
    "AS",
    "ASC",
    "BEGIN",
    "BETWEEN",
    "BY",
    "CALL",
    "CASE",
    "CHECK",
    "COLUMN",
    "COMMIT",
    "CONFLICT",
    "CONSTRAINT",
    "COPY",
    "COUNT",
    "CREATE",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DISTINCT",
    "DO",
    "DROP",
    "ELSE",
    "END",
    "EXISTS",
    "EXPLAIN",
    "FALSE",
    "FOREIGN",
    "FROM",
    "GROUP",
    "HAVING",
    "IN",
    "INDEX",
    "INNER",
    "INSERT",
    "INTO",
    "IS",
    "JOIN",
    "KEY",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "PRIMARY",
    "PROCEDURE",
    "REFERENCES",
    "RETURNING",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "TABLE",
    "THEN",
    "TRUE",
    "TRUNCATE",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
];
/// Orders to the shell that are completed.
const ORDERS: &[&str] = &[
    "\\aligned",
    "\\csv",
    "\\d",
    "\\help",
    "\\i",
    "\\json",
    "\\pager",
    "\\q",
    "\\timing",
    "\\x",
];

/// Completes words of SQL and names.
#[derive(Helper, Highlighter, Hinter, Validator)]
struct Names(Vec<String>);

impl Completer for Names {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(completed(line.get(..position).unwrap_or_default(), &self.0))
    }
}

/// The start of the last word of a text, and its completions.
fn completed(typed: &str, names: &[String]) -> (usize, Vec<String>) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\\';
    let start = typed.rfind(|c| !is_part(c));
    let start = start.map_or(0, |at| {
        at + typed[at..].chars().next().map_or(1, char::len_utf8)
    });
    let word = &typed[start..];
    if word.is_empty() {
        return (start, Vec::new());
    }
    let lower = word.to_lowercase();
    // In the case of the typed letters.
    let is_upper = word.chars().all(|c| !c.is_lowercase());
    let words = WORDS.iter().map(|word| match is_upper {
        true => (*word).to_string(),
        false => word.to_lowercase(),
    });
    let orders = ORDERS.iter().map(|order| (*order).to_string());
    let all = names.iter().cloned().chain(words).chain(orders);
    let found = all.filter(|one| one.to_lowercase().starts_with(&lower));
    (start, found.collect())
}

/// A terminal's lines.
pub struct Lines {
    editor: Editor<Names, FileHistory>,
    history: Option<PathBuf>,
}

impl Lines {
    /// Opens a terminal, with the history of earlier shells, if there is a home directory to keep it in.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn new() -> anyhow::Result<Lines> {
        let config = Config::builder()
            .max_history_size(HISTORY_LINES)?
            .history_ignore_space(true)
            .auto_add_history(false)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Names(Vec::new())));
        let history = history_file();
        if let Some(file) = &history {
            // A missing file is an empty history.
            let _ = editor.load_history(file);
        }
        Ok(Lines { editor, history })
    }

    /// Sets the names that are completed from now on.
    pub fn know(&mut self, names: Vec<String>) {
        self.editor.set_helper(Some(Names(names)));
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// The terminal is closed.
    pub fn next(&mut self, standing: Standing, is_blank: bool) -> anyhow::Result<Typed> {
        match self.editor.readline(&prompt(standing, is_blank)) {
            Ok(line) => Ok(Typed::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Typed::Forget),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps a statement in the history, unless it contains a password.
    pub fn remember(&mut self, statement: &str) {
        if statement.to_lowercase().contains("password") {
            return;
        }
        let _ = self.editor.add_history_entry(statement.trim());
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Some(file) = &self.history {
            // If the history cannot be kept, the shell continues.
            if let Some(directory) = file.parent() {
                let _ = std::fs::create_dir_all(directory);
            }
            let _ = self.editor.save_history(file);
        }
    }
}

fn history_file() -> Option<PathBuf> {
    if let Some(file) = std::env::var_os("SARDONYX_HISTORY") {
        return (!file.is_empty()).then(|| file.into());
    }
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state =
        state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")))?;
    Some(state.join("sardonyx").join("sql_history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_names_are_completed() {
        let names = ["accounts".to_string(), "account_id".to_string()];
        let (start, found) = completed("select * from acc", &names);
        assert_eq!((start, found), (14, names.to_vec()));
        assert_eq!(completed("SEL", &names), (0, vec!["SELECT".to_string()]));
        assert_eq!(completed("sel", &names), (0, vec!["select".to_string()]));
        assert_eq!(completed("\\ti", &names), (0, vec!["\\timing".to_string()]));
        assert_eq!(completed("x(", &names), (2, Vec::new()));
    }
}
