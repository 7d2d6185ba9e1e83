//! A server that speaks PostgreSQL's protocol, for a shell.

use super::answer::{Answer, Column, ColumnKind, Rows};
use super::connection::{Standing, StatementError};
use super::message::{Parts, message};
use anyhow::{Context, bail};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, pin_mut};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::ErrorPosition;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, SimpleQueryMessage, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The environment's password, as PostgreSQL's own clients have it.
const PASSWORD: &str = "PGPASSWORD";

/// A connection.
pub struct Remote {
    client: Client,
    runtime: Runtime,
    tls: MakeRustlsConnect,
    notices: Receiver<String>,
    standing: Standing,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

impl Remote {
    /// Connects. TLS is spoken if `ca` vouches for the server, or the URL asks for it (`sslmode=require`).
    ///
    /// # Errors
    /// It cannot be reached, or refuses; the file has no certificate.
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
            // Nobody vouches for the server.
            (None, SslMode::Prefer) => config.ssl_mode(SslMode::Disable),
            (None, SslMode::Disable) => &mut config,
            (None, _) => {
                bail!("TLS needs the certificate that vouches for the server's: --ca FILE")
            }
        };
        let (told, notices) = channel();
        let tls = MakeRustlsConnect::new(tls_of(ca)?);
        let client = runtime.block_on(async {
            let (client, connection) = config.connect(tls.clone()).await?;
            tokio::spawn(listen(connection, told));
            anyhow::Ok(client)
        });
        Ok(Remote {
            client: client.context("the server cannot be used")?,
            runtime,
            tls,
            notices,
            standing: Standing::Idle,
        })
    }

    pub fn standing(&self) -> Standing {
        self.standing
    }

    pub fn run(
        &mut self,
        text: &str,
        copied: Option<Vec<u8>>,
    ) -> Result<Vec<Answer>, StatementError> {
        let (client, tls) = (&self.client, &self.tls);
        let answered = self.runtime.block_on(async {
            let mut work = std::pin::pin!(answers(client, text, copied));
            tokio::select! {
                answers = &mut work => answers,
                _ = tokio::signal::ctrl_c() => {
                    // If the server does not hear it, the statement is waited for.
                    let _ = client.cancel_token().cancel_query(tls.clone()).await;
                    work.await
                }
            }
        });
        let mut answers: Vec<Answer> = self.notices.try_iter().map(Answer::Notice).collect();
        match answered {
            Ok(more) => {
                self.standing = standing_after(text, self.standing);
                answers.extend(more);
                Ok(answers)
            }
            Err(error) => {
                if self.standing == Standing::Open {
                    self.standing = Standing::Failed;
                }
                Err(statement_error(text, error))
            }
        }
    }
}

/// Passes on what a server says of itself, until the connection ends.
async fn listen<S>(mut connection: Connection<Socket, S>, told: std::sync::mpsc::Sender<String>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
        if let AsyncMessage::Notice(notice) = message {
            // Nobody listens any more only at the end.
            let _ = told.send(format!("{}: {}", notice.severity(), notice.message()));
        }
    }
}

fn tls_of(ca: Option<&Path>) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = ca {
        let told = || file.display().to_string();
        let certificates = CertificateDer::pem_file_iter(file).with_context(told)?;
        for certificate in certificates {
            roots.add(certificate.with_context(told)?)?;
        }
        anyhow::ensure!(!roots.is_empty(), "{} has no certificate in PEM", told());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

async fn answers(
    client: &Client,
    text: &str,
    copied: Option<Vec<u8>>,
) -> Result<Vec<Answer>, tokio_postgres::Error> {
    if let Some(data) = copied {
        let sink = client.copy_in::<_, Bytes>(text).await?;
        pin_mut!(sink);
        sink.send(Bytes::from(data)).await?;
        let rows = sink.finish().await?;
        return Ok(vec![Answer::Done(format!("COPY {rows}"))]);
    }
    if copies_out(text) {
        let stream = client.copy_out(text).await?;
        pin_mut!(stream);
        let mut bytes = Vec::new();
        while let Some(part) = stream.next().await {
            bytes.extend_from_slice(&part?);
        }
        return Ok(vec![Answer::Copied(bytes)]);
    }
    // Which types the columns have is said only of a statement that is prepared; what cannot be is run without.
    let kinds = match word_of(text).as_str() {
        "SELECT" | "WITH" | "VALUES" | "TABLE" => client.prepare(text).await.ok(),
        _ => None,
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
                None => Answer::Done(done(text, count)),
            }),
            _ => {}
        }
    }
    Ok(answers)
}

/// The first word of a statement, in capitals.
fn word_of(text: &str) -> String {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    text.get(..end.unwrap_or(text.len()))
        .unwrap_or_default()
        .to_ascii_uppercase()
}

fn copies_out(text: &str) -> bool {
    word_of(text) == "COPY" && text.to_ascii_uppercase().contains("TO STDOUT")
}

/// The client crate gives of a tag only the number of rows.
fn done(text: &str, count: u64) -> String {
    let word = word_of(text);
    match word.as_str() {
        "INSERT" | "UPDATE" | "DELETE" | "COPY" | "MERGE" => format!("{word} {count}"),
        _ => word,
    }
}

fn standing_after(text: &str, before: Standing) -> Standing {
    match word_of(text).as_str() {
        "BEGIN" | "START" => Standing::Open,
        "COMMIT" | "END" | "ABORT" => Standing::Idle,
        "ROLLBACK" if text.to_ascii_uppercase().contains(" TO ") => Standing::Open,
        "ROLLBACK" => Standing::Idle,
        _ => before,
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

fn statement_error(text: &str, error: tokio_postgres::Error) -> StatementError {
    let Some(told) = error.as_db_error() else {
        return StatementError::Gone(error);
    };
    let position = match told.position() {
        Some(ErrorPosition::Original(at)) => usize::try_from(*at).ok(),
        _ => None,
    };
    StatementError::Refused(message(&Parts {
        text,
        code: told.code().code(),
        message: told.message(),
        detail: told.detail(),
        hint: told.hint(),
        position,
    }))
}
