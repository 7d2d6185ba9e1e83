//! Tables of figures: written from the kept output of their commands, docs/figures/kept/*.json.
//!
//! A page has a table twice: as a template in a comment, and below it as readers see it.
//!
//! ```text
//! <!-- figures
//! | event | median |
//! | --- | ---: |
//! | a host killed | {takeover/output/figures/0/median_seconds .2} s |
//! -->
//! | event | median |
//! | --- | ---: |
//! | a host killed | 1.98 s |
//! ```
//!
//! A placeholder names a file and a value in it. Then may come another value, to divide by (`:FILE/VALUE`) or to subtract
//! (`-FILE/VALUE`), a factor (`*1000`, `*1e-6`), and the number of decimals (`.2`). Thousands are separated by commas. A
//! text takes none of these. A line `each FILE/LIST FIELD=TEXT: ROW` writes the row once for each element of the list whose
//! field has the text, or, without `FIELD=TEXT`, for each; a place in it that begins with `./` is the element's. So a figure in such a table cannot differ from the
//! kept output, whose file has command, commit, date and machine ([`crate::keep_figures`]). A line `sources` at the end of
//! a template writes these below the table, a line for each file that the template reads. `check-docs --write` writes the
//! tables and their sources.

use super::{Finding, sources};
use anyhow::Context;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The directory of kept output.
pub const KEPT: &str = "docs/figures/kept";

/// The line that begins a template.
const BEGIN: &str = "<!-- figures";

/// The begin of a line that is written for each element of a list.
pub(super) const EACH: &str = "each ";

/// The line that ends it.
const END: &str = "-->";

/// The line of a template for which the sources of its figures are written.
const SOURCES: &str = "sources";

/// The kept output, by the names of the files.
pub type Kept = HashMap<String, Value>;

/// Reads the kept output of the repository at `root`.
pub fn kept(root: &Path) -> anyhow::Result<Kept> {
    let mut kept = Kept::new();
    let directory = root.join(KEPT);
    if !directory.is_dir() {
        return Ok(kept);
    }
    for file in std::fs::read_dir(&directory)? {
        let path = file?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let value = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        kept.insert(name.into(), value);
    }
    Ok(kept)
}

/// A template of a page, without its first and its last line.
pub struct Template<'t> {
    /// Its lines, each with its number from 1.
    lines: Vec<(usize, &'t str)>,
}

impl Template<'_> {
    /// Returns true if the sources of its figures are written below the table.
    pub fn names_sources(&self) -> bool {
        self.lines.iter().any(|(_, line)| *line == SOURCES)
    }

    /// Returns true if a row has the commit of its figures.
    pub fn names_commits(&self) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|(_, line)| line.contains("/commit}"))
    }
}

/// A part of a page: a line of text, or a template with the table that it wrote before.
pub enum Part<'t> {
    Line(&'t str),
    Table(Template<'t>),
}

/// The parts of a page, each with the number of its first line from 1. The error has the line and the fault.
pub fn parts(text: &str) -> Result<Vec<(usize, Part<'_>)>, (usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |at: usize, with: &str| lines.get(at).is_some_and(|line| line.starts_with(with));
    let mut parts = Vec::new();
    let (mut at, mut in_code) = (0, false);
    while let Some(&line) = lines.get(at) {
        in_code ^= line.trim_start().starts_with("```");
        if in_code || line != BEGIN {
            parts.push((at + 1, Part::Line(line)));
            at += 1;
            continue;
        }
        let first = at + 1;
        let template = lines.iter().enumerate().skip(first);
        let template: Vec<_> = template
            .take_while(|(_, line)| **line != END)
            .map(|(at, line)| (at + 1, *line))
            .collect();
        let end = first + template.len();
        if end == lines.len() {
            return Err((first, format!("no line {END} ends this template")));
        }
        parts.push((first, Part::Table(Template { lines: template })));
        at = end + 1;
        while begins(at, "|") {
            at += 1;
        }
        if begins(at + 1, sources::BEGIN) {
            at += 1;
            while begins(at, sources::BEGIN) {
                at += 1;
            }
        }
    }
    Ok(parts)
}

/// A page with its tables of figures as the kept output has them. The error has the line and the fault.
pub fn written(text: &str, kept: &Kept) -> Result<String, (usize, String)> {
    let mut written = String::new();
    for (_, part) in parts(text)? {
        let template = match part {
            Part::Line(line) => {
                written += line;
                written += "\n";
                continue;
            }
            Part::Table(template) => template,
        };
        let (mut rows, mut sources) = (String::new(), String::new());
        written += BEGIN;
        written += "\n";
        for (at, line) in &template.lines {
            written += line;
            written += "\n";
            let fault = |fault| (*at, fault);
            if *line == SOURCES {
                sources = sources::of(&template.lines, kept).map_err(fault)?;
                continue;
            }
            for row in rows_of(line, kept).map_err(fault)? {
                rows += &row;
                rows += "\n";
            }
        }
        written += END;
        written += "\n";
        written += &rows;
        written += &sources;
    }
    Ok(written)
}

/// The rows of a line: one, or with [`EACH`] one for each chosen element of a list.
fn rows_of(template: &str, kept: &Kept) -> Result<Vec<String>, String> {
    let Some(each) = template.strip_prefix(EACH) else {
        return Ok(vec![filled(template, kept)?]);
    };
    let (choice, row) = each
        .split_once(": ")
        .ok_or_else(|| format!("a row is expected after \"{EACH}FILE/LIST: \""))?;
    let (place, field) = match choice.split_once(' ') {
        Some((place, condition)) => {
            let condition = condition.split_once('=');
            (place, Some(condition.ok_or("FIELD=TEXT is expected")?))
        }
        None => (choice, None),
    };
    let list = found(place, kept)?
        .as_array()
        .ok_or_else(|| format!("{place} is no list"))?;
    let chosen = list.iter().filter(|element| {
        field.is_none_or(|(name, text)| element.get(name).is_some_and(|value| value == text))
    });
    // Each element is a file of its own for its row's placeholders.
    let mut kept = kept.clone();
    let rows = chosen.map(|element| {
        kept.insert(".".into(), element.clone());
        filled(row, &kept)
    });
    let rows: Vec<String> = rows.collect::<Result<_, _>>()?;
    match rows.is_empty() {
        true => Err(format!("{choice} chooses nothing")),
        false => Ok(rows),
    }
}

/// A line with its placeholders replaced.
fn filled(template: &str, kept: &Kept) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, from)) = rest.split_once('{') {
        let (inside, after) = from
            .split_once('}')
            .ok_or_else(|| "a placeholder has no end".to_string())?;
        filled += before;
        filled += &value(inside, kept)?;
        rest = after;
    }
    Ok(filled + rest)
}

