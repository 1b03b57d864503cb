//! `env`: what is known of a device, as a shell reads it.

use std::io::Write as _;

use super::{near, print, written};
use crate::exit::{Ended, Exit};
use crate::numa::{Bounds, Topology};
use crate::report::{choose, device_files};
use crate::roots::Roots;

pub(super) fn env(roots: &Roots, device: &str) -> Result<Exit, Ended> {
    let status = written::devices(roots)?;
    let chosen = choose(&status.devices, device).map_err(Ended::usage)?;
    let remark = |remark: &str| {
        // Standard output is what a script reads.
        let _ = writeln!(std::io::stderr(), "dra-guest-agent: {device}: {remark}");
    };
    let mut bounds = Bounds::default();
    match near::near(chosen) {
        Ok(near::Near::Nodes { nodes, cpus }) => {
            let topology = Topology::read(&roots.sys);
            let cpus = cpus.unwrap_or_else(|| topology.cpus_of(&nodes));
            bounds = Bounds::new(&nodes, &cpus, &topology);
            if bounds.cpus.is_empty() && !bounds.isolated.is_empty() {
                remark("its CPUs are all isolated: DRA_GUEST_ISOLATED_CPUS has them");
            } else if !bounds.partitioned.is_empty() {
                let cpus = &bounds.partitioned;
                remark(&format!(
                    "a cpuset partition has its CPUs {cpus} for itself"
                ));
            }
        }
        Ok(near::Near::Everywhere) => {}
        Ok(near::Near::Unknown(why)) => remark(&why),
        Err(why) => return Err(Ended::failed(format!("{device}: {why}"))),
    }
    print(device_files::env(&chosen.report, &bounds).trim_end())?;
    Ok(Exit::Done)
}
