//! A way between two processes that a test can cut, and lead elsewhere.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Shared {
    target: Option<SocketAddr>,
    open: Vec<TcpStream>,
    ended: bool,
}

/// A proxy: a connection to it is connected to its target, if it has one.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

impl Proxy {
    pub fn start() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let serves = shared.clone();
        std::thread::spawn(move || {
            for here in listener.incoming() {
                let Ok(here) = here else { continue };
                let mut shared = serves.lock().unwrap();
                if shared.ended {
                    return;
                }
                let there = shared
                    .target
                    .and_then(|target| TcpStream::connect(target).ok());
                let Some(there) = there else { continue };
                let _ = (here.set_nodelay(true), there.set_nodelay(true));
                for (from, to) in [(&here, &there), (&there, &here)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || copy(from, to));
                }
                shared.open.extend([here, there]);
            }
        });
        Proxy { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// New connections lead there; those that there are end wherever they are.
    pub fn lead_to(&self, target: Option<SocketAddr>) {
        let mut shared = self.shared.lock().unwrap();
        shared.target = target;
        for stream in shared.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// All connections end; new ones lead where they led.
    pub fn cut(&self) {
        let target = self.shared.lock().unwrap().target;
        self.lead_to(target);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.lead_to(None);
        self.shared.lock().unwrap().ended = true;
        let _ = TcpStream::connect(self.address);
    }
}