/// A value of a file.
pub(super) fn found<'k>(place: &str, kept: &'k Kept) -> Result<&'k Value, String> {
    let (name, pointer) = match place.split_once('/') {
        Some((name, pointer)) => (name, format!("/{pointer}")),
        None => (place, String::new()),
    };
    let file = kept
        .get(name)
        .ok_or_else(|| format!("{KEPT}/{name}.json does not exist: `cargo xtask keep-figures {name} -- COMMAND` writes it"))?;
    let found = file.pointer(&pointer);
    found.ok_or_else(|| format!("{KEPT}/{name}.json has no value at {pointer}"))
}

/// A number of a file.
pub(super) fn number(place: &str, kept: &Kept) -> Result<f64, String> {
    let found = found(place, kept)?;
    let number = found.as_f64();
    number.ok_or_else(|| format!("{place} is {found}: a number or a text is expected"))
}

/// The text of one placeholder.
fn value(placeholder: &str, kept: &Kept) -> Result<String, String> {
    let mut words = placeholder.split(' ');
    let place = words.next().unwrap_or_default();
    let (mut divisor, mut less, mut factor, mut decimals) = (1.0, 0.0, 1.0, 0);
    let mut has_form = false;
    for word in words {
        let wrong = || {
            format!(
                "{word:?} is neither :VALUE, -VALUE, a factor such as *1000, nor decimals such as .2"
            )
        };
        has_form = true;
        match word.split_at_checked(1) {
            Some((":", place)) => divisor = number(place, kept)?,
            Some(("-", place)) => less = number(place, kept)?,
            Some(("*", text)) => factor = text.parse::<f64>().map_err(|_| wrong())?,
            Some((".", text)) => decimals = text.parse::<usize>().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
    }
    if let (Value::String(text), false) = (found(place, kept)?, has_form) {
        return Ok(text.replace('|', "\\|"));
    }
    let number = (number(place, kept)? - less) / divisor * factor;
    match number.is_finite() {
        true => Ok(with_commas(&format!("{number:.decimals$}"))),
        false => Err(format!("{placeholder} is no number")),
    }
}

/// A number with its thousands separated.
fn with_commas(number: &str) -> String {
    let (sign, plain) = match number.strip_prefix('-') {
        Some(plain) => ("-", plain),
        None => ("", number),
    };
    let (whole, fraction) = match plain.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (plain, String::new()),
    };
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

/// The pages below `root` with tables of figures: each with its text, and as it should be.
fn pages(root: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut pages = Vec::new();
    for file in super::files(root)? {
        if file.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(root.join(&file))?;
        if text.lines().any(|line| line == BEGIN) {
            pages.push((file, text));
        }
    }
    Ok(pages)
}

/// Reports tables that are not as the kept output says.
pub fn check(root: &Path, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let kept = kept(root)?;
    for (file, text) in pages(root)? {
        let finding = |line, what| Finding {
            file: file.clone(),
            line,
            what,
        };
        match written(&text, &kept) {
            Err((line, what)) => findings.push(finding(line, what)),
            Ok(written) => {
                let differing = text.lines().zip(written.lines()).position(|(a, b)| a != b);
                let shorter = text.lines().count().min(written.lines().count());
                let is_same = text.trim_end() == written.trim_end();
                if !is_same {
                    findings.push(finding(
                        differing.unwrap_or(shorter) + 1,
                        "not as the kept figures say: `cargo xtask check-docs --write` writes it"
                            .into(),
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Writes the tables of all pages.
pub fn write(root: &Path) -> anyhow::Result<()> {
    let kept = kept(root)?;
    for (file, text) in pages(root)? {
        let written = written(&text, &kept)
            .map_err(|(line, what)| anyhow::anyhow!("{}:{line}: {what}", file.display()))?;
        if written != text {
            std::fs::write(root.join(&file), written)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kept_one() -> Kept {
        let value = json!({"commit": "12345678", "output": {"zero": 0, "runs": [{"rate": 5_781_234.4, "loss": -0.0123}]}});
        Kept::from([("run".to_string(), value)])
    }

    const PAGE: &str = "# Page\n\n<!-- figures\n| rate | loss | commit |\n| --- | --- | --- |\n\
                        | {run/output/runs/0/rate} | {run/output/runs/0/loss *100 .1}% | {run/commit} |\n-->\n";

    #[test]
    fn a_table_is_written_from_the_kept_output_and_written_again_it_is_the_same() {
        let page = written(&format!("{PAGE}| old |\n\nText.\n"), &kept_one()).unwrap();
        let table =
            "| rate | loss | commit |\n| --- | --- | --- |\n| 5,781,234 | -1.2% | 12345678 |\n";
        assert_eq!(page, format!("{PAGE}{table}\nText.\n"));
        assert_eq!(written(&page, &kept_one()).unwrap(), page);
    }

    #[test]
    fn a_placeholder_without_its_value_is_a_fault_at_its_line() {
        let fault =
            |from: &str, to: &str| written(&PAGE.replace(from, to), &kept_one()).unwrap_err();
        for (from, to, why) in [
            (
                "{run/commit}",
                "{other/commit}",
                "other.json does not exist",
            ),
            ("{run/commit}", "{run/date}", "no value at /date"),
            ("{run/commit}", "{run/output}", "a number or a text"),
            ("{run/commit}", "{run/commit .1}", "a number or a text"),
            (" .1}", " 1}", "neither"),
            (" *100", " :run/output/zero", "is no number"),
            ("{run/commit}", "{run/commit", "no end"),
        ] {
            let (line, said) = fault(from, to);
            assert_eq!(line, 6, "{said}");
            assert!(said.contains(why), "{said}");
        }
        assert_eq!(fault("-->\n", "").0, 3);
        // In code it is no template.
        let code = format!("```text\n{PAGE}```\n").replace("run/", "none/");
        assert_eq!(written(&code, &kept_one()).unwrap(), code);
    }

    #[test]
    fn a_table_that_was_changed_by_hand_is_found_and_written() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join(KEPT);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("run.json"), kept_one()["run"].to_string()).unwrap();
        let page = root.path().join("page.md");
        std::fs::write(&page, PAGE).unwrap();
        let faults = || {
            let mut findings = Vec::new();
            check(root.path(), &mut findings).unwrap();
            findings
        };
        assert_eq!(faults().len(), 1);
        write(root.path()).unwrap();
        assert_eq!(faults(), []);
        let text = std::fs::read_to_string(&page).unwrap();
        std::fs::write(&page, text.replace("5,781,234", "5,781,235")).unwrap();
        let found = faults();
        assert_eq!((found.len(), found[0].line), (1, 10));
        write(root.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&page).unwrap(), text);
    }

    #[test]
    fn a_row_is_written_for_each_element_that_is_chosen() {
        let list = json!({"list": [{"in": "a", "x": 1}, {"in": "b", "x": 2, "t": "p|q"}, {"in": "a", "x": 3}], "one": 1});
        let kept = Kept::from([("f".into(), list)]);
        let rows = |template| rows_of(template, &kept);
        assert_eq!(rows("each f/list: {./x}").unwrap(), ["1", "2", "3"]);
        assert_eq!(rows("each f/list in=a: {./in}{./x}").unwrap(), ["a1", "a3"]);
        assert_eq!(
            rows("each f/list in=b: {./t} {f/one}").unwrap(),
            ["p\\|q 1"]
        );
        for (template, why) in [
            ("each f/list in=c: {./x}", "chooses nothing"),
            ("each f/list in: {./x}", "FIELD=TEXT"),
            ("each f/one: {./x}", "no list"),
            ("each f/list {./x}", "a row is expected"),
            ("each f/list: {./t}", "no value at /t"),
            ("{./x}", "does not exist"),
        ] {
            let fault = rows(template).unwrap_err();
            assert!(fault.contains(why), "{template}: {fault}");
        }
    }

    #[test]
    fn values_are_divided_and_subtracted() {
        let kept = Kept::from([("a".into(), json!({"x": 3, "y": 1.5}))]);
        let filled = filled("{a/x :a/y .1} {a/x -a/y *1000} {a/x :a/y *100}%", &kept);
        assert_eq!(filled.unwrap(), "2.0 1,500 200%");
    }

    #[test]
    fn thousands_are_separated() {
        for (number, shown) in [
            ("999", "999"),
            ("1000", "1,000"),
            ("-1234567.80", "-1,234,567.80"),
        ] {
            assert_eq!(with_commas(number), shown);
        }
    }
}
