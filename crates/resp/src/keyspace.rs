//! The keyspace: a database's tables as keys, shared by all sessions.

use crate::channels::{Messages, Sending};
use crate::data::databases::{Counts, counts};
use crate::data::table_names::{ELEMENTS, PAIRS};
use crate::data::tables::{BY_ID, BY_NUMBER, PRIMARY};
use crate::data::{Data, Numbers, Room};
use crate::failure::Failure;
use crate::followed::{FollowedKeys, TakesState};
use crate::reply::Reply;
use crate::request::{Answer, Commands, Outcomes, Request};
use crate::shared::{Body, Function, Shared};
use crate::tracking::MARKS;
use sardonyx::low_level::{Begun, Reached, Turn};
use sardonyx::procedures::{BatchTicket, Registered};
use sardonyx::rows::ReadRows;
use sardonyx::schema::ValueRef;
use sardonyx::{Error, Tables, Ticket, Transaction};
use sardonyx_base::channels::Inbox;
use sardonyx_base::waiting;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};

/// A database as Redis clients see it: strings, hashes, sets, sorted sets, lists and streams under keys. They are
/// stored in tables that SQL shows, too. Share it in an `Arc`; each connection has a [`Session`](crate::Session) of
/// it.
///
/// Several parts of a program may open it, each for itself: as long as one is open, the next is the same. Functions
/// registered in any of them are available in all. When all are closed, their functions are forgotten, and it can be
/// opened anew.
#[derive(Debug)]
pub struct Keyspace {
    store: Store,
    shared: Arc<Shared>,
}

/// The tables of the keys.
#[derive(Debug)]
enum Store {
    /// Tables of this process.
    Own(Own),
    /// Tables of another program.
    Followed(FollowedKeys),
}

/// Tables of this process, with the procedure that commands are.
#[derive(Debug)]
struct Own {
    tables: Arc<Tables>,
    commands: Registered<Commands>,
    shared: Arc<Shared>,
}

/// The outcome of a batch of requests.
enum Asked {
    /// They ran, or will; the ticket reports when that is durable.
    Submitted(BatchTicket<Answer, Failure>),
    /// They have read; the ticket reports when the data read is durable.
    Read(Outcomes, Ticket<()>),
}

impl Keyspace {
    /// Gives the tables of keys that an older version made the names that they have now, also where no client is to be
    /// served: [`Keyspace::open`] does this, too.
    ///
    /// # Errors
    /// [`Error::Refused`] if there are keys under both names: nothing has changed then; the engine's.
    pub fn give_names(tables: &Tables) -> Result<(), Error> {
        crate::data::older::give_names(tables)
    }

