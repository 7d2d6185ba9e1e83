//! Messages of PostgreSQL's clients, read from bytes without copying any.
//!
//! Versions 3.0 and 3.2 of the protocol ("Message Formats" in PostgreSQL's documentation). A message is one byte of
//! kind and four of length, which counts itself; the first of a connection has no kind. A reader here never takes more
//! than it was given, and says which message is wrong and why: what arrives may be anything.
//!
//! Why not a crate: those that are kept decode a message by lengths that they do not compare with what is there, and
//! panic on wrong ones, and hand messages over one at a time, so that what arrived together cannot run together.
//!
//! Bounds: a message is at most [`MESSAGE_BYTES_MAX`] long, one before authentication [`GREETING_BYTES_MAX`].

use sardonyx_sql::code;

/// The longest message, in bytes: a statement, its parameters, or a piece of a copy.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// The longest message of a client that has not shown who it is.
pub const GREETING_BYTES_MAX: usize = 16 << 10;

/// Stands for the kind of a greeting, which has none.
const GREETING: char = '\0';
/// The code that is wrong where a format is.
const FORMAT: &str = "format code";

/// What is wrong with a message. The connection ends with it if what follows cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Its length cannot be.
    #[error("a message of {length} bytes, where 4 to {most} are allowed")]
    Length {
        /// What it says, without the kind.
        length: usize,
        /// The most that is taken here.
        most: usize,
    },
    /// It ends before what it should have.
    #[error("{} ends before its {what}", shown(*kind))]
    Short {
        /// Its kind.
        kind: char,
        /// What should be there.
        what: &'static str,
    },
    /// It has more than it should.
    #[error("{} has {bytes} bytes behind its end", shown(*kind))]
    Long {
        /// Its kind.
        kind: char,
        /// How many.
        bytes: usize,
    },
    /// A text in it is not UTF-8.
    #[error("invalid byte sequence for encoding \"UTF8\": {byte:#04x}, in the {what} of {}", shown(*kind))]
    Text {
        /// Its kind.
        kind: char,
        /// Which text.
        what: &'static str,
        /// The first byte that is none of UTF-8.
        byte: u8,
    },
    /// A code in it means nothing.
    #[error("the {what} {code} of {} is unknown", shown(*kind))]
    Code {
        /// Its kind.
        kind: char,
        /// Which code.
        what: &'static str,
        /// What is there.
        code: i64,
    },
    /// No such message, or one of the greeting behind it.
    #[error("invalid frontend message type {kind}")]
    Kind {
        /// What is there.
        kind: u8,
    },
    /// A message that has no place while data is copied in.
    #[error("unexpected message type 0x{kind:02X} during COPY from stdin")]
    InCopy {
        /// Its kind.
        kind: u8,
    },
}

impl MessageError {
    /// Whether nothing behind it can be understood.
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

    /// Its SQLSTATE.
    pub fn code(&self) -> &'static str {
        match self {
            MessageError::Text { .. } => code::INVALID_BYTES,
            MessageError::Code { what: FORMAT, .. } => code::INVALID_PARAMETER_VALUE,
            _ => code::PROTOCOL_VIOLATION,
        }
    }
}

/// A message, by its kind.
fn shown(kind: char) -> String {
    match kind {
        GREETING => "the startup packet".into(),
        kind => format!("the message {kind}"),
    }
}

/// What a client says first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Greeting<'a> {
    /// It wants TLS.
    Tls,
    /// It wants encryption by GSSAPI, which is not here.
    Gss,
    /// Another connection's statement is to be cancelled.
    Cancel {
        /// That connection's number.
        process: u32,
        /// Its secret.
        secret: &'a [u8],
    },
    /// A session begins.
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
    /// A statement.
    Statement,
    /// A portal: a statement with its parameters.
    Portal,
}

/// What a client says in a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// A password, or a step of SASL: the bytes, whose meaning the authentication knows.
    Password(&'a [u8]),
    /// A text of statements, to be run at once.
    Query(&'a str),
    /// A statement to be prepared.
    Parse {
        /// Its name, maybe empty.
        name: &'a str,
        /// Its text.
        query: &'a str,
        /// The types of its first parameters; 0 where they are to be found out.
        types: Codes<'a, 4>,
    },
    /// A portal to be made.
    Bind(Bind<'a>),
    /// What is asked about a statement or portal.
    Describe(Target, &'a str),
    /// A portal to be run.
    Execute {
        /// Its name.
        portal: &'a str,
        /// At most so many rows; 0 for all.
        rows_max: u32,
    },
    /// A statement or portal that is not needed any more.
    Close(Target, &'a str),
    /// Answers are wanted.
    Flush,
    /// The end of what belongs together.
    Sync,
    /// A piece of what is copied in.
    CopyData(&'a [u8]),
    /// The end of it.
    CopyDone,
    /// It is to be given up, and why.
    CopyFail(&'a str),
    /// A function by its number, from clients before 2003.
    FunctionCall,
    /// The session ends.
    Terminate,
}

/// A portal to be made of a statement.
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

/// Numbers of so many bytes each, as they stand in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Codes<'a, const BYTES: usize>(&'a [u8]);

/// How a value is written: as text, or in the type's own form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// As text.
    #[default]
    Text,
    /// In the type's binary form.
    Binary,
}

impl<'a, const BYTES: usize> Codes<'a, BYTES> {
    /// Of their bytes, as they stood in a message.
    pub fn of(bytes: &'a [u8]) -> Self {
        Codes(bytes)
    }

    /// Their bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len() / BYTES
    }

    /// Whether there are none.
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
    /// The format at a place: of one for all, or of one for each; text where none is said.
    pub fn format_at(&self, place: usize) -> Format {
        let place = if self.len() == 1 { 0 } else { place };
        match self.iter().nth(place) {
            Some(1) => Format::Binary,
            _ => Format::Text,
        }
    }
}

impl<'a> Bind<'a> {
    /// How many parameters there are.
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

/// Where a message ends in what was received, if it is there as a whole: its kind and its body.
///
/// # Errors
/// [`MessageError::Length`] if it is longer than is allowed, as soon as that is known.
pub fn split(received: &[u8], most: usize) -> Result<Option<(u8, usize)>, MessageError> {
    let Some((&kind, rest)) = received.split_first() else {
        return Ok(None);
    };
    let Some(length) = body_bytes(rest, most)? else {
        return Ok(None);
    };
    Ok((rest.len() >= length).then_some((kind, 1 + length)))
}

/// Where the first message of a connection ends, if it is there as a whole.
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
    /// Reads one from the bytes that [`split_greeting`] found.
    ///
    /// # Errors
    /// What is wrong with it.
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
    /// Reads one from the bytes that [`split`] found, kind and length included.
    ///
    /// # Errors
    /// What is wrong with it.
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

/// What of a message is not read yet.
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

    /// A text that ends with a zero.
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
