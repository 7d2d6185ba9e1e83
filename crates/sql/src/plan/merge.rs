//! `MERGE`: each row of a source, with the row of the table that it meets, is given to the first `WHEN` whose condition
//! holds. All rows are read before the first is changed, and a row of the table is changed once.
//!
//! The source is the left side of an outer join, so that the rows of the table are found by an index. The table's columns
//! are the first ones of the row, as in `UPDATE … FROM`.

use super::changes::{Changes, Found, compile_changes};
use super::draft::{FromJoin, FromNode};
use super::effects::{Effect, Gathered, Touched, apply_all};
use super::from::plan_factor;
use super::insert::{InsertPlan, InsertRows, plan_merged_row};
use super::planning::Planning;
use super::scopes::append;
use super::target::{Target, TargetDraft};
use super::tree::JoinKind;
use super::triggers::has_triggers;
use crate::claims::TableId;
use crate::error::{SqlError, code};
use crate::expression::{Environment, Expr, Kept, Scope};
use crate::lock_modes::RowMode;
use crate::rows::{InputRow, Table, Values};
use crate::source::Source;
use crate::values::equality_keys::key_of_row;
use crate::write_target::WriteTarget;
use sardonyx::schema::ValueRef;
use sqlparser::ast::{
    self, MergeAction, MergeClauseKind, MergeInsertKind, MergeUpdateKind, TableWithJoins,
};

/// A compiled `MERGE`.
#[derive(Debug)]
pub(crate) struct MergePlan {
    pub target: Target,
    arms: Vec<Arm>,
}

/// A `WHEN`.
#[derive(Debug)]
struct Arm {
    /// True if it is for rows of the source that meet a row of the table.
    matched: bool,
    condition: Option<Expr>,
    action: Action,
}

#[derive(Debug)]
enum Action {
    Update(Box<Changes>),
    Delete,
    Insert(Box<InsertPlan>),
    Nothing,
}

impl Action {
    /// The changes, of which there are none yet.
    fn effect(&self, table: u16) -> Option<Effect<'_>> {
        match self {
            Action::Update(changes) => Some(Effect::Update(changes, Vec::new())),
            Action::Delete => Some(Effect::Delete(table, Vec::new())),
            Action::Insert(insert) => Some(Effect::Insert(insert, Vec::new())),
            Action::Nothing => None,
        }
    }
}

/// Compiles `MERGE`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn plan_merge(
    planning: &mut Planning<'_>,
    merge: &ast::Merge,
) -> Result<MergePlan, SqlError> {
    let table = TableWithJoins {
        relation: merge.table.clone(),
        joins: Vec::new(),
    };
    let mut draft = TargetDraft::new(planning, "MERGE", &table, &[])?;
    if has_triggers(&draft.relation) {
        return Err(SqlError::unsupported(
            "MERGE into a table with triggers is not supported",
        ));
    }
    let width = draft.node.places().end;
    let (source, of_source) = plan_factor(planning, &merge.source, width)?;
    append(&mut draft.scope, of_source.clone())?;
    let on = planning
        .compiler(&draft.scope)
        .condition(&merge.on, "JOIN/ON")?;
    draft.node = FromNode::Join(Box::new(FromJoin {
        left: source,
        right: draft.node,
        kind: JoinKind::Left,
        on: Some(on),
    }));
    let mut arms: Vec<Arm> = Vec::with_capacity(merge.clauses.len());
    for clause in &merge.clauses {
        let matched = clause.clause_kind == MergeClauseKind::Matched;
        let mut earlier = arms.iter().filter(|arm| arm.matched == matched);
        if earlier.any(|arm| arm.condition.is_none()) {
            return Err(SqlError::syntax(
                "unreachable WHEN clause specified after unconditional WHEN clause",
            ));
        }
        let scope = match matched {
            true => &draft.scope,
            false => &of_source,
        };
        let mut compiler = planning.compiler(scope);
        let condition = clause.predicate.as_ref();
        let condition = condition.map(|tree| compiler.condition(tree, "WHEN"));
        let condition = condition.transpose()?;
        let action = action_of(planning, &draft, scope, &clause.action)?;
        arms.push(Arm {
            matched,
            condition,
            action,
        });
    }
    Ok(MergePlan {
        target: draft.finish(planning, None)?,
        arms,
    })
}

fn action_of(
    planning: &mut Planning<'_>,
    draft: &TargetDraft,
    scope: &Scope,
    action: &MergeAction,
) -> Result<Action, SqlError> {
    Ok(match action {
        MergeAction::Update(update) => match &update.kind {
            MergeUpdateKind::Set(assignments) => Action::Update(Box::new(compile_changes(
                planning,
                &draft.relation,
                scope,
                assignments,
            )?)),
            MergeUpdateKind::Wildcard => return Err(SqlError::syntax("UPDATE needs SET")),
        },
        MergeAction::Delete { .. } => Action::Delete,
        MergeAction::Insert(insert) => match &insert.kind {
            MergeInsertKind::Values(values) => Action::Insert(Box::new(plan_merged_row(
                planning,
                &draft.relation,
                scope,
                &insert.columns,
                values,
            )?)),
            _ => return Err(SqlError::syntax("INSERT of MERGE needs VALUES")),
        },
        MergeAction::DoNothing { .. } => Action::Nothing,
    })
}

