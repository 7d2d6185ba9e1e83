//! Rows that arrive as values of columns, without a statement for each: by `COPY`, or by a program that reads a file.
//!
//! Rows are completed and stored as `INSERT` does. Texts are read as the columns' declared types. Absent columns get
//! their defaults, also computed ones and numbers of sequences. Every condition is checked.

use crate::called::Caller;
use crate::constraints::{at_commit, in_statement};
use crate::database::Database;
use crate::declared::put_notes;
use crate::error::{SqlError, code};
use crate::expression::{Environment, StatementContext};
use crate::path::written_whole;
use crate::plan::insert::{InsertPlan, plan_insert};
use crate::plan::planning::Planning;
use crate::relation::{ColumnNotes, Relation, StoredColumn, TableNotes};
use crate::rights::Rights;
use crate::running::{fire, now, once_for, seed};
use crate::sequences::{Draws, SequenceChanges};
use crate::source::Source;
use crate::text::{decode_text_in, text_of};
use crate::types::{SqlType, TypeSpec};
use crate::values::zones::SessionZone;
use crate::write_target::{WriteTarget, with_objects};
use sardonyx::schema::{Schema, Value};
use sardonyx::{Durability, Error};
use sardonyx_rows::value_text::parse_value;
use sqlparser::ast::Statement;
use std::borrow::Cow;
use std::sync::Arc;

/// The columns of a table for which rows are given.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub plan: InsertPlan,
    /// The places of the columns in the plan, in the order of the values.
    places: Vec<usize>,
}

impl Incoming {
    /// For the columns of these names, or for all without names.
    ///
    /// # Errors
    /// `42P01`, `42703` if there are none; `42501` if the rights do not suffice.
    pub fn of(
        source: &dyn Source,
        rights: &Arc<Rights>,
        table: &str,
        columns: &[String],
    ) -> Result<Incoming, SqlError> {
        let mut parameters = crate::expression::Parameters::default();
        let mut planning = Planning::new(source, &mut parameters, rights)?;
        // Columns that are not given get their defaults.
        let text = format!("insert into {table} default values");
        let plan = match &crate::parse::parse_kept(&text)?.pop() {
            Some(Statement::Insert(insert)) => plan_insert(&mut planning, insert)?,
            _ => return Err(SqlError::unknown_table(table)),
        };
        let place = |name: &String| {
            let mut columns = plan.columns.iter();
            let place = columns.position(|(there, _)| there.name == *name);
            place.ok_or_else(|| SqlError::unknown_column(name))
        };
        let places = match columns {
            [] => {
                let columns = plan.columns.iter().enumerate();
                let own = columns.filter(|(_, (column, _))| !column.is_generated);
                own.map(|(place, _)| place).collect()
            }
            names => names.iter().map(place).collect::<Result<_, _>>()?,
        };
        Ok(Incoming { plan, places })
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.places.len()
    }

    /// A row of fields, one for each column, which `decode` reads; `None` is a null.
    ///
    /// # Errors
    /// `22P04` if there are more or fewer fields than columns; the errors of `decode`; an error of storing.
    pub fn row<F>(
        &self,
        fields: Vec<Option<F>>,
        decode: impl Fn(&StoredColumn, F) -> Result<Value, SqlError>,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        if fields.len() != self.places.len() {
            return Err(SqlError::new(
                code::BAD_COPY,
                format!(
                    "a line has {} columns, and {} are expected",
                    fields.len(),
                    self.places.len()
                ),
            ));
        }
        let mut given = Vec::with_capacity(fields.len());
        for (field, &place) in fields.into_iter().zip(&self.places) {
            let column = &self.plan.columns[place].0;
            let value = match field {
                None => Value::Null,
                Some(field) => decode(column, field)?,
            };
            given.push((place, value));
        }
        self.plan.complete(given, with)
    }
}

