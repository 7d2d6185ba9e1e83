//! `CLIENT`: properties of a client, information about others, and requests to them.

use super::{Session, Version};
use crate::clients::{Activity, Client, Pause};
use crate::command::line::Line;
use crate::command::words::{Words, is};
use crate::command::{self, Command, subcommands};
use crate::failure::Failure;
use crate::number::parse_integer;
use crate::reply::Reply;
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// The longest name of a client.
const NAME_BYTES_MAX: usize = 1024;

/// Which answers a client wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Answers {
    #[default]
    All,
    None,
    /// Not that to the next command.
    SkipNext,
    /// Nor that to the one that said so.
    Skip,
}

/// Clients that `CLIENT LIST` or `CLIENT KILL` names.
#[derive(Default)]
struct Wanted<'l> {
    ids: Option<BTreeSet<u64>>,
    address: Option<&'l [u8]>,
    local_address: Option<&'l [u8]>,
    user: Option<&'l [u8]>,
    kind: Option<ClientKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientKind {
    Normal,
    Listens,
    /// There is none: no server replicates by this protocol.
    Replicates,
}

impl Wanted<'_> {
    fn has(&self, client: &Client) -> bool {
        let kind = match client.listens() {
            true => ClientKind::Listens,
            false => ClientKind::Normal,
        };
        self.ids.as_ref().is_none_or(|ids| ids.contains(&client.id))
            && self.kind.is_none_or(|wanted| wanted == kind)
            && (self.address).is_none_or(|wanted| client.address_text().as_bytes() == wanted)
            && self.local_address.is_none_or(|wanted| wanted == b"?:0")
            && (self.user).is_none_or(|wanted| client.identity().caller.user.as_bytes() == wanted)
    }
}

fn kind_named(word: &[u8]) -> Result<ClientKind, Failure> {
    match word {
        word if is(word, "normal") => Ok(ClientKind::Normal),
        word if is(word, "pubsub") => Ok(ClientKind::Listens),
        word if ["master", "slave", "replica"]
            .iter()
            .any(|kind| is(word, kind)) =>
        {
            Ok(ClientKind::Replicates)
        }
        word => {
            let kind = String::from_utf8_lossy(word);
            Err(Failure::Said(format!("ERR Unknown client type '{kind}'")))
        }
    }
}

impl Session {
    pub(super) fn client(
        &mut self,
        command: &'static Command,
        line: &Line,
        now: i64,
    ) -> Result<Reply, Failure> {
        // It sees itself as it is now.
        self.note(command, line, now);
        let word = line.part(1);
        match word {
            word if is(word, "setname") => {
                self.rename(check_name(line.part(2))?);
                Ok(Reply::Ok)
            }
            word if is(word, "getname") => {
                let name = self.client.identity().name;
                Ok(Reply::optional((!name.is_empty()).then_some(name)))
            }
            word if is(word, "id") => Ok(Reply::Int(self.id as i64)),
            word if is(word, "info") => Ok(Reply::Verbatim(self.client.line(now))),
            word if is(word, "list") => {
                let wanted = listed(line)?;
                let all = self.keyspace.shared().clients.all();
                let wanted = all.iter().filter(|client| wanted.has(client));
                Ok(Reply::Verbatim(
                    wanted.map(|client| client.line(now)).collect(),
                ))
            }
            word if is(word, "kill") => self.kill(line),
            word if is(word, "pause") => self.pause(line, now),
            word if is(word, "unpause") => {
                self.keyspace.shared().clients.go_on();
                Ok(Reply::Ok)
            }
            word if is(word, "reply") => self.reply_or_not(line.part(2)),
            word if is(word, "unblock") => self.unblock(line),
            word if is(word, "setinfo") => self.set_library(line),
            // Nothing is evicted, and no key remembers when it was used.
            word if is(word, "no-evict") || is(word, "no-touch") => {
                match is(line.part(2), "on") || is(line.part(2), "off") {
                    true => Ok(Reply::Ok),
                    false => Err(Failure::Syntax),
                }
            }
            word if is(word, "tracking") => self.track_or_not(line),
            word if is(word, "caching") => self.cache_or_not(line.part(2)),
            word if is(word, "getredir") => Ok(self.redirection()),
            word if is(word, "trackinginfo") => Ok(self.tracking_facts()),
            _ => Ok(subcommands::help("client")),
        }
    }

    pub(super) fn rename(&mut self, name: Vec<u8>) {
        self.client.rename(|identity| identity.name = name);
    }

    /// Notes the client's activity, for clients that ask.
    pub(super) fn note(&self, command: &'static Command, line: &Line, now: i64) {
        let activity = Activity {
            at: now,
            command,
            subcommand: subcommands::name(command, line),
            database: self.database.get(),
            version: if self.version == Version::Resp3 { 3 } else { 2 },
            listens: self.listens.all_counts(),
            queued: (self.queue.as_ref()).map(|queue| (queue.calls.len(), queue.bytes)),
            watched: self.watched.as_ref().map_or(0, |watched| {
                watched.lock().unwrap_or_else(PoisonError::into_inner).len()
            }),
            waits: false,
            monitors: self.monitoring.is_some(),
            redirect: match self.redirection() {
                Reply::Int(client) => client,
                _ => -1,
            },
        };
        self.client.note(activity);
    }

    /// Notes a flight's last command, if there is such a command.
    pub(super) fn note_last(&self, last: Option<&Line>, now: i64) {
        if let Some(line) = last
            && let Some(command) = command::find(line.part(0))
        {
            self.note(command, line, now);
        }
    }

