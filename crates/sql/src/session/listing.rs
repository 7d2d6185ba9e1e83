//! The prepared statements of a session by their names, and the list of them and of its cursors for the catalogue.

use super::Session;
use super::state::SessionState;
use crate::error::SqlError;
use crate::listed::{ListedCursor, ListedStatement};
use crate::prepared::Prepared;
use crate::running::now;
use std::sync::Arc;

impl Session {
    /// The statement that was prepared with a name, by `PREPARE` or by the protocol.
    pub fn named(&self, name: &str) -> Option<&Arc<Prepared>> {
        self.state.named(name)
    }

    /// Notes a statement that was prepared by the protocol: `EXECUTE` and `DEALLOCATE` find it.
    ///
    /// # Errors
    /// `42P05` if there is one of the name; `54000` beyond the bound.
    pub fn name_statement(&mut self, name: &str, statement: Arc<Prepared>) -> Result<(), SqlError> {
        self.state.name_statement(name, statement)
    }

    /// As `DEALLOCATE` does.
    pub fn forget_statement(&mut self, name: &str) {
        self.state.forget_named(Some(name));
    }

    /// Notes the cursors that its server keeps for the session, for its catalogue.
    pub fn list_cursors(&mut self, cursors: Vec<ListedCursor>) {
        let listed = self.state.listed.as_ref();
        if !cursors.is_empty() || listed.is_some_and(|listed| !listed.cursors.is_empty()) {
            Arc::make_mut(self.state.listed.get_or_insert_default()).cursors = cursors;
        }
    }
}

impl SessionState {
    /// Keeps a statement under a name that is new; `of_sql` for `PREPARE`.
    pub fn keep_named(&mut self, name: &str, statement: Arc<Prepared>, of_sql: bool) {
        let listed = ListedStatement {
            statement: statement.text().into(),
            prepared: now(),
            parameters: statement.parameters().to_vec(),
            of_sql,
        };
        let list = Arc::make_mut(self.listed.get_or_insert_default());
        list.statements.insert(name.to_string(), listed);
        let named = Arc::make_mut(self.named.get_or_insert_default());
        named.insert(name.to_string(), statement);
    }

    /// Forgets the statement of a name, or all. Returns false if there is none of the name.
    pub fn forget_named(&mut self, name: Option<&str>) -> bool {
        let list = Arc::make_mut(self.listed.get_or_insert_default());
        match name {
            Some(name) => {
                list.statements.remove(name);
                let named = self.named.as_mut().map(Arc::make_mut);
                named.is_some_and(|named| named.remove(name).is_some())
            }
            None => {
                list.statements.clear();
                self.named = None;
                true
            }
        }
    }
}
