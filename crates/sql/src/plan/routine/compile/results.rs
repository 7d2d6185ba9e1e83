//! The results of functions: `OUT` parameters, and rows as values.

use super::super::code::{Place, Query, Shape, Step};
use super::super::kind_of;
use super::Compiling;
use crate::error::{SqlError, code};
use crate::expression::ScopeTable;
use crate::types::TypeSpec;
use crate::user_types::UserTypes;

impl Compiling<'_> {
    /// Gives the `OUT` parameters their places: `INOUT` ones have those of the parameters.
    pub(super) fn add_outs(
        &mut self,
        own: &mut ScopeTable,
        types: &UserTypes,
    ) -> Result<(), SqlError> {
        let definition = self.definition;
        let only_out = |at: usize| {
            let outs = definition.outs.iter();
            outs.filter(|out| !out.is_in && out.at < at).count()
        };
        for out in &definition.outs {
            let place = match out.is_in {
                true => out.at - only_out(out.at),
                false => {
                    let spec = TypeSpec::plain(kind_of(types, out.kind)?);
                    self.add(own, &out.name, spec)
                }
            };
            self.outs.push(place);
        }
        Ok(())
    }

    /// True if a type's name is that of a table.
    pub(super) fn is_table(&mut self, name: &str) -> bool {
        self.query(&format!("SELECT * FROM {name} LIMIT 0")).is_ok()
    }

    /// The places of the fields of a record, if a text is its name.
    pub(super) fn fields_named(&self, text: &str) -> Option<Vec<Place>> {
        let name = text.trim().to_ascii_lowercase();
        let tables = self.scopes.iter().rev().flat_map(|scope| &scope.tables);
        let mut records = tables.filter(|table| table.alias == name && table.is_aside);
        let places = records.next()?.columns.iter().map(|column| Place {
            at: column.place,
            spec: column.spec,
            not_null: None,
        });
        Some(places.collect())
    }

    /// A query of the fields of a row.
    pub(super) fn fields_of(&mut self, text: &str) -> Result<Query, SqlError> {
        self.query(&format!("SELECT ({text}).*"))
    }

    /// `RETURN` of a row.
    pub(super) fn give_one_row(&mut self, text: &str) -> Result<Step, SqlError> {
        let Shape::OneRow(columns) = self.shape.clone() else {
            return Ok(Step::Give(None));
        };
        if text.trim().eq_ignore_ascii_case("null") {
            return Ok(Step::Give(None));
        }
        let row = match self.fields_named(text) {
            Some(places) => {
                let kinds = places.iter().map(|place| place.spec.kind);
                if !kinds.eq(columns.iter().map(|column| column.kind)) {
                    return Err(other_row());
                }
                Step::GiveNext(places.iter().map(|place| place.at).collect())
            }
            None => {
                let query = self.fields_of(text)?;
                if query.columns.len() != columns.len() {
                    return Err(other_row());
                }
                Step::GiveNextOf(query)
            }
        };
        Ok(Step::Block(vec![row, Step::Give(None)], Vec::new()))
    }
}

#[cold]
fn other_row() -> SqlError {
    let text = "returned record type does not match expected record type";
    SqlError::new(code::DATATYPE_MISMATCH, text)
}
