//! The sysctls of an interface that the policy asks for.

use super::draft::Draft;
use super::step::Sysctl;
use super::{Action, leftovers};

/// `net.ipv6.conf.default.accept_ra` as the kernel starts with it.
const ACCEPT_RA: u32 = 1;

pub(super) fn sysctls(draft: &mut Draft<'_>, without_ipv6: Option<&str>) {
    match draft.wanted.rp_filter {
        Some(wanted) => rp_filter(draft, wanted.value().into()),
        None => put_back(draft, Sysctl::RpFilter, draft.interface.rp_filter),
    }
    let Some(to) = draft.wanted.accept_ra else {
        put_back(draft, Sysctl::AcceptRa, draft.interface.accept_ra);
        return;
    };
    let to = to.value().into();
    match without_ipv6 {
        // Nothing is accepted then.
        Some(_) if to == 0 => {}
        Some(why) => draft.problem(format!("accept_ra cannot be {to}: {why}")),
        None => {
            let from = draft.interface.accept_ra.unwrap_or(ACCEPT_RA);
            set(draft, Sysctl::AcceptRa, from, to, "accept-ra");
        }
    }
}

fn rp_filter(draft: &mut Draft<'_>, to: u32) {
    let Some(from) = draft.interface.rp_filter else {
        draft.problem("the kernel does not say what rp_filter is");
        return;
    };
    match draft.observation.rp_filter_of_all {
        // Documentation/networking/ip-sysctl.rst
        Some(all) if all > to => draft.problem(format!(
            "rp_filter cannot be {to}: net.ipv4.conf.all.rp_filter is {all}, and the kernel takes \
             the greater of both"
        )),
        _ => set(draft, Sysctl::RpFilter, from, to, "rp-filter"),
    }
}

fn put_back(draft: &mut Draft<'_>, sysctl: Sysctl, now: Option<u32>) {
    let Some(from) = now else { return };
    if let Some(to) = leftovers::sysctl_before(draft, sysctl, from) {
        let action = Action::SetSysctl { sysctl, from, to };
        draft.step(action, "", leftovers::was(to));
    }
}

fn set(draft: &mut Draft<'_>, sysctl: Sysctl, from: u32, to: u32, key: &str) {
    if from != to {
        let reason = format!("it is to be {to}");
        draft.step(Action::SetSysctl { sysctl, from, to }, key, reason);
    }
}
