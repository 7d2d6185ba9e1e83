//! Constants of the sources in tables: a cell with a Rust file and a text of it, as `crates/a/src/b.rs` `VERSION: u32 = 1`.
//!
//! A version that a page names without this is wrong from the next change of the constant on.

use std::path::{Path, PathBuf};

use super::page::Page;

/// Reports texts beside a file's name, in the rows of tables, that the file does not have.
pub fn check(page: &Page, sources: &[(PathBuf, String)], report: &mut impl FnMut(usize, String)) {
    let rows = page.prose.iter().filter(|(_, text)| text.starts_with('|'));
    for (line, cell) in rows.flat_map(|(line, row)| row.split('|').map(move |cell| (line, cell))) {
        let Some((file, text)) = constant(cell) else {
            continue;
        };
        let source = sources.iter().find(|(path, _)| path == Path::new(file));
        if !source.is_some_and(|(_, source)| has(source, text)) {
            report(*line, format!("{file} has no {text}"));
        }
    }
}

/// True if a source has this text, and not only as a part of longer names or numbers: `ZONED_VERSION: u16 = 8` is another
/// constant than `VERSION: u16 = 8`, and `VERSION: u16 = 80` another value.
fn has(source: &str, text: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    source.match_indices(text).any(|(at, found)| {
        !source[..at].ends_with(is_of_name) && !source[at + found.len()..].starts_with(is_of_name)
    })
}

/// The file and the text of a cell that is nothing but these two, as code.
fn constant(cell: &str) -> Option<(&str, &str)> {
    let inner = cell.trim().strip_prefix('`')?.strip_suffix('`')?;
    let (file, text) = inner.split_once("` `")?;
    (file.ends_with(".rs") && !text.contains('`')).then_some((file, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_with_another_value_is_found() {
        let page = Page::parse(
            "| a | b |\n| --- | --- |\n| 1 | `a.rs` `VERSION: u32 = 1` |\n| 2 | `a.rs` `VERSION: u32 = 2` |\n\
             | 3 | `b.rs` `VERSION: u32 = 1` |\n| 4 | `a.rs` `x` and more |\n| 5 | `a.rs` `VERSION: u16 = 8` |\n\
             | 6 | `a.rs` `LAST: u16 = 1` |\n",
        );
        let text =
            "const VERSION: u32 = 1;\nconst ZONED_VERSION: u16 = 8;\nconst LAST: u16 = 12;\n";
        let sources = [(PathBuf::from("a.rs"), text.to_owned())];
        let mut found = Vec::new();
        check(&page, &sources, &mut |line, what| found.push((line, what)));
        let expected = [
            (4, "a.rs has no VERSION: u32 = 2".to_owned()),
            (5, "b.rs has no VERSION: u32 = 1".to_owned()),
            (7, "a.rs has no VERSION: u16 = 8".to_owned()),
            (8, "a.rs has no LAST: u16 = 1".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
