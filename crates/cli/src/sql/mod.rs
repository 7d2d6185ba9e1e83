//! `sql`: a shell for a database's tables, with a server or without.
//!
//! - [`connection`]: the targets of statements: [`local`], the SQL layer in this process; [`remote`], a server;
//! - [`text`]: the end of a statement; [`tag`]: its tag; [`command`]: orders that begin with a backslash; [`describe`]:
//!   the statements of `\d`;
//! - [`show`]: printing rows; [`pager`]: results longer than the terminal; [`message`]: errors; [`editor`]: lines of a
//!   terminal, [`typed`].

mod answer;
mod command;
mod connection;
mod describe;
#[cfg_attr(not(feature = "shell"), path = "without_editor.rs")]
mod editor;
mod local;
mod message;
mod pager;
#[cfg_attr(not(feature = "shell"), path = "without_remote.rs")]
mod remote;
mod show;
#[cfg(feature = "shell")]
mod tag;
mod text;
#[cfg(feature = "shell")]
mod tls;
mod typed;

use crate::nodes::{NodeOption, Opened};
use crate::opened::of_tables_alone;
use crate::store::{Held, StoreOption};
use crate::target::Target;
use answer::Answer;
use anyhow::Context;
use command::{Command, HELP};
use connection::{Connection, Standing, StatementError, is_url};
use editor::Lines;
use local::Local;
use pager::Pager;
use rustix::termios::isatty;
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use show::{Format, show, write_rows};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use text::{Pending, Statement};
use typed::Typed;

/// Open a SQL shell on a directory or a server.
///
/// A directory is opened here, without a server; a URL, such as postgres://127.0.0.1:5433, is connected to. In a
/// terminal statements have a history, Tab completes words and names, and long results go through a pager (PAGER, or
/// less); \? lists the shell's commands. Otherwise the shell runs standard input, a file (-f) or the arguments (-c), up
/// to the first statement that fails. COPY … FROM STDIN reads the following lines, up to a line \. alone. With --json a
/// row is an object in a line.
///
/// The password comes from the environment (PGPASSWORD), so that no list of processes shows it.
///
/// Exit code 4: a statement failed.
///
/// Examples:
///   sardonyx sql bank.sdx
///   sardonyx sql bank.sdx --follow
///   sardonyx sql bank.sdx -c "select * from accounts where balance < 0" --format csv
///   sardonyx sql postgres://ada@db.example:5433 --ca ca.pem < report.sql
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Run these statements and end; may be given several times
    #[arg(short, long = "command", value_name = "SQL")]
    commands: Vec<String>,
    /// Run a file's statements and end; may be given several times
    #[arg(short, long = "file", value_name = "FILE", conflicts_with = "commands")]
    files: Vec<PathBuf>,
    /// The format of rows
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "aligned")]
    format: Format,
    /// Show the time that each statement takes
    #[arg(long)]
    timing: bool,
    /// Print rows only, without their number and without tags
    #[arg(short, long)]
    quiet: bool,
    /// Read the database while another program has it open: writes are rejected
    #[arg(long, conflicts_with = "create")]
    follow: bool,
    /// Create the database if there is none
    #[arg(long)]
    create: bool,
    /// The CA certificate (PEM) that the server is verified with; enables TLS
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    store: StoreOption,
    #[command(flatten)]
    moved: Directories,
    #[command(flatten)]
    node: NodeOption,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let url = self.target.path.to_str().filter(|path| is_url(path));
        if self.follow && url.is_some() {
            let text = "--follow is for a database's directory: a server's own options decide if it follows";
            return Err(UsageError::Arguments(text.into()).into());
        }
        let (connection, opened) = match url {
            Some(url) => (Connection::to_server(url, self.ca.as_deref())?, None),
            None => {
                if !self.create {
                    // The file must exist.
                    self.target.disk()?;
                }
                let given = of_tables_alone(&self.moved, &self.store, self.target.wait());
                let opened = match self.follow {
                    true => Opened::following(&self.target.path, given, &self.node)?,
                    false => self.node.open(&self.target.path, given, || self.open())?,
                };
                let local = Local::open(opened.database().clone(), opened.term().cloned())?;
                (Connection::Local(Box::new(local)), Some(opened))
            }
        };
        let mut shell = Shell {
            connection,
            output,
            format: self.format,
            timing: self.timing,
            quiet: self.quiet,
            pager: None,
        };
        if shell.output.is_json() {
            shell.format = Format::Json;
        }
        let outcome = self.go(&mut shell);
        drop(shell);
        let closed = opened.map_or(Ok(()), Opened::close);
        outcome?;
        closed?;
        Ok(Exit::Done)
    }

    fn open(&self) -> anyhow::Result<Held> {
        match self.create {
            true => self.target.database_or_new(&self.moved, &self.store),
            false => self.target.database(&self.moved, &self.store),
        }
    }

    fn go(&self, shell: &mut Shell<'_>) -> anyhow::Result<()> {
        for text in &self.commands {
            shell.script(&mut text.as_bytes())?;
        }
        for file in &self.files {
            shell.file(file)?;
        }
        if !self.commands.is_empty() || !self.files.is_empty() {
            return Ok(());
        }
        match isatty(std::io::stdin()) && isatty(std::io::stdout()) {
            true => shell.converse(),
            false => shell.script(&mut std::io::stdin().lock()),
        }
    }
}

