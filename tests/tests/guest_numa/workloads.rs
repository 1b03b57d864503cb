//! Workloads near the NIC on node 1: commands, units, slices and containers, with the kernel's word for
//! where they run and where their memory is.

use anyhow::{Result, bail, ensure};
use dra_guest_tests::guest::{Guest, Managed, WITNESS, Witness, quoted};

/// Runs `command` in a cpuset of its own, as a container's runtime makes one.
fn in_cpuset(
    guest: &mut Guest,
    cpus: &str,
    nodes: &str,
    command: &str,
) -> Result<(i32, String, String)> {
    let script = format!(
        "set -e; echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control; \
         group=/sys/fs/cgroup/far; mkdir -p $group; echo {cpus} >$group/cpuset.cpus; echo {nodes} >$group/cpuset.mems; \
         code=0; sh -c 'echo $$ >/sys/fs/cgroup/far/cgroup.procs; exec \"$@\"' sh {command} || code=$?; \
         sleep 0.2; rmdir $group; exit $code"
    );
    let output = guest.run(&script)?;
    Ok((output.code, output.stdout, output.stderr))
}

pub(crate) fn exec_runs_near_the_device(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    let bare = Witness::of(guest, "")?;
    ensure!(bare.cpus == "0-3" && bare.nodes == "0-1", "{bare:?}");
    for (device, memory, policy) in [
        ("nic/vf", "bind", "bind:1"),
        ("net1", "preferred", "prefer:1"),
        ("nvme", "bind", "bind:1"),
        ("0000:81:00.0", "none", "default"),
    ] {
        let exec = format!("dra-guest-agent exec --device {device} --memory {memory} --strict --");
        let near = Witness::of(guest, &exec)?;
        ensure!(
            near.cpus == "2-3" && near.nodes == "0-1",
            "{device}: {near:?}"
        );
        ensure!(near.policies == [policy], "{device}: {near:?}");
        let [far, here] = near.pages;
        // Nothing else was asked of memory than of the CPUs, but a process' pages come from its node first.
        ensure!(far == 0 && here >= 8_000_000 / 4096, "{device}: {near:?}");
    }
    // Before it, the same on the other node.
    let far = Witness::of(guest, "taskset --cpu-list 0-1")?;
    ensure!(far.pages[0] >= 8_000_000 / 4096, "{far:?}");
    println!(
        "anonymous pages on [node 0, node 1]: beside the other node {:?}",
        far.pages
    );
    Ok(())
}

pub(crate) fn exit_codes_and_signals_pass(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    let exec = "dra-guest-agent exec --device nic/vf --";
    for (command, code) in [
        ("sh -c 'exit 9'", 9),
        ("sh -c 'kill -TERM $$'", 143),
        ("no-such-command", 127),
        ("/etc/passwd", 126),
    ] {
        let output = guest.run(&format!("{exec} {command}"))?;
        ensure!(output.code == code, "{command}: {output:?}");
    }
    // A signal that was sent to the agent's process is the command's.
    let script = format!(
        "{exec} sh -c 'trap \"echo caught; exit 3\" USR1; echo begun >/run/begun; while :; do sleep 0.1; done' & \
         agent=$!; while ! [ -e /run/begun ]; do sleep 0.1; done; kill -USR1 $agent; wait $agent; code=$?; \
         rm /run/begun; exit $code"
    );
    let output = guest.run(&script)?;
    ensure!(
        output.code == 3 && output.stdout == "caught\n",
        "{output:?}"
    );
    // As systemd starts services: without SIGPIPE. One that is killed by it would write nothing more.
    let script = format!(
        "trap '' PIPE; {exec} sh -c '(sleep 0.5; echo x) | exec true; grep SigIgn /proc/self/status'"
    );
    let output = guest.run(&script)?;
    ensure!(
        output.stdout.contains("SigIgn:\t0000000000001000"),
        "{output:?}"
    );
    // The user nobody has no capability, and the kernel asks for none.
    let nobody = format!(
        "setpriv --reuid=nobody --regid=nogroup --clear-groups --bounding-set=-all --no-new-privs {exec}"
    );
    let near = Witness::of(guest, &nobody)?;
    ensure!(
        near.cpus == "2-3" && near.policies == ["prefer:1"],
        "{near:?}"
    );
    Ok(())
}

