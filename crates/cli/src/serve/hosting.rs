//! `serve --store`: one of the hosts of a database whose log is in a store.
//!
//! ```text
//!   follows: clients are sent away, or read what is here ─▶ a term begins: the database is opened ─▶ serves
//!      ▲                                                                        │
//!      ├── another host serves, or is wanted, or the log is closed: ◀───────────┤
//!      │   closed, and the term given back                                      ▼
//!      └── another host serves ◀── waits: clients are sent away, the database stays open ◀─▶ the lease has run out
//! ```
//!
//! The addresses are answered all the time ([`Doors`]), even before the first contact with the store. Each answer
//! checks the lease when it is ready ([`Lease`]), so the end of a term may be noticed a moment later.

mod opening;
mod outage;

use super::host_figures::HostFigures;
use super::reads::{Answering, Opening, caught_up, readable};
use super::stuck::{Stuck, helps_a_restart, is_passing};
use super::turns::{Turn, Turns};
use super::{Arguments, notify::notify};
use crate::end_request::Request;
use crate::opened::Opened;
use crate::store::{Bases, ServingHost};
use sardonyx::Follower;
use sardonyx::hosts::{CaughtUp, Term, TermState};
use sardonyx_base::seldom::Seldom;
use sardonyx_command::exit;
use sardonyx_server::{Doors, Following, Lease, Options, Server};
use sardonyx_sql::{AgeBound, CaughtUp as CaughtUpAt, Database, FollowOptions, SaysWhoWrites};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The time between two checks of a term.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// An event for the host.
#[derive(Debug)]
pub enum Event {
    /// A request of the user.
    Request(Request),
    /// The store assigns this host its next turn.
    Turn(Turn),
    /// The directory of this host can be read; the number counts the times that this host has begun to follow.
    Reads(Arc<Follower>, u64),
    /// The opening of the database has an outcome.
    Opened,
    /// The state of the term has changed.
    Term,
}

/// The current work of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Follows,
    TakesOver,
    Serves,
    Waits,
}

/// The reason why a term ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    /// The program is to end.
    Requested,
    /// The lease has run out.
    LeaseLost,
    /// Another host is wanted.
    HandsOver,
    /// Another host serves.
    Superseded,
    LogClosed,
}

pub struct Hosting<'a> {
    arguments: &'a Arguments,
    name: String,
    doors: Doors,
    options: Options,
    events: Receiver<Event>,
    sender: Sender<Event>,
    turns: Turns,
    phase: Arc<Mutex<Phase>>,
    figures: Arc<HostFigures>,
    /// Limits how often the log reports the end of reads.
    ended_reads: Seldom,
    /// The number of times that the directory was opened for reads without a lease.
    outages: u64,
    /// The thread of the last such opening, while it is there.
    opens: Weak<()>,
}

impl<'a> Hosting<'a> {
    /// A host at these doors.
    pub fn new(
        arguments: &'a Arguments,
        name: String,
        doors: Doors,
        options: Options,
        (sender, events): (Sender<Event>, Receiver<Event>),
        turns: Turns,
    ) -> Self {
        let figures = HostFigures::new(name.clone(), arguments.path.clone(), turns.seen());
        Hosting {
            arguments,
            name,
            doors,
            options,
            events,
            sender,
            turns,
            phase: Arc::new(Mutex::new(Phase::Follows)),
            figures,
            ended_reads: Seldom::default(),
            outages: 0,
            opens: Weak::new(),
        }
    }

    /// Serves in turn with other hosts, until a request ends it.
    ///
    /// # Errors
    /// The host can neither serve nor follow.
    pub fn run(mut self) -> anyhow::Result<()> {
        let outcome = self.take_turns();
        notify("STOPPING=1");
        self.turns.end();
        outcome.map_err(|error| match helps_a_restart(&error) {
            true => error,
            false => Stuck(error).into(),
        })
    }

