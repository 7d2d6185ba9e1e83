//! Messages of PostgreSQL clients, read from bytes without copying.
//!
//! Versions 3.0 and 3.2 of the protocol ("Message Formats" in PostgreSQL's documentation). A message is one byte of
//! kind and four of length, which counts itself; the first of a connection has no kind. Any bytes may arrive: a reader
//! never reads beyond what it was given, and its error names the message and the fault.
//!
//! Why not a crate: the maintained ones trust a message's lengths without comparing them with its bytes, and panic on
//! wrong ones. They also hand over one message at a time, so that messages which arrive together cannot run together.
//!
//! Bounds: a message has at most [`MESSAGE_BYTES_MAX`] bytes, and before authentication [`GREETING_BYTES_MAX`].

use sardonyx_sql::code;

/// The longest message in bytes: a statement, its parameters, or a piece of a copy.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// The longest message in bytes of a client that has not authenticated.
pub const GREETING_BYTES_MAX: usize = 16 << 10;

/// The kind by which errors name a greeting, which has none.
const GREETING: char = '\0';
/// The name of a format code in errors.
const FORMAT: &str = "format code";

/// An error in a message. The connection ends with it if the bytes after the message cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The length is not possible.
    #[error("a message of {length} bytes, where 4 to {most} are allowed")]
    Length {
        /// The length in the message, without the kind.
        length: usize,
        /// The most bytes that are accepted here.
        most: usize,
    },
    /// The message ends too early.
    #[error("{} ends before its {what}", shown(*kind))]
    Short {
        /// The message's kind.
        kind: char,
        /// The missing part.
        what: &'static str,
    },
    /// The message has bytes after its end.
    #[error("{} has {bytes} bytes after its end", shown(*kind))]
    Long {
        /// The message's kind.
        kind: char,
        /// The number of bytes after its end.
        bytes: usize,
    },
    /// A text in the message is not UTF-8.
    #[error("invalid byte sequence for encoding \"UTF8\": {byte:#04x}, in the {what} of {}", shown(*kind))]
    Text {
        /// The message's kind.
        kind: char,
        /// The name of the text.
        what: &'static str,
        /// The first byte that is not UTF-8.
        byte: u8,
    },
    /// A code in the message is unknown.
    #[error("the {what} {code} of {} is unknown", shown(*kind))]
    Code {
        /// The message's kind.
        kind: char,
        /// The name of the code.
        what: &'static str,
        /// As the client sent it.
        code: i64,
    },
    /// The kind is unknown, or of a greeting after the first message.
    #[error("invalid frontend message type {kind}")]
    Kind {
        /// The message's first byte.
        kind: u8,
    },
    /// The message is not allowed while data is copied in.
    #[error("unexpected message type 0x{kind:02X} during COPY from stdin")]
    InCopy {
        /// The message's kind.
        kind: u8,
    },
}

impl MessageError {
    /// Returns true if the bytes after the message cannot be understood.
    pub fn is_fatal(&self) -> bool {
        match self {
            MessageError::Length { .. }
            | MessageError::Kind { .. }
            | MessageError::InCopy { .. } => true,
            MessageError::Short { .. }
            | MessageError::Long { .. }
            | MessageError::Text { .. }
            | MessageError::Code { .. } => false,
        }
    }

    /// The SQLSTATE.
    pub fn code(&self) -> &'static str {
        match self {
            MessageError::Text { .. } => code::INVALID_BYTES,
            MessageError::Code { what: FORMAT, .. } => code::INVALID_PARAMETER_VALUE,
            _ => code::PROTOCOL_VIOLATION,
        }
    }
}

/// The name of a message in errors, by its kind.
fn shown(kind: char) -> String {
    match kind {
        GREETING => "the startup packet".into(),
        kind => format!("the message {kind}"),
    }
}

/// The first message of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Greeting<'a> {
    /// A request for TLS.
    Tls,
    /// A request for encryption by GSSAPI, which is not supported.
    Gss,
    /// A request to cancel another connection's statement.
    Cancel {
        /// That connection's number.
        process: u32,
        /// That connection's secret.
        secret: &'a [u8],
    },
    /// The start of a session.
    Startup {
        /// The protocol's version, major and minor.
        version: (u16, u16),
        /// Names and values, in order.
        parameters: Vec<(&'a str, &'a str)>,
    },
}

/// A prepared statement or a portal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A prepared statement, made by Parse.
    Statement,
    /// A portal: a statement with its parameters.
    Portal,
}

