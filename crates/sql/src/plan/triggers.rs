//! Triggers: functions that run before or after the change of each row, or once for a statement.
//!
//! A plan that changes a table has the table's triggers. A function that runs before the change gives the row that is
//! stored, or leaves the row out; it only reads. The rows whose functions run afterwards are noted in the statement's
//! context, with their triggers. They run when the statement has made its changes and its references hold
//! (`crate::running`). So each path on which a statement changes rows ends there, or is not taken for such a table.

use super::planning::Planning;
use super::routine::{Given, Host, Outcome, Reader, Routine};
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::expression::functions::TriggerDepth;
use crate::indexed::ColumnValue;
use crate::memory::bytes_of;
use crate::names::quoted;
use crate::path::{local, schema_of};
use crate::relation::{Relation, StatementEvents, StoredColumn, TriggerNotes, table_oid};
use crate::rights::Rights;
use crate::routines::{Language, Returns, RoutineDefinition, all, notify};
use crate::source::Source;
use crate::types::SqlType;
use crate::values::arrays::array_of;
use sardonyx::schema::{Value, ValueRef};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The change of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Insert,
    Update,
    Delete,
}

impl Event {
    fn word(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
        }
    }

    fn is_in(self, events: StatementEvents) -> bool {
        match self {
            Event::Insert => events.inserts,
            Event::Update => events.updates,
            Event::Delete => events.deletes,
        }
    }

    /// True for a trigger that runs for each row of the change.
    fn is_of(self, notes: &TriggerNotes) -> bool {
        notes.statement.is_none() && self.is_in(notes.events())
    }
}

/// A trigger in a plan.
#[derive(Debug)]
struct Trigger {
    name: String,
    notes: TriggerNotes,
    routine: Routine,
    /// The function that computes its condition.
    condition: Option<Routine>,
}

impl Trigger {
    /// True if it runs at a time of a change. `set` are the columns that `UPDATE` sets.
    fn is_due(&self, event: Event, is_before: bool, set: Option<&BTreeSet<usize>>) -> bool {
        let columns = &self.notes.columns;
        let sets = |set: &BTreeSet<usize>| columns.iter().any(|of| set.contains(of));
        let is_set = event != Event::Update || columns.is_empty() || set.is_none_or(sets);
        self.notes.is_before == is_before && is_set
    }
}

/// The triggers of a table, in the order of their names.
#[derive(Debug)]
pub(crate) struct RowTriggers {
    number: u16,
    table: String,
    /// The columns of the engine's schema.
    pub width: usize,
    triggers: Vec<Trigger>,
    columns: Vec<StoredColumn>,
    generated: Vec<ColumnValue>,
}

/// The rows of a change: the old one, and the new one.
pub(crate) type Rows<'r> = (Option<&'r [Value]>, Option<&'r [Value]>);

/// The memory of a column's number among those that `UPDATE` sets, at least.
const BYTES_OF_SET: usize = 16;

/// A changed row, or a statement, whose triggers run at the end of the statement.
#[derive(Debug)]
pub(crate) struct Fired {
    of: Arc<RowTriggers>,
    event: Event,
    old: Option<Vec<Value>>,
    new: Option<Vec<Value>>,
    set: Option<BTreeSet<usize>>,
    /// True for triggers that run once, not for each row.
    is_of_statement: bool,
}

/// The triggers of a table, a change of the statement, and the columns that `UPDATE` sets.
pub(crate) type StatementTriggers<'s> = (&'s Arc<RowTriggers>, Event, Option<&'s BTreeSet<usize>>);

/// True if a table has triggers that are on.
pub(crate) fn has_triggers(relation: &Relation) -> bool {
    relation.notes.triggers.values().any(|notes| !notes.is_off)
}

impl RowTriggers {
    /// The triggers of a table; `None` if it has none that are on.
    ///
    /// # Errors
    /// `42883` if a function is not there any more.
    pub fn of(
        planning: &mut Planning<'_>,
        relation: &Relation,
    ) -> Result<Option<Arc<RowTriggers>>, SqlError> {
        if !has_triggers(relation) {
            return Ok(None);
        }
        // Functions may read the session's state, and change other tables.
        planning.queries.around.asks_session = true;
        planning.queries.around.notifies |= notify(planning.source)?;
        let found = RowTriggers::of_table(planning.source, relation)?;
        for trigger in &found.triggers {
            let body = trigger.routine.definition.body.to_ascii_lowercase();
            planning.queries.around.sets_session |= crate::class::sets_session(&body);
        }
        Ok(Some(Arc::new(found)))
    }

