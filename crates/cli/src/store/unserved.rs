//! A verb that opens a database of a store by itself holds a term meanwhile, as a host does. It waits until no host can
//! have a lease, is refused while a host gives signs, and the hosts follow until it has ended.

use sardonyx::hosts::{Host, HostOptions, Primary, RemoteLog, Term};
use sardonyx::{Error, Options, Tables};
use sardonyx_base::random::system_random;
use sardonyx_command::exit::Exit;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

/// A host serves the database.
#[derive(Debug, thiserror::Error)]
#[error(
    "host {host} serves the database in {place}, and this verb would take it over: connect to that host, or end the hosts \
     of this database first; `sardonyx store drain {place}` makes another host serve before this one is ended"
)]
pub struct Served {
    host: String,
    place: String,
}

/// The exit code of [`Served`].
pub fn exit_of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    cause.is::<Served>().then_some(Exit::Locked)
}

/// Tables that a verb opened by itself, under a term if their log is in a store.
pub struct Held {
    tables: Tables,
    term: Option<Term>,
}

impl From<Tables> for Held {
    fn from(tables: Tables) -> Held {
        Held { tables, term: None }
    }
}

impl Deref for Held {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.tables
    }
}

impl Held {
    /// Opens them unless a host serves them. While that is not known, standard error names the host that this waits
    /// for.
    pub fn open(
        remote: RemoteLog,
        options: Options,
        path: &Path,
        patience: Duration,
    ) -> anyhow::Result<Held> {
        let place = remote.store.place();
        let name = HostOptions::new(format!("verb-{:016x}", system_random()));
        let mut host = Host::new(path, options.store(remote), name)?;
        let waits = |found: &Primary| {
            if !found.released {
                eprintln!(
                    "sardonyx: host {} has not released the database in {place}: waiting for a sign of it, or for {:?} \
                     without one",
                    found.host, found.wait
                );
            }
        };
        let term = match host.term_unless_served(patience, waits)? {
            Ok(term) => term,
            Err(Primary { host, .. }) => return Err(Served { host, place }.into()),
        };
        match term.options().open_tables(path) {
            Ok(tables) => Ok(Held {
                tables,
                term: Some(term),
            }),
            Err(error) => {
                term.release();
                Err(error.into())
            }
        }
    }

    /// Closes them, and lets the hosts serve.
    pub fn close(self) -> Result<(), Error> {
        let closed = self.tables.close();
        if let Some(term) = self.term {
            term.release();
        }
        closed
    }

    /// The tables, and the term that must be released after they are closed.
    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn into_parts(self) -> (Tables, Option<Term>) {
        (self.tables, self.term)
    }
}
