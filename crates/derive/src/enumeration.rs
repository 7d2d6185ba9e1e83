//! Enums as columns: `#[derive(Record)]` of an enum without fields is a `StoredField` of its numbers.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{DataEnum, DeriveInput, Error, Fields, Path, parse_quote};

/// The implementation of `StoredField`.
///
/// # Errors
/// If the enum has no variants, or one of them has fields.
pub(crate) fn expand(
    input: &DeriveInput,
    data: &DataEnum,
    path: &Path,
) -> Result<TokenStream, Error> {
    let name = &input.ident;
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            let text = format!(
                "Sardonyx stores an enum as its number, and `{name}::{}` has fields, too; keep them in columns of \
                 their own, as `Option`",
                variant.ident
            );
            return Err(Error::new(variant.span(), text));
        }
    }
    if data.variants.is_empty() {
        let text = format!("Sardonyx cannot store `{name}`: it has no variants, so no values");
        return Err(Error::new(name.span(), text));
    }
    let mut number: Ident = parse_quote!(u8);
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            let known = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
            if let Some(ident) = meta.path.get_ident()
                && known.contains(&&*ident.to_string())
            {
                number = ident.clone();
            }
            Ok(())
        })?;
    }
    let variants: Vec<&Ident> = data.variants.iter().map(|variant| &variant.ident).collect();
    let kind = Ident::new(&number.to_string().to_uppercase(), number.span());
    let too_large = format!(
        "Sardonyx stores `{name}` as a `{number}`, and a variant has a number beyond it: add `#[repr(u32)]`, or another \
         that has room"
    );
    let declared = quote!(#path::declared);
    Ok(quote! {
        const _: () = {
            #(::core::assert!(
                #name::#variants as i128 >= #number::MIN as i128
                    && #name::#variants as i128 <= #number::MAX as i128,
                #too_large
            );)*
        };
        #[automatically_derived]
        impl #declared::KeyValues for #name {
            fn each(&self, each: &mut dyn ::core::ops::FnMut(#declared::schema::ValueRef<'_>)) {
                each(#declared::StoredField::to_value(self));
            }
        }
        #[automatically_derived]
        impl #declared::StoredField for #name {
            const KIND: #declared::schema::Type = #declared::schema::Type::#kind;
            type Key<'k> = &'k Self;

            fn to_value(&self) -> #declared::schema::ValueRef<'_> {
                #declared::schema::ValueRef::Int(match self {
                    #(#name::#variants => #name::#variants as i128,)*
                })
            }

            fn from_value(value: #declared::schema::ValueRef<'_>) -> ::core::option::Option<Self> {
                let #declared::schema::ValueRef::Int(number) = value else {
                    return ::core::option::Option::None;
                };
                #(if number == #name::#variants as i128 {
                    return ::core::option::Option::Some(#name::#variants);
                })*
                ::core::option::Option::None
            }
        }
    })
}