    fn of_table(source: &dyn Source, relation: &Relation) -> Result<RowTriggers, SqlError> {
        let functions = all(source)?;
        let mut triggers = Vec::new();
        let on = relation.notes.triggers.iter();
        for (name, notes) in on.filter(|(_, notes)| !notes.is_off) {
            let mut functions = functions.iter();
            let Some(function) = functions.find(|one| one.number == notes.function) else {
                let text = format!("the function of trigger \"{name}\" does not exist");
                return Err(SqlError::new(code::UNKNOWN_FUNCTION, text));
            };
            let number = relation.number;
            let condition = notes.condition.as_ref();
            triggers.push(Trigger {
                name: name.clone(),
                notes: notes.clone(),
                routine: Routine::of_trigger(function.clone(), number),
                condition: condition
                    .map(|text| Routine::of_trigger(condition_function(text), number)),
            });
        }
        Ok(RowTriggers {
            number: relation.number,
            table: relation.name.clone(),
            width: relation.schema.columns.len(),
            triggers,
            columns: relation.columns.iter().map(StoredColumn::of).collect(),
            generated: ColumnValue::all(&relation.schema)?,
        })
    }

    /// True for the triggers of the same table.
    pub fn is_of_same_table(&self, other: &RowTriggers) -> bool {
        self.number == other.number
    }

    /// True if a function runs before or after changes of a kind.
    pub fn has(&self, event: Event, is_before: bool) -> bool {
        let mut triggers = self.triggers.iter();
        triggers.any(|one| one.notes.is_before == is_before && event.is_of(&one.notes))
    }

    /// The triggers of a change that are due. `set` are the columns that `UPDATE` sets.
    fn due<'t>(
        &'t self,
        event: Event,
        is_before: bool,
        set: Option<&'t BTreeSet<usize>>,
    ) -> impl Iterator<Item = &'t Trigger> {
        let all = self.triggers.iter();
        all.filter(move |one| event.is_of(&one.notes) && one.is_due(event, is_before, set))
    }

    /// The triggers of a statement that are due.
    fn due_once<'t>(
        &'t self,
        event: Event,
        is_before: bool,
        set: Option<&'t BTreeSet<usize>>,
    ) -> impl Iterator<Item = &'t Trigger> {
        self.triggers.iter().filter(move |one| {
            let is_of = |events| event.is_in(events);
            one.notes.statement.is_some_and(is_of) && one.is_due(event, is_before, set)
        })
    }

    /// Runs the functions before a statement.
    ///
    /// # Errors
    /// The errors of the functions.
    pub fn before_statement(
        &self,
        host: &mut dyn Host,
        event: Event,
        set: Option<&BTreeSet<usize>>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        for trigger in self.due_once(event, true, set) {
            self.run_once(host, trigger, event, with)?;
        }
        Ok(())
    }

    /// Notes a statement for the functions that run after it, behind those of its rows.
    ///
    /// # Errors
    /// `53200` if the changes of the statement take too much memory.
    pub fn note_statement(
        self: &Arc<Self>,
        event: Event,
        set: Option<&BTreeSet<usize>>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        if self.due_once(event, false, set).next().is_none() {
            return Ok(());
        }
        with.context.check_waiting(size_of::<Fired>())?;
        let fired = Fired {
            of: self.clone(),
            event,
            old: None,
            new: None,
            set: set.cloned(),
            is_of_statement: true,
        };
        with.context.waiting.borrow_mut().push(Box::new(fired));
        Ok(())
    }

    fn run_once(
        &self,
        host: &mut dyn Host,
        trigger: &Trigger,
        event: Event,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        match self.holds(host, trigger, (None, None), with)? {
            true => self
                .call(host, trigger, event, (None, None), with)
                .map(drop),
            false => Ok(()),
        }
    }

    /// Runs the functions before a change. Returns the row that is stored, or deleted; `None` if it is left out.
    ///
    /// # Errors
    /// The errors of the functions; a value that a column does not take.
    pub fn before(
        &self,
        source: &dyn Source,
        event: Event,
        (old, new): Rows<'_>,
        set: Option<&BTreeSet<usize>>,
        with: &Environment<'_>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let mut row = match event {
            Event::Delete => old.unwrap_or_default().to_vec(),
            _ => new.unwrap_or_default().to_vec(),
        };
        for trigger in self.due(event, true, set) {
            let rows = match event {
                Event::Delete => (old, None),
                _ => (old, Some(&row[..])),
            };
            let host = &mut Reader(source);
            if !self.holds(host, trigger, rows, with)? {
                continue;
            }
            let given = self.call(host, trigger, event, rows, with)?;
            let Some(mut given) = given else {
                return Ok(None);
            };
            if event == Event::Delete {
                continue;
            }
            for column in self.columns.iter().filter(|column| !column.is_generated) {
                if let Some(value) = given.get_mut(column.number) {
                    *value = column.fit(std::mem::take(value))?;
                }
            }
            // Columns that SQL does not show stay as they were.
            for column in &self.columns {
                if let (Some(place), Some(value)) =
                    (row.get_mut(column.number), given.get_mut(column.number))
                {
                    *place = std::mem::take(value);
                }
            }
            ColumnValue::fill(&self.generated, &mut row, with)?;
        }
        Ok(Some(row))
    }

    /// Notes a change for the functions that run after it.
    ///
    /// # Errors
    /// `53200` if the rows take too much memory.
    pub fn note(
        self: &Arc<Self>,
        event: Event,
        (old, new): Rows<'_>,
        set: Option<&BTreeSet<usize>>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        if self.due(event, false, set).next().is_none() {
            return Ok(());
        }
        let rows = [old, new].into_iter().flatten().map(bytes_of);
        let set_bytes = set.map_or(0, |set| set.len() * BYTES_OF_SET);
        let bytes = size_of::<Fired>() + rows.sum::<usize>() + set_bytes;
        with.context.check_waiting(bytes)?;
        let fired = Fired {
            of: self.clone(),
            event,
            old: old.map(<[Value]>::to_vec),
            new: new.map(<[Value]>::to_vec),
            set: set.cloned(),
            is_of_statement: false,
        };
        with.context.waiting.borrow_mut().push(Box::new(fired));
        Ok(())
    }

    fn holds(
        &self,
        host: &mut dyn Host,
        trigger: &Trigger,
        rows: Rows<'_>,
        with: &Environment<'_>,
    ) -> Result<bool, SqlError> {
        let Some(condition) = &trigger.condition else {
            return Ok(true);
        };
        let given = Given {
            parameters: &[],
            rows: (rows.1, rows.0),
            about: &[],
        };
        match condition.call(host, given, with)? {
            Outcome::Value(value) => Ok(value == Value::Bool(true)),
            _ => Ok(false),
        }
    }

    /// Calls the function of a trigger. Returns its row.
    fn call(
        &self,
        host: &mut dyn Host,
        trigger: &Trigger,
        event: Event,
        (old, new): Rows<'_>,
        with: &Environment<'_>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let text = |text: &str| Value::Text(text.to_string());
        let arguments = &trigger.notes.arguments;
        let values = arguments.iter().map(|one| ValueRef::Text(one));
        let about = [
            text(&trigger.name),
            text(match trigger.notes.is_before {
                true => "BEFORE",
                false => "AFTER",
            }),
            text(match trigger.notes.statement {
                Some(_) => "STATEMENT",
                None => "ROW",
            }),
            text(event.word()),
            Value::Int(table_oid(self.number).into()),
            text(local(&self.table)),
            text(local(&self.table)),
            text(schema_of(&self.table)),
            Value::Int(arguments.len() as i128),
            // Its elements are counted from 0.
            match array_of(SqlType::Text, values) {
                Value::Text(array) if !arguments.is_empty() => {
                    Value::Text(format!("[0:{}]={array}", arguments.len() - 1))
                }
                array => array,
            },
        ];
        let given = Given {
            parameters: &[],
            rows: (new, old),
            about: &about,
        };
        let _deeper = TriggerDepth::enter();
        match trigger.routine.call(host, given, with)? {
            Outcome::Row(row) => Ok(row),
            _ => Ok(None),
        }
    }
}

