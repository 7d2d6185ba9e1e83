//! Plain data: the structs of `record!` and `plain!`, with the derives that they get, and the fields that are refused.

use crate::record::{column_name, last, plain_type};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Type};

/// The struct of `record!` and `plain!`, with the derives that make plain data of it; or one error for each field that
/// no plain data can be.
///
/// # Errors
/// Names the field and the remedy.
pub(crate) fn plain(item: TokenStream) -> Result<TokenStream, Error> {
    // The compiler refuses all but structs with fields.
    if let Ok(input) = syn::parse2::<DeriveInput>(item.clone())
        && let Data::Struct(data) = &input.data
    {
        let mut refused: Option<Error> = None;
        for field in &data.fields {
            if let Err(error) = refuse_plain(field) {
                match &mut refused {
                    Some(refused) => refused.combine(error),
                    None => refused = Some(error),
                }
            }
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
    }
    Ok(quote! {
        #[derive(
            ::core::clone::Clone,
            ::core::marker::Copy,
            ::sardonyx::low_level::Resident,
        )]
        #[repr(C)]
        #item
    })
}

/// Refuses a field that is not plain data, by what its type is called, where that is certain.
fn refuse_plain(field: &syn::Field) -> Result<(), Error> {
    let name = field.ident.as_ref().map(column_name).unwrap_or_default();
    let derive = "or declare the struct with `#[derive(sardonyx::Record)] #[record(table = \"…\", key = …)]`, whose \
                  fields may be of any length";
    let kind = plain_type(&field.ty);
    let called = kind.to_token_stream().to_string().replace(' ', "");
    let why = match kind {
        Type::Path(path) => match &*last(&path.path) {
            "String" | "Vec" | "Box" | "Rc" | "Arc" | "Cow" | "HashMap" | "BTreeMap"
            | "HashSet" | "BTreeSet" => format!(
                "its contents stand elsewhere, and a `record!` is stored as it is: use an array such as `[u8; 32]`, {derive}"
            ),
            "Option" => {
                format!("not every byte of it has a meaning: use a value that means none, {derive}")
            }
            "bool" | "char" => {
                format!("not every bit pattern is one of its values: use `u8` or `u32`, {derive}")
            }
            "u128" | "i128" => {
                format!("it is aligned to 16 bytes, records to 8: use `[u64; 2]`, {derive}")
            }
            _ => return Ok(()),
        },
        Type::Reference(_) | Type::Ptr(_) => {
            format!("what it points to is not in the database: keep the value itself, {derive}")
        }
        Type::Tuple(tuple) if !tuple.elems.is_empty() => {
            format!("the order of its parts is the compiler's: use a struct of `plain!`, {derive}")
        }
        _ => return Ok(()),
    };
    let text = format!("Sardonyx cannot store field `{name}` of type `{called}`: {why}");
    Err(Error::new(field.ty.span(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_with_a_field_that_is_not_plain_is_one_error() {
        let of = |source: &str| plain(source.parse().unwrap());
        for (field, remedy) in [
            ("String", "[u8; 32]"),
            ("std::string::String", "derive(sardonyx::Record)"),
            ("Vec<u8>", "derive(sardonyx::Record)"),
            ("Option<u64>", "means none"),
            ("bool", "`u8`"),
            ("u128", "`[u64; 2]`"),
            ("&'static str", "the value itself"),
            ("(u8, u8)", "`plain!`"),
        ] {
            let error = of(&format!("struct A {{ id: u64, name: {field} }}")).unwrap_err();
            assert_eq!(error.clone().into_iter().count(), 1);
            let text = error.to_string();
            assert!(text.contains(remedy) && text.contains("Sardonyx"), "{text}");
            assert!(text.contains("`name`"), "{text}");
        }
        assert_eq!(
            of("struct A { a: String, b: bool }")
                .unwrap_err()
                .into_iter()
                .count(),
            2
        );
        assert!(of("struct A { id: u64, name: [u8; 8] }").is_ok());
    }
}
