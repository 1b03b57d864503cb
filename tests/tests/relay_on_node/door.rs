//! A door before the API server, which can be shut: whoever is inside is thrown out, and nobody comes in.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::Result;

pub struct Door {
    pub port: u16,
    /// `None` while it is shut.
    inside: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Door {
    /// An open door to a port of 127.0.0.1. Its threads end with the test program.
    pub fn before(server: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let inside = Arc::new(Mutex::new(Some(Vec::new())));
        let streams = Arc::clone(&inside);
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                // Held until both are in the list: a door that is shut meanwhile shuts them too.
                if let Some(inside) = streams.lock().unwrap().as_mut() {
                    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
                    for (from, to) in [(&client, &server), (&server, &client)] {
                        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                        thread::spawn(move || carry(from, to));
                    }
                    inside.extend([client, server]);
                }
            }
        });
        Ok(Self { port, inside })
    }

    pub fn shut(&self) {
        for stream in self.inside.lock().unwrap().take().unwrap_or_default() {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn open(&self) {
        *self.inside.lock().unwrap() = Some(Vec::new());
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}