impl Fired {
    /// Runs the functions after the change.
    ///
    /// # Errors
    /// The errors of the functions.
    pub fn run(&self, host: &mut dyn Host, with: &Environment<'_>) -> Result<(), SqlError> {
        if self.is_of_statement {
            for trigger in self.of.due_once(self.event, false, self.set.as_ref()) {
                self.of.run_once(host, trigger, self.event, with)?;
            }
            return Ok(());
        }
        let rows = (self.old.as_deref(), self.new.as_deref());
        for trigger in self.of.due(self.event, false, self.set.as_ref()) {
            if self.of.holds(host, trigger, rows, with)? {
                self.of.call(host, trigger, self.event, rows, with)?;
            }
        }
        Ok(())
    }
}

/// A function in PL/pgSQL that computes the condition of a trigger.
fn condition_function(text: &str) -> RoutineDefinition {
    RoutineDefinition {
        number: 0,
        schema: String::new(),
        name: quoted("WHEN"),
        parameters: Vec::new(),
        outs: Vec::new(),
        returns: Returns::Value(SqlType::Bool.oid()),
        language: Language::Plpgsql,
        body: format!("BEGIN RETURN ({text}); END"),
        volatility: 'v',
        is_strict: false,
        owner: String::new(),
        is_definer: false,
        path: None,
    }
}

/// Compiles the condition of a trigger, and the function for its table, as a check.
///
/// # Errors
/// Invalid SQL in the condition; `0A000` for a function before the change of a row that changes others.
pub(crate) fn check(
    source: &dyn Source,
    rights: &Arc<Rights>,
    relation: &Relation,
    (notes, function): (&TriggerNotes, &RoutineDefinition),
) -> Result<(), SqlError> {
    if let Some(text) = &notes.condition {
        let condition = condition_function(text);
        let routine = Routine::of_trigger(condition, relation.number).declared();
        routine.code(source, rights)?;
    }
    // Its tables may come later.
    let routine = Routine::of_trigger(function.clone(), relation.number);
    match routine.code(source, rights) {
        Ok(code) if code.writes && notes.is_before => Err(SqlError::unsupported(
            "the function of a BEFORE trigger changes no rows here",
        )
        .hint("Let an AFTER trigger change rows.")),
        Err(error) if error.code == code::FEATURE_NOT_SUPPORTED => Err(error),
        _ => Ok(()),
    }
}
