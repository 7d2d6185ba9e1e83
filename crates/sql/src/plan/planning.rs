//! The context in which a statement is planned: the state of the tables, the parameters, and the queries around the one
//! that is being planned.
//!
//! A subquery is planned with the scopes of the queries around it. A column of an outer query becomes [`Expr::Outer`],
//! similar to a parameter. The subquery keeps a list of these columns ([`OuterColumn`]), and its caller supplies their
//! values. So a query does not depend on the rows of another. An equality with an outer column finds a key or an index
//! as one with a parameter does.

use super::draft::{NamedKind, NamedQuery};
use crate::error::{SqlError, code};
use crate::expression::{
    Around, Compiler, OuterColumn, Parameters, Scope, Use, check_numbers_read, inlined,
};
use crate::names::name_of;
use crate::path::{PUBLIC, local, schema_of};
use crate::position::of_location;
use crate::relation::{Relation, kind, object};
use crate::rights::{Access, Rights};
use crate::source::Source;
use crate::user_types::TypeNames;
use crate::views::{ViewDefinition, view_named};
use sardonyx::schema::Schema;
use sqlparser::ast::{self, Expr as Tree, ObjectNamePart};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most nested queries: each is planned and run on the stack of the one around it.
const NESTING_MAX: usize = 24;
/// The most queries of a statement. A query planned at each place that names it counts each time.
const QUERIES_MAX: usize = 2_000;

/// The statement that is being planned, and its context.
#[derive(Debug)]
pub(crate) struct Planning<'a> {
    pub source: &'a dyn Source,
    pub parameters: &'a mut Parameters,
    pub queries: Queries,
}

/// The queries around the one that is being planned, and counts over all of them.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    /// The session's privileges.
    pub(super) rights: Arc<Rights>,
    /// The tables that the plan uses.
    pub tables: Vec<(u16, Arc<Schema>)>,
    /// A materialized view among them that has no rows until it is refreshed.
    pub unpopulated: Option<String>,
    /// Unqualified names of tables outside `public`: their positions in the text, and their schemas.
    pub without_schema: BTreeMap<usize, String>,
    /// The stored names of the tables and views that the text names, and of those that its views name.
    pub names: BTreeSet<String>,
    /// The names of tables of keys that are found only as an older version had them.
    pub older: BTreeSet<String>,
    /// The queries named by `WITH`, the innermost last.
    pub named: Vec<Arc<NamedQuery>>,
    /// The queries around this one, as its expressions refer to them.
    pub around: Around,
    /// The nesting depth of the named queries that are being planned.
    pub naming: usize,
    /// The recursive queries whose last rounds were named, one entry for each reference.
    pub last_rounds: Vec<usize>,
    /// The numbers of the queries that were named and whose rows are kept, with those that they read.
    pub read_parts: BTreeSet<usize>,
    /// The numbers of the queries that each query reads whose rows are kept.
    pub reads: BTreeMap<usize, BTreeSet<usize>>,
    /// Plans the parts of the statement that write; `None` where they are not allowed.
    pub(super) parts: Option<Box<dyn Parts>>,
    /// True if a query of the statement locks rows.
    pub locks_rows: bool,
    /// The number of samples of tables so far.
    pub(super) samples: usize,
    /// The number of subqueries so far.
    pub subqueries: usize,
    depth: usize,
    count: usize,
}

/// Plans the parts of a statement that write.
pub(crate) trait Parts: std::fmt::Debug {
    /// Plans a query of `WITH` that makes a change.
    ///
    /// # Errors
    /// Invalid SQL.
    fn part(
        &mut self,
        planning: &mut Planning<'_>,
        named: &ast::Cte,
        change: &ast::Statement,
    ) -> Result<NamedKind, SqlError>;
}

impl Queries {
    /// Checks that the tables of the query can be read.
    ///
    /// # Errors
    /// `55000` for a materialized view without its rows.
    pub fn check_populated(&self) -> Result<(), SqlError> {
        match &self.unpopulated {
            None => Ok(()),
            Some(name) => {
                let text = format!(
                    "materialized view \"{}\" has not been populated",
                    local(name)
                );
                Err(SqlError::new(code::NOT_IN_PREREQUISITE_STATE, text)
                    .hint("Use the REFRESH MATERIALIZED VIEW command."))
            }
        }
    }
}

