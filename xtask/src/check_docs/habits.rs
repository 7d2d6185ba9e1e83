//! Habits of prose that CONTRIBUTING.md asks to avoid, counted for each folder: in documents and in comments of Rust.
//!
//! A count, not a check: a line that begins with "Where" may be right. It shows the folder with the most to reread.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::page::Page;
use super::repeats;

/// No line of documentation begins with these, unless it is a question.
const BEGINNINGS: [&str; 7] = ["What", "Whether", "Who", "How", "Those", "Where", "Whoever"];

/// Words without an actor, or with several meanings.
const AVOIDED: [&str; 5] = ["nobody", "whoever", "told", "stands", "gone"];

/// The most words of a sentence that is not counted as long.
const WORDS_MAX: usize = 30;

/// Counts of the habits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Habits {
    pub beginnings: usize,
    pub avoided: usize,
    pub long: usize,
    /// Doc comments that only repeat a name.
    pub repeats: usize,
}

impl Habits {
    fn add(&mut self, other: Self) {
        self.beginnings += other.beginnings;
        self.avoided += other.avoided;
        self.long += other.long;
        self.repeats += other.repeats;
    }

    /// The habits of lines that are one text; an empty line ends a paragraph.
    fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut habits = Self::default();
        let mut paragraph = String::new();
        for line in lines.chain([""]) {
            let line = line.trim();
            if line.starts_with('|') {
                line.split('|').for_each(|cell| habits.long += long(cell));
                continue;
            }
            let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
            let text = item.unwrap_or(line);
            let begins = |word: &&str| {
                let rest = text.strip_prefix(*word);
                rest.is_some_and(|rest| rest.starts_with([' ', ',', '.']))
            };
            if BEGINNINGS.iter().any(begins) && !text.ends_with('?') {
                habits.beginnings += 1;
            }
            let avoided = words(text).into_iter().filter(|word| is_avoided(word));
            habits.avoided += avoided.count();
            if line.is_empty() || item.is_some() || line.starts_with('#') {
                habits.long += long(&paragraph);
                paragraph.clear();
            }
            paragraph.push(' ');
            paragraph.push_str(text);
        }
        habits
    }
}

/// The habits of each folder, by name: of a crate, or of one directly below the repository.
#[derive(Default)]
pub struct Folders(BTreeMap<PathBuf, Habits>);

impl Folders {
    pub fn add_page(&mut self, file: &Path, page: &Page) {
        let lines = page.prose.iter().map(|(_, line)| line.as_str());
        self.add(file, Habits::of(lines));
    }

    pub fn add_source(&mut self, file: &Path, text: &str) {
        let (mut fenced, mut examples) = (false, false);
        let lines = text.lines().map(|line| {
            let comment = line.trim_start().strip_prefix("//");
            let Some(comment) = comment.map(|text| text.trim_start_matches(['/', '!'])) else {
                (fenced, examples) = (false, false);
                return "";
            };
            // Commands below "Example:" in a text of `--help`, up to an empty line, are not a sentence.
            let command = examples && !comment.trim().is_empty();
            examples = command || matches!(comment.trim(), "Example:" | "Examples:");
            let fence = comment.trim_start().starts_with("```");
            fenced ^= fence;
            if fence || fenced || command {
                ""
            } else {
                comment
            }
        });
        let mut habits = Habits::of(lines);
        habits.repeats = repeats::count(text);
        self.add(file, habits);
    }

    fn add(&mut self, file: &Path, habits: Habits) {
        let depth = if file.starts_with("crates") { 2 } else { 1 };
        let folder = match file.components().count() {
            1 => PathBuf::from("."),
            _ => file.components().take(depth).collect(),
        };
        self.0.entry(folder).or_default().add(habits);
    }
}

impl fmt::Display for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:24}{:>12}{:>12}{:>12}{:>12}",
            "folder", "beginnings", "avoided", "long", "repeats"
        )?;
        for (folder, habits) in &self.0 {
            let Habits {
                beginnings,
                avoided,
                long,
                repeats,
            } = habits;
            writeln!(
                f,
                "{:24}{beginnings:>12}{avoided:>12}{long:>12}{repeats:>12}",
                folder.display().to_string()
            )?;
        }
        Ok(())
    }
}

/// The sentences of a paragraph with more than [`WORDS_MAX`] words.
fn long(paragraph: &str) -> usize {
    let mut sentences = vec![0];
    for word in words(paragraph) {
        *sentences.last_mut().expect("one") += usize::from(word.contains(char::is_alphanumeric));
        if word
            .trim_end_matches(['"', ')', '*', '`'])
            .ends_with(['.', '!', '?', ':', ';'])
        {
            sentences.push(0);
        }
    }
    sentences.iter().filter(|&&count| count > WORDS_MAX).count()
}

/// The words of a text; a code span is one.
fn words(text: &str) -> Vec<String> {
    let parts = text.split('`').enumerate();
    let whole: String = parts
        .map(|(place, part)| if place % 2 == 0 { part } else { "x" })
        .collect();
    whole.split_whitespace().map(str::to_owned).collect()
}

fn is_avoided(word: &str) -> bool {
    let word = word
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    AVOIDED.contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_habit_is_counted_once_and_not_in_code() {
        let long = "word ".repeat(WORDS_MAX + 1);
        let source = format!(
            "//! What it does.\n/// Why is it gone?\n/// {long}\n/// goes on.\n\n// Where `nobody` looks, nobody is.\n\
             let told = \"told\"; // told\n/// Examples:\n///   {long}\n///\n/// ```\n/// // What is in code.\n/// ```\n/// Whole.\n"
        );
        let mut folders = Folders::default();
        folders.add_source(Path::new("crates/one/src/a.rs"), &source);
        let page =
            Page::parse("# Who\n\nWhat is it?\n\n- How it is told.\n\n```\nWhat code\n```\n");
        folders.add_page(Path::new("docs/a.md"), &page);
        let expected = [("crates/one", 2, 2, 1), ("docs", 1, 1, 0)];
        let found = folders.0.iter().map(|(folder, habits)| {
            let name = folder.to_str().expect("text");
            (name, habits.beginnings, habits.avoided, habits.long)
        });
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
