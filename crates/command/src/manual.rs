//! `man`: the manual pages of a program, one for each verb, made from the table that `--help` shows.

use crate::exit::{EXIT_CODES, Exit};
use crate::help::Parts;
use crate::output::Output;
use anyhow::Context;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// Write the manual pages.
///
/// A page for the program and one for each verb, such as sardonyx.1 and sardonyx-serve.1, for groff and mandoc. The
/// packages for Debian include these files.
///
/// Examples:
///   sardonyx man ~/.local/share/man/man1
///   sardonyx man /tmp/pages && man -l /tmp/pages/sardonyx-serve.1
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The directory of the pages, created if absent; pages of the same names are replaced
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

/// A manual page.
#[derive(Clone, Debug)]
pub struct Page {
    /// The file's name, such as `sardonyx-serve.1`.
    pub file: String,
    /// Its text, in roff.
    pub text: Vec<u8>,
}

impl Arguments {
    /// Writes the pages of this command line, from its original doc comments.
    ///
    /// # Errors
    /// The directory's, the output's.
    pub fn run(&self, command: Command, output: &mut Output) -> anyhow::Result<Exit> {
        let pages = pages(command)?;
        let shown = || self.directory.display().to_string();
        fs::create_dir_all(&self.directory).with_context(shown)?;
        for page in &pages {
            let path = self.directory.join(&page.file);
            fs::write(&path, &page.text).with_context(|| path.display().to_string())?;
        }
        let files: Vec<&str> = pages.iter().map(|page| page.file.as_str()).collect();
        match output.is_json() {
            true => output.value(&json!({ "directory": shown(), "files": files }))?,
            false => writeln!(output, "{} pages are in {}", files.len(), shown())?,
        }
        Ok(Exit::Done)
    }
}

/// The pages of a program and of all its verbs that are shown.
///
/// # Errors
/// None except those of memory.
pub fn pages(command: Command) -> io::Result<Vec<Page>> {
    let version = command.get_version().unwrap_or_default().to_string();
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    let mut left = vec![&command];
    while let Some(command) = left.pop() {
        pages.push(page(command, &version)?);
        left.extend(command.get_subcommands().filter(|verb| !verb.is_hide_set()));
    }
    pages.sort_by(|one, other| one.file.cmp(&other.file));
    Ok(pages)
}

fn page(command: &Command, version: &str) -> io::Result<Page> {
    let parts = Parts::of(command);
    let mut description = parts.sentence.clone() + ".";
    for paragraph in &parts.details {
        description += "\n\n";
        description += paragraph;
    }
    let verb = command
        .clone()
        .about(parts.sentence)
        .long_about(description);
    let has_verbs = verb.get_subcommands().any(|verb| !verb.is_hide_set());
    let man = Man::new(verb)
        .source(format!("sardonyx {version}"))
        .manual("Sardonyx");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if !parts.examples.is_empty() {
        let mut examples = Roff::new();
        examples.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in &parts.examples {
            examples.text([roman(line)]);
        }
        examples.control("fi", []).to_writer(&mut text)?;
    }
    man.render_options_section(&mut text)?;
    if has_verbs {
        man.render_subcommands_section(&mut text)?;
    }
    let mut codes = Roff::new();
    codes.control("SH", ["EXIT STATUS"]);
    for (exit, meaning) in EXIT_CODES {
        codes.control("TP", []);
        codes.text([bold(exit.code().to_string())]);
        codes.text([roman(meaning)]);
    }
    codes.to_writer(&mut text)?;
    Ok(Page {
        file: man.get_filename(),
        text,
    })
}

/// Asserts that each shown verb has a page, and that the page has all its options.
///
/// # Panics
/// Something is missing.
pub fn assert_all_have_pages(command: &Command) {
    let pages = pages(command.clone()).expect("pages");
    let mut built = command.clone().disable_help_subcommand(true);
    built.build();
    let mut left = vec![&built];
    while let Some(verb) = left.pop() {
        let name = verb.get_display_name().unwrap_or_else(|| verb.get_name());
        let page = pages.iter().find(|page| page.file == format!("{name}.1"));
        let page = page.unwrap_or_else(|| panic!("{name} has no page"));
        let text = String::from_utf8_lossy(&page.text).replace('\\', "");
        for option in verb.get_opts().filter(|option| !option.is_hide_set()) {
            let long = format!("--{}", option.get_long().unwrap_or_default());
            assert!(text.contains(&long), "{long} is not in the page of {name}");
        }
        left.extend(verb.get_subcommands().filter(|verb| !verb.is_hide_set()));
    }
}
