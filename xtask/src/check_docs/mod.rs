//! `check-docs`: the documents' tables, links, and the names of files and tests in them.
//!
//! A document that names a file, a heading or an invariant's test promises that it exists. This check keeps that
//! promise without a network, for every `.md` file of the repository, and every mention of `docs/….md` in a Rust
//! comment. It finds
//! - tables that a blank line cuts in two, and rows with another number of columns than their header;
//! - relative links to missing files, and anchors that no heading has;
//! - paths in `code` of a missing file of the repository (CHANGELOG may name former files);
//! - paths in `code` that begin with a crate and name none of its items;
//! - constants in tables, named with their file, that have another value there ([`constants`]);
//! - names of invariants' tests (`i7_…`) that no test has;
//! - pages of docs/ that the site's table of contents, docs/SUMMARY.md, does not list;
//! - a page of test programs, docs/tests.md, that is not as the tests say: `--write` writes it;
//! - tables of figures that are not as the kept output of their commands says ([`figures`]): `--write` writes them;
//! - tables of figures in docs/papers/ and docs/benchmarks.md that have neither kept output nor a commit ([`by_hand`]);
//! - commits in pages, kept output and captions that are not in the history ([`commits`]);
//! - a list of the public API, docs/public-api.txt, that is not as the sources have it ([`public_api`]): `--write` writes it;
//! - modules with `unsafe` that docs/unsafe.md lacks, and names there that are no module ([`unsafe_uses`]);
//! - more habits of prose than documents and comments may have ([`mod@habits`]).

mod by_hand;
mod comments;
mod commits;
mod constants;
mod figures;
mod habits;
mod index;
mod links;
mod names;
mod page;
mod public_api;
mod repeats;
mod sources;
mod summary;
mod tables;
mod unsafe_uses;

pub use commits::History;
#[cfg(test)]
pub use commits::repository;
pub use figures::KEPT;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use page::Page;

#[derive(clap::Args)]
pub struct CheckDocs {
    /// The repository's directory.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// Only counts habits of prose, for each folder; lists those of a PATH, such as crates/storage
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    habits: Option<Option<PathBuf>>,
    /// Writes docs/tests.md from the tests, docs/public-api.txt from the sources, and tables of figures from kept output,
    /// first
    #[arg(long)]
    write: bool,
}

/// The file with the numbers of habits that are allowed.
const HABITS: &str = "xtask/src/check_docs/habits.rs";

/// Sources with their texts.
type Sources = Vec<(PathBuf, String)>;

/// One fault of a document.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// Relative to the repository's directory.
    file: PathBuf,
    /// From 1.
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

impl CheckDocs {
    pub fn run(self) -> anyhow::Result<()> {
        if let Some(path) = self.habits {
            let habits = habits(&self.root)?;
            match path {
                Some(path) => print!("{}", habits.listed(&path)),
                None => print!("{habits}"),
            }
            return Ok(());
        }
        if self.write {
            let (_, sources, _) = read(&self.root)?;
            let page = self.root.join(index::PAGE);
            std::fs::write(&page, index::text(&sources))
                .with_context(|| format!("writing {}", page.display()))?;
            if let Some(list) = public_api::text(&sources)? {
                std::fs::write(self.root.join(public_api::LIST), list)
                    .with_context(|| format!("writing {}", public_api::LIST))?;
            }
            figures::write(&self.root)?;
        }
        let (pages, findings) = check(&self.root)?;
        for finding in &findings {
            println!("{finding}");
        }
        if !findings.is_empty() {
            bail!("{} faults in the documents", findings.len());
        }
        println!("{pages} documents: tables, links, names of files and tests are sound");
        Ok(())
    }
}

/// Checks the repository at `root`; returns the number of documents, and their faults.
fn check(root: &Path) -> anyhow::Result<(usize, Vec<Finding>)> {
    let (pages, sources, others) = read(root)?;
    let tests = names::tests(&sources);
    let items = names::items(&sources);
    let mut findings = Vec::new();
    for (file, page) in &pages {
        let mut report = |line, what| {
            findings.push(Finding {
                file: file.clone(),
                line,
                what,
            });
        };
        tables::check(page, &mut report);
        constants::check(page, &sources, &mut report);
        links::check(root, file, page, &pages, &mut report);
        if !file.ends_with("CHANGELOG.md") {
            names::check(root, page, &tests, &items, &mut report);
        }
    }
    for (file, text) in &sources {
        links::check_source(root, file, text, &pages, &mut findings);
    }
    summary::check(&pages, &mut findings);
    index::check(root, &sources, &mut findings);
    figures::check(root, &mut findings)?;
    commits::check(root, &pages, &mut findings)?;
    for file in pages.keys().filter(|file| by_hand::has_figures_of(file)) {
        let text = std::fs::read_to_string(root.join(file))
            .with_context(|| format!("reading {}", file.display()))?;
        by_hand::check(file, &text, &mut findings);
    }
    if root.join(public_api::LIST).exists() {
        let list = std::fs::read_to_string(root.join(public_api::LIST))
            .with_context(|| format!("reading {}", public_api::LIST))?;
        public_api::check(&list, &sources, &mut findings);
    }
    if let Some(page) = pages.get(Path::new(unsafe_uses::PAGE)) {
        unsafe_uses::check(page, &sources, &mut findings);
    }
    let above = habits_in(&pages, &[&sources, &others]).above();
    findings.extend(above.into_iter().map(|what| Finding {
        file: PathBuf::from(HABITS),
        line: 1,
        what,
    }));
    findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Ok((pages.len(), findings))
}

/// The documents, the Rust files, and the other sources with comments, of the repository at `root`.
fn read(root: &Path) -> anyhow::Result<(HashMap<PathBuf, Page>, Sources, Sources)> {
    let mut pages = HashMap::new();
    let (mut sources, mut others) = (Vec::new(), Vec::new());
    for file in files(root)? {
        let kind = file.extension().and_then(|extension| extension.to_str());
        if !matches!(kind, Some("md" | "rs" | "py" | "sh" | "c" | "h" | "js")) {
            continue;
        }
        let text = std::fs::read_to_string(root.join(&file))
            .with_context(|| format!("reading {}", file.display()))?;
        match kind {
            Some("md") => _ = pages.insert(file, Page::parse(&text)),
            Some("rs") => sources.push((file, text)),
            _ => others.push((file, text)),
        }
    }
    Ok((pages, sources, others))
}

/// The habits of prose in the repository at `root`.
fn habits(root: &Path) -> anyhow::Result<habits::Habits> {
    let (pages, sources, others) = read(root)?;
    Ok(habits_in(&pages, &[&sources, &others]))
}

fn habits_in(pages: &HashMap<PathBuf, Page>, sources: &[&Sources]) -> habits::Habits {
    let mut habits = habits::Habits::default();
    for (file, page) in pages {
        habits.add_page(file, page);
    }
    for (file, text) in sources.iter().copied().flatten() {
        habits.add_source(file, text);
    }
    habits
}

/// All files below `root`, relative to it, without build results and hidden files.
fn files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root.join(&folder))
            .with_context(|| format!("reading {}", root.join(&folder).display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_none_or(|name| name.starts_with('.')) || name == "target" {
                continue;
            }
            let path = folder.join(name);
            match entry.file_type()? {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
