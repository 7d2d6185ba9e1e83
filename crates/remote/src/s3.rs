//! An object store with the S3 API: endpoint, region and credentials from the environment, as AWS's tools have them
//! (`AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, or a role).
//!
//! Over TLS. An endpoint without it must be on this host, or `AWS_ALLOW_HTTP=true` must allow it. No place contains
//! credentials, and a store's texts are shown without them.

use crate::host::{host_of, is_this_host};
use crate::http::UreqConnector;
use crate::objects::ObjectLog;
use crate::options::RemoteOptions;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::client::ClientConfigKey;
use object_store::{ClientOptions, RetryConfig};
use sardonyx_storage::remote_log::store::StoreError;
use std::sync::Arc;

/// The part behind `s3:`.
pub(crate) fn bucket_and_prefix(rest: &str) -> Result<(&str, &str), StoreError> {
    let wrong = |reason: &str| {
        Err(StoreError::Place {
            place: "the place that begins with s3:".into(),
            reason: reason.into(),
        })
    };
    let Some(rest) = rest.strip_prefix("//") else {
        return wrong("write s3://BUCKET/PREFIX");
    };
    if rest.contains('@') {
        return wrong(
            "it has no credentials in it: give them by the environment, as AWS_ACCESS_KEY_ID",
        );
    }
    if rest.contains(['?', '#']) {
        return wrong("it has no options in it: give endpoint and region by the environment");
    }
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.trim_end_matches('/');
    match (bucket, prefix) {
        ("", _) => wrong("there is no bucket in it"),
        (_, "") => wrong("a prefix is wanted, one for each database: s3://BUCKET/PREFIX"),
        found => Ok(found),
    }
}

/// The log there, with the settings of the environment. Nothing is asked yet.
pub(crate) fn connect(
    bucket: &str,
    prefix: &str,
    options: &RemoteOptions,
) -> Result<ObjectLog, StoreError> {
    connect_with(AmazonS3Builder::from_env(), bucket, prefix, options)
}

/// The log there, with these settings. Nothing is asked yet.
pub(crate) fn connect_with(
    settings: AmazonS3Builder,
    bucket: &str,
    prefix: &str,
    options: &RemoteOptions,
) -> Result<ObjectLog, StoreError> {
    let place = format!("s3://{bucket}/{prefix}");
    let wrong = |reason: String| StoreError::Place {
        place: place.clone(),
        reason,
    };
    let value = |key| settings.get_config_value(&key);
    let endpoint = value(AmazonS3ConfigKey::S3Endpoint).or(value(AmazonS3ConfigKey::Endpoint));
    let allowed = value(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
    let plain = endpoint
        .as_deref()
        .and_then(|endpoint| endpoint.strip_prefix("http://"));
    let allow_http = allowed.is_some_and(|allowed| allowed == "true");
    if let Some(host) = plain
        && !allow_http
        && !is_this_host(host)
    {
        return Err(wrong(format!(
            "its endpoint http://{} has no TLS; use https, or set AWS_ALLOW_HTTP=true if the network cannot be tapped",
            host_of(host)
        )));
    }
    let secrets: Vec<String> = [AmazonS3ConfigKey::SecretAccessKey, AmazonS3ConfigKey::Token]
        .into_iter()
        .filter_map(value)
        .collect();
    let client = ClientOptions::new()
        .with_timeout(options.request_limit)
        .with_connect_timeout(options.request_limit)
        .with_allow_http(allow_http || plain.is_some());
    let never_again = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let store = settings
        .with_bucket_name(bucket)
        .with_client_options(client)
        .with_http_connector(UreqConnector {
            request_limit: options.request_limit,
        })
        .with_retry(never_again)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        // Stored bytes have checksums of their own. A hash of all of them, only to sign the request, would cost a fifth
        // of a processor at the rates of a log.
        .with_unsigned_payload(true)
        .build()
        .map_err(|error| wrong(error.to_string()))?;
    let log = ObjectLog::new(Arc::new(store), prefix, place, options)?;
    Ok(log.without(secrets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_apart_and_others_refused_without_showing_them() {
        assert_eq!(
            bucket_and_prefix("//bucket/a/b/").unwrap(),
            ("bucket", "a/b")
        );
        for (place, says) in [
            ("bucket/a", "s3://BUCKET/PREFIX"),
            ("///a", "no bucket"),
            ("//bucket", "a prefix is wanted"),
            ("//bucket/", "a prefix is wanted"),
            ("//key:hunter2@bucket/a", "no credentials"),
            ("//bucket/a?secret=hunter2", "no options"),
        ] {
            let error = bucket_and_prefix(place).unwrap_err().to_string();
            assert!(
                error.contains(says) && !error.contains("hunter2"),
                "{error}"
            );
        }
    }
}