/// The value of a text for a column, in a session's time zone, which is UTC if there is none.
///
/// # Errors
/// As [`decode_text_in`].
pub(crate) fn value_of(
    column: &StoredColumn,
    text: &str,
    zone: Option<&SessionZone>,
) -> Result<Value, SqlError> {
    match column.beyond_sql() {
        None => decode_text_in(column.spec.kind, text, zone),
        Some(kind) => parse_value(text.trim(), kind)
            .map_err(|error| SqlError::new(code::INVALID_TEXT, format!("{text:?} is {error}"))),
    }
}

/// A moment with a signed year, as exports write years without four digits, in SQL's form.
fn in_an_era(spec: TypeSpec, text: &str) -> Cow<'_, str> {
    let is_moment = matches!(
        spec.kind,
        SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz
    );
    let is_of_export = is_moment && (text.starts_with(['+', '-']) || text.starts_with("0000-"));
    let moment = is_of_export.then(|| parse_value(text, spec.stored()).ok());
    let said = moment
        .flatten()
        .and_then(|value| text_of(spec.kind, value.as_ref()));
    said.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// A table into which a program's rows go, as its columns were when it was asked for.
#[derive(Clone, Debug)]
pub struct IncomingTable {
    name: String,
    schema: Arc<Schema>,
    /// The columns by their numbers in the engine's schema; `None` for hidden ones.
    columns: Vec<Option<StoredColumn>>,
}

/// A row by the numbers of its columns; those that it leaves out get their defaults.
pub type IncomingRow = Vec<(usize, Value)>;

/// The result of a program's insertions.
#[derive(Debug)]
pub struct InsertedRows {
    /// Counts the new rows.
    pub count: u64,
    sequences: SequenceChanges,
}

impl InsertedRows {
    /// To be called when the transaction commits, in the serial stage.
    pub fn committed(self, database: &Database) {
        database.sequences_committed(self.sequences);
    }
}

/// A transaction into which rows are put: of main memory, or of a node.
pub struct RowsTransaction<'t>(&'t mut dyn WriteTarget);

impl std::fmt::Debug for RowsTransaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowsTransaction").finish_non_exhaustive()
    }
}

impl IncomingTable {
    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its columns' names and numbers, and the engine's types of them.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The value of a text for a column, as `COPY` reads it.
    ///
    /// # Errors
    /// The text is not a value of the column's type; `42703` if there is no such column.
    pub fn value(&self, column: usize, text: &str) -> Result<Value, SqlError> {
        match self.columns.get(column) {
            Some(Some(column)) => {
                let text = in_an_era(column.spec, text);
                value_of(column, &text, None).map_err(|error| error.of_column(&column.name))
            }
            _ => Err(SqlError::unknown_column(&column.to_string())),
        }
    }
}

impl Database {
    /// A table into which rows are to go.
    ///
    /// # Errors
    /// `42P01` if there is none of this name; `42809` if it is a view.
    pub fn incoming_table(&self, name: &str) -> Result<IncomingTable, SqlError> {
        crate::running::install();
        let of = |source: &dyn Source| {
            if crate::views::view_named(source, name)?.is_some() {
                return Err(SqlError::new(
                    code::WRONG_OBJECT_TYPE,
                    format!("\"{name}\" is a view: rows are inserted into tables"),
                ));
            }
            let relation = Relation::named(source, name)?;
            let mut columns = vec![None; relation.schema.columns.len()];
            for column in &relation.columns {
                columns[column.number] = Some(StoredColumn::of(column));
            }
            Ok(IncomingTable {
                name: relation.name,
                schema: relation.schema,
                columns,
            })
        };
        match self.node() {
            Some(node) => self.look_at_node(&**node, &Arc::default(), |source, _| of(source)),
            None => self.tables_in_memory("this")?.read(|view| Ok(of(view)))?,
        }
    }

