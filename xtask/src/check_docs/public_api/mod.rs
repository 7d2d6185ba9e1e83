//! docs/public-api.txt: every public item of the crate `sardonyx` with its whole signature, methods of re-exported types
//! included.
//!
//! The list is made from the sources alone, with all features, so every run of CI sees a changed signature. `check-docs
//! --write` writes it. Types are written by the shortest of their public paths, or by that of their definition if they
//! have none. Left out are what is hidden from the documentation, names of arguments, and implementations of traits that
//! the public cannot name.

mod expand;
mod items;
mod names;
mod print;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::Item;

use super::Finding;
use names::{Scopes, Target, is_public};

/// The list's place in the repository.
pub const LIST: &str = "docs/public-api.txt";

/// The crate whose names are public.
const PUBLIC: &str = "sardonyx";

/// The most differences that are shown.
const SHOWN_MAX: usize = 40;

/// The list, from the Rust files of the repository; `None` if they have no crate `sardonyx`.
///
/// # Errors
/// A file that is not Rust, or lacks.
pub fn text(sources: &[(PathBuf, String)]) -> anyhow::Result<Option<String>> {
    let crates = reached(sources);
    if crates.is_empty() {
        return Ok(None);
    }
    let modules = syntax::read(&crates, sources)?;
    let listing = Listing::new(&modules);
    let mut text = listing.lines().join("\n");
    text.push('\n');
    Ok(Some(text))
}

/// Reports lines that the list lacks, and those that the sources lack.
pub fn check(list: &str, sources: &[(PathBuf, String)], findings: &mut Vec<Finding>) {
    let mut find = |line, what: String| {
        findings.push(Finding {
            file: Path::new(LIST).to_owned(),
            line,
            what: format!("{what}; `cargo xtask check-docs --write` writes it"),
        });
    };
    let text = match text(sources) {
        Ok(Some(text)) => text,
        Ok(None) => return,
        Err(error) => return find(1, format!("the sources cannot be read: {error:#}")),
    };
    if text == list {
        return;
    }
    let (listed, wanted): (BTreeSet<&str>, BTreeSet<&str>) =
        (list.lines().collect(), text.lines().collect());
    let old = list.lines().enumerate();
    let old = old.filter(|(_, line)| !wanted.contains(line));
    let old = old.map(|(number, line)| (number + 1, format!("the sources have no `{line}`")));
    let new = text.lines().filter(|line| !listed.contains(line));
    let new = new.map(|line| (1, format!("the list has no `{line}`")));
    let mut differences: Vec<(usize, String)> = old.chain(new).collect();
    let left = differences.len().saturating_sub(SHOWN_MAX);
    differences.truncate(SHOWN_MAX);
    if left > 0 {
        differences.push((1, format!("{left} more lines differ")));
    }
    if differences.is_empty() {
        differences.push((1, "lines are in another order".to_owned()));
    }
    for (line, what) in differences {
        find(line, what);
    }
}

/// The crate `sardonyx` and those that it reaches, by name, with their directories.
fn reached(sources: &[(PathBuf, String)]) -> Vec<(String, PathBuf)> {
    let mut known: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (file, _) in sources {
        let parts: Vec<_> = file.iter().filter_map(|part| part.to_str()).collect();
        if let ["crates", name, "src", "lib.rs"] = parts[..] {
            let directory = PathBuf::from_iter(["crates", name, "src"]);
            let name = match name {
                PUBLIC => PUBLIC.to_owned(),
                name => format!("{PUBLIC}_{}", name.replace('-', "_")),
            };
            known.insert(name, directory);
        }
    }
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut next: Vec<String> = known
        .keys()
        .filter(|name| *name == PUBLIC)
        .cloned()
        .collect();
    while let Some(name) = next.pop() {
        let Some(directory) = known.get(&name).filter(|_| !found.contains_key(&name)) else {
            continue;
        };
        let own = sources
            .iter()
            .filter(|(file, _)| file.starts_with(directory));
        for (_, text) in own {
            let crates = text.lines().filter_map(imported_crate);
            next.extend(crates.map(str::to_owned));
        }
        found.insert(name, directory.clone());
    }
    found.into_iter().collect()
}

/// The crate, or the module, from which a line imports.
fn imported_crate(line: &str) -> Option<&str> {
    let (before, path) = line.trim_start().split_once("use ")?;
    let end = path.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    (before.is_empty() || before.starts_with("pub")).then(|| &path[..end])
}

/// The public paths of all items.
pub struct Listing<'m> {
    scopes: Scopes<'m>,
    /// Each public item with its paths.
    places: BTreeMap<Target, BTreeSet<String>>,
    /// The paths of public modules.
    modules: BTreeSet<String>,
}

