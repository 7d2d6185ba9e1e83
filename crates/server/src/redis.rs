//! Redis clients: a socket and a session of [`sardonyx_resp`], which knows the protocol and the commands.
//!
//! With configured users, a client says `AUTH user password`, and has the user's permissions on keys. A client that
//! does not authenticate within [`Limits::greeting`](crate::Limits::greeting) is disconnected. Expired keys are
//! deleted now and then ([`sweep`]), besides by commands that meet them.

use crate::connection::{Connection, Received, Receiver};
use crate::gate::Gate;
use crate::metrics::Protocol;
use crate::options::Right;
use crate::passwords::Passwords;
use crate::procedures::Procedures;
use crate::server::Shared;
use crate::spans;
use bytes::BytesMut;
use sardonyx_resp::{
    Authenticate, Authenticated, Clock, Continue, Keyspace, Permission, Session, SessionOptions,
    SystemClock,
};
use sardonyx_sql::{Database, Reason};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{timeout, timeout_at};
use tracing::Instrument;

/// The user of a client that gives a password alone, and of all clients if there are no users.
pub const DEFAULT_USER: &str = "default";
/// The name for slow commands: sessions know a client's permission, not its user.
const SLOW_USER: &str = "(redis)";
/// Between two looks for keys whose time has come.
const SWEEP_PAUSE: Duration = Duration::from_millis(100);
/// The most rows that one transaction of a look deletes: others wait for so many.
const SWEEP_ROWS_MAX: usize = 200;

/// The users of a configuration, as sessions ask for them.
struct Users(Arc<Passwords>);

impl Authenticate for Users {
    fn authenticate<'a>(&'a self, user: &'a [u8], password: &'a [u8]) -> Authenticated<'a> {
        Box::pin(async move {
            let user = match user {
                [] => DEFAULT_USER,
                name => std::str::from_utf8(name).ok()?,
            };
            let password = std::str::from_utf8(password).ok()?;
            Some(match self.0.user(user, password).await?.keys {
                Right::None => Permission::Nothing,
                Right::Read => Permission::Read,
                Right::Write | Right::Own => Permission::Write,
            })
        })
    }
}

/// The options of sessions: without users, every client may run every command.
pub fn session_options(passwords: &Arc<Passwords>, database: &Arc<Database>) -> SessionOptions {
    let authentication = passwords.has_users().then(|| {
        let users: Arc<dyn Authenticate> = Arc::new(Users(passwords.clone()));
        users
    });
    SessionOptions {
        authentication,
        functions: Some(Arc::new(Procedures::new(
            database.clone(),
            &passwords.users(),
        ))),
        memory: database.memory().clone(),
        ..SessionOptions::default()
    }
}

/// The keys of a database that another program has open.
pub fn followed(database: Arc<Database>) -> Arc<Keyspace> {
    Keyspace::follow(Arc::new(move || {
        database
            .committed_elsewhere()
            .map_err(|error| error.to_string())
    }))
}

