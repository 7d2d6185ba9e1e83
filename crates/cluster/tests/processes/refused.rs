//! Settings and loads that are not possible.

use super::common::*;
use sardonyx_cluster::ClusterError;
use sardonyx_cluster::connecting::{Connecting, EtcdSetting};
use sardonyx_cluster::load::Load;
use sardonyx_cluster::nodes::Cluster;
use sardonyx_cluster::routing::Routing;
use sardonyx_cluster::setting::{Coupling, Setting, Update};

pub fn what_cannot_be_is_refused() -> Outcome {
    let place = tempfile::tempdir()?;
    let good = setting(2, Update::Noforce, place.path());
    let loosely = loose(2, Update::Noforce, place.path());
    let short = Setting {
        stopped_process_wait_milliseconds: 499,
        ..loosely.clone()
    };
    let refused = short.check();
    let is_usage = refused.as_ref().is_err_and(ClusterError::is_usage);
    expect(is_usage, refused)?;
    let tables = Setting {
        authority: Routing::Tables {
            file: "tables.toml".into(),
            text: "format = 7".into(),
        },
        ..loosely
    };
    let refused = tables.check();
    expect(matches!(refused, Err(ClusterError::Tables(_))), refused)?;
    let none = Setting {
        nodes: 0,
        ..good.clone()
    };
    expect(
        Cluster::make(place.path(), &none).is_err_and(|error| error.is_usage()),
        "no nodes",
    )?;
    let there = Cluster::at(place.path());
    expect(matches!(there, Err(ClusterError::NotThere { .. })), there)?;
    let cluster = Cluster::make(place.path(), &good)?;
    let nobody = cluster.bench(&load(Routing::Random, 1));
    expect(matches!(nobody, Err(ClusterError::NotThere { .. })), nobody)?;
    let many = Load {
        clients: 4,
        ..load(Routing::Random, 1)
    };
    expect(many.check(&good).is_err_and(|error| error.is_usage()), many)?;
    let other = Setting {
        history_pages: 5,
        ..good.clone()
    };
    // The database of one coupling cannot be used by the other.
    let other_coupling = Setting {
        coupling: Coupling::Loose,
        ..good.clone()
    };
    // The connections of loosely coupled nodes.
    for connecting in [
        Connecting {
            tls: Some("tls".into()),
            etcd: None,
        },
        Connecting {
            tls: None,
            etcd: Some(EtcdSetting::new(["http://127.0.0.1:1"])),
        },
    ] {
        let close = Setting {
            connecting,
            ..good.clone()
        };
        let refused = close.check();
        expect(
            refused.as_ref().is_err_and(|error| error.is_usage()),
            refused,
        )?;
    }
    for endpoints in [&["https://127.0.0.1:1"][..], &["127.0.0.1:1"], &[]] {
        let mut other = other_coupling.clone();
        other.connecting.etcd = Some(EtcdSetting::new(endpoints.iter().copied()));
        let refused = other.check();
        expect(
            refused.as_ref().is_err_and(|error| error.is_usage()),
            refused,
        )?;
    }
    for other in [other, other_coupling] {
        let refused = Cluster::make(place.path(), &other);
        expect(
            refused.as_ref().is_err_and(|error| error.is_usage()),
            refused,
        )?;
    }
    Ok(())
}
