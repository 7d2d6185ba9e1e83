//! The lines of one item: its signature, its public parts, and its implementations.

use std::collections::{BTreeMap, BTreeSet};

use syn::punctuated::Punctuated;
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, Meta, Token, TraitItem, Type, Visibility};

use super::Listing;
use super::names::{Target, derive_of};
use super::print::{Printer, text};
use super::syntax::{attributes, is_compiled, is_hidden};

/// The lines of an item with this public path, without its implementations.
pub fn lines(listing: &Listing<'_>, path: &str, module: &str, at: usize) -> Vec<String> {
    let none = syn::Generics::default();
    let Some(item) = listing.scopes.item(module, at) else {
        return Vec::new();
    };
    let head = words_before(attributes(item));
    match item {
        Item::Struct(item) => {
            let mut printer = Printer::new(listing, module, &item.generics);
            let (parameters, conditions) = printer.generics(&item.generics);
            let tuple = match &item.fields {
                Fields::Unnamed(_) => fields(&mut printer, &item.fields, false),
                _ => String::new(),
            };
            let mut lines = vec![format!(
                "{head}pub struct {path}{parameters}{tuple}{conditions}"
            )];
            lines.extend(public_fields(&mut printer, path, &item.fields));
            lines
        }
        Item::Union(item) => {
            let mut printer = Printer::new(listing, module, &item.generics);
            let (parameters, conditions) = printer.generics(&item.generics);
            let all = Fields::Named(item.fields.clone());
            let mut lines = vec![format!("{head}pub union {path}{parameters}{conditions}")];
            lines.extend(public_fields(&mut printer, path, &all));
            lines
        }
        Item::Enum(item) => {
            let mut printer = Printer::new(listing, module, &item.generics);
            let (parameters, conditions) = printer.generics(&item.generics);
            let mut lines = vec![format!("{head}pub enum {path}{parameters}{conditions}")];
            for variant in item.variants.iter().filter(|one| !is_hidden(&one.attrs)) {
                let fields = fields(&mut printer, &variant.fields, true);
                let head = words_before(&variant.attrs);
                lines.push(format!("{head}pub {path}::{}{fields}", variant.ident));
            }
            lines
        }
        Item::Trait(item) => of_trait(listing, path, module, item),
        Item::Fn(item) => match derive_of(item) {
            Some(_) => vec![format!("pub derive {path}")],
            None if item
                .attrs
                .iter()
                .any(|one| one.path().is_ident("proc_macro")) =>
            {
                vec![format!("pub macro {path}!")]
            }
            None => {
                let printer = Printer::new(listing, module, &none);
                vec![format!("pub {}", printer.function(path, &item.sig))]
            }
        },
        Item::Const(item) => {
            let ty = Printer::new(listing, module, &none).ty(&item.ty);
            vec![format!("pub const {path}: {ty}")]
        }
        Item::Static(item) => {
            let ty = Printer::new(listing, module, &none).ty(&item.ty);
            vec![format!("pub static {path}: {ty}")]
        }
        Item::Type(item) => {
            let mut printer = Printer::new(listing, module, &item.generics);
            let (parameters, conditions) = printer.generics(&item.generics);
            let ty = printer.ty(&item.ty);
            vec![format!("pub type {path}{parameters} = {ty}{conditions}")]
        }
        Item::Macro(_) => vec![format!("pub macro {path}!")],
        _ => Vec::new(),
    }
}

/// The attributes that say how a program may use a type.
fn words_before(attributes: &[Attribute]) -> String {
    let mut words = String::new();
    for one in attributes {
        match &one.meta {
            Meta::Path(path) if path.is_ident("non_exhaustive") => words += "#[non_exhaustive] ",
            Meta::List(list) if list.path.is_ident("repr") => {
                words += &format!("#[repr({})] ", text(list.tokens.clone()));
            }
            _ => {}
        }
    }
    words
}

/// Fields behind a name: of a variant, all; of a struct, `_` for those that are private.
fn fields(printer: &mut Printer<'_>, fields: &Fields, is_variant: bool) -> String {
    let mut shown = Vec::new();
    for field in fields {
        let ty = printer.ty(&field.ty);
        let is_public = matches!(field.vis, Visibility::Public(_)) && !is_hidden(&field.attrs);
        shown.push(match &field.ident {
            Some(name) => format!("{name}: {ty}"),
            None if is_variant => ty,
            None if is_public => format!("pub {ty}"),
            None => "_".to_owned(),
        });
    }
    match fields {
        Fields::Unit => String::new(),
        Fields::Unnamed(_) => format!("({})", shown.join(", ")),
        Fields::Named(_) => format!(" {{ {} }}", shown.join(", ")),
    }
}

