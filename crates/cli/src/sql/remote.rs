//! A server that speaks PostgreSQL's protocol, for a shell.

use super::answer::{Answer, Column, ColumnKind, Rows};
use super::connection::{Standing, StatementError};
use super::message::{Parts, message};
use super::tag::{Named, may_give_rows};
use super::text::{self, Statement};
use super::tls::Tls;
use anyhow::{Context, bail};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, pin_mut};
use std::fmt;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use tokio::runtime::Runtime;
pub use tokio_postgres::Error as RemoteError;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::ErrorPosition;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, SimpleQueryMessage, Socket};

/// The bytes of copied data in one message: a server's messages have a bound.
const COPY_BYTES: usize = 1 << 20;

/// The variable with the password, as for PostgreSQL's own clients.
const PASSWORD: &str = "PGPASSWORD";

/// A connection.
pub struct Remote {
    client: Client,
    runtime: Runtime,
    tls: Tls,
    notices: Receiver<String>,
    standing: Standing,
    named: Named,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

impl Remote {
    /// Connects. TLS is used if `ca` is given, or if the URL asks for it (`sslmode=require`).
    ///
    /// # Errors
    /// The server cannot be reached, or refuses; the file has no certificate.
    pub fn connect(url: &str, ca: Option<&Path>) -> anyhow::Result<Remote> {
        let mut config: Config = url.parse().context("the URL")?;
        if config.get_password().is_none()
            && let Ok(password) = std::env::var(PASSWORD)
        {
            config.password(password);
        }
        if config.get_application_name().is_none() {
            config.application_name("sardonyx sql");
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        match (ca, config.get_ssl_mode()) {
            (Some(_), _) => config.ssl_mode(SslMode::Require),
            // Without `ca` the server cannot be verified.
            (None, SslMode::Prefer) => config.ssl_mode(SslMode::Disable),
            (None, SslMode::Disable) => &mut config,
            (None, _) => {
                bail!("TLS needs the certificate of the server's CA: --ca FILE")
            }
        };
        let (told, notices) = channel();
        let tls = Tls::new(sardonyx_tls::client(ca)?);
        let client = runtime.block_on(async {
            let (client, connection) = config.connect(tls.clone()).await?;
            tokio::spawn(listen(connection, told));
            anyhow::Ok(client)
        });
        let client = client.map_err(|error| {
            // The driver's error has no kind to ask for.
            let text = format!("{error:#}");
            error.context(if text.contains("password missing") {
                "the server asks for the user's password: set PGPASSWORD in the environment"
            } else if text.contains("invalid peer certificate") {
                "the server's certificate is refused: the CA of --ca must have signed it, it must name the host of the \
                 URL under subjectAltName, and not be a CA itself (docs/server.md, \"Certificates\")"
            } else {
                "the server cannot be used"
            })
        });
        Ok(Remote {
            client: client?,
            runtime,
            tls,
            notices,
            standing: Standing::Idle,
            named: Named::default(),
        })
    }

    pub fn standing(&self) -> Standing {
        self.standing
    }

    pub fn run(
        &mut self,
        statement: &Statement,
        copied: Option<Vec<u8>>,
    ) -> Result<Vec<Answer>, StatementError> {
        let words = text::words(&statement.text);
        let (client, tls) = (&self.client, &self.tls);
        let failed = self.standing == Standing::Failed;
        let tag = |rows| self.named.tag(&words, rows, failed);
        let answered = self.runtime.block_on(async {
            let mut work = std::pin::pin!(answers(client, &statement.text, &words, copied, tag));
            tokio::select! {
                answers = &mut work => answers,
                _ = tokio::signal::ctrl_c() => {
                    // If the server does not receive it, the statement continues.
                    let _ = client.cancel_token().cancel_query(tls.clone()).await;
                    work.await
                }
            }
        });
        let mut answers: Vec<Answer> = self.notices.try_iter().map(Answer::Notice).collect();
        match answered {
            Ok(more) => {
                self.standing = standing_after(&words, self.standing);
                self.named.note(&words);
                answers.extend(more);
                Ok(answers)
            }
            Err(error) => {
                if self.standing == Standing::Open {
                    self.standing = standing_after_error(&words, &error);
                }
                Err(statement_error(statement, error))
            }
        }
    }
}

/// Passes on the server's notices until the connection ends.
async fn listen<S>(mut connection: Connection<Socket, S>, told: std::sync::mpsc::Sender<String>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
        if let AsyncMessage::Notice(notice) = message {
            // The receiver is dropped only at the end.
            let _ = told.send(format!("{}: {}", notice.severity(), notice.message()));
        }
    }
}

async fn answers(
    client: &Client,
    text: &str,
    words: &[String],
    copied: Option<Vec<u8>>,
    tag: impl Fn(u64) -> String,
) -> Result<Vec<Answer>, RemoteError> {
    if let Some(data) = copied {
        let sink = client.copy_in::<_, Bytes>(text).await?;
        pin_mut!(sink);
        for piece in pieces(data.into()) {
            sink.send(piece).await?;
        }
        let rows = sink.finish().await?;
        return Ok(vec![Answer::Done(tag(rows))]);
    }
    if text::copies_out(words) {
        let stream = client.copy_out(text).await?;
        pin_mut!(stream);
        let mut bytes = Vec::new();
        while let Some(part) = stream.next().await {
            bytes.extend_from_slice(&part?);
        }
        return Ok(vec![Answer::Copied(bytes)]);
    }
    // The server sends the types of columns only for a prepared statement. An error is reported once: in a transaction,
    // a second attempt would only report that the transaction has failed.
    let kinds = match may_give_rows(words) {
        true => Some(client.prepare(text).await?),
        false => None,
    };
    let kind = |at: usize| {
        let column = kinds.as_ref()?.columns().get(at)?;
        Some(kind_of(column.type_()))
    };
    let mut answers = Vec::new();
    let mut rows: Option<Rows> = None;
    for message in client.simple_query(text).await? {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                let columns = columns.iter().enumerate().map(|(at, column)| Column {
                    name: column.name().to_string(),
                    kind: kind(at).unwrap_or(ColumnKind::Other),
                });
                rows = Some(Rows {
                    columns: columns.collect(),
                    rows: Vec::new(),
                });
            }
            SimpleQueryMessage::Row(row) => {
                let values = (0..row.len()).map(|at| row.get(at).map(str::to_string));
                if let Some(rows) = &mut rows {
                    rows.rows.push(values.collect());
                }
            }
            SimpleQueryMessage::CommandComplete(count) => answers.push(match rows.take() {
                Some(rows) => Answer::Rows(rows),
                None => Answer::Done(tag(count)),
            }),
            _ => {}
        }
    }
    Ok(answers)
}

