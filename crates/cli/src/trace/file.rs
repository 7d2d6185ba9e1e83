//! Traces and tables as files: opened to be read, made under another name until they are whole.

use crate::exit::UsageError;
use anyhow::Context;
use clap::ValueEnum;
use sardonyx_workload::trace::{Form, Trace, TraceReader};
use serde::Serialize;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A form of a trace, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FormName {
    /// Compact and checksummed
    Binary,
    /// For people
    Text,
}

impl From<FormName> for Form {
    fn from(name: FormName) -> Form {
        match name {
            FormName::Binary => Form::Binary,
            FormName::Text => Form::Text,
        }
    }
}

impl From<Form> for FormName {
    fn from(form: Form) -> FormName {
        match form {
            Form::Binary => FormName::Binary,
            Form::Text => FormName::Text,
        }
    }
}

/// Opens a trace.
pub fn reader(path: &Path) -> anyhow::Result<TraceReader<BufReader<File>>> {
    Ok(TraceReader::new(open(path)?, path.display().to_string())?)
}

/// Reads a whole trace.
pub fn trace(path: &Path) -> anyhow::Result<Trace> {
    Ok(Trace::read(open(path)?, path.display().to_string())?)
}

fn open(path: &Path) -> anyhow::Result<BufReader<File>> {
    if path.is_dir() {
        let path = path.display();
        return Err(UsageError::NotThere(format!("{path} is a directory, not a trace")).into());
    }
    match File::open(path) {
        Ok(file) => Ok(BufReader::with_capacity(1 << 16, file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let path = path.display();
            Err(UsageError::NotThere(format!("{path} is not there: no trace to read")).into())
        }
        Err(error) => Err(error).with_context(|| format!("opening {}", path.display())),
    }
}

/// A file that is being made. Unless finished it goes away again.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    unfinished: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl NewFile {
    /// Begins a file where there is none, or `force` allows to replace it.
    pub fn create(path: &Path, force: bool) -> anyhow::Result<NewFile> {
        if path.is_dir() {
            let path = path.display();
            let message = format!("{path} is a directory: name a file");
            return Err(UsageError::Arguments(message).into());
        }
        if !force && path.symlink_metadata().is_ok() {
            let path = path.display();
            let message = format!("{path} exists already: --force replaces it");
            return Err(UsageError::Arguments(message).into());
        }
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".new");
        let unfinished = path.with_file_name(name);
        let file = File::create(&unfinished)
            .with_context(|| format!("creating {}", unfinished.display()))?;
        Ok(NewFile {
            path: path.to_path_buf(),
            unfinished,
            writer: Some(BufWriter::with_capacity(1 << 16, file)),
        })
    }

    /// Gives the file its name; returns its length in bytes.
    pub fn finish(mut self) -> anyhow::Result<u64> {
        let path = self.path.clone();
        let context = || format!("writing {}", path.display());
        self.flush().with_context(context)?;
        let bytes = std::fs::metadata(&self.unfinished)
            .with_context(context)?
            .len();
        std::fs::rename(&self.unfinished, &self.path).with_context(context)?;
        self.writer = None;
        Ok(bytes)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.writer {
            Some(writer) => writer.write(bytes),
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            // What is left behind is named as unfinished; there is nobody to tell.
            let _ = std::fs::remove_file(&self.unfinished);
        }
    }
}
