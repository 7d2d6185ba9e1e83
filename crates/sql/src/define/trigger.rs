//! `CREATE TRIGGER`, `DROP TRIGGER`, and `ALTER TABLE … ENABLE` and `DISABLE TRIGGER`: triggers of rows and of statements,
//! before or after their change. The notes of the table keep them, so they are dropped with it.

use super::function::{found, shown};
use super::options::{refuse, skipped};
use crate::changed_text::{Change, with_changes};
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::lexer::{Placed, placed};
use crate::names::{name_of, qualified, quoted};
use crate::path::local;
use crate::plan::triggers::check;
use crate::relation::{Relation, StatementEvents, TableNotes, TriggerNotes, store_notes};
use crate::result::{Complete, Notice, Tag};
use crate::rights::Rights;
use crate::routines::{Returns, RoutineDefinition};
use crate::source::Source;
use sardonyx::schema::OnDelete;
use sqlparser::ast::{
    CreateTrigger, DataType, DropTrigger, Expr, OperateFunctionArg, ReferentialAction,
    TriggerEvent, TriggerObject, TriggerObjectKind, TriggerPeriod,
};
use sqlparser::tokenizer::Token;
use std::ops::Range;
use std::sync::Arc;

/// The most triggers of a table.
const TRIGGERS_MAX: usize = 100;

/// Creates a trigger, or replaces it.
///
/// # Errors
/// `42710` if there is one of the name; `42P17` for a function that returns no trigger; `0A000` for other triggers than
/// those of rows and statements, and for those that references with an action would not run.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    create: &CreateTrigger,
    rights: &Arc<Rights>,
) -> Result<Complete, SqlError> {
    const WORD: &str = "CREATE TRIGGER";
    refuse(
        WORD,
        &[
            (create.is_constraint, "CONSTRAINT"),
            (create.temporary, "TEMPORARY"),
            (
                create.period == Some(TriggerPeriod::InsteadOf),
                "INSTEAD OF",
            ),
            (!create.referencing.is_empty(), "REFERENCING"),
            (create.referenced_table_name.is_some(), "FROM"),
            (create.characteristics.is_some(), "DEFERRABLE"),
        ],
    )?;
    let Some(executed) = &create.exec_body else {
        return Err(SqlError::syntax("EXECUTE FUNCTION is expected"));
    };
    let source = tx.view();
    let table = rights.path().find(source, &create.table_name)?;
    let mut relation = Relation::named(source, &table)?;
    let (schema, name) = qualified(&create.name)?;
    if schema.is_some() {
        return Err(SqlError::syntax("the name of a trigger has no schema"));
    }
    if relation.notes.materialized.is_some() {
        let text = format!("\"{}\" is not a table", relation.local());
        return Err(SqlError::new(code::WRONG_OBJECT_TYPE, text));
    }
    let mut description = executed.func_desc.clone();
    let given = description.args.replace(Vec::new()).unwrap_or_default();
    let function = found(source, &description, rights)?;
    if function.returns != Returns::Trigger {
        let text = format!("function {} must return type trigger", function.name);
        return Err(SqlError::new("42P17", text));
    }
    if relation.notes.triggers.contains_key(&name) && !create.or_replace {
        let text = format!(
            "trigger \"{name}\" for relation \"{}\" already exists",
            relation.local()
        );
        return Err(SqlError::new(code::DUPLICATE_OBJECT, text));
    }
    let notes = notes(create, &relation, &function, &given)?;
    refuse_actions(&relation, &notes)?;
    check(source, rights, &relation, (&notes, &function))?;
    relation.notes.table.clone_from(&relation.name);
    relation.notes.triggers.insert(name, notes);
    if relation.notes.triggers.len() > TRIGGERS_MAX {
        let text = format!("a table has at most {TRIGGERS_MAX} triggers");
        return Err(SqlError::new(code::PROGRAM_LIMIT, text));
    }
    store_notes(tx, relation.number, &relation.notes)?;
    Ok(Complete::of(Tag::plain(WORD)))
}

