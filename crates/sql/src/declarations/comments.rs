//! `COMMENT ON` for all objects with a comment.

use super::Writing;
use crate::error::SqlError;
use crate::names::{COMMENT_OF_DATABASE, comment_name, quoted};
use crate::path::{PUBLIC, beside, is_temporary, schema_of, written};
use crate::plan::views::columns_of;
use crate::relation::{Relation, comment_of_schema, kind, object};
use crate::schemas::schemas;
use crate::source::Source;
use crate::views::views;

impl Writing<'_> {
    /// The comments. The comment of the database is a remark: its statement would name the database, and this text is
    /// for one of any name.
    pub(super) fn comments(
        &mut self,
        source: &dyn Source,
        relations: &[Relation],
    ) -> Result<(), SqlError> {
        for relation in relations {
            self.comments_of_table(relation);
        }
        let stored = |name: &str| object(source, kind::COMMENT, name);
        for (name, view) in views(source)? {
            if is_temporary(schema_of(&name)) {
                continue;
            }
            let text = stored(&comment_name(kind::VIEW, &name, None))?;
            self.comment(&name, &format!("VIEW {}", written(&name)), text.as_ref());
            for column in columns_of(source, &view)? {
                let text = stored(&comment_name(kind::VIEW, &name, Some(&column.name)))?;
                self.comment(&name, &of_column(&name, &column.name), text.as_ref());
            }
        }
        for name in self.sequences.keys().cloned().collect::<Vec<_>>() {
            let text = stored(&comment_name(kind::SEQUENCE, &name, None))?;
            self.comment(
                &name,
                &format!("SEQUENCE {}", written(&name)),
                text.as_ref(),
            );
        }
        let schemas = schemas(source)?.into_iter().map(|(name, _)| name);
        for name in [PUBLIC.to_string()].into_iter().chain(schemas) {
            let text = stored(&comment_of_schema(&name))?;
            self.comment(&name, &format!("SCHEMA {}", quoted(&name)), text.as_ref());
        }
        if let Some(text) = stored(COMMENT_OF_DATABASE)? {
            let text = text.replace('\r', "\\r").replace('\n', "\\n");
            let sql = format!("-- the database's comment: {text}");
            self.add("comment", "database", sql);
        }
        Ok(())
    }

    fn comments_of_table(&mut self, relation: &Relation) {
        let (name, notes) = (&relation.name, &relation.notes);
        self.comment(
            name,
            &format!("TABLE {}", written(name)),
            notes.comment.as_ref(),
        );
        for column in &relation.columns {
            let noted = notes.columns.get(&column.number);
            let text = noted.and_then(|noted| noted.comment.as_ref());
            self.comment(name, &of_column(name, &column.name), text);
        }
        for (index, text) in &notes.index_comments {
            let index = written(&beside(name, index));
            self.comment(name, &format!("INDEX {index}"), Some(text));
        }
        for (constraint, text) in &notes.constraint_comments {
            let on = format!("CONSTRAINT {} ON {}", quoted(constraint), written(name));
            self.comment(name, &on, Some(text));
        }
    }

    fn comment(&mut self, name: &str, on: &str, text: Option<&String>) {
        if let Some(text) = text {
            let text = text.replace('\'', "''");
            self.add("comment", name, format!("COMMENT ON {on} IS '{text}';"));
        }
    }
}

fn of_column(relation: &str, column: &str) -> String {
    format!("COLUMN {}.{}", written(relation), quoted(column))
}
