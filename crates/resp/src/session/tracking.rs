//! `CLIENT TRACKING`: the keys that the client has read, and the messages that they have changed.
//!
//! The session listens to the keys of a command when it is planned ([`crate::tracking`]), until it has reported a change of
//! the key. Messages follow the answers of a flight. If they are redirected, the other client's session gets them.

mod keys;

use super::Session;
use super::command_about::key_places;
use crate::clients::CountedIn;
use crate::command::line::Line;
use crate::command::words::{Words, is};
use crate::command::{Command, READ};
use crate::data::check_key;
use crate::failure::Failure;
use crate::reply::{Reply, Version};
use crate::settings::Number;
use crate::tracking::{CHANNEL, Invalid, all_address, key_address, prefix_address};
use bytes::BytesMut;
use keys::{Bounds, Keys};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// The most prefixes of a client.
const PREFIXES_MAX: usize = 1000;
/// The session gives up so many keys while it holds the hub of all sessions.
const LEFT_AT_ONCE: usize = 1024;

/// Which commands' keys are tracked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    All,
    /// The keys of the command behind `CLIENT CACHING YES`.
    In,
    /// All but those of the command behind `CLIENT CACHING NO`.
    Out,
}

/// The tracking of a session.
#[derive(Debug)]
pub(super) struct Tracking {
    redirect: Option<u64>,
    /// The client to which messages are redirected is not there any more.
    is_broken: bool,
    /// With prefixes instead of keys.
    prefixes: Option<BTreeSet<Vec<u8>>>,
    choice: Choice,
    skips_own: bool,
    /// The next command is the chosen, or the excluded one.
    is_next: bool,
    keys: Keys,
    /// Keys to which the session began to listen for scripts of the present flight.
    of_scripts: HashSet<Arc<[u8]>>,
    _tracker: CountedIn,
}

/// The keys of one message.
#[derive(Default)]
pub(super) struct Told {
    /// The changed keys by their prefixes: each is sent once, however many commands have changed it, in Redis' order.
    keys: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// The addresses of reported keys, to which the session stops listening at the end.
    pub left: Vec<Arc<[u8]>>,
}

/// The options of `CLIENT TRACKING ON`.
#[derive(Default)]
struct Options<'l> {
    redirect: Option<u64>,
    is_broadcast: bool,
    opts_in: bool,
    opts_out: bool,
    skips_own: bool,
    prefixes: Vec<&'l [u8]>,
}

