//! Rows of journals: `#[derive(Record)]` of a struct with `#[record(journal = "…")]`.

use crate::declared::OfField;
use crate::record::column_name;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{Error, FieldsNamed, LitStr, Path, Type};

/// The implementation of `JournalRow`. `of_a_table`: the struct's attributes have a key, or other arguments of a table.
///
/// # Errors
/// If the struct has no fields, or it or a field has arguments of a table.
pub(crate) fn expand(
    name: &Ident,
    fields: &FieldsNamed,
    journal: &LitStr,
    of_a_table: bool,
    path: &Path,
) -> Result<TokenStream, Error> {
    let only_appended = |span| {
        let text = format!(
            "rows of a journal, such as `{name}`, are appended and never looked for: Sardonyx keeps no key, index, default \
             or condition of them; leave all but `journal` out"
        );
        Err(Error::new(span, text))
    };
    if of_a_table {
        return only_appended(journal.span());
    }
    for field in &fields.named {
        if !OfField::read(field)?.is_empty() {
            return only_appended(field.span());
        }
    }
    let idents: Vec<&Ident> = fields.named.iter().flat_map(|field| &field.ident).collect();
    if idents.is_empty() {
        let text =
            format!("Sardonyx appends no rows without fields to a journal; give `{name}` one");
        return Err(Error::new(name.span(), text));
    }
    let types: Vec<&Type> = fields.named.iter().map(|field| &field.ty).collect();
    let names: Vec<String> = idents.iter().map(|ident| column_name(ident)).collect();
    let places: Vec<usize> = (0..idents.len()).collect();
    let count = idents.len();
    let declared = quote!(#path::declared);
    Ok(quote! {
        #[automatically_derived]
        impl #declared::JournalRow for #name {
            const NAME: &'static str = #journal;
            const PLAIN: ::core::option::Option<usize> = ::core::option::Option::None;

            fn to_row(
                &self,
            ) -> ::core::result::Result<
                ::std::borrow::Cow<'_, [u8]>,
                #declared::TableError,
            > {
                let format = <Self as #declared::FormattedRow>::format()?;
                let mut row = #declared::RowWriter::new(#count);
                #(row.set(#places, #declared::StoredField::to_value(&self.#idents));)*
                format.bytes(&row).map(::std::borrow::Cow::Owned)
            }

            fn from_row(bytes: &[u8]) -> ::core::result::Result<Self, #declared::TableError> {
                let format = <Self as #declared::FormattedRow>::format()?;
                let row = format.row(bytes)?;
                ::core::result::Result::Ok(#name {
                    #(#idents: {
                        let value = row.get_at(#places)?;
                        match <#types as #declared::StoredField>::from_value(value) {
                            ::core::option::Option::Some(value) => value,
                            ::core::option::Option::None => {
                                return ::core::result::Result::Err(
                                    #declared::no_value_of_field(#journal, #names, value),
                                );
                            }
                        }
                    },)*
                })
            }
        }

        #[automatically_derived]
        impl #declared::FormattedRow for #name {
            const FIELDS: &'static [(&'static str, #declared::schema::Type, bool)] = &[#((
                #names,
                <#types as #declared::StoredField>::KIND,
                <#types as #declared::StoredField>::NULLABLE,
            ),)*];

            fn made() -> &'static ::std::sync::OnceLock<#declared::JournalFormat> {
                static MADE: ::std::sync::OnceLock<#declared::JournalFormat> =
                    ::std::sync::OnceLock::new();
                &MADE
            }
        }
    })
}