/// Serves a client until it, or the server, ends the connection.
///
/// # Errors
/// The connection's.
pub async fn serve(
    connection: Connection,
    shared: &Shared,
    keyspace: Arc<Keyspace>,
) -> io::Result<()> {
    let entry = shared.cancelling.enter(None);
    let interrupt = entry.interrupt();
    let address = connection.client();
    let (mut receiver, mut outgoing) = connection.shared();
    entry.look_at(&receiver);
    let options = SessionOptions {
        address,
        ..shared.redis()
    };
    let mut session = Session::new(keyspace, options);
    let mut output = BytesMut::new();
    // The end of the time in which the client must authenticate.
    let mut until = None;
    loop {
        let limit = shared.options.limits.greeting;
        until = match session.is_known() {
            true => None,
            false => Some(until.unwrap_or_else(|| tokio::time::Instant::now() + limit)),
        };
        if session.refuse_over(&mut output) {
            return outgoing.send(&mut output).await;
        }
        let flight = session.take(&mut receiver.incoming().input);
        let flight = match flight {
            Ok(flight) => flight,
            Err(error) => {
                session.refuse(&error, &mut output);
                return outgoing.send(&mut output).await;
            }
        };
        if !flight.is_empty() {
            let (started, commands, first) = (Instant::now(), flight.len(), flight.first_name());
            let span = spans::redis_flight(commands, first);
            let watched = entry.flight();
            let waits =
                Gate::is_narrow() && !(shared.database.has_long() && session.only_reads(&flight));
            let limit = shared.options.limits.statement;
            interrupt.set_deadline(limit.map(|limit| started + limit));
            let (goes_on, took) = {
                // In its place: it is large, and handed on several times.
                let answered = pin!(async {
                    let goes_on = session.run(flight, &mut output).await;
                    let took = started.elapsed();
                    outgoing.send(&mut output).await?;
                    session.sent();
                    io::Result::Ok((goes_on, took))
                });
                let answered = shared.gate.pass(interrupt, waits, answered);
                answered.instrument(span.clone()).await?
            };
            interrupt.set_deadline(None);
            drop(watched);
            receiver.incoming().answered();
            let (metrics, errors) = (&shared.metrics, session.take_errors());
            metrics.flight(Protocol::Redis, commands, took);
            metrics.errors_without_code(errors);
            spans::failed_without_code(&span, errors);
            if took >= shared.slow_statement() {
                // The words sent to commands are private to the client.
                let text = match commands {
                    1 => first.to_uppercase(),
                    more => format!("{} and {} more commands", first.to_uppercase(), more - 1),
                };
                metrics.slow(SLOW_USER, &text, took);
            }
            match goes_on {
                _ if interrupt.reason() == Some(Reason::Disconnected) => return Ok(()),
                Continue::More => continue,
                Continue::Close => return Ok(()),
            }
        }
        let received = match until {
            Some(until) => match timeout_at(until, receiver.receive()).await {
                Ok(received) => received?,
                // Closed without a message, as for PostgreSQL clients.
                Err(_) => return Ok(()),
            },
            None => tokio::select! {
                received = receive(&mut receiver, session.waits()) => received?,
                _ = poll_fn(|context| session.poll_messages(context)) => {
                    session.tell(&mut output);
                    outgoing.send(&mut output).await?;
                    session.sent();
                    continue;
                }
                () = of_limit(session.wait_limit()) => {
                    session.time_out(&mut output);
                    outgoing.send(&mut output).await?;
                    continue;
                }
            },
        };
        // Commands that fail do not prolong the time, either.
        if until.is_some_and(|until| until <= tokio::time::Instant::now()) {
            return Ok(());
        }
        match received {
            Received::Bytes => {}
            Received::Refused(memory) => {
                output.extend_from_slice(format!("-OOM {memory}\r\n").as_bytes());
                return outgoing.send(&mut output).await;
            }
            Received::Closed => return Ok(()),
            Received::Stop => {
                output.extend_from_slice(b"-ERR the server is stopped\r\n");
                return outgoing.send(&mut output).await;
            }
        }
    }
}

/// Bytes of a client, up to a bound while it waits for others.
async fn receive(receiver: &mut Receiver, waits: bool) -> io::Result<Received> {
    match waits {
        true => receiver.receive_ahead().await,
        false => receiver.receive().await,
    }
}

/// Until a client has waited for so long.
async fn of_limit(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Deletes keys whose time has come, a few at a time, until the server is to stop.
pub async fn sweep(keyspace: Arc<Keyspace>, mut stop: watch::Receiver<bool>) {
    loop {
        let stopped = timeout(SWEEP_PAUSE, stop.wait_for(|stop| *stop))
            .await
            .is_ok();
        if stopped {
            return;
        }
        if let Err(error) = sweep_due(&keyspace, &stop, SystemClock.now()).await {
            tracing::warn!(%error, "keys whose time has come were not deleted");
        }
    }
}

/// Deletes all that is due at a time, with room for others between two transactions.
async fn sweep_due(
    keyspace: &Keyspace,
    stop: &watch::Receiver<bool>,
    now: i64,
) -> Result<(), sardonyx::Error> {
    while keyspace.sweep(now, SWEEP_ROWS_MAX)? == SWEEP_ROWS_MAX && !*stop.borrow() {
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx::Tables;

    #[test]
    fn all_that_is_due_is_deleted_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let tables = Arc::new(Tables::open(directory.path().join("x.sdx")).unwrap());
        let keyspace = Keyspace::open(tables).unwrap();
        let mut session = Session::new(keyspace.clone(), SessionOptions::default());
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        let mut ask = |sent: &str| {
            let (mut input, mut output) = (BytesMut::from(sent), BytesMut::new());
            while !input.is_empty() {
                let flight = session.take(&mut input).unwrap();
                runtime.block_on(session.run(flight, &mut output));
            }
            String::from_utf8(output.to_vec()).unwrap()
        };
        let due = SystemClock.now() + 3_600_000;
        for key in 0..3 * SWEEP_ROWS_MAX + 1 {
            assert_eq!(ask(&format!("SET k{key} x PXAT {due}\r\n")), "+OK\r\n");
        }
        ask(&format!("SET later x PXAT {}\r\n", due + 1));
        let (stopping, stop) = watch::channel(false);
        let swept = sweep_due(&keyspace, &stop, due);
        runtime.block_on(swept).unwrap();
        assert_eq!(ask("DBSIZE\r\n"), ":1\r\n");
        drop(stopping);
    }
}
