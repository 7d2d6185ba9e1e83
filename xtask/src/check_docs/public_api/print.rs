//! Signatures as text: types by their public paths, tokens with the blanks of usual Rust.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{FnArg, GenericParam, Generics, Path, PathSegment, Safety, Signature, TypePath};

use super::Listing;

/// Writes types of a module by the paths at which the public finds them.
pub struct Printer<'l> {
    pub listing: &'l Listing<'l>,
    pub module: &'l str,
    /// Names of types that are parameters here.
    pub parameters: BTreeSet<String>,
}

impl<'l> Printer<'l> {
    pub fn new(listing: &'l Listing<'l>, module: &'l str, generics: &Generics) -> Self {
        let parameters = BTreeSet::new();
        let mut printer = Printer {
            listing,
            module,
            parameters,
        };
        printer.add(generics);
        printer
    }

    fn add(&mut self, generics: &Generics) {
        let names = generics.params.iter().filter_map(|one| match one {
            GenericParam::Type(one) => Some(one.ident.to_string()),
            GenericParam::Const(one) => Some(one.ident.to_string()),
            GenericParam::Lifetime(_) => None,
        });
        self.parameters.extend(names);
    }

    /// A printer inside of something with parameters of its own.
    fn within(&self, generics: &Generics) -> Printer<'l> {
        let mut inner = Printer {
            parameters: self.parameters.clone(),
            ..*self
        };
        inner.add(generics);
        inner
    }

    pub fn ty(&mut self, ty: &syn::Type) -> String {
        let mut ty = ty.clone();
        self.visit_type_mut(&mut ty);
        text(ty.into_token_stream())
    }

    pub fn path(&mut self, path: &Path) -> String {
        let mut path = path.clone();
        self.visit_path_mut(&mut path);
        text(path.into_token_stream())
    }

    pub fn bounds(
        &mut self,
        bounds: &syn::punctuated::Punctuated<syn::TypeParamBound, syn::Token![+]>,
    ) -> String {
        let mut bounds = bounds.clone();
        for bound in &mut bounds {
            self.visit_type_param_bound_mut(bound);
        }
        match bounds.is_empty() {
            true => String::new(),
            false => format!(": {}", text(bounds.into_token_stream())),
        }
    }

    /// The parameters in their brackets, and the conditions on them.
    pub fn generics(&mut self, generics: &Generics) -> (String, String) {
        let mut generics = generics.clone();
        self.visit_generics_mut(&mut generics);
        let conditions = generics.where_clause.take();
        let conditions = conditions.map(|conditions| text(conditions.into_token_stream()));
        let conditions = conditions.filter(|conditions| conditions != "where");
        let conditions = conditions.map(|text| format!(" {}", text.trim_end_matches([',', ' '])));
        (
            text(generics.into_token_stream()),
            conditions.unwrap_or_default(),
        )
    }

    /// A function's signature, by its path; arguments by their types, without their names.
    pub fn function(&self, path: &str, signature: &Signature) -> String {
        let mut inner = self.within(&signature.generics);
        let (parameters, conditions) = inner.generics(&signature.generics);
        let arguments: Vec<String> = signature
            .inputs
            .iter()
            .map(|argument| inner.argument(argument))
            .collect();
        let output = match &signature.output {
            syn::ReturnType::Default => String::new(),
            syn::ReturnType::Type(_, ty) => format!(" -> {}", inner.ty(ty)),
        };
        let mut words = String::new();
        for (word, is_there) in [
            ("const ", signature.constness.is_some()),
            ("async ", signature.asyncness.is_some()),
            ("unsafe ", matches!(signature.safety, Safety::Unsafe(_))),
        ] {
            words.push_str(if is_there { word } else { "" });
        }
        if let Some(abi) = &signature.abi {
            words += &format!("{} ", text(abi.into_token_stream()));
        }
        let arguments = arguments.join(", ");
        format!("{words}fn {path}{parameters}({arguments}){output}{conditions}")
    }

    fn argument(&mut self, argument: &FnArg) -> String {
        match argument {
            FnArg::Typed(typed) => self.ty(&typed.ty),
            FnArg::Receiver(receiver) => {
                let mut receiver = receiver.clone();
                receiver.attrs.clear();
                self.visit_receiver_mut(&mut receiver);
                // `mut self` is the function's own matter; `&mut self` has its word elsewhere.
                receiver.mutability = None;
                text(receiver.into_token_stream())
            }
        }
    }

    /// Replaces the beginning of a path by the public path of its item.
    fn rename(&self, path: &mut Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|one| one.ident.to_string())
            .collect();
        let Some(first) = names.first() else {
            return;
        };
        if first == "Self" || self.parameters.contains(first) {
            return;
        }
        for length in (1..=names.len()).rev() {
            let Some(known) = self.listing.path_of(self.module, &names[..length]) else {
                continue;
            };
            let mut renamed: Vec<PathSegment> = known
                .split("::")
                .filter_map(|name| syn::parse_str(name).ok())
                .collect();
            let old: Vec<PathSegment> = path.segments.iter().cloned().collect();
            if let Some(last) = renamed.last_mut() {
                last.arguments = old[length - 1].arguments.clone();
            }
            renamed.extend_from_slice(&old[length..]);
            path.leading_colon = None;
            path.segments = renamed.into_iter().collect();
            return;
        }
    }
}