/// A message of a client in a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// A password or a step of SASL; the authentication reads the bytes.
    Password(&'a [u8]),
    /// Statements to run at once.
    Query(&'a str),
    /// A statement to prepare.
    Parse {
        /// The statement's name, possibly empty.
        name: &'a str,
        /// The statement's text.
        query: &'a str,
        /// The types of its first parameters; 0 for a type to infer.
        types: Codes<'a, 4>,
    },
    /// A portal to create.
    Bind(Bind<'a>),
    /// A request to describe a statement or portal.
    Describe(Target, &'a str),
    /// A portal to run.
    Execute {
        /// The portal's name.
        portal: &'a str,
        /// The most rows to return; 0 for all.
        rows_max: u32,
    },
    /// A statement or portal to close.
    Close(Target, &'a str),
    /// A request for the answers so far.
    Flush,
    /// The end of the messages that belong together.
    Sync,
    /// A piece of the data copied in.
    CopyData(&'a [u8]),
    /// The end of the data copied in.
    CopyDone,
    /// The client gives up the copy, with the reason.
    CopyFail(&'a str),
    /// A function called by its number, from clients before 2003.
    FunctionCall,
    /// The end of the session.
    Terminate,
}

/// A portal to create of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bind<'a> {
    /// The portal's name.
    pub portal: &'a str,
    /// The statement's name.
    pub statement: &'a str,
    formats: Codes<'a, 2>,
    count: usize,
    parameters: &'a [u8],
    /// Formats of the columns of the result: none, one for all, or one for each.
    pub result_formats: Codes<'a, 2>,
}

/// Numbers of `BYTES` bytes each, as they are in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Codes<'a, const BYTES: usize>(&'a [u8]);

/// The format of a value: text, or the type's binary form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// Format code 0.
    #[default]
    Text,
    /// In the type's binary form.
    Binary,
}

impl<'a, const BYTES: usize> Codes<'a, BYTES> {
    /// The numbers in these bytes of a message.
    pub fn of(bytes: &'a [u8]) -> Self {
        Codes(bytes)
    }

    /// The bytes of the numbers.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// As the message counts them; one code may be meant for all values.
    pub fn len(&self) -> usize {
        self.0.len() / BYTES
    }

    /// Returns true if there are no codes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'a, BYTES> {
        self.0.chunks_exact(BYTES).map(|bytes| {
            let bytes = bytes.iter();
            bytes.fold(0, |number, &byte| number << 8 | u32::from(byte))
        })
    }
}

impl Codes<'_, 2> {
    /// The format at a place: the one for all, or the one for this place; text if no format is given.
    pub fn format_at(&self, place: usize) -> Format {
        let place = if self.len() == 1 { 0 } else { place };
        match self.iter().nth(place) {
            Some(1) => Format::Binary,
            _ => Format::Text,
        }
    }
}

impl<'a> Bind<'a> {
    /// The number of parameters.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The parameters, in order, each in its format; `None` for null.
    pub fn parameters(&self) -> impl Iterator<Item = (Format, Option<&'a [u8]>)> + use<'a> {
        let (formats, mut rest) = (self.formats, self.parameters);
        (0..self.count).map(move |place| {
            let (length, behind) = rest.split_at(4);
            let length = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
            let (value, behind) = match usize::try_from(length) {
                Ok(length) => {
                    let (value, behind) = behind.split_at(length);
                    (Some(value), behind)
                }
                Err(_) => (None, behind),
            };
            rest = behind;
            (formats.format_at(place), value)
        })
    }
}

/// Splits the first message off the received bytes, if it is complete: its kind and its length in bytes.
///
/// # Errors
/// [`MessageError::Length`] if it is longer than allowed, as soon as its length is known.
pub fn split(received: &[u8], most: usize) -> Result<Option<(u8, usize)>, MessageError> {
    let Some((&kind, rest)) = received.split_first() else {
        return Ok(None);
    };
    let Some(length) = body_bytes(rest, most)? else {
        return Ok(None);
    };
    Ok((rest.len() >= length).then_some((kind, 1 + length)))
}

/// The length in bytes of the first message of a connection, if it is complete.
///
/// # Errors
/// [`MessageError::Length`].
pub fn split_greeting(received: &[u8]) -> Result<Option<usize>, MessageError> {
    let length = body_bytes(received, GREETING_BYTES_MAX)?;
    Ok(length.filter(|length| received.len() >= *length))
}

fn body_bytes(bytes: &[u8], most: usize) -> Result<Option<usize>, MessageError> {
    let Some(length) = bytes.first_chunk() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length) as usize;
    match (4..=most).contains(&length) {
        true => Ok(Some(length)),
        false => Err(MessageError::Length { length, most }),
    }
}

impl<'a> Greeting<'a> {
    /// Reads a greeting from the bytes that [`split_greeting`] found.
    ///
    /// # Errors
    /// The fault of the message.
    pub fn read(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let mut body = Body::new(GREETING, &bytes[4..]);
        let code = body.u32("code")?;
        let greeting = match code {
            TLS_CODE => Greeting::Tls,
            GSS_CODE => Greeting::Gss,
            CANCEL_CODE => Greeting::Cancel {
                process: body.u32("process")?,
                secret: body.rest(),
            },
            version => {
                let version = ((version >> 16) as u16, version as u16);
                let mut parameters = Vec::new();
                // The list ends with an empty name.
                loop {
                    let name = body.text("parameter's name")?;
                    if name.is_empty() {
                        break;
                    }
                    parameters.push((name, body.text("parameter's value")?));
                }
                Greeting::Startup {
                    version,
                    parameters,
                }
            }
        };
        body.end()?;
        Ok(greeting)
    }
}

impl<'a> Message<'a> {
    /// Reads a message from the bytes that [`split`] found, kind and length included.
    ///
    /// # Errors
    /// The fault of the message.
    pub fn read(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let kind = bytes[0];
        let mut body = Body::new(kind as char, &bytes[5..]);
        let message = match kind {
            b'Q' => Message::Query(body.text("statements")?),
            b'P' => Message::Parse {
                name: body.text("name")?,
                query: body.text("statement")?,
                types: body.codes("types of parameters")?,
            },
            b'B' => Message::Bind(read_bind(&mut body)?),
            b'D' => Message::Describe(body.target()?, body.text("name")?),
            b'E' => Message::Execute {
                portal: body.text("portal")?,
                rows_max: body.u32("number of rows")?,
            },
            b'C' => Message::Close(body.target()?, body.text("name")?),
            b'H' => Message::Flush,
            b'S' => Message::Sync,
            b'd' => Message::CopyData(body.rest()),
            b'c' => Message::CopyDone,
            b'f' => Message::CopyFail(body.text("reason")?),
            b'p' => Message::Password(body.rest()),
            b'F' => {
                body.rest();
                Message::FunctionCall
            }
            b'X' => Message::Terminate,
            kind => return Err(MessageError::Kind { kind }),
        };
        body.end()?;
        Ok(message)
    }
}

fn read_bind<'a>(body: &mut Body<'a>) -> Result<Bind<'a>, MessageError> {
    let (portal, statement) = (body.text("portal")?, body.text("statement")?);
    let formats = body.formats("formats of parameters")?;
    let count = usize::from(body.u16("number of parameters")?);
    let before = body.bytes;
    for _ in 0..count {
        let length = body.u32("parameter's length")? as i32;
        if length != -1 {
            let length = usize::try_from(length).map_err(|_| MessageError::Code {
                kind: body.kind,
                what: "parameter's length",
                code: length.into(),
            })?;
            body.take(length, "parameter")?;
        }
    }
    let parameters = &before[..before.len() - body.bytes.len()];
    if formats.len() > 1 && formats.len() != count {
        return Err(MessageError::Code {
            kind: body.kind,
            what: "number of parameters' formats",
            code: formats.len() as i64,
        });
    }
    Ok(Bind {
        portal,
        statement,
        formats,
        count,
        parameters,
        result_formats: body.formats("formats of the result")?,
    })
}

