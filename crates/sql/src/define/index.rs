//! `CREATE INDEX`: on columns, on expressions, and partial indexes.
//!
//! Expressions and the condition are columns that are generated for the index (`crate::indexed`). `INCLUDE` is only
//! noted and shown. There are no index-only scans, so its columns are always read in the row. `NULLS FIRST` and `LAST` are
//! noted and shown, too: the engine has nulls at the end of a key that ascends, and a query that wants others sorts its rows.

use super::create::{check_in_key, exists, free_name, is_taken};
use super::keys::{KeyBy, KeyElement, key_elements};
use super::listed_index::ListedToMake;
use super::options::skipped;
use super::options::{check_index_storage, refuse};
use crate::access_methods::Method;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{KeyName, SqlError, code};
use crate::expression::labels::with_labels;
use crate::expression::{Use, inlined};
use crate::index_names::{kept_condition, key_name, seen_key, shown_generated, wrapped};
use crate::indexed::{index_expression, named_columns};
use crate::names::{name_of, qualified};
use crate::operator_classes::OperatorClass;
use crate::parse::parse_expression;
use crate::path::beside;
use crate::plan::figured::name_of_expression;
use crate::relation::{Relation, TableNotes};
use crate::result::{Complete, Tag};
use crate::search_path::SearchPath;
use crate::types::{SqlType, TypeSpec};
use crate::values::zones::SessionZone;
use sardonyx::schema::{
    GeneratedColumn, INDEX_KEY, INDEX_WHERE, IndexDefinition, IndexKind, KeyPart, Schema,
};
use sardonyx_rows::condition::SqlCheck;
use sqlparser::ast::{CreateIndex, Expr as Tree};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

const WORD: &str = "CREATE INDEX";

/// An index to create.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct IndexToMake {
    pub definition: IndexDefinition,
    /// The columns that are generated for it, without those that the table already has.
    pub columns: Vec<GeneratedColumn>,
    /// The names of its key's columns in errors.
    pub names: Vec<Option<KeyName>>,
    /// The columns of `INCLUDE`.
    pub included: Vec<usize>,
    /// The operator classes that are named, by the columns' numbers.
    pub classes: BTreeMap<usize, String>,
    /// The columns whose nulls are said to come at the other end.
    pub other_nulls: BTreeSet<usize>,
    /// The method that is shown.
    pub method: Method,
}

/// The result of planning `CREATE INDEX`.
pub(super) enum NewIndex {
    /// The name is taken, and `IF NOT EXISTS` was given.
    There(Complete),
    /// A new index of a table.
    New(Box<(Relation, IndexToMake)>),
    /// A new index that is in the catalogue alone.
    Listed(Box<(Relation, ListedToMake)>),
}

/// Runs `CREATE INDEX`.
///
/// # Errors
/// Invalid SQL; `23505` if rows have equal keys.
pub(super) fn index(
    tx: &mut dyn DefineTarget,
    create: &CreateIndex,
    path: &SearchPath,
) -> Result<Complete, SqlError> {
    let (relation, index) = match new_index(tx, create, path)? {
        NewIndex::There(complete) => return Ok(complete),
        NewIndex::New(new) => *new,
        NewIndex::Listed(new) => return new.1.list(tx, &new.0),
    };
    make(tx, &relation, index)?;
    Ok(Complete::of(Tag::plain(WORD)))
}

/// Creates an index of a table.
///
/// # Errors
/// `23505` if rows have equal keys; the engine's errors.
pub(super) fn make(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    index: IndexToMake,
) -> Result<(), SqlError> {
    let IndexToMake {
        definition,
        columns,
        names,
        included,
        classes,
        other_nulls,
        method,
    } = index;
    if !columns.is_empty() {
        tx.add_generated(relation.number, &columns)?;
    }
    let name = definition.name.clone();
    let created = tx.create_index(relation.number, definition);
    created.map_err(|error| SqlError::from(error).of_index_build(names))?;
    let mut notes = relation.notes.clone();
    // A program without SQL may have dropped an index of this name.
    let had_notes = forget_form(&mut notes, &name);
    let is_noted = !included.is_empty()
        || !classes.is_empty()
        || !other_nulls.is_empty()
        || method != Method::Btree;
    if is_noted || had_notes {
        notes.table.clone_from(&relation.name);
        if !included.is_empty() {
            notes.included.insert(name.clone(), included);
        }
        if !classes.is_empty() {
            notes.operator_classes.insert(name.clone(), classes);
        }
        if !other_nulls.is_empty() {
            notes.other_nulls.insert(name.clone(), other_nulls);
        }
        if method != Method::Btree {
            notes.methods.insert(name, method);
        }
        put_notes(tx, relation.number, &notes)?;
    }
    Ok(())
}

