//! Waiting until udev has named an interface, so that its name and ours do not race.

use std::time::Duration;

use tokio::time::Instant;

use crate::pause::pause;
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
        pause(PAUSE).await;
    }
    waited
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    // cloud-init LP#1766287, cloud-init LP#1983516, cloud-init#6184 (case 35).
    #[tokio::test(start_paused = true)]
    async fn udev_is_waited_for_and_not_without_end() {
        let run = tempfile::tempdir().unwrap();
        let roots = Roots {
            run: run.path().to_owned(),
            ..Roots::default()
        };
        let data = run.path().join("udev/data");
        fs::create_dir_all(&data).unwrap();
        // Where it does not run nobody names the interface.
        assert!(!settle(&roots, &[3]).await);
        fs::write(run.path().join("udev/control"), "").unwrap();
        assert!(!settle(&roots, &[]).await);

        let start = Instant::now();
        assert!(settle(&roots, &[3]).await);
        assert!(start.elapsed() >= DEADLINE);
        let (waited, ()) = tokio::join!(settle(&roots, &[3]), async {
            tokio::time::sleep(PAUSE * 5).await;
            fs::write(data.join("n3"), "").unwrap();
        });
        assert!(waited);
        assert!(!settle(&roots, &[3]).await);
        assert!(start.elapsed() < DEADLINE * 2);
    }
}
