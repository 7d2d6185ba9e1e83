//! Replaces `sql_verbs` in a build without the feature `sql`: each use is refused, and the error names the feature.

use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use std::ffi::OsString;

/// A verb of this module: its help, and its name in the error.
macro_rules! missing {
    ($($verb:ident, $about:literal, $subject:literal;)+) => {$(
        #[doc = concat!($about, " (needs the feature `sql`).")]
        #[derive(Debug, clap::Args)]
        pub struct $verb {
            /// Not used
            #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
            rest: Vec<OsString>,
        }

        impl $verb {
            /// Refuses the verb.
            pub fn run(&self, _: &mut Output) -> anyhow::Result<Exit> {
                Err(UsageError::MissingFeature {
                    what: $subject,
                    feature: "sql",
                }
                .into())
            }
        }
    )+};
}

missing! {
    Changes, "Print the changes of rows", "printing changes is";
    Export, "Write a table's rows to a file", "exporting rows is";
    Import, "Read a table's rows from a file", "importing rows is";
    Password, "Make the verifier of a user's password", "a server's password is";
    Rows, "Print a table's rows", "printing rows is";
    Schema, "Print the statements that make the tables", "printing a schema is";
    Serve, "Serve a database to PostgreSQL and Redis clients", "a server is";
    Sql, "Run SQL", "SQL is";
    Top, "Show what a server does", "looking at a server is";
}

/// Does nothing: no verb of this build writes rows to tables with conditions.
pub fn enforce_checks() {}

/// The exit codes of a server's errors, which this build does not have.
pub fn exit_of(_: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn verbs_of_sql_are_refused_by_the_name_of_the_feature() {
        let asked = [
            "changes a.sdx --follow",
            "export a.sdx t a.csv",
            "import a.sdx t a.csv",
            "password",
            "rows a.sdx t --where b>1",
            "schema a.sdx",
            "serve a.sdx --listen 127.0.0.1:0",
            "sql a.sdx select",
            "top",
        ];
        for words in asked {
            let words = ["sardonyx"].into_iter().chain(words.split(' '));
            let parsed = crate::Arguments::try_parse_from(words).unwrap();
            let mut output = Output::to_stdout("sardonyx", false);
            let error = sardonyx_command::program::Program::run(&parsed, &mut output).unwrap_err();
            assert!(error.to_string().contains("--features sql"), "{error}");
        }
    }
}
