//! The oldest entries of a stream that are deleted: those beyond a length, or before an id.
//!
//! Redis keeps entries in nodes, each of so many, and deletes whole nodes where `~` says that about will do. Here entries
//! are rows. So that about as many are deleted at once as there, `~` deletes them by that number, too, which is the setting
//! `stream-node-max-entries`.

use crate::command::line::Line;
use crate::command::words::Words;
use crate::data::{Data, EntryId, Live, State, Stream};
use crate::event_classes::STREAM;
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;
use crate::settings::Number;

/// The most nodes that are deleted at once where `~` says so, and no `LIMIT`.
const NODES_MAX: u64 = 100;
/// The most entries.
const LIMIT_MAX: u64 = 1_000_000;

const NOT_ABOUT: Failure =
    Failure::Told("ERR syntax error, LIMIT cannot be used without the special ~ option");

/// Which entries stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bound {
    /// The last ones, as many.
    Length(u64),
    /// Keeps entries from an id on.
    Id(EntryId),
}

/// Which entries are deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trim {
    bound: Bound,
    /// Whole nodes only.
    is_about: bool,
    /// At most so many entries then, which 0 does not bound; `None` if it is not said.
    limit: Option<u64>,
}

/// The words of `XADD` and `XTRIM` about deletion, as they are read.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct TrimWords {
    bound: Option<(Bound, bool)>,
    limit: Option<u64>,
}

impl TrimWords {
    /// Reads words if they say that. False if the next one is another.
    pub fn take(&mut self, words: &mut Words<'_>) -> Result<bool, Failure> {
        // A word that is the last is no option.
        let has_more = words.left() > 1;
        if has_more && words.take("maxlen") {
            let is_about = self.about(words)?;
            let length = u64::try_from(integer(words.wanted()?)?);
            let length =
                length.map_err(|_| Failure::Told("ERR The MAXLEN argument must be >= 0."))?;
            self.bound = Some((Bound::Length(length), is_about));
        } else if has_more && words.take("minid") {
            let is_about = self.about(words)?;
            let id = super::ids::strict(words.wanted()?)?;
            self.bound = Some((Bound::Id(id), is_about));
        } else if has_more && words.take("limit") {
            let limit = u64::try_from(integer(words.wanted()?)?);
            let limit = limit.map_err(|_| Failure::Told("ERR The LIMIT argument must be >= 0."))?;
            self.limit = Some(limit);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn about(&self, words: &mut Words<'_>) -> Result<bool, Failure> {
        if self.bound.is_some() {
            return Err(Failure::Told(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            ));
        }
        let has_more = words.left() > 1;
        if !has_more {
            return Ok(false);
        }
        let is_about = words.take("~");
        if !is_about {
            words.take("=");
        }
        Ok(is_about)
    }

    /// The trimming that the words request; `None` if they do not say which entries stay.
    pub fn trim(self) -> Result<Option<Trim>, Failure> {
        let Some((bound, is_about)) = self.bound else {
            return match self.limit {
                Some(1..) => Err(Failure::Told(
                    "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
                )),
                Some(0) => Err(NOT_ABOUT),
                None => Ok(None),
            };
        };
        if self.limit.is_some() && !is_about {
            return Err(NOT_ABOUT);
        }
        Ok(Some(Trim {
            bound,
            is_about,
            limit: self.limit,
        }))
    }
}

/// The number of entries of a node.
pub(super) fn node<S: State>(data: &Data<'_, S>) -> u64 {
    let entries = data.shared.settings.number(Number::StreamEntries);
    // 0 does not bound them.
    if entries == 0 { u64::MAX } else { entries }
}

/// The number of entries left in the first node.
pub(super) fn first_node(stream: &Stream, node: u64) -> u64 {
    let gone = stream.added.saturating_sub(stream.length());
    (node - gone % node).min(stream.length())
}

/// The number of entries in whole nodes; at most `most`.
fn in_whole_nodes(stream: &Stream, node: u64, most: u64, limit: u64) -> u64 {
    let (mut deleted, mut next) = (0, first_node(stream, node));
    while next > 0 && deleted + next <= most && (limit == 0 || deleted + next <= limit) {
        deleted += next;
        next = node.min(stream.length() - deleted);
    }
    deleted
}

/// Deletes the oldest entries. Returns how many.
pub(super) fn trim(
    data: &mut Live<'_, '_>,
    stream: &mut Stream,
    trim: Trim,
) -> Result<u64, Failure> {
    let all = (EntryId::MIN, EntryId::MAX);
    let mut entries = Vec::new();
    let node = node(data);
    let limit = NODES_MAX.saturating_mul(node).min(LIMIT_MAX);
    let about = trim.is_about.then(|| trim.limit.unwrap_or(limit));
    let most = match trim.bound {
        Bound::Length(length) => {
            let most = stream.length().saturating_sub(length);
            let most = match about {
                Some(limit) => in_whole_nodes(stream, node, most, limit),
                None => most,
            };
            if most > 0 {
                data.walk_entries(stream.id(), all, false, &mut |id, _| {
                    entries.push(id);
                    (entries.len() as u64) < most
                })?;
            }
            most
        }
        Bound::Id(first) => {
            // More than the limit are not deleted.
            let enough = about.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
            data.walk_entries(stream.id(), all, false, &mut |id, _| {
                let goes = id < first && (entries.len() as u64) < enough;
                if goes {
                    entries.push(id);
                }
                goes
            })?;
            let most = entries.len() as u64;
            match about {
                Some(limit) => in_whole_nodes(stream, node, most, limit),
                None => most,
            }
        }
    };
    entries.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    for entry in &entries {
        data.delete_entry(stream, *entry)?;
    }
    let deleted = entries.len() as u64;
    stream.entry.length -= deleted;
    Ok(deleted)
}

pub(super) fn xtrim(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let mut words = Words::from(line, 2);
    let mut given = TrimWords::default();
    while words.left() > 0 {
        if !given.take(&mut words)? {
            return Err(Failure::Syntax);
        }
    }
    let no_bound = Failure::Told("ERR syntax error, XTRIM must be called with a trimming strategy");
    let wanted = match given {
        TrimWords {
            bound: None,
            limit: Some(0),
        } => None,
        given => given.trim()?,
    };
    let wanted = wanted.ok_or(no_bound)?;
    let key = line.part(1);
    let Some(mut stream) = data.stream_to_change(key)? else {
        return Ok(Reply::Int(0));
    };
    let deleted = trim(data, &mut stream, wanted)?;
    if deleted > 0 {
        data.keep_stream(key, &stream)?;
        data.event(STREAM, "xtrim", key)?;
    }
    Ok(Reply::count(deleted))
}
