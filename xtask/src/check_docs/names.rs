//! Names in `code`: paths of the repository's files, and the tests of its invariants.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::page::Page;

/// Reports paths and tests in the code spans of `page` that are not there.
pub fn check(
    root: &Path,
    page: &Page,
    tests: &HashSet<String>,
    report: &mut impl FnMut(usize, String),
) {
    for (line, span) in page.code() {
        if is_test_of_an_invariant(span) && !tests.contains(span) {
            report(line, format!("no test is called {span}"));
        }
        if let Some(path) = path_of(root, span)
            && !is_there(root, path)
        {
            report(line, format!("{path} is not there"));
        }
    }
}

/// The names of all functions of the sources that could be tests of invariants.
pub fn tests(sources: &[(PathBuf, String)]) -> HashSet<String> {
    let mut tests = HashSet::new();
    for (_, text) in sources {
        for (at, found) in text.match_indices("fn i") {
            let name = &text[at + found.len() - 1..];
            let end = name
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(name.len());
            tests.insert(name[..end].to_owned());
        }
    }
    tests
}

/// `i7_…` and its like, whole names only.
fn is_test_of_an_invariant(span: &str) -> bool {
    let Some(rest) = span.strip_prefix('i') else {
        return false;
    };
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    digits > 0
        && rest[digits..].starts_with('_')
        && rest.len() > digits + 1
        && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The path that a code span is, if it is one below a folder of the repository.
fn path_of<'a>(root: &Path, span: &'a str) -> Option<&'a str> {
    let (first, rest) = span.split_once('/')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-*".contains(c);
    let is_path = !rest.is_empty() && !first.is_empty() && span.chars().all(plain);
    (is_path && first != "target" && root.join(first).is_dir()).then_some(span)
}

/// Whether the path is there; a `*` stands for any part of one name.
fn is_there(root: &Path, path: &str) -> bool {
    let mut found = vec![root.to_owned()];
    for part in path.split('/').filter(|part| !part.is_empty()) {
        found = match part.split_once('*') {
            None => found.iter().map(|folder| folder.join(part)).collect(),
            Some((start, end)) => found
                .iter()
                .filter_map(|folder| folder.read_dir().ok())
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| {
                    let name = path.file_name().and_then(|name| name.to_str());
                    name.is_some_and(|name| name.starts_with(start) && name.ends_with(end))
                })
                .collect(),
        };
        found.retain(|path| path.exists());
    }
    !found.is_empty()
}