/// The state of a shell's loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Statement,
    End,
}

/// The state of a shell.
struct Shell<'o> {
    connection: Connection,
    output: &'o mut Output,
    format: Format,
    timing: bool,
    quiet: bool,
    /// `None`: results are printed, however long.
    pager: Option<Pager>,
}

impl Shell<'_> {
    /// Runs the lines that a user types, until the end.
    fn converse(&mut self) -> anyhow::Result<()> {
        self.pager = Pager::of_environment();
        let mut lines = Lines::new()?;
        let mut text = Pending::default();
        self.learn(&mut lines);
        loop {
            match lines.next(self.connection.standing(), text.is_blank())? {
                Typed::End => break,
                Typed::Forget => text = Pending::default(),
                Typed::Line(line) => {
                    let of_word = || command::of_word(&line).map(Ok);
                    if text.is_blank()
                        && let Some(command) = command::parse(&line).or_else(of_word)
                    {
                        text = Pending::default();
                        lines.remember(&line);
                        let done = command.map_err(|error| UsageError::Arguments(error).into());
                        match done.and_then(|command| self.order(command)) {
                            Ok(Next::End) => break,
                            Ok(Next::Statement) => {}
                            Err(error) => self.tell(&error)?,
                        }
                        self.output.finish()?;
                        continue;
                    }
                    text.push(&(line + "\n"));
                    while let Some(statement) = text.take() {
                        lines.remember(&statement.text);
                        let ran = self.statement(&statement, &mut std::io::empty());
                        if let Err(error) = ran {
                            self.tell(&error)?;
                        }
                    }
                    if text.is_blank() {
                        text = Pending::default();
                        self.learn(&mut lines);
                    }
                }
            }
            self.output.finish()?;
        }
        self.output.finish()?;
        Ok(())
    }

    /// Shows an error.
    ///
    /// # Errors
    ///
    /// The connection has ended, or the output is closed.
    fn tell(&mut self, error: &anyhow::Error) -> anyhow::Result<()> {
        if let Some(StatementError::Gone(_)) = error.downcast_ref() {
            anyhow::bail!("{error:#}");
        }
        writeln!(self.output, "{error:#}")?;
        Ok(())
    }

    /// Reads the names of tables and columns for completion, if the transaction allows it.
    fn learn(&mut self, lines: &mut Lines) {
        if self.connection.standing() == Standing::Idle
            && let Ok(names) = describe::names(&mut self.connection)
        {
            lines.know(names);
        }
    }

    fn file(&mut self, file: &Path) -> anyhow::Result<()> {
        let told = || file.display().to_string();
        let opened = std::fs::File::open(file).with_context(told)?;
        self.script(&mut BufReader::new(opened)).with_context(told)
    }

    /// Runs statements up to the first that fails. The last one needs no semicolon.
    fn script(&mut self, input: &mut dyn BufRead) -> anyhow::Result<()> {
        let mut text = Pending::default();
        let mut line = String::new();
        loop {
            line.clear();
            let ended = input.read_line(&mut line)? == 0;
            if text.is_blank()
                && let Some(command) = command::parse(&line)
            {
                text.skip_lines(1);
                let command = command.map_err(UsageError::Arguments)?;
                if self.order(command)? == Next::End {
                    return Ok(());
                }
                continue;
            }
            text.push(&line);
            while let Some(statement) = text.take() {
                let copied = self.statement(&statement, input)?;
                text.skip_lines(copied);
            }
            if ended {
                if let Some(statement) = text.take_rest() {
                    self.statement(&statement, input)?;
                }
                return Ok(());
            }
        }
    }

    fn order(&mut self, command: Command) -> anyhow::Result<Next> {
        match command {
            Command::Quit => return Ok(Next::End),
            Command::Help => write!(self.output, "{HELP}")?,
            Command::Tables => {
                let answers = describe::tables(&mut self.connection)?;
                self.show(&answers)?;
            }
            Command::Describe(name) => match describe::table(&mut self.connection, &name)? {
                Some(answers) => self.show(&answers)?,
                None => {
                    let text = format!("there is no table {name:?}: \\d lists the tables");
                    return Err(UsageError::NotThere(text).into());
                }
            },
            Command::Timing(wanted) => {
                self.timing = wanted.unwrap_or(!self.timing);
                let is = if self.timing { "are" } else { "are not" };
                writeln!(self.output, "times {is} shown")?;
            }
            Command::Format(format) => self.format = format,
            Command::Expanded(wanted) => {
                let is_on = wanted.unwrap_or(self.format != Format::Expanded);
                self.format = if is_on {
                    Format::Expanded
                } else {
                    Format::Aligned
                };
                let shown = if is_on { "records" } else { "columns" };
                writeln!(self.output, "rows are shown as {shown}")?;
            }
            Command::Pager(wanted) => {
                self.pager = match wanted.unwrap_or(self.pager.is_none()) {
                    true => Pager::of_environment(),
                    false => None,
                };
                let with = if self.pager.is_some() {
                    "with"
                } else {
                    "without"
                };
                writeln!(self.output, "long results are shown {with} a pager")?;
            }
            Command::Include(file) => self.file(Path::new(&file))?,
        }
        Ok(Next::Statement)
    }

    /// Runs a statement; `COPY … FROM STDIN` reads its data from `input`. Returns the number of lines read.
    fn statement(
        &mut self,
        statement: &Statement,
        input: &mut dyn BufRead,
    ) -> anyhow::Result<usize> {
        if text::is_blank(statement.text.trim_end().trim_end_matches(';')) {
            return Ok(0);
        }
        let (copied, lines) = match text::copies_in(&text::words(&statement.text)) {
            true => {
                let (copied, lines) = copied_of(input)?;
                (Some(copied), lines)
            }
            false => (None, 0),
        };
        let began = Instant::now();
        let answers = self.connection.run(statement, copied)?;
        let took = began.elapsed();
        self.show(&answers)?;
        if self.timing {
            self.output
                .note(&format!("{:.3} ms", took.as_secs_f64() * 1e3));
        }
        Ok(lines)
    }

    fn show(&mut self, answers: &[Answer]) -> anyhow::Result<()> {
        for answer in answers {
            match (&self.pager, answer) {
                (Some(pager), Answer::Rows(rows)) => {
                    let mut text = Vec::new();
                    write_rows(&mut text, rows, self.format, self.quiet)?;
                    // Earlier output comes first.
                    self.output.finish()?;
                    if !pager.shows(&text) {
                        self.output.write_all(&text)?;
                    }
                }
                _ => show(self.output, answer, self.format, self.quiet)?,
            }
        }
        Ok(())
    }
}

/// The lines up to a line `\.` alone, or to the end, and their number.
fn copied_of(input: &mut dyn BufRead) -> anyhow::Result<(Vec<u8>, usize)> {
    let (mut copied, mut lines) = (Vec::new(), 0);
    loop {
        let start = copied.len();
        let read = input.read_until(b'\n', &mut copied)?;
        lines += usize::from(read > 0);
        let line = &copied[start..];
        if read == 0 || line == b"\\.\n" || line == b"\\.\r\n" || line == b"\\." {
            copied.truncate(start);
            return Ok((copied, lines));
        }
    }
}
