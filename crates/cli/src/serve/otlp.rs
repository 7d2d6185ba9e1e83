//! Sending spans to an OpenTelemetry collector, by OTLP over HTTP.
//!
//! ```text
//! tracing ─▶ Sampled ─▶ tracing-opentelemetry ─▶ a queue ─▶ a thread ─▶ Exporter ─▶ the collector
//! ```
//!
//! Flights and connections are sampled when they begin ([`Sampled`]), before any span is created: an unsampled one
//! costs a random draw. Spans within a sampled one are sent with it; a client that sends its trace has already decided.
//!
//! Invariants: the server never waits for the collector. The queue is bounded; spans beyond it, and spans that the
//! collector refuses, are dropped and counted. The log reports the start of a loss and, with the number, its end. The
//! end of the server waits at most [`END`].
//!
//! Settings that are not given here come from OpenTelemetry's environment variables (`OTEL_SERVICE_NAME`,
//! `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_BSP_…`).
//!
//! Source: OpenTelemetry's specification, "OTLP Exporter Configuration" and "Batching processor"; W3C, "Trace Context".

use super::logging::MoreLayer;
use crate::http_client::HttpClient as Http;
use async_trait::async_trait;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, SpanData};
use sardonyx_command::exit::UsageError;
use sardonyx_server::Options;
use sardonyx_server::spans::{CONNECTION, FLIGHT, SPANS_TARGET, TRACE_PARENT};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tracing::instrument::WithSubscriber;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::{Interest, NoSubscriber};
use tracing::{Metadata, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;

/// The default share of flights and connections whose spans are sent: the queue has room for a few milliseconds of a
/// busy server.
const SAMPLE: f64 = 0.01;
/// The time that an answer of the collector may take; only the sending thread waits for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time that the end waits for the remaining spans.
const END: Duration = Duration::from_secs(5);
/// The path for traces, after the collector's URL.
const TRACES: &str = "/v1/traces";
/// The environment variables with a collector's URL, as for all OpenTelemetry programs.
const ENDPOINT_VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];
/// The variable with the CA certificate of the collector.
const CERTIFICATE_VARIABLE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/// The sender of spans, until its end.
#[derive(Debug)]
pub struct Sending {
    provider: SdkTracerProvider,
    sample: f64,
}

impl Sending {
    /// Starts to send spans, if an endpoint is configured, and lets the server continue the traces of its clients.
    ///
    /// # Errors
    /// The fault of the options.
    pub fn start(options: &mut Options) -> Result<Option<Sending>, UsageError> {
        let wrong = |text: String| UsageError::Arguments(text);
        let mut builder = SpanExporter::builder().with_http();
        match &options.otlp.endpoint {
            Some(endpoint) => {
                if !["http://", "https://"]
                    .iter()
                    .any(|scheme| endpoint.starts_with(scheme))
                {
                    let text = "not a URL: write http://HOST:PORT or https://HOST:PORT";
                    return Err(wrong(format!("{endpoint:?} is {text}")));
                }
                builder =
                    builder.with_endpoint(format!("{}{TRACES}", endpoint.trim_end_matches('/')));
            }
            // The exporter's builder reads them.
            None if ENDPOINT_VARIABLES.iter().any(|name| said(name).is_some()) => {}
            None => return Ok(None),
        }
        let ca = said(CERTIFICATE_VARIABLE).map(PathBuf::from);
        let client =
            Client(Http::new(ca.as_deref(), PATIENCE).map_err(|error| wrong(error.to_string()))?);
        let exporter = builder.with_http_client(client).build();
        let exporter = exporter.map_err(|error| wrong(format!("no spans can be sent: {error}")))?;
        let mut resource = Resource::builder();
        if said("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("sardonyx");
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            // Sampling happens earlier; here only spans that the client's trace does not want are left out.
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
            .with_batch_exporter(Exporter {
                inner: exporter,
                lost: AtomicUsize::new(0),
            })
            .build();
        options.continue_trace = Some(continue_trace);
        let sample = options.otlp.sample.unwrap_or(SAMPLE);
        Ok(Some(Sending { provider, sample }))
    }

    /// The subscriber that sends spans.
    pub fn layer(&self) -> MoreLayer {
        let layer = tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("sardonyx"))
            // They are the same for every span.
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false);
        layer.with_filter(Sampled { part: self.sample }).boxed()
    }

    /// Sends the remaining spans. Returns when they are sent, or after a time limit.
    pub fn end(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(END) {
            tracing::warn!(%error, "the remaining spans were not sent");
        }
    }
}

