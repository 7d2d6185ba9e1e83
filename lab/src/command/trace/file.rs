//! Traces and tables as files: opened for reading, written under another name until they are whole.

use anyhow::Context;
use clap::ValueEnum;
use sardonyx_command::ending;
use sardonyx_command::exit::UsageError;
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
            Err(UsageError::NotThere(format!("{path} does not exist: no trace to read")).into())
        }
        Err(error) => Err(error).with_context(|| format!("opening {}", path.display())),
    }
}

/// A file that is being written. Unless it is finished it is removed, also when a signal ends the program.
#[derive(Debug)]
pub struct NewFile {
    /// Its place: the target of a link, if its name is one.
    path: PathBuf,
    unfinished: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl NewFile {
    /// Begins a file if none exists, or if `force` allows to replace it. Only a regular file is ever replaced: no
    /// device, pipe or socket, and of a link its target.
    pub fn create(path: &Path, force: bool) -> anyhow::Result<NewFile> {
        let path = replaceable(path, force)?;
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.new", std::process::id()));
        let unfinished = path.with_file_name(name);
        // An existing file of this name belongs to someone else.
        let file = File::create_new(&unfinished)
            .with_context(|| format!("creating {}", unfinished.display()))?;
        ending::goes_too(&unfinished);
        Ok(NewFile {
            path,
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
        ending::let_stay(&self.unfinished);
        self.writer = None;
        Ok(bytes)
    }
}

/// The place of a file that may be created or replaced, after resolving links.
fn replaceable(path: &Path, force: bool) -> anyhow::Result<PathBuf> {
    let refuse = |what: &str| {
        let message = format!("{}{what}", path.display());
        anyhow::Error::from(UsageError::Arguments(message))
    };
    if path.symlink_metadata().is_err() {
        return Ok(path.to_path_buf());
    }
    let Ok(place) = path.canonicalize() else {
        return Err(refuse(" is a link that leads nowhere: remove it"));
    };
    let kind = std::fs::metadata(&place)
        .with_context(|| format!("reading the metadata of {}", path.display()))?
        .file_type();
    if kind.is_dir() {
        return Err(refuse(" is a directory: name a file"));
    }
    if !kind.is_file() {
        return Err(refuse(
            " is a device, a pipe or a socket, which nothing replaces: name a file",
        ));
    }
    match force {
        true => Ok(place),
        false => Err(refuse(" exists already: --force replaces it")),
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
            // The rest is named as unfinished; a further error has no receiver.
            let _ = ending::remove(&self.unfinished);
        }
    }
}
