//! docs/public-api.txt beside the sources: the methods of its types are those of `crates/sardonyx`.
//!
//! The tool that writes the list needs a nightly compiler, so CI may not have it. This check reads names alone, and finds
//! a list that was not written again after a method came, left or was renamed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::Finding;

/// The list's place in the repository.
pub const LIST: &str = "docs/public-api.txt";

/// Types of the list, each with the names of its functions and their lines.
fn listed(list: &str) -> HashMap<&str, HashMap<String, usize>> {
    let mut types: HashMap<&str, HashMap<String, usize>> = HashMap::new();
    for line in list.lines() {
        let path = ["struct", "enum"].iter().find_map(|kind| {
            let (_, path) = line.split_once(&format!("pub {kind} sardonyx::"))?;
            path.split(|c: char| !is_of_name(c) && c != ':').next()
        });
        if let Some(name) = path.and_then(|path| path.split("::").last()) {
            types.entry(name).or_default();
        }
    }
    for (number, line) in list.lines().enumerate() {
        let path = line.strip_prefix("pub ").and_then(|line| {
            let (_, path) = line.split_once("fn sardonyx::")?;
            Some(without_parameters(path))
        });
        let path = path.as_deref().unwrap_or_default();
        let mut names = path.rsplit("::");
        if let (Some(method), Some(name)) = (names.next(), names.next())
            && let Some(methods) = types.get_mut(name)
        {
            methods.entry(method.to_owned()).or_insert(number + 1);
        }
    }
    types
}

/// The path of a function's line up to its arguments, without the parameters of types.
fn without_parameters(line: &str) -> String {
    let mut depth = 0;
    let mut path = String::new();
    for c in line.chars() {
        match c {
            '(' if depth == 0 => break,
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => path.push(c),
            _ => {}
        }
    }
    path
}

/// Reports functions of listed types that the list lacks, and listed ones that no source has.
pub fn check(list: &str, sources: &[(PathBuf, String)], findings: &mut Vec<Finding>) {
    let types = listed(list);
    let mut defined = HashSet::new();
    for (file, text) in sources {
        defined.extend(text.lines().filter_map(function));
        if !file.starts_with("crates/sardonyx/src") {
            continue;
        }
        let mut methods = None;
        let mut is_hidden = false;
        for (number, line) in text.lines().enumerate() {
            if !line.starts_with(' ') {
                methods = self_type(line).and_then(|name| types.get(name));
            }
            is_hidden |= line.trim() == "#[doc(hidden)]";
            let Some(name) = function(line) else {
                continue;
            };
            let is_public = line.starts_with("    pub ") && !line.contains("pub(");
            if is_public && !is_hidden && methods.is_some_and(|known| !known.contains_key(name)) {
                findings.push(Finding {
                    file: file.clone(),
                    line: number + 1,
                    what: format!("{LIST} lacks {name}: `cargo xtask public-api --write`"),
                });
            }
            is_hidden = false;
        }
    }
    for (method, line) in types.values().flatten() {
        if !defined.contains(method.as_str()) {
            findings.push(Finding {
                file: Path::new(LIST).to_owned(),
                line: *line,
                what: format!("no source has {method}: `cargo xtask public-api --write`"),
            });
        }
    }
}

/// The type of a line that begins the block of a type's own functions.
fn self_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(parameters) => parameters.split_once("> ")?.1,
        None => rest.trim_start(),
    };
    let name = rest.split(|c: char| !is_of_name(c)).next()?;
    (!rest.contains(" for ")).then_some(name)
}

/// The name of the function that begins in a line.
fn function(line: &str) -> Option<&str> {
    let words = line.trim_start().split_once("fn ");
    let (before, rest) = words?;
    let is_declaration = before
        .split_whitespace()
        .all(|word| word.starts_with("pub") || ["const", "async", "unsafe"].contains(&word));
    let end = rest.find(|c: char| !is_of_name(c))?;
    (is_declaration && end > 0).then(|| &rest[..end])
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
