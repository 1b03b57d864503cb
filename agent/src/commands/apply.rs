//! `apply`: one pass.

use std::time::Duration;

use tokio::time::Instant;

use super::{connect, load_policy, print};
use crate::exit::{Ended, Exit};
use crate::extent::Extent;
use crate::log;
use crate::memory::Memory;
use crate::pause::pause;
use crate::pipeline;
use crate::report::Status;
use crate::roots::Roots;
use crate::silent_share;
use crate::small_file::Closing;
use crate::source::{self, LoadError, Loaded, Places};
use crate::state_directory;

/// The time between two looks at a source that has nothing yet: inotify does not cross virtiofs.
pub(super) const POLL: Duration = Duration::from_secs(2);

/// How long a pass that is the only one waits for duplicate address detection, which takes a second
/// and begins within another (RFC 4862, section 5.4).
const DETECTION: Duration = Duration::from_secs(5);

pub(super) async fn apply(roots: &Roots, places: &Places, wait: u32) -> Result<Exit, Ended> {
    let _closing = Closing::begin();
    let policy = load_policy(roots)?;
    let loaded = match load(roots, places, wait).await {
        Ok(loaded) => loaded,
        Err(error) => return without_attributes(roots, &error),
    };
    tell_notes(&loaded);
    let netlink = connect()?;
    let passed = pipeline::pass(
        &netlink,
        roots,
        &policy,
        &loaded.reading,
        &mut Memory::default(),
        DETECTION,
        Extent::Whole,
    )
    .await?;
    let status = Status::of_devices(loaded.path, loaded.digest, passed.devices, passed.ready);
    // What was done is said also where the file cannot be written.
    print(&status)?;
    if !status.ready && !rustix::process::geteuid().is_root() {
        tracing::warn!(
            "apply takes root: CAP_NET_ADMIN for the devices, and {} for the status",
            state_directory::path(roots).display()
        );
    }
    status.write(roots).map_err(Ended::failed)?;
    Ok(if status.ready {
        Exit::Done
    } else {
        Exit::SomeDevices
    })
}

/// The status says so too: a probe must not see the devices of an earlier document. Whether there is another one
/// nobody knows while a share does not answer: then what was applied counts.
fn without_attributes(roots: &Roots, error: &LoadError) -> Result<Exit, Ended> {
    let is_silent = matches!(error, LoadError::Silent(_));
    if is_silent && matches!(Status::read(roots), Ok(Some(_))) {
        return Err(Ended::failed(error));
    }
    let status = Status {
        source: source::standing::source(roots),
        ..Status::without_attributes(error.to_string())
    };
    let message = match status.write(roots) {
        Ok(()) => error.to_string(),
        Err(unwritten) => format!("{error}\n{unwritten}"),
    };
    Err(Ended {
        exit: exit_of(error),
        message,
    })
}

async fn load(roots: &Roots, places: &Places, wait: u32) -> Result<Loaded, LoadError> {
    let deadline = Instant::now().checked_add(Duration::from_secs(wait.into()));
    loop {
        match source::load(roots, places, silent_share::open) {
            Err(LoadError::NotYet(why)) => {
                let left = deadline.map_or(POLL, |deadline| {
                    deadline.saturating_duration_since(Instant::now())
                });
                if left.is_zero() {
                    return Err(LoadError::NotYet(why));
                }
                pause(POLL.min(left)).await;
            }
            answer => return answer,
        }
    }
}

pub(super) fn exit_of(error: &LoadError) -> Exit {
    match error {
        LoadError::NotYet(_) => Exit::NoAttributes,
        LoadError::Broken(_) | LoadError::Silent(_) => Exit::Failed,
    }
}

/// What was passed over in the attributes, and which entries are broken.
pub(super) fn tell_notes(loaded: &Loaded) {
    log::together(|| {
        for note in &loaded.reading.notes {
            tracing::warn!("{note}");
        }
        for rejected in &loaded.reading.rejected {
            tracing::error!("{}", rejected.error);
        }
    });
}