    fn kill(&mut self, line: &Line) -> Result<Reply, Failure> {
        let mut skips_own = true;
        let mut wanted = Wanted::default();
        let is_old = line.len() == 3;
        if is_old {
            skips_own = false;
            wanted.address = Some(line.part(2));
        }
        let mut words = Words::from(line, if is_old { 3 } else { 2 });
        while let Some(word) = words.next() {
            let value = words.wanted()?;
            match word {
                word if is(word, "id") => {
                    let id = parse_integer(value).filter(|id| *id > 0);
                    let id = id.ok_or(Failure::Told("ERR client-id should be greater than 0"))?;
                    wanted.ids = Some(BTreeSet::from([id as u64]));
                }
                word if is(word, "type") => wanted.kind = Some(kind_named(value)?),
                word if is(word, "addr") => wanted.address = Some(value),
                word if is(word, "laddr") => wanted.local_address = Some(value),
                word if is(word, "user") => {
                    self.check_user(value)?;
                    wanted.user = Some(value);
                }
                word if is(word, "skipme") => match value {
                    value if is(value, "yes") => skips_own = true,
                    value if is(value, "no") => skips_own = false,
                    _ => return Err(Failure::Syntax),
                },
                _ => return Err(Failure::Syntax),
            }
        }
        let mut killed = self.keyspace.shared().clients.all();
        killed.retain(|client| wanted.has(client) && !(skips_own && client.id == self.id));
        killed.iter().for_each(|client| client.end());
        match is_old {
            true if killed.is_empty() => Err(Failure::Told("ERR No such client")),
            true => Ok(Reply::Ok),
            false => Ok(Reply::count(killed.len())),
        }
    }

    /// Without users, any name is valid. With users, the configuration has the names: a name that it does not have
    /// matches no client.
    fn check_user(&self, name: &[u8]) -> Result<(), Failure> {
        match self.options.authentication.is_some() || name == b"default" {
            true => Ok(()),
            false => {
                let name = String::from_utf8_lossy(name);
                Err(Failure::Said(format!("ERR No such user '{name}'")))
            }
        }
    }

    fn pause(&self, line: &Line, now: i64) -> Result<Reply, Failure> {
        if line.len() > 4 {
            return Err(Failure::Syntax);
        }
        let only_writes = match line.part(3) {
            [] if line.len() == 3 => false,
            word if is(word, "write") => true,
            word if is(word, "all") => false,
            _ => {
                return Err(Failure::Told("ERR CLIENT PAUSE mode must be WRITE or ALL"));
            }
        };
        let millis = parse_integer(line.part(2)).ok_or(Failure::Told(
            "ERR timeout is not an integer or out of range",
        ))?;
        if millis < 0 {
            return Err(Failure::Told("ERR timeout is negative"));
        }
        let until = now.saturating_add(millis);
        let clients = &self.keyspace.shared().clients;
        clients.pause(Pause { until, only_writes }, now);
        Ok(Reply::Ok)
    }

    fn reply_or_not(&mut self, word: &[u8]) -> Result<Reply, Failure> {
        self.answers = match word {
            word if is(word, "on") => Answers::All,
            word if is(word, "off") => Answers::None,
            word if is(word, "skip") && self.answers == Answers::None => Answers::None,
            word if is(word, "skip") => Answers::SkipNext,
            _ => return Err(Failure::Syntax),
        };
        Ok(Reply::Ok)
    }

    /// The version in which the planned command is answered, if it is. The reply mode that it sets is valid for the commands
    /// behind it.
    #[inline]
    pub(super) fn version_of_answer(&mut self) -> Option<Version> {
        let (is_answered, next) = match self.answers {
            Answers::All => (true, Answers::All),
            Answers::None => (false, Answers::None),
            Answers::SkipNext => (false, Answers::Skip),
            Answers::Skip => (false, Answers::All),
        };
        self.answers = next;
        is_answered.then_some(self.version)
    }

    /// Keeps the name or version that a client's library gives.
    fn set_library(&mut self, line: &Line) -> Result<Reply, Failure> {
        let (word, text) = (line.part(2), line.part(3));
        let name = match ["lib-name", "lib-ver"]
            .into_iter()
            .find(|name| is(word, name))
        {
            Some(name) => name,
            None => {
                let word = String::from_utf8_lossy(word);
                return Err(Failure::Said(format!("ERR Unrecognized option '{word}'")));
            }
        };
        if !is_name(text) {
            return Err(Failure::Said(format!(
                "ERR {name} cannot contain spaces, newlines or special characters."
            )));
        }
        self.client.rename(|identity| match name {
            "lib-name" => identity.library.0 = text.to_vec(),
            _ => identity.library.1 = text.to_vec(),
        });
        Ok(Reply::Ok)
    }
}

/// The clients that `CLIENT LIST` asks for.
fn listed(line: &Line) -> Result<Wanted<'_>, Failure> {
    let mut words = Words::from(line, 2);
    let mut wanted = Wanted::default();
    if words.left() == 2 && words.take("type") {
        wanted.kind = Some(kind_named(words.wanted()?)?);
    } else if words.left() > 1 && words.take("id") {
        let mut ids = BTreeSet::new();
        while let Some(id) = words.next() {
            let id = parse_integer(id).filter(|id| *id > 0);
            ids.insert(id.ok_or(Failure::Told("ERR Invalid client ID"))? as u64);
        }
        wanted.ids = Some(ids);
    } else if words.left() > 0 {
        return Err(Failure::Syntax);
    }
    Ok(wanted)
}

fn is_name(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_graphic()) && name.len() <= NAME_BYTES_MAX
}

pub(super) fn check_name(name: &[u8]) -> Result<Vec<u8>, Failure> {
    match is_name(name) {
        true => Ok(name.to_vec()),
        false => Err(Failure::Told(
            "ERR Client names cannot contain spaces, newlines or special characters.",
        )),
    }
}
