//! The same against a real etcd, of which SARDONYX_ETCD names the program:
//!
//! ```text
//! SARDONYX_ETCD=/usr/bin/etcd cargo test -p sardonyx-etcd --test all real -- --ignored --nocapture
//! ```

use crate::nodes::{add, join, read, serve};
use sardonyx_etcd::{Etcd, EtcdOptions};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct RealEtcd(Child, String);

impl Drop for RealEtcd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn start(directory: &Path, ports: [u16; 2]) -> RealEtcd {
    let program = std::env::var("SARDONYX_ETCD").expect("SARDONYX_ETCD names the program");
    let [client, peer] = ports.map(|port| format!("http://127.0.0.1:{port}"));
    let child = Command::new(program)
        .arg("--data-dir")
        .arg(directory)
        .args([
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
        ])
        .args([
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
        ])
        .args(["--initial-cluster", &format!("default={peer}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let etcd = RealEtcd(child, client);
    let until = Instant::now() + Duration::from_secs(20);
    use sardonyx_sharing::node::loose::Register;
    while let Err(error) = Etcd::new(EtcdOptions::new([&etcd.1], "ready")).read() {
        assert!(Instant::now() < until, "etcd does not answer: {error}");
        std::thread::sleep(Duration::from_millis(50));
    }
    etcd
}

#[test]
#[ignore = "needs a program etcd"]
fn nodes_over_a_real_etcd_that_is_killed_and_comes_back() {
    let (database, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ports = [free_port(), free_port()];
    let etcd = start(data.path(), ports);
    let server = serve(database.path());
    let register = |etcd: &RealEtcd| {
        let options = EtcdOptions {
            lease: Duration::from_secs(3),
            ..EtcdOptions::new([&etcd.1], "bank")
        };
        Box::new(Etcd::new(options))
    };
    let one = join(&server, register(&etcd));
    let two = join(&server, register(&etcd));
    for page in 0..32 {
        assert_eq!(add(&one, page, 1).unwrap(), 1);
        assert_eq!(add(&two, page, 1).unwrap(), 2);
    }
    println!("members: {:?}", two.members());
    // Over several leases, which are kept alive.
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(two.members().len(), 2);
    assert_eq!(add(&one, 3, 1).unwrap(), 3);
    // Killed; the nodes write on.
    drop(etcd);
    assert_eq!(add(&two, 3, 1).unwrap(), 4);
    let etcd = start(data.path(), ports);
    assert_eq!(read(&one, 3).unwrap(), 4);
    // One leaves, another joins: its share of the authority moves.
    let began = Instant::now();
    drop(one);
    assert_eq!(add(&two, 3, 1).unwrap(), 5);
    println!("after a node left: {:?}", began.elapsed());
    let three = join(&server, register(&etcd));
    for page in 0..32 {
        let before = read(&two, page).unwrap();
        assert_eq!(add(&three, page, 1).unwrap(), before + 1);
    }
    assert_eq!(three.members().len(), 2);
}
