//! The paths within a crate that a file names, in `use` and elsewhere.

/// A path that a file names, from the crate's root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// From 1.
    pub line: usize,
    pub path: Vec<String>,
    /// True for a re-export, by `pub use`.
    pub is_exported: bool,
    /// True for all names of the path, by `*`.
    pub is_glob: bool,
}

/// The paths in a module's text that begin with `crate`, `self` or `super`, and those of `use` that begin with a
/// module's name. Each path counts for the whole module. Tests at the end of the text are left out.
pub(super) fn of(module: &[String], text: &str) -> Vec<Import> {
    let code = code_of(text);
    let code = match code.find("#[cfg(test)]\nmod tests {") {
        Some(end) => &code[..end],
        None => &code,
    };
    let mut found = Vec::new();
    let (mut at, mut is_use, mut is_exported) = (0, false, false);
    // The line of a place, counted from the one before.
    let (mut line, mut counted) = (1, 0);
    while let Some(start) = next_word(code, at) {
        let end = start + word_at(code, start).len();
        let word = &code[start..end];
        at = end;
        let is_declared = is_use;
        is_use = word == "use";
        if is_use {
            let before = code[..start].rfind([';', '{', '}']).map_or(0, |at| at + 1);
            let public = code[before..start]
                .split_whitespace()
                .find(|word| word.starts_with("pub"));
            is_exported = public.is_some();
            continue;
        }
        let before = &code[..start];
        let is_behind_a_path = before.ends_with("::") || before.ends_with('$');
        // `pub(in crate::a)` imports nothing.
        let is_visibility = before.ends_with("pub(in ");
        let begins = matches!(word, "crate" | "self" | "super");
        if is_behind_a_path || is_visibility || !begins && !is_declared {
            continue;
        }
        let mut path = vec![word.to_string()];
        if !begins {
            path.insert(0, "self".to_string());
        }
        let mut paths = Vec::new();
        at = tree(code, end, path, &mut paths);
        for mut path in paths {
            let is_glob = path.pop_if(|last| last == "*").is_some();
            let Some(path) = absolute(module, &path) else {
                continue;
            };
            line += code[counted..start].matches('\n').count();
            counted = start;
            found.push(Import {
                line,
                path,
                is_exported: is_declared && is_exported,
                is_glob,
            });
        }
    }
    found
}

/// Reads what follows a path's part: more parts, or a tree of them. Returns where it ends.
fn tree(code: &str, at: usize, path: Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let rest = code[at..].trim_start();
    let Some(rest) = rest.strip_prefix("::") else {
        found.push(path);
        return at;
    };
    let rest = rest.trim_start();
    let mut at = code.len() - rest.len();
    if !rest.starts_with('{') {
        let word = word_at(code, at);
        if word.is_empty() {
            // A glob, or a type's parameters.
            let is_glob = rest.starts_with('*');
            found.push(with(path, is_glob.then_some("*")));
            return at + usize::from(is_glob);
        }
        // `a::{self}` is `a`.
        let path = with(path, Some(word).filter(|word| *word != "self"));
        return tree(code, at + word.len(), path, found);
    }
    at += 1;
    loop {
        at = code.len() - code[at..].trim_start_matches([' ', '\n', '\t', ',']).len();
        let word = word_at(code, at);
        if word.is_empty() {
            // The end of the tree, or `*`.
            if code[at..].starts_with('*') {
                found.push(with(path.clone(), Some("*")));
                at += 1;
                continue;
            }
            return (at + 1).min(code.len());
        }
        let inner = with(path.clone(), Some(word).filter(|word| *word != "self"));
        at = tree(code, at + word.len(), inner, found);
        // `as` another name.
        let rest = code[at..].trim_start();
        if let Some(renamed) = rest.strip_prefix("as ") {
            at = code.len() - renamed.len();
            at += word_at(code, at).len();
        }
    }
}

/// A path with one more part.
fn with(mut path: Vec<String>, part: Option<&str>) -> Vec<String> {
    path.extend(part.map(str::to_string));
    path
}

/// A path from the crate's root, for a module that names it.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let (first, mut rest) = path.split_first()?;
    if first == "crate" {
        return (!rest.is_empty()).then(|| rest.to_vec());
    }
    let mut base = module.to_vec();
    if first == "super" {
        base.pop()?;
    }
    while let Some(("super", behind)) = rest.split_first().map(|(one, rest)| (one.as_str(), rest)) {
        base.pop()?;
        rest = behind;
    }
    base.extend_from_slice(rest);
    // The crate's root itself, or a method of `self`.
    (path.len() > 1 && !base.is_empty()).then_some(base)
}

/// The start of the next word.
fn next_word(code: &str, from: usize) -> Option<usize> {
    let is_start = |c: char| c.is_alphanumeric() || c == '_';
    code[from..].find(is_start).map(|at| from + at)
}

/// The word that begins at a place; empty if none does.
fn word_at(code: &str, at: usize) -> &str {
    let rest = &code[at..];
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    &rest[..end.unwrap_or(rest.len())]
}

/// A text with blanks in place of comments and string literals; lines stay lines.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.find(['/', '"', '\'', 'r']) {
        let (plain, from) = rest.split_at(next);
        code.push_str(plain);
        rest = from;
        let (taken, is_code) = match rest.as_bytes() {
            [b'/', b'/', ..] => (rest.find('\n').unwrap_or(rest.len()), false),
            [b'"', ..] => (quoted(rest), false),
            [b'\'', b'"', b'\'', ..] => (3, false),
            [b'r', b'#', b'"', ..] => (rest.find("\"#").map_or(rest.len(), |end| end + 2), false),
            _ => (1, true),
        };
        let (taken, behind) = rest.split_at(taken);
        rest = behind;
        match is_code {
            true => code.push_str(taken),
            false => code.extend(taken.chars().map(|c| if c == '\n' { c } else { ' ' })),
        }
    }
    code.push_str(rest);
    code
}

/// The length in bytes of a string literal that begins here.
fn quoted(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let module = ["plan".to_string(), "from".to_string()];
        let found = of(&module, text).into_iter();
        found.map(|import| import.path.join("::")).collect()
    }

    #[test]
    fn trees_of_imports_are_read_whole() {
        let text = "pub(crate) use crate::a::{self, b::{C, d as e}, f::*};\nuse super::g::H;";
        assert_eq!(
            paths(text),
            ["a", "a::b::C", "a::b::d", "a::f", "plan::g::H"]
        );
    }

    #[test]
    fn paths_in_code_are_read_without_what_is_no_path() {
        let text =
            "fn f(&self) { self.x(); crate::a::b(c); let d: crate::e::F<G> = super::super::h(); }";
        assert_eq!(paths(text), ["a::b", "e::F", "h"]);
        assert_eq!(paths("pub(crate) fn f() { $crate::a::b!() }"), [""; 0]);
        assert_eq!(
            paths("pub(in crate::a) fn f() { for b in crate::c::d() {} }"),
            ["c::d"]
        );
    }

    #[test]
    fn lines_are_those_of_the_text() {
        let text = "/* a\n\"b\n\" */ // crate::a\nuse crate::b;\n";
        let found = of(&["plan".to_string()], text);
        assert_eq!((found.len(), found[0].line), (1, 4));
    }

    #[test]
    fn what_is_no_rust_ends_the_reading() {
        for text in [
            "crate::{",
            "crate::{a::",
            "\"crate::a",
            "crate",
            "super::super::super::a",
        ] {
            paths(text);
        }
    }
}
