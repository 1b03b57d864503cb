//! Which guests there are now, by CID: where the listeners leave their connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::connection::Stream;
use crate::guest::Connections;

/// The guests that are served now.
#[derive(Default)]
pub struct Roster(Mutex<HashMap<u32, Arc<Connections>>>);

impl std::fmt::Debug for Roster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roster")
            .field("cids", &self.guests().keys())
            .finish_non_exhaustive()
    }
}

impl Roster {
    /// Nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on this CID's connections go here. An earlier guest of the CID gets none any more.
    pub fn admit(&self, cid: u32, connections: Arc<Connections>) {
        self.guests().insert(cid, connections);
    }

    /// From now on nobody has this CID.
    pub fn dismiss(&self, cid: u32) {
        self.guests().remove(&cid);
    }

    /// Gives a connection to the guest of this CID; false, and the connection is closed, when there
    /// is none.
    pub fn deliver(&self, cid: u32, stream: Box<dyn Stream>) -> bool {
        let guest = self.guests().get(&cid).map(Arc::clone);
        guest.map(|guest| guest.put(stream)).is_some()
    }

    fn guests(&self) -> MutexGuard<'_, HashMap<u32, Arc<Connections>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn a_stranger_is_closed_and_a_guest_is_delivered() {
        let roster = Roster::new();
        let guest = Arc::new(Connections::new());
        roster.admit(5, Arc::clone(&guest));
        let (mut stranger, theirs) = duplex(64);
        assert!(!roster.deliver(6, Box::new(theirs)));
        assert_eq!(stranger.read(&mut [0; 8]).await.unwrap(), 0);

        let (mut older, theirs) = duplex(64);
        assert!(roster.deliver(5, Box::new(theirs)));
        let (newer, theirs) = duplex(64);
        assert!(roster.deliver(5, Box::new(theirs)));
        // Nobody has taken the older one yet: it gives way to the newer.
        assert_eq!(older.read(&mut [0; 8]).await.unwrap(), 0);
        drop(newer);
        assert_eq!(guest.take().await.read(&mut [0; 8]).await.unwrap(), 0);

        roster.dismiss(5);
        let (_, theirs) = duplex(64);
        assert!(!roster.deliver(5, Box::new(theirs)));
    }
}