impl<'a> Planning<'a> {
    /// An expression as a table keeps it: without calls of users' functions.
    ///
    /// # Errors
    /// As [`inlined`].
    pub fn without_routines<'t>(&self, tree: &'t Tree) -> Result<Cow<'t, Tree>, SqlError> {
        let path = self.queries.rights.path();
        inlined(self.source, path, None, (tree, Use::IndexWhere))
    }

    /// A context for a session with these privileges.
    ///
    /// # Errors
    /// Fails if the user-defined types cannot be read.
    pub fn new(
        source: &'a dyn Source,
        parameters: &'a mut Parameters,
        rights: &Arc<Rights>,
    ) -> Result<Planning<'a>, SqlError> {
        parameters.set_types(TypeNames::of(source, rights.path())?);
        Ok(Planning {
            source,
            parameters,
            queries: Queries {
                rights: rights.clone(),
                ..Queries::default()
            },
        })
    }

    /// A compiler of expressions over a scope; subqueries are allowed.
    pub fn compiler<'b>(&'b mut self, scope: &'b Scope) -> Compiler<'b> {
        Compiler::new(scope, self.parameters).nested(self.source, &mut self.queries)
    }

    /// Finds the table of a name, to read it.
    ///
    /// # Errors
    /// `42P01` if it does not exist, `42501` if the session lacks the privilege.
    pub fn relation(&mut self, name: &ast::ObjectName) -> Result<Relation, SqlError> {
        self.relation_for(name, Access::Read)
    }

    /// Finds the table of a name, to change its rows.
    ///
    /// # Errors
    /// As [`Planning::relation`].
    pub fn relation_to_change(&mut self, name: &ast::ObjectName) -> Result<Relation, SqlError> {
        self.relation_for(name, Access::Write)
    }

    fn relation_for(
        &mut self,
        name: &ast::ObjectName,
        access: Access,
    ) -> Result<Relation, SqlError> {
        let name = self.find(name)?;
        let mut relation = match Relation::named(self.source, &name) {
            Err(error) if error.code == code::UNKNOWN_TABLE && access > Access::Read => {
                return Err(match view_named(self.source, &name)? {
                    Some(_) => SqlError::new(
                        code::WRONG_OBJECT_TYPE,
                        format!("cannot change view \"{}\"", local(&name)),
                    )
                    .hint("Change the tables that it reads."),
                    None => error,
                });
            }
            found => found?,
        };
        crate::keyspace::check_right(self.source, &self.queries.rights, &relation.name, access)?;
        if relation.notes.row_security {
            self.queries.rights.check_owner(&relation.name)?;
        }
        if access > Access::Read {
            if relation.notes.materialized.is_some() {
                let text = format!("cannot change materialized view \"{}\"", relation.local());
                return Err(SqlError::new(code::WRONG_OBJECT_TYPE, text));
            }
            crate::keyspace::check(self.source, &relation.name)?;
        }
        if relation.notes.unpopulated {
            self.queries.unpopulated = Some(relation.name.clone());
        }
        relation.rows = self.source.rows_about(relation.number);
        let table = (relation.number, relation.schema.clone());
        self.queries.tables.push(table);
        Ok(relation)
    }

    /// Returns the stored name of a table or view that a statement names. If the name is unqualified and its schema is
    /// not `public`, the schema is noted, since a view's text needs it.
    fn find(&mut self, name: &ast::ObjectName) -> Result<String, SqlError> {
        let path = self.queries.rights.path();
        let mut found = path.find(self.source, name)?;
        if let [ObjectNamePart::Identifier(word)] = &name.0[..]
            && let Some(older) = crate::keyspace::older_name(self.source, &name_of(word))
            && !crate::schemas::is_there(self.source, &found)?
        {
            self.queries.older.insert(name_of(word));
            found = older;
        }
        if let ([ObjectNamePart::Identifier(word)], schema) = (&name.0[..], schema_of(&found))
            && schema != PUBLIC
            // A name with a point, of a table that is older than schemas, already contains it.
            && local(&found) == name_of(word)
        {
            let place = of_location(word.span.start);
            let schema = schema.to_string();
            self.queries
                .without_schema
                .extend(place.map(|at| (at, schema)));
        }
        self.queries.names.insert(found.clone());
        Ok(found)
    }

    /// Finds the sequence of a name, to read its row. Returns its stored name.
    ///
    /// # Errors
    /// `42501` if the session lacks the privilege.
    pub fn sequence(&mut self, name: &ast::ObjectName) -> Result<Option<String>, SqlError> {
        let name = self.find(name)?;
        if object(self.source, kind::SEQUENCE, &name)?.is_none() {
            return Ok(None);
        }
        check_numbers_read(self.source, &self.queries.rights, &name)?;
        Ok(Some(name))
    }

    /// Finds the view of a name, to read it. Returns it with its stored name.
    ///
    /// # Errors
    /// `42501` if the session lacks the privilege.
    pub fn view(
        &mut self,
        name: &ast::ObjectName,
    ) -> Result<Option<(String, ViewDefinition)>, SqlError> {
        let name = self.find(name)?;
        let view = view_named(self.source, &name)?;
        if view.is_some() {
            self.queries.rights.check(&name, Access::Read)?;
        }
        Ok(view.map(|view| (name, view)))
    }

    /// Plans a text that the database keeps by the rules of now, and by those of earlier versions if the new ones refuse it.
    ///
    /// # Errors
    /// The first error of `plan`.
    pub fn of_kept_text<R>(
        &mut self,
        mut plan: impl FnMut(&mut Planning<'a>) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        plan(self).or_else(|error| {
            let was_kept = self.parameters.set_kept(true);
            let planned = plan(self);
            self.parameters.set_kept(was_kept);
            planned.map_err(|_| error)
        })
    }

    /// Plans a view, without the scopes of the queries around it and with all privileges.
    ///
    /// # Errors
    /// Errors of `plan`.
    pub fn by_itself<R>(
        &mut self,
        plan: impl FnOnce(&mut Planning<'a>) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let named = std::mem::take(&mut self.queries.named);
        let outer = std::mem::take(&mut self.queries.around.outer);
        let asked = std::mem::take(&mut self.queries.around.asked);
        let rights = std::mem::take(&mut self.queries.rights);
        // Its text was kept by a session that reads dates so.
        let types = self.parameters.types().clone();
        self.parameters.set_types(types.clone().with_month_first());
        let was_kept = self.parameters.set_kept(true);
        let had_older_names = self.parameters.set_older_names(false);
        let planned = plan(self);
        self.parameters.set_older_names(had_older_names);
        self.parameters.set_kept(was_kept);
        self.parameters.set_types(types);
        let queries = &mut self.queries;
        (
            queries.named,
            queries.around.outer,
            queries.around.asked,
            queries.rights,
        ) = (named, outer, asked, rights);
        planned
    }

    /// Counts a query, and enters its nesting level.
    ///
    /// # Errors
    /// `54001` if there are too many queries, or the nesting is too deep.
    pub fn enter(&mut self) -> Result<(), SqlError> {
        let queries = &mut self.queries;
        queries.count += 1;
        queries.depth += 1;
        if queries.depth > NESTING_MAX {
            return Err(SqlError::new(
                code::TOO_COMPLEX,
                format!("queries may be nested {NESTING_MAX} deep"),
            ));
        }
        if queries.count > QUERIES_MAX {
            return Err(SqlError::new(
                code::TOO_COMPLEX,
                format!("a statement has at most {QUERIES_MAX} queries"),
            )
            .hint("A query that WITH names and that asks for columns around it counts at each place that names it."));
        }
        Ok(())
    }

    /// Tries a plan that may fail; on failure, all levels that it entered are left.
    ///
    /// # Errors
    /// Errors of `plan`.
    pub fn attempt<R>(
        &mut self,
        plan: impl FnOnce(&mut Planning<'a>) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let (depth, named) = (self.queries.depth, self.queries.named.len());
        let planned = plan(self);
        if planned.is_err() {
            self.queries.depth = depth;
            self.queries.named.truncate(named);
        }
        planned
    }

    /// Leaves a nesting level.
    pub fn leave(&mut self) {
        self.queries.depth -= 1;
    }

    /// Plans a query inside of another one. Returns the outer columns that it reads, too.
    ///
    /// # Errors
    /// Errors of `plan`.
    pub fn inside<R>(
        &mut self,
        scope: Arc<Scope>,
        plan: impl FnOnce(&mut Planning<'a>) -> Result<R, SqlError>,
    ) -> Result<(R, Vec<OuterColumn>), SqlError> {
        self.queries.around.outer.push(scope);
        let own = std::mem::take(&mut self.queries.around.asked);
        let planned = plan(self);
        let asked = std::mem::replace(&mut self.queries.around.asked, own);
        self.queries.around.outer.pop();
        Ok((planned?, asked))
    }
}

impl Queries {
    /// Returns a number that is unique within the statement.
    pub fn next_number(&mut self) -> usize {
        self.subqueries += 1;
        self.subqueries
    }
}