impl<'m> Listing<'m> {
    fn new(modules: &'m syntax::Modules) -> Self {
        let mut listing = Listing {
            scopes: Scopes::new(modules),
            places: BTreeMap::new(),
            modules: BTreeSet::new(),
        };
        listing.walk(PUBLIC, PUBLIC, &mut Vec::new());
        listing
    }

    /// Notes the public names of a module that the public calls `public`.
    fn walk(&mut self, public: &str, module: &str, trail: &mut Vec<String>) {
        // A module that imports all names of itself.
        if trail.iter().any(|above| above == module) {
            return;
        }
        trail.push(module.to_owned());
        self.modules.insert(public.to_owned());
        let own: Vec<(String, Target)> = self
            .scopes
            .own(module)
            .flat_map(|(name, targets)| targets.iter().map(|one| (name.clone(), one.clone())))
            .collect();
        for (name, target) in own {
            self.note(&format!("{public}::{name}"), target, module, trail);
        }
        let imports = self.scopes.imports(module).iter();
        let imports = imports.filter(|import| import.is_public && !import.is_hidden);
        let imports: Vec<_> = imports
            .map(|import| (import.name.clone(), import.path.clone()))
            .collect();
        for (name, path) in imports {
            for target in self.scopes.resolve(module, &path) {
                match (&name, target) {
                    (Some(name), Target::Module(inner)) => {
                        self.walk(&format!("{public}::{name}"), &inner, trail);
                    }
                    (Some(name), target) => {
                        self.note(&format!("{public}::{name}"), target, module, trail);
                    }
                    (None, Target::Module(inner)) => self.walk(public, &inner, trail),
                    (None, _) => {}
                }
            }
        }
        trail.pop();
    }

    /// Notes a path of one thing, if it is public.
    fn note(&mut self, path: &str, target: Target, module: &str, trail: &mut Vec<String>) {
        let is_public = match &target {
            Target::Module(inner) => {
                let items = self.scopes.modules.by_path.get(module);
                let mut items = items.into_iter().flat_map(|module| &module.items);
                let name = inner.rsplit("::").next().unwrap_or_default();
                let declared =
                    items.find(|item| matches!(item, Item::Mod(module) if module.ident == name));
                if declared.is_some_and(is_public) {
                    self.walk(path, inner, trail);
                }
                return;
            }
            Target::Item(module, at) => self.scopes.item(module, *at).is_some_and(is_public),
            Target::Outside(_) => true,
        };
        if is_public {
            let places = self.places.entry(target).or_default();
            places.insert(path.to_owned());
        }
    }

    /// The shortest public path of a thing.
    fn public_path(&self, target: &Target) -> Option<&str> {
        let places = self.places.get(target)?.iter();
        let shortest = places.min_by_key(|path| (path.matches("::").count(), path.as_str()));
        shortest.map(String::as_str)
    }

    /// The type or trait that a path of a module names.
    fn definition(&self, module: &str, path: &[String]) -> Option<Target> {
        let found = self.scopes.resolve(module, path);
        let is_definition = |target: &&Target| match target {
            Target::Module(_) => false,
            Target::Outside(_) => true,
            Target::Item(module, at) => {
                let item = self.scopes.item(module, *at);
                !matches!(item, None | Some(Item::Fn(_) | Item::Macro(_)))
            }
        };
        // Items come before paths outside.
        found.iter().find(is_definition).cloned()
    }

    /// The path by which a list names what a path of a module names; `None` of names of the prelude.
    fn path_of(&self, module: &str, path: &[String]) -> Option<String> {
        let target = self.definition(module, path)?;
        if let Some(path) = self.public_path(&target) {
            return Some(path.to_owned());
        }
        match &target {
            Target::Outside(path) => Some(path.clone()),
            Target::Module(_) => None,
            Target::Item(module, at) => {
                let name = names::name_of(self.scopes.item(module, *at)?)?;
                Some(format!("{module}::{name}"))
            }
        }
    }

    /// All lines, by the paths of their items.
    fn lines(&self) -> Vec<String> {
        let impls = items::impls(self);
        let mut by_path: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for module in &self.modules {
            by_path
                .entry(module)
                .or_default()
                .push(format!("pub mod {module}"));
        }
        for (target, places) in &self.places {
            let Some(main) = self.public_path(target) else {
                continue;
            };
            for place in places.iter().filter(|place| *place != main) {
                let line = format!("pub use {place} = {main}");
                by_path.entry(place).or_default().push(line);
            }
            let lines = match target {
                Target::Item(module, at) => items::lines(self, main, module, *at),
                Target::Outside(path) => vec![format!("pub use {main} = {path}")],
                Target::Module(_) => Vec::new(),
            };
            let lines = lines.into_iter().chain(impls.of(target));
            by_path.entry(main).or_default().extend(lines);
        }
        by_path.into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests;
