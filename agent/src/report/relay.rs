//! The lines to the node's relay, over vsock to CID 2.
//!
//! The connection is kept by a task of its own: a relay that is away, slow or old never holds up
//! the configuration of a device.

use std::io;
use std::path::Path;
use std::time::Duration;

use device_attributes::limits::LINE_BYTES;
use device_attributes::report::{
    DeviceReport, GuestMessage, HEARTBEAT_SECONDS, PORT, RelayMessage,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_vsock::{VMADDR_CID_HOST, VsockAddr, VsockStream};

/// The first wait before a connection is tried again; it doubles up to [`RETRY_MOST`].
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MOST: Duration = Duration::from_secs(30);
/// The longest wait for the relay to take or answer a line.
const ANSWER: Duration = Duration::from_secs(10);

/// What is to be reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The digest of the document, while there is one.
    pub document_digest: Option<String>,
    /// Every device, as observed.
    pub devices: Vec<DeviceReport>,
}

/// Keeps the relay up to date until the sender of `account` is dropped.
pub async fn keep_reporting(proc: &Path, mut account: watch::Receiver<Account>) {
    let boot_id = boot_id(proc);
    let mut retry = RETRY_FIRST;
    let mut said: Option<String> = None;
    loop {
        match session(&boot_id, &mut account).await {
            // The agent ends, or the document is another: a new account begins.
            Ok(()) if account.has_changed().is_err() => return,
            Ok(()) => retry = RETRY_FIRST,
            Err(Broken { error, spoke }) => {
                if spoke {
                    retry = RETRY_FIRST;
                }
                let error = error.to_string();
                if said.as_ref() != Some(&error) {
                    tracing::info!("the node's relay cannot be reached, trying on: {error}");
                    said = Some(error);
                }
                tokio::select! {
                    () = sleep(retry) => {}
                    () = closed(&account) => return,
                }
                retry = (retry * 2).min(RETRY_MOST);
            }
        }
    }
}

/// Waits until nobody can change the account any more.
async fn closed(account: &watch::Receiver<Account>) {
    let mut account = account.clone();
    while account.changed().await.is_ok() {}
}

/// Why a session ended before its time.
struct Broken {
    error: io::Error,
    /// Whether the relay had answered, so that it is worth a quick second try.
    spoke: bool,
}

/// One connection: hello, then every change, then heartbeats. Ends well when the document
/// changes or the agent ends.
async fn session(boot_id: &str, account: &mut watch::Receiver<Account>) -> Result<(), Broken> {
    let mut spoke = false;
    match talk(boot_id, account, &mut spoke).await {
        Ok(()) => Ok(()),
        Err(error) => Err(Broken { error, spoke }),
    }
}

async fn talk(
    boot_id: &str,
    account: &mut watch::Receiver<Account>,
    spoke: &mut bool,
) -> io::Result<()> {
    let address = VsockAddr::new(VMADDR_CID_HOST, PORT);
    let stream = in_time(VsockStream::connect(address)).await?;
    let (read, mut write) = tokio::io::split(stream);
    let mut answers = BufReader::new(read);

    let mut current = account.borrow_and_update().clone();
    let hello = GuestMessage::Hello {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        boot_id: boot_id.to_owned(),
        document_digest: current.document_digest.clone(),
    };
    exchange(&mut write, &mut answers, &hello).await?;
    *spoke = true;

    let mut sequence = 0;
    let mut told: Vec<DeviceReport> = Vec::new();
    loop {
        let news: Vec<DeviceReport> = current
            .devices
            .iter()
            .filter(|device| !told.contains(device))
            .cloned()
            .collect();
        for devices in parts(news) {
            sequence += 1;
            let report = GuestMessage::Report { sequence, devices };
            exchange(&mut write, &mut answers, &report).await?;
        }
        told = current.devices;

        let changed = loop {
            match timeout(Duration::from_secs(HEARTBEAT_SECONDS), account.changed()).await {
                Ok(changed) => break changed,
                Err(_) => send(&mut write, &GuestMessage::Heartbeat {}).await?,
            }
        };
        if changed.is_err() {
            return Ok(());
        }
        let next = account.borrow_and_update().clone();
        if next.document_digest != current.document_digest {
            return Ok(());
        }
        current = next;
    }
}

