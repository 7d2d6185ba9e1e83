//! The options of `COPY`.

use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::parse::ALL_COLUMNS;
use sqlparser::ast::Statement;
use sqlparser::ast::{CopyLegacyCsvOption, CopyLegacyOption, CopyOption};
use std::mem::discriminant;

/// The format of the rows of a `COPY`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CopyFormat {
    /// PostgreSQL's text: one line for each row, tabs between the values.
    #[default]
    Text,
    /// CSV.
    Csv,
    /// PostgreSQL's binary format.
    Binary,
}

/// The format of rows, with its characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Options {
    pub format: CopyFormat,
    pub delimiter: char,
    pub null: String,
    pub header: bool,
    pub quote: char,
    pub escape: char,
    /// The columns whose values are always in quotes.
    pub quoted: Vec<String>,
}

impl Options {
    /// True for CSV.
    pub fn is_csv(&self) -> bool {
        self.format == CopyFormat::Csv
    }

    /// True if the values of a column are always in quotes.
    pub fn quotes(&self, column: &str) -> bool {
        let mut quoted = self.quoted.iter();
        quoted.any(|name| name == column || name == ALL_COLUMNS)
    }

    /// Checks the columns that it names.
    ///
    /// # Errors
    /// `42703` for one that does not exist, `42P10` for one that is not copied.
    pub fn check_columns(
        &self,
        exists: impl Fn(&str) -> bool,
        is_copied: impl Fn(&str) -> bool,
    ) -> Result<(), SqlError> {
        for name in self.quoted.iter().filter(|name| *name != ALL_COLUMNS) {
            if !exists(name) {
                return Err(SqlError::unknown_column(name));
            }
            if !is_copied(name) {
                return Err(SqlError::new(
                    code::INVALID_COLUMN_REFERENCE,
                    format!("FORCE_QUOTE column \"{name}\" not referenced by COPY"),
                ));
            }
        }
        Ok(())
    }

    /// Compiles the options of a statement.
    ///
    /// # Errors
    /// `0A000` for unsupported options, `42601` and `22023` for invalid ones.
    pub fn of(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<Options, SqlError> {
        let (mut format, mut delimiter, mut null, mut header) =
            (CopyFormat::Text, None, None, None);
        let (mut quote, mut escape, mut quoted) = (None, None, Vec::new());
        let refused = |what: &str| {
            Err(SqlError::unsupported(format!(
                "COPY with {what} is not supported"
            )))
        };
        for option in options {
            match option {
                CopyOption::Format(name) => match name.value.to_ascii_lowercase().as_str() {
                    "text" => format = CopyFormat::Text,
                    "csv" => format = CopyFormat::Csv,
                    "binary" => format = CopyFormat::Binary,
                    other => {
                        return Err(SqlError::new(
                            code::INVALID_PARAMETER_VALUE,
                            format!("COPY format \"{other}\" not recognized"),
                        ));
                    }
                },
                // `FREEZE` has no effect.
                CopyOption::Freeze(_) => {}
                CopyOption::Delimiter(character) => delimiter = Some(*character),
                CopyOption::Null(text) => null = Some(text.clone()),
                CopyOption::Header(is_there) => header = Some(*is_there),
                CopyOption::Quote(character) => quote = Some(*character),
                CopyOption::Escape(character) => escape = Some(*character),
                CopyOption::ForceQuote(names) => quoted = names.iter().map(name_of).collect(),
                CopyOption::Encoding(name) if is_utf8(name) => {}
                other => return refused(&other.to_string()),
            }
        }
        for option in legacy {
            match option {
                CopyLegacyOption::Binary => format = CopyFormat::Binary,
                CopyLegacyOption::Delimiter(character) => delimiter = Some(*character),
                CopyLegacyOption::Null(text) => null = Some(text.clone()),
                CopyLegacyOption::Csv(options) => {
                    format = CopyFormat::Csv;
                    for option in options {
                        match option {
                            CopyLegacyCsvOption::Header => header = Some(true),
                            CopyLegacyCsvOption::Quote(character) => quote = Some(*character),
                            CopyLegacyCsvOption::Escape(character) => escape = Some(*character),
                            CopyLegacyCsvOption::ForceQuote(names) => {
                                quoted = names.iter().map(name_of).collect();
                            }
                            other => return refused(&other.to_string()),
                        }
                    }
                }
                CopyLegacyOption::Header => header = Some(true),
                other => return refused(&other.to_string()),
            }
        }
        check_once(options)?;
        let csv = format == CopyFormat::Csv;
        let given = [
            ("delimiter", delimiter.is_some(), true),
            ("null", null.is_some(), true),
            ("header", header.is_some(), true),
            ("quote", quote.is_some(), false),
            ("escape", escape.is_some(), false),
            ("force quote", !quoted.is_empty(), false),
        ];
        for (name, is_given, is_of_text) in given {
            if is_given && format == CopyFormat::Binary && is_of_text {
                let text = format!("cannot specify {} in BINARY mode", name.to_uppercase());
                return Err(match name {
                    "header" => SqlError::unsupported(text),
                    _ => SqlError::syntax(text),
                });
            }
            if is_given && !csv && !is_of_text {
                let text = format!("COPY {name} available only in CSV mode");
                return Err(SqlError::unsupported(text));
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
        let null = null.unwrap_or_else(|| if csv { String::new() } else { "\\N".into() });
        check_characters(csv, delimiter, &null, quote)?;
        Ok(Options {
            format,
            delimiter,
            null,
            header: header.unwrap_or(false),
            quote,
            escape: escape.unwrap_or(quote),
            quoted,
        })
    }
}

/// Checks that options in parentheses are not repeated.
fn check_once(options: &[CopyOption]) -> Result<(), SqlError> {
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let kind = discriminant(option);
        if options.clone().any(|other| discriminant(other) == kind) {
            return Err(SqlError::syntax("conflicting or redundant options"));
        }
    }
    Ok(())
}

/// Checks that values are distinguishable from delimiters, quotes and nulls.
fn check_characters(csv: bool, delimiter: char, null: &str, quote: char) -> Result<(), SqlError> {
    let invalid = |text: String| Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
    // These characters begin or continue an escape sequence.
    if !csv && "\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(delimiter) {
        return invalid(format!("COPY delimiter cannot be \"{delimiter}\""));
    }
    if null.contains(['\n', '\r']) {
        let text = "COPY null representation cannot use newline or carriage return";
        return invalid(text.into());
    }
    if null.contains(delimiter) {
        let text = "COPY delimiter must not appear in the NULL specification";
        return Err(SqlError::unsupported(text));
    }
    if csv && null.contains(quote) {
        let text = "CSV quote character must not appear in the NULL specification";
        return Err(SqlError::unsupported(text));
    }
    Ok(())
}

fn is_utf8(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    matches!(name.as_str(), "utf8" | "unicode")
}

/// The format of a `COPY`; text for other statements, and for those with invalid options.
pub(crate) fn format_of(statement: Option<&Statement>) -> CopyFormat {
    match statement {
        Some(Statement::Copy {
            options,
            legacy_options,
            ..
        }) => Options::of(options, legacy_options).map_or(CopyFormat::Text, |found| found.format),
        _ => CopyFormat::Text,
    }
}
