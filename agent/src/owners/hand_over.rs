//! Handing the guest's interfaces over to the agent.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use super::drop_ins::{NETWORK_MANAGER, NETWORKD_CONF};
use super::{
    DropIn, Manager, Managers, Ours, disowned, drop_ins, network_manager, networkd, own_files,
    reload,
};
use crate::observe::Interface;
use crate::pause::pause;
use crate::roots::Roots;
use crate::units;

/// How long a manager that was told may take to let go.
const LET_GO: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// Tells every manager and udev which interfaces the agent configures, `ours`, and waits until those
/// that run have let `interfaces` go. Nothing is done where they know already.
/// `is_doubtful`: one has an interface all the same, so that every file is looked at and
/// the managers are told again.
///
/// `units` are the files that keep systemd's units near devices: they are written with the others, and
/// systemd reads them before this ends.
///
/// Gives back whether a network manager that runs was told, so that the interfaces may be others than before,
/// and what went wrong, in sentences.
pub async fn hand_over(
    roots: &Roots,
    ours: &[Ours],
    units: Vec<DropIn>,
    interfaces: &[&Interface],
    is_doubtful: bool,
) -> (bool, Vec<String>) {
    let mut files: Vec<DropIn> = drop_ins(ours);
    files.extend(units);
    let synced = own_files::sync(roots, &files, is_doubtful);
    let mut troubles: Vec<String> = synced.errors.iter().map(ToString::to_string).collect();
    let told = if is_doubtful {
        // No network manager is told of units, nor does systemd contest them.
        let network = files.into_iter().map(|file| file.path);
        let network = network.filter(|path| !units::is_drop_in(path));
        let units = synced.changed.into_iter();
        let units = units.filter(|path| units::is_drop_in(path));
        let all: Vec<PathBuf> = network.chain(units).collect();
        tell(roots, &all, &mut troubles).await
    } else {
        tell(roots, &synced.changed, &mut troubles).await
    };
    if told {
        wait_until_let_go(roots, interfaces).await;
        // What a `[device]` section says counts for NetworkManager when it meets the device, not later.
        for interface in interfaces {
            if network_manager::owner(roots, interface).is_some() {
                troubles.extend(disowned::add(roots, interface.index).err());
                troubles.extend(reload::manage(&interface.name, false).await.err());
            }
        }
        wait_until_let_go(roots, interfaces).await;
    }
    (told, troubles)
}

/// Takes back what the managers were told: removes the agent's files and has those that run read again.
///
/// `interfaces` are those that are there. Gives back what went wrong, in sentences.
pub async fn take_back(roots: &Roots, interfaces: &[Interface]) -> Vec<String> {
    let (removed, errors) = own_files::remove_own_files(roots);
    let mut troubles: Vec<String> = errors.iter().map(ToString::to_string).collect();
    tell(roots, &removed, &mut troubles).await;
    let indices = disowned::load(roots);
    for interface in interfaces {
        if indices.contains(&interface.index) {
            troubles.extend(reload::manage(&interface.name, true).await.err());
        }
    }
    if !indices.is_empty() {
        troubles.extend(disowned::clear(roots).err());
    }
    troubles
}

/// Has systemd and the managers that run read their configuration again, where a file of it changed;
/// true when a network manager was told.
async fn tell(roots: &Roots, changed: &[PathBuf], troubles: &mut Vec<String>) -> bool {
    if changed.iter().any(|path| units::is_drop_in(path)) && units::is_systemd_running(roots) {
        troubles.extend(units::bring(roots, changed).await);
        troubles.extend(units::reload().await.err());
    }
    let is_networkds = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "network") || path.ends_with(NETWORKD_CONF)
    };
    let mut told = false;
    for (manager, is_concerned) in [
        (
            Manager::Networkd,
            changed.iter().any(is_networkds) && networkd::is_running(roots),
        ),
        (
            Manager::NetworkManager,
            changed.iter().any(|path| path.ends_with(NETWORK_MANAGER))
                && network_manager::is_running(roots),
        ),
    ] {
        if is_concerned {
            told = true;
            troubles.extend(reload::reload(manager).await.err());
        }
    }
    told
}

/// Who does not let go is told by the look at the owners that follows.
async fn wait_until_let_go(roots: &Roots, interfaces: &[&Interface]) {
    let end = Instant::now() + LET_GO;
    let managers = Managers::look(roots);
    let is_held = |interface: &Interface| {
        let owners = managers.owners_of(interface, None);
        let mut held_by = owners.iter().map(|owner| owner.manager);
        held_by.any(|manager| manager != Manager::Ifupdown)
            || networkd::is_undecided(roots, interface)
    };
    while interfaces.iter().any(|interface| is_held(interface)) && Instant::now() < end {
        pause(PAUSE).await;
    }
}
