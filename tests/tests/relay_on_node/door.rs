//! A door before the API server, which can be shut: whoever is inside is thrown out, and nobody comes in.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use anyhow::Result;
use serde_json::Value;

pub struct Door {
    /// `None` while it is shut.
    inside: Arc<Mutex<Option<Vec<TcpStream>>>>,
    held: Arc<Held>,
}

/// Whether nothing is carried through at the moment.
#[derive(Default)]
struct Held {
    held: Mutex<bool>,
    released: Condvar,
}

impl Door {
    /// An open door to the API server of a kubeconfig, which leads to the door from now on. Its threads end with
    /// the test program.
    pub fn before_server_of(config: &mut Value) -> Result<Self> {
        let address = &mut config["clusters"][0]["cluster"]["server"];
        let (host, port) = address.as_str().unwrap().rsplit_once(':').unwrap();
        let server: u16 = port.parse()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *address = format!("{host}:{}", listener.local_addr()?.port()).into();
        let inside = Arc::new(Mutex::new(Some(Vec::new())));
        let streams = Arc::clone(&inside);
        let held = Arc::new(Held::default());
        let holding = Arc::clone(&held);
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                // Held until both are in the list: a door that is shut meanwhile shuts them too.
                if let Some(inside) = streams.lock().unwrap().as_mut() {
                    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
                    for (from, to) in [(&client, &server), (&server, &client)] {
                        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                        let held = Arc::clone(&holding);
                        thread::spawn(move || carry(from, to, &held));
                    }
                    inside.extend([client, server]);
                }
            }
        });
        Ok(Self { inside, held })
    }

    /// From now on what goes through waits, and nobody knows.
    pub fn hold(&self) {
        *self.held.held.lock().unwrap() = true;
    }

    pub fn release(&self) {
        *self.held.held.lock().unwrap() = false;
        self.held.released.notify_all();
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

fn carry(mut from: TcpStream, mut to: TcpStream, held: &Held) {
    let mut chunk = [0; 4096];
    let mut next = || -> io::Result<bool> {
        let read = from.read(&mut chunk)?;
        let is_held = held.held.lock().unwrap();
        drop(held.released.wait_while(is_held, |held| *held).unwrap());
        to.write_all(&chunk[..read])?;
        Ok(read > 0)
    };
    while next().is_ok_and(|goes_on| goes_on) {}
    let _ = to.shutdown(Shutdown::Both);
}
