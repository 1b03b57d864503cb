//! Containers that one containerd starts in turn, again and again, and how long each start took it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};

use super::cgroup::Cgroup;
use super::containerd::ContainerdRun;
use super::private::Limit;

/// Far more than a container takes, from its creation to its removal.
const CONTAINER_SECONDS: u32 = 5;

/// The times of `StartContainer`, in which hooks run, by containerd's own log: no client is in them.
///
/// Each of the containers is started `rounds` times, and once before that; the pod, the handler and the CDI specs
/// are the first one's.
///
/// # Errors
/// When one of them does not end with 0, or the log does not tell of it.
pub fn start_times(containers: &[ContainerdRun], rounds: u32) -> Result<Vec<Vec<Duration>>> {
    let first = containers.first().context("no containers")?;
    let directory = tempfile::tempdir()?;
    let data = directory.path();
    let cgroup = Cgroup::new();
    first.prepare(data, &cgroup)?;
    let mut arguments: Vec<OsString> = vec![(rounds + 1).to_string().into()];
    for (number, container) in containers.iter().enumerate() {
        let file = data.join(format!("container-{number}.json"));
        fs::write(&file, container.container().to_string())?;
        arguments.push(file.into());
    }
    let started = (rounds + 1) * u32::try_from(containers.len())?;
    let limit = Limit::Seconds(60 + CONTAINER_SECONDS * started);
    let outcome = first.start(data, include_str!("series.sh"), arguments, limit)?;
    ensure!(outcome.success(), "containerd's containers: {outcome:?}");
    let log = fs::read_to_string(data.join("containerd.log"))?;
    let mut times = vec![Vec::new(); containers.len()];
    let spans = spans(&log)?;
    // The first round fills the caches.
    for line in outcome.stdout.lines().skip(containers.len()) {
        let (number, id) = line.split_once(' ').context("no number")?;
        let time = spans
            .get(id)
            .with_context(|| format!("the log has no start of {id}"))?;
        times
            .get_mut(number.parse::<usize>()?)
            .context("no such container")?
            .push(*time);
    }
    Ok(times)
}

/// From `StartContainer for "ID"` to `StartContainer for "ID" returns successfully`, by id.
fn spans(log: &str) -> Result<HashMap<&str, Duration>> {
    let mut begun = HashMap::new();
    let mut spans = HashMap::new();
    for line in log.lines() {
        let Some((before, after)) = line.split_once("msg=\"StartContainer for \\\"") else {
            continue;
        };
        let time = before
            .strip_prefix("time=\"")
            .and_then(|rest| rest.split('"').next())
            .context("a line without a time")?;
        let time = humantime::parse_rfc3339(time)?;
        let (id, end) = after.split_once("\\\"").context("no id")?;
        if end.starts_with(" returns successfully") {
            let begin: SystemTime = begun.remove(id).context("an end without a beginning")?;
            spans.insert(id, time.duration_since(begin)?);
        } else {
            begun.insert(id, time);
        }
    }
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_lasts_from_the_first_line_to_the_last() {
        let log = r#"
time="2026-11-30T17:00:00.000000000Z" level=info msg="StartContainer for \"a\""
time="2026-11-30T17:00:00.010000000Z" level=info msg="StartContainer for \"b\""
time="2026-11-30T17:00:00.050500000Z" level=info msg="StartContainer for \"a\" returns successfully"
"#;
        let spans = spans(log).unwrap();
        assert_eq!(spans.get("a"), Some(&Duration::from_micros(50_500)));
        assert_eq!(spans.get("b"), None);
    }
}