    fn take_turns(&mut self) -> anyhow::Result<()> {
        loop {
            self.enter(Phase::Follows);
            let mut answering = Answering::SendsAway(self.follow()?);
            let mut opening = None;
            self.turns.next();
            let term = loop {
                match self.next_event() {
                    Ok(Event::Turn(turn)) => break turn?,
                    Ok(Event::Request(Request::Reload)) => self.reload(&mut answering),
                    Ok(Event::Reads(follower, begun)) => {
                        let is_wanted = |opening: &Opening| opening.is_of(begun);
                        if opening.as_ref().is_some_and(is_wanted) {
                            let seen = self.turns.seen();
                            let at = Arc::new(move || caught_up(seen(), begun));
                            answering = match self.read(answering, follower, at) {
                                Ok(reads) => reads,
                                Err(error) => {
                                    self.warn_of_reads(&error);
                                    opening = None;
                                    Answering::SendsAway(self.follow()?)
                                }
                            };
                        }
                    }
                    // Of the term before.
                    Ok(Event::Term | Event::Opened) | Err(RecvTimeoutError::Timeout) => {}
                    // After an error no further request can arrive.
                    Ok(Event::Request(Request::End)) | Err(RecvTimeoutError::Disconnected) => {
                        return Ok(());
                    }
                }
                if self.arguments.stale_reads.is_some() {
                    answering = self.look_at_reads(answering, &mut opening)?;
                }
            };
            drop(opening);
            let Some(term) = term else { return Ok(()) };
            self.enter(Phase::TakesOver);
            // The memory of the reads is for the tables that are opened now.
            let following = self.send_away(answering)?;
            self.figures.set_lease(Some(term.lease()));
            let ended = self.serve(*term, following);
            self.figures.set_lease(None);
            if ended? == Ended::Requested {
                return Ok(());
            }
        }
    }

    /// The next event. Without reads there is nothing to check meanwhile.
    fn next_event(&self) -> Result<Event, RecvTimeoutError> {
        match self.arguments.stale_reads {
            Some(_) => self.events.recv_timeout(BETWEEN_LOOKS),
            None => Ok(self.events.recv()?),
        }
    }

    /// Opens the directory for reads when it can be read. Opens it again when it can no longer be read, or when this
    /// host has begun to follow again.
    fn look_at_reads(
        &mut self,
        mut answering: Answering,
        opening: &mut Option<Opening>,
    ) -> anyhow::Result<Answering> {
        let seen = self.turns.seen()();
        let begun = seen.as_ref().map_or(0, |(_, followed)| followed.begun);
        let ended = answering.ended();
        if let Some(error) = &ended
            && self.ended_reads.is_due(Instant::now())
        {
            tracing::warn!(%error, "no reads are answered: the directory is opened again");
        }
        if ended.is_some()
            || opening
                .as_ref()
                .is_some_and(|opening| !opening.is_of(begun))
        {
            *opening = None;
            answering = Answering::SendsAway(self.send_away(answering)?);
        }
        if opening.is_none()
            && let Some(begun) = readable(seen)
        {
            let (path, sender) = (self.arguments.path.clone(), self.sender.clone());
            match Opening::begin(path, begun, sender) {
                Ok(begins) => *opening = Some(begins),
                Err(error) => self.warn_of_reads(&error),
            }
        }
        Ok(answering)
    }

    /// Reads without a lease are an extra: the host follows, or keeps its term, and tries them again.
    fn warn_of_reads(&mut self, error: &anyhow::Error) {
        if self.ended_reads.is_due(Instant::now()) {
            let error = exit::message(error);
            tracing::warn!(error, "no reads are answered: this is tried again");
        }
    }

    /// Sends clients away from now on, and then frees the memory of the reads.
    fn send_away(&self, answering: Answering) -> anyhow::Result<Following> {
        let reads = match answering {
            Answering::SendsAway(following) => return Ok(following),
            reads => reads.stop(),
        };
        let following = self.follow()?;
        if let Some(follower) = reads {
            follower.close();
        }
        Ok(following)
    }

    /// Answers reads from the directory from now on, which had everything at this moment.
    fn read(
        &self,
        before: Answering,
        follower: Arc<Follower>,
        caught_up: CaughtUpAt,
    ) -> anyhow::Result<Answering> {
        drop(before.stop());
        let bound = self
            .arguments
            .stale_reads
            .map(|age_max| AgeBound { age_max, caught_up });
        let says_who_writes: SaysWhoWrites = Arc::new(self.says());
        let options = FollowOptions {
            bound,
            says_who_writes: Some(says_who_writes),
        };
        let database = Database::follow(follower.clone(), options);
        let lease = Lease::default()
            .of_host(self.figures.sees())
            .beside(self.says());
        let server = Server::start_at(database, self.options.clone(), &self.doors, lease)?;
        Ok(Answering::Reads(server, follower))
    }

