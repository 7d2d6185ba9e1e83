//! docs/unsafe.md beside the sources: each module with `unsafe` is in a row of its tables, and each row names modules.
//!
//! A row begins with a module (`storage::store`, `lab/src/floor`), and covers all below it. Further names in the cell
//! are modules below or beside the first, or elsewhere. Tests and examples are left out.

use std::path::{Path, PathBuf};

use super::Finding;
use super::page::Page;

/// The page's place in the repository.
pub const PAGE: &str = "docs/unsafe.md";

/// The modules that a row may mean by each of its names.
struct Row {
    line: usize,
    names: Vec<(String, Vec<String>)>,
}

/// Reports modules with `unsafe` that no row has, and names in rows that are no module.
pub fn check(page: &Page, sources: &[(PathBuf, String)], findings: &mut Vec<Finding>) {
    let rows: Vec<Row> = page.prose.iter().filter_map(row).collect();
    let modules = sources
        .iter()
        .filter_map(|(file, text)| Some((file, module_of(file)?, text)));
    let modules: Vec<_> = modules.collect();
    for (file, module, text) in &modules {
        let covers = |row: &Row| {
            let mut places = row.names.iter().flat_map(|(_, places)| places);
            places.any(|place| is_within(module, place))
        };
        let line = first_use(text);
        if let Some(line) = line.filter(|_| !rows.iter().any(covers)) {
            findings.push(Finding {
                file: file.to_path_buf(),
                line,
                what: format!("{PAGE} has no row for the unsafe code of {module}"),
            });
        }
    }
    for row in &rows {
        for (name, places) in &row.names {
            let is_there = |place: &String| {
                let mut modules = modules.iter();
                modules.any(|(_, module, _)| is_within(module, place))
            };
            if !places.iter().any(is_there) {
                findings.push(Finding {
                    file: PathBuf::from(PAGE),
                    line: row.line,
                    what: format!("{name} is no module"),
                });
            }
        }
    }
}

/// A row of a table, if its first cell begins with a name in code.
fn row((line, text): &(usize, String)) -> Option<Row> {
    let cell = text.strip_prefix('|')?.split('|').next()?.trim();
    let spans: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if !cell.starts_with('`') {
        return None;
    }
    let first = normal(spans.first()?);
    let beside = first.rsplit_once("::").map_or("", |(above, _)| above);
    let names = spans.iter().enumerate().map(|(place, name)| {
        let own = normal(name);
        let places = match place {
            0 => vec![own],
            _ => vec![format!("{first}::{own}"), format!("{beside}::{own}"), own],
        };
        ((*name).to_owned(), places)
    });
    Some(Row {
        line: *line,
        names: names.collect(),
    })
}

/// A path of folders as one of modules: `lab/src/floor` is `lab::floor`.
fn normal(name: &str) -> String {
    let parts = name.split('/').filter(|part| *part != "src");
    parts.collect::<Vec<_>>().join("::")
}

/// The module of a file of a library or program; none for tests and examples.
fn module_of(file: &Path) -> Option<String> {
    let path = file.with_extension("");
    let path = path.strip_prefix("crates").unwrap_or(&path);
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let apart = ["tests", "examples", "fuzz", "xtask"];
    if !parts.contains(&"src") || parts.iter().any(|part| apart.contains(part)) {
        return None;
    }
    let last = ["lib", "main", "mod"].contains(parts.last()?);
    let parts = &parts[..parts.len() - usize::from(last)];
    Some(normal(&parts.join("/")))
}

fn is_within(module: &str, place: &str) -> bool {
    let rest = module.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The line of the first `unsafe` before the file's tests.
fn first_use(text: &str) -> Option<usize> {
    let lines = text.lines().take_while(|line| *line != "mod tests {");
    let mut numbered = (1..).zip(lines);
    numbered.find_map(|(number, line)| {
        let code = line.split("//").next().unwrap_or_default();
        let uses = ["unsafe {", "unsafe impl", "unsafe fn", "unsafe trait"];
        uses.iter().any(|one| code.contains(one)).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_with_unsafe_has_a_row_and_each_row_a_module() {
        let used = "// no unsafe { here\nunsafe { f() }\n";
        let sources = [
            ("crates/one/src/lib.rs", "mod a;\n"),
            ("crates/one/src/a/b.rs", used),
            ("crates/one/src/c.rs", used),
            (
                "crates/one/src/d.rs",
                "mod tests {\n    unsafe { f() }\n}\n",
            ),
            ("crates/one/tests/all/e.rs", used),
            ("lab/src/f/mod.rs", used),
            ("lab/src/g.rs", used),
        ];
        let sources = sources.map(|(file, text)| (PathBuf::from(file), text.to_owned()));
        let page = Page::parse(
            "# Unsafe\n\n| module | why |\n| --- | --- |\n| `one::a` | x |\n| `lab/src/f`, `h` | y |\n",
        );
        let mut findings = Vec::new();
        check(&page, &sources, &mut findings);
        let shown: Vec<String> = findings.iter().map(Finding::to_string).collect();
        let expected = [
            "crates/one/src/c.rs:2: docs/unsafe.md has no row for the unsafe code of one::c",
            "lab/src/g.rs:2: docs/unsafe.md has no row for the unsafe code of lab::g",
            "docs/unsafe.md:6: h is no module",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn names_in_a_row_are_below_or_beside_its_first() {
        let row = row(&(
            7,
            "| `mapped::session` with `commit`, `group` | z |".to_owned(),
        ))
        .unwrap();
        let places: Vec<&str> = row.names[1..]
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(places, ["commit", "group"]);
        assert!(
            row.names[1]
                .1
                .contains(&"mapped::session::commit".to_owned())
        );
        assert!(row.names[2].1.contains(&"mapped::group".to_owned()));
    }
}
