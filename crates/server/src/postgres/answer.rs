//! Messages to PostgreSQL clients, written into the output buffer.
//!
//! "Message Formats" in PostgreSQL's documentation. Each message is a byte of kind and its length, which is filled in
//! at its end. A row is written value by value, without a copy between the table and the output.

use super::message::{Codes, Format};
use bytes::{BufMut, BytesMut};
use sardonyx::schema::Value;
use sardonyx_sql::{
    Message, Notice, ResultColumn, SessionZone, SqlError, SqlType, TransactionStatus, encode_binary,
};

/// The output buffer.
#[derive(Debug)]
pub struct Answers<'a>(pub &'a mut BytesMut);

/// Buffers for a value's text and bytes, kept from row to row.
#[derive(Debug, Default)]
pub struct Scratch {
    text: String,
    bytes: Vec<u8>,
}

/// The severity of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The statement failed.
    Error,
    /// The connection ends.
    Fatal,
}

impl Answers<'_> {
    /// Writes a message of a kind, whose body a function writes.
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut BytesMut)) {
        self.0.put_u8(kind);
        let start = self.0.len();
        self.0.put_u32(0);
        body(self.0);
        let length = (self.0.len() - start) as u32;
        self.0[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// The client is authenticated.
    pub fn authenticated(&mut self) {
        self.message(b'R', |body| body.put_u32(0));
    }

    /// A request to authenticate by one of these mechanisms of SASL.
    pub fn sasl(&mut self, mechanisms: &[&str]) {
        self.message(b'R', |body| {
            body.put_u32(10);
            mechanisms
                .iter()
                .for_each(|mechanism| text(body, mechanism));
            body.put_u8(0);
        });
    }

    /// A step of SASL.
    pub fn sasl_continue(&mut self, data: &[u8]) {
        self.message(b'R', |body| {
            body.put_u32(11);
            body.put_slice(data);
        });
    }

    /// The last step of SASL.
    pub fn sasl_final(&mut self, data: &[u8]) {
        self.message(b'R', |body| {
            body.put_u32(12);
            body.put_slice(data);
        });
    }

    /// The current value of a session parameter.
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.message(b'S', |body| {
            text(body, name);
            text(body, value);
        });
    }

    /// The key that cancels this session's statements.
    pub fn cancel_key(&mut self, process: u32, secret: &[u8]) {
        self.message(b'K', |body| {
            body.put_u32(process);
            body.put_slice(secret);
        });
    }

    /// The newest minor version of the protocol that is supported, and the unknown parameters of the startup.
    pub fn negotiate(&mut self, minor: u32, unknown: &[&str]) {
        self.message(b'v', |body| {
            body.put_u32(minor);
            body.put_u32(unknown.len() as u32);
            unknown.iter().for_each(|name| text(body, name));
        });
    }

    /// The server is ready for the next statement.
    pub fn ready(&mut self, status: TransactionStatus) {
        let status = match status {
            TransactionStatus::Idle => b'I',
            TransactionStatus::Open => b'T',
            TransactionStatus::Failed => b'E',
        };
        self.message(b'Z', |body| body.put_u8(status));
    }

    /// A statement was prepared.
    pub fn parsed(&mut self) {
        self.message(b'1', |_| ());
    }

    /// A portal was created.
    pub fn bound(&mut self) {
        self.message(b'2', |_| ());
    }

    /// A statement or portal was closed.
    pub fn closed(&mut self) {
        self.message(b'3', |_| ());
    }

    /// The statement returns no rows.
    pub fn no_data(&mut self) {
        self.message(b'n', |_| ());
    }

    /// A text without a statement was run.
    pub fn empty(&mut self) {
        self.message(b'I', |_| ());
    }

    /// The portal has more rows.
    pub fn suspended(&mut self) {
        self.message(b's', |_| ());
    }

    /// The types of a statement's parameters.
    pub fn parameters(&mut self, types: &[SqlType]) {
        self.message(b't', |body| {
            body.put_u16(types.len() as u16);
            types.iter().for_each(|kind| body.put_u32(kind.oid()));
        });
    }

    /// The columns of a result, in the requested formats.
    pub fn columns(&mut self, columns: &[ResultColumn], formats: Codes<'_, 2>) {
        self.message(b'T', |body| {
            body.put_u16(columns.len() as u16);
            for (place, column) in columns.iter().enumerate() {
                text(body, &column.name);
                body.put_u32(column.table);
                body.put_i16(column.column);
                body.put_u32(column.spec.kind.oid());
                body.put_i16(column.spec.kind.size());
                body.put_i32(column.spec.modifier);
                body.put_i16(formats.format_at(place) as i16);
            }
        });
    }

    /// A row of a result.
    ///
    /// # Errors
    /// A value has no form in its format. Then no byte of the row is written.
    pub fn row(
        &mut self,
        columns: &[ResultColumn],
        formats: Codes<'_, 2>,
        values: &[Value],
        zone: Option<&SessionZone>,
        scratch: &mut Scratch,
    ) -> Result<(), SqlError> {
        let start = self.0.len();
        let mut failure = None;
        self.message(b'D', |body| {
            body.put_u16(columns.len() as u16);
            for (place, (column, value)) in columns.iter().zip(values).enumerate() {
                if *value == Value::Null {
                    body.put_i32(-1);
                    continue;
                }
                let format = formats.format_at(place);
                if let Err(error) = value_in(format, (column, zone), value, scratch, body) {
                    failure.get_or_insert(error);
                }
            }
        });
        match failure {
            None => Ok(()),
            Some(error) => {
                self.0.truncate(start);
                Err(error)
            }
        }
    }

    /// A statement is complete.
    pub fn complete(&mut self, tag: &impl std::fmt::Display) {
        self.message(b'C', |body| {
            use std::fmt::Write;
            // Writing to memory does not fail.
            let _ = write!(body, "{tag}");
            body.put_u8(0);
        });
    }

    /// Data is to be copied in: the number of columns and their format.
    pub fn copy_in(&mut self, columns: usize, format: Format) {
        self.copy(b'G', columns, format);
    }

    /// Data is copied out: the number of columns and their format.
    pub fn copy_out(&mut self, columns: usize, format: Format) {
        self.copy(b'H', columns, format);
    }

    fn copy(&mut self, kind: u8, columns: usize, format: Format) {
        self.message(kind, |body| {
            body.put_u8(format as u8);
            body.put_u16(columns as u16);
            (0..columns).for_each(|_| body.put_i16(format as i16));
        });
    }

    /// A piece of the data copied out.
    pub fn copy_data(&mut self, data: &[u8]) {
        self.message(b'd', |body| body.put_slice(data));
    }

    /// The end of the data copied out.
    pub fn copy_done(&mut self) {
        self.message(b'c', |_| ());
    }

    pub fn error(&mut self, severity: Severity, error: &SqlError) {
        let severity = match severity {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
        };
        self.message(b'E', |body| {
            field(body, b'S', severity);
            field(body, b'V', severity);
            field(body, b'C', error.code);
            field(body, b'M', &error.message);
            let others = [
                (b'D', &error.detail),
                (b'H', &error.hint),
                (b't', &error.table),
                (b'c', &error.column),
                (b'n', &error.constraint),
                (b'W', &error.context),
            ];
            for (code, value) in others {
                if let Some(value) = value {
                    field(body, code, value);
                }
            }
            if let Some(schema) = &error.schema {
                field(body, b's', schema);
            }
            if let Some(position) = error.position {
                field(body, b'P', &position.to_string());
            }
            if let Some(routine) = error.routine() {
                field(body, b'R', routine);
            }
            body.put_u8(0);
        });
    }

    /// A notification of this or another session.
    pub fn notification(&mut self, message: &Message) {
        self.message(b'A', |body| {
            body.put_u32(message.process);
            for part in [&message.channel[..], &message.payload[..]] {
                body.put_slice(part);
                body.put_u8(0);
            }
        });
    }

    /// A notice for the client.
    pub fn notice(&mut self, notice: &Notice) {
        self.message(b'N', |body| {
            field(body, b'S', notice.severity);
            field(body, b'V', notice.severity);
            field(body, b'C', notice.code);
            field(body, b'M', &notice.message);
            body.put_u8(0);
        });
    }
}