    /// The keyspace of a database, whose tables are created where absent; if it is open already, the same once more.
    ///
    /// # Errors
    /// [`Error::Refused`] if the database has a table of such a name with other columns, or keys under the names of an
    /// older version, too; [`Error::Nested`] inside a
    /// transaction; the engine's.
    pub fn open(tables: Arc<Tables>) -> Result<Arc<Keyspace>, Error> {
        let shared = Arc::new(Shared::new(
            Numbers::open(&tables)?,
            Arc::downgrade(&tables),
        ));
        let commands = tables.register_or_share(Commands::new(shared))?;
        let shared = Arc::clone(commands.procedure().shared());
        // Each sharer of the tables asks, too: the first may not have come to it.
        tables.run(|tx| {
            let newest = newest_id(tx)?;
            shared.ids.fetch_max(newest, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(Arc::new(Keyspace {
            store: Store::Own(Own {
                tables,
                commands,
                shared: Arc::clone(&shared),
            }),
            shared,
        }))
    }

    /// The keyspace of a database that another program has open; `take` takes the states to be read. Changes are
    /// refused.
    pub fn follow(take: TakesState) -> Arc<Keyspace> {
        Arc::new(Keyspace {
            store: Store::Followed(FollowedKeys::new(take)),
            shared: Arc::new(Shared::new(Numbers::default(), Weak::new())),
        })
    }

    /// True if all writes are rejected.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self.store, Store::Followed(_))
    }

    /// Lets clients call a function by `FCALL`. A call is a transaction on any tables, and is undone if it returns an
    /// error or panics; within an `EXEC`, all of that is undone. A function of the same name is replaced.
    pub fn register_function(
        &self,
        name: &str,
        body: impl Fn(&mut Transaction<'_>, &[&[u8]], &[&[u8]]) -> Result<Reply, Failure>
        + Send
        + Sync
        + 'static,
    ) {
        self.add_function(name, Arc::new(body), false);
    }

    /// The same for one that changes nothing, which `FCALL_RO` calls, too.
    pub fn register_reading_function(
        &self,
        name: &str,
        body: impl Fn(&mut Transaction<'_>, &[&[u8]], &[&[u8]]) -> Result<Reply, Failure>
        + Send
        + Sync
        + 'static,
    ) {
        self.add_function(name, Arc::new(body), true);
    }

    fn add_function(&self, name: &str, body: Arc<Body>, only_reads: bool) {
        let functions = self.shared.functions.write();
        let mut functions = functions.unwrap_or_else(PoisonError::into_inner);
        functions.insert(name.as_bytes().to_vec(), Function { body, only_reads });
    }

    /// Deletes keys that have expired at `now`, in milliseconds since 1970, and the rest of large deleted keys: at
    /// most `most` rows, in one transaction. Returns their number. Call it again while that is `most`, and otherwise
    /// from time to time. Returns when the transaction has run, not when it is durable, as no client waits for it.
    ///
    /// # Errors
    /// The engine's errors.
    pub fn sweep(&self, now: i64, most: usize) -> Result<usize, Error> {
        let Some(tables) = self.tables() else {
            return Ok(0);
        };
        let body = |tx: &mut Transaction<'_>| {
            // The sweep's only answers are to clients that wait for a stream that it deletes.
            let (room, room_of_served) = (Room::new(0), Room::new(0));
            let mut data = Data::new(tx, &self.shared, (now, 0), &room, 0);
            let swept = data.sweep(most);
            let swept = swept.and_then(|swept| {
                crate::blocking::serve(&mut data, &room_of_served)?;
                let effects = data.effects.take();
                Ok((swept, effects.map_or_else(Vec::new, |listed| listed.served)))
            });
            let swept = swept.map_err(|failure| match failure {
                Failure::Engine(error) => error,
                other => Error::other(other),
            })?;
            // Dropped, since no flight waits for them: the posting itself finds out when they are durable.
            drop(data.messages.post(&self.shared.posting));
            Ok(swept)
        };
        let (swept, served) = tables
            .transaction()
            .durability(sardonyx::Durability::Deferred)
            .run(body)?;
        let mut messages = Messages::default();
        for (claim, served) in served {
            claim.answer(served, &mut messages);
        }
        // The messages only report an expiry, which no failure takes back.
        messages.post(&self.shared.posting).durable_alone();
        Ok(swept)
    }

    /// The database; `None` if another program has it.
    pub fn tables(&self) -> Option<&Arc<Tables>> {
        match &self.store {
            Store::Own(own) => Some(&own.tables),
            Store::Followed(_) => None,
        }
    }

    /// The numbers of keys of the databases, without waiting for a long transaction.
    pub(crate) fn counts(&self) -> Result<Vec<Counts>, Failure> {
        let own = match &self.store {
            Store::Own(own) => own,
            Store::Followed(keys) => return keys.counts(),
        };
        let databases = &self.shared.databases;
        match own.tables.reach(None)? {
            Reached::Turn(turn) => counts(databases, &turn.view()),
            Reached::Committed(committed) => counts(databases, &&**committed.snapshot.space()),
        }
    }

    /// Answers requests, when all of it is durable. Those that only read wait for no long transaction.
    ///
    /// # Errors
    /// The engine's: it is not known whether they are durable, or, if the wait for their turn was interrupted, they have
    /// not run.
    pub(crate) async fn answer(
        &self,
        requests: Vec<Request>,
        lane: u64,
    ) -> Result<Outcomes, Error> {
        let own = match &self.store {
            Store::Own(own) => own,
            // Rows that are not to be seen do not change there.
            Store::Followed(keys) => return Ok(keys.answer(&requests)),
        };
        let (outcomes, give_out): (_, fn(Sending)) = match own.ask(requests, lane)? {
            Asked::Submitted(ticket) => (ticket.await?, Sending::durable),
            Asked::Read(outcomes, durable) => {
                durable.await?;
                (outcomes, Sending::durable_alone)
            }
        };
        let given_out = |answer: Answer| answer.given_out(give_out);
        let outcomes = outcomes.into_iter();
        Ok(outcomes.map(|outcome| outcome.map(given_out)).collect())
    }

    /// A turn of the stage, if the database is this process' and no thread has one.
    pub(crate) fn free_turn(&self) -> Option<Turn<'_>> {
        match &self.store {
            // An error is the next call's, too.
            Store::Own(own) => own.tables.try_turn().ok().flatten(),
            Store::Followed(_) => None,
        }
    }

    /// A place for a session among those that listen to channels.
    pub(crate) fn inbox(&self) -> Inbox {
        self.shared.posting.hub().enter(0)
    }

    /// The numbers of keys, and of prefixes, that clients track; and the same with each counted for each client.
    pub(crate) fn tracked(&self) -> [(usize, usize); 2] {
        MARKS.map(|mark| {
            self.shared.posting.hub().look(|channels| {
                let listeners = channels
                    .beginning_with(mark)
                    .map(|(_, listeners)| listeners);
                listeners.fold((0, 0), |(count, all), more| (count + 1, all + more))
            })
        })
    }

    /// The state that the commands of all sessions share.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// A number for a new session.
    pub(crate) fn next_session(&self) -> u64 {
        self.shared.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes a checkpoint on a thread of its own, unless one is being taken.
    pub(crate) fn begin_checkpoint(&self) -> Result<bool, Error> {
        let Some(tables) = self.tables().cloned() else {
            return Ok(false);
        };
        if self.shared.checkpointing.swap(true, Ordering::AcqRel) {
            return Ok(false);
        }
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("checkpoint-asked".into());
        let spawned = thread.spawn(move || {
            // The engine keeps the reason: `Tables::checkpoint_failure`.
            if tables.checkpoint().is_ok() {
                let now = crate::session::system_time();
                shared.checkpointed.store(now, Ordering::Relaxed);
            }
            shared.checkpointing.store(false, Ordering::Release);
        });
        if let Err(error) = spawned {
            self.shared.checkpointing.store(false, Ordering::Release);
            return Err(Error::other(error));
        }
        Ok(true)
    }

    /// When the last checkpoint was taken that a client asked for, in milliseconds since 1970.
    pub(crate) fn last_checkpoint(&self) -> i64 {
        self.shared.checkpointed.load(Ordering::Relaxed)
    }
}

impl Own {
    fn ask(&self, requests: Vec<Request>, lane: u64) -> Result<Asked, Error> {
        let shared = &self.shared;
        if requests
            .iter()
            .all(|request| !request.in_turn && request.what.only_reads(shared))
        {
            return self.read(requests);
        }
        if requests
            .iter()
            .any(|request| request.what.may_take_long(shared))
        {
            return waiting::long(|| {
                let mut turn = self.tables.turn()?;
                let begun = Some(turn.set_out());
                Ok(self.submit_in(turn, requests, begun))
            });
        }
        if self.tables.has_long() {
            // Unlike that of a queue, the wait for a turn can be interrupted.
            return Ok(self.submit_in(self.tables.turn()?, requests, None));
        }
        if !requests.iter().all(|request| request.is_short()) {
            return waiting::aside(|| {
                // Transactions of before would be written when this one has ended: only the stage's holder closes their
                // group.
                let mut turn = self.tables.turn()?;
                turn.hand_over();
                Ok(self.submit_in(turn, requests, None))
            });
        }
        let submitted = self
            .tables
            .submit_batch(&self.commands, requests, lane as usize);
        Ok(Asked::Submitted(submitted))
    }

    fn submit_in(&self, turn: Turn<'_>, requests: Vec<Request>, begun: Option<Begun<'_>>) -> Asked {
        Asked::Submitted(turn.submit_batch(&self.commands, requests, begun))
    }

    /// Runs requests that only read: in a turn, or in the state committed before a long transaction that has the turn.
    /// A call that may take long blocks no other request.
    fn read(&self, requests: Vec<Request>) -> Result<Asked, Error> {
        let shared = &self.shared;
        let is_long = requests
            .iter()
            .any(|request| request.what.may_take_long(shared));
        loop {
            let reached = match is_long {
                true => Reached::Committed(self.tables.committed(None)?),
                false => self.tables.reach(None)?,
            };
            let committed = match reached {
                Reached::Turn(turn) => {
                    let is_short = requests.iter().all(|request| request.is_short());
                    let submit = || self.submit_in(turn, requests, None);
                    return Ok(match is_short {
                        true => submit(),
                        false => waiting::aside(submit),
                    });
                }
                Reached::Committed(committed) => committed,
            };
            let commands = self.commands.procedure();
            let read = || commands.answer_beside(&requests, &committed);
            let outcomes = match requests.iter().all(|request| request.is_fast()) {
                true => read(),
                false => waiting::aside(read),
            };
            if !committed.snapshot.is_ended() {
                let outcomes = outcomes.sent(&shared.posting);
                return Ok(Asked::Read(outcomes, self.tables.durable(committed.group)));
            }
            // It was ended for want of memory. The answers are given up.
            requests
                .iter()
                .for_each(|request| request.pending.release());
        }
    }
}

/// The greatest id that any row has.
fn newest_id(tx: &mut Transaction<'_>) -> Result<u64, Error> {
    let mut newest = 0;
    let there: Vec<&str> = {
        let named = |name: &str| tx.definitions().named(name).is_some();
        let keys = PAIRS.into_iter().map(|[kv, _]| kv);
        keys.filter(|kv| named(kv)).collect()
    };
    let keys = there.into_iter().map(|kv| (kv, BY_ID, "id"));
    let elements = ELEMENTS.map(|table| match table {
        "pg_redis.kv_group" => (table, BY_NUMBER, "number"),
        table => (table, PRIMARY, "id"),
    });
    for (table, index, column) in keys.chain(elements) {
        let rows = tx.rows(table)?;
        if let Some(row) = rows.index(index)?.all()?.next_back()
            && let ValueRef::Int(id) = row?.get(column)?
        {
            newest = newest.max(id as u64);
        }
    }
    Ok(newest)
}
