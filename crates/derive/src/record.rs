//! `#[derive(Record)]`: the implementation that it writes, and the types that it refuses. Works on `proc_macro2` tokens, so
//! that the refusals are tested like any other function.

use crate::declared::{OfField, Said};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Path, Token, Type, parse_quote};

/// The options in `#[record(…)]` on a struct.
struct Options {
    table: Option<LitStr>,
    journal: Option<LitStr>,
    key: Vec<Ident>,
    path: Path,
    schema: Said,
}

/// The implementation for a struct (`Record`) or an enum (`StoredField`).
///
/// # Errors
/// Says why the type cannot be stored, and what to do.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream, Error> {
    let options = options(input)?;
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new(
            parameter.span(),
            format!(
                "Sardonyx cannot store the generic type `{}`: a table has one set of columns; write the type out",
                input.ident
            ),
        ));
    }
    match &input.data {
        Data::Struct(data) => expand_struct(&input.ident, &data.fields, &options),
        Data::Enum(data) => crate::enumeration::expand(input, data, &options.path),
        Data::Union(data) => Err(Error::new(
            data.union_token.span(),
            format!(
                "Sardonyx cannot store the union `{}`: which of its fields counts is not known; use an `Option` for each",
                input.ident
            ),
        )),
    }
}

fn expand_struct(
    name: &Ident,
    fields: &Fields,
    Options {
        table,
        journal,
        key,
        path,
        schema,
    }: &Options,
) -> Result<TokenStream, Error> {
    let Fields::Named(named) = fields else {
        let text = format!(
            "Sardonyx cannot store `{name}`: columns have names; give its fields names: `struct {name} {{ … }}`"
        );
        return Err(Error::new(name.span(), text));
    };
    if let Some(journal) = journal {
        let of_a_table = table.is_some() || !key.is_empty() || !schema.is_empty();
        for field in &named.named {
            refuse_field(field, false)?;
        }
        return crate::journal::expand(name, named, journal, of_a_table, path);
    }
    let help = format!("`#[record(table = \"…\", key = field)]` on `{name}`");
    let table = table.as_ref().ok_or_else(|| {
        let text = format!("Sardonyx does not know which table `{name}` is of: say {help}");
        Error::new(name.span(), text)
    })?;
    if key.is_empty() {
        let text = format!(
            "Sardonyx does not know the primary key of `{name}`: say {help}, or `key = (first, second)`"
        );
        return Err(Error::new(name.span(), text));
    }
    let idents: Vec<&Ident> = named.named.iter().flat_map(|field| &field.ident).collect();
    for part in key {
        if !idents
            .iter()
            .any(|ident| column_name(ident) == column_name(part))
        {
            let text = format!(
                "`{name}` has no field `{part}` for Sardonyx to find its records by; name one of its fields"
            );
            return Err(Error::new(part.span(), text));
        }
    }
    for field in &named.named {
        let key_field = field.ident.as_ref().is_some_and(|ident| {
            key.iter()
                .any(|part| column_name(part) == column_name(ident))
        });
        refuse_field(field, key_field)?;
    }
    schema.check(name, &idents)?;
    let mut of_fields = Vec::new();
    for field in &named.named {
        of_fields.push(OfField::read(field)?);
    }
    let said = schema.tokens();
    let of_columns = of_fields.iter().map(OfField::of_column);
    let constraints = of_fields
        .iter()
        .zip(&idents)
        .map(|(field, ident)| field.constraints(&table.value(), &column_name(ident)));
    let (of_columns, constraints): (Vec<_>, Vec<_>) = (of_columns.collect(), constraints.collect());
    let types: Vec<&Type> = named.named.iter().map(|field| &field.ty).collect();
    let names: Vec<String> = idents.iter().map(|ident| column_name(ident)).collect();
    let keys: Vec<String> = key.iter().map(column_name).collect();
    let count = idents.len();
    let places = 0..count;
    let write = places.clone();
    let in_key = keys.iter().filter_map(|part| {
        let number = names.iter().position(|name| name == part)?;
        Some(types[number])
    });
    let in_key: Vec<&Type> = in_key.collect();
    let declared = quote!(#path::declared);
    let key_parts = 0..keys.len();
    let parts: Vec<Ident> = key_parts.map(|part| format_ident!("part_{part}")).collect();
    let (key_type, key_pattern) = match &in_key[..] {
        [only] => (
            quote!(<#only as #declared::StoredField>::Key<'k>),
            quote!(#(#parts)*),
        ),
        _ => (
            quote!((#(<#in_key as #declared::StoredField>::Key<'k>,)*)),
            quote!((#(#parts,)*)),
        ),
    };
    Ok(quote! {
        #[automatically_derived]
        impl #declared::Record for #name {
            type Key<'k> = #key_type;
            type Ref<'a> = Self;
            type Columns = [u16; #count];
            const TABLE: &'static str = #table;
            const PLAIN: ::core::option::Option<#declared::PlainLayout> =
                ::core::option::Option::None;
            const FIELDS: &'static [(&'static str, #declared::schema::Type, bool)] = &[#((
                #names,
                <#types as #declared::StoredField>::KIND,
                <#types as #declared::StoredField>::NULLABLE,
            ),)*];

            fn declared() -> #declared::schema::SchemaBuilder {
                let mut schema = #declared::schema::Schema::new();
                #(
                    schema = schema.column(#names, <#types as #declared::StoredField>::KIND);
                    if <#types as #declared::StoredField>::NULLABLE {
                        schema = schema.nullable();
                    }
                    #of_columns
                )*
                schema = schema.primary_key([#(#keys),*]);
                #said
                #(#constraints)*
                schema
            }

            fn columns_in(
                schema: &#declared::schema::Schema,
                table: &str,
            ) -> ::core::result::Result<[u16; #count], #declared::TableError> {
                #declared::find_columns(
                    <Self as #declared::Record>::TABLE,
                    <Self as #declared::Record>::FIELDS,
                    schema,
                    table,
                )
            }

            fn plain_bytes(&self) -> &[u8] {
                &[]
            }

            fn plain_key<'k>(_: &'k Self::Key<'_>) -> &'k [u8] {
                &[]
            }

            fn key_values(
                key: &Self::Key<'_>,
                each: &mut dyn ::core::ops::FnMut(#declared::schema::ValueRef<'_>),
            ) {
                let #key_pattern = key;
                #(#declared::KeyValues::each(#parts, each);)*
            }

            fn write_row<'v>(&'v self, columns: &[u16; #count], row: &mut #declared::RowWriter<'v>) {
                #(row.set(
                    ::core::convert::From::from(columns[#write]),
                    #declared::StoredField::to_value(&self.#idents),
                );)*
            }

            fn borrow_row<'a>(
                found: #declared::Found<'a>,
                columns: &[u16; #count],
            ) -> ::core::result::Result<Self, #declared::TableError> {
                <Self as #declared::Record>::copy_row(found, columns)
            }

            fn read_row<P: #declared::PageRead + ?Sized>(
                columns: &[u16; #count],
                row: &#declared::RowRef<'_, P>,
            ) -> ::core::result::Result<Self, #declared::TableError>
            where
                #declared::TableError: ::core::convert::From<P::Error>,
            {
                ::core::result::Result::Ok(#name {
                    #(#idents: {
                        let column = ::core::convert::From::from(columns[#places]);
                        let value = row.get_at(column)?;
                        match <#types as #declared::StoredField>::from_value(value) {
                            ::core::option::Option::Some(value) => value,
                            ::core::option::Option::None => {
                                return ::core::result::Result::Err(
                                    #declared::no_value_of_field(#table, #names, value),
                                );
                            }
                        }
                    },)*
                })
            }
        }
    })
}

/// A field's name without `r#`.
pub(crate) fn column_name(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_string).unwrap_or(name)
}

