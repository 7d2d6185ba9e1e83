//! The types of a statement's parameters, found while it is compiled.

use super::moments::Moments;
use crate::error::{SqlError, code};
use crate::types::SqlType;
use crate::user_types::TypeNames;
use crate::values::zones::SessionZone;
use std::sync::Arc;

/// The most parameters of a statement: the limit of PostgreSQL's protocol.
pub(crate) const PARAMETERS_MAX: usize = 65_535;

/// The known types of parameters: given by the client that prepares the statement, or found at their first place in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters {
    types: Vec<Option<SqlType>>,
    /// The names of a procedure's parameters, which a name means if no column has it.
    names: Arc<[String]>,
    /// The types that the statement may name, beside PostgreSQL's own.
    type_names: TypeNames,
    /// The literals of moments, if they are noted for a kept text.
    moments: Option<Moments>,
    /// True if the database keeps the text, which an earlier version may have accepted.
    is_kept: bool,
    /// True while names of columns are those that an earlier version gave, in a kept text.
    has_older_names: bool,
    /// The constructs around that compile an operand several times.
    repeating: usize,
}

/// The most of them in one another: each multiplies the work of those inside by up to four.
const REPEATING_MAX: usize = 8;

impl Parameters {
    pub fn given(types: &[Option<SqlType>]) -> Self {
        let known = |kind: &Option<SqlType>| kind.filter(|kind| *kind != SqlType::Unknown);
        Parameters {
            types: types.iter().map(known).collect(),
            ..Parameters::default()
        }
    }

    /// Begins a construct that compiles an operand several times. [`Parameters::end_repeating`] ends it.
    ///
    /// # Errors
    /// `54001` if it is in too many others: their work would be exponential in their number.
    pub fn begin_repeating(&mut self) -> Result<(), SqlError> {
        if self.repeating >= REPEATING_MAX {
            let text = format!("BETWEEN in more than {REPEATING_MAX} others is not supported");
            return Err(SqlError::new(code::TOO_COMPLEX, text)
                .hint("Compute the value in a query in FROM, and compare that."));
        }
        self.repeating += 1;
        Ok(())
    }

    /// Ends such a construct.
    pub fn end_repeating(&mut self) {
        self.repeating -= 1;
    }

    /// Parameters of a text that the database keeps, if it `is_kept`: a view's, or a procedure's.
    pub fn of_kept_text(mut self, is_kept: bool) -> Self {
        self.is_kept = is_kept;
        self
    }

    /// Sets that the database keeps the text. Returns it as it was.
    pub fn set_kept(&mut self, is_kept: bool) -> bool {
        std::mem::replace(&mut self.is_kept, is_kept)
    }

    /// True if the database keeps the text.
    pub fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Sets that columns have the names that an earlier version gave. Returns it as it was.
    pub fn set_older_names(&mut self, has_older_names: bool) -> bool {
        std::mem::replace(&mut self.has_older_names, has_older_names)
    }

    /// True if columns have the names that an earlier version gave.
    pub fn has_older_names(&self) -> bool {
        self.has_older_names
    }

    /// Adds the types that the statement may name.
    pub fn naming(mut self, types: TypeNames) -> Self {
        self.type_names = types;
        self
    }

    /// Notes the literals of moments.
    pub fn noting_moments(mut self) -> Self {
        self.moments = Some(Moments::default());
        self
    }

    /// The literals of moments, if they are noted.
    pub fn moments(&mut self) -> Option<&mut Moments> {
        self.moments.as_mut()
    }

    /// The noted literals of moments.
    pub fn into_moments(self) -> Moments {
        self.moments.unwrap_or_default()
    }

    /// Sets the types that the statement may name.
    pub fn set_types(&mut self, types: TypeNames) {
        self.type_names = types;
    }

    /// The session's time zone; UTC if there is none.
    pub fn zone(&self) -> Option<&SessionZone> {
        self.type_names.zone()
    }

    /// The types that the statement may name.
    pub fn types(&self) -> &TypeNames {
        &self.type_names
    }

    pub fn named(mut self, names: Arc<[String]>) -> Self {
        self.names = names;
        self
    }

    pub fn of_name(&self, name: &str) -> Option<(usize, SqlType)> {
        let number = self.names.iter().position(|there| there == name)?;
        let kind = self.types.get(number).copied().flatten();
        Some((number, kind.unwrap_or(SqlType::Unknown)))
    }

    /// The number, from 0, of `$1`, and its type.
    ///
    /// # Errors
    /// `42P02` if it is no number from 1.
    pub fn of_placeholder(&mut self, text: &str) -> Result<(usize, SqlType), SqlError> {
        let Some(digits) = text.strip_prefix('$') else {
            return Err(SqlError::syntax(format!(
                "syntax error at or near \"{text}\""
            )));
        };
        let number = digits.parse().ok();
        let number = match number {
            Some(number @ 1..=PARAMETERS_MAX) => number - 1,
            _ => {
                return Err(SqlError::new(
                    code::UNKNOWN_PARAMETER,
                    format!("there is no parameter {text}"),
                ));
            }
        };
        if self.types.len() <= number {
            self.types.resize(number + 1, None);
        }
        Ok((number, self.types[number].unwrap_or(SqlType::Unknown)))
    }

    /// The type of a parameter, as far as it is known.
    pub fn kind_of(&self, number: usize) -> SqlType {
        let known = self.types.get(number).copied().flatten();
        known.unwrap_or(SqlType::Unknown)
    }

    /// Gives a parameter a type, if it has none yet.
    pub fn set(&mut self, number: usize, kind: SqlType) {
        if let Some(place @ None) = self.types.get_mut(number) {
            *place = Some(kind);
        }
    }

    /// The types of all parameters: text for those without another.
    pub fn decided(&self) -> Vec<SqlType> {
        let types = self.types.iter();
        types.map(|kind| kind.unwrap_or(SqlType::Text)).collect()
    }
}
