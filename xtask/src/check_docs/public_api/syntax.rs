//! The crates of the workspace as modules with their items, without what is compiled for tests or a model checker alone.
//!
//! All features count as enabled, except those that plant faults. Calls of macros are replaced by the items that they
//! make ([`expand`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token};

use super::expand::{self, Rules};

/// The modules of several crates by their paths, such as `sardonyx_rows::schema`.
#[derive(Default)]
pub struct Modules {
    pub by_path: BTreeMap<String, Module>,
    /// The rules of macros, by the crate and their name. Two macros of one name share an entry, the later one first.
    rules: BTreeMap<(String, String), Vec<Rules>>,
}

/// A module's items, those of macros included.
#[derive(Default)]
pub struct Module {
    pub items: Vec<Item>,
}

/// The most calls of macros within each other.
const DEPTH_MAX: usize = 8;

/// Features of tests: no program that embeds the engine enables them.
const FEATURES_OF_TESTS: &[&str] = &["planted-faults", "fuzzing"];

/// Reads the crates with these names and `src` directories.
pub fn read(
    crates: &[(String, PathBuf)],
    sources: &[(PathBuf, String)],
) -> anyhow::Result<Modules> {
    let texts = sources.iter().map(|(file, text)| (&**file, &**text));
    let texts: BTreeMap<&Path, &str> = texts.collect();
    let mut modules = Modules::default();
    for (name, directory) in crates {
        let root = directory.join("lib.rs");
        modules.read_file(name, &root, directory, &texts)?;
    }
    modules.expand_all();
    Ok(modules)
}

impl Modules {
    /// Reads the file of a module, and those of its modules, which are in `directory`.
    fn read_file(
        &mut self,
        path: &str,
        file: &Path,
        directory: &Path,
        texts: &BTreeMap<&Path, &str>,
    ) -> anyhow::Result<()> {
        let text = texts
            .get(file)
            .with_context(|| format!("{path} has no file {}", file.display()))?;
        let parsed =
            syn::parse_file(text).with_context(|| format!("parsing {}", file.display()))?;
        self.add(path, parsed.items, directory, texts)
    }

    fn add(
        &mut self,
        path: &str,
        items: Vec<Item>,
        directory: &Path,
        texts: &BTreeMap<&Path, &str>,
    ) -> anyhow::Result<()> {
        let mut kept = Vec::new();
        for mut item in items {
            if !is_compiled(attributes(&item)) {
                continue;
            }
            if let Item::Mod(module) = &mut item {
                let name = module.ident.to_string();
                let inner = format!("{path}::{name}");
                let below = directory.join(&name);
                match module.content.take() {
                    Some((_, items)) => self.add(&inner, items, &below, texts)?,
                    None => {
                        let one = directory.join(format!("{name}.rs"));
                        let file = if texts.contains_key(&*one) {
                            one
                        } else {
                            below.join("mod.rs")
                        };
                        self.read_file(&inner, &file, &below, texts)?;
                    }
                }
            }
            if let Item::Macro(rules) = &item
                && let Some(name) = &rules.ident
            {
                let place = (crate_of(path).to_owned(), name.to_string());
                let rules = Rules::parse(rules.mac.tokens.clone());
                self.rules.entry(place).or_default().insert(0, rules);
            }
            kept.push(item);
        }
        self.by_path.insert(path.to_owned(), Module { items: kept });
        Ok(())
    }

    /// Replaces calls of macros by what they make.
    fn expand_all(&mut self) {
        let rules = std::mem::take(&mut self.rules);
        for (path, module) in &mut self.by_path {
            for item in std::mem::take(&mut module.items) {
                expanded(crate_of(path), item, &rules, DEPTH_MAX, &mut module.items);
            }
        }
    }
}

/// Adds an item, or the items that it makes if it calls a macro of the crate.
fn expanded(
    name: &str,
    item: Item,
    rules: &BTreeMap<(String, String), Vec<Rules>>,
    depth: usize,
    into: &mut Vec<Item>,
) {
    let Item::Macro(call) = &item else {
        return into.push(item);
    };
    let segments = &call.mac.path.segments;
    let called = segments.last().map(|last| last.ident.to_string());
    let known = called.and_then(|called| rules.get(&(name.to_owned(), called)));
    let (None, Some(known)) = (&call.ident, known) else {
        return into.push(item);
    };
    let made = known
        .iter()
        .find_map(|rules| expand::expand(rules, call.mac.tokens.clone()));
    let made = made.and_then(|tokens| syn::parse2::<syn::File>(tokens).ok());
    for item in made.into_iter().flat_map(|file| file.items) {
        if is_compiled(attributes(&item)) && depth > 0 {
            expanded(name, item, rules, depth - 1, into);
        }
    }
}

/// The crate of a module's path.
pub fn crate_of(path: &str) -> &str {
    path.split_once("::").map_or(path, |(name, _)| name)
}

pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// True unless a condition of compilation excludes the item.
pub fn is_compiled(attributes: &[Attribute]) -> bool {
    let conditions = attributes.iter().filter(|one| one.path().is_ident("cfg"));
    conditions
        .filter_map(|condition| condition.parse_args::<Meta>().ok())
        .all(|condition| is_met(&condition))
}

fn is_met(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("unix"),
        Meta::NameValue(pair) => {
            let syn::Expr::Lit(literal) = &pair.value else {
                return false;
            };
            let syn::Lit::Str(value) = &literal.lit else {
                return false;
            };
            let value = value.value();
            match pair.path.get_ident().map(ToString::to_string).as_deref() {
                Some("feature") => !FEATURES_OF_TESTS.contains(&&*value),
                Some("target_os") => value == "linux",
                Some("target_arch") => value == "x86_64",
                Some("target_env") => value == "gnu",
                Some("target_pointer_width") => value == "64",
                _ => false,
            }
        }
        Meta::List(list) => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            let parts = parts.unwrap_or_default();
            match list.path.get_ident().map(ToString::to_string).as_deref() {
                Some("not") => !parts.iter().any(is_met),
                Some("any") => parts.iter().any(is_met),
                _ => parts.iter().all(is_met),
            }
        }
    }
}

/// True with `#[doc(hidden)]`.
pub fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|one| {
        let Meta::List(list) = &one.meta else {
            return false;
        };
        list.path.is_ident("doc") && list.tokens.to_string() == "hidden"
    })
}
