//! The index of tests, docs/testing.md: it has each directory of a crate's tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Finding;
use super::page::Page;

/// The page with the index.
pub const PAGE: &str = "docs/testing.md";

/// Reports directories of tests that the page does not name.
pub fn check(page: &Page, sources: &[(PathBuf, String)], findings: &mut Vec<Finding>) {
    let named: Vec<&str> = page.code().map(|(_, span)| span).collect();
    let tests: BTreeSet<&Path> = sources.iter().filter_map(|(file, _)| tests(file)).collect();
    for directory in tests {
        let has = |span: &&str| Path::new(span).starts_with(directory);
        if !named.iter().any(has) {
            findings.push(Finding {
                file: PathBuf::from(PAGE),
                line: 1,
                what: format!("the index has no line for {}", directory.display()),
            });
        }
    }
}

/// The directory `tests` of the crate whose test the file is.
fn tests(file: &Path) -> Option<&Path> {
    let directory = file
        .ancestors()
        .filter(|above| above.ends_with("tests"))
        .last()?;
    // Below `src` are modules of unit tests. The index names the large ones.
    let is_module = directory.components().any(|part| part.as_os_str() == "src");
    (!is_module).then_some(directory)
}