/// Removes the notes of a dropped index. Returns true if there were any.
pub(super) fn forget_index(notes: &mut TableNotes, name: &str) -> bool {
    let comment = notes.index_comments.remove(name);
    let listed = notes.listed.remove(name);
    forget_form(notes, name) || comment.is_some() || listed.is_some()
}

/// Removes the notes of what an index of a name had. Returns true if there were any.
pub(super) fn forget_form(notes: &mut TableNotes, name: &str) -> bool {
    let included = notes.included.remove(name);
    let classes = notes.operator_classes.remove(name);
    let nulls = notes.other_nulls.remove(name);
    let method = notes.methods.remove(name);
    included.is_some() || classes.is_some() || nulls.is_some() || method.is_some()
}

/// Plans `CREATE INDEX`.
///
/// # Errors
/// Invalid SQL.
pub(super) fn new_index(
    tx: &dyn DefineTarget,
    create: &CreateIndex,
    path: &SearchPath,
) -> Result<NewIndex, SqlError> {
    let CreateIndex {
        name: _,
        table_name: _,
        using,
        columns: _,
        unique: _,
        // Large indexes are always built concurrently.
        concurrently: _,
        r#async,
        if_not_exists: _,
        include,
        nulls_distinct,
        with,
        predicate,
        index_options,
        alter_options,
    } = create;
    let asked = [
        (*r#async, "ASYNC"),
        (
            // The rows that a condition leaves out are distinguished by a null.
            *nulls_distinct == Some(false) && predicate.is_some(),
            "NULLS NOT DISTINCT with WHERE",
        ),
        (
            !index_options.is_empty() || !alter_options.is_empty(),
            "a clause of another database system",
        ),
    ];
    refuse(WORD, &asked)?;
    let method = Method::used(using.as_ref())?;
    let relation = Relation::named(tx.view(), &path.find(tx.view(), &create.table_name)?)?;
    check_method(create, method)?;
    (with.iter()).try_for_each(|option| check_index_storage(option, method))?;
    let mut elements = key_elements(&create.columns, method)?;
    let name = match &create.name {
        // The index is in its table's schema, even if its name has another one.
        Some(name) => qualified(name)?.1,
        None => {
            let parts = elements.iter().map(name_of_element);
            let parts: Vec<String> = parts.chain(include.iter().map(name_of)).collect();
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            free_name(tx, &relation.name, &parts, "idx", &[])?
        }
    };
    if is_taken(tx, &beside(&relation.name, &name))? {
        return match create.if_not_exists {
            true => {
                let message = format!("relation \"{name}\" already exists, skipping");
                let there = skipped(WORD, code::DUPLICATE_TABLE, message);
                Ok(NewIndex::There(there))
            }
            false => Err(exists(&beside(&relation.name, &name))),
        };
    }
    // An expression has the name of its function above, and the function's body from here on.
    let columns = named_columns(&relation);
    let plain =
        |tree: &Tree, of| inlined(tx.view(), path, Some(&columns), (tree, of)).map(Cow::into_owned);
    for element in &mut elements {
        if let KeyBy::Expression(tree) = &mut element.by {
            **tree = plain(tree, Use::IndexKey)?;
        }
    }
    let written = WrittenIndex {
        name,
        unique: create.unique,
        deferrable: false,
        nulls_equal: *nulls_distinct == Some(false),
        elements,
        condition: match predicate {
            Some(tree) => Some(plain(tree, Use::IndexWhere)?),
            None => None,
        },
        included: include.iter().map(name_of).collect(),
        method,
    };
    if method.is_listed() {
        let index = written.listed(&relation, path.zone())?;
        return Ok(NewIndex::Listed(Box::new((relation, index))));
    }
    let index = written.of(&relation, path.zone())?;
    Ok(NewIndex::New(Box::new((relation, index))))
}

/// Checks that an index of a method may have the properties that are asked for.
fn check_method(create: &CreateIndex, method: Method) -> Result<(), SqlError> {
    if create.unique && method != Method::Btree {
        return Err(method.lacks("unique indexes"));
    }
    if !create.include.is_empty() && !method.has_included() {
        return Err(method.lacks("included columns"));
    }
    match create.columns.len() > 1 && !method.has_several_columns() {
        true => Err(method.lacks("multicolumn indexes")),
        false => Ok(()),
    }
}

/// An index in the form of SQL, by the names of its table's columns.
pub(super) struct WrittenIndex {
    pub name: String,
    pub method: Method,
    pub unique: bool,
    pub deferrable: bool,
    pub nulls_equal: bool,
    pub elements: Vec<KeyElement>,
    pub condition: Option<Tree>,
    pub included: Vec<String>,
}

impl WrittenIndex {
    /// An existing index of a table.
    ///
    /// # Errors
    /// Fails if an expression cannot be parsed.
    pub fn there(relation: &Relation, index: &IndexDefinition) -> Result<Self, SqlError> {
        let schema = &relation.schema;
        let method = relation.notes.methods.get(&index.name);
        let method = method.copied().unwrap_or_default();
        let mut elements = Vec::with_capacity(index.key.len());
        for part in seen_key(schema, index) {
            let by = match relation.numbered_column(part.column) {
                Some(column) => KeyBy::Column(column.name.clone()),
                None => {
                    let text = shown_generated(relation, part.column).unwrap_or_default();
                    KeyBy::Expression(Box::new(parse_expression(&text)?))
                }
            };
            let classes = relation.notes.operator_classes.get(&index.name);
            let class = classes.and_then(|classes| classes.get(&part.column));
            elements.push(KeyElement {
                by,
                descending: part.descending,
                has_other_nulls: (relation.notes.other_nulls.get(&index.name))
                    .is_some_and(|columns| columns.contains(&part.column)),
                // The column's own.
                collation: None,
                class: class.and_then(|name| OperatorClass::named(method, name)),
            });
        }
        let condition = kept_condition(relation, index);
        let included = relation.notes.included.get(&index.name);
        let included = included.into_iter().flatten();
        let included = included.filter_map(|column| relation.numbered_column(*column));
        Ok(WrittenIndex {
            name: index.name.clone(),
            method,
            unique: index.unique,
            deferrable: index.deferrable,
            nulls_equal: index.nulls_equal,
            elements,
            condition: condition.map(|text| parse_expression(&text)).transpose()?,
            included: included.map(|column| column.name.clone()).collect(),
        })
    }

    /// Converts it to an index of a table. Its moments are read in a zone, or in UTC.
    ///
    /// # Errors
    /// Invalid SQL.
    pub fn of(
        &self,
        relation: &Relation,
        zone: Option<&SessionZone>,
    ) -> Result<IndexToMake, SqlError> {
        let mut making = Making {
            relation,
            zone,
            columns: Vec::new(),
            names: Vec::new(),
            key: Vec::new(),
            classes: BTreeMap::new(),
            other_nulls: BTreeSet::new(),
            method: self.method,
        };
        if let Some(condition) = &self.condition {
            let (spec, condition) = index_expression(relation, condition, Use::IndexWhere, zone)?;
            let column = making.column(INDEX_WHERE, spec, &wrapped(condition));
            making.push(column, false, None);
        }
        for element in &self.elements {
            making.add(element)?;
        }
        let mut included = Vec::with_capacity(self.included.len());
        for name in &self.included {
            let column = relation.column(name);
            included.push(column.map_err(|_| SqlError::unknown_column(name))?.number);
        }
        let Making {
            columns,
            names,
            key,
            classes,
            other_nulls,
            ..
        } = making;
        let definition = IndexDefinition {
            name: self.name.clone(),
            kind: IndexKind::Ordered,
            unique: self.unique,
            deferrable: self.deferrable,
            nulls_equal: self.nulls_equal,
            key,
        };
        Ok(IndexToMake {
            definition,
            columns,
            names,
            included,
            classes,
            other_nulls,
            method: self.method,
        })
    }
}

/// Refuses the order of a language that the column does not have.
///
/// # Errors
/// `0A000`; `42804` if values have no collation.
fn check_collation(element: &KeyElement, spec: TypeSpec) -> Result<(), SqlError> {
    let Some(name) = element.collation else {
        return Ok(());
    };
    if !spec.kind.is_collatable() {
        return Err(SqlError::new(
            code::DATATYPE_MISMATCH,
            format!("collations are not supported by type {}", spec.kind.name()),
        ));
    }
    let own = spec.collation.name();
    match own == name || !own.is_of_icu() && !name.is_of_icu() {
        true => Ok(()),
        false => Err(SqlError::unsupported(format!(
            "an index with the collation \"{}\" is not supported: the column has \"{}\"",
            name.name(),
            own.name()
        ))),
    }
}

/// The part of an index's name that comes from one of its columns.
fn name_of_element(element: &KeyElement) -> String {
    match &element.by {
        KeyBy::Column(name) => name.clone(),
        KeyBy::Expression(tree) => name_of_expression(tree).unwrap_or_else(|| "expr".into()),
    }
}

/// An index whose key is being built.
struct Making<'r> {
    relation: &'r Relation,
    zone: Option<&'r SessionZone>,
    columns: Vec<GeneratedColumn>,
    names: Vec<Option<KeyName>>,
    key: Vec<KeyPart>,
    classes: BTreeMap<usize, String>,
    other_nulls: BTreeSet<usize>,
    method: Method,
}

