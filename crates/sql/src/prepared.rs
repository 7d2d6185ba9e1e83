//! A prepared statement: parsed once, and compiled once for the present state of the tables.

mod calls;
mod compiled;
mod texts;

use calls::{calls_users, reads_no_table};
pub(crate) use texts::StatementText;

use crate::class::{
    Class, Special, asks_session, class_of, draws, has_changes, may_wait, notifies, sets_session,
    with_before_insert,
};
use crate::column::ResultColumn;
use crate::copy::options::CopyFormat;
use crate::cursors::CursorCommand;
use crate::database::Database;
use crate::expression::Expr;
use crate::names::qualified;
use crate::on_commit::OnCommit;
use crate::parse::comment::Comment;
use crate::parse::{
    Block, ProcedureDefinition, RightsCommand, SequenceCommand, SetConstraints, TypeCommand,
};
use crate::path::TEMPORARY;
use crate::plan::Planned;
use crate::rights::Rights;
use crate::search_path::SearchPath;
use crate::types::SqlType;
use sqlparser::ast::{CopyTarget, ObjectName, Statement};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A prepared statement.
#[derive(Debug)]
pub struct Prepared {
    text: StatementText,
    statement: Option<Statement>,
    special: Option<Special>,
    definition: Option<Arc<ProcedureDefinition>>,
    cursor: Option<CursorCommand>,
    constraints: Option<SetConstraints>,
    comment: Option<Comment>,
    type_command: Option<TypeCommand>,
    sequence_command: Option<SequenceCommand>,
    rights_command: Option<RightsCommand>,
    block: Option<Block>,
    /// The names of a procedure's parameters, in its body.
    names: Arc<[String]>,
    /// True if the database keeps its text.
    is_kept: bool,
    /// The arguments of `CALL`, compiled.
    arguments: OnceLock<Vec<Expr>>,
    class: Class,
    declared: Vec<Option<SqlType>>,
    parameters: OnceLock<Vec<SqlType>>,
    columns: OnceLock<Option<Arc<[ResultColumn]>>>,
    /// True if a client may have the description of the columns, and reads the rows by it.
    is_told: AtomicBool,
    copy_columns: OnceLock<usize>,
    plan: Mutex<Option<Arc<Planned>>>,
    /// The rights of its session; all rights, for a procedure's statement.
    rights: Mutex<Arc<Rights>>,
    /// True if its text may have `SKIP LOCKED` or `NOWAIT`.
    may_claim: bool,
    /// True if its text reads or sets the session's state.
    asks_session: bool,
    /// True if its text sets parameters of the session, or takes its locks.
    sets_session: bool,
    /// True if its text may notify sessions by a function.
    notifies: bool,
    /// True if it changes nothing else.
    only_signals: bool,
    /// True if it may wait: for an advisory lock, or asleep.
    waits: bool,
}

/// A statement's command on a savepoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SavepointStep {
    /// `SAVEPOINT`
    Set,
    /// `RELEASE`
    Release,
    /// `ROLLBACK TO`
    Back,
}

impl Prepared {
    pub(crate) fn new(
        text: StatementText,
        statement: Option<Statement>,
        declared: &[Option<SqlType>],
    ) -> Prepared {
        let lower = text.own().to_ascii_lowercase();
        let statement = statement.map(with_before_insert);
        let class = match &statement {
            None => Class::Empty,
            Some(statement) => class_of(statement, &lower),
        };
        let class = match &statement {
            // Such a function may change rows.
            Some(Statement::Query(query)) if class == Class::Read && calls_users(query) => {
                Class::Write
            }
            _ => class,
        };
        let notifies = notifies(&lower);
        let only_signals = match &statement {
            Some(Statement::Query(query)) => notifies && !draws(&lower) && !has_changes(query),
            Some(statement) => is_signal(statement),
            None => false,
        };
        let waits = matches!(&statement, Some(Statement::Query(query)) if reads_no_table(query))
            && may_wait(&lower);
        Prepared {
            waits,
            notifies,
            only_signals,
            may_claim: lower.contains("locked") || lower.contains("nowait"),
            text,
            statement,
            special: None,
            definition: None,
            cursor: None,
            constraints: None,
            comment: None,
            type_command: None,
            sequence_command: None,
            rights_command: None,
            block: None,
            names: Arc::default(),
            is_kept: false,
            arguments: OnceLock::new(),
            sets_session: sets_session(&lower),
            asks_session: asks_session(&lower),
            class,
            declared: declared.to_vec(),
            parameters: OnceLock::new(),
            columns: OnceLock::new(),
            is_told: AtomicBool::new(false),
            copy_columns: OnceLock::new(),
            plan: Mutex::default(),
            rights: Mutex::default(),
        }
    }

