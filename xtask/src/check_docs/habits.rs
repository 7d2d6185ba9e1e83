//! Habits of prose that CONTRIBUTING.md asks to avoid, in documents and in comments of sources: counted for each
//! folder, or listed with their places.
//!
//! A line that begins with "Where" may be right, so a few of each kind are allowed ([`MOST`]). More are a fault.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::page::Page;
use super::{comments, repeats};

/// No line of documentation begins with these, unless it is a question.
const BEGINNINGS: [&str; 7] = ["What", "Whether", "Who", "How", "Those", "Where", "Whoever"];

/// Words without an actor, or with several meanings.
const AVOIDED: [&str; 5] = ["nobody", "whoever", "told", "stands", "gone"];

/// The most words of a sentence that is not counted as long.
const WORDS_MAX: usize = 25;

/// The most habits of each kind, in the order of [`Kind::ALL`], that documents and comments may have. Lower a number when
/// fewer are left.
const MOST: [(&str, [usize; 4]); 2] = [("documents", [3, 3, 3, 0]), ("comments", [5, 5, 115, 80])];

/// A kind of habit; the columns of the table of counts, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Beginning,
    Avoided,
    Long,
    /// A doc comment that only repeats a name.
    Repeat,
}

impl Kind {
    const ALL: [(Kind, &'static str); 4] = [
        (Kind::Beginning, "beginnings"),
        (Kind::Avoided, "avoided"),
        (Kind::Long, "long"),
        (Kind::Repeat, "repeats"),
    ];
}

/// A place in a file with a habit.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Habit {
    file: PathBuf,
    /// From 1; of a long sentence, the line where its paragraph begins.
    line: usize,
    kind: Kind,
    /// The line, or the sentence.
    text: String,
}

impl fmt::Display for Habit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Kind::ALL.iter().find(|(kind, _)| *kind == self.kind);
        let name = name.map_or("", |(_, name)| name);
        write!(
            f,
            "{}:{}: {name}: {}",
            self.file.display(),
            self.line,
            self.text
        )
    }
}

/// The habits of numbered lines that are one text; an empty line ends a paragraph.
fn habits_of<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
    mut report: impl FnMut(usize, Kind, String),
) {
    let (mut paragraph, mut begin) = (String::new(), 1);
    for (number, line) in lines.chain([(0, "")]) {
        let line = line.trim();
        if line.starts_with('|') {
            for sentence in line.split('|').flat_map(long) {
                report(number, Kind::Long, sentence);
            }
            continue;
        }
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        let text = item.unwrap_or(line);
        let begins = |word: &&str| {
            let rest = text.strip_prefix(*word);
            rest.is_some_and(|rest| rest.starts_with([' ', ',', '.']))
        };
        if BEGINNINGS.iter().any(begins) && !text.ends_with('?') {
            report(number, Kind::Beginning, text.to_owned());
        }
        for _ in words(text).iter().filter(|word| is_avoided(word)) {
            report(number, Kind::Avoided, text.to_owned());
        }
        if line.is_empty() || item.is_some() || line.starts_with('#') {
            for sentence in long(&paragraph) {
                report(begin, Kind::Long, sentence);
            }
            paragraph.clear();
        }
        if paragraph.trim().is_empty() {
            begin = number;
        }
        paragraph.push(' ');
        paragraph.push_str(text);
    }
}

/// The habits of all files.
#[derive(Default)]
pub struct Habits(Vec<Habit>);

impl Habits {
    pub fn add_page(&mut self, file: &Path, page: &Page) {
        let lines = page.prose.iter();
        self.add(file, lines.map(|(number, line)| (*number, line.as_str())));
    }

    /// Comments of a source; a file of another language has none.
    pub fn add_source(&mut self, file: &Path, text: &str) {
        let ending = file.extension().and_then(|ending| ending.to_str());
        let Some(comments) = ending.and_then(|ending| comments::of(ending, text)) else {
            return;
        };
        self.add(file, (1..).zip(comments));
        if ending == Some("rs") {
            for (line, text) in repeats::places(text) {
                self.note(file, line, Kind::Repeat, text);
            }
        }
    }

