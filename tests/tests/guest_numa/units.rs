//! systemd units that the policy pins to the NIC on node 1: drop-ins, units that run, templates, slices, and
//! what is left when the policy says no more.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::{Guest, Managed};
use dra_guest_tests::wait;

const POLICY: &str = "[[device]]\nclaim = \"nic\"\n\
                      pin = [\"unit:app.service\", \"unit:near@.service\", \"unit:near.slice\"]\n";
const DROP_IN: &str = "/etc/dra-guest/agent.d/50-pin.toml";

/// A service of each kind. `far.service` is pinned by nothing but its slice.
const UNITS: &str = "
cd /run/systemd/system
service() { printf '[Service]\\nExecStart=/usr/bin/sleep infinity\\n%s\\n' \"$2\" >$1; }
service app.service ''
service other.service ''
service near@.service 'CPUAffinity=0'
service in-slice.service 'Slice=near.slice'
systemctl daemon-reload
systemctl start app.service other.service in-slice.service near@runs.service
";

/// What the kernel says of a unit's process: its CPUs, its nodes and the memory policy of its stack.
fn of(guest: &mut Guest, unit: &str) -> Result<(String, String, String)> {
    let script = format!(
        "pid=$(systemctl show --property=MainPID --value {unit}); \
         sed -n 's/^\\(Cpus\\|Mems\\)_allowed_list:.//p' /proc/$pid/status; \
         sed -n 's/^[0-9a-f]* \\([^ ]*\\) stack .*/\\1/p' /proc/$pid/numa_maps"
    );
    let said = guest.stdout_of(&script)?;
    let mut lines = said.lines().map(str::to_owned);
    let mut next = || lines.next().with_context(|| format!("{unit}: {said}"));
    Ok((next()?, next()?, next()?))
}

fn expect(guest: &mut Guest, unit: &str, expected: [&str; 3]) -> Result<()> {
    let mut seen = Default::default();
    let what = format!("{unit} has {expected:?}");
    wait::until(&what, wait::PATIENCE, || {
        seen = of(guest, unit)?;
        let (cpus, nodes, policy) = &seen;
        Ok((expected == [cpus, nodes, policy]).then_some(()))
    })
    .with_context(|| format!("{seen:?}"))
}

fn pin(guest: &mut Guest) -> Result<()> {
    let script = format!(
        "mkdir -p /etc/dra-guest/agent.d; cat >{DROP_IN} <<'END'\n{POLICY}END\n\
         systemctl reload dra-guest-agent"
    );
    guest.stdout_of(&script).map(drop)
}

fn written(guest: &mut Guest) -> Result<String> {
    guest.stdout_of("cd /run/systemd/system; ls */90-dra-guest.conf 2>/dev/null || :")
}

/// A cgroup has CPU 3 for itself: what is pinned then leaves it alone, and does not end the partition.
pub(crate) fn a_partition_is_left_alone(managed: &mut Managed) -> Result<()> {
    const PINNED: [&str; 3] = ["app.service", "near@runs.service", "in-slice.service"];
    let guest = &mut managed.guest;
    guest.stdout_of(UNITS)?;
    let made = guest.stdout_of(
        "cd /sys/fs/cgroup; echo +cpuset >cgroup.subtree_control; mkdir alone; cd alone; \
         echo 3 >cpuset.cpus; echo isolated >cpuset.cpus.partition; cat cpuset.cpus.partition",
    )?;
    ensure!(made == "isolated\n", "{made}");
    pin(guest)?;
    for unit in PINNED {
        expect(guest, unit, ["2", "1", "default"])?;
    }
    let bound = guest.stdout_of("cat /run/systemd/system/app.service.d/90-dra-guest.conf")?;
    ensure!(bound.contains("\nAllowedCPUs=2\n"), "{bound}");
    let words = "app.service is not brought to the CPUs 3 of vm-nic-7xk2p/vf (nic): \
                 a cpuset partition has them for itself";
    wait::until("it is told", wait::PATIENCE, || {
        let told = guest.stdout_of("journalctl --boot --unit=dra-guest-agent.service")?;
        Ok(told.contains(words).then_some(()))
    })?;
    let env = guest.stdout_of("dra-guest-agent env --device nic/vf 2>&1")?;
    for line in ["DRA_GUEST_CPUS=2", "DRA_GUEST_ISOLATED_CPUS=3"] {
        ensure!(env.lines().any(|said| said == line), "{line}: {env}");
    }
    let still = guest
        .stdout_of("cat /sys/fs/cgroup/alone/cpuset.cpus.partition; rmdir /sys/fs/cgroup/alone")?;
    ensure!(still == "isolated\n", "the partition: {still}");
    for unit in PINNED {
        expect(guest, unit, ["2-3", "1", "default"])?;
    }
    guest.stdout_of(&format!("rm {DROP_IN}; systemctl reload dra-guest-agent"))?;
    wait::until("the drop-ins are gone", wait::PATIENCE, || {
        Ok(written(guest)?.is_empty().then_some(()))
    })
}

pub(crate) fn run_near(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    guest.stdout_of(UNITS)?;
    for unit in ["app.service", "other.service", "in-slice.service"] {
        expect(guest, unit, ["0-3", "0-1", "default"])?;
    }
    expect(guest, "near@runs.service", ["0", "0-1", "default"])?;
    pin(guest)?;
    wait::until("the drop-ins are written", wait::PATIENCE, || {
        Ok((written(guest)?.lines().count() == 3).then_some(()))
    })?;
    // What runs is bounded at once, and stays there: its affinity and memory policy are those of its start.
    expect(guest, "app.service", ["2-3", "1", "default"])?;
    expect(guest, "in-slice.service", ["2-3", "1", "default"])?;
    expect(guest, "near@runs.service", ["2-3", "1", "default"])?;
    expect(guest, "other.service", ["0-3", "0-1", "default"])?;
    guest.stdout_of("systemctl restart app.service; systemctl start near@x.service")?;
    expect(guest, "app.service", ["2-3", "1", "bind:1"])?;
    // Over the affinity that the unit itself has.
    expect(guest, "near@x.service", ["2-3", "1", "bind:1"])?;

    let shown = guest.stdout_of(
        "systemctl show --property=CPUAffinity,NUMAPolicy,NUMAMask,AllowedCPUs,AllowedMemoryNodes,NeedDaemonReload \
         app.service",
    )?;
    for line in [
        "CPUAffinity=0-3",
        "NUMAPolicy=bind",
        "NUMAMask=1",
        "AllowedCPUs=2-3",
        "AllowedMemoryNodes=1",
        "NeedDaemonReload=no",
    ] {
        ensure!(shown.lines().any(|said| said == line), "{line}: {shown}");
    }
    let left = guest.stdout_of("find /run/systemd/system.control -type f")?;
    ensure!(left.is_empty(), "systemctl's own files: {left}");
    guest
        .stdout_of("systemd-analyze verify app.service near@x.service near.slice")
        .map(drop)
}

pub(crate) fn a_second_pass_changes_no_unit(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    let state = "stat --format=%y /run/systemd/system/*/90-dra-guest.conf; \
                 journalctl --quiet --unit=init.scope --grep='Reloading finished' | wc -l";
    let before = guest.stdout_of(state)?;
    guest.stdout_of("systemctl restart dra-guest-agent; systemctl reload dra-guest-agent")?;
    managed.wait_for("nic", "Configured")?;
    let guest = &mut managed.guest;
    std::thread::sleep(Duration::from_secs(3));
    let after = guest.stdout_of(state)?;
    ensure!(before == after, "{before} {after}");
    let plan = guest.run(
        "dra-guest-agent plan --attributes /run/credentials/dra-guest-agent.service/device-attributes",
    )?;
    ensure!(plan.stdout.starts_with("nothing to change"), "{plan:?}");
    Ok(())
}

pub(crate) fn what_is_pinned_no_more_is_free(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    // A drop-in of the image's owner beside the agent's.
    guest.stdout_of("printf '[Slice]\\n' >/run/systemd/system/near.slice.d/10-owner.conf")?;
    guest.stdout_of(&format!("rm {DROP_IN}; systemctl reload dra-guest-agent"))?;
    wait::until("the drop-ins are gone", wait::PATIENCE, || {
        Ok(written(guest)?.is_empty().then_some(()))
    })?;
    expect(guest, "in-slice.service", ["0-3", "0-1", "default"])?;
    expect(guest, "near@runs.service", ["0", "0-1", "default"])?;
    let left = guest.stdout_of(
        "cd /run/systemd/system; ls -d *.d; find /run/systemd/system.control -type f; \
         systemctl restart app.service; rm -r near.slice.d",
    )?;
    ensure!(left.trim() == "near.slice.d", "{left}");
    expect(guest, "app.service", ["0-3", "0-1", "default"])
}

pub(crate) fn revert_frees_what_is_pinned(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    pin(guest)?;
    expect(guest, "app.service", ["2-3", "1", "default"])?;
    let said = guest.stdout_of("systemctl stop dra-guest-agent; dra-guest-agent revert");
    let files = written(guest);
    let freed = expect(guest, "app.service", ["0-3", "0-1", "default"]);
    guest.stdout_of(&format!(
        "rm {DROP_IN}; systemctl stop app.service other.service in-slice.service near@x.service near@runs.service; \
         rm /run/systemd/system/app.service /run/systemd/system/other.service \
         /run/systemd/system/near@.service /run/systemd/system/in-slice.service; \
         systemctl daemon-reload; systemctl start dra-guest-agent"
    ))?;
    said?;
    ensure!(files?.is_empty(), "the drop-ins stay");
    freed?;
    managed.wait_for("nic", "Configured").map(drop)
}