impl Session {
    fn tracking_options<'l>(&self, line: &'l Line) -> Result<Options<'l>, Failure> {
        let mut options = Options::default();
        let mut words = Words::from(line, 3);
        while let Some(word) = words.next() {
            if is(word, "redirect") && words.left() > 0 {
                if options.redirect.is_some() {
                    return Err(Failure::Told(
                        "ERR A client can only redirect to a single other client",
                    ));
                }
                let id = u64::try_from(words.integer()?).unwrap_or(0);
                // No client has the number 0.
                if !self.keyspace.shared().clients.is_there(id) {
                    return Err(Failure::Told(
                        "ERR The client ID you want redirect to does not exist",
                    ));
                }
                options.redirect = Some(id);
            } else if is(word, "prefix") && words.left() > 0 {
                options.prefixes.push(words.wanted()?);
            } else if is(word, "bcast") {
                options.is_broadcast = true;
            } else if is(word, "optin") {
                options.opts_in = true;
            } else if is(word, "optout") {
                options.opts_out = true;
            } else if is(word, "noloop") {
                options.skips_own = true;
            } else {
                return Err(Failure::Syntax);
            }
        }
        Ok(options)
    }

    /// `CLIENT TRACKING`.
    pub(super) fn track_or_not(&mut self, line: &Line) -> Result<Reply, Failure> {
        let options = self.tracking_options(line)?;
        match line.part(2) {
            word if is(word, "on") => self.begin_to_track(&options)?,
            word if is(word, "off") => self.track_nothing(),
            _ => return Err(Failure::Syntax),
        }
        Ok(Reply::Ok)
    }

    fn begin_to_track(&mut self, options: &Options<'_>) -> Result<(), Failure> {
        if self.keyspace.only_reads() {
            return Err(Failure::Told(
                "ERR keys are tracked at the server that has the database open: connect to that one",
            ));
        }
        if !self.may_read_keys() {
            return Err(Failure::Told(
                "NOPERM User has no permissions to run the 'client|tracking' command",
            ));
        }
        if !options.is_broadcast && !options.prefixes.is_empty() {
            return Err(Failure::Told(
                "ERR PREFIX option requires BCAST mode to be enabled",
            ));
        }
        let before = self.tracking.as_deref();
        if before.is_some_and(|before| before.prefixes.is_some() != options.is_broadcast) {
            return Err(Failure::Told(
                "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling \
                 it with a different mode.",
            ));
        }
        if options.is_broadcast && (options.opts_in || options.opts_out) {
            return Err(Failure::Told(
                "ERR OPTIN and OPTOUT are not compatible with BCAST",
            ));
        }
        if options.opts_in && options.opts_out {
            return Err(Failure::Told(
                "ERR You can't specify both OPTIN mode and OPTOUT mode",
            ));
        }
        let switches = |before: &Tracking| {
            options.opts_in && before.choice == Choice::Out
                || options.opts_out && before.choice == Choice::In
        };
        if before.is_some_and(switches) {
            return Err(Failure::Told(
                "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling \
                 it with a different mode.",
            ));
        }
        if options.is_broadcast {
            let there = before.and_then(|before| before.prefixes.as_ref());
            check_prefixes(&options.prefixes, there)?;
        }
        let tracker = self.keyspace.shared().clients.begin_to_track();
        let before = self.tracking.take();
        let (keys, prefixes) = match before {
            Some(before) => {
                let Tracking { keys, prefixes, .. } = *before;
                (keys, prefixes)
            }
            None => {
                let keys = Keys::new(&self.client, &self.options.memory);
                (keys, options.is_broadcast.then(BTreeSet::new))
            }
        };
        let mut tracking = Tracking {
            redirect: options.redirect,
            is_broken: false,
            prefixes,
            choice: match (options.opts_in, options.opts_out) {
                (true, _) => Choice::In,
                (_, true) => Choice::Out,
                _ => Choice::All,
            },
            skips_own: options.skips_own,
            is_next: false,
            keys,
            of_scripts: HashSet::new(),
            _tracker: tracker,
        };
        self.hear_of(all_address());
        if let Some(prefixes) = &mut tracking.prefixes {
            let all: [&[u8]; 1] = [b""];
            let given = match options.prefixes.is_empty() {
                true => &all[..],
                false => &options.prefixes[..],
            };
            for prefix in given {
                self.hear_of(prefix_address(prefix));
                prefixes.insert(prefix.to_vec());
            }
        }
        self.tracking = Some(Box::new(tracking));
        Ok(())
    }

    /// Ends the tracking.
    pub(super) fn track_nothing(&mut self) {
        let Some(mut tracking) = self.tracking.take() else {
            return;
        };
        let prefixes = tracking.prefixes.iter().flatten();
        let prefixes = prefixes.map(|prefix| prefix_address(prefix));
        let prefixes: Vec<_> = prefixes.chain([all_address()]).collect();
        self.hear_no_more_of(tracking.keys.take().chain(prefixes));
    }

    /// `CLIENT CACHING`.
    pub(super) fn cache_or_not(&mut self, word: &[u8]) -> Result<Reply, Failure> {
        let Some(tracking) = &mut self.tracking else {
            return Err(Failure::Told(
                "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode \
                 enabled",
            ));
        };
        match (word, tracking.choice) {
            (word, Choice::In) if is(word, "yes") => {}
            (word, Choice::Out) if is(word, "no") => {}
            (word, _) if is(word, "yes") => {
                return Err(Failure::Told(
                    "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
                ));
            }
            (word, _) if is(word, "no") => {
                return Err(Failure::Told(
                    "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
                ));
            }
            _ => return Err(Failure::Syntax),
        }
        tracking.is_next = true;
        Ok(Reply::Ok)
    }

    /// The client to which messages are redirected: 0 is none, and -1 that nothing is tracked.
    pub(super) fn redirection(&self) -> Reply {
        Reply::Int(match &self.tracking {
            None => -1,
            Some(tracking) => tracking.redirect.unwrap_or(0) as i64,
        })
    }

    /// `CLIENT TRACKINGINFO`.
    pub(super) fn tracking_facts(&self) -> Reply {
        let mut flags = Vec::new();
        let mut prefixes = Vec::new();
        match &self.tracking {
            None => flags.push("off"),
            Some(tracking) => {
                flags.push("on");
                if let Some(own) = &tracking.prefixes {
                    flags.push("bcast");
                    prefixes.extend(own.iter().cloned());
                }
                let chosen = match tracking.choice {
                    Choice::All => None,
                    Choice::In => Some(["optin", "caching-yes"]),
                    Choice::Out => Some(["optout", "caching-no"]),
                };
                if let Some([choice, next]) = chosen {
                    flags.push(choice);
                    flags.extend(tracking.is_next.then_some(next));
                }
                flags.extend(tracking.skips_own.then_some("noloop"));
                flags.extend(tracking.is_broken.then_some("broken_redirect"));
            }
        }
        Reply::Map(vec![
            (
                Reply::Text("flags"),
                Reply::Set(flags.into_iter().map(Reply::Text).collect()),
            ),
            (Reply::Text("redirect"), self.redirection()),
            (Reply::Text("prefixes"), Reply::bulks(prefixes)),
        ])
    }

    /// Listens to the keys that a command reads, before it runs.
    pub(super) fn track(&mut self, command: &Command, line: &Line) {
        let Some(tracking) = &self.tracking else {
            return;
        };
        let is_script = runs_script(command);
        let is_chosen = match tracking.choice {
            Choice::All => true,
            Choice::In => tracking.is_next,
            Choice::Out => !tracking.is_next,
        };
        if tracking.prefixes.is_some() || !is_chosen || !(command.is(READ) || is_script) {
            return;
        }
        let Ok(places) = key_places(line, 0) else {
            return;
        };
        for place in places {
            let key = line.part(place);
            // The command refuses it.
            if check_key(key).is_err() {
                continue;
            }
            let address = key_address(key);
            let Some(tracking) = &mut self.tracking else {
                return;
            };
            if tracking.keys.add(&address) {
                if is_script {
                    tracking.of_scripts.insert(address.clone());
                }
                self.hear_of(address);
                self.fit_tracked(Keys::fit);
            } else if !is_script {
                // A script before may not read it, but this command does.
                tracking.of_scripts.remove(&address);
            }
        }
    }

    /// The command that `CLIENT CACHING` is about was planned.
    pub(super) fn end_choice(&mut self) {
        if let Some(tracking) = &mut self.tracking {
            tracking.is_next = false;
        }
    }

    /// A flight has run. If no script of it read, their keys are not tracked.
    pub(super) fn settle_scripts(&mut self, have_read: bool) {
        let Some(tracking) = &mut self.tracking else {
            return;
        };
        let mut given_up = std::mem::take(&mut tracking.of_scripts);
        if !have_read {
            given_up.retain(|address| tracking.keys.remove(address).is_some());
            self.hear_no_more_of(given_up);
        }
    }

    /// Takes up the message that keys have changed.
    pub(super) fn note_invalid(
        &mut self,
        found: Invalid<'_>,
        told: &mut Told,
        output: &mut BytesMut,
    ) {
        let Some(tracking) = &mut self.tracking else {
            return;
        };
        match found {
            Invalid::All => {
                let keys = tracking.keys.take();
                self.hear_no_more_of(keys);
                self.tell_keys(told, output);
                self.tell_invalid(None, output);
            }
            Invalid::Key {
                key,
                writer,
                prefix,
            } => {
                let is_own = tracking.skips_own && writer == self.id;
                match prefix {
                    // A command of the same flight may have read the key behind the change: it stays tracked.
                    _ if is_own => {}
                    None => {
                        // The change was reported already, unless the client has read the key again.
                        let Some(address) = tracking.keys.remove(&key_address(key)) else {
                            return;
                        };
                        told.left.push(address);
                        self.tell_keys(told, output);
                        self.tell_invalid(Some(vec![key.to_vec()]), output);
                    }
                    Some(prefix) => {
                        if !told.keys.contains_key(prefix) {
                            told.keys.insert(prefix.to_vec(), BTreeSet::new());
                        }
                        if let Some(keys) = told.keys.get_mut(prefix)
                            && !keys.contains(key)
                        {
                            keys.insert(key.to_vec());
                        }
                    }
                }
            }
        }
    }

    /// Tells the keys that were gathered, those of each prefix by a message.
    pub(super) fn tell_keys(&mut self, told: &mut Told, output: &mut BytesMut) {
        for keys in std::mem::take(&mut told.keys).into_values() {
            self.tell_invalid(Some(keys.into_iter().collect()), output);
        }
    }

    /// Tells the client that keys have changed, all without a list of them; or tells the client to which that is
    /// redirected.
    fn tell_invalid(&mut self, keys: Option<Vec<Vec<u8>>>, output: &mut BytesMut) {
        let Some(tracking) = &mut self.tracking else {
            return;
        };
        match tracking.redirect {
            None if self.version == Version::Resp3 => pushed(keys).write(self.version, output),
            None => {}
            Some(id) => {
                if self.keyspace.shared().clients.tell(id, keys) {
                    return;
                }
                tracking.is_broken = true;
                if self.version == Version::Resp3 {
                    let parts = vec![Reply::Text("tracking-redir-broken"), Reply::Int(id as i64)];
                    Reply::Push(parts).write(self.version, output);
                }
            }
        }
    }

    /// Tells the client of keys that another session redirects to it.
    pub(super) fn tell_redirected(&mut self, output: &mut BytesMut) {
        if !self.client.has_redirected() {
            return;
        }
        for keys in self.client.take_redirected() {
            if self.version == Version::Resp3 {
                pushed(keys).write(self.version, output);
            } else if self.listens_to(CHANNEL) {
                let channel = Reply::Bulk(CHANNEL.to_vec());
                let parts = vec![Reply::Text("message"), channel, list(keys)];
                Reply::Push(parts).write(self.version, output);
            }
        }
    }

    /// Gives up the oldest keys beyond the bounds.
    fn fit_tracked(&mut self, fit: fn(&mut Keys, Bounds) -> Vec<Arc<[u8]>>) {
        let settings = &self.keyspace.shared().settings;
        let bounds = Bounds {
            keys: settings.bound(Number::TrackedKeys),
            bytes: settings.bound(Number::TrackedBytes),
        };
        if let Some(tracking) = &mut self.tracking {
            let left = fit(&mut tracking.keys, bounds);
            self.hear_no_more_of(left);
        }
    }

    /// Tells the client of keys that were given up: it must not rely on them.
    pub(super) fn tell_given_up(&mut self, output: &mut BytesMut) {
        self.fit_tracked(Keys::fit_asked);
        let Some(tracking) = &mut self.tracking else {
            // It was asked for keys that it tracks no more.
            self.client.take_asked();
            return;
        };
        for address in std::mem::take(&mut tracking.keys.given_up) {
            // Behind the mark of a key.
            let key = address.iter().skip(1).copied().collect();
            self.tell_invalid(Some(vec![key]), output);
        }
    }

    /// Listens no more to addresses. Their messages that wait are ignored, as their keys are not tracked any more.
    pub(super) fn hear_no_more_of(&mut self, addresses: impl IntoIterator<Item = Arc<[u8]>>) {
        let Some(inbox) = self.listens.inbox() else {
            return;
        };
        let mut addresses = addresses.into_iter();
        loop {
            let some: Vec<_> = addresses.by_ref().take(LEFT_AT_ONCE).collect();
            if some.is_empty() {
                return;
            }
            inbox.forget(&some);
        }
    }
}

