//! Which metrics there are, and under which names. docs/relay-operations.md has the same list.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::labels::{
    AnnotationOutcome, ApplyOutcome, Bound, EventOutcome, FailureReason, Operation, ReportOutcome,
};

type Label = (&'static str, &'static str);
pub(super) type Counters<const N: usize> = Family<[Label; N], Counter>;

/// The upper bounds of the time from a report to its place on the claim, in seconds.
const SECONDS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// All there is.
pub(super) struct Metrics {
    pub(super) registry: Registry,
    pub(super) reports: Counters<1>,
    pub(super) applies: Counters<1>,
    pub(super) failures: Counters<2>,
    pub(super) requests: Counters<1>,
    pub(super) lines: Counter,
    pub(super) lines_refused: Counters<1>,
    pub(super) connections: Counter,
    pub(super) strangers: Counter,
    pub(super) events: Counters<1>,
    pub(super) annotations: Counters<1>,
    pub(super) annotations_waiting: Gauge,
    pub(super) guests_known: Gauge,
    pub(super) guests_connected: Gauge,
    pub(super) guests_silent: Gauge,
    pub(super) claims_waiting: Gauge,
    pub(super) oldest_unsent: Gauge<f64, AtomicU64>,
    pub(super) written_after: Histogram,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("dra_guest_relay"),
            reports: Family::default(),
            applies: Family::default(),
            failures: Family::default(),
            requests: Family::default(),
            lines: Counter::default(),
            lines_refused: Family::default(),
            connections: Counter::default(),
            strangers: Counter::default(),
            events: Family::default(),
            annotations: Family::default(),
            annotations_waiting: Gauge::default(),
            guests_known: Gauge::default(),
            guests_connected: Gauge::default(),
            guests_silent: Gauge::default(),
            claims_waiting: Gauge::default(),
            oldest_unsent: Gauge::default(),
            written_after: Histogram::new(SECONDS),
        };
        metrics.register();
        metrics.begin_at_zero();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        let build: Family<[Label; 1], Gauge> = Family::default();
        build
            .get_or_create(&[("version", env!("CARGO_PKG_VERSION"))])
            .set(1);
        registry.register("build_info", "Which relay this is", build);
        registry.register(
            "reports",
            "Reports of guests, by what came of them",
            self.reports.clone(),
        );
        registry.register(
            "applies",
            "Times that the newest words were put on a claim, by what came of it",
            self.applies.clone(),
        );
        registry.register(
            "failures",
            "What failed, and why; it is tried again",
            self.failures.clone(),
        );
        registry.register(
            "api_requests",
            "Requests to the API server, watches left aside",
            self.requests.clone(),
        );
        registry.register("lines", "Lines of guests", self.lines.clone());
        registry.register(
            "lines_refused",
            "Lines of guests that broke a bound; the connection was closed",
            self.lines_refused.clone(),
        );
        registry.register(
            "connections",
            "Connections of guests that were taken",
            self.connections.clone(),
        );
        registry.register(
            "connections_refused",
            "Connections that no guest with claims has made",
            self.strangers.clone(),
        );
        registry.register(
            "events",
            "Events on VirtualMachineInstances, by what came of them",
            self.events.clone(),
        );
        registry.register(
            "annotations",
            "Writes of pods' annotations, by what came of them",
            self.annotations.clone(),
        );
        registry.register(
            "annotations_waiting",
            "Pods whose annotation is not what it has to be yet",
            self.annotations_waiting.clone(),
        );
        registry.register(
            "guests_known",
            "Guests that may report",
            self.guests_known.clone(),
        );
        registry.register(
            "guests_connected",
            "Guests that have a connection",
            self.guests_connected.clone(),
        );
        registry.register(
            "guests_silent",
            "Guests of whom nothing was heard for --lost-after seconds",
            self.guests_silent.clone(),
        );
        registry.register(
            "claims_waiting",
            "Claims whose newest words are not written yet",
            self.claims_waiting.clone(),
        );
        registry.register_with_unit(
            "oldest_unsent_report_age",
            "How long the oldest word has waited that is not written yet",
            Unit::Seconds,
            self.oldest_unsent.clone(),
        );
        registry.register_with_unit(
            "report_to_claim",
            "From a report to its place on the claim",
            Unit::Seconds,
            self.written_after.clone(),
        );
    }

    /// A series that is not there looks like a relay that does not count it.
    fn begin_at_zero(&self) {
        for outcome in ReportOutcome::ALL {
            begin(&self.reports, [("outcome", outcome.as_str())]);
        }
        for outcome in ApplyOutcome::ALL {
            begin(&self.applies, [("outcome", outcome.as_str())]);
        }
        for outcome in EventOutcome::ALL {
            begin(&self.events, [("outcome", outcome.as_str())]);
        }
        for outcome in AnnotationOutcome::ALL {
            begin(&self.annotations, [("outcome", outcome.as_str())]);
        }
        for bound in Bound::ALL {
            begin(&self.lines_refused, [("bound", bound.as_str())]);
        }
        for operation in Operation::ALL {
            for reason in FailureReason::ALL {
                // Files are written, and nothing else.
                if *reason != FailureReason::File || *operation == Operation::Apply {
                    let operation = ("operation", operation.as_str());
                    begin(&self.failures, [operation, ("reason", reason.as_str())]);
                }
            }
        }
        for operation in Operation::ALL {
            if *operation != Operation::Watch {
                begin(&self.requests, [("operation", operation.as_str())]);
            }
        }
    }
}

fn begin<const N: usize>(counters: &Counters<N>, labels: [Label; N]) {
    drop(counters.get_or_create(&labels));
}
