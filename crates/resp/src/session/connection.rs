//! Commands of the connection: authentication, the protocol's version, and transactions' beginnings and ends.

use super::clients::{Answers, check_name};
use super::options::DEFAULT_USER;
use super::{Continue, Planned, Queue, Session, caller};
use crate::command::line::Line;
use crate::command::of_session::LISTENING;
use crate::command::words::{Words, is};
use crate::command::{Command, subcommands};
use crate::data::databases::database;
use crate::failure::Failure;
use crate::reply::{Reply, Version};
use crate::request::{Answer, Outcomes, Request, Selected, Step, What};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

impl Session {
    /// Plans a command of the connection.
    pub(super) async fn of_connection(
        &mut self,
        command: &'static Command,
        line: &Line,
        now: i64,
        requests: &mut Vec<Request>,
    ) -> Planned {
        let answer = match command.name {
            "exec" => return self.exec(now, requests).await,
            "watch" if self.queue.is_some() => {
                Err(Failure::Told("ERR WATCH inside MULTI is not allowed"))
            }
            "multi" if self.queue.is_some() => {
                Err(Failure::Told("ERR MULTI calls can not be nested"))
            }
            "watch" => {
                let watched = self.watched.get_or_insert_default().clone();
                let request = self.request(What::Watch(line.clone(), watched), now);
                requests.push(request);
                return Planned::Asked;
            }
            "multi" => {
                self.queue = Some(Queue::default());
                Ok(Reply::Ok)
            }
            "discard" => match self.queue.take() {
                Some(_) => {
                    self.watched = None;
                    Ok(Reply::Ok)
                }
                None => Err(Failure::Told("ERR DISCARD without MULTI")),
            },
            _ => {
                let reply = self.answer(command, line, now).await;
                return Planned::Answered(self.counted(command, reply));
            }
        };
        Planned::Answered(answer.unwrap_or_else(|failure| Reply::Error(failure.to_string())))
    }

    /// The answer to the most common command of the connection, which awaits nothing; `None` of others. Its time is not asked
    /// for: `SLOWLOG` must not want that.
    pub(super) fn answer_at_once(&self, command: &Command, line: &Line) -> Option<Reply> {
        let is_it = command.name == "ping"
            && line.len() == 1
            && !self.is_pinged_as_listener()
            && !self.notes_fast();
        is_it.then_some(Reply::Simple("PONG"))
    }

    /// Answers a command of the connection that may be among others of an `EXEC`, too.
    async fn answer(&mut self, command: &'static Command, line: &Line, now: i64) -> Reply {
        let answer = match command.name {
            "unwatch" => {
                self.watched = None;
                Ok(Reply::Ok)
            }
            "ping" if self.is_pinged_as_listener() && line.len() <= 2 => {
                let parts = vec![Reply::Text("pong"), Reply::Bulk(line.part(1).to_vec())];
                Ok(Reply::Array(parts))
            }
            "ping" => match line.len() {
                1 => Ok(Reply::Simple("PONG")),
                2 => Ok(Reply::Bulk(line.part(1).to_vec())),
                _ => Err(command.wrong_arguments()),
            },
            "echo" => Ok(Reply::Bulk(line.part(1).to_vec())),
            "quit" => Ok(Reply::Ok),
            "reset" => {
                self.reset();
                Ok(Reply::Simple("RESET"))
            }
            "hello" => self.hello(line).await,
            "auth" => self.auth(line).await,
            "select" => selected(line).map(|database| {
                self.database = Selected::Is(database);
                Reply::Ok
            }),
            "client" => self.client(command, line, now),
            "monitor" => Ok(self.monitor()),
            "slowlog" => self.slowlog(line),
            "latency" => self.latency(line),
            _ if LISTENING.iter().any(|listens| listens.name == command.name) => {
                self.listen(command, line)
            }
            _ => self.information(command, line, now),
        };
        answer.unwrap_or_else(|failure| Reply::Error(failure.to_string()))
    }

    async fn exec(&mut self, now: i64, requests: &mut Vec<Request>) -> Planned {
        let Some(queue) = self.queue.take() else {
            return error("ERR EXEC without MULTI".to_string());
        };
        let watched = self.watched.take();
        if queue.refused {
            let text = "EXECABORT Transaction discarded because of previous errors.";
            return error(text.to_string());
        }
        self.executed = queue.share;
        let mut steps = Vec::with_capacity(queue.calls.len());
        for call in queue.calls {
            self.track(call.command, &call.line);
            self.executing
                .push(subcommands::named(call.command, &call.line));
            self.show(call.command, &call.line, now);
            steps.push(match call.command.run {
                Some(_) => Step::Call(call),
                None if call.command.name == "select" => match selected(&call.line) {
                    Ok(database) => Step::Select(database),
                    Err(failure) => Step::Answered(Reply::Error(failure.to_string())),
                },
                None => {
                    self.deferred.push((steps.len(), call));
                    Step::Answered(Reply::Null)
                }
            });
        }
        self.end_choice();
        // The database of its commands is known when they have run.
        let selects = steps.iter().any(|step| matches!(step, Step::Select(_)));
        let behind = selects.then(|| Arc::new(AtomicU8::new(self.database.get())));
        self.show_by_name("EXEC", now);
        let request = self.request(What::All(steps, watched, behind.clone()), now);
        requests.push(request);
        if let Some(behind) = behind {
            self.database = Selected::By(behind);
        }
        Planned::Asked
    }