/// The value of an environment variable, if it is set and not empty.
fn said(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Passes some flights and connections, all flights whose client sends a trace, and the spans within a passed flight.
#[derive(Debug)]
struct Sampled {
    part: f64,
}

impl Sampled {
    fn is_drawn(&self) -> bool {
        // Each has keys of its own; the upper bits are as many as a fraction has.
        let drawn = RandomState::new().hash_one(()) >> 11;
        (drawn as f64) < self.part * (1u64 << 53) as f64
    }
}

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Filter<S> for Sampled {
    fn enabled(&self, metadata: &Metadata<'_>, context: &Context<'_, S>) -> bool {
        if !is_ours(metadata) {
            return false;
        }
        match metadata.name() {
            FLIGHT if metadata.fields().field(TRACE_PARENT).is_some() => true,
            FLIGHT | CONNECTION => self.is_drawn(),
            // A flight that is left out is in its connection, which may be sent.
            _ => context
                .lookup_current()
                .is_some_and(|span| span.name() != CONNECTION),
        }
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        match is_ours(metadata) {
            true => Interest::sometimes(),
            false => Interest::never(),
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }
}

fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target() == SPANS_TARGET
}

/// Makes a flight's span a part of its client's trace.
fn continue_trace(span: &Span, parent: &str) {
    let mut parts = parent.split('-').skip(1);
    let mut next = || parts.next().unwrap_or_default();
    let (Ok(trace), Ok(of), Ok(flags)) = (
        TraceId::from_hex(next()),
        SpanId::from_hex(next()),
        u8::from_str_radix(next(), 16),
    ) else {
        return;
    };
    let parent = SpanContext::new(
        trace,
        of,
        TraceFlags::new(flags),
        true,
        TraceState::default(),
    );
    // An error means that the span is not sent.
    let _ = span.set_parent(opentelemetry::Context::new().with_remote_span_context(parent));
}

/// An exporter that counts the lost spans.
#[derive(Debug)]
struct Exporter {
    inner: SpanExporter,
    /// Spans that the collector refused since it last accepted some.
    lost: AtomicUsize,
}

impl opentelemetry_sdk::trace::SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        // Its own log lines would report every batch.
        let exported = self.inner.export(batch);
        match exported.with_subscriber(NoSubscriber::default()).await {
            Ok(()) => match self.lost.swap(0, Ordering::Relaxed) {
                0 => {}
                lost => tracing::warn!(lost, "the collector accepts spans again: some were lost"),
            },
            Err(error) => {
                if self.lost.fetch_add(count, Ordering::Relaxed) == 0 {
                    tracing::warn!(%error, "the collector refuses spans: they are lost until it accepts them");
                }
            }
        }
        // The loss is already reported, once.
        Ok(())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        match self.lost.swap(0, Ordering::Relaxed) {
            0 => {}
            lost => tracing::warn!(
                lost,
                "the collector refused spans until the end: they are lost"
            ),
        }
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// The existing HTTP client. It blocks the sending thread, which does nothing else.
#[derive(Debug)]
struct Client(Http);

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        Ok(self.0.send(request)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_drawn_as_are_wanted() {
        let drawn = |part| (0..10_000).filter(|_| Sampled { part }.is_drawn()).count();
        assert_eq!((drawn(0.0), drawn(1.0)), (0, 10_000));
        // Seven standard deviations on both sides.
        assert!((4_650..5_350).contains(&drawn(0.5)));
    }
}