fn notes(
    create: &CreateTrigger,
    relation: &Relation,
    function: &RoutineDefinition,
    given: &[OperateFunctionArg],
) -> Result<TriggerNotes, SqlError> {
    let mut columns = Vec::new();
    let (mut inserts, mut updates, mut deletes, mut truncates) = (false, false, false, false);
    for event in &create.events {
        match event {
            TriggerEvent::Insert => inserts = true,
            TriggerEvent::Delete => deletes = true,
            TriggerEvent::Truncate => truncates = true,
            TriggerEvent::Update(names) => {
                updates = true;
                for name in names {
                    columns.push(relation.column(&name_of(name))?.number);
                }
            }
        }
    }
    let is_of_rows = matches!(
        create.trigger_object,
        Some(
            TriggerObjectKind::For(TriggerObject::Row)
                | TriggerObjectKind::ForEach(TriggerObject::Row)
        )
    );
    if truncates && is_of_rows {
        return Err(SqlError::unsupported(
            "TRUNCATE FOR EACH ROW triggers are not supported",
        ));
    }
    let condition = create.condition.as_ref().map(|tree| match tree {
        Expr::Nested(inner) => inner.to_string(),
        tree => tree.to_string(),
    });
    if let Some(text) = &condition {
        let lower = text.to_ascii_lowercase();
        let reads = |alias: &str| lower.contains(&format!("{alias}."));
        let wrong = match () {
            () if !is_of_rows && (reads("old") || reads("new")) => {
                Some("statement trigger's WHEN condition cannot reference column values")
            }
            () if reads("old") && inserts => {
                Some("INSERT trigger's WHEN condition cannot reference OLD values")
            }
            () if reads("new") && deletes => {
                Some("DELETE trigger's WHEN condition cannot reference NEW values")
            }
            () => None,
        };
        if let Some(text) = wrong {
            return Err(SqlError::new("42P17", text));
        }
    }
    // The parser reads literals there as names of types.
    let argument = |given: &OperateFunctionArg| match (&given.data_type, &given.name) {
        (DataType::Custom(name, modifiers), None) if modifiers.is_empty() => {
            match (qualified(name)?, &given.mode, &given.default_expr) {
                ((None, name), None, None) => Ok(name),
                _ => Err(SqlError::syntax(format!(
                    "\"{given}\" is no argument of a trigger"
                ))),
            }
        }
        _ => Err(SqlError::syntax(format!(
            "\"{given}\" is no argument of a trigger"
        ))),
    };
    let arguments = given.iter().map(argument);
    let statement = (!is_of_rows).then_some(StatementEvents {
        inserts,
        updates,
        deletes,
        truncates,
    });
    Ok(TriggerNotes {
        function: function.number,
        is_before: create.period == Some(TriggerPeriod::Before),
        inserts: inserts && is_of_rows,
        updates: updates && is_of_rows,
        deletes: deletes && is_of_rows,
        columns,
        condition,
        arguments: arguments.collect::<Result<_, SqlError>>()?,
        is_off: false,
        statement,
    })
}

/// Refuses triggers that the engine's own actions of references would not run.
///
/// # Errors
/// `0A000`.
pub(super) fn refuse_actions(relation: &Relation, notes: &TriggerNotes) -> Result<(), SqlError> {
    let events = notes.events();
    for key in &relation.schema.foreign_keys {
        let (action, is_hit) = match key.on_delete {
            OnDelete::Cascade => ("ON DELETE CASCADE", events.deletes),
            OnDelete::SetNull => ("ON DELETE SET NULL", events.updates),
            OnDelete::SetDefault => ("ON DELETE SET DEFAULT", events.updates),
            OnDelete::Restrict => continue,
        };
        if is_hit {
            return Err(SqlError::unsupported(format!(
                "a trigger of the rows that {action} of \"{}\" deletes or changes is not supported",
                key.name
            )));
        }
    }
    Ok(())
}

/// Drops a trigger.
///
/// # Errors
/// `42704` if there is none.
pub(super) fn drop_trigger(
    tx: &mut dyn DefineTarget,
    statement: &DropTrigger,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP TRIGGER";
    let (_, name) = qualified(&statement.trigger_name)?;
    let Some(table) = &statement.table_name else {
        return Err(SqlError::syntax("DROP TRIGGER needs ON and a table"));
    };
    let _ = statement.option == Some(ReferentialAction::Cascade);
    let source = tx.view();
    let kept = rights.path().find(source, table)?;
    let mut relation = match Relation::named(source, &kept) {
        Err(error) if statement.if_exists && error.code == code::UNKNOWN_TABLE => {
            let text = format!("relation \"{}\" does not exist, skipping", local(&kept));
            return Ok(skipped(WORD, "00000", text));
        }
        found => found?,
    };
    if relation.notes.triggers.remove(&name).is_none() {
        let text = format!(
            "trigger \"{name}\" for {} \"{}\" does not exist",
            if statement.if_exists {
                "relation"
            } else {
                "table"
            },
            relation.local()
        );
        return match statement.if_exists {
            true => Ok(skipped(WORD, "00000", format!("{text}, skipping"))),
            false => Err(SqlError::new(code::UNKNOWN_OBJECT, text)),
        };
    }
    store_notes(tx, relation.number, &relation.notes)?;
    Ok(Complete::of(Tag::plain(WORD)))
}

/// The tables that have a trigger of a function.
fn tables_of(source: &dyn Source, function: u32) -> Vec<Relation> {
    let numbers = 0..source.definitions().len() as u16;
    let relations = numbers.filter_map(|number| Relation::numbered(source, number).ok());
    let has = |relation: &Relation| {
        let mut triggers = relation.notes.triggers.values();
        triggers.any(|notes| notes.function == function)
    };
    relations.filter(has).collect()
}

