//! A connection of a PostgreSQL client: a socket and a [`Session`].

use super::answer::{Answers, Severity};
use super::message::MessageError;
use super::session::{Send, Session, Wants};
use super::startup::{self, Client};
use super::startup_options::session_parameters;
use crate::cancelling::Entry;
use crate::connection::{Connection, Outgoing, Received, Receiver};
use crate::gate::Gate;
use crate::metrics::Protocol;
use crate::server::{Shared, rights_of};
use crate::slow_statements::TEXT_BYTES_MAX;
use crate::spans;
use bytes::BytesMut;
use sardonyx_base::channels::WAITING_BYTES_MAX;
use sardonyx_sql::{
    ClientAddress, Event, Reason, SessionOptions, SqlError, Unread, code, record_error,
};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tracing::{Instrument, Span};

/// A client that is answered; errors and flights are counted.
struct Answered<'a> {
    outgoing: &'a mut Outgoing,
    shared: &'a Shared,
    user: &'a str,
    /// The span of the flight, until its first error is sent.
    span: Option<Span>,
    /// The session while its client does not read.
    unread: Unread,
}

impl Send for Answered<'_> {
    /// Sends all of the output. A session that another one ends does not wait for its client.
    async fn send(&mut self, output: &mut BytesMut) -> io::Result<()> {
        let mut sent = pin!(self.outgoing.send(output));
        let at_once = poll_fn(|context| Poll::Ready(sent.as_mut().poll(context))).await;
        if let Poll::Ready(sent) = at_once {
            return sent;
        }
        let _shown = self.unread.shown();
        tokio::select! {
            biased;
            sent = sent => sent,
            () = poll_fn(|context| self.unread.poll_terminated(context)) => {
                Err(io::ErrorKind::ConnectionAborted.into())
            }
        }
    }

    fn ran<'a>(&mut self, statements: impl Iterator<Item = &'a str>, took: Duration) {
        if took <= self.shared.slow_statement() {
            return;
        }
        let mut text = String::new();
        for statement in statements {
            // The rest of it is not kept.
            if text.len() > TEXT_BYTES_MAX {
                break;
            }
            if !text.is_empty() {
                text.push_str("; ");
            }
            let end = statement.floor_char_boundary(TEXT_BYTES_MAX + 1);
            text.push_str(&statement[..end]);
        }
        if !text.is_empty() {
            self.shared.metrics.slow(self.user, &text, took);
        }
    }

    fn told(&mut self, error: &SqlError) {
        self.shared.metrics.error(error.code);
        if let Some(span) = self.span.take() {
            record_error(&span, error);
        }
    }
}

/// Serves a client until the client or the server ends the connection.
///
/// # Errors
/// The connection's.
pub async fn serve(connection: Connection, shared: &Shared) -> io::Result<()> {
    let limit = shared.options.limits.greeting;
    let begun = timeout(limit, startup::begin(connection, shared)).await;
    // A client that does not authenticate in time is disconnected without a message.
    let Ok(Some(mut client)) = begun.unwrap_or(Ok(None)) else {
        return Ok(());
    };
    let secret = startup::cancel_secret();
    let entry = shared.cancelling.enter(Some(secret));
    client.process = entry.process();
    run(client, shared, secret, &entry).await
}

async fn run(
    client: Client,
    shared: &Shared,
    secret: [u8; 4],
    entry: &Entry<'_>,
) -> io::Result<()> {
    let Client {
        connection,
        user,
        users,
        parameters,
        process,
    } = client;
    spans::let_in(&user);
    let limit = shared.options.limits.statement.iter();
    let limit = limit.map(|limit| ("statement_timeout".into(), limit.as_millis().to_string()));
    let named = parameters.iter().find(|(name, _)| name == "database");
    let named = named.map(|(_, name)| name.clone());
    let begun = session_parameters(&parameters).and_then(|parameters| {
        let options = SessionOptions {
            rights: rights_of(&users, &user),
            // A client that names none names the user, as with PostgreSQL.
            database: named.unwrap_or_else(|| user.clone()),
            user: user.clone(),
            // The client's own parameters override it.
            parameters: limit.chain(parameters).collect(),
            process,
            client: connection
                .client()
                .map_or(ClientAddress::Local, ClientAddress::Remote),
        };
        sardonyx_sql::Session::new(shared.database.clone(), options)
    });
    let mut output = BytesMut::new();
    let sql = match begun {
        Ok(sql) => sql,
        Err(error) => {
            shared.metrics.error(error.code);
            Answers(&mut output).error(Severity::Fatal, &error);
            return connection.shared().1.send(&mut output).await;
        }
    };
    let session = Session::new(sql, entry.interrupt().clone());
    let mut answers = Answers(&mut output);
    for notice in session.sql().first_notices() {
        answers.notice(notice);
    }
    for (name, value) in session.sql().reported_parameters() {
        answers.parameter(&name, &value);
    }
    answers.cancel_key(process, &secret);
    answers.ready(session.sql().status());
    let (receiver, mut outgoing) = connection.shared();
    entry.look_at(&receiver);
    outgoing.send(&mut output).await?;
    let mut serving = Serving {
        shared,
        user: &user,
        entry,
        session,
        receiver,
        outgoing,
        output,
    };
    let ended = serving.until_its_end().await;
    serving.end(ended).await
}

/// A connection whose client is authenticated.
struct Serving<'a> {
    shared: &'a Shared,
    user: &'a str,
    entry: &'a Entry<'a>,
    session: Session,
    receiver: Receiver,
    outgoing: Outgoing,
    output: BytesMut,
}

