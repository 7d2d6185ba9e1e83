//! Macros by example, as far as items are made with them: the public API has types that macros declare.
//!
//! A pattern is matched from left to right without going back, as the compiler does. Names are taken as they stand:
//! hygiene concerns local variables only, which no signature has.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Ident, Punct, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};

/// The rules of a macro: patterns, each with what it makes.
pub struct Rules(Vec<(Vec<TokenTree>, TokenStream)>);

impl Rules {
    pub fn parse(tokens: TokenStream) -> Rules {
        let mut rules = Vec::new();
        let mut groups = tokens.into_iter().filter_map(|token| match token {
            TokenTree::Group(group) => Some(group),
            _ => None,
        });
        while let (Some(pattern), Some(made)) = (groups.next(), groups.next()) {
            rules.push((pattern.stream().into_iter().collect(), made.stream()));
        }
        Rules(rules)
    }
}

/// The value of a name of a pattern: tokens, or several values of a repetition.
#[derive(Clone, Default)]
struct Bound {
    tokens: TokenStream,
    each: Vec<Bindings>,
}

type Bindings = BTreeMap<String, Bound>;

/// The result of the first rule that matches; `None` if none does.
pub fn expand(rules: &Rules, call: TokenStream) -> Option<TokenStream> {
    rules.0.iter().find_map(|(pattern, made)| {
        let mut bindings = Bindings::new();
        let rest = matched(pattern, call.clone(), &mut bindings)?;
        rest.is_empty().then(|| filled(made.clone(), &bindings))
    })
}

/// A repetition's parts: its pattern, the separator, its sign, and how many tokens all this takes.
fn repetition(tokens: &[TokenTree]) -> Option<(&Group, Option<&Punct>, char, usize)> {
    let [TokenTree::Punct(dollar), TokenTree::Group(inner), rest @ ..] = tokens else {
        return None;
    };
    if dollar.as_char() != '$' || inner.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    let sign = |token: &TokenTree| match token {
        TokenTree::Punct(punct) if matches!(punct.as_char(), '*' | '+' | '?') => {
            Some(punct.as_char())
        }
        _ => None,
    };
    match rest {
        [first, ..] if sign(first).is_some() => Some((inner, None, sign(first)?, 3)),
        [TokenTree::Punct(separator), second, ..] => {
            Some((inner, Some(separator), sign(second)?, 4))
        }
        _ => None,
    }
}

/// Matches a pattern, and returns what follows.
fn matched(
    mut pattern: &[TokenTree],
    mut call: TokenStream,
    bindings: &mut Bindings,
) -> Option<TokenStream> {
    while let Some(first) = pattern.first() {
        if let Some((inner, separator, sign, length)) = repetition(pattern) {
            let inner: Vec<TokenTree> = inner.stream().into_iter().collect();
            call = repeated(&inner, separator, sign, call, bindings);
            pattern = &pattern[length..];
            continue;
        }
        if let [
            TokenTree::Punct(dollar),
            TokenTree::Ident(name),
            TokenTree::Punct(colon),
            TokenTree::Ident(kind),
            rest @ ..,
        ] = pattern
            && dollar.as_char() == '$'
            && colon.as_char() == ':'
        {
            let (tokens, left) = fragment(kind, call)?;
            let each = Vec::new();
            bindings.insert(name.to_string(), Bound { tokens, each });
            (call, pattern) = (left, rest);
            continue;
        }
        let mut tokens = call.into_iter();
        let found = tokens.next()?;
        call = tokens.collect();
        match (first, found) {
            (TokenTree::Group(wanted), TokenTree::Group(found)) => {
                let inner: Vec<TokenTree> = wanted.stream().into_iter().collect();
                let is_same = wanted.delimiter() == found.delimiter();
                let rest = is_same.then(|| matched(&inner, found.stream(), bindings))??;
                if !rest.is_empty() {
                    return None;
                }
            }
            (wanted, found) if wanted.to_string() != found.to_string() => return None,
            _ => {}
        }
        pattern = &pattern[1..];
    }
    Some(call)
}

