//! The connections of loosely coupled nodes: TLS, and the register of the members.

use super::common::*;
use sardonyx_base::transport::TransportError;
use sardonyx_cluster::ClusterError;
use sardonyx_cluster::connecting::{Connecting, EtcdSetting};
use sardonyx_cluster::coupled::CoupledNode;
use sardonyx_cluster::nodes::Cluster;
use sardonyx_cluster::routing::Routing;
use sardonyx_cluster::setting::{Setting, Update};
use sardonyx_sharing::node::NodeError;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A CA of its own, and files for TLS in this directory.
fn certify(directory: &Path) -> Outcome {
    let ca_key = rcgen::KeyPair::generate()?;
    let mut ca = rcgen::CertificateParams::default();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_pem = ca.self_signed(&ca_key)?.pem();
    let key = rcgen::KeyPair::generate()?;
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let certificate = rcgen::CertificateParams::default().signed_by(&key, &issuer)?;
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join("ca.pem"), ca_pem)?;
    std::fs::write(directory.join("cert.pem"), certificate.pem())?;
    let file = directory.join("key.pem");
    std::fs::write(&file, key.serialize_pem())?;
    Ok(std::fs::set_permissions(
        &file,
        std::fs::Permissions::from_mode(0o600),
    )?)
}

pub fn nodes_over_tls_keep_the_sums_though_one_and_the_page_server_are_killed() -> Outcome {
    let place = tempfile::tempdir()?;
    let files = place.path().join("tls");
    certify(&files)?;
    let mut setting = loose(2, Update::Noforce, place.path());
    setting.connecting.tls = Some(files.clone());
    let mut cluster = Cluster::make(place.path(), &setting)?;
    cluster.up(&program()?, true)?;
    let runs = cluster.bench(&load(Routing::Random, 200))?;
    expect(runs.len() == 2 && committed(&runs) == 200, &runs)?;
    cluster.kill(1)?;
    let server = cluster.setting().page_server_slot().ok_or("loose")?;
    cluster.kill(server)?;
    bench_while_starting(&mut cluster, 80)?;
    let sums = cluster.sums()?;
    expect(sums.are_equal() && sums.transactions == 280, sums)?;
    // A program without TLS, or with a CA of its own, cannot join these nodes, though it has the token.
    for connecting in [
        Connecting::default(),
        Connecting {
            tls: Some(place.path().join("another")),
            ..Connecting::default()
        },
    ] {
        if let Some(another) = &connecting.tls {
            certify(another)?;
        }
        let stranger = Setting {
            connecting,
            ..setting.clone()
        };
        let joined = CoupledNode::join(&stranger, cluster.places(), 2, None);
        let refused = matches!(
            joined,
            Err(ClusterError::Node(NodeError::Transport(
                TransportError::OtherProtocol { .. } | TransportError::NotTrusted { .. }
            )))
        );
        expect(refused, joined)?;
    }
    let sums = cluster.sums()?;
    expect(sums.are_equal() && sums.transactions == 280, sums)?;
    // No secret is readable by others.
    let key = std::fs::read_to_string(files.join("key.pem"))?;
    let kept = std::fs::read_to_string(cluster.places().setting())?;
    let secret = |line: &&str| !line.starts_with("-----");
    expect(
        key.lines().filter(secret).all(|line| !kept.contains(line)),
        "the setting has the key",
    )
}

pub fn nodes_are_not_started_without_what_connects_them() -> Outcome {
    let place = tempfile::tempdir()?;
    let mut setting = loose(2, Update::Noforce, place.path());
    setting.connecting.tls = Some(place.path().join("nowhere"));
    let mut cluster = Cluster::make(place.path(), &setting)?;
    let refused = cluster.up(&program()?, true);
    let named = matches!(&refused, Err(ClusterError::Tls(error)) if error.to_string().contains("nowhere/ca.pem"));
    expect(named, refused)?;
    expect(cluster.running().is_empty(), cluster.running())?;
    // No process listens at a port that was released.
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    let place = tempfile::tempdir()?;
    let mut setting = loose(2, Update::Noforce, place.path());
    setting.connecting.etcd = Some(EtcdSetting::new([format!("http://127.0.0.1:{port}")]));
    let mut cluster = Cluster::make(place.path(), &setting)?;
    let refused = cluster.up(&program()?, true);
    let named = matches!(
        &refused,
        Err(ClusterError::Node(NodeError::Membership { reason })) if reason.contains(&port.to_string())
    );
    expect(named, refused)?;
    // A register belongs to its database: a prefix stays, and a directory cannot be replaced by an etcd, or an etcd by
    // another.
    let prefix = |cluster: &Cluster| {
        cluster
            .setting()
            .connecting
            .etcd
            .clone()
            .map(|etcd| etcd.prefix)
    };
    let kept = prefix(&cluster);
    setting.connecting.etcd = Some(EtcdSetting::new(["http://127.0.0.1:1"]));
    let again = Cluster::make(place.path(), &setting)?;
    expect(prefix(&again) == kept, prefix(&again))?;
    setting.connecting.etcd = None;
    let refused = Cluster::make(place.path(), &setting);
    expect(
        refused.as_ref().is_err_and(|error| error.is_usage()),
        refused,
    )
}

pub fn a_register_that_knows_no_node_of_the_database_is_refused() -> Outcome {
    let place = tempfile::tempdir()?;
    let mut cluster = Cluster::make(place.path(), &loose(1, Update::Noforce, place.path()))?;
    cluster.up(&program()?, true)?;
    cluster.bench(&load(Routing::Random, 20))?;
    cluster.down()?;
    std::fs::remove_dir_all(cluster.places().members())?;
    let refused = cluster.up(&program()?, true);
    expect(matches!(refused, Err(ClusterError::Ended { .. })), refused)?;
    let server = cluster.setting().page_server_slot().ok_or("loose")?;
    let said = std::fs::read_to_string(cluster.places().log(server))?;
    expect(said.contains("RegisterLost"), said)
}