/// True if a command runs a script or a function, whose reads are not known before.
fn runs_script(command: &Command) -> bool {
    command.name.starts_with("eval") || command.name.starts_with("fcall")
}

fn list(keys: Option<Vec<Vec<u8>>>) -> Reply {
    keys.map_or(Reply::Null, Reply::bulks)
}

fn pushed(keys: Option<Vec<Vec<u8>>>) -> Reply {
    Reply::Push(vec![Reply::Text("invalidate"), list(keys)])
}

/// Checks that no prefix of a client begins with another one.
fn check_prefixes(given: &[&[u8]], there: Option<&BTreeSet<Vec<u8>>>) -> Result<(), Failure> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let overlap = |one: &[u8], other: &[u8]| one.starts_with(other) || other.starts_with(one);
    if given.len() + there.map_or(0, BTreeSet::len) > PREFIXES_MAX {
        return Err(Failure::Said(format!(
            "ERR a client has at most {PREFIXES_MAX} prefixes"
        )));
    }
    for (place, prefix) in given.iter().enumerate() {
        check_key(prefix)?;
        let mut known = there.into_iter().flatten();
        if let Some(other) = known.find(|other| overlap(other, prefix)) {
            return Err(Failure::Said(format!(
                "ERR Prefix '{}' overlaps with an existing prefix '{}'. Prefixes for a single client must not overlap.",
                text(prefix),
                text(other)
            )));
        }
        let mut behind = given.iter().skip(place + 1);
        if let Some(other) = behind.find(|other| overlap(other, prefix)) {
            return Err(Failure::Said(format!(
                "ERR Prefix '{}' overlaps with another provided prefix '{}'. Prefixes for a single client must not overlap.",
                text(prefix),
                text(other)
            )));
        }
    }
    Ok(())
}