/// Matches a repetition as often as it can, and returns what follows.
fn repeated(
    inner: &[TokenTree],
    separator: Option<&Punct>,
    sign: char,
    mut call: TokenStream,
    bindings: &mut Bindings,
) -> TokenStream {
    let mut each = Vec::new();
    while !call.is_empty() && (sign != '?' || each.is_empty()) {
        let mut from = call.clone();
        if let (Some(separator), false) = (separator, each.is_empty()) {
            let mut tokens = from.into_iter();
            let next = tokens.next().map(|token| token.to_string());
            if next != Some(separator.to_string()) {
                break;
            }
            from = tokens.collect();
        }
        let mut one = Bindings::new();
        let Some(rest) = matched(inner, from, &mut one) else {
            break;
        };
        each.push(one);
        call = rest;
    }
    for name in names(inner) {
        let of_name = each.clone();
        let bound = Bound {
            each: of_name,
            ..Bound::default()
        };
        bindings.insert(name, bound);
    }
    call
}

/// The names that a pattern binds.
fn names(pattern: &[TokenTree]) -> Vec<String> {
    let mut names = Vec::new();
    for (at, token) in pattern.iter().enumerate() {
        match (token, pattern.get(at + 1)) {
            (TokenTree::Group(group), _) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                names.extend(self::names(&inner));
            }
            (TokenTree::Punct(dollar), Some(TokenTree::Ident(name))) if dollar.as_char() == '$' => {
                names.push(name.to_string());
            }
            _ => {}
        }
    }
    names
}

/// Takes a fragment of this kind, and returns what follows, too.
fn fragment(kind: &Ident, call: TokenStream) -> Option<(TokenStream, TokenStream)> {
    fn of<T: Parse + ToTokens>(call: TokenStream) -> Option<(TokenStream, TokenStream)> {
        let parser = |input: ParseStream<'_>| {
            let found: T = input.parse()?;
            let rest: TokenStream = input.parse()?;
            Ok::<_, syn::Error>((found.into_token_stream(), rest))
        };
        parser.parse2(call).ok()
    }
    match kind.to_string().as_str() {
        "ident" => of::<Ident>(call),
        "ty" => of::<syn::Type>(call),
        "expr" => of::<syn::Expr>(call),
        "path" => of::<syn::Path>(call),
        "vis" => of::<syn::Visibility>(call),
        "meta" => of::<syn::Meta>(call),
        "literal" => of::<syn::Lit>(call),
        "lifetime" => of::<syn::Lifetime>(call),
        "block" => of::<syn::Block>(call),
        "item" => of::<syn::Item>(call),
        "tt" => of::<TokenTree>(call),
        _ => None,
    }
}

/// The result of a rule with these bindings.
fn filled(made: TokenStream, bindings: &Bindings) -> TokenStream {
    let tokens: Vec<TokenTree> = made.into_iter().collect();
    let mut rest = &tokens[..];
    let mut filled = TokenStream::new();
    while let Some(first) = rest.first() {
        if let Some((inner, separator, _, length)) = repetition(rest) {
            filled.extend(filled_each(inner, separator, bindings));
            rest = &rest[length..];
            continue;
        }
        if let [
            TokenTree::Punct(dollar),
            TokenTree::Ident(name),
            behind @ ..,
        ] = rest
            && dollar.as_char() == '$'
        {
            match bindings.get(&name.to_string()) {
                Some(bound) => filled.extend(bound.tokens.clone()),
                // `$crate`.
                None => filled.extend([TokenTree::Ident(name.clone())]),
            }
            rest = behind;
            continue;
        }
        filled.extend([match first {
            TokenTree::Group(group) => {
                let inner = self::filled(group.stream(), bindings);
                TokenTree::Group(Group::new(group.delimiter(), inner))
            }
            other => other.clone(),
        }]);
        rest = &rest[1..];
    }
    filled
}

/// A repetition for each of the values that its names have.
fn filled_each(inner: &Group, separator: Option<&Punct>, bindings: &Bindings) -> TokenStream {
    let tokens: Vec<TokenTree> = inner.stream().into_iter().collect();
    let names = names(&tokens);
    let mut bound = names.iter().filter_map(|name| bindings.get(name));
    let repeated = bound.find(|bound| !bound.each.is_empty());
    let mut filled = TokenStream::new();
    for (at, own) in repeated
        .iter()
        .flat_map(|bound| bound.each.iter().enumerate())
    {
        if let (Some(separator), true) = (separator, at > 0) {
            filled.extend([TokenTree::Punct(separator.clone())]);
        }
        let mut all = bindings.clone();
        // Values of two repetitions of the pattern may be written side by side.
        for name in &names {
            let other = bindings.get(name).and_then(|bound| bound.each.get(at));
            if let Some(value) = other.and_then(|other| other.get(name)) {
                all.insert(name.clone(), value.clone());
            }
        }
        all.extend(own.clone());
        filled.extend(self::filled(inner.stream(), &all));
    }
    filled
}