/// Writes a value that is not null, with its length before it.
fn value_in(
    format: Format,
    (column, zone): (&ResultColumn, Option<&SessionZone>),
    value: &Value,
    scratch: &mut Scratch,
    body: &mut BytesMut,
) -> Result<(), SqlError> {
    let written = match (format, value) {
        (Format::Text, Value::Text(text)) if column.is_shown_as_stored(zone) => text.as_bytes(),
        (Format::Text, value) => {
            scratch.text.clear();
            column.encode_text(&value.as_ref(), zone, &mut scratch.text);
            scratch.text.as_bytes()
        }
        (Format::Binary, value) => {
            scratch.bytes.clear();
            let kind = column.spec.kind;
            encode_binary(kind, &value.as_ref(), &mut scratch.text, &mut scratch.bytes)?;
            &scratch.bytes
        }
    };
    body.put_u32(written.len() as u32);
    body.put_slice(written);
    Ok(())
}

/// Writes a text that ends with a zero byte. Zero bytes before the end are written as `\0`, so that the text is not
/// cut.
fn text(body: &mut BytesMut, text: &str) {
    for (number, part) in text.split('\0').enumerate() {
        if number > 0 {
            body.put_slice(b"\\0");
        }
        body.put_slice(part.as_bytes());
    }
    body.put_u8(0);
}

fn field(body: &mut BytesMut, code: u8, value: &str) {
    body.put_u8(code);
    text(body, value);
}
