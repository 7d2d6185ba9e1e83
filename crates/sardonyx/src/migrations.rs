//! A program's changes of its schema: each runs once in a database, in its order, in a transaction with the note that
//! it ran.
//!
//! Invariant: a database in which N migrations are noted has the effects of the first N, and no others; also after a
//! crash.

use crate::{Error, Tables, Transaction};
use sardonyx_base::error::{CrateError, Kind};
use sardonyx_rows::schema::{Schema, Type, Value};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The table of the migrations that ran.
const TABLE: &str = "sardonyx.migrations";

type Body<'m> = Box<dyn FnOnce(&mut Transaction<'_>) -> Result<(), Error> + Send + 'm>;

/// A change of a program's schema, or of its rows, that a database gets once.
pub struct Migration<'m> {
    name: String,
    body: Body<'m>,
}

impl fmt::Debug for Migration<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Migration");
        f.field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'m> Migration<'m> {
    /// A migration of this name, by which a database knows it. Once it ran somewhere, neither its name nor its effect may
    /// change.
    pub fn new(
        name: impl Into<String>,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<(), Error> + Send + 'm,
    ) -> Migration<'m> {
        Migration {
            name: name.into(),
            body: Box::new(body),
        }
    }
}

/// The reasons why a program's migrations do not fit a database's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationError {
    /// The database had migrations that the program does not know.
    #[error(
        "the database has schema version {version} (after migration {name:?}), and the program knows versions up to \
         {known}: it is older than the program that migrated the database; nothing was changed"
    )]
    Newer {
        /// The database's schema version.
        version: u32,
        /// The database's last migration.
        name: String,
        /// The program's last schema version.
        known: u32,
    },
    /// Another migration ran in a migration's place.
    #[error(
        "migration {version} was {ran:?} when it ran in the database, and is {said:?} in the program: a migration \
         that ran must not change, and new ones are added behind it; nothing was changed"
    )]
    Renamed {
        /// The schema version behind it.
        version: u32,
        /// Its name in the database.
        ran: String,
        /// Its name in the program.
        said: String,
    },
}

impl CrateError for MigrationError {
    #[inline]
    fn kind(&self) -> Kind {
        Error::Refused
    }
}

/// Schema versions.
impl Tables {
    /// Brings the database to the program's schema: runs the migrations that have not run in it, in their order, each in
    /// a transaction of its own that notes it, too. Returns the schema version, which is their number. Call it when the
    /// database is open, with all migrations that the program ever had; a new database gets them all.
    ///
    /// ```
    /// use sardonyx::schema::{Schema, Type, Value};
    /// use sardonyx::schema::Migration;
    /// use sardonyx::{Error, Tables};
    ///
    /// fn open(path: &std::path::Path) -> Result<Tables, Error> {
    ///     let shop = Tables::open(path)?;
    ///     shop.migrate([
    ///         Migration::new("customers", |tx| {
    ///             let customers = Schema::new()
    ///                 .column("id", Type::U64)
    ///                 .column("name", Type::Text)
    ///                 .primary_key(["id"]);
    ///             tx.create_table("customers", customers).map(drop)
    ///         }),
    ///         // Came with the second version of the program.
    ///         Migration::new("notes of customers", |tx| {
    ///             tx.add_column("customers", "note", Type::Text, true, Value::Null)
    ///         }),
    ///     ])?;
    ///     Ok(shop)
    /// }
    /// # let directory = tempfile::tempdir()?;
    /// # let path = &directory.path().join("shop.sdx");
    /// let shop = open(path)?;
    /// assert_eq!(shop.schema_version()?, 2);
    /// shop.close()?;
    /// open(path)?; // nothing is left to be run
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] by a [`MigrationError`], before anything is changed: if the database has more migrations than
    /// the program, or another one in the place of one. A migration's error: then the earlier ones have run, and the
    /// database has nothing of this one. The errors of [`Tables::run`].
    pub fn migrate<'m>(
        &self,
        migrations: impl IntoIterator<Item = Migration<'m>>,
    ) -> Result<u32, Error> {
        let migrations: Vec<_> = migrations.into_iter().collect();
        let names = migrations.iter().map(|migration| migration.name.clone());
        let migrating = Migrating::begin(self, names.collect())?;
        for (number, migration) in migrations.into_iter().enumerate() {
            self.run(|tx| {
                if migrating.is_to_run(tx, number)? {
                    (migration.body)(tx)?;
                    migrating.note(tx, number)?;
                }
                Ok(())
            })?;
        }
        Ok(migrating.known())
    }

    /// The number of migrations that have run in the database.
    ///
    /// # Errors
    /// The errors of [`Tables::run`].
    #[inline]
    pub fn schema_version(&self) -> Result<u32, Error> {
        self.run(|tx| Ok(ran(tx)?.len() as u32))
    }
}