/// Drops the triggers of a function that is dropped.
///
/// # Errors
/// `2BP01` if there are some, and they are not to be dropped.
pub(super) fn forget(
    tx: &mut dyn DefineTarget,
    function: &RoutineDefinition,
    cascades: bool,
) -> Result<Vec<Notice>, SqlError> {
    for mut relation in tables_of(tx.view(), function.number) {
        if !cascades {
            let name = shown(tx.view(), function)?;
            let triggers = relation.notes.triggers.iter();
            let mut triggers = triggers.filter(|(_, notes)| notes.function == function.number);
            let trigger = triggers.next().map_or("", |(name, _)| name);
            let text = format!("cannot drop function {name} because other objects depend on it");
            let detail = format!(
                "trigger {trigger} on table {} depends on function {name}",
                relation.local()
            );
            return Err(SqlError::new(code::DEPENDENT_OBJECTS, text)
                .detail(detail)
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let number = function.number;
        relation
            .notes
            .triggers
            .retain(|_, notes| notes.function != number);
        store_notes(tx, relation.number, &relation.notes)?;
    }
    Ok(Vec::new())
}

/// Switches triggers of users on or off: that of a name, or all.
///
/// # Errors
/// `42704` if there is none of the name.
pub(super) fn switch(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    name: Option<&str>,
    enables: bool,
) -> Result<(), SqlError> {
    let mut notes = relation.notes.clone();
    if let Some(name) = name
        && !notes.triggers.contains_key(name)
    {
        let text = format!(
            "trigger \"{name}\" for table \"{}\" does not exist",
            relation.local()
        );
        return Err(SqlError::new(code::UNKNOWN_OBJECT, text));
    }
    let switched = notes.triggers.iter_mut();
    for (_, trigger) in switched.filter(|(there, _)| name.is_none_or(|name| name == *there)) {
        trigger.is_off = !enables;
    }
    match notes.triggers.is_empty() {
        true => Ok(()),
        false => store_notes(tx, relation.number, &notes),
    }
}

/// Refuses a change of a column that triggers name behind `UPDATE OF` or in `WHEN`.
///
/// # Errors
/// `2BP01`.
pub(super) fn check_column(relation: &Relation, number: usize) -> Result<(), SqlError> {
    let column = relation.numbered_column(number);
    let column = column.map_or("", |column| &column.name);
    for (name, notes) in &relation.notes.triggers {
        let word = match &notes.condition {
            _ if notes.columns.contains(&number) => "behind UPDATE OF",
            Some(text) if reads(text, column)? => "in WHEN",
            _ => continue,
        };
        let text = format!(
            "cannot change column {column} of table {}, since trigger {name} names it {word}",
            relation.local()
        );
        let error = SqlError::new(code::DEPENDENT_OBJECTS, text);
        return Err(error.hint("Drop the trigger first."));
    }
    Ok(())
}

/// The bytes of a column's name behind `NEW.` and `OLD.`, also in parentheses, in a condition.
fn named_at(text: &str, column: &str) -> Result<Vec<Range<usize>>, SqlError> {
    let tokens = placed(text).map_err(|error| SqlError::syntax(error.message))?;
    let tokens: Vec<Placed> = tokens.into_iter().filter(|one| !one.is_blank()).collect();
    let is_row = |one: &Placed| match one.word() {
        Some(word) => ["new", "old"].contains(&&*word),
        None => one.token == Token::RParen,
    };
    let named = tokens.windows(3).filter_map(|three| match three {
        [row, point, name] if point.token == Token::Period && is_row(row) => {
            (name.word().as_deref() == Some(column)).then(|| name.at.clone())
        }
        _ => None,
    });
    Ok(named.collect())
}

/// True if a condition reads a column.
fn reads(text: &str, column: &str) -> Result<bool, SqlError> {
    Ok(!named_at(text, column)?.is_empty())
}

/// The notes of a table whose triggers' conditions name a column by its new name; `None` if none names it.
///
/// # Errors
/// The errors of reading the conditions.
pub(super) fn renamed(
    relation: &Relation,
    old: &str,
    new: &str,
) -> Result<Option<TableNotes>, SqlError> {
    let mut notes = relation.notes.clone();
    let mut is_changed = false;
    let conditions = notes.triggers.values_mut();
    for text in conditions.filter_map(|notes| notes.condition.as_mut()) {
        let places = named_at(text, old)?.into_iter();
        let changes: Vec<Change> = places.map(|at| (at, quoted(new))).collect();
        is_changed |= !changes.is_empty();
        *text = with_changes(text, &changes);
    }
    Ok(is_changed.then_some(notes))
}
