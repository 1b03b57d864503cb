//! `deploy/` on a node of Kubernetes itself: what `kubectl apply -k` installs runs, may do what it needs and
//! no more, and gives VMs the directory that the hook writes into.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod bed;
mod claim;
mod daemon_set;
mod doctor;
mod guest;
mod installer;
mod needed_rules;
mod own_condition;
mod rights;
mod vm_mount;
mod wide;

use std::process::ExitCode;

use dra_guest_tests::suite::{self, Shared};

use bed::Bed;

static BED: Shared<Bed> = Shared::new(Bed::start);

fn main() -> ExitCode {
    suite::run(
        &BED,
        &[
            (
                "the_relay_listens_on_vsock_as_it_is_shipped",
                daemon_set::listens_as_shipped,
            ),
            (
                "the_runtimes_seccomp_profile_keeps_it_from_vsock",
                daemon_set::the_runtimes_profile,
            ),
            (
                "under_its_own_seccomp_profile_it_may_live_in_a_restricted_namespace",
                daemon_set::own_profile,
            ),
            (
                "a_pod_of_an_opted_in_vm_gets_the_vm_mount",
                vm_mount::opted_in,
            ),
            ("no_other_pod_is_touched", vm_mount::no_other_pod),
            (
                "a_pod_that_has_the_vm_mount_stays_as_it_is",
                vm_mount::has_it_already,
            ),
            (
                "the_hook_writes_into_the_vm_mount_of_a_running_pod",
                vm_mount::running_pod,
            ),
            (
                "a_guests_report_is_on_the_claim",
                daemon_set::a_guests_report,
            ),
            (
                "kubectl_shows_the_condition_in_a_column",
                daemon_set::a_column,
            ),
            (
                "the_policies_compile_without_a_warning",
                own_condition::no_warning,
            ),
            (
                "the_policy_covers_each_field_of_the_status",
                own_condition::each_field,
            ),
            (
                "the_relays_own_requests_pass_the_policy",
                own_condition::own_requests,
            ),
            (
                "a_claim_of_the_greatest_size_is_within_the_policys_cost",
                own_condition::greatest_size,
            ),
            (
                "any_other_change_is_refused_to_the_relay_alone",
                own_condition::other_changes,
            ),
            (
                "metadata_does_not_change_through_the_status",
                own_condition::metadata,
            ),
            (
                "the_relays_token_is_good_for_claims_of_its_node",
                rights::claims_of_its_node,
            ),
            (
                "the_relay_may_do_what_its_roles_say_and_no_more",
                rights::no_more,
            ),
            (
                "what_the_relay_must_not_do_is_forbidden",
                rights::real_attempts,
            ),
            ("each_rule_is_needed", needed_rules::each_rule),
            (
                "the_installer_keeps_the_hook_on_the_node",
                installer::keeps_the_hook_on_the_node,
            ),
            // The last one: the rights that it brings stay.
            (
                "doctor_finds_nothing_in_the_pod_of_a_relay_that_annotates",
                doctor::in_the_pod,
            ),
        ],
    )
}
