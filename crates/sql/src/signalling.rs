//! `LISTEN`, `UNLISTEN` and `NOTIFY`, run in a transaction: they count when it commits.

use crate::error::SqlError;
use crate::expression::Environment;
use crate::names::name_of;
use crate::prepared::Prepared;
use crate::result::{Complete, Notice, Tag};
use sardonyx_base::channels::Listening;
use sqlparser::ast::{Ident, Statement};

/// The bytes at which longer names are truncated.
const NAME_BYTES_MAX: usize = 63;

/// Runs such a statement.
///
/// # Errors
/// `22023` for a payload that is too long; `22021` for the character 0. `0A000` on a node, and without a session.
/// `54000` beyond the bounds; `53200` if there is no memory.
pub(crate) fn run(statement: &Prepared, with: &Environment<'_>) -> Result<Complete, SqlError> {
    let context = with.context;
    match statement.statement() {
        Some(Statement::LISTEN { channel }) => {
            let (channel, notice) = channel_of(channel);
            let to = Listening::To(channel.as_bytes().into());
            context.listen(to, "LISTEN")?;
            Ok(Complete::of(Tag::plain("LISTEN")).with_notice(notice))
        }
        Some(Statement::UNLISTEN { channel }) => {
            let is_all = channel.quote_style.is_none() && channel.value == "*";
            let (channel, notice) = channel_of(channel);
            let no_more = match is_all {
                true => Listening::ToNone,
                false => Listening::NoMore(channel.as_bytes().into()),
            };
            // A node has no listeners.
            if context.database()?.node().is_none() {
                context.listen(no_more, "UNLISTEN")?;
            }
            Ok(Complete::of(Tag::plain("UNLISTEN")).with_notice(notice))
        }
        Some(Statement::NOTIFY { channel, payload }) => {
            let (channel, notice) = channel_of(channel);
            context.notify(&channel, payload.as_deref().unwrap_or_default())?;
            Ok(Complete::of(Tag::plain("NOTIFY")).with_notice(notice))
        }
        _ => Err(SqlError::syntax("the statement is of no channel")),
    }
}

/// The name of a channel, and a notice if it was truncated.
fn channel_of(word: &Ident) -> (String, Option<Notice>) {
    let mut name = name_of(word);
    if name.len() <= NAME_BYTES_MAX {
        return (name, None);
    }
    let whole = name.clone();
    name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
    let text = format!("identifier \"{whole}\" will be truncated to \"{name}\"");
    (name, Some(Notice::note("42622", text)))
}
