//! A proxy between a primary and its standby that knows where messages begin and end, and cuts a
//! connection or damages a message as planned.

use sardonyx_base::sync::futex::Mutex;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    ToStandby,
    ToPrimary,
}

/// What to do with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Pass,
    /// The connection is cut before it.
    Cut,
    /// The connection is cut after so many of its bytes.
    Tear(usize),
    /// A bit of its content is flipped.
    Flip(usize),
}

/// Decides about the message of this number (from 0, in its way) of this connection (from 0).
pub type Plan = Arc<dyn Fn(usize, Way, usize) -> Fate + Send + Sync>;

pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    plan: Plan,
}

#[derive(Default)]
struct State {
    target: Option<SocketAddr>,
    accepted: usize,
    /// Fates that were not [`Fate::Pass`].
    met: usize,
    open: Vec<TcpStream>,
}

impl Proxy {
    pub fn new(plan: impl Fn(usize, Way, usize) -> Fate + Send + Sync + 'static) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            plan: Arc::new(plan),
        });
        let accepting = shared.clone();
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                accepting.accept(stream.expect("a connection"));
            }
        });
        Proxy { address, shared }
    }

    /// Connects to this standby from now on; to none: connections are ended at once.
    pub fn lead_to(&self, target: Option<SocketAddr>) {
        self.shared.state.lock().target = target;
    }

    /// Cuts what is connected.
    pub fn cut(&self) {
        let open = std::mem::take(&mut self.shared.state.lock().open);
        open.iter().for_each(end);
    }

    /// Messages that did not pass.
    pub fn met(&self) -> usize {
        self.shared.state.lock().met
    }
}

fn end(stream: &TcpStream) {
    // It may be ended already.
    let _ = stream.shutdown(Shutdown::Both);
}

impl Shared {
    fn accept(self: &Arc<Self>, primary: TcpStream) {
        let mut state = self.state.lock();
        let Some(standby) = state
            .target
            .and_then(|target| TcpStream::connect(target).ok())
        else {
            return end(&primary);
        };
        let number = state.accepted;
        state.accepted += 1;
        let copy = |stream: &TcpStream| stream.try_clone().expect("a copy of a connection");
        state.open = vec![copy(&primary), copy(&standby)];
        drop(state);
        let ways = [
            (Way::ToStandby, copy(&primary), copy(&standby)),
            (Way::ToPrimary, standby, primary),
        ];
        for (way, from, to) in ways {
            let shared = self.clone();
            std::thread::spawn(move || {
                shared.carry(number, way, &from, &to);
                end(&from);
                end(&to);
            });
        }
    }

    /// Carries messages until the connection ends.
    fn carry(&self, connection: usize, way: Way, mut from: &TcpStream, mut to: &TcpStream) {
        for number in 0.. {
            let mut length = [0; 4];
            if from.read_exact(&mut length).is_err() {
                return;
            }
            let mut message = length.to_vec();
            message.resize(4 + u32::from_be_bytes(length) as usize, 0);
            if from.read_exact(&mut message[4..]).is_err() {
                return;
            }
            let fate = (self.plan)(connection, way, number);
            if fate != Fate::Pass {
                self.state.lock().met += 1;
            }
            match fate {
                Fate::Pass => {}
                Fate::Cut => return,
                Fate::Tear(at) => message.truncate(at % message.len()),
                Fate::Flip(bit) => {
                    let bit = bit % ((message.len() - 4) * 8);
                    message[4 + bit / 8] ^= 1 << (bit % 8);
                }
            }
            if to.write_all(&message).is_err() || matches!(fate, Fate::Tear(_)) {
                return;
            }
        }
    }
}
