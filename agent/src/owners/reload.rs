//! Tells a manager that runs to read its configuration again, by its own program.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use tokio::time::Instant;

use super::Manager;
use crate::pause::pause;

const NMCLI: &str = "/usr/bin/nmcli";

/// How long a manager may take.
const DEADLINE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);
/// How much of a program's output is read.
const OUTPUT_BYTES: u64 = 1 << 20;

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
    run_with(program, arguments, Stdio::null()).await
}

/// As [`run`], and gives back the first of what it wrote to its standard output.
pub(crate) async fn output_of(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let named = |error: io::Error| format!("the output of {}: {error}", program.display());
    // A pipe that nobody reads meanwhile would hold the program up.
    let memory =
        memfd_create("output", MemfdFlags::CLOEXEC).map_err(|error| named(error.into()))?;
    let mut file = File::from(memory);
    let output = file.try_clone().map_err(named)?;
    run_with(program, arguments, output.into()).await?;
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.take(OUTPUT_BYTES).read_to_end(&mut bytes))
        .map_err(named)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn run_with(program: &Path, arguments: &[&str], output: Stdio) -> Result<(), String> {
    let named = |error| format!("{}: {error}", program.display());
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
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
async fn ended(child: &mut Child) -> io::Result<Option<ExitStatus>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_program_writes_is_read() {
        let shell = Path::new("/bin/sh");
        // More than a pipe holds.
        let much = ["-c", "head -c 200000 /dev/zero | tr '\\0' x"];
        assert_eq!(output_of(shell, &much).await.unwrap().len(), 200_000);
        let error = output_of(shell, &["-c", "echo x; exit 3"])
            .await
            .unwrap_err();
        assert!(error.contains("exit status: 3"), "{error}");
    }
}
