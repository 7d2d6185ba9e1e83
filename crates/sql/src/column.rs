//! The columns of results.

use crate::text::encode_text_in;
use crate::types::{SqlType, TypeSpec};
use crate::values::zones::SessionZone;
use sardonyx::schema::ValueRef;

/// Its description goes to the client before the rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultColumn {
    /// Of the table's column, or given by `AS`.
    pub name: String,
    /// Decides the form of each value.
    pub spec: TypeSpec,
    /// The number of the table that it is a column of, and its number there from 1; both 0 if it is none.
    pub table: u32,
    /// See `table`.
    pub column: i16,
}

impl ResultColumn {
    /// True if a client gets its texts as they are stored.
    #[inline]
    pub fn is_shown_as_stored(&self, zone: Option<&SessionZone>) -> bool {
        zone.is_none() && self.spec.kind != SqlType::RecordArray
    }

    /// Writes a value of it as a text, in a session's time zone, which is UTC if there is none. A null writes nothing.
    pub fn encode_text(&self, value: &ValueRef<'_>, zone: Option<&SessionZone>, out: &mut String) {
        encode_text_in(self.spec.kind, value, zone, out);
    }
}
