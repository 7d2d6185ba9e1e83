//! Results that are longer than the terminal, shown through a pager.

use rustix::termios::tcgetwinsize;
use sardonyx_base::signals::ignore_interrupt;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};

/// The variable with the pager, which overrides `PAGER`, since other programs read that, too.
const VARIABLE: &str = "SARDONYX_PAGER";
/// The usual options: colours pass, and a result that fits is printed.
const LESS_OPTIONS: &str = "FRX";

/// The program that pages.
#[derive(Clone, Debug)]
pub struct Pager {
    /// A command of the system's shell.
    command: OsString,
}

impl Pager {
    /// The pager of the environment, or `less`; `None` if the environment names an empty one.
    pub fn of_environment() -> Option<Pager> {
        let named = std::env::var_os(VARIABLE).or_else(|| std::env::var_os("PAGER"));
        let command = named.unwrap_or_else(|| "less".into());
        let is_blank = command.to_string_lossy().trim().is_empty();
        (!is_blank).then_some(Pager { command })
    }

    /// Shows a text if it is longer than the terminal. If it returns false, the text was not shown and must be printed.
    pub fn shows(&self, text: &[u8]) -> bool {
        let size = tcgetwinsize(io::stdout());
        let is_long = size.is_ok_and(|size| is_longer(text, usize::from(size.ws_row)));
        is_long && self.show(text).unwrap_or(false)
    }

    /// Runs the pager with a text until it ends; false if there is no such program.
    fn show(&self, text: &[u8]) -> io::Result<bool> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.command).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", LESS_OPTIONS);
        }
        let mut child = command.spawn()?;
        // An interrupt is for the pager.
        let _ignored = ignore_interrupt();
        if let Some(mut input) = child.stdin.take() {
            // A pager that was quit early reads no more.
            let _ = input.write_all(text);
        }
        let status = child.wait()?;
        // The shell's codes for a command that it cannot run.
        Ok(!matches!(status.code(), Some(126 | 127)))
    }
}

/// True if a text takes more lines than the terminal has, one of which is the next prompt's. A terminal of no lines
/// does not know its size.
fn is_longer(text: &[u8], rows: usize) -> bool {
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    rows > 0 && lines >= rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_paged_if_the_prompt_would_push_it_out() {
        assert!(!is_longer(b"1\n2\n", 3));
        assert!(is_longer(b"1\n2\n3\n", 3));
        assert!(!is_longer(b"1\n2\n3\n", 0), "no size is known");
    }

    #[test]
    fn a_program_that_is_missing_shows_nothing() {
        let command = |text: &str| Pager {
            command: text.into(),
        };
        assert!(!command("/nowhere/at/all").show(b"x\n").unwrap());
        assert!(command("cat >/dev/null").show(b"x\n").unwrap());
        // A pager that reads nothing and fails still counts as shown.
        assert!(command("exit 3").show(b"x\n").unwrap());
    }
}