impl Serving<'_> {
    /// Answers the client until it ends the connection, or until the server does, which returns the reason.
    async fn until_its_end(&mut self) -> io::Result<Option<SqlError>> {
        let interrupt = self.entry.interrupt();
        loop {
            if self
                .session
                .sql()
                .inbox()
                .is_some_and(|inbox| inbox.is_over())
            {
                return Ok(Some(too_far_behind()));
            }
            let wants = self.session.receive(&mut self.receiver.incoming().input);
            match wants {
                Ok(Wants::Bytes) => {}
                Ok(wants) => {
                    self.answer().await?;
                    match wants {
                        _ if interrupt.reason() == Some(Reason::Disconnected) => return Ok(None),
                        _ if self.session.is_over() => return Ok(None),
                        _ if self.session.sql().is_terminated() => {
                            // Its statement had ended before that: the client does not know it yet.
                            return Ok(Some(SqlError::interrupted(Reason::Shutdown)));
                        }
                        Wants::End => return Ok(None),
                        _ => continue,
                    }
                }
                Err(error @ MessageError::InCopy { .. }) => {
                    let told = SqlError::new(error.code(), error.to_string());
                    log_lost(self.user, &told);
                    Answers(&mut self.output).error(Severity::Error, &told);
                    let text = "terminating connection because protocol synchronization was lost";
                    return Ok(Some(SqlError::new(told.code, text)));
                }
                Err(error) => return Ok(Some(SqlError::new(error.code(), error.to_string()))),
            }
            match self.receive().await? {
                Err(error) => return Ok(Some(error)),
                Ok(Received::Bytes) => {}
                Ok(Received::Refused(memory)) => return Ok(Some(SqlError::from(memory))),
                Ok(Received::Closed) => return Ok(None),
                Ok(Received::Stop) => {
                    let text = "the server is stopped: connect again when it is back";
                    return Ok(Some(SqlError::new("57P01", text.to_string())));
                }
            }
        }
    }

    /// Waits for bytes. Meanwhile it sends the session's notifications, unless the session is in a transaction. The
    /// inner error is the reason for the connection's end.
    async fn receive(&mut self) -> io::Result<Result<Received, SqlError>> {
        let limit = self.session.sql().idle_limit();
        let until = limit.map(|(limit, error)| (tokio::time::Instant::now() + limit, error));
        let for_messages = self.session.is_idle();
        let terminated = self.session.sql().terminated();
        loop {
            let inbox = self.session.sql().inbox();
            let event = poll_fn(|context| match inbox {
                Some(inbox) => inbox.poll(for_messages, context),
                None => Poll::Pending,
            });
            let timeout = async {
                match &until {
                    Some((until, _)) => tokio::time::sleep_until(*until).await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                received = self.receiver.receive() => return received.map(Ok),
                event = event => event,
                () = poll_fn(&terminated) => {
                    return Ok(Err(SqlError::interrupted(Reason::Shutdown)));
                }
                () = timeout => match until {
                    Some((_, error)) => return Ok(Err(error)),
                    None => continue,
                },
            };
            match event {
                Event::Over(_) => return Ok(Err(too_far_behind())),
                Event::Messages => {
                    let mut client = Answered {
                        outgoing: &mut self.outgoing,
                        shared: self.shared,
                        user: self.user,
                        span: None,
                        unread: self.session.sql().unread(),
                    };
                    self.session.notify(&mut self.output, &mut client).await?;
                    client.send(&mut self.output).await?;
                }
            }
        }
    }

    /// Runs the messages that were received as a whole.
    async fn answer(&mut self) -> io::Result<()> {
        let shared = self.shared;
        let (started, steps) = (Instant::now(), self.session.steps());
        let continues = shared.options.continue_trace;
        let span = spans::postgres_flight(self.user, self.session.statements(), continues);
        let flight = self.entry.flight();
        let waits = Gate::is_narrow() && !(shared.database.has_long() && self.session.only_reads());
        let mut client = Answered {
            outgoing: &mut self.outgoing,
            shared,
            user: self.user,
            span: Some(span.clone()),
            unread: self.session.sql().unread(),
        };
        // Pinned in its place: it is large, and handed on several times.
        let answered = pin!(async {
            self.session.run(&mut self.output, &mut client).await?;
            client.send(&mut self.output).await
        });
        let answered = shared.gate.pass(self.entry.interrupt(), waits, answered);
        answered.instrument(span).await?;
        drop(flight);
        self.receiver.incoming().answered();
        let metrics = &shared.metrics;
        metrics.flight(Protocol::Postgres, steps, started.elapsed());
        Ok(())
    }

    /// Counts the error that ends the connection, and sends it to the client, if it is still connected.
    async fn end(mut self, ended: io::Result<Option<SqlError>>) -> io::Result<()> {
        if let Ok(Some(error)) = ended {
            self.shared.metrics.error(error.code);
            Answers(&mut self.output).error(Severity::Fatal, &error);
            return self.outgoing.send(&mut self.output).await;
        }
        if let Some(error) = self.session.lost() {
            self.shared.metrics.error(error.code);
            log_lost(self.user, &error);
        }
        ended.map(drop)
    }
}

/// The error of a session for which more notifications wait than are kept.
fn too_far_behind() -> SqlError {
    let text = format!("more than {WAITING_BYTES_MAX} bytes of notifications wait for the session");
    let mut error = SqlError::new(code::PROGRAM_LIMIT, text);
    error.hint = Some("Read them as they come, and end transactions soon.".into());
    error
}

/// Logs a connection that ended within a copy: no row of the copy is kept, and the client may not learn it.
fn log_lost(user: &str, error: &SqlError) {
    tracing::info!(user, code = error.code, reason = %error.message, "a copy was given up with its connection");
}