impl VisitMut for Printer<'_> {
    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        self.rename(path);
    }

    fn visit_type_path_mut(&mut self, ty: &mut TypePath) {
        let before = ty.path.segments.len();
        if let Some(own) = &mut ty.qself {
            self.visit_type_mut(&mut own.ty);
            if own.position == 0 {
                return;
            }
        }
        self.visit_path_mut(&mut ty.path);
        if let Some(own) = &mut ty.qself {
            own.position = (own.position + ty.path.segments.len()).saturating_sub(before);
        }
    }

    /// Values of constants are no types.
    fn visit_expr_mut(&mut self, _: &mut syn::Expr) {}

    fn visit_attributes_mut(&mut self, attributes: &mut Vec<syn::Attribute>) {
        attributes.clear();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Word,
    /// A word that is no name: a type or a pattern follows.
    Keyword,
    Lifetime,
    Open,
    Close,
    Angle,
    Tight,
    Loose,
}

/// Tokens as text, on one line.
pub fn text(tokens: TokenStream) -> String {
    let mut text = String::new();
    write(tokens, &mut text, &mut Before::Nothing);
    text
}

const KEYWORDS: &[&str] = &[
    "as", "const", "dyn", "for", "fn", "impl", "in", "mut", "unsafe", "where",
];

fn write(tokens: TokenStream, text: &mut String, before: &mut Before) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                let is_apart = match *before {
                    Before::Keyword | Before::Lifetime => true,
                    Before::Word => open != "(" && !open.is_empty(),
                    Before::Close | Before::Angle => open == "{",
                    _ => false,
                };
                if is_apart && !text.ends_with("fn") {
                    text.push(' ');
                }
                text.push_str(open);
                *before = if open.is_empty() {
                    *before
                } else {
                    Before::Open
                };
                write(group.stream(), text, before);
                text.truncate(text.trim_end().len());
                text.push_str(close);
                *before = if close.is_empty() {
                    *before
                } else {
                    Before::Close
                };
            }
            TokenTree::Ident(name) => {
                let name = name.to_string();
                if matches!(
                    *before,
                    Before::Word
                        | Before::Keyword
                        | Before::Lifetime
                        | Before::Close
                        | Before::Angle
                ) {
                    text.push(' ');
                }
                text.push_str(&name);
                *before = match KEYWORDS.contains(&&*name) {
                    true => Before::Keyword,
                    false => Before::Word,
                };
            }
            TokenTree::Literal(literal) => {
                if matches!(*before, Before::Word | Before::Keyword | Before::Lifetime) {
                    text.push(' ');
                }
                text.push_str(&literal.to_string());
                *before = Before::Word;
            }
            TokenTree::Punct(punct) => {
                let mut sign = punct.as_char().to_string();
                if punct.as_char() == '\'' {
                    if matches!(*before, Before::Word | Before::Keyword) {
                        text.push(' ');
                    }
                    if let Some(TokenTree::Ident(name)) = tokens.next() {
                        text.push_str(&format!("'{name}"));
                    }
                    *before = Before::Lifetime;
                    continue;
                }
                let mut last = punct;
                while last.spacing() == Spacing::Joint
                    && matches!(last.as_char(), ':' | '-' | '=' | '.' | '|')
                {
                    let Some(TokenTree::Punct(next)) = tokens.peek() else {
                        break;
                    };
                    if next.as_char() == '\'' {
                        break;
                    }
                    last = next.clone();
                    sign.push(last.as_char());
                    tokens.next();
                }
                *before = write_sign(&sign, text, *before);
            }
        }
    }
}

fn write_sign(sign: &str, text: &mut String, before: Before) -> Before {
    match sign {
        "," | ";" | ":" => {
            text.push_str(sign);
            text.push(' ');
            Before::Loose
        }
        "->" | "=" | "+" | "=>" | "|" | "==" => {
            if !text.ends_with(' ') {
                text.push(' ');
            }
            text.push_str(sign);
            text.push(' ');
            Before::Loose
        }
        "<" => {
            if before == Before::Keyword
                && !text.ends_with("for")
                && !text.ends_with("impl")
                && !text.ends_with("fn")
            {
                text.push(' ');
            }
            text.push('<');
            Before::Open
        }
        ">" => {
            let shorter = text.trim_end_matches([',', ' ']).len();
            text.truncate(shorter);
            text.push('>');
            Before::Angle
        }
        "&" | "*" | "?" => {
            if matches!(before, Before::Word | Before::Keyword | Before::Lifetime) {
                text.push(' ');
            }
            text.push_str(sign);
            Before::Tight
        }
        other => {
            text.push_str(other);
            Before::Tight
        }
    }
}
