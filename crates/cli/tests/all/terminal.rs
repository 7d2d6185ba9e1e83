//! The shell as a user sees it: at a terminal, with a pager, and with the words that end it.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command};

const ROWS: u16 = 24;
const PROMPT: &str = "sardonyx=> ";

/// A shell at a terminal.
struct Terminal {
    shell: Child,
    /// The other end of the terminal.
    end: File,
}

impl Terminal {
    fn start(database: &str, pager: &str) -> Terminal {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let end = openpt(flags).unwrap();
        grantpt(&end).unwrap();
        unlockpt(&end).unwrap();
        let name = ptsname(&end, Vec::new()).unwrap();
        let size = Winsize {
            ws_row: ROWS,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&end, size).unwrap();
        let path = OsStr::from_bytes(name.as_bytes());
        let terminal = OpenOptions::new().read(true).write(true).open(path);
        let terminal = terminal.unwrap();
        let mut command = Command::new(crate::PROGRAM);
        command.args(["sql", database, "--create"]);
        // A terminal without an editor's escapes.
        command.env("TERM", "dumb").env("SARDONYX_HISTORY", "");
        command.env("SARDONYX_PAGER", pager);
        command.stdin(terminal.try_clone().unwrap());
        command.stdout(terminal.try_clone().unwrap());
        command.stderr(terminal);
        let shell = command.spawn().unwrap();
        let end = File::from(end);
        let mut terminal = Terminal { shell, end };
        terminal.until_prompt();
        terminal
    }

    /// Types a line; returns the output up to the next prompt.
    fn ask(&mut self, line: &str) -> String {
        writeln!(self.end, "{line}").unwrap();
        self.until_prompt()
    }

    fn until_prompt(&mut self) -> String {
        let mut shown = Vec::new();
        loop {
            let mut bytes = [0; 4096];
            let count = self.end.read(&mut bytes);
            let count = count.unwrap_or_else(|error| {
                panic!("{error} after {}", String::from_utf8_lossy(&shown));
            });
            shown.extend_from_slice(&bytes[..count]);
            if shown.ends_with(PROMPT.as_bytes()) {
                return String::from_utf8(shown).unwrap();
            }
        }
    }

    /// Types a line that ends the shell.
    fn ends_by(mut self, line: &str) {
        writeln!(self.end, "{line}").unwrap();
        let status = self.shell.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{line}");
    }
}

#[test]
fn a_long_result_goes_through_the_pager_and_a_short_one_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let path = path.to_str().unwrap();
    let mut shell = Terminal::start(path, "sed 's/^/paged: /'");
    let long = format!("select * from generate_series(1, {ROWS});");
    let shown = shell.ask(&long);
    assert!(shown.contains(&format!("paged: {ROWS:>16}\r\n")), "{shown}");
    let shown = shell.ask("select 1 as one;");
    assert!(
        shown.contains(" one\r\n") && !shown.contains("paged"),
        "{shown}"
    );
    assert!(shell.ask("\\pager").contains("without a pager"));
    let shown = shell.ask(&long);
    assert!(
        !shown.contains("paged") && shown.contains("(24 rows)"),
        "{shown}"
    );
    shell.ends_by("exit");
}

#[test]
fn records_help_and_words_that_end_are_known_at_a_prompt() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let path = path.to_str().unwrap();
    // A pager that is not installed costs no result.
    let mut shell = Terminal::start(path, "/nowhere/at/all");
    let long = format!("select * from generate_series(1, {ROWS});");
    assert!(shell.ask(&long).contains("(24 rows)"));
    assert!(
        shell
            .ask("create table notes (id int primary key);")
            .contains("CREATE TABLE")
    );
    assert!(shell.ask("\\d").contains("notes"));
    assert!(shell.ask("\\d notes").contains("id"));
    assert!(shell.ask("\\x").contains("as records"));
    let shown = shell.ask("select 7 as seven, 'x' as letter;");
    assert!(
        shown.contains("-[ RECORD 1 ]\r\nseven  | 7\r\nletter | x\r\n"),
        "{shown}"
    );
    assert!(shell.ask("\\x off").contains("as columns"));
    assert!(shell.ask("help").contains("exit, quit"));
    shell.ends_by("quit;");
    let shell = Terminal::start(path, "");
    shell.ends_by("\\q");
}