impl MergePlan {
    /// Runs the statement. Returns the number of rows that it inserted, changed or deleted.
    ///
    /// # Errors
    /// As [`MergePlan::gather`]; write errors.
    pub fn run(
        &self,
        tx: &mut dyn WriteTarget,
        with: &Environment<'_>,
    ) -> Result<(u64, Table), SqlError> {
        let done = self.gather(&*tx, with, &mut Touched::default())?;
        apply_all(tx, &done.effects, with)?;
        Ok((done.count, done.table))
    }

    /// Finds out the changes: what is deleted first, and what is inserted last.
    ///
    /// # Errors
    /// Evaluation and read errors; `21000` if a row is to be changed twice.
    pub fn gather(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        touched: &mut Touched,
    ) -> Result<Gathered<'_>, SqlError> {
        let own = Kept::default();
        let reading = &with.over(source, with.kept(&own));
        let mut memory = reading.memory();
        let number = self.target.number;
        let mut seen = Touched::of(&[number]);
        let effects = self.arms.iter().map(|arm| arm.action.effect(number));
        let mut effects: Vec<Option<Effect<'_>>> = effects.collect();
        let mut count = 0;
        let mut each = |row: &dyn InputRow| {
            with.context.look_at_row()?;
            let matched = self.is_matched(row)?;
            let Some(at) = self.arm_for(row, matched, reading)? else {
                return Ok(true);
            };
            let (Some(arm), Some(Some(effect))) = (self.arms.get(at), effects.get_mut(at)) else {
                return Ok(true);
            };
            let mut key = Vec::new();
            if matched {
                key = self.target.key_of(row)?;
                if !seen.note(number, &key, &mut memory)? {
                    return Err(twice());
                }
                if !touched.note(number, &key, &mut memory)? {
                    return Ok(true);
                }
                let mode = match &arm.action {
                    Action::Update(changes) => Some(changes.row_mode()),
                    Action::Delete => Some(RowMode::Update),
                    Action::Insert(_) | Action::Nothing => None,
                };
                if let (Some(mode), Some(claims)) = (mode, &with.context.claims) {
                    let table = TableId::of(source.definitions(), number);
                    claims.changes(table, &key_of_row(&key), mode);
                }
            }
            match (&arm.action, effect) {
                (Action::Update(changes), Effect::Update(_, rows)) => {
                    let change = changes.of_row(source, row, reading, Found::Key(key), 0)?;
                    memory.take_bytes(change.bytes())?;
                    rows.push(change);
                }
                (Action::Delete, Effect::Delete(_, keys)) => {
                    memory.take(&key)?;
                    keys.push(key);
                }
                (Action::Insert(insert), Effect::Insert(_, rows)) => {
                    if let InsertRows::Values(given) = &insert.rows {
                        for given in given {
                            let made = insert.values_of(given, row, reading)?;
                            memory.take(&made)?;
                            rows.push(made);
                        }
                    }
                }
                _ => return Ok(true),
            }
            count += 1;
            Ok(true)
        };
        self.target
            .input
            .walk(source, reading, &Values(&[]), &mut each)?;
        memory.keep();
        let mut effects: Vec<Effect<'_>> = effects.into_iter().flatten().collect();
        effects.sort_by_key(|effect| match effect {
            Effect::Delete(..) => 0,
            Effect::Update(..) => 1,
            Effect::Insert(..) => 2,
        });
        Ok(Gathered {
            count,
            effects,
            ..Gathered::default()
        })
    }

    /// True if the row has a row of the table: its key has no nulls.
    fn is_matched(&self, row: &dyn InputRow) -> Result<bool, SqlError> {
        match self.target.key.first() {
            Some(column) => Ok(!matches!(row.value(*column)?, ValueRef::Null)),
            None => Ok(false),
        }
    }

    /// The place of the first `WHEN` for the row.
    fn arm_for(
        &self,
        row: &dyn InputRow,
        matched: bool,
        with: &Environment<'_>,
    ) -> Result<Option<usize>, SqlError> {
        let arms = self.arms.iter().enumerate();
        for (at, arm) in arms.filter(|(_, arm)| arm.matched == matched) {
            let holds = match &arm.condition {
                Some(condition) => condition.holds(row, with)?,
                None => true,
            };
            if holds {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}

/// That a row is to be changed twice.
#[cold]
fn twice() -> SqlError {
    SqlError::new(
        code::CARDINALITY_VIOLATION,
        "MERGE command cannot affect row a second time",
    )
    .hint("Ensure that not more than one source row matches any one target row.")
}
