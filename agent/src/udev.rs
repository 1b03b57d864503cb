//! Waiting until udev has named an interface, so that its name and ours do not race.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::roots::Roots;

/// An interface that udev does not come to the end of is configured all the same.
const DEADLINE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until udev, where it runs, is done with these interfaces; true when it was not at once.
///
/// As `sd_device_get_is_initialized(3)` does it: udev's record of an interface is `/run/udev/data/n` and
/// its index.
pub async fn settle(roots: &Roots, interfaces: &[u32]) -> bool {
    let directory = roots.run.join("udev");
    if interfaces.is_empty() || !directory.join("control").exists() {
        return false;
    }
    let is_done = |index: &u32| directory.join(format!("data/n{index}")).exists();
    let end = Instant::now() + DEADLINE;
    let mut waited = false;
    while !interfaces.iter().all(is_done) && Instant::now() < end {
        waited = true;
        sleep(PAUSE).await;
    }
    waited
}