fn public_fields(printer: &mut Printer<'_>, path: &str, fields: &Fields) -> Vec<String> {
    let mut lines = Vec::new();
    for field in fields {
        let is_public = matches!(field.vis, Visibility::Public(_)) && !is_hidden(&field.attrs);
        if let (Some(name), true) = (&field.ident, is_public) {
            lines.push(format!("pub {path}::{name}: {}", printer.ty(&field.ty)));
        }
    }
    lines
}

/// A trait with its items; those with a default end with `{ .. }`.
fn of_trait(listing: &Listing<'_>, path: &str, module: &str, item: &syn::ItemTrait) -> Vec<String> {
    let mut printer = Printer::new(listing, module, &item.generics);
    let (parameters, conditions) = printer.generics(&item.generics);
    let above = printer.bounds(&item.supertraits);
    let safety = if item.unsafety.is_some() {
        "unsafe "
    } else {
        ""
    };
    let mut lines = vec![format!(
        "pub {safety}trait {path}{parameters}{above}{conditions}"
    )];
    let default = |is_there| if is_there { " { .. }" } else { "" };
    for item in &item.items {
        match item {
            TraitItem::Fn(item) if is_shown(&item.attrs) => {
                let function = printer.function(&format!("{path}::{}", item.sig.ident), &item.sig);
                lines.push(format!("pub {function}{}", default(item.default.is_some())));
            }
            TraitItem::Const(item) if is_shown(&item.attrs) => {
                let ty = printer.ty(&item.ty);
                let default = default(item.default.is_some());
                lines.push(format!("pub const {path}::{}: {ty}{default}", item.ident));
            }
            TraitItem::Type(item) if is_shown(&item.attrs) => {
                let bounds = printer.bounds(&item.bounds);
                let (parameters, conditions) = printer.generics(&item.generics);
                let name = &item.ident;
                lines.push(format!(
                    "pub type {path}::{name}{parameters}{bounds}{conditions}"
                ));
            }
            _ => {}
        }
    }
    lines
}

fn is_shown(attributes: &[Attribute]) -> bool {
    is_compiled(attributes) && !is_hidden(attributes)
}

/// The lines of implementations.
#[derive(Default)]
pub struct Impls {
    /// A type's own, by their heads.
    own: BTreeMap<Target, BTreeMap<String, BTreeSet<String>>>,
    /// Items of traits, at the type, or at the trait if the type is of another crate.
    of_traits: BTreeMap<Target, BTreeSet<String>>,
}

impl Impls {
    pub fn of(&self, target: &Target) -> Vec<String> {
        let own = self.own.get(target).into_iter().flatten();
        let own = own.flat_map(|(head, lines)| [head].into_iter().chain(lines));
        let of_traits = self.of_traits.get(target).into_iter().flatten();
        own.chain(of_traits).cloned().collect()
    }
}

/// All implementations of public items.
pub fn impls(listing: &Listing<'_>) -> Impls {
    let mut found = Impls::default();
    for (module, contents) in &listing.scopes.modules.by_path {
        for (at, item) in contents.items.iter().enumerate() {
            match item {
                Item::Impl(item) if !is_hidden(&item.attrs) => match &item.trait_ {
                    Some((of, _)) => found.add_of_trait(listing, module, item, of),
                    None => found.add_own(listing, module, item),
                },
                Item::Struct(syn::ItemStruct { attrs, .. })
                | Item::Enum(syn::ItemEnum { attrs, .. }) => {
                    found.add_derived(listing, module, at, attrs);
                }
                _ => {}
            }
        }
    }
    found
}

impl Impls {
    fn add_own(&mut self, listing: &Listing<'_>, module: &str, item: &ItemImpl) {
        let Some((target, path)) = public(listing, module, &item.self_ty) else {
            return;
        };
        let mut printer = Printer::new(listing, module, &item.generics);
        let mut lines = BTreeSet::new();
        for item in &item.items {
            match item {
                ImplItem::Fn(item)
                    if matches!(item.vis, Visibility::Public(_)) && is_shown(&item.attrs) =>
                {
                    let path = format!("{path}::{}", item.sig.ident);
                    lines.insert(format!("pub {}", printer.function(&path, &item.sig)));
                }
                ImplItem::Const(item)
                    if matches!(item.vis, Visibility::Public(_)) && is_shown(&item.attrs) =>
                {
                    let ty = printer.ty(&item.ty);
                    lines.insert(format!("pub const {path}::{}: {ty}", item.ident));
                }
                _ => {}
            }
        }
        if lines.is_empty() {
            return;
        }
        let (parameters, conditions) = printer.generics(&item.generics);
        let ty = printer.ty(&item.self_ty);
        let head = format!("{}{ty}{conditions}", after("impl", &parameters));
        let heads = self.own.entry(target).or_default();
        heads.entry(head).or_default().extend(lines);
    }

