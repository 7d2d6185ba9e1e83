//! Names of modules: the items that a path leads to, through imports and re-exports, in every crate that was read.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, UseTree, Visibility};

use super::syntax::{self, Modules, crate_of, is_hidden};

/// The thing to which a path leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    Module(String),
    /// An item by its module and its place there.
    Item(String, usize),
    /// A path into a crate that was not read.
    Outside(String),
}

/// An import or a re-export of a module.
pub struct Import {
    /// The name that it gives; `None` imports all names.
    pub name: Option<String>,
    pub path: Vec<String>,
    pub is_public: bool,
    pub is_hidden: bool,
}

/// The names of one module.
#[derive(Default)]
pub struct Names {
    /// Its items by their names: one name may be of a type and of a macro.
    own: BTreeMap<String, Vec<Target>>,
    pub imports: Vec<Import>,
}

/// The names of all modules.
pub struct Scopes<'m> {
    pub modules: &'m Modules,
    names: BTreeMap<&'m str, Names>,
}

impl<'m> Scopes<'m> {
    pub fn new(modules: &'m Modules) -> Self {
        let mut names: BTreeMap<&str, Names> = BTreeMap::new();
        for (path, module) in &modules.by_path {
            for (at, item) in module.items.iter().enumerate() {
                if let Item::Use(import) = item {
                    let names = names.entry(path).or_default();
                    let flags = (
                        matches!(import.vis, Visibility::Public(_)),
                        is_hidden(&import.attrs),
                    );
                    imported(&import.tree, &mut Vec::new(), flags, &mut names.imports);
                    continue;
                }
                let Some(name) = name_of(item) else {
                    continue;
                };
                let target = match item {
                    Item::Mod(_) => Target::Module(format!("{path}::{name}")),
                    _ => Target::Item(path.clone(), at),
                };
                // An exported macro is a name of the crate itself.
                let home = match item {
                    Item::Macro(_) => crate_of(path),
                    _ => path.as_str(),
                };
                let own = &mut names.entry(home).or_default().own;
                own.entry(name).or_default().push(target);
            }
        }
        Scopes { modules, names }
    }

    pub fn item(&self, module: &str, at: usize) -> Option<&'m Item> {
        self.modules.by_path.get(module)?.items.get(at)
    }

    pub fn imports(&self, module: &str) -> &[Import] {
        self.names
            .get(module)
            .map_or(&[][..], |names| &names.imports[..])
    }

    /// The items that a module itself defines.
    pub fn own(&self, module: &str) -> impl Iterator<Item = (&String, &Vec<Target>)> {
        self.names
            .get(module)
            .into_iter()
            .flat_map(|names| &names.own)
    }

    /// The things to which a path of a module leads; none if its first name is of the prelude.
    pub fn resolve(&self, module: &str, path: &[String]) -> BTreeSet<Target> {
        self.resolve_within(module, path, &mut Vec::new())
    }

    fn resolve_within(
        &self,
        module: &str,
        path: &[String],
        trail: &mut Vec<(String, String)>,
    ) -> BTreeSet<Target> {
        let Some((first, rest)) = path.split_first() else {
            return BTreeSet::new();
        };
        let mut found = match first.as_str() {
            "crate" => BTreeSet::from([Target::Module(crate_of(module).to_owned())]),
            "self" => BTreeSet::from([Target::Module(module.to_owned())]),
            "super" => {
                let above = module.rsplit_once("::").map_or(module, |(above, _)| above);
                BTreeSet::from([Target::Module(above.to_owned())])
            }
            name => self.named(module, name, trail),
        };
        if found.is_empty() {
            // A crate: one that was read, or another.
            if self.modules.by_path.contains_key(first) {
                found.insert(Target::Module(first.clone()));
            } else if !rest.is_empty() && !first.contains(char::is_uppercase) {
                found.insert(Target::Outside(first.clone()));
            }
        }
        for name in rest {
            let mut next = BTreeSet::new();
            for target in &found {
                match target {
                    Target::Module(inner) if name == "super" => {
                        let above = inner.rsplit_once("::").map_or(&**inner, |(above, _)| above);
                        next.insert(Target::Module(above.to_owned()));
                    }
                    Target::Module(inner) => next.extend(self.named(inner, name, trail)),
                    Target::Outside(path) => {
                        next.insert(Target::Outside(format!("{path}::{name}")));
                    }
                    Target::Item(..) => {}
                }
            }
            found = next;
        }
        found
    }

    /// The things that a module calls by a name: its own, imported ones, those of imports of all names.
    fn named(
        &self,
        module: &str,
        name: &str,
        trail: &mut Vec<(String, String)>,
    ) -> BTreeSet<Target> {
        let step = (module.to_owned(), name.to_owned());
        let Some(names) = self.names.get(module).filter(|_| !trail.contains(&step)) else {
            return BTreeSet::new();
        };
        trail.push(step);
        let own = names.own.get(name).into_iter().flatten();
        let mut found: BTreeSet<Target> = own.cloned().collect();
        for import in &names.imports {
            if import.name.as_deref() == Some(name) {
                found.extend(self.resolve_within(module, &import.path, trail));
            }
        }
        if found.is_empty() {
            for import in names.imports.iter().filter(|import| import.name.is_none()) {
                for target in self.resolve_within(module, &import.path, trail) {
                    if let Target::Module(inner) = target {
                        found.extend(self.named(&inner, name, trail));
                    }
                }
            }
        }
        trail.pop();
        found
    }
}

