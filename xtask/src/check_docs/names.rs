//! Names in `code`: paths of the repository's files and of its crates' items, and the tests of its
//! invariants.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use super::page::Page;

/// The names that each crate defines: its modules and items.
pub type Items = HashMap<String, HashSet<String>>;

/// Reports missing paths, items and tests in the code spans of `page`.
pub fn check(
    root: &Path,
    page: &Page,
    tests: &HashSet<String>,
    items: &Items,
    report: &mut impl FnMut(usize, String),
) {
    for (line, span) in page.code() {
        if is_test_of_an_invariant(span) && !tests.contains(span) {
            report(line, format!("no test is called {span}"));
        }
        if let Some(name) = unknown_item(span, items) {
            report(line, format!("{span}: nothing there is called {name}"));
        }
        if let Some(path) = path_of(root, span)
            && !is_there(root, path)
        {
            report(line, format!("{path} does not exist"));
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

/// The items of the crates in the folder `crates`.
pub fn items(sources: &[(PathBuf, String)]) -> Items {
    const KEYWORDS: &str = "mod fn struct enum trait type const static union macro_rules!";
    let is_keyword = |word: &str| KEYWORDS.split(' ').any(|keyword| keyword == word);
    let mut items = Items::new();
    for (path, text) in sources {
        let mut parts = path.components();
        let (Some(Component::Normal(folder)), Some(Component::Normal(name))) =
            (parts.next(), parts.next())
        else {
            continue;
        };
        if folder != "crates" {
            continue;
        }
        let names = items
            .entry(name.to_string_lossy().into_owned())
            .or_default();
        // An indented one is a method, or inside of a test.
        for line in text.lines().filter(|line| !line.starts_with(' ')) {
            let mut words = line.split_whitespace();
            if words.by_ref().any(is_keyword)
                && let Some(item) = words.find(|word| !is_keyword(word) && *word != "unsafe")
            {
                let end = item
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .unwrap_or(item.len());
                names.insert(item[..end].to_owned());
            }
        }
    }
    items
}

/// The item of a path such as `storage::log::record` that its crate does not define; the crate may be named with
/// `sardonyx_` before it.
fn unknown_item<'a>(span: &'a str, items: &Items) -> Option<&'a str> {
    let mut names = span.split("::");
    let first = names.next()?;
    let known = items.get(first.strip_prefix("sardonyx_").unwrap_or(first))?;
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    names.find(|name| is_name(name) && !known.contains(*name))
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

/// Returns true if the path exists; a `*` matches any part of one name.
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
