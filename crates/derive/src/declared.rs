//! The part of a table's schema beside its columns that `#[derive(Record)]` reads: indexes, conditions, references,
//! defaults.

use crate::record::column_name;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::{Error, Expr, LitStr, Token};

/// An index: its name, its columns as a schema takes them, and the fields that they are.
struct Index {
    name: LitStr,
    columns: Vec<String>,
    fields: Vec<Ident>,
    unique: bool,
}

/// The schema's declarations in `#[record(…)]`.
#[derive(Default)]
pub(crate) struct Said {
    ordered: bool,
    indexes: Vec<Index>,
    checks: Vec<(LitStr, LitStr)>,
}

impl Said {
    /// Takes an argument of `#[record(…)]`, if it is one of the schema.
    pub fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<bool, Error> {
        if meta.path.is_ident("ordered") {
            self.ordered = true;
        } else if meta.path.is_ident("index") || meta.path.is_ident("unique") {
            let arguments;
            syn::parenthesized!(arguments in meta.input);
            let unique = meta.path.is_ident("unique");
            self.indexes.push(index(&arguments, unique)?);
        } else if meta.path.is_ident("check") {
            let arguments;
            syn::parenthesized!(arguments in meta.input);
            let name: LitStr = arguments.parse()?;
            arguments.parse::<Token![,]>()?;
            self.checks.push((name, arguments.parse()?));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// True if it says nothing.
    pub fn is_empty(&self) -> bool {
        !self.ordered && self.indexes.is_empty() && self.checks.is_empty()
    }

    /// Refuses an index of what is no field.
    pub fn check(&self, of: &Ident, fields: &[&Ident]) -> Result<(), Error> {
        for part in self.indexes.iter().flat_map(|index| &index.fields) {
            let is_it = |field: &&&Ident| column_name(field) == column_name(part);
            if fields.iter().find(is_it).is_none() {
                let text = format!(
                    "`{of}` has no field `{part}` for Sardonyx to index; name one of its fields"
                );
                return Err(Error::new(part.span(), text));
            }
        }
        Ok(())
    }

    /// Adds it to `schema`, behind the primary key.
    pub fn tokens(&self) -> TokenStream {
        let ordered = self.ordered.then(|| quote!(schema = schema.ordered();));
        let indexes = self.indexes.iter().map(|index| {
            let (name, columns) = (&index.name, &index.columns);
            let unique = index.unique.then(|| quote!(.unique()));
            quote!(schema = schema.index(#name, [#(#columns),*]).ordered() #unique;)
        });
        let checks = self.checks.iter();
        let checks =
            checks.map(|(name, condition)| quote!(schema = schema.check(#name, #condition);));
        quote!(#ordered #(#indexes)* #(#checks)*)
    }
}

fn index(arguments: ParseStream<'_>, unique: bool) -> Result<Index, Error> {
    let name: LitStr = arguments.parse()?;
    let mut index = Index {
        name,
        columns: Vec::new(),
        fields: Vec::new(),
        unique,
    };
    while arguments.peek(Token![,]) {
        arguments.parse::<Token![,]>()?;
        if arguments.is_empty() {
            break;
        }
        let field = Ident::parse_any(arguments)?;
        let mut column = column_name(&field);
        if !arguments.is_empty() && !arguments.peek(Token![,]) {
            let order = Ident::parse_any(arguments)?;
            if order != "desc" {
                let text = "Sardonyx knows `field`, and `field desc` for descending order";
                return Err(Error::new(order.span(), text));
            }
            column.push_str(" desc");
        }
        index.columns.push(column);
        index.fields.push(field);
    }
    if index.fields.is_empty() {
        let text =
            "an index of Sardonyx has a name and its fields: `index(\"by_date\", date, code)`";
        return Err(Error::new(index.name.span(), text));
    }
    Ok(index)
}

/// A reference: the table, its column, whether rows are deleted with the one that they refer to.
struct Reference {
    table: LitStr,
    column: Ident,
    cascades: bool,
}

/// The declarations of a column in `#[field(…)]`.
#[derive(Default)]
pub(crate) struct OfField {
    default: Option<Expr>,
    check: Option<LitStr>,
    reference: Option<Reference>,
}

impl OfField {
    /// Reads the attributes of one field.
    pub fn read(field: &syn::Field) -> Result<Self, Error> {
        let mut of = OfField::default();
        for attribute in field.attrs.iter().filter(|a| a.path().is_ident("field")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("default") {
                    of.default = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("check") {
                    of.check = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("references") {
                    let arguments;
                    syn::parenthesized!(arguments in meta.input);
                    of.reference = Some(reference(&arguments)?);
                } else {
                    let text = "Sardonyx knows `default = value`, `check = \"condition\"` and `references(\"table\", column)` of \
                                a field";
                    return Err(meta.error(text));
                }
                Ok(())
            })?;
        }
        Ok(of)
    }

    /// True if it says nothing.
    pub fn is_empty(&self) -> bool {
        self.default.is_none() && self.check.is_none() && self.reference.is_none()
    }

    /// Adds to `schema` what is said of its last column.
    pub fn of_column(&self) -> TokenStream {
        let default = self.default.iter();
        quote!(#(schema = schema.default_value(#default);)*)
    }

    /// Adds to `schema` the constraints of a column, with the names that PostgreSQL gives them.
    pub fn constraints(&self, table: &str, column: &str) -> TokenStream {
        let check = self.check.iter().map(|condition| {
            let name = format!("{table}_{column}_check");
            quote!(schema = schema.check(#name, #condition);)
        });
        let reference = self.reference.iter().map(|reference| {
            let name = format!("{table}_{column}_fkey");
            let (to, referenced) = (&reference.table, column_name(&reference.column));
            let cascade = reference.cascades.then(|| quote!(.cascade()));
            quote!(schema = schema.foreign_key(#name, [#column], #to, [#referenced]) #cascade;)
        });
        quote!(#(#check)* #(#reference)*)
    }
}

fn reference(arguments: ParseStream<'_>) -> Result<Reference, Error> {
    let table: LitStr = arguments.parse()?;
    if arguments.is_empty() {
        let text =
            "Sardonyx wants the column that a reference is to: `references(\"table\", column)`";
        return Err(Error::new(table.span(), text));
    }
    arguments.parse::<Token![,]>()?;
    let column = Ident::parse_any(arguments)?;
    let mut cascades = false;
    if arguments.peek(Token![,]) {
        arguments.parse::<Token![,]>()?;
        let action = Ident::parse_any(arguments)?;
        if action != "cascade" {
            let text = "Sardonyx knows `cascade` of a reference: rows are deleted with the one that they refer to";
            return Err(Error::new(action.span(), text));
        }
        cascades = true;
    }
    Ok(Reference {
        table,
        column,
        cascades,
    })
}