    fn add<'a>(&mut self, file: &Path, lines: impl Iterator<Item = (usize, &'a str)>) {
        habits_of(lines, |line, kind, text| self.note(file, line, kind, text));
    }

    fn note(&mut self, file: &Path, line: usize, kind: Kind, text: String) {
        let file = file.to_path_buf();
        self.0.push(Habit {
            file,
            line,
            kind,
            text,
        });
    }

    /// A line for each habit in files whose paths begin with `prefix`.
    pub fn listed(&self, prefix: &Path) -> String {
        let mut found: Vec<&Habit> = self.0.iter().collect();
        found.retain(|habit| habit.file.starts_with(prefix));
        found.sort_by_key(|habit| (&habit.file, habit.line));
        found.iter().map(|habit| format!("{habit}\n")).collect()
    }

    /// A sentence for each kind of which documents or comments have more than [`MOST`].
    pub fn above(&self) -> Vec<String> {
        let is_page = |habit: &&Habit| habit.file.extension().is_some_and(|ending| ending == "md");
        let (pages, sources): (Vec<&Habit>, Vec<&Habit>) = self.0.iter().partition(is_page);
        let mut above = Vec::new();
        for (found, (place, most)) in [pages, sources].iter().zip(MOST) {
            for ((kind, name), most) in Kind::ALL.iter().zip(most) {
                let count = found.iter().filter(|habit| habit.kind == *kind).count();
                if count > most {
                    above.push(format!(
                        "{place} have {count} habits of the kind {name:?}, more than {most}: `check-docs --habits PATH` lists them"
                    ));
                }
            }
        }
        above
    }

    /// The counts of each folder, by name: of a crate, or of one directly below the repository.
    fn counts(&self) -> BTreeMap<PathBuf, [usize; 4]> {
        let mut folders: BTreeMap<PathBuf, [usize; 4]> = BTreeMap::new();
        for habit in &self.0 {
            let depth = if habit.file.starts_with("crates") {
                2
            } else {
                1
            };
            let folder = match habit.file.components().count() {
                1 => PathBuf::from("."),
                _ => habit.file.components().take(depth).collect(),
            };
            folders.entry(folder).or_default()[habit.kind as usize] += 1;
        }
        folders
    }
}

impl fmt::Display for Habits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:24}", "folder")?;
        for (_, name) in Kind::ALL {
            write!(f, "{name:>12}")?;
        }
        writeln!(f)?;
        for (folder, counts) in self.counts() {
            write!(f, "{:24}", folder.display().to_string())?;
            for count in counts {
                write!(f, "{count:>12}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The sentences of a paragraph with more than [`WORDS_MAX`] words.
fn long(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![Vec::new()];
    for word in words(paragraph) {
        let ends = word
            .trim_end_matches(['"', ')', '*', '`'])
            .ends_with(['.', '!', '?', ':', ';']);
        if word.contains(char::is_alphanumeric) {
            sentences.last_mut().expect("one").push(word);
        }
        if ends {
            sentences.push(Vec::new());
        }
    }
    sentences.retain(|sentence| sentence.len() > WORDS_MAX);
    sentences
        .iter()
        .map(|sentence| sentence.join(" "))
        .collect()
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
        let mut habits = Habits::default();
        habits.add_source(Path::new("crates/one/src/a.rs"), &source);
        let page =
            Page::parse("# Who\n\nWhat is it?\n\n- How it is told.\n\n```\nWhat code\n```\n");
        habits.add_page(Path::new("docs/a.md"), &page);
        habits.add_source(Path::new("bench/a.py"), "\"\"\"Who runs.\"\"\"\n");
        habits.add_source(Path::new("bench/a.toml"), "# Who runs.\n");
        let expected = [
            ("bench", [1, 0, 0, 0]),
            ("crates/one", [2, 2, 1, 0]),
            ("docs", [1, 1, 0, 0]),
        ];
        let found = habits.counts().into_iter();
        let found = found.map(|(folder, counts)| (folder.display().to_string(), counts));
        let expected = expected.map(|(folder, counts)| (folder.to_string(), counts));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let listed = habits.listed(Path::new("docs"));
        assert_eq!(
            listed,
            "docs/a.md:5: beginnings: How it is told.\ndocs/a.md:5: avoided: How it is told.\n"
        );
        let listed = habits.listed(Path::new("crates/one/src"));
        let places: Vec<&str> = listed.lines().map(|line| &line[..22]).collect();
        let lines = [1, 1, 2, 6, 6].map(|line| format!("crates/one/src/a.rs:{line}:"));
        assert_eq!(places, lines);
        let mut habits = Habits::default();
        let page = Page::parse(&format!("# Head\n\nShort.\n\n{long}\ngoes on.\n"));
        habits.add_page(Path::new("docs/b.md"), &page);
        let listed = habits.listed(Path::new("docs"));
        assert!(listed.starts_with("docs/b.md:5: long: word"), "{listed}");
    }

    #[test]
    fn more_habits_than_the_stated_numbers_are_reported() {
        let mut habits = Habits::default();
        let [(_, documents), (_, comments)] = MOST;
        let page = Page::parse(&"How it is.\n\n".repeat(documents[0]));
        habits.add_page(Path::new("docs/a.md"), &page);
        habits.add_source(Path::new("a.h"), &"// Who.\n".repeat(comments[0]));
        assert_eq!(habits.above(), Vec::<String>::new());
        habits.add_source(Path::new("b.py"), "# Who.\n");
        let above = habits.above();
        assert!(
            above.len() == 1 && above[0].starts_with("comments have"),
            "{above:?}"
        );
        habits.add_page(Path::new("docs/b.md"), &Page::parse("How it is.\n"));
        assert_eq!(habits.above().len(), 2);
    }
}
