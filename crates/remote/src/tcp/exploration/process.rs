//! A process of the exploration: follows the log, claims it, appends, trims, and signs a register. It asks one question at a
//! time, and uses the answer later. It has a disk that outlives it.

use super::super::TcpLog;
use super::network::Net;
use super::world::{Copy, IDENTITY, Shared};
use crate::copies::exploration::checker::{transaction_of, transaction_of_payload};
use crate::options::RemoteOptions;
use sardonyx_storage::log::pool::DurableGroup;
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::claim::{Claim, Claiming};
use sardonyx_storage::remote_log::entry::{Entry, EntryBuilder};
use sardonyx_storage::remote_log::exchange::{Answer, Machine, Request, Ticket};
use sardonyx_storage::remote_log::owner::Owner;
use sardonyx_storage::remote_log::reader::{Read, Reader};
use sardonyx_storage::remote_log::store::{Register, RemoteStore, StoredRegister, Swapped};
use sardonyx_storage::remote_log::trim::Trim;
use std::sync::Arc;

enum Role {
    Following(Reader),
    Claiming(Claim),
    Owning(Owner),
}

/// The use of a register: it is read, and then replaced by the next number.
#[derive(Default)]
struct Signing {
    found: Option<Option<StoredRegister>>,
    /// The register had this when the present question was asked.
    least: u64,
}

/// The questions of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Talk {
    Log,
    Trim,
    Sign,
}

/// The log is talked about most.
const TALKS: [Talk; 4] = [Talk::Log, Talk::Log, Talk::Trim, Talk::Sign];

/// An answer that was not used yet, to the question with this ticket.
type Waiting = Option<(Ticket, Answer)>;

pub(super) struct Process {
    index: usize,
    log: Option<TcpLog>,
    role: Role,
    trim: Option<Trim>,
    signing: Signing,
    waiting: [Waiting; 3],
    memory: Copy,
    disk: Copy,
    /// The transaction of the entry under way.
    sending: u64,
    pub stalled_until: u64,
}

fn follows(from: &Copy) -> Role {
    Role::Following(Reader::new(IDENTITY, from.at))
}

/// The number in the register, which begins with 1.
fn signed(stored: Option<&StoredRegister>) -> u64 {
    let Some(stored) = stored else { return 0 };
    let text = str::from_utf8(&stored.bytes).ok();
    let number = text.and_then(|text| text.strip_prefix("signed ")?.parse().ok());
    number.unwrap_or_else(|| panic!("the register has another one's content: {stored:?}"))
}

impl Process {
    pub fn new(index: usize) -> Process {
        let empty = Copy::empty();
        Process {
            index,
            log: None,
            role: follows(&empty),
            trim: None,
            signing: Signing::default(),
            waiting: [None, None, None],
            memory: empty.clone(),
            disk: empty,
            sending: 0,
            stalled_until: 0,
        }
    }

    pub fn is_owner(&self) -> bool {
        matches!(self.role, Role::Owning(_))
    }

    pub fn copy(&self) -> &Copy {
        &self.memory
    }

    pub fn kill(&mut self) {
        let disk = self.disk.clone();
        *self = Process {
            memory: disk.clone(),
            disk,
            ..Process::new(self.index)
        };
        self.role = follows(&self.memory);
    }

    /// Another part in the log: answers that were not used are forgotten.
    fn take_role(&mut self, role: Role) {
        self.role = role;
        self.trim = None;
        self.waiting[Talk::Log as usize] = None;
        self.waiting[Talk::Trim as usize] = None;
    }

    pub fn claim(&mut self, shared: &mut Shared) {
        if let Role::Following(_) = self.role {
            let (writer, time) = (shared.number(), shared.number());
            let claim = Claim::new(IDENTITY, self.memory.at, writer, time);
            self.take_role(Role::Claiming(claim));
        }
    }

    /// An owner deletes what is before its place. Another process may begin with this copy.
    pub fn trim(&mut self, shared: &mut Shared) {
        if self.is_owner() && self.trim.is_none() && self.memory.at.next > 1 {
            shared.checkpoints.push(self.memory.clone());
            let to = self.memory.at;
            self.trim = Some(Trim::new(IDENTITY, to, shared.number()));
        }
    }

    /// Asks something, or uses an answer.
    pub fn step(&mut self, net: &Net, shared: &mut Shared) {
        if self.log.is_none() && !self.open(net) {
            return;
        }
        let talk = TALKS[shared.random.below(TALKS.len() as u64) as usize];
        match self.waiting[talk as usize].take() {
            Some((ticket, answer)) => self.answer(talk, ticket, answer, shared),
            None => self.ask(talk, shared),
        }
    }

    /// Opens the log, but not a store that is there for a while instead: a host makes no second database.
    fn open(&mut self, net: &Net) -> bool {
        if net.lock().is_emptied() {
            return false;
        }
        let options = RemoteOptions::default();
        let opened = TcpLog::over(net.of(self.index), "server:1".into(), &options);
        self.log = opened.ok();
        self.log.is_some()
    }