/// The imports of a tree.
fn imported(
    tree: &UseTree,
    path: &mut Vec<String>,
    (is_public, is_hidden): (bool, bool),
    into: &mut Vec<Import>,
) {
    let mut add = |name: Option<String>, path: Vec<String>| {
        into.push(Import {
            name,
            path,
            is_public,
            is_hidden,
        });
    };
    match tree {
        UseTree::Path(one) => {
            path.push(one.ident.to_string());
            imported(&one.tree, path, (is_public, is_hidden), into);
            path.pop();
        }
        UseTree::Name(one) if one.ident == "self" => add(path.last().cloned(), path.clone()),
        UseTree::Name(one) => {
            let name = one.ident.to_string();
            add(Some(name.clone()), [&path[..], &[name]].concat());
        }
        UseTree::Rename(one) => {
            let mut whole = path.clone();
            if one.ident != "self" {
                whole.push(one.ident.to_string());
            }
            add(Some(one.rename.to_string()), whole);
        }
        UseTree::Glob(_) => add(None, path.clone()),
        UseTree::Group(group) => {
            for tree in &group.items {
                imported(tree, path, (is_public, is_hidden), into);
            }
        }
    }
}

/// The name of an item that can be named: a macro only if it is exported, a derive's function by the derive.
pub fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => {
            return Some(derive_of(item).unwrap_or_else(|| item.sig.ident.to_string()));
        }
        Item::Macro(item) => {
            let mut attributes = item.attrs.iter();
            attributes.find(|one| one.path().is_ident("macro_export"))?;
            item.ident.as_ref()?
        }
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The name of the derive that a function of a crate of macros implements.
pub fn derive_of(item: &syn::ItemFn) -> Option<String> {
    let mut attributes = item.attrs.iter();
    let attribute = attributes.find(|one| one.path().is_ident("proc_macro_derive"))?;
    let syn::Meta::List(list) = &attribute.meta else {
        return None;
    };
    Some(list.tokens.clone().into_iter().next()?.to_string())
}

/// True of an item that all crates may name.
pub fn is_public(item: &Item) -> bool {
    let visibility = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Macro(item) => return !is_hidden(&item.attrs),
        Item::Mod(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        _ => return false,
    };
    matches!(visibility, Visibility::Public(_)) && !is_hidden(syntax::attributes(item))
}
