//! Declared sequences: `CREATE SEQUENCE`, and the options of identity columns.

use super::create::{exists, is_taken};
use super::options::skipped;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::path::local;
use crate::relation::{kind, printed, put_object};
use crate::result::{Complete, Tag};
use crate::sequences::Sequence;
use crate::types::{OwnTypes, SqlType, TypeSpec};
use sqlparser::ast::{Expr as Tree, SequenceOptions};

/// Runs `CREATE SEQUENCE`.
///
/// # Errors
/// Invalid SQL.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    name: &str,
    if_not_exists: bool,
    options: &[SequenceOptions],
) -> Result<Complete, SqlError> {
    const WORD: &str = "CREATE SEQUENCE";
    tx.check_sequences()?;
    if is_taken(tx, name)? {
        return match if_not_exists {
            true => {
                let message = format!("relation \"{}\" already exists, skipping", local(name));
                Ok(skipped(WORD, code::DUPLICATE_TABLE, message))
            }
            false => Err(exists(name)),
        };
    }
    let sequence = sequence_of(options, SqlType::Int8)?;
    put_object(tx, kind::SEQUENCE, name, &printed(&sequence)?)?;
    Ok(Complete::of(Tag::plain(WORD)))
}

/// The sequence that options describe; `kind` is its type if they name none.
///
/// # Errors
/// `22023`, `42601` for invalid options; `0A000` for unsupported ones.
pub(super) fn sequence_of(
    options: &[SequenceOptions],
    kind: SqlType,
) -> Result<Sequence, SqlError> {
    let mut of = Sequence::new();
    let mut kind = kind;
    let (mut start, mut least, mut most) = (None, None, None);
    for option in options {
        match option {
            SequenceOptions::DataType(data_type) => {
                kind = TypeSpec::of_data_type(data_type, &OwnTypes)?.kind
            }
            SequenceOptions::IncrementBy(tree, _by) => of.increment = whole(tree)?,
            SequenceOptions::StartWith(tree, _with) => start = Some(whole(tree)?),
            SequenceOptions::MinValue(tree) => least = tree.as_ref().map(whole).transpose()?,
            SequenceOptions::MaxValue(tree) => most = tree.as_ref().map(whole).transpose()?,
            SequenceOptions::Cycle(is_no) => of.cycles = !*is_no,
            // Numbers are always reserved in advance.
            SequenceOptions::Cache(tree) => {
                let cache = whole(tree)?;
                if cache < 1 {
                    return Err(wrong(format!("CACHE ({cache}) must be greater than zero")));
                }
            }
            SequenceOptions::OwnedBy(None) => {}
            SequenceOptions::OwnedBy(Some(_)) => {
                return Err(SqlError::unsupported(
                    "a sequence that is OWNED BY a column is not supported: a serial or identity column has its own",
                ));
            }
        }
    }
    let (lowest, highest) = Sequence::range_of(kind)
        .ok_or_else(|| wrong("sequence type must be smallint, integer, or bigint"))?;
    of.kind = kind.oid();
    if of.increment == 0 {
        return Err(wrong("INCREMENT must not be zero"));
    }
    let rises = of.increment > 0;
    of.minimum = least.unwrap_or(if rises { 1 } else { lowest });
    of.maximum = most.unwrap_or(if rises { highest } else { -1 });
    for (word, bound) in [("MINVALUE", of.minimum), ("MAXVALUE", of.maximum)] {
        if !(lowest..=highest).contains(&bound) {
            let kind = kind.name();
            return Err(wrong(format!(
                "{word} ({bound}) is out of range for sequence data type {kind}"
            )));
        }
    }
    let (minimum, maximum) = (of.minimum, of.maximum);
    if minimum >= maximum {
        return Err(wrong(format!(
            "MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})"
        )));
    }
    of.start = start.unwrap_or(if rises { minimum } else { maximum });
    if of.start < minimum {
        return Err(wrong(format!(
            "START value ({}) cannot be less than MINVALUE ({minimum})",
            of.start
        )));
    }
    if of.start > maximum {
        return Err(wrong(format!(
            "START value ({}) cannot be greater than MAXVALUE ({maximum})",
            of.start
        )));
    }
    of.usable_to = of.start.into();
    Ok(of)
}

fn wrong(message: impl Into<String>) -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}

fn whole(tree: &Tree) -> Result<i64, SqlError> {
    let text = tree.to_string();
    text.parse()
        .map_err(|_| SqlError::syntax(format!("{text} is no whole number")))
}
