//! `revert`: takes back what the agent did since the machine came up, and nothing else.

use super::{connect, print};
use crate::apply::{apply, undo};
use crate::exit::{Ended, Exit};
use crate::journal::Journal;
use crate::lock::{Lock, LockError};
use crate::netlink::Netlink;
use crate::observe::{Asked, Observation, observe};
use crate::owners;
use crate::plan::reversal::{Reversal, reversal};
use crate::report::Status;
use crate::roots::Roots;

pub(super) async fn revert(roots: &Roots, dry_run: bool) -> Result<Exit, Ended> {
    if dry_run {
        let journal = Journal::open(roots).map_err(Ended::failed)?;
        let observation = look(&connect()?, roots, &journal).await?;
        let reversal = reversal(journal.ledger(), &observation);
        print(for_people(&reversal))?;
        return Ok(exit(&reversal.left));
    }
    let _service = Lock::for_service(roots, false).await.map_err(explain)?;
    let _pass = Lock::for_pass(roots).await.map_err(Ended::failed)?;
    let mut journal = Journal::open(roots).map_err(Ended::failed)?;
    let netlink = connect()?;
    let planned = reversal(journal.ledger(), &look(&netlink, roots, &journal).await?);
    let mut failed = carry_out(&netlink, roots, &mut journal, &planned).await;
    if let Some(trouble) = journal.take_trouble() {
        tracing::warn!("{trouble}");
    }
    // What is as it was needs no line any more; the rest can be tried again.
    let observation = look(&netlink, roots, &journal).await?;
    let after = reversal(journal.ledger(), &observation);
    journal
        .retain(|thing| after.open.contains(thing))
        .map_err(Ended::failed)?;
    // The managers may have the interfaces back now.
    let troubles = owners::take_back(roots, &observation.interfaces).await;
    for trouble in &troubles {
        tracing::error!("{trouble}");
    }
    failed.extend(troubles);
    Status::remove(roots).map_err(Ended::failed)?;
    print(for_people(&planned))?;
    failed.extend(planned.left);
    Ok(exit(&failed))
}

/// The service would do again at once what is undone.
fn explain(error: LockError) -> Ended {
    Ended::failed(match error {
        LockError::Held(_) => {
            "the service is running and would do it all again: stop it first, with \
                               \"systemctl stop dra-guest-agent\""
                .to_owned()
        }
        error @ LockError::Refused { .. } => error.to_string(),
    })
}

async fn look(netlink: &Netlink, roots: &Roots, journal: &Journal) -> Result<Observation, Ended> {
    let asked = Asked {
        pinned: journal.ledger().pinned(),
        ..Asked::all()
    };
    observe(netlink, roots, &asked).await.map_err(Ended::failed)
}

/// Does it, and gives back what the kernel refused. One refusal does not stop the others.
async fn carry_out(
    netlink: &Netlink,
    roots: &Roots,
    journal: &mut Journal,
    planned: &Reversal,
) -> Vec<String> {
    let mut refused = Vec::new();
    for step in &planned.undos {
        if let Err(error) = undo(netlink, roots, step).await {
            refused.push(error.to_string());
        }
    }
    // With their lines in the journal: one may be killed under a temporary name.
    let applied = apply(netlink, roots, journal, &planned.renames).await;
    refused.extend(
        applied
            .failures
            .iter()
            .map(|failure| failure.error.to_string()),
    );
    for error in &refused {
        tracing::error!("{error}");
    }
    refused
}

fn exit(left: &[String]) -> Exit {
    if left.is_empty() {
        Exit::Done
    } else {
        Exit::SomeDevices
    }
}

fn for_people(reversal: &Reversal) -> String {
    let undos = reversal.undos.iter().map(ToString::to_string);
    let renames = reversal
        .renames
        .iter()
        .flat_map(|transaction| &transaction.steps);
    let done = undos.chain(renames.map(ToString::to_string)).enumerate();
    let mut lines: Vec<String> = done
        .map(|(number, what)| format!("{}. {what}", number + 1))
        .collect();
    if lines.is_empty() {
        lines.push("nothing to take back".to_owned());
    }
    lines.extend(reversal.left.iter().map(|why| format!("! {why}")));
    lines.join("\n")
}
