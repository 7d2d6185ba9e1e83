//! A log over HTTP: the requests of an object store's client, answered by a small server with the S3 API in this process.

use crate::objects::ObjectLog;
use crate::options::RemoteOptions;
use crate::probe;
use crate::rules;
use crate::s3::connect_with;
use object_store::aws::AmazonS3Builder;
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Keys of a page of a list: fewer than a log's list has, so that lists continue.
const PAGE_KEYS: usize = 300;

/// The objects by their keys, each with the number of its version.
#[derive(Default)]
struct Objects {
    all: BTreeMap<String, (u64, Vec<u8>)>,
    versions: u64,
}

/// Answers every request with this, if it is given.
type Refusal = Option<(u16, &'static str)>;

/// Starts the server; it ends with the process.
fn server(refusal: Refusal) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let objects = Arc::new(Mutex::new(Objects::default()));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, objects) = (stream.unwrap(), objects.clone());
            std::thread::spawn(move || while answer(&stream, &objects, refusal).is_ok() {});
        }
    });
    address
}

fn log(address: SocketAddr) -> ObjectLog {
    let settings = AmazonS3Builder::new()
        .with_endpoint(format!("http://{address}"))
        .with_region("here")
        .with_access_key_id("a-key")
        .with_secret_access_key("hunter2");
    connect_with(settings, "bucket", "bank", &RemoteOptions::default()).unwrap()
}

/// Reads one request and answers it.
fn answer(stream: &TcpStream, objects: &Mutex<Objects>, refusal: Refusal) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_string()),
        }
    }
    let headers: HashMap<String, &str> = (lines.iter().skip(1))
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = lines[0].split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    assert!(headers["authorization"].starts_with("AWS4-HMAC-SHA256 Credential=a-key/"));
    let (status, tag, content) = match refusal {
        Some((status, text)) => (status, None, text.as_bytes().to_vec()),
        None => objects.lock().unwrap().done(method, target, &headers, body),
    };
    let tag = tag.map_or_else(String::new, |tag| format!("ETag: \"{tag}\"\r\n"));
    let head = format!(
        "HTTP/1.1 {status} x\r\n{tag}Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(&content)
}

impl Objects {
    /// Does the request: status, ETag and content of the answer.
    fn done(
        &mut self,
        method: &str,
        target: &str,
        headers: &HashMap<String, &str>,
        body: Vec<u8>,
    ) -> (u16, Option<u64>, Vec<u8>) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let key = path
            .strip_prefix("/bucket")
            .unwrap()
            .trim_start_matches('/');
        match method {
            "GET" if key.is_empty() => (200, None, self.list(query)),
            "GET" => match self.all.get(key) {
                Some((version, bytes)) => (200, Some(*version), bytes.clone()),
                None => (404, None, Vec::new()),
            },
            "POST" => {
                let text = String::from_utf8(body).unwrap();
                let mut deleted = String::from("<DeleteResult>");
                for part in text.split("<Key>").skip(1) {
                    let key = part.split("</Key>").next().unwrap();
                    self.all.remove(key);
                    deleted += &format!("<Deleted><Key>{key}</Key></Deleted>");
                }
                (200, None, (deleted + "</DeleteResult>").into_bytes())
            }
            "PUT" => {
                let found = self
                    .all
                    .get(key)
                    .map(|(version, _)| format!("\"{version}\""));
                let holds = match (headers.get("if-none-match"), headers.get("if-match")) {
                    (Some(&"*"), None) => found.is_none(),
                    (None, Some(version)) => found.as_deref() == Some(version),
                    other => panic!("a write without a condition: {other:?}"),
                };
                if !holds {
                    return (412, None, Vec::new());
                }
                self.versions += 1;
                self.all.insert(key.into(), (self.versions, body));
                (200, Some(self.versions), Vec::new())
            }
            other => panic!("{other} is not expected"),
        }
    }

    fn list(&self, query: &str) -> Vec<u8> {
        let fields = query.split('&').filter_map(|field| field.split_once('='));
        let fields: HashMap<&str, String> = fields
            .map(|(name, value)| (name, value.replace("%2F", "/")))
            .collect();
        let prefix = fields.get("prefix").map_or("", String::as_str);
        let after = fields
            .get("continuation-token")
            .or(fields.get("start-after"));
        let after = after.map_or("", String::as_str);
        let mut found = (self.all.iter())
            .filter(|(key, _)| key.starts_with(prefix) && key.as_str() > after)
            .peekable();
        let mut text = String::from("<ListBucketResult>");
        let mut last = "";
        for (key, (version, bytes)) in found.by_ref().take(PAGE_KEYS) {
            text += &format!(
                "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00Z</LastModified>\
                 <ETag>\"{version}\"</ETag><Size>{}</Size></Contents>",
                bytes.len()
            );
            last = key;
        }
        if found.peek().is_some() {
            text += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
        }
        (text + "</ListBucketResult>").into_bytes()
    }
}

#[test]
fn a_log_is_kept_by_requests_over_http() {
    let address = server(None);
    rules::keeps_the_contract(&log(address));
    let store: Arc<dyn RemoteStore> = Arc::new(log(server(None)));
    rules::own_in_turn(0, &store);
    let beside = log(address).for_probe();
    probe::probe(&beside).unwrap();
    beside.clear();
    assert_eq!(beside.list(0).unwrap(), []);
    // An entry of the greatest length comes back whole.
    let log = log(address);
    let bytes = vec![7; RemoteOptions::default().entry_bytes_max as usize];
    log.append_at(5_000, &bytes).unwrap();
    assert!(log.read(5_000).unwrap() == Some(bytes));
}

#[test]
fn an_error_of_the_store_is_final_or_unclear_and_shows_no_secret() {
    let refused = log(server(Some((
        403,
        "<Error><Code>AccessDenied</Code>hunter2</Error>",
    ))));
    let error = refused.append_at(1, b"one").unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    // A redirect is not followed: a signed request goes to one place only.
    for (status, text) in [(500, "hunter2"), (503, "SlowDown"), (301, "elsewhere")] {
        let error = log(server(Some((status, text))))
            .append_at(1, b"one")
            .unwrap_err();
        assert!(error.is_unclear(), "{status}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    // Nothing listens at an address whose listener is closed.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = log(address).append_at(1, b"one").unwrap_err();
    assert!(error.is_unclear(), "{error}");
}