    /// Runs a transaction into which rows are put. In main memory it is durable when [`Tables::flush`] has returned, on
    /// a node when this function has.
    ///
    /// # Errors
    /// The error of `act`: nothing is stored then. The engine's; [`Error::Conflict`] if a node chose it to end a
    /// deadlock.
    ///
    /// [`Tables::flush`]: sardonyx::Tables::flush
    pub fn put_rows<R: Send, E: From<Error> + Send>(
        &self,
        act: impl FnOnce(&mut RowsTransaction<'_>) -> Result<R, E> + Send,
    ) -> Result<R, E> {
        let Some(node) = self.node() else {
            let tables = self.tables_in_memory("this");
            let tables = tables.map_err(|error| E::from(Error::other(error)))?;
            let transaction = tables.transaction().durability(Durability::Deferred);
            return transaction.errors().run(|tx| act(&mut RowsTransaction(tx)));
        };
        let (mut act, mut done) = (Some(act), None);
        let ran = node.run(&mut |tx| {
            done = act.take().map(|act| act(&mut RowsTransaction(tx)));
            matches!(done, Some(Ok(_)))
        });
        match (ran, done) {
            (Err(error), _) => Err(error.into()),
            (Ok(_), Some(done)) => done,
            (Ok(_), None) => Err(Error::other("the node ran nothing").into()),
        }
    }

    /// Creates a table with a schema of the engine. `without_zone` has the numbers of the columns whose moments have no
    /// zone.
    ///
    /// # Errors
    /// `42P07` if the name is taken; an error in the schema.
    pub fn create_incoming_table(
        &self,
        tx: &mut RowsTransaction<'_>,
        name: &str,
        schema: Schema,
        without_zone: &[usize],
    ) -> Result<(), SqlError> {
        let Some(tx) = tx.0.define() else {
            return Err(SqlError::unsupported("no table can be made here"));
        };
        crate::define::check_new_name(tx, name)?;
        let number = tx.create_table(name, schema)?;
        let notes = |number: &usize| {
            let notes = ColumnNotes {
                kind: SqlType::Timestamp.oid(),
                modifier: -1,
                ..ColumnNotes::default()
            };
            (*number, notes)
        };
        let notes = TableNotes {
            table: name.to_string(),
            columns: without_zone.iter().map(notes).collect(),
            ..TableNotes::default()
        };
        put_notes(tx, number, &notes)?;
        tx.defined()?;
        self.catalogue_changed();
        Ok(())
    }

    /// Inserts rows as a part of a transaction. Calls `failed` with the number of a row that cannot be stored, from 0,
    /// and the error. `failed` skips the row by `Ok`, or ends the insertion by an error; the caller then undoes the
    /// transaction.
    ///
    /// # Errors
    /// The error of `failed`; `42P01` if the table was dropped.
    pub fn insert_incoming(
        self: &Arc<Self>,
        tx: &mut RowsTransaction<'_>,
        table: &IncomingTable,
        rows: impl Iterator<Item = IncomingRow>,
        mut failed: impl FnMut(usize, SqlError) -> Result<(), SqlError>,
    ) -> Result<InsertedRows, SqlError> {
        let tx = &mut *tx.0;
        let rights = Arc::default();
        let name = written_whole(&table.name);
        let incoming = Incoming::of(&*tx, &rights, &name, &[])?;
        let plan = &incoming.plan;
        let mut places = vec![None; plan.width];
        for (place, (column, _)) in plan.columns.iter().enumerate() {
            places[column.number] = Some(place);
        }
        let caller = Caller::new("sardonyx", &rights);
        let now = now();
        let context = StatementContext::of_program(self, &caller, now, seed(), Draws::default());
        let with = Environment::new(&[], &context);
        let rows = rows.map(|row| {
            let mut given = Vec::with_capacity(row.len());
            for (number, value) in row {
                let place = places.get(number).copied().flatten();
                let place = place.ok_or_else(|| SqlError::unknown_column(&number.to_string()))?;
                given.push((place, value));
            }
            plan.complete(given, &with)
        });
        // References are checked when all rows are inserted, as in COPY.
        let insert = |tx: &mut dyn WriteTarget| plan.insert_rows(tx, &with, rows, &mut failed);
        let count = once_for(tx, &plan.statement_triggers(), &with, |tx| {
            in_statement(tx, &with, insert)
        })?;
        fire(tx, &with)?;
        at_commit(tx)?;
        let mut draws = context.draws.into_inner();
        with_objects(tx, |objects| draws.make_usable(self.counters(), objects))?;
        let sequences = draws.changes.sequences;
        Ok(InsertedRows { count, sequences })
    }
}