    fn add_of_trait(
        &mut self,
        listing: &Listing<'_>,
        module: &str,
        item: &ItemImpl,
        of: &syn::Path,
    ) {
        let names: Vec<String> = of
            .segments
            .iter()
            .map(|one| one.ident.to_string())
            .collect();
        let of_trait = listing.definition(module, &names);
        let known = match &of_trait {
            Some(target @ Target::Item(..)) => {
                // The public cannot name the trait.
                if listing.public_path(target).is_none() {
                    return;
                }
                Some(target.clone())
            }
            _ => None,
        };
        let of_type = public(listing, module, &item.self_ty).map(|(target, _)| target);
        if of_type.is_none() && is_private(listing, module, &item.self_ty) {
            return;
        }
        let Some(at) = of_type
            .or(known)
            .or_else(|| of_argument(listing, module, of))
        else {
            return;
        };
        let mut printer = Printer::new(listing, module, &item.generics);
        let (parameters, conditions) = printer.generics(&item.generics);
        let safety = if item.unsafety.is_some() {
            "unsafe "
        } else {
            ""
        };
        let head = after(&format!("{safety}impl"), &parameters);
        let (name, ty) = (printer.path(of), printer.ty(&item.self_ty));
        let mut types = String::new();
        for item in &item.items {
            if let ImplItem::Type(item) = item
                && is_shown(&item.attrs)
            {
                let ty = printer.ty(&item.ty);
                let (parameters, _) = printer.generics(&item.generics);
                types += &format!(" type {}{parameters} = {ty};", item.ident);
            }
        }
        if !types.is_empty() {
            types = format!(" {{{types} }}");
        }
        let line = format!("{head}{name} for {ty}{conditions}{types}");
        self.of_traits.entry(at).or_default().insert(line);
    }

    fn add_derived(
        &mut self,
        listing: &Listing<'_>,
        module: &str,
        at: usize,
        attributes: &[Attribute],
    ) {
        let target = Target::Item(module.to_owned(), at);
        let Some(path) = listing.public_path(&target) else {
            return;
        };
        let derives = attributes
            .iter()
            .filter(|one| one.path().is_ident("derive"));
        for derive in derives {
            let names =
                derive.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated);
            for name in names.into_iter().flatten() {
                let mut printer = Printer::new(listing, module, &syn::Generics::default());
                // As one that is written by hand names the trait.
                let name = match printer.path(&name).as_str() {
                    "thiserror::Error" => "std::error::Error".to_owned(),
                    "Debug" => "std::fmt::Debug".to_owned(),
                    "Hash" => "std::hash::Hash".to_owned(),
                    name => name.to_owned(),
                };
                let lines = self.of_traits.entry(target.clone()).or_default();
                lines.insert(format!("impl {name} for {path}"));
            }
        }
    }
}

/// `impl` with its parameters and the blank behind them.
fn after(word: &str, parameters: &str) -> String {
    format!("{word}{parameters} ")
}

/// The public item that a type is, or refers to, with its path.
fn public<'l>(listing: &'l Listing<'_>, module: &str, ty: &Type) -> Option<(Target, &'l str)> {
    match ty {
        Type::Path(path) if path.qself.is_none() => {
            let names = path.path.segments.iter().map(|one| one.ident.to_string());
            let target = listing.definition(module, &names.collect::<Vec<_>>())?;
            let path = listing.public_path(&target)?;
            matches!(target, Target::Item(..)).then_some((target, path))
        }
        Type::Reference(inner) => public(listing, module, &inner.elem),
        Type::Slice(inner) => public(listing, module, &inner.elem),
        Type::Group(inner) => public(listing, module, &inner.elem),
        _ => None,
    }
}

/// True of a type of the crates here that the public cannot name.
fn is_private(listing: &Listing<'_>, module: &str, ty: &Type) -> bool {
    let Type::Path(path) = ty else {
        return false;
    };
    let names = path.path.segments.iter().map(|one| one.ident.to_string());
    let target = listing.definition(module, &names.collect::<Vec<_>>());
    target.is_some_and(|target| {
        matches!(target, Target::Item(..)) && listing.public_path(&target).is_none()
    })
}

/// The public item that is an argument of a trait, such as that of `From<Date>`.
fn of_argument(listing: &Listing<'_>, module: &str, of: &syn::Path) -> Option<Target> {
    let syn::PathArguments::AngleBracketed(arguments) = &of.segments.last()?.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(ty) => public(listing, module, ty).map(|(target, _)| target),
        _ => None,
    })
}