/// Sends one message and waits for its acknowledgement.
async fn exchange<W, R>(write: &mut W, answers: &mut R, message: &GuestMessage) -> io::Result<()>
where
    W: tokio::io::AsyncWrite + Unpin,
    R: tokio::io::AsyncBufRead + Unpin,
{
    send(write, message).await?;
    let mut line = Vec::new();
    let limit = u64::try_from(LINE_BYTES).unwrap_or(u64::MAX);
    in_time(answers.take(limit).read_until(b'\n', &mut line)).await?;
    if !line.ends_with(b"\n") {
        return Err(io::Error::other(
            "the relay closed the connection without an answer",
        ));
    }
    match serde_json::from_slice(&line) {
        Ok(RelayMessage::Ack { problems, .. }) => {
            for problem in problems {
                tracing::warn!("the node's relay says: {}", problem.escape_debug());
            }
            Ok(())
        }
        Err(error) => Err(io::Error::other(format!(
            "the relay's answer is not understood: {error}"
        ))),
    }
}

async fn send<W>(write: &mut W, message: &GuestMessage) -> io::Result<()>
where
    W: tokio::io::AsyncWrite + Unpin,
{
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    in_time(write.write_all(&line)).await
}

async fn in_time<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(ANSWER, work)
        .await
        .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut)))
}

/// Splits devices so that each part fits a line, with room for what stands around it.
fn parts(devices: Vec<DeviceReport>) -> Vec<Vec<DeviceReport>> {
    const ROOM: usize = 256;
    let mut parts: Vec<Vec<DeviceReport>> = Vec::new();
    let mut bytes = 0;
    for mut device in devices {
        let mut length = length(&device);
        if length + ROOM > LINE_BYTES {
            // One device alone cannot be that long but by its addresses.
            device.addresses.truncate(64);
            length = self::length(&device);
        }
        match parts.last_mut() {
            Some(part) if bytes + length + ROOM <= LINE_BYTES => part.push(device),
            _ => {
                bytes = 0;
                parts.push(vec![device]);
            }
        }
        bytes += length;
    }
    parts
}

fn length(device: &DeviceReport) -> usize {
    // The comma between two devices counts too.
    serde_json::to_vec(device).map_or(0, |bytes| bytes.len() + 1)
}

fn boot_id(proc: &Path) -> String {
    std::fs::read_to_string(proc.join("sys/kernel/random/boot_id"))
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use device_attributes::DeviceIdentity;
    use device_attributes::report::Reason;

    fn device(number: u32, addresses: u32) -> DeviceReport {
        DeviceReport {
            identity: DeviceIdentity {
                device: Some(format!("device-{number}").parse().unwrap()),
                ..DeviceIdentity::default()
            },
            ready: true,
            reason: Reason::Configured,
            message: "m".repeat(900),
            interface_name: Some("net1".to_owned()),
            mac_address: None,
            addresses: (1..=addresses)
                .map(|n| format!("2001:db8::{n:x}/64").parse().unwrap())
                .collect(),
            guest_pci_address: None,
            numa_node: None,
        }
    }

    #[test]
    fn every_part_fits_a_line_and_nothing_is_lost() {
        let devices: Vec<DeviceReport> = (0..300).map(|n| device(n, 3)).collect();
        let parts = parts(devices.clone());
        assert!(parts.len() > 1);
        for part in &parts {
            let message = GuestMessage::Report {
                sequence: u64::MAX,
                devices: part.clone(),
            };
            assert!(serde_json::to_vec(&message).unwrap().len() < LINE_BYTES);
        }
        assert_eq!(parts.concat(), devices);
    }

    #[test]
    fn a_device_with_endless_addresses_still_fits() {
        let parts = parts(vec![device(1, 9_999)]);
        let message = GuestMessage::Report {
            sequence: 1,
            devices: parts.concat(),
        };
        assert!(serde_json::to_vec(&message).unwrap().len() < LINE_BYTES);
    }
}
