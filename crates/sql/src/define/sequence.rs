//! The options of sequences: of `CREATE` and `ALTER SEQUENCE`, and of identities.

use crate::error::{SqlError, code};
use crate::sequences::Sequence;
use crate::types::{OwnTypes, SqlType, TypeSpec};
use sqlparser::ast::{Expr as Tree, SequenceOptions};

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
            SequenceOptions::Cache(tree) => check_cache(tree)?,
            // Callers that give the sequence to a column have taken this out.
            SequenceOptions::OwnedBy(_) => {
                return Err(SqlError::syntax("invalid sequence option: OWNED BY"));
            }
        }
    }
    let (lowest, highest) = range_of(kind)?;
    of.kind = kind.oid();
    let rises = of.increment > 0;
    of.minimum = least.unwrap_or(if rises { 1 } else { lowest });
    of.maximum = most.unwrap_or(if rises { highest } else { -1 });
    of.start = start.unwrap_or(if rises { of.minimum } else { of.maximum });
    check(&of, kind)?;
    of.usable_to = of.start.into();
    Ok(of)
}

/// A sequence with other options. Its next number stays, or is that of `restart`: the start if that is `Some(None)`. The
/// numbers are the next one and the last one, if there is a last one.
///
/// # Errors
/// As [`sequence_of`]; `22023` if the last number is outside of the new bounds.
pub(super) fn changed(
    before: &Sequence,
    (next, last): (i128, Option<i64>),
    options: &[SequenceOptions],
    restart: Option<Option<i64>>,
) -> Result<Sequence, SqlError> {
    let mut of = before.clone();
    let mut kind = before.kind();
    let (mut least, mut most) = (None, None);
    for option in options {
        match option {
            SequenceOptions::DataType(data_type) => {
                kind = TypeSpec::of_data_type(data_type, &OwnTypes)?.kind;
            }
            SequenceOptions::IncrementBy(tree, _by) => of.increment = whole(tree)?,
            SequenceOptions::StartWith(tree, _with) => of.start = whole(tree)?,
            SequenceOptions::MinValue(tree) => {
                least = Some(tree.as_ref().map(whole).transpose()?);
            }
            SequenceOptions::MaxValue(tree) => {
                most = Some(tree.as_ref().map(whole).transpose()?);
            }
            SequenceOptions::Cycle(is_no) => of.cycles = !*is_no,
            SequenceOptions::Cache(tree) => check_cache(tree)?,
            SequenceOptions::OwnedBy(_) => {
                return Err(SqlError::syntax("invalid sequence option: OWNED BY"));
            }
        }
    }
    let (lowest, highest) = range_of(kind)?;
    // Bounds that are those of its former type become those of the new one.
    if kind != before.kind() {
        let (former_lowest, former_highest) = range_of(before.kind())?;
        if of.minimum == former_lowest {
            of.minimum = lowest;
        }
        if of.maximum == former_highest {
            of.maximum = highest;
        }
    }
    of.kind = kind.oid();
    let rises = of.increment > 0;
    match least {
        Some(Some(bound)) => of.minimum = bound,
        Some(None) => of.minimum = if rises { 1 } else { lowest },
        None => {}
    }
    match most {
        Some(Some(bound)) => of.maximum = bound,
        Some(None) => of.maximum = if rises { highest } else { -1 },
        None => {}
    }
    check(&of, kind)?;
    let bounds = (i128::from(of.minimum), i128::from(of.maximum));
    let is_begun = last.is_some();
    let last = match restart {
        Some(at) => i128::from(at.unwrap_or(of.start)),
        None => last.map_or(next, i128::from),
    };
    for (is_outside, word, bound, side) in [
        (last < bounds.0, "MINVALUE", bounds.0, "less"),
        (last > bounds.1, "MAXVALUE", bounds.1, "greater"),
    ] {
        if is_outside {
            return Err(wrong(format!(
                "RESTART value ({last}) cannot be {side} than {word} ({bound})"
            )));
        }
    }
    // Numbers up to the stored one may have been used.
    if restart.is_some() {
        of.restarted = restart.flatten().filter(|at| *at != of.start);
    } else if !is_begun {
        of.restarted = i64::try_from(next).ok().filter(|at| *at != of.start);
    }
    of.usable_to = match restart {
        Some(_) => last,
        None if !is_begun => next,
        None if rises && before.increment > 0 => before.usable_to.min(bounds.1 + 1),
        None if !rises && before.increment < 0 => before.usable_to.max(bounds.0 - 1),
        None => last + i128::from(of.increment),
    };
    Ok(of)
}

fn range_of(kind: SqlType) -> Result<(i64, i64), SqlError> {
    Sequence::range_of(kind)
        .ok_or_else(|| wrong("sequence type must be smallint, integer, or bigint"))
}

/// Numbers are always reserved in advance, so that `CACHE` has no effect.
fn check_cache(tree: &Tree) -> Result<(), SqlError> {
    let cache = whole(tree)?;
    match cache < 1 {
        true => Err(wrong(format!("CACHE ({cache}) must be greater than zero"))),
        false => Ok(()),
    }
}

/// Checks that the bounds of a sequence are those of its type, and that it begins within them.
fn check(of: &Sequence, kind: SqlType) -> Result<(), SqlError> {
    if of.increment == 0 {
        return Err(wrong("INCREMENT must not be zero"));
    }
    let (lowest, highest) = range_of(kind)?;
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
    Ok(())
}

fn wrong(message: impl Into<String>) -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}

fn whole(tree: &Tree) -> Result<i64, SqlError> {
    whole_of_text(&tree.to_string())
}

/// The number of an option.
///
/// # Errors
/// `42601`.
pub(super) fn whole_of_text(text: &str) -> Result<i64, SqlError> {
    text.parse()
        .map_err(|_| SqlError::syntax(format!("{text} is no whole number")))
}
