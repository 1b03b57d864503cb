//! Tells a manager that runs to read its configuration again, by its own program.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::time::Instant;

use super::Manager;
use crate::pause::pause;

const NMCLI: &str = "/usr/bin/nmcli";

/// How long a manager may take.
const DEADLINE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Tells it; says why it could not be told.
pub(super) async fn reload(manager: Manager) -> Result<(), String> {
    let (program, arguments): (_, &[&str]) = match manager {
        // `networkctl(1)`: reconfigures the interfaces for which another file counts now, no others.
        Manager::Networkd => ("/usr/bin/networkctl", &["reload"]),
        // `nmcli(1)`: reads NetworkManager.conf and its directories again, no connections.
        Manager::NetworkManager => (NMCLI, &["general", "reload", "conf"]),
        Manager::Ifupdown => return Ok(()),
    };
    run(Path::new(program), arguments)
        .await
        .map_err(|why| format!("{manager} was not told to read its configuration again: {why}"))
}

/// Tells `NetworkManager` to let go of an interface that it has already, or that it may have it again;
/// that holds until it starts anew.
pub(super) async fn manage(interface: &str, managed: bool) -> Result<(), String> {
    let (word, what) = if managed {
        ("yes", "that it may have")
    } else {
        ("no", "to let go of")
    };
    let arguments = ["device", "set", "ifname", interface, "managed", word];
    run(Path::new(NMCLI), &arguments)
        .await
        .map_err(|why| format!("NetworkManager was not told {what} {interface}: {why}"))
}

/// Runs a program to its end, and says why that did not go well.
pub(crate) async fn run(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let named = |error| format!("{}: {error}", program.display());
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(named)?;
    match ended(&mut child).await.map_err(named)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("{} ended with {status}", program.display())),
        None => {
            // It may have ended by itself just now.
            let _ = child.kill();
            let _ = child.wait();
            Err(format!("{} did not end in {DEADLINE:?}", program.display()))
        }
    }
}

/// Waits for the end without a signal handler for children, which no other part needs.
async fn ended(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        pause(PAUSE).await;
    }
}
