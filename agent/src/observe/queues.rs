//! The queues of an interface, as sysfs shows them (`Documentation/networking/scaling.rst`).

use std::path::Path;

use super::Interface;
use super::pinning::{InterfaceQueues, ReceiveQueue, number};
use crate::netlink::Ethtool;
use crate::numa::CpuList;
use crate::small_file;

/// The most queues that are looked at: what any driver has, twice over.
const QUEUES: usize = 4096;

/// Looks at one interface. What cannot be read is not known.
pub(super) fn look(
    sys: &Path,
    interface: &Interface,
    ethtool: Option<&mut Ethtool>,
) -> InterfaceQueues {
    let directory = sys.join("class/net").join(&interface.name).join("queues");
    let of = |kind: &str, queue: usize| directory.join(format!("{kind}-{queue}"));
    let transmit = (0..QUEUES).map_while(|queue| mask(&of("tx", queue).join("xps_cpus")));
    let receive = (0..QUEUES).map_while(|queue| {
        let directory = of("rx", queue);
        Some(ReceiveQueue {
            cpus: mask(&directory.join("rps_cpus"))?,
            flows: number(&directory.join("rps_flow_cnt")).unwrap_or_default(),
        })
    });
    InterfaceQueues {
        channels: ethtool.and_then(|ethtool| ethtool.channels(interface.index).ok().flatten()),
        transmit: transmit.collect(),
        receive: receive.collect(),
    }
}

fn mask(path: &Path) -> Option<CpuList> {
    let bytes = small_file::read(path).ok()?;
    CpuList::from_mask(std::str::from_utf8(&bytes).ok()?).ok()
}