/// A program's migrations by their names, for the bindings, which run a migration's changes in their own transactions.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Migrating {
    names: Vec<String>,
}

impl Migrating {
    /// Has the database note migrations, and checks that the program's begin with those that ran in it.
    ///
    /// # Errors
    /// As [`Tables::migrate`], before anything is changed.
    #[inline]
    pub fn begin(tables: &Tables, names: Vec<String>) -> Result<Migrating, Error> {
        tables.run(|tx| {
            if number_of(tx).is_none() {
                let schema = Schema::new()
                    .column("version", Type::U32)
                    .column("name", Type::Text)
                    .column("ran", Type::Timestamp)
                    .primary_key(["version"]);
                tx.create_any_table(TABLE, schema)?;
            }
            check(&names, &ran(tx)?)
        })?;
        Ok(Migrating { names })
    }

    /// The program's schema version.
    #[inline]
    pub fn known(&self) -> u32 {
        self.names.len() as u32
    }

    /// True if the migration of a number, from 0, has not run: another thread may have run it meanwhile.
    ///
    /// # Errors
    /// The engine's.
    #[inline]
    pub fn is_to_run(&self, tx: &Transaction<'_>, number: usize) -> Result<bool, Error> {
        Ok(ran(tx)?.len() <= number)
    }

    /// Notes that a migration ran, in its own transaction.
    ///
    /// # Errors
    /// The engine's.
    #[inline]
    pub fn note(&self, tx: &mut Transaction<'_>, number: usize) -> Result<(), Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_micros() as i64);
        let version = Value::Int(number as i128 + 1);
        let row = [
            version,
            Value::Text(self.names[number].clone()),
            Value::Timestamp(now),
        ];
        let table = number_of(tx).ok_or("a migration dropped the table of migrations")?;
        tx.rows_of(table)?.insert_values(&row)
    }
}

/// The number of the table of migrations.
#[inline]
fn number_of(tx: &Transaction<'_>) -> Option<u16> {
    let view = tx.view();
    view.definitions().named(TABLE)
}

/// The names of the migrations that ran, in their order.
#[inline]
fn ran(tx: &Transaction<'_>) -> Result<Vec<String>, Error> {
    if number_of(tx).is_none() {
        return Ok(Vec::new());
    }
    let view = tx.view();
    let mut ran = Vec::new();
    for row in view.rows(TABLE)?.scan() {
        let row = row?;
        if let (Value::Int(version), Value::Text(name)) =
            (row.get_at(0)?.to_value(), row.get_at(1)?.to_value())
        {
            ran.push((version, name));
        }
    }
    ran.sort_unstable();
    Ok(ran.into_iter().map(|(_, name)| name).collect())
}

/// Checks that a program's migrations begin with those that ran.
#[inline]
fn check(said: &[String], ran: &[String]) -> Result<(), Error> {
    for (number, (ran, said)) in ran.iter().zip(said).enumerate() {
        if ran != said {
            let (ran, said) = (ran.clone(), said.clone());
            let version = number as u32 + 1;
            return Err(MigrationError::Renamed { version, ran, said }.into());
        }
    }
    match ran.last() {
        Some(name) if ran.len() > said.len() => Err(MigrationError::Newer {
            version: ran.len() as u32,
            name: name.clone(),
            known: said.len() as u32,
        }
        .into()),
        _ => Ok(()),
    }
}