    /// Opens the database, and serves as long as the term lasts.
    fn serve(&mut self, term: Term, mut following: Following) -> anyhow::Result<Ended> {
        let sender = self.sender.clone();
        // An error means that the program ends.
        term.on_change(move || drop(sender.send(Event::Term)));
        let began = Instant::now();
        let Some(opened) = self.open(&term, &mut following)? else {
            // The opening may still put its fence, so the others wait for the lease: a host that is let in at once could be
            // fenced off by that.
            drop(term);
            return Ok(Ended::Requested);
        };
        let opened = match opened
            .map_err(anyhow::Error::from)
            .and_then(|tables| Opened::of_tables(tables.into()))
        {
            Ok(opened) => opened,
            Err(error) => {
                term.release_to_others();
                if !is_passing(&error) {
                    return Err(error);
                }
                let reason = exit::message(&error);
                tracing::warn!(reason, "this host could not take over now");
                return Ok(Ended::LogClosed);
            }
        };
        tracing::info!(took = ?began.elapsed(), "the database is open");
        let bases = self.bases(&opened);
        let ended = self.while_it_lasts(&term, &opened, following);
        drop(bases);
        self.figures.bases().end();
        // Meanwhile another host may be asked to serve, and the doors are answered.
        self.enter(Phase::Follows);
        let answering = self.follow();
        let began = Instant::now();
        let to_others = matches!(&ended, Ok(Ended::LogClosed) | Err(_));
        let closed = opened.close_term(term, to_others);
        drop(answering);
        tracing::info!(took = ?began.elapsed(), why = ?ended, "this host serves no longer");
        match (ended?, closed) {
            (Ended::Requested, closed) => closed.map(|()| Ended::Requested),
            (ended, Err(error)) => {
                // Unacknowledged transactions may be in the log all the same: its next opening finds them.
                let reason = exit::message(&error);
                tracing::warn!(reason, "the database was closed during running statements");
                Ok(ended)
            }
            (ended, Ok(())) => Ok(ended),
        }
    }

    /// The maker of bases while this host serves, if the options ask for one.
    fn bases(&self, opened: &Opened) -> Option<Bases> {
        let arguments = self.arguments;
        let stage = opened
            .tables()
            .map(|tables| Arc::downgrade(tables.engine().checkpoint()))
            .unwrap_or_default();
        let host = ServingHost {
            path: arguments.path.clone(),
            name: self.name.clone(),
            stage,
        };
        let started = arguments
            .bases
            .start(&arguments.store, host, self.figures.bases());
        started.unwrap_or_else(|error| {
            let reason = exit::message(&error);
            tracing::error!(reason, "this host makes no bases in this term");
            None
        })
    }

    fn while_it_lasts(
        &mut self,
        term: &Term,
        opened: &Opened,
        mut following: Following,
    ) -> anyhow::Result<Ended> {
        let mut held = None;
        loop {
            following.stop();
            let (lease, database) = (term.lease(), opened.database().clone());
            let lease = Lease::while_held(move || lease.is_held()).of_host(self.figures.sees());
            let server = Server::start_at(database, self.options.clone(), &self.doors, lease)?;
            self.enter(Phase::Serves);
            let ended = self.watch(term, opened, &server, &mut held);
            self.options = server.options();
            match ended {
                // A fenced log is closed, too: another host may have continued it.
                Ended::LeaseLost | Ended::Superseded | Ended::LogClosed => server.stop_at_once(),
                Ended::Requested | Ended::HandsOver => server.stop(),
            }
            if ended != Ended::LeaseLost {
                return Ok(ended);
            }
            self.enter(Phase::Waits);
            let (ended, answering) = self.wait_for_lease(term, opened, held)?;
            following = self.send_away(answering)?;
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }

    /// Waits until the term or its lease ends. `held`: the last moment at which the lease was held.
    fn watch(
        &self,
        term: &Term,
        opened: &Opened,
        server: &Server,
        held: &mut Option<CaughtUp>,
    ) -> Ended {
        let lease = term.lease();
        loop {
            let now = CaughtUp::now(0);
            if lease.is_held() {
                *held = Some(now);
            }
            match self.wanted() {
                Some(Request::Reload) => {
                    let taken = |options| server.reload(options).map(|left| ((), left));
                    self.arguments.reloaded(&Options::default(), taken);
                }
                Some(Request::End) => return Ended::Requested,
                None => {}
            }
            if let Some(ended) = ended(term, opened) {
                return ended;
            }
        }
    }

    /// The next request, if one arrives before the next check of the term.
    fn wanted(&self) -> Option<Request> {
        match self.events.recv_timeout(BETWEEN_LOOKS) {
            Ok(Event::Request(request)) => Some(request),
            // Reads are not wanted any more.
            Ok(Event::Turn(_) | Event::Reads(..) | Event::Opened | Event::Term)
            | Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Request::End),
        }
    }

    fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        notify(match phase {
            Phase::Follows => "STATUS=follows",
            Phase::TakesOver => "STATUS=takes over",
            Phase::Serves => "STATUS=serves",
            Phase::Waits => "STATUS=waits for its lease",
        });
    }

    /// Reads the configuration again, while another host serves. If it is not valid, nothing changes.
    fn reload(&mut self, answering: &mut Answering) {
        match answering {
            Answering::SendsAway(following) => self.reload_following(following),
            Answering::Reads(server, _) => {
                let taken = |options| server.reload(options).map(|left| ((), left));
                self.arguments.reloaded(&Options::default(), taken);
                self.options = server.options();
            }
        }
    }

    /// Applies the configuration to a server that sends clients away.
    fn reload_following(&mut self, following: &mut Following) {
        let taken = self.arguments.reloaded(&Options::default(), |options| {
            let (taken, left) = self.options.taken(options)?;
            let next = self.follow_with(taken.clone())?;
            anyhow::Ok(((taken, next), left))
        });
        if let Some((taken, next)) = taken {
            self.options = taken;
            *following = next;
        }
    }

    /// Sends clients away with the name of the serving host.
    fn follow(&self) -> anyhow::Result<Following> {
        self.follow_with(self.options.clone())
    }

    fn follow_with(&self, options: Options) -> anyhow::Result<Following> {
        let sees = self.figures.sees();
        Ok(Following::start(options, &self.doors, self.says(), sees)?)
    }

    /// The sentence that names the serving host.
    fn says(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let (name, phase, seen) = (self.name.clone(), self.phase.clone(), self.turns.seen());
        move || {
            let phase = *phase.lock().unwrap_or_else(PoisonError::into_inner);
            match (phase, seen()) {
                (Phase::TakesOver | Phase::Serves, _) => format!("this host, {name}, takes over"),
                (Phase::Waits, _) => format!(
                    "the lease of this host, {name}, has run out: its store gives no answer"
                ),
                (Phase::Follows, None) => {
                    format!("this host, {name}, has had no answer from its store yet")
                }
                (Phase::Follows, Some((serving, followed))) => {
                    let serving = match serving {
                        Some(host) => format!("host {host} serves the database"),
                        None => "no host serves the database now".to_string(),
                    };
                    match followed.next_entry {
                        0 => format!("{serving}; this one, {name}, is about to follow"),
                        next => format!(
                            "{serving}; this one, {name}, follows up to entry {} of the log",
                            next - 1
                        ),
                    }
                }
            }
        }
    }
}

/// The reason why a term ends, if it does.
fn ended(term: &Term, opened: &Opened) -> Option<Ended> {
    let is_closed = |opened: &Opened| {
        let tables = opened.database().tables();
        tables.is_some_and(|tables| tables.engine().commit().is_poisoned())
    };
    match term.state() {
        TermState::Over => Some(Ended::Superseded),
        _ if is_closed(opened) => Some(Ended::LogClosed),
        TermState::HandsOver => Some(Ended::HandsOver),
        TermState::Waits => Some(Ended::LeaseLost),
        TermState::Serves => None,
    }
}