impl Making<'_> {
    fn push(&mut self, column: usize, descending: bool, name: Option<KeyName>) {
        self.key.push(KeyPart { column, descending });
        self.names.push(name);
    }

    /// Notes the order of nulls, and the operator class, of the column that was added last.
    fn note(&mut self, element: &KeyElement, kind: SqlType) -> Result<(), SqlError> {
        if let (true, Some(part)) = (element.has_other_nulls, self.key.last()) {
            self.other_nulls.insert(part.column);
        }
        let class = noted_class(self.method, element, kind)?;
        if let (Some(class), Some(part)) = (class, self.key.last()) {
            self.classes.insert(part.column, class);
        }
        Ok(())
    }

    fn add(&mut self, element: &KeyElement) -> Result<(), SqlError> {
        match &element.by {
            KeyBy::Column(name) => {
                let column = self.relation.column(name)?;
                check_in_key(name, column.spec.kind)?;
                check_collation(element, column.spec)?;
                let name = key_name(self.relation, column.number);
                self.push(column.number, element.descending, name);
                self.note(element, column.spec.kind)?;
            }
            KeyBy::Expression(tree) => {
                let (spec, expression) =
                    index_expression(self.relation, tree, Use::IndexKey, self.zone)?;
                check_expression(&expression, spec)?;
                check_collation(element, spec)?;
                let column = self.column(INDEX_KEY, spec, &expression);
                let text = with_labels(expression.text, &self.relation.enums());
                let name = match &**tree {
                    Tree::Function(_) => text,
                    _ => format!("({text})"),
                };
                let kind = spec.kind;
                self.push(column, element.descending, Some(KeyName { name, kind }));
                self.note(element, kind)?;
            }
        }
        Ok(())
    }

    /// The column of an expression: an existing one of another index, or a new one.
    fn column(&mut self, prefix: &str, spec: TypeSpec, expression: &SqlCheck) -> usize {
        let (schema, text): (&Schema, _) = (&self.relation.schema, expression.to_text());
        let kind = spec.kind.oid();
        let mut declared = schema.declared.iter();
        let there = declared.find(|there| {
            let is_it = there.generated() == Some(&text) && there.kind == kind;
            is_it && schema.is_index_column(there.column)
        });
        if let Some(there) = there {
            return there.column;
        }
        let behind = schema.columns.len();
        let mut new = self.columns.iter();
        if let Some(at) = new.position(|new| new.expression == text && new.declared == kind) {
            return behind + at;
        }
        let number = behind + self.columns.len();
        self.columns.push(GeneratedColumn {
            name: format!("{prefix}{number}"),
            kind: spec.stored(),
            declared: kind,
            modifier: spec.modifier,
            expression: text,
        });
        number
    }
}

