//! `trace convert`: from one form to the other.

use super::file::{self, FormName, NewFile};
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units;
use sardonyx_workload::reference::Transaction;
use sardonyx_workload::trace::TraceWriter;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Convert a trace into the other form, or check and rewrite it in the same.
///
/// The form of the new file follows from its name, .txt for text and .trace for binary, or from --to.
///
/// Examples:
///   sardonyx-lab trace convert paper.trace paper.txt
///   sardonyx-lab trace convert mine.txt mine.dat --to binary
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The trace to read, of either form
    from: PathBuf,
    /// The file to write
    into: PathBuf,
    /// The form of the new file [default: by its name]
    #[arg(long, value_name = "FORM")]
    to: Option<FormName>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Report {
    file: String,
    form: FormName,
    bytes: u64,
    transactions: u64,
    references: u64,
}

impl Arguments {
    /// Runs the action.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let form = self.form()?;
        let mut reader = file::reader(&self.from)?;
        let file = self.into.display().to_string();
        let new = NewFile::create(&self.into, self.force)?;
        let header = reader.header().clone();
        let mut writer = TraceWriter::new(form.into(), new, file.clone(), header)?;
        let mut transaction = Transaction::default();
        let (mut transactions, mut references) = (0, 0);
        while reader.read_into(&mut transaction)? {
            writer.write(&transaction)?;
            transactions += 1;
            references += transaction.references.len() as u64;
        }
        let report = Report {
            file,
            form,
            bytes: writer.finish()?.finish()?,
            transactions,
            references,
        };
        if output.is_json() {
            output.value(&report)?;
            return Ok(Exit::Done);
        }
        let mut sheet = Sheet::default();
        sheet.heading(format!("Written to {}", report.file));
        sheet.figure("size", units::bytes(report.bytes));
        sheet.figure("transactions", units::count(report.transactions));
        sheet.figure("accesses", units::count(report.references));
        write!(output, "{sheet}")?;
        Ok(Exit::Done)
    }

    fn form(&self) -> Result<FormName, UsageError> {
        if let Some(form) = self.to {
            return Ok(form);
        }
        match self
            .into
            .extension()
            .and_then(|extension| extension.to_str())
        {
            Some("txt") => Ok(FormName::Text),
            Some("trace") => Ok(FormName::Binary),
            _ => {
                let path = self.into.display();
                Err(UsageError::Arguments(format!(
                    "the name {path} does not tell a form (.txt, .trace): say --to text or \
                     --to binary"
                )))
            }
        }
    }
}
