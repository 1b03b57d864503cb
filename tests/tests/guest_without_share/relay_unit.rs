//! The relay's unit, as `docs/images.md` sets it up on a node that runs it outside of Kubernetes. This guest is the node.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::programs::{static_program, workspace};

use crate::Lonely;

/// Of an API server that is not there: the relay starts, and tries again and again.
const KUBECONFIG: &str = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "node",
"contexts": [{"name": "node", "context": {"cluster": "far", "user": "relay"}}],
"clusters": [{"name": "far", "cluster": {"server": "https://127.0.0.1:6443"}}],
"users": [{"name": "relay", "user": {"token": "none"}}]}"#;

/// Lays out what the package for nodes has.
pub(crate) fn install(tree: &Path) -> Result<()> {
    let units = tree.join("usr/lib/systemd/system");
    fs::create_dir_all(&units)?;
    let unit = "dra-guest-relay.service";
    fs::copy(
        workspace().join("systemd/node").join(unit),
        units.join(unit),
    )?;
    fs::copy(
        static_program("dra-guest-relay")?,
        tree.join("usr/bin/dra-guest-relay"),
    )?;
    Ok(())
}

/// The commands of the documentation, as they stand there.
fn documented() -> Result<Vec<String>> {
    let text = fs::read_to_string(workspace().join("docs/images.md"))?;
    let block = text
        .split("```console\n")
        .filter_map(|rest| rest.split("```").next())
        .find(|block| block.contains("relay.conf"))
        .context("docs/images.md sets up no relay")?;
    let commands = block.lines().filter_map(|line| line.strip_prefix("# "));
    Ok(commands.map(str::to_owned).collect())
}

pub(crate) fn starts(lonely: &mut Lonely) -> Result<()> {
    let mut commands = documented()?;
    let doctor = commands.pop().context("the last command is doctor")?;
    lonely.guest.stdout_of(&format!(
        "cat >/run/worker-0.kubeconfig <<'END'\n{KUBECONFIG}\nEND"
    ))?;
    for command in commands {
        lonely.guest.stdout_of(&format!("cd /run && {command}"))?;
    }
    let unit = lonely.guest.stdout_of(
        "systemctl show --property=ActiveState --property=User --property=NRestarts dra-guest-relay.service",
    )?;
    ensure!(
        unit.contains("ActiveState=active") && unit.contains("NRestarts=0"),
        "{unit}"
    );
    let said = lonely
        .guest
        .stdout_of("journalctl --unit=dra-guest-relay.service --no-pager --output=cat")?;
    let listens = "listening on vsock port 10739 for the VMs of node worker-0";
    ensure!(said.contains(listens), "{said}");
    let looked = lonely.guest.run(&doctor)?;
    ensure!(
        looked.code == 1 && looked.stdout.contains("FINDING  api-server"),
        "{looked:?}"
    );
    lonely
        .guest
        .stdout_of("systemctl disable --now dra-guest-relay.service")?;
    Ok(())
}
