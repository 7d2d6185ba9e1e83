//! A server on a database of its own, and clients that speak to it byte by byte.

// Each test uses a part of it.
use sardonyx::disk::GroupLimits;
use sardonyx::{Options as DatabaseOptions, Shape, Tables};
use sardonyx_server::{Endpoint, Options, Server};
use sardonyx_sql::Database;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A server, its database and its directory.
pub struct Running {
    pub server: Option<Server>,
    pub tables: Arc<Tables>,
    pub database: Arc<Database>,
    pub directory: TempDir,
}

pub fn small() -> DatabaseOptions {
    DatabaseOptions::new()
        .segment_bytes(1 << 20)
        .log_bytes_max(8 << 20)
        .log_bytes_prepared(0)
        .memory_bytes_max(256 << 20)
        .group_limits(GroupLimits {
            group_bytes: 256 << 10,
            transaction_bytes: 256 << 10,
            depth: 2,
            buffers: 6,
        })
        .shape(Shape::Coalesced)
}

impl Running {
    /// Starts a server with these options, at ports that the system chooses.
    pub fn start(options: Options) -> Running {
        Running::start_in(tempfile::tempdir().unwrap(), options)
    }

    /// Starts a server on a database in this directory.
    pub fn start_in(directory: TempDir, options: Options) -> Running {
        let tables = small().open_tables(directory.path().join("bank.sdx"));
        let tables = Arc::new(tables.unwrap());
        let database = Database::new(tables.clone()).unwrap();
        let server = Server::start(database.clone(), options);
        Running {
            server: Some(server.unwrap()),
            tables,
            database,
            directory,
        }
    }

    /// The address of its first endpoint.
    pub fn address(&self) -> SocketAddr {
        self.address_of(0)
    }

    /// The address of an endpoint by its number: PostgreSQL's, Redis', HTTP's, of those that are served.
    pub fn address_of(&self, number: usize) -> SocketAddr {
        match self.server.as_ref().unwrap().addresses()[number].1 {
            Endpoint::Tcp(address) => address,
            ref other => panic!("{other} is no address of TCP"),
        }
    }

    /// A client of the crate `postgres`.
    pub fn client(&self) -> postgres::Client {
        self.try_client("ada", "").unwrap()
    }

    pub fn try_client(
        &self,
        user: &str,
        password: &str,
    ) -> Result<postgres::Client, postgres::Error> {
        let mut config = postgres::Config::new();
        config.host("127.0.0.1").port(self.address().port());
        config.user(user).dbname("bank");
        if !password.is_empty() {
            config.password(password);
        }
        config.connect(postgres::NoTls)
    }

    /// A connected socket without a greeting.
    pub fn socket(&self) -> Socket {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        Socket(stream)
    }
}

/// No ports for Redis and HTTP.
pub fn postgres_alone() -> Options {
    Options {
        postgres: vec!["127.0.0.1:0".parse().unwrap()],
        redis: Vec::new(),
        http: Vec::new(),
        ..Options::default()
    }
}

/// A connection whose bytes are written and read one by one.
pub struct Socket(pub TcpStream);

impl Socket {
    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// Sends a startup message of the user `ada` for the database `bank`, with these parameters besides.
    pub fn start(&mut self, parameters: &[(&str, &str)]) {
        let mut body = 0x0003_0000u32.to_be_bytes().to_vec();
        let all = [("user", "ada"), ("database", "bank")];
        for (name, value) in all.iter().chain(parameters) {
            body.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
        }
        body.push(0);
        self.send(&(body.len() as u32 + 4).to_be_bytes());
        self.send(&body);
    }

    /// Begins a session, and reads up to the first ReadyForQuery.
    pub fn begin(&mut self) {
        self.begin_with(&[]);
    }

    /// Begins a session with these parameters. Returns its cancel key: the session's number and its secret.
    pub fn begin_with(&mut self, parameters: &[(&str, &str)]) -> (u32, u32) {
        self.start(parameters);
        let mut key = None;
        while let Some((kind, body)) = self.message() {
            match kind {
                b'K' => {
                    let word = |at| u32::from_be_bytes(body[at..at + 4].try_into().unwrap());
                    key = Some((word(0), word(4)));
                }
                b'Z' => break,
                _ => {}
            }
        }
        key.expect("a cancel key before ReadyForQuery")
    }

    /// The next message: its kind and its body; `None` at the end of the connection.
    pub fn message(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        self.0.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    /// The kinds of the messages up to this one.
    pub fn until(&mut self, kind: u8) -> String {
        let mut kinds = String::new();
        while let Some((next, _)) = self.message() {
            kinds.push(next as char);
            if next == kind {
                return kinds;
            }
        }
        panic!("the connection ended behind {kinds:?}");
    }

    /// The remaining messages until the connection ends.
    pub fn rest(&mut self) -> Vec<(u8, Vec<u8>)> {
        std::iter::from_fn(|| self.message()).collect()
    }
}

/// A message of a client.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A statement by the extended protocol: parsed, bound without parameters, described and executed; no Sync.
pub fn extended(text: &str) -> Vec<u8> {
    let mut bytes = message(b'P', format!("\0{text}\0\0\0").as_bytes());
    bytes.extend(message(b'B', b"\0\0\0\0\0\0\0\0"));
    bytes.extend(message(b'D', b"P\0"));
    bytes.extend(message(b'E', b"\0\0\0\0\0"));
    bytes
}

/// A simple query.
pub fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

pub fn sync() -> Vec<u8> {
    message(b'S', b"")
}