/// The operator class of an index's element, if it is not the usual one of its type.
///
/// # Errors
/// `42704` if no class is named and the method has none for the type; `42804` if the class is of other types.
pub(super) fn noted_class(
    method: Method,
    element: &KeyElement,
    kind: SqlType,
) -> Result<Option<String>, SqlError> {
    let usual = OperatorClass::default_of(method, kind);
    let Some(class) = element.class else {
        // Types without a class of `btree` were refused by what the engine has in keys.
        return match usual.is_some() || method == Method::Btree {
            true => Ok(None),
            false => Err(SqlError::new(
                code::UNKNOWN_OBJECT,
                format!(
                    "data type {} has no default operator class for access method \"{}\"",
                    kind.name(),
                    method.name()
                ),
            )
            .hint(
                "You must specify an operator class for the index or define a default operator class for the data type.",
            )),
        };
    };
    if !class.accepts(kind) {
        return Err(SqlError::new(
            code::DATATYPE_MISMATCH,
            format!(
                "operator class \"{}\" does not accept data type {}",
                class.name,
                kind.name()
            ),
        ));
    }
    Ok((usual != Some(class)).then(|| class.name.to_string()))
}

/// Checks that an index can have an expression of a type.
fn check_expression(expression: &SqlCheck, spec: TypeSpec) -> Result<(), SqlError> {
    let kind = spec.kind;
    if kind.enum_type().is_some() {
        let name = kind.name();
        let text = format!("an index on an expression of type {name} is not supported");
        return Err(SqlError::unsupported(text).hint("Index the column, or a test of its labels."));
    }
    if kind == SqlType::Json || kind.has_keys() || !kind.is_of_columns() {
        return Err(SqlError::unsupported(format!(
            "an index on {} of type {} is not supported",
            expression.text,
            kind.name()
        )));
    }
    Ok(())
}
