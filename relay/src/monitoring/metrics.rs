//! Counts: what happens is one call here. The names are in `registry`.

use std::sync::LazyLock;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::gauge::Gauge;

use super::labels::{
    AnnotationOutcome, ApplyOutcome, Bound, EventOutcome, FailureReason, Operation, ReportOutcome,
};
use super::registry::Metrics;
use super::unsent::{self, Unsent};

/// `OpenMetrics`, which Prometheus asks for.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// A guest was given its answer to a report.
pub fn report(outcome: ReportOutcome) {
    METRICS
        .reports
        .get_or_create(&[("outcome", outcome.as_str())])
        .inc();
}

/// The newest words were put on a claim, or not.
pub fn apply(outcome: ApplyOutcome) {
    METRICS
        .applies
        .get_or_create(&[("outcome", outcome.as_str())])
        .inc();
}

/// The newest words stand on a claim: they were written, or stood there already.
pub fn put(written: bool, unsent: &Unsent) {
    let waited = unsent.end();
    if written {
        apply(ApplyOutcome::Written);
        METRICS
            .written_after
            .observe(waited.unwrap_or_default().as_secs_f64());
    } else {
        apply(ApplyOutcome::Unchanged);
    }
}

/// Something failed.
pub fn failure(operation: Operation, reason: FailureReason) {
    METRICS
        .failures
        .get_or_create(&[
            ("operation", operation.as_str()),
            ("reason", reason.as_str()),
        ])
        .inc();
}

/// A request is sent to the API server.
pub fn request(operation: Operation) {
    METRICS
        .requests
        .get_or_create(&[("operation", operation.as_str())])
        .inc();
}

/// A guest has said a line.
pub fn line() {
    METRICS.lines.inc();
}

/// A line broke a bound.
pub fn line_refused(bound: Bound) {
    METRICS
        .lines_refused
        .get_or_create(&[("bound", bound.as_str())])
        .inc();
}

/// Somebody connected who is no guest with claims.
pub fn stranger() {
    METRICS.strangers.inc();
}

/// What came of an Event.
pub fn event(outcome: EventOutcome) {
    METRICS
        .events
        .get_or_create(&[("outcome", outcome.as_str())])
        .inc();
}

/// What came of a write of a pod's annotation.
pub fn annotation(outcome: AnnotationOutcome) {
    METRICS
        .annotations
        .get_or_create(&[("outcome", outcome.as_str())])
        .inc();
}

/// So many pods do not have the annotation that they have to have.
pub fn annotations_waiting(pods: usize) {
    METRICS
        .annotations_waiting
        .set(i64::try_from(pods).unwrap_or(i64::MAX));
}

/// One more in a gauge for as long as this is kept.
#[derive(Debug)]
pub struct Counted(&'static Gauge);

impl Counted {
    fn new(gauge: &'static Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A guest that may report.
pub fn known_guest() -> Counted {
    Counted::new(&METRICS.guests_known)
}

/// A connection of a guest.
pub fn connection() -> Counted {
    METRICS.connections.inc();
    Counted::new(&METRICS.guests_connected)
}

/// A guest of whom nothing is heard.
pub fn silent_guest() -> Counted {
    Counted::new(&METRICS.guests_silent)
}

/// All metrics in the text format of `OpenMetrics`.
///
/// # Errors
/// A value does not tell what it is.
pub fn text() -> Result<String, std::fmt::Error> {
    let (waiting, oldest) = unsent::state();
    METRICS
        .claims_waiting
        .set(i64::try_from(waiting).unwrap_or(i64::MAX));
    METRICS.oldest_unsent.set(oldest.as_secs_f64());
    let mut text = String::new();
    encode(&mut text, &METRICS.registry)?;
    Ok(text)
}
