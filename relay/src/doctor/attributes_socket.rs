//! Whether a relay listens where the NRI plugin asks.

use std::os::unix::net::UnixStream;
use std::path::Path;

use examination::Examination;

const CHECK: &str = "attributes-socket";

/// Connects, and says nothing.
pub fn examine(socket: &Path, examination: &mut Examination) {
    let place = socket.display();
    match UnixStream::connect(socket) {
        Ok(_) => examination.ok(CHECK, format!("{place}: a relay listens there")),
        Err(error) => examination.finding(
            CHECK,
            format!("{place}: {error}, so dra-guest-nri is told nothing of devices without metadata"),
            "start the relay with --attributes-socket, and dra-guest-nri with --attributes-socket and --attributes-user, which \
             makes the directory, as deploy/nri/attributes does",
        ),
    }
}