pub(crate) fn a_cpuset_is_kept(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    let exec = "dra-guest-agent exec --device nic/vf";
    let (code, stdout, stderr) = in_cpuset(guest, "0-1", "0-1", &format!("{exec} -- echo ran"))?;
    ensure!(code == 1 && stdout.is_empty(), "{code} {stdout} {stderr}");
    ensure!(
        stderr.contains("none of its CPUs 2-3 is in the cpuset of this process, which runs on 0-1"),
        "{stderr}"
    );
    // Of the device's CPUs the cpuset's.
    let allowed = "grep Cpus_allowed_list /proc/self/status";
    let (code, stdout, stderr) = in_cpuset(guest, "1-2", "0-1", &format!("{exec} -- {allowed}"))?;
    ensure!(
        code == 0 && stdout == "Cpus_allowed_list:\t2\n",
        "{code} {stdout} {stderr}"
    );
    // Its memory, where the cpuset has none of it.
    let (code, stdout, stderr) = in_cpuset(
        guest,
        "0-3",
        "0",
        &format!("{exec} --memory bind -- echo ran"),
    )?;
    ensure!(code == 1 && stdout.is_empty(), "{code} {stdout} {stderr}");
    ensure!(
        stderr.contains("memory cannot be bound to NUMA node 1"),
        "{stderr}"
    );
    let (code, stdout, stderr) = in_cpuset(guest, "0-3", "0", &format!("{exec} -- {allowed}"))?;
    ensure!(
        code == 0 && stdout == "Cpus_allowed_list:\t2-3\n",
        "{code} {stdout} {stderr}"
    );
    ensure!(
        stderr.contains("NUMA node 1 has no memory for this process"),
        "{stderr}"
    );
    let (code, ..) = in_cpuset(guest, "0-3", "0", &format!("{exec} --strict -- echo ran"))?;
    ensure!(code == 1, "strict: {code}");
    Ok(())
}

pub(crate) fn cpus_that_are_isolated_are_not_taken(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    let allowed =
        "dra-guest-agent exec --device nic/vf -- grep Cpus_allowed_list /proc/self/status";
    let partition = "echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/alone; \
                     cd /sys/fs/cgroup/alone; echo 3 >cpuset.cpus; echo isolated >cpuset.cpus.partition; \
                     cat cpuset.cpus.partition";
    let partition = guest.stdout_of(partition);
    let near = guest.stdout_of(allowed);
    guest.stdout_of("rmdir /sys/fs/cgroup/alone")?;
    ensure!(partition?.trim() == "isolated", "the partition");
    let near = near?;
    ensure!(near.trim() == "Cpus_allowed_list:\t2", "{near}");
    Ok(())
}

pub(crate) fn env_binds_a_container(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    let said = guest.stdout_of("dra-guest-agent env --device nic/vf")?;
    for line in [
        "DRA_GUEST_NUMA_NODE=1",
        "DRA_GUEST_CPUS=2-3",
        "DRA_GUEST_MEMS=1",
    ] {
        ensure!(said.lines().any(|said| said == line), "{line}: {said}");
    }
    let file = guest.stdout_of("cat /run/dra-guest/devices/nic.vf.env")?;
    ensure!(file == said, "{file}");
    let podman = format!(
        "eval \"$(dra-guest-agent env --device nic/vf)\"; \
         podman run --rm --network=none --cpuset-cpus=\"$DRA_GUEST_CPUS\" --cpuset-mems=\"$DRA_GUEST_MEMS\" \
         --rootfs /:O sh -c '{}'",
        quoted(WITNESS)
    );
    let near = Witness::parse(&guest.stdout_of(&podman)?)?;
    ensure!(
        near.cpus == "2-3" && near.nodes == "1" && near.pages[0] == 0,
        "{near:?}"
    );
    Ok(())
}

/// As the profiles of containerd and Docker have it: `set_mempolicy` is for who has `CAP_SYS_NICE`.
pub(crate) fn a_container_may_have_no_memory_policy(managed: &mut Managed) -> Result<()> {
    const PROFILE: &str = r#"{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["set_mempolicy"],"action":"SCMP_ACT_ERRNO","errnoRet":1}]}"#;
    const EXECS: &str = "for options in --memory=bind --strict --memory=preferred --memory=none; do \
                         dra-guest-agent exec --device nic/vf $options -- \
                         grep Cpus_allowed_list: /proc/self/status 2>&1; echo exit code $?; done";
    let said = managed.guest.stdout_of(&format!(
        "echo '{PROFILE}' >/run/profile.json; \
         podman run --rm --network=none --security-opt=seccomp=/run/profile.json \
         --volume=/run/dra-guest:/run/dra-guest:ro --rootfs /:O sh -c '{EXECS}'"
    ))?;
    let parts: Vec<&str> = said.split_inclusive("exit code ").collect();
    let [bind, strict, preferred, none, last] = parts[..] else {
        bail!("{said}");
    };
    let (refused, ran) = ("takes it away", "Cpus_allowed_list:\t2-3\n");
    ensure!(
        bind.contains(refused)
            && bind.contains("--memory none does without")
            && !bind.contains(ran),
        "{said}"
    );
    ensure!(
        strict.starts_with("1\n") && strict.contains(refused) && !strict.contains(ran),
        "{said}"
    );
    ensure!(
        preferred.starts_with("1\n") && preferred.contains(refused) && preferred.contains(ran),
        "{said}"
    );
    ensure!(
        none.starts_with("0\n") && !none.contains(refused) && none.contains(ran),
        "{said}"
    );
    ensure!(last == "0\n", "{said}");
    Ok(())
}