/// Data in pieces that a server accepts as messages.
fn pieces(mut data: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let piece = data.split_to(data.len().min(COPY_BYTES));
        (!piece.is_empty()).then_some(piece)
    })
}

fn standing_after(words: &[String], before: Standing) -> Standing {
    match words.first().map_or("", |word| &**word) {
        "BEGIN" | "START" => Standing::Open,
        "COMMIT" | "END" | "ABORT" => Standing::Idle,
        "ROLLBACK" if words.iter().any(|word| word == "TO") => Standing::Open,
        "ROLLBACK" => Standing::Idle,
        _ => before,
    }
}

/// The state of a transaction after an error: a transaction whose commit is refused is over.
fn standing_after_error(words: &[String], error: &RemoteError) -> Standing {
    let is_end = matches!(words.first().map_or("", |word| &**word), "COMMIT" | "END");
    let is_understood = error
        .code()
        .is_some_and(|code| !code.code().starts_with("42"));
    match is_end && is_understood {
        true => Standing::Idle,
        false => Standing::Failed,
    }
}

fn kind_of(kind: &Type) -> ColumnKind {
    let numbers = [
        Type::INT2,
        Type::INT4,
        Type::INT8,
        Type::FLOAT4,
        Type::FLOAT8,
        Type::NUMERIC,
        Type::OID,
    ];
    match kind {
        kind if numbers.contains(kind) => ColumnKind::Number,
        kind if *kind == Type::BOOL => ColumnKind::Truth,
        kind if *kind == Type::JSON || *kind == Type::JSONB => ColumnKind::Json,
        _ => ColumnKind::Other,
    }
}

fn statement_error(statement: &Statement, error: RemoteError) -> StatementError {
    let Some(told) = error.as_db_error() else {
        return StatementError::Gone(error);
    };
    let position = match told.position() {
        Some(ErrorPosition::Original(at)) => usize::try_from(*at).ok(),
        _ => None,
    };
    StatementError::Refused(message(&Parts {
        text: &statement.text,
        line: statement.line,
        code: told.code().code(),
        message: told.message(),
        detail: told.detail(),
        hint: told.hint(),
        context: told.where_(),
        position,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_goes_in_pieces() {
        let data = Bytes::from(vec![7; 2 * COPY_BYTES + 3]);
        let lengths: Vec<usize> = pieces(data).map(|piece| piece.len()).collect();
        assert_eq!(lengths, [COPY_BYTES, COPY_BYTES, 3]);
        assert_eq!(pieces(Bytes::new()).count(), 0);
    }
}