/// The bytes of a message that are not read yet.
struct Body<'a> {
    kind: char,
    bytes: &'a [u8],
}

impl<'a> Body<'a> {
    fn new(kind: char, bytes: &'a [u8]) -> Self {
        Body { kind, bytes }
    }

    fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], MessageError> {
        let kind = self.kind;
        let split = self.bytes.split_at_checked(count);
        let (taken, rest) = split.ok_or(MessageError::Short { kind, what })?;
        self.bytes = rest;
        Ok(taken)
    }

    fn u16(&mut self, what: &'static str) -> Result<u16, MessageError> {
        let bytes = self.take(2, what)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, MessageError> {
        let bytes = self.take(4, what)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A text that ends with a zero byte.
    fn text(&mut self, what: &'static str) -> Result<&'a str, MessageError> {
        let kind = self.kind;
        let end = self.bytes.iter().position(|&byte| byte == 0);
        let end = end.ok_or(MessageError::Short { kind, what })?;
        let text = self.take(end, what)?;
        self.take(1, what)?;
        std::str::from_utf8(text).map_err(|error| MessageError::Text {
            kind,
            what,
            byte: text[error.valid_up_to()],
        })
    }

    fn codes<const BYTES: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<Codes<'a, BYTES>, MessageError> {
        let count = usize::from(self.u16(what)?);
        Ok(Codes(self.take(count * BYTES, what)?))
    }

    fn formats(&mut self, what: &'static str) -> Result<Codes<'a, 2>, MessageError> {
        let formats: Codes<'a, 2> = self.codes(what)?;
        match formats.iter().find(|code| *code > 1) {
            None => Ok(formats),
            Some(code) => Err(MessageError::Code {
                kind: self.kind,
                what: FORMAT,
                code: code.into(),
            }),
        }
    }

    fn target(&mut self) -> Result<Target, MessageError> {
        match self.take(1, "target")?[0] {
            b'S' => Ok(Target::Statement),
            b'P' => Ok(Target::Portal),
            code => Err(MessageError::Code {
                kind: self.kind,
                what: "target",
                code: code.into(),
            }),
        }
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    fn end(&self) -> Result<(), MessageError> {
        match self.bytes.len() {
            0 => Ok(()),
            bytes => Err(MessageError::Long {
                kind: self.kind,
                bytes,
            }),
        }
    }
}

const TLS_CODE: u32 = 80_877_103;
const GSS_CODE: u32 = 80_877_104;
const CANCEL_CODE: u32 = 80_877_102;

#[cfg(test)]
mod tests;
