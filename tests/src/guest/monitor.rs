//! QEMU's machine protocol (`qemu-qmp-ref(7)`): hardware that comes and goes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::wait;

/// Tells QEMU to do one thing, and gives back what it returns.
pub(super) fn tell(socket: &Path, command: &Value) -> Result<Value> {
    let stream = UnixStream::connect(socket)
        .with_context(|| format!("QEMU's monitor {}", socket.display()))?;
    stream.set_read_timeout(Some(wait::PATIENCE))?;
    let mut lines = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let mut returned = Value::Null;
    // Commands are taken only after this one.
    for command in [&json!({"execute": "qmp_capabilities"}), command] {
        writeln!(stream, "{command}")?;
        loop {
            let mut line = String::new();
            lines.read_line(&mut line)?;
            let answer: Value = serde_json::from_str(&line)
                .with_context(|| format!("QEMU answers `{line}` to {command}"))?;
            if let Some(value) = answer.get("return") {
                returned = value.clone();
                break;
            }
            if let Some(error) = answer.get("error") {
                bail!("QEMU does not do {command}: {error}");
            }
        }
    }
    Ok(returned)
}
