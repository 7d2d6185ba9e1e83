//! Indexes of the methods `gin`, `gist` and `spgist`, which are in the catalogue alone.
//!
//! They are checked as PostgreSQL checks them, and kept in the notes of their table. The statement that makes one says by
//! a notice that no query reads it.

use super::index::{WrittenIndex, noted_class};
use super::keys::{KeyBy, KeyElement};
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::expression::Use;
use crate::expression::shown::shown_check;
use crate::indexed::index_expression;
use crate::operator_classes::OperatorClass;
use crate::parse::parse_expression;
use crate::relation::{ListedIndex, ListedOf, ListedPart, Relation};
use crate::result::{Complete, Notice, Tag};
use crate::values::zones::SessionZone;

/// The most indexes of a table that are in the catalogue alone: their numbers are behind those of the engine's indexes.
const LISTED_MAX: usize = 31;

/// An index to list.
pub(super) struct ListedToMake {
    name: String,
    index: ListedIndex,
}

impl ListedToMake {
    /// Lists it among the indexes of its table.
    ///
    /// # Errors
    /// The engine's errors.
    pub fn list(
        self,
        tx: &mut dyn DefineTarget,
        relation: &Relation,
    ) -> Result<Complete, SqlError> {
        if relation.notes.listed.len() >= LISTED_MAX {
            let text = format!(
                "a table has at most {LISTED_MAX} indexes of the methods gin, gist and spgist"
            );
            return Err(SqlError::new(code::PROGRAM_LIMIT, text));
        }
        let mut notes = relation.notes.clone();
        notes.table.clone_from(&relation.name);
        let method = self.index.method.name();
        let message = format!(
            "index \"{}\" with {method} is in the catalogue alone: queries do not use it",
            self.name
        );
        notes.listed.insert(self.name, self.index);
        put_notes(tx, relation.number, &notes)?;
        let complete = Complete::of(Tag::plain("CREATE INDEX"));
        Ok(complete.with_notice(Some(Notice::note("00000", message))))
    }
}

impl WrittenIndex {
    /// Converts it to an index that is in the catalogue alone. Its moments are read in a zone, or in UTC.
    ///
    /// # Errors
    /// Invalid SQL.
    pub fn listed(
        &self,
        relation: &Relation,
        zone: Option<&SessionZone>,
    ) -> Result<ListedToMake, SqlError> {
        let condition = self.condition.as_ref().map(|tree| {
            let (_, condition) = index_expression(relation, tree, Use::IndexWhere, zone)?;
            Ok::<_, SqlError>(condition.to_text())
        });
        let parts = self.elements.iter().map(|element| {
            let (of, kind) = match &element.by {
                KeyBy::Column(name) => {
                    let column = relation.column(name)?;
                    (ListedOf::Column(column.number), column.spec.kind)
                }
                KeyBy::Expression(tree) => {
                    let (spec, expression) = index_expression(relation, tree, Use::IndexKey, zone)?;
                    let kind = spec.kind;
                    (ListedOf::Expression(expression.to_text(), kind.oid()), kind)
                }
            };
            let class = noted_class(self.method, element, kind)?;
            Ok(ListedPart { of, class })
        });
        let parts = parts.collect::<Result<_, SqlError>>()?;
        let included = self.included.iter().map(|name| {
            let column = relation.column(name);
            Ok(column.map_err(|_| SqlError::unknown_column(name))?.number)
        });
        Ok(ListedToMake {
            name: self.name.clone(),
            index: ListedIndex {
                method: self.method,
                parts,
                included: included.collect::<Result<_, SqlError>>()?,
                condition: condition.transpose()?,
            },
        })
    }

    /// A listed index of a table.
    ///
    /// # Errors
    /// Fails if an expression cannot be parsed.
    pub fn listed_there(
        relation: &Relation,
        name: &str,
        index: &ListedIndex,
    ) -> Result<WrittenIndex, SqlError> {
        let (schema, enums) = (&relation.schema, relation.enums());
        let name_of = |number: usize| {
            let column = relation.numbered_column(number);
            column.map(|column| column.name.clone())
        };
        let elements = index.parts.iter().map(|part| {
            let by = match &part.of {
                ListedOf::Column(number) => KeyBy::Column(name_of(*number).unwrap_or_default()),
                ListedOf::Expression(text, _) => KeyBy::Expression(Box::new(parse_expression(
                    &shown_check(text, schema, &enums),
                )?)),
            };
            let class = part.class.as_ref();
            Ok(KeyElement {
                by,
                descending: false,
                has_other_nulls: false,
                collation: None,
                class: class.and_then(|name| OperatorClass::named(index.method, name)),
            })
        });
        let elements = elements.collect::<Result<_, SqlError>>()?;
        let condition = index.condition.as_ref();
        let condition = condition.map(|text| parse_expression(&shown_check(text, schema, &enums)));
        Ok(WrittenIndex {
            name: name.to_string(),
            method: index.method,
            unique: false,
            deferrable: false,
            nulls_equal: false,
            elements,
            condition: condition.transpose()?,
            included: (index.included.iter())
                .filter_map(|number| name_of(*number))
                .collect(),
        })
    }
}
