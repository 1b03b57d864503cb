//! The log on standard error: lines for people, or JSON objects for programs.

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Whose lines are left out but for who looks for errors: of each request that fails it says that it failed, and not which.
const CLIENT: &str = "kube_client";

/// How a line of the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for people: time, level, words, fields
    Text,
    /// A JSON object a line
    Json,
}

/// Begins the log of this process. The fields of a line are `cid`, `vm` and `claim` wherever it is about one; `vm` is
/// that of the span `guest`.
pub fn begin(format: LogFormat, level: LevelFilter) {
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(false)
        // A journal that has gone away is no reason to end: the default would panic then.
        .log_internal_errors(false);
    let is_wanted = filter_fn(move |metadata| {
        level >= LevelFilter::DEBUG || !metadata.target().starts_with(CLIENT)
    });
    match format {
        LogFormat::Text => log.finish().with(is_wanted).init(),
        LogFormat::Json => log
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .finish()
            .with(is_wanted)
            .init(),
    }
}