    /// Answers the commands of the connection in an `EXEC`, once that has run: they act only if it did. It was the last of
    /// its flight.
    pub(super) async fn answer_deferred(
        &mut self,
        outcomes: &mut Result<Outcomes, sardonyx::Error>,
        now: i64,
    ) {
        let outcome = match outcomes {
            Ok(outcomes) => outcomes.last_mut(),
            Err(_) => None,
        };
        let items = match outcome {
            Some(Ok(Answer::Postponed(_))) => return,
            Some(Ok(
                Answer::Reply(Reply::Array(items)) | Answer::Sends(Reply::Array(items), _),
            )) => items,
            _ => {
                self.deferred.clear();
                return;
            }
        };
        for (place, call) in std::mem::take(&mut self.deferred) {
            let reply = self.answer(call.command, &call.line, now).await;
            let reply = match self.count(&reply) {
                Ok(()) => reply,
                Err(failure) => Reply::Error(failure.to_string()),
            };
            if let Some(item) = items.get_mut(place) {
                *item = reply;
            }
        }
        if self.client.is_ended() {
            self.end = Continue::Close;
        }
    }

    fn reset(&mut self) {
        self.version = Version::default();
        self.monitoring = None;
        self.track_nothing();
        self.answers = Answers::default();
        self.database = Selected::Is(0);
        self.queue = None;
        self.watched = None;
        self.listen_to_none();
        self.permission = self.options.permission_without_password();
        self.be(DEFAULT_USER);
        self.client.rename(|identity| {
            identity.name.clear();
            identity.library = Default::default();
        });
    }

    /// The client is a user.
    fn be(&mut self, user: &str) {
        self.caller = caller(user, &self.options);
        let caller = self.caller.clone();
        self.client.rename(|identity| identity.caller = caller);
    }

    async fn hello(&mut self, line: &Line) -> Result<Reply, Failure> {
        let mut words = Words::from(line, 1);
        let version = match words.next() {
            None => self.version,
            Some(b"2") => Version::Resp2,
            Some(b"3") => Version::Resp3,
            Some(other) if crate::number::parse_integer(other).is_none() => {
                return Err(Failure::Told(
                    "ERR Protocol version is not an integer or out of range",
                ));
            }
            Some(_) => return Err(Failure::Told("NOPROTO unsupported protocol version")),
        };
        let mut name = None;
        while let Some(word) = words.next() {
            if is(word, "auth") && words.left() >= 2 {
                let (user, password) = (words.wanted()?, words.wanted()?);
                self.authenticate(user, password).await?;
            } else if is(word, "setname") && words.left() >= 1 {
                name = Some(check_name(words.wanted()?)?);
            } else {
                let word = String::from_utf8_lossy(word);
                return Err(Failure::Said(format!(
                    "ERR Syntax error in HELLO option '{word}'"
                )));
            }
        }
        if self.permission.is_none() {
            return Err(Failure::Told(
                "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
                 <user> <pass> option can be used to authenticate the client and select the RESP protocol version at \
                 the same time",
            ));
        }
        if let Some(name) = name {
            self.rename(name);
        }
        self.version = version;
        let number = if version == Version::Resp3 { 3 } else { 2 };
        let role = match self.keyspace.only_reads() {
            true => "replica",
            false => "master",
        };
        let facts = [
            ("server", Reply::Text("redis")),
            ("version", Reply::Text(super::information::REDIS_VERSION)),
            ("proto", Reply::Int(number)),
            ("id", Reply::Int(self.id as i64)),
            ("mode", Reply::Text("standalone")),
            ("role", Reply::Text(role)),
            ("modules", Reply::Array(Vec::new())),
        ];
        Ok(Reply::Map(
            facts
                .into_iter()
                .map(|(name, value)| (Reply::Text(name), value))
                .collect(),
        ))
    }

    async fn auth(&mut self, line: &Line) -> Result<Reply, Failure> {
        match line.len() {
            2 if self.options.authentication.is_none() => {
                return Err(Failure::Told(
                    "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                     configuration is correct?",
                ));
            }
            2 => {
                self.authenticate(DEFAULT_USER.as_bytes(), line.part(1))
                    .await?
            }
            3 => self.authenticate(line.part(1), line.part(2)).await?,
            _ => return Err(Failure::Syntax),
        }
        Ok(Reply::Ok)
    }

    /// Authenticates the client as a user. Without users, there is only the default user, with any password.
    async fn authenticate(&mut self, user: &[u8], password: &[u8]) -> Result<(), Failure> {
        let wrong = Failure::Told("WRONGPASS invalid username-password pair or user is disabled.");
        let Some(authentication) = self.options.authentication.clone() else {
            return match user == DEFAULT_USER.as_bytes() {
                true => Ok(()),
                false => Err(wrong),
            };
        };
        let permission = authentication.authenticate(user, password).await;
        self.permission = Some(permission.ok_or(wrong)?);
        let user = match user {
            [] => DEFAULT_USER.into(),
            user => String::from_utf8_lossy(user),
        };
        self.be(&user);
        if !self.may_read_keys() {
            self.track_nothing();
        }
        Ok(())
    }
}

/// The database of a `SELECT`.
pub(super) fn selected(line: &Line) -> Result<u8, Failure> {
    database(crate::number::integer(line.part(1))?)
}

fn error(text: String) -> Planned {
    Planned::Answered(Reply::Error(text))
}
