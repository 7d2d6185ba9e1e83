//! The options of `COPY`.

use crate::error::{SqlError, code};
use sqlparser::ast::{CopyLegacyCsvOption, CopyLegacyOption, CopyOption};

/// How rows are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Options {
    pub csv: bool,
    pub delimiter: char,
    pub null: String,
    pub header: bool,
    pub quote: char,
    pub escape: char,
}

impl Options {
    /// The options that a statement says.
    ///
    /// # Errors
    /// `0A000` for what is not supported.
    pub fn of(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<Options, SqlError> {
        let (mut csv, mut delimiter, mut null, mut header) = (false, None, None, false);
        let (mut quote, mut escape) = (None, None);
        let refused = |what: &str| {
            Err(SqlError::unsupported(format!(
                "COPY with {what} is not supported"
            )))
        };
        for option in options {
            match option {
                CopyOption::Format(name) => match name.value.to_ascii_lowercase().as_str() {
                    "text" => csv = false,
                    "csv" => csv = true,
                    other => return refused(&format!("the format {other}")),
                },
                // What is stored is stored: there is nothing to freeze.
                CopyOption::Freeze(_) => {}
                CopyOption::Delimiter(character) => delimiter = Some(*character),
                CopyOption::Null(text) => null = Some(text.clone()),
                CopyOption::Header(is_there) => header = *is_there,
                CopyOption::Quote(character) => quote = Some(*character),
                CopyOption::Escape(character) => escape = Some(*character),
                CopyOption::Encoding(name) if is_utf8(name) => {}
                other => return refused(&other.to_string()),
            }
        }
        for option in legacy {
            match option {
                CopyLegacyOption::Delimiter(character) => delimiter = Some(*character),
                CopyLegacyOption::Null(text) => null = Some(text.clone()),
                CopyLegacyOption::Csv(options) => {
                    csv = true;
                    for option in options {
                        match option {
                            CopyLegacyCsvOption::Header => header = true,
                            CopyLegacyCsvOption::Quote(character) => quote = Some(*character),
                            CopyLegacyCsvOption::Escape(character) => escape = Some(*character),
                            other => return refused(&other.to_string()),
                        }
                    }
                }
                CopyLegacyOption::Header => header = true,
                other => return refused(&other.to_string()),
            }
        }
        let delimiter = delimiter.unwrap_or(if csv { ',' } else { '\t' });
        let quote = quote.unwrap_or('"');
        if matches!(delimiter, '\n' | '\r') || csv && delimiter == quote {
            return Err(SqlError::new(
                code::INVALID_PARAMETER_VALUE,
                "the delimiter of COPY cannot be an end of line, or the quote",
            ));
        }
        Ok(Options {
            csv,
            delimiter,
            null: null.unwrap_or_else(|| if csv { String::new() } else { "\\N".into() }),
            header,
            quote,
            escape: escape.unwrap_or(quote),
        })
    }
}

fn is_utf8(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    matches!(name.as_str(), "utf8" | "unicode")
}