    /// With the rights of its session.
    pub(crate) fn with_rights(self, rights: Arc<Rights>) -> Prepared {
        Prepared {
            rights: Mutex::new(rights),
            ..self
        }
    }

    /// The rights of its session.
    pub(crate) fn rights(&self) -> Arc<Rights> {
        let rights = self.rights.lock().unwrap_or_else(PoisonError::into_inner);
        rights.clone()
    }

    /// Sets the search path for its names: a plan of other tables is dropped.
    pub(crate) fn look_in(&self, path: &Arc<SearchPath>) {
        let mut rights = self.rights.lock().unwrap_or_else(PoisonError::into_inner);
        let before = rights.path();
        if Arc::ptr_eq(before, path) {
            return;
        }
        let is_same = **before == **path;
        *rights = Arc::new(rights.looking_in(path));
        drop(rights);
        if !is_same {
            *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// True if it may wait, so that it runs outside the serial stage.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// True if it is a query; parts in its `WITH` may write.
    pub(crate) fn is_query(&self) -> bool {
        matches!(self.statement, Some(Statement::Query(_)))
    }

    /// True if it calls a procedure.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self.statement, Some(Statement::Call(_)))
    }

    pub(crate) fn special(text: StatementText, special: Special) -> Prepared {
        Prepared {
            special: Some(special),
            class: Class::Maintenance,
            ..Prepared::new(text, None, &[])
        }
    }

    /// The creation of a procedure.
    pub(crate) fn procedure(text: StatementText, definition: ProcedureDefinition) -> Prepared {
        Prepared {
            definition: Some(Arc::new(definition)),
            class: Class::Define,
            ..Prepared::new(text, None, &[])
        }
    }

    /// `FETCH`, `MOVE` or `CLOSE`, with its text for the log.
    pub(crate) fn of_cursor(text: StatementText, command: CursorCommand) -> Prepared {
        Prepared {
            cursor: Some(command),
            class: Class::Session,
            ..Prepared::new(text, None, &[])
        }
    }

    /// `SET CONSTRAINTS`: it may check rows, so it runs as a write does.
    pub(crate) fn of_constraints(text: StatementText, command: SetConstraints) -> Prepared {
        Prepared {
            constraints: Some(command),
            class: Class::Write,
            ..Prepared::new(text, None, &[])
        }
    }

    /// True if it creates a temporary object, by that word or in the session's own schema.
    pub(crate) fn makes_temporary(&self) -> bool {
        let is_own = |name: &ObjectName| matches!(qualified(name), Ok((Some(schema), _)) if schema == TEMPORARY);
        match &self.statement {
            Some(Statement::CreateTable(create)) => create.temporary || is_own(&create.name),
            Some(Statement::CreateView(create)) => create.temporary || is_own(&create.name),
            Some(Statement::CreateSequence {
                temporary, name, ..
            }) => *temporary || is_own(name),
            _ => false,
        }
    }

    /// True if it creates a temporary table on which a commit has an effect.
    pub(crate) fn ends_at_commit(&self) -> bool {
        match &self.statement {
            Some(Statement::CreateTable(create)) => {
                OnCommit::of(create.on_commit.as_ref()).is_some()
            }
            _ => false,
        }
    }

    /// Its `SET CONSTRAINTS`, if it is one.
    pub(crate) fn constraints(&self) -> Option<&SetConstraints> {
        self.constraints.as_ref()
    }

    /// `COMMENT ON`.
    pub(crate) fn of_comment(text: StatementText, comment: Comment) -> Prepared {
        Prepared {
            comment: Some(comment),
            class: Class::Define,
            ..Prepared::new(text, None, &[])
        }
    }

    /// `ALTER TYPE`.
    pub(crate) fn of_type(text: StatementText, command: TypeCommand) -> Prepared {
        Prepared {
            type_command: Some(command),
            class: Class::Define,
            ..Prepared::new(text, None, &[])
        }
    }

    /// `ALTER SEQUENCE`.
    pub(crate) fn of_sequence(text: StatementText, command: SequenceCommand) -> Prepared {
        Prepared {
            sequence_command: Some(command),
            class: Class::Define,
            ..Prepared::new(text, None, &[])
        }
    }

    /// `GRANT` and the like.
    pub(crate) fn of_rights(text: StatementText, command: RightsCommand) -> Prepared {
        Prepared {
            rights_command: Some(command),
            class: Class::Define,
            ..Prepared::new(text, None, &[])
        }
    }

    /// `DO`: the effects of its statements are known only when they run, so it counts as a definition.
    pub(crate) fn of_block(text: StatementText, block: Block) -> Prepared {
        Prepared {
            block: Some(block),
            class: Class::Define,
            ..Prepared::new(text, None, &[])
        }
    }

    /// The block of `DO`, if it is one.
    pub(crate) fn block(&self) -> Option<&Block> {
        self.block.as_ref()
    }

    /// The change of a sequence, if it is one.
    pub(crate) fn sequence_command(&self) -> Option<&SequenceCommand> {
        self.sequence_command.as_ref()
    }

    /// The statement on rights, if it is one.
    pub(crate) fn rights_command(&self) -> Option<&RightsCommand> {
        self.rights_command.as_ref()
    }

    /// The change of a type, if it is one.
    pub(crate) fn type_command(&self) -> Option<&TypeCommand> {
        self.type_command.as_ref()
    }

    /// The comment that it stores, if it does that.
    pub(crate) fn comment(&self) -> Option<&Comment> {
        self.comment.as_ref()
    }

    /// A statement of a procedure's body.
    pub(crate) fn of_body(
        text: StatementText,
        statement: Statement,
        names: Arc<[String]>,
        types: &[Option<SqlType>],
        is_kept: bool,
    ) -> Prepared {
        Prepared {
            names,
            is_kept,
            ..Prepared::new(text, Some(statement), types)
        }
    }

    /// The number of columns of a `COPY`; 0 while it was not planned.
    pub fn copy_columns(&self) -> usize {
        self.copy_columns.get().copied().unwrap_or_default()
    }

    /// The format of a `COPY`.
    pub fn copy_format(&self) -> CopyFormat {
        crate::copy::options::format_of(self.statement.as_ref())
    }

    /// True if it is `COPY … FROM STDIN`.
    pub fn is_copy_in(&self) -> bool {
        matches!(
            &self.statement,
            Some(Statement::Copy {
                to: false,
                target: CopyTarget::Stdin,
                ..
            })
        )
    }

    /// True if it is `INSERT`, or `COPY … FROM STDIN`.
    pub(crate) fn inserts(&self) -> bool {
        self.is_copy_in() || matches!(self.statement, Some(Statement::Insert(_)))
    }

    /// True if it is `COPY … TO STDOUT`.
    pub fn is_copy_out(&self) -> bool {
        matches!(&self.statement, Some(Statement::Copy { to: true, .. }))
    }

    /// The cursor command that it is, if it is one: the owner of the portals runs it, and nothing else runs.
    pub fn cursor(&self) -> Option<&CursorCommand> {
        self.cursor.as_ref()
    }

    /// Itself, or the query of the cursor that it declares: the statement to compile.
    pub(crate) fn compiled(self: &Arc<Prepared>) -> &Arc<Prepared> {
        match &self.cursor {
            Some(CursorCommand::Declare { query, .. }) => query,
            _ => self,
        }
    }

    /// True if it has no statement.
    pub fn is_empty(&self) -> bool {
        self.class == Class::Empty
    }

    /// True if it builds an index while others write.
    pub(crate) fn is_concurrent(&self) -> bool {
        matches!(self.statement(), Some(Statement::CreateIndex(create)) if create.concurrently)
    }

    /// True if its only effect is its answer, as of a query.
    pub fn only_reads(&self) -> bool {
        matches!(self.class, Class::Empty | Class::Read)
    }

    /// True if it is `BEGIN`, by whichever name.
    pub fn begins_transaction(&self) -> bool {
        matches!(self.statement, Some(Statement::StartTransaction { .. }))
    }

    /// True if it may run in a failed transaction: it ends the transaction, or goes back to a savepoint.
    pub fn ends_failure(&self) -> bool {
        matches!(
            self.statement,
            Some(Statement::Commit { .. } | Statement::Rollback { .. })
        )
    }

    /// True if it is `COMMIT` or `ROLLBACK`, by whichever names, of the whole transaction.
    pub fn ends_transaction(&self) -> bool {
        matches!(
            self.statement,
            Some(
                Statement::Commit { .. }
                    | Statement::Rollback {
                        savepoint: None,
                        ..
                    }
            )
        )
    }

    /// Its command on a savepoint, and the savepoint's name.
    pub fn savepoint(&self) -> Option<(SavepointStep, String)> {
        let (step, name) = match &self.statement {
            Some(Statement::Savepoint { name }) => (SavepointStep::Set, name),
            Some(Statement::ReleaseSavepoint { name }) => (SavepointStep::Release, name),
            Some(Statement::Rollback {
                savepoint: Some(name),
                ..
            }) => (SavepointStep::Back, name),
            _ => return None,
        };
        Some((step, crate::names::name_of(name)))
    }

    /// Its text, or the text of which it is a part.
    pub fn text(&self) -> &str {
        self.text.whole()
    }

    /// The same.
    pub(crate) fn shared_text(&self) -> &Arc<str> {
        self.text.whole()
    }

    /// The statement alone, without its neighbours in the client's text.
    pub(crate) fn own_text(&self) -> &str {
        self.text.own()
    }

    /// The text for a statement that does a part of its work.
    pub(crate) fn statement_text(&self) -> StatementText {
        self.text.clone()
    }

    /// True if it is compiled when it is prepared.
    pub(crate) fn is_to_be_compiled(&self) -> bool {
        self.statement.is_some() || self.is_empty()
    }

    pub(crate) fn class(&self) -> Class {
        self.class
    }

    pub(crate) fn statement(&self) -> Option<&Statement> {
        self.statement.as_ref()
    }

    pub(crate) fn definition(&self) -> Option<&Arc<ProcedureDefinition>> {
        self.definition.as_ref()
    }

    /// The arguments of `CALL`, compiled once.
    pub(crate) fn arguments(&self) -> &OnceLock<Vec<Expr>> {
        &self.arguments
    }

    /// True if it may set parameters of the session, or take its locks, so that it runs once: by its text, or by those of
    /// the views in its last plan.
    pub(crate) fn sets_session(&self) -> bool {
        self.sets_session || self.last_plan().is_some_and(|plan| plan.sets_session)
    }

    /// True if it is `LISTEN`, `UNLISTEN` or `NOTIFY`.
    pub(crate) fn is_signal(&self) -> bool {
        self.statement.as_ref().is_some_and(is_signal)
    }

    /// True if it sets parameters of the session, or sets them back.
    pub(crate) fn sets(&self) -> bool {
        matches!(
            self.statement,
            Some(Statement::Set(_) | Statement::Reset(_))
        )
    }

    /// True if it may notify sessions by a function.
    pub(crate) fn notifies(&self) -> bool {
        self.notifies
    }

    /// True if it is of the writing class only because it notifies or listens: a transaction that only reads may do so.
    pub(crate) fn only_signals(&self) -> bool {
        self.only_signals
    }

    /// True if it can run before earlier steps are answered. Neither it, nor its defaults, nor its procedures read the
    /// session's state.
    pub(crate) fn is_by_itself(&self, database: &Database) -> bool {
        if self.asks_session {
            return false;
        }
        match &self.statement {
            Some(
                Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_),
            ) => self.has_plan_by_itself(database.version()),
            Some(Statement::Call(function)) => crate::procedures::is_by_itself(function, database),
            _ => false,
        }
    }

    /// True if it may store additional data.
    pub(crate) fn stores(&self) -> bool {
        let stores = !matches!(
            self.statement,
            Some(
                Statement::Delete(_)
                    | Statement::Drop { .. }
                    | Statement::Truncate { .. }
                    | Statement::UNLISTEN { .. }
            )
        );
        stores && matches!(self.class(), Class::Write | Class::Define)
    }

    /// True if it changes the set of named statements.
    pub fn changes_names(&self) -> bool {
        matches!(
            self.statement,
            Some(
                Statement::Prepare { .. }
                    | Statement::Deallocate { .. }
                    | Statement::Discard { .. }
            )
        )
    }

    pub(crate) fn as_special(&self) -> Option<Special> {
        self.special
    }

    /// True if it locks rows, by its plan; before it has one, if it may ask for claims.
    pub(crate) fn locks_rows(&self) -> bool {
        (self.last_plan()).map_or(self.may_claim, |plan| plan.locks_rows)
    }
}

fn is_signal(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::LISTEN { .. } | Statement::UNLISTEN { .. } | Statement::NOTIFY { .. }
    )
}
