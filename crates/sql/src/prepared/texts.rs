//! The text of a statement, which may be a part of a client's text.

use std::ops::Range;
use std::sync::Arc;

/// A client's text, and the part of it that is one statement.
#[derive(Clone, Debug)]
pub(crate) struct StatementText {
    /// The text with which it came, in which the places of errors are.
    whole: Arc<str>,
    /// Its own bytes there. Its words are those of its own text: its neighbours say nothing about it, and to search the whole
    /// text for each of its statements takes time that grows with the square of their number.
    own: Range<usize>,
}

impl StatementText {
    /// A part of a text of several statements.
    pub fn part(whole: &Arc<str>, own: Range<usize>) -> StatementText {
        StatementText {
            whole: whole.clone(),
            own,
        }
    }

    pub fn whole(&self) -> &Arc<str> {
        &self.whole
    }

    /// The statement alone.
    pub fn own(&self) -> &str {
        self.whole.get(self.own.clone()).unwrap_or(&self.whole)
    }
}

/// The whole text is the statement.
impl From<Arc<str>> for StatementText {
    fn from(whole: Arc<str>) -> StatementText {
        let own = 0..whole.len();
        StatementText { whole, own }
    }
}

#[cfg(test)]
mod tests {
    use super::StatementText;
    use crate::class::Class;
    use crate::parse::{Parsed, parse};
    use crate::prepared::Prepared;
    use std::sync::Arc;

    fn prepared(text: &str) -> Vec<Prepared> {
        let whole: Arc<str> = text.into();
        let parts = parse(text).expect(text).into_iter();
        let parts = parts.map(|(parsed, at)| {
            let statement = match parsed {
                Parsed::Statement(statement) => Some(*statement),
                _ => None,
            };
            Prepared::new(StatementText::part(&whole, at), statement, &[])
        });
        parts.collect()
    }

    #[test]
    fn a_statement_has_its_own_text() {
        let text = "table t; /* ; */ select ';ä'\n ;; do $$ begin null; end $$; select 1";
        let all = prepared(text);
        let own: Vec<&str> = all.iter().map(|one| one.own_text().trim()).collect();
        let wanted = [
            "table t",
            "/* ; */ select ';ä'",
            "do $$ begin null; end $$",
            "select 1",
        ];
        assert_eq!(own, wanted);
        assert!(all.iter().all(|one| one.text() == text));
    }

    #[test]
    fn the_words_of_a_statement_say_nothing_about_its_neighbours() {
        let text = "select 1; select nextval('s'), pg_notify('a', 'b'); select pg_sleep(0)";
        let all = prepared(text);
        let classes: Vec<Class> = all.iter().map(Prepared::class).collect();
        assert_eq!(classes, [Class::Read, Class::Write, Class::Read]);
        let all: Vec<_> = all
            .iter()
            .map(|one| (one.notifies(), one.waits()))
            .collect();
        assert_eq!(all, [(false, false), (true, false), (false, true)]);
    }

    /// Each statement is searched for words, so all of them together have no more bytes than the text.
    #[test]
    fn the_texts_of_many_statements_are_one_text() {
        let text = "select 1;".repeat(10_000);
        let parts = parse(&text).expect("statements");
        assert_eq!(parts.len(), 10_000);
        let bytes: usize = parts.iter().map(|(_, at)| at.len()).sum();
        assert!(bytes < text.len(), "{bytes} of {}", text.len());
    }
}
