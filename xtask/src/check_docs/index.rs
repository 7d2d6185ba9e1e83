//! The page of test programs, docs/tests.md: written from the words with which each file of tests begins.
//!
//! A program is a file of a directory `tests`, or a folder there with a `main.rs`. Folders without one have code that
//! programs share, and are left out. The page is written by `check-docs --write`, and checked without it, so it has
//! every test program and module, under its name.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::Finding;
use super::page::without_links;

pub const PAGE: &str = "docs/tests.md";

const HEAD: &str = "# Test programs

Each crate's tests are programs of its directory `tests`, and each of their modules begins with its subject. These are the
first sentences; `cargo xtask check-docs --write` writes this page from them. One module runs alone by its name:

```sh
cargo test -p sardonyx-storage --test all group_commit
```

Unit tests are beside the code, in `src`. Long tests, tests of the whole, and benchmarks: [testing.md](testing.md).
";

/// The modules of a program with their subjects, by name. The program itself has an empty name.
type Program<'t> = BTreeMap<String, &'t str>;

/// Reports a page that is not as the tests say. A repository without the page has nothing to compare.
pub fn check(root: &Path, sources: &[(PathBuf, String)], findings: &mut Vec<Finding>) {
    let Ok(page) = std::fs::read_to_string(root.join(PAGE)) else {
        return;
    };
    let wanted = text(sources);
    if page == wanted {
        return;
    }
    let same = page.lines().zip(wanted.lines()).take_while(|(a, b)| a == b);
    findings.push(Finding {
        file: PathBuf::from(PAGE),
        line: same.count() + 1,
        what: "not as the tests say: `cargo xtask check-docs --write` writes it".to_owned(),
    });
}

/// The page, from the Rust files of the repository.
pub fn text(sources: &[(PathBuf, String)]) -> String {
    let mut crates: BTreeMap<&Path, BTreeMap<String, Program<'_>>> = BTreeMap::new();
    for (file, text) in sources {
        let Some((directory, inner)) = inside_of_tests(file) else {
            continue;
        };
        let (program, module) = names(inner);
        let programs = crates.entry(directory).or_default();
        programs.entry(program).or_default().insert(module, text);
    }
    let mut page = HEAD.to_owned();
    for (directory, programs) in crates {
        for (name, modules) in programs {
            let Some(main) = modules.get("") else {
                continue;
            };
            let _ = write!(
                page,
                "\n## {}, {name}\n\n{}\n",
                directory.display(),
                subject(main)
            );
            if modules.len() > 1 {
                page.push_str("\n| module | subject |\n| --- | --- |\n");
            }
            for (module, text) in modules.iter().filter(|(module, _)| !module.is_empty()) {
                let _ = writeln!(
                    page,
                    "| `{module}` | {} |",
                    subject(text).replace('|', "\\|")
                );
            }
        }
    }
    page
}

/// The directory `tests` of the crate whose test the file is, and its path there. Modules of unit tests below `src` are
/// none of these.
fn inside_of_tests(file: &Path) -> Option<(&Path, &Path)> {
    let directory = file
        .ancestors()
        .filter(|above| above.ends_with("tests"))
        .last()?;
    let is_module = directory.components().any(|part| part.as_os_str() == "src");
    let inner = file.strip_prefix(directory).ok()?;
    (!is_module).then_some((directory, inner))
}

/// The program of a file of `tests`, and its module.
fn names(inner: &Path) -> (String, String) {
    let plain = inner.with_extension("");
    let mut parts = plain.iter().map(|part| part.to_string_lossy().into_owned());
    let program = parts.next().unwrap_or_default();
    let mut module: Vec<String> = parts.collect();
    let is_program = module == ["main"];
    if is_program || module.len() > 1 && module.ends_with(&["mod".to_owned()]) {
        module.pop();
    }
    (program, module.join("/"))
}

/// The first sentence of a file's documentation, without the brackets of links.
fn subject(text: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.starts_with("//!"));
    let lines = lines
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = without_links(&paragraph.join(" "));
    let paragraph = paragraph.replace("[`", "`").replace("`]", "`");
    let end = paragraph.find(". ").map_or(paragraph.len(), |end| end + 1);
    let sentence = paragraph.get(..end).unwrap_or_default();
    // A list or a program follows.
    sentence.trim_end_matches(':').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_programs_and_modules_by_name_and_no_shared_code() {
        let file = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
        let page = text(&[
            file(
                "crates/one/tests/all/main.rs",
                "//! All: of one.\n//! More.\n\nmod b;",
            ),
            file(
                "crates/one/tests/all/b.rs",
                "//! The [`B`] of\n//! [a](A) | b. And more.\n",
            ),
            file(
                "crates/one/tests/all/b/c.rs",
                "#![allow(x)]\n//! A list:\n//!\n//! - b\n",
            ),
            file("crates/one/tests/alone.rs", "//! Alone"),
            file("crates/one/tests/common/mod.rs", "//! Shared"),
            file("crates/one/src/tests/unit.rs", "//! Unit tests"),
        ]);
        let expected = "\n## crates/one/tests, all\n\nAll: of one.\n\n| module | subject |\n| --- | --- |\n\
                        | `b` | The `B` of a \\| b. |\n| `b/c` | A list |\n\n## crates/one/tests, alone\n\nAlone\n";
        // `common` has a `mod.rs`, which is no program of its own.
        assert_eq!(page, format!("{HEAD}{expected}"));
    }
}