    fn ask(&mut self, talk: Talk, shared: &mut Shared) {
        let Some(log) = &self.log else { return };
        let text;
        let (ticket, request) = match (talk, &mut self.role) {
            (Talk::Log, Role::Following(reader)) => reader.request(),
            (Talk::Log, Role::Claiming(claim)) => claim.request(),
            (Talk::Log, Role::Owning(owner)) => {
                if !owner.is_appending() {
                    let groups = shared.groups();
                    self.sending = begin(owner, log, &groups, shared);
                }
                owner.request()
            }
            (Talk::Trim, _) => match &self.trim {
                Some(trim) => trim.request(),
                None => return,
            },
            (Talk::Sign, _) => {
                self.signing.least = shared.signed;
                let request = match &self.signing.found {
                    None => Request::ReadRegister(Register::Primary),
                    Some(found) => {
                        text = format!("signed {}", signed(found.as_ref()) + 1);
                        Request::SwapRegister {
                            register: Register::Primary,
                            expected: found.as_ref().map(|stored| &stored.version),
                            bytes: text.as_bytes(),
                        }
                    }
                };
                (Ticket::default(), request)
            }
        };
        let asked = request.ask(log, 0);
        let (answer, _) = asked.unwrap_or_else(|error| panic!("{error}"));
        self.waiting[talk as usize] = Some((ticket, answer));
    }

    fn answer(&mut self, talk: Talk, ticket: Ticket, answer: Answer, shared: &mut Shared) {
        match talk {
            Talk::Log => self.answer_of_log(ticket, answer, shared),
            Talk::Trim => {
                let trim = self.trim.as_mut();
                match trim.map_or(Ok(None), |trim| trim.answer(ticket, answer)) {
                    Ok(None) => {}
                    Ok(Some(_)) => {
                        shared.seen.trims += 1;
                        self.trim = None;
                    }
                    Err(error) => panic!("the register of the boundary: {error}"),
                }
            }
            Talk::Sign => self.answer_of_register(answer, shared),
        }
    }

    /// A register is as new as the last replacement that was known when it was asked for.
    fn answer_of_register(&mut self, answer: Answer, shared: &mut Shared) {
        self.signing.found = match (self.signing.found.take(), answer) {
            (None, Answer::Register(stored)) => {
                let (found, least) = (signed(stored.as_ref()), self.signing.least);
                assert!(found >= least, "the register has {found}, and had {least}");
                Some(stored)
            }
            (Some(found), Answer::Swapped(Swapped::Ok)) => {
                shared.signed = shared.signed.max(signed(found.as_ref()) + 1);
                shared.seen.signed += 1;
                None
            }
            // It is read again.
            _ => None,
        };
    }

    fn answer_of_log(&mut self, ticket: Ticket, answer: Answer, shared: &mut Shared) {
        match &mut self.role {
            Role::Following(reader) => match reader.answer(ticket, answer) {
                Ok(Some(Read::Entry(entry))) => self.take(&entry, shared),
                Ok(_) => {}
                Err(error) => self.failed(&error, shared),
            },
            Role::Claiming(claim) => match claim.answer(ticket, answer) {
                Ok(Some(Claiming::Entry(entry))) => self.take(&entry, shared),
                Ok(Some(Claiming::Owner(owner))) => {
                    let at = owner.position();
                    self.memory.at = at;
                    self.memory.applied.insert(at.next - 1, None);
                    self.role = Role::Owning(owner);
                    shared.checker.claim(at, self.memory.applied.clone());
                }
                Ok(None) => {}
                Err(error) => self.failed(&error, shared),
            },
            Role::Owning(owner) => match owner.answer(ticket, answer) {
                Ok(Some(at)) => {
                    self.memory.at = at;
                    let applied = &mut self.memory.applied;
                    applied.insert(at.next - 1, Some(self.sending));
                    shared.checker.acknowledge(at, self.sending);
                }
                Ok(None) => {}
                Err(error) => self.failed(&error, shared),
            },
        }
    }

    fn take(&mut self, entry: &Entry, shared: &mut Shared) {
        shared.checker.read(entry);
        self.memory.at = entry.head().position_after();
        let number = entry.head().number;
        self.memory.applied.insert(number, transaction_of(entry));
        if shared.random.chance(1, 2) {
            self.disk = self.memory.clone();
        }
    }

    fn failed(&mut self, error: &RemoteLogError, shared: &mut Shared) {
        match error {
            RemoteLogError::BehindBoundary { first, .. } => {
                shared.seen.behind += 1;
                let newest = shared.checkpoints.iter().max_by_key(|copy| copy.at.next);
                let newest = newest.filter(|newest| newest.at.next >= *first);
                let newest = newest.expect("the log ends here before it was deleted");
                self.memory = newest.clone();
            }
            RemoteLogError::Fenced { .. } => shared.checker.seen.fenced += 1,
            // It was stopped for so long that its entry may have been created and deleted.
            RemoteLogError::Unknown { .. } => {}
            error => panic!("the log ends here: {error}"),
        }
        let role = follows(&self.memory);
        self.take_role(role);
    }
}

/// Begins an entry, of which groups may be sent ahead: some of its own, or others. Returns its transaction.
fn begin(
    owner: &mut Owner,
    log: &TcpLog,
    groups: &[Arc<DurableGroup>],
    shared: &mut Shared,
) -> u64 {
    if let Some(ahead) = log.ahead()
        && shared.random.chance(1, 2)
    {
        let sent = shared.random.below(groups.len() as u64 + 1) as usize;
        let others = shared.random.chance(1, 8).then(|| shared.groups());
        let sent = others.iter().flatten().chain(&groups[..sent]);
        for group in sent {
            if ahead.prepare() {
                ahead.send(group);
                shared.seen.ahead += 1;
            }
        }
        ahead.end();
    }
    let mut entry = EntryBuilder::new();
    let mut payload = Vec::new();
    for group in groups {
        payload.extend_from_slice(group.bytes());
        entry.push_shared(group.clone());
    }
    owner
        .append(entry, shared.number())
        .expect("it owns the log");
    transaction_of_payload(&payload).expect("it has groups")
}
