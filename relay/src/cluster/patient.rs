//! A watch that waits longer with each list that fails.
//!
//! kube's watcher says that a list begins before it asks for it. Taken for an answer, that would
//! end the waiting each time: an API server without `KubeVirt` would be asked every second for ever.

use futures_util::{Stream, StreamExt as _, stream};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Event, Result};

/// The events of a watcher. [`Event::Init`] comes with the list's first answer, not before.
pub fn patient<K>(
    events: impl Stream<Item = Result<Event<K>>>,
) -> impl Stream<Item = Result<Event<K>>> {
    answered(events).default_backoff()
}

fn answered<K>(
    events: impl Stream<Item = Result<Event<K>>>,
) -> impl Stream<Item = Result<Event<K>>> {
    let mut begins = false;
    events.flat_map(move |event| {
        let begun = std::mem::take(&mut begins);
        let (first, second) = match event {
            Ok(Event::Init) => {
                begins = true;
                (None, None)
            }
            Ok(event) => (begun.then_some(Ok(Event::Init)), Some(Ok(event))),
            Err(error) => (None, Some(Err(error))),
        };
        stream::iter(first.into_iter().chain(second))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::runtime::watcher::Error;

    #[tokio::test]
    async fn a_list_begins_with_its_first_answer() {
        let failure = || Err(Error::NoResourceVersion);
        let told = [
            Ok(Event::Init),
            failure(),
            Ok(Event::Init),
            failure(),
            Ok(Event::Init),
            Ok(Event::InitApply(1)),
            Ok(Event::InitDone),
            Ok(Event::Apply(2)),
            Ok(Event::Init),
            Ok(Event::InitDone),
        ];
        let heard: Vec<String> = answered(stream::iter(told))
            .map(|event| event.map_or_else(|_| "failed".to_owned(), |event| format!("{event:?}")))
            .collect()
            .await;
        assert_eq!(
            heard,
            [
                "failed",
                "failed",
                "Init",
                "InitApply(1)",
                "InitDone",
                "Apply(2)",
                "Init",
                "InitDone"
            ]
        );
    }
}