fn options(input: &DeriveInput) -> Result<Options, Error> {
    let mut options = Options {
        table: None,
        journal: None,
        key: Vec::new(),
        path: parse_quote!(::sardonyx),
        schema: Said::default(),
    };
    for attribute in &input.attrs {
        if !attribute.path().is_ident("record") {
            continue;
        }
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("table") {
                options.table = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("journal") {
                options.journal = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("crate") {
                options.path = meta.value()?.parse()?;
            } else if meta.path.is_ident("key") {
                let value = meta.value()?;
                if value.peek(syn::token::Paren) {
                    let parts;
                    syn::parenthesized!(parts in value);
                    let parts = parts.parse_terminated(Ident::parse_any, Token![,])?;
                    options.key = parts.into_iter().collect();
                } else {
                    options.key = vec![Ident::parse_any(value)?];
                }
            } else if !options.schema.take(&meta)? {
                let text = "Sardonyx knows `table = \"…\"`, `key = field` or `key = (first, second)`, `ordered`, \
                            `index(\"…\", field, field desc)`, `unique(\"…\", field)`, `check(\"…\", \"condition\")`, \
                            `journal = \"…\"` in the place of these, and `crate = path`";
                return Err(meta.error(text));
            }
            Ok(())
        })?;
    }
    Ok(options)
}

use syn::ext::IdentExt;

/// Refuses what no column can be, by what its type is called, where that is certain.
fn refuse_field(field: &syn::Field, in_key: bool) -> Result<(), Error> {
    let name = field.ident.as_ref().map(column_name).unwrap_or_default();
    let wrong = |text: String| Err(Error::new(field.ty.span(), text));
    match &plain_type(&field.ty) {
        Type::Reference(_) | Type::Ptr(_) => wrong(format!(
            "Sardonyx cannot store the reference in field `{name}`: what it points to is not in the database; keep the \
             value itself, such as a `String`"
        )),
        Type::Tuple(_) => wrong(format!(
            "Sardonyx cannot store the tuple in field `{name}`: columns have names; make a field of each part"
        )),
        Type::Path(path) if in_key && last(&path.path) == "Option" => wrong(format!(
            "field `{name}` is of the key, by which Sardonyx finds the record, so it cannot be an `Option`"
        )),
        _ => Ok(()),
    }
}

