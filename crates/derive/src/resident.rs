//! The expansion of `#[derive(Resident)]`, and its refusals. Works on `proc_macro2` tokens, so that the
//! refusals are tested like any other function.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, GenericParam, Path, Type, parse_quote};

/// The layout of a struct, of those that are the same for every compiler.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// `#[repr(C)]`.
    C,
    /// `#[repr(transparent)]`.
    Transparent,
}

/// The implementation for a type, with the assertions that prove it. `usual` is the path of the module that
/// has `resident::Resident` in it, if the type does not name another.
///
/// # Errors
/// Says why the type is not plain data, and what to do.
pub(crate) fn expand(input: &DeriveInput, usual: &str) -> Result<TokenStream, Error> {
    let fields = struct_fields(input)?;
    let layout = layout(input)?;
    check_generics(input, layout)?;
    let path = path_of_crate(input, usual)?;
    let resident = quote!(#path::resident::Resident);
    let name = &input.ident;
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();

    let mut generics = input.generics.clone();
    for parameter in &mut generics.params {
        if let GenericParam::Type(parameter) = parameter {
            parameter.bounds.push(parse_quote!(#resident));
        }
    }
    if !input.generics.params.is_empty() {
        let bounds = &mut generics.make_where_clause().predicates;
        bounds.extend(
            types
                .iter()
                .map(|field| -> syn::WherePredicate { parse_quote!(#field: #resident) }),
        );
    }
    let proof = if input.generics.params.is_empty() {
        proof(name, &types, &resident)
    } else {
        // A transparent struct has the layout of its one field that is not empty, and the bounds
        // say that every field is resident.
        TokenStream::new()
    };
    let (implemented, given, bounds) = generics.split_for_impl();
    Ok(quote! {
        #proof
        // SAFETY: the layout is fixed by `repr`; every field is `Resident` and no byte lies
        // between or after them, which the bounds and assertions beside this prove.
        #[automatically_derived]
        unsafe impl #implemented #resident for #name #given #bounds {}
    })
}

/// Assertions, evaluated by the compiler, that every field is resident and that no byte of the
/// struct belongs to none.
fn proof(name: &syn::Ident, types: &[&Type], resident: &TokenStream) -> TokenStream {
    let fields = types
        .iter()
        .map(|field| quote_spanned!(field.span() => resident::<#field>();));
    let padding = format!(
        "`{name}` is not plain data, because it has padding: order its fields from \
         the largest alignment to the smallest, and fill what is left with a field such as \
         `reserved: [u8; 4]`"
    );
    let alignment = format!(
        "`{name}` is not plain data, because its alignment is above a page's 4096 \
         bytes: lower the number in `repr(align(…))`"
    );
    quote! {
        const _: () = {
            const fn resident<T: #resident>() {}
            #(#fields)*
            assert!(
                ::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*,
                #padding
            );
            assert!(::core::mem::align_of::<#name>() <= 4096, #alignment);
        };
    }
}

fn struct_fields(input: &DeriveInput) -> Result<&Fields, Error> {
    let name = &input.ident;
    match &input.data {
        Data::Struct(data) => Ok(&data.fields),
        Data::Enum(data) => Err(Error::new(
            data.enum_token.span(),
            format!(
                "the enum `{name}` is not plain data: memory from disk or another \
                 process may hold a number that is none of its variants; keep an integer, and \
                 convert it with a checked `TryFrom`"
            ),
        )),
        Data::Union(data) => Err(Error::new(
            data.union_token.span(),
            format!(
                "the union `{name}` is not plain data: its smaller fields leave \
                 bytes that have no value; keep an array of bytes or integers, and convert"
            ),
        )),
    }
}

/// The layout that `repr` fixes.
fn layout(input: &DeriveInput) -> Result<Layout, Error> {
    let mut layout = None;
    for attribute in &input.attrs {
        if !attribute.path().is_ident("repr") {
            continue;
        }
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("C") {
                layout = Some(Layout::C);
            } else if meta.path.is_ident("transparent") {
                layout = Some(Layout::Transparent);
            } else if meta.input.peek(syn::token::Paren) {
                // `align(8)` or `packed(2)`: the assertions on size and alignment judge it.
                let _content: proc_macro2::Group = meta.input.parse()?;
            }
            Ok(())
        })?;
    }
    layout.ok_or_else(|| {
        let name = &input.ident;
        Error::new(
            name.span(),
            format!(
                "`{name}` is not plain data as it is: Rust orders its fields as \
                 each compiler likes; add `#[repr(C)]` (or `#[repr(transparent)]`)"
            ),
        )
    })
}

/// Refuses generics whose layout cannot be proved for all parameters.
fn check_generics(input: &DeriveInput, layout: Layout) -> Result<(), Error> {
    let name = &input.ident;
    if let Some(lifetime) = input.generics.lifetimes().next() {
        return Err(Error::new(
            lifetime.span(),
            format!(
                "`{name}` is not plain data: a lifetime means a reference, and \
                 references mean nothing in another process; link by `P<T>`"
            ),
        ));
    }
    match input.generics.params.first() {
        Some(parameter) if layout == Layout::C => Err(Error::new(
            parameter.span(),
            format!(
                "`{name}` is not plain data: whether a generic `#[repr(C)]` struct \
                 has padding depends on its parameters; write the struct out for the types that \
                 you need, or make it `#[repr(transparent)]` over one field"
            ),
        )),
        _ => Ok(()),
    }
}

/// The usual path, or what `#[resident(crate = …)]` says instead.
fn path_of_crate(input: &DeriveInput, usual: &str) -> Result<Path, Error> {
    let mut path = Path {
        leading_colon: Some(Default::default()),
        segments: usual
            .split("::")
            .map(|name| syn::PathSegment::from(syn::Ident::new(name, Span::call_site())))
            .collect(),
    };
    for attribute in &input.attrs {
        if attribute.path().is_ident("resident") {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("crate") {
                    path = meta.value()?.parse()?;
                    Ok(())
                } else {
                    Err(meta.error("the attribute is `#[resident(crate = some::path)]`"))
                }
            })?;
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(source: &str) -> String {
        let input: DeriveInput = syn::parse_str(source).unwrap();
        match expand(&input, "sardonyx_base") {
            Ok(tokens) => panic!("not refused: {source}\n{tokens}"),
            Err(refusal) => refusal.to_string(),
        }
    }

    fn accepted(source: &str) -> String {
        let input: DeriveInput = syn::parse_str(source).unwrap();
        let tokens = expand(&input, "sardonyx_base").unwrap();
        tokens.to_string()
    }

    #[test]
    fn every_refusal_names_the_type_and_the_remedy() {
        for (source, remedy) in [
            ("#[repr(u8)] enum Colour { Red }", "`TryFrom`"),
            (
                "#[repr(C)] union Either { a: u8, b: u32 }",
                "array of bytes",
            ),
            ("struct Point { x: u32 }", "#[repr(C)]"),
            ("#[repr(align(8))] struct Point { x: u64 }", "#[repr(C)]"),
            ("#[repr(packed)] struct Point { x: u64 }", "#[repr(C)]"),
            ("#[repr(C)] struct Borrowed<'a> { x: &'a u32 }", "`P<T>`"),
            (
                "#[repr(C)] struct Pair<T> { a: T, b: T }",
                "#[repr(transparent)]",
            ),
            (
                "#[repr(C)] struct Name<const N: usize>([u8; N]);",
                "write the struct out",
            ),
        ] {
            let message = refusal(source);
            assert!(message.contains(remedy), "{source}: {message}");
            let name = ["Colour", "Either", "Point", "Borrowed", "Pair", "Name"]
                .into_iter()
                .find(|name| source.contains(name))
                .unwrap();
            assert!(message.contains(&format!("`{name}`")), "{message}");
        }
    }

    #[test]
    fn an_unknown_option_of_the_attribute_is_refused() {
        let message = refusal("#[repr(C)] #[resident(krate = a)] struct A;");
        assert!(message.contains("resident(crate"), "{message}");
    }

    #[test]
    fn a_plain_struct_is_proved_by_assertions() {
        let tokens = accepted("#[repr(C, align(16))] struct A { x: u64, y: [u8; 8] }");
        assert!(tokens.contains("resident :: < u64 > ()"), "{tokens}");
        assert!(tokens.contains("size_of :: < [u8 ; 8] > ()"), "{tokens}");
        assert!(tokens.contains(":: sardonyx_base :: resident"), "{tokens}");
        accepted("#[repr(C)] struct Empty;");
        accepted("#[repr(C, packed(2))] struct Tuple(u8, u16);");
    }

    #[test]
    fn a_transparent_generic_struct_is_proved_by_bounds() {
        let tokens =
            accepted("#[repr(transparent)] struct Name<T, const N: usize>([T; N]) where T: Send;");
        assert!(
            tokens.contains("T : :: sardonyx_base :: resident :: Resident"),
            "{tokens}"
        );
        assert!(
            tokens.contains("[T ; N] : :: sardonyx_base :: resident :: Resident"),
            "{tokens}"
        );
    }

    #[test]
    fn the_path_of_the_crate_can_be_given() {
        let tokens = accepted("#[repr(C)] #[resident(crate = my::face)] struct A(u8);");
        assert!(
            tokens.contains("my :: face :: resident :: Resident"),
            "{tokens}"
        );
        assert!(!tokens.contains("sardonyx_base"), "{tokens}");
    }
}