/// A type without the group in which a macro put it.
pub(crate) fn plain_type(mut kind: &Type) -> &Type {
    while let Type::Group(group) = kind {
        kind = &group.elem;
    }
    kind
}

pub(crate) fn last(path: &Path) -> String {
    let last = path.segments.last();
    last.map(|segment| segment.ident.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(source: &str) -> String {
        let input: DeriveInput = syn::parse_str(source).unwrap();
        match expand(&input) {
            Ok(tokens) => panic!("not refused: {source}\n{tokens}"),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[test]
    fn every_refusal_names_sardonyx_and_the_remedy() {
        for (source, remedy) in [
            (
                "#[record(table = \"t\", key = id)] struct A(u64);",
                "give its fields names",
            ),
            ("#[record(key = id)] struct A { id: u64 }", "table = "),
            (
                "#[record(table = \"t\")] struct A { id: u64 }",
                "key = (first, second)",
            ),
            (
                "#[record(table = \"t\", key = no)] struct A { id: u64 }",
                "no field `no`",
            ),
            (
                "#[record(table = \"t\", keys = id)] struct A { id: u64 }",
                "`key = field`",
            ),
            (
                "#[record(table = \"t\", key = id)] struct A<T> { id: T }",
                "write the type out",
            ),
            (
                "#[record(table = \"t\", key = id)] struct A { id: u64, x: &'static str }",
                "`String`",
            ),
            (
                "#[record(table = \"t\", key = id)] struct A { id: u64, x: (u8, u8) }",
                "each part",
            ),
            (
                "#[record(table = \"t\", key = id)] struct A { id: Option<u64> }",
                "cannot be an `Option`",
            ),
            (
                "#[record(table = \"t\", key = id, index(\"i\", no))] struct A { id: u64 }",
                "no field `no`",
            ),
            (
                "#[record(table = \"t\", key = id, index(\"i\"))] struct A { id: u64 }",
                "its fields",
            ),
            (
                "#[record(table = \"t\", key = id, index(\"i\", id asc))] struct A { id: u64 }",
                "`field desc`",
            ),
            (
                "#[record(table = \"t\", key = id)] struct A { #[field(defaults = 3)] id: u64 }",
                "`default = value`",
            ),
            (
                "#[record(table = \"t\", key = id)] struct A { #[field(references(\"b\"))] id: u64 }",
                "`references(\"table\", column)`",
            ),
            (
                "#[record(table = \"t\", key = id)] struct A { #[field(references(\"b\", id, on))] id: u64 }",
                "`cascade`",
            ),
            (
                "#[record(journal = \"j\", table = \"t\")] struct A { id: u64 }",
                "all but `journal`",
            ),
            (
                "#[record(journal = \"j\", key = id)] struct A { id: u64 }",
                "all but `journal`",
            ),
            (
                "#[record(journal = \"j\", ordered)] struct A { id: u64 }",
                "all but `journal`",
            ),
            (
                "#[record(journal = \"j\")] struct A { #[field(default = 3)] id: u64 }",
                "all but `journal`",
            ),
            (
                "#[record(journal = \"j\")] struct A { #[field(check = \"id > 3\")] id: u64 }",
                "all but `journal`",
            ),
            (
                "#[record(journal = \"j\")] struct A { #[field(references(\"b\", id))] id: u64 }",
                "all but `journal`",
            ),
            ("#[record(journal = \"j\")] struct A {}", "give `A` one"),
            (
                "#[record(journal = \"j\")] struct A { id: u64, x: (u8, u8) }",
                "each part",
            ),
            ("enum A { X, Y(u8) }", "columns of their own"),
            ("enum A {}", "no variants"),
            ("union A { x: u8 }", "`Option`"),
        ] {
            let message = refusal(source);
            assert!(message.contains(remedy), "{source}: {message}");
            assert!(message.contains("Sardonyx"), "{source}: {message}");
        }
    }

    #[test]
    fn a_struct_and_an_enum_are_accepted() {
        let input = "#[record(table = \"t\", key = (a, r#type))] struct A { a: u64, r#type: String, x: Option<bool> }";
        let tokens = expand(&syn::parse_str(input).unwrap()).unwrap().to_string();
        assert!(tokens.contains("\"type\""), "{tokens}");
        let input = "#[record(table = \"t\", key = a, ordered, index(\"i\", b desc, a), unique(\"u\", b), \
             check(\"c\", \"a < 9\"))] struct A { a: u64, #[field(default = -1, check = \"b < 3\", \
             references(\"o\", id, cascade))] b: i64 }";
        let tokens = expand(&syn::parse_str(input).unwrap()).unwrap().to_string();
        for said in [
            "\"b desc\" , \"a\"",
            "t_b_check",
            "t_b_fkey",
            "cascade ()",
            "- 1",
            "\"a < 9\"",
        ] {
            assert!(tokens.contains(said), "{said}: {tokens}");
        }
        let tokens = expand(&syn::parse_str("#[repr(i16)] enum E { X = -3, Y }").unwrap());
        assert!(tokens.unwrap().to_string().contains("Type :: I16"));
    }
}
