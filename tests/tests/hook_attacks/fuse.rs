//! A file system in user space (FUSE) that stops answering: one directory, or one file, with as much of the kernel's
//! protocol (`linux/fuse.h`, 7.31) as a hook asks for.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// What the kernel asks for, as the hook brings it about.
pub(crate) mod operation {
    pub(crate) const LOOKUP: u32 = 1;
    pub(crate) const FORGET: u32 = 2;
    pub(crate) const GETATTR: u32 = 3;
    pub(crate) const SETATTR: u32 = 4;
    pub(crate) const UNLINK: u32 = 10;
    pub(crate) const RENAME: u32 = 12;
    pub(crate) const OPEN: u32 = 14;
    pub(crate) const READ: u32 = 15;
    pub(crate) const WRITE: u32 = 16;
    pub(crate) const RELEASE: u32 = 18;
    pub(crate) const FSYNC: u32 = 20;
    pub(crate) const FLUSH: u32 = 25;
    pub(crate) const INIT: u32 = 26;
    pub(crate) const OPENDIR: u32 = 27;
    pub(crate) const READDIR: u32 = 28;
    pub(crate) const RELEASEDIR: u32 = 29;
    pub(crate) const FSYNCDIR: u32 = 30;
    pub(crate) const CREATE: u32 = 35;
    pub(crate) const INTERRUPT: u32 = 36;
    pub(crate) const BATCH_FORGET: u32 = 42;
}
use operation::{
    BATCH_FORGET, CREATE, FLUSH, FORGET, FSYNC, FSYNCDIR, GETATTR, INIT, INTERRUPT, LOOKUP, OPEN,
    OPENDIR, READ, READDIR, RELEASE, RELEASEDIR, RENAME, SETATTR, UNLINK, WRITE,
};

/// The one number of the root, and of the file that is made in it.
const ROOT: u64 = 1;
const CREATED: u64 = 2;
const HEADER: usize = 40;

/// When it falls silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// It takes nothing any more once it has answered so many requests, like a server that was stopped.
    After(usize),
    /// It takes this request, and never answers it.
    Holding(u32),
}

/// A mounted file system, until it is dropped.
pub(crate) struct Fuse {
    target: PathBuf,
    stop: Option<Sender<()>>,
    server: Option<JoinHandle<Vec<u32>>>,
}

impl Fuse {
    /// Mounts it at `target`: a file of these bytes, or without them an empty directory.
    pub(crate) fn mount(target: &Path, file: Option<&'static [u8]>, silence: Silence) -> Self {
        let device = File::options()
            .read(true)
            .write(true)
            .open("/dev/fuse")
            .expect("/dev/fuse of this machine (modprobe fuse)");
        let mode = mode_of(file);
        let options = format!(
            "fd={},rootmode={mode:o},user_id=0,group_id=0,allow_other",
            device.as_raw_fd()
        );
        let options = std::ffi::CString::new(options).unwrap();
        mount("silent", target, "fuse", MountFlags::empty(), &*options).unwrap();
        let (stop, stopped) = channel();
        let server = Server {
            device,
            file,
            silence,
            created: false,
            answered: Vec::new(),
        };
        Self {
            target: target.to_owned(),
            stop: Some(stop),
            server: Some(std::thread::spawn(move || server.run(&stopped))),
        }
    }

    /// Ends it, as when a server dies; what it answered, in order.
    pub(crate) fn end(mut self) -> Vec<u32> {
        drop(self.stop.take());
        self.server.take().unwrap().join().unwrap()
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
        let _ = unmount(&self.target, UnmountFlags::DETACH);
    }
}

struct Server {
    device: File,
    file: Option<&'static [u8]>,
    silence: Silence,
    /// Whether the one file is there, by the hook's temporary name.
    created: bool,
    answered: Vec<u32>,
}

impl Server {
    fn run(mut self, stopped: &Receiver<()>) -> Vec<u32> {
        let mut request = vec![0; 256 << 10];
        // Until it is told to end or silent; then it holds the device, so that nothing is given up.
        while self.silence != Silence::After(self.answered.len()) {
            let step = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: 20_000_000,
            };
            let mut ready = [PollFd::new(&self.device, PollFlags::IN)];
            if poll(&mut ready, Some(&step)).unwrap() == 0 {
                if stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected) {
                    return self.answered;
                }
                continue;
            }
            // A request may have been taken back in the meantime.
            let Ok(length) = self.device.read(&mut request) else {
                continue;
            };
            let request = &request[..length];
            if self.silence == Silence::Holding(number(request, 4)) {
                break;
            }
            self.answer(request);
        }
        let _ = stopped.recv();
        self.answered
    }

    fn answer(&mut self, request: &[u8]) {
        let operation = number(request, 4);
        let node = u64::from_le_bytes(request[16..24].try_into().unwrap());
        let body = &request[HEADER..];
        let mut error = 0;
        let answer = match operation {
            FORGET | BATCH_FORGET | INTERRUPT => return,
            // Version, read-ahead, flags, requests in the background, the largest write, …
            INIT => words(&[
                7,
                31,
                0,
                0,
                0x0010_0010,
                1 << 17,
                1,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
            ]),
            GETATTR | SETATTR => [words(&[0; 4]), self.attributes(node)].concat(),
            OPEN | OPENDIR => words(&[0; 4]),
            LOOKUP if self.created && body.starts_with(b".") => self.entry(),
            CREATE => [self.entry(), words(&[0; 4])].concat(),
            READ => {
                let bytes = self.file.unwrap_or_default();
                bytes[bytes.len().min(number(body, 8) as usize)..].to_vec()
            }
            READDIR | RENAME | UNLINK | FSYNC | FSYNCDIR | FLUSH | RELEASE | RELEASEDIR => {
                Vec::new()
            }
            WRITE => words(&[number(body, 16), 0]),
            LOOKUP => {
                error = -Errno::NOENT.raw_os_error();
                Vec::new()
            }
            _ => {
                error = -Errno::NOSYS.raw_os_error();
                Vec::new()
            }
        };
        let mut bytes = words(&[u32::try_from(16 + answer.len()).unwrap()]);
        bytes.extend(error.to_le_bytes());
        bytes.extend(&request[8..16]);
        bytes.extend(answer);
        // Whoever asked may have been killed.
        let _ = self.device.write(&bytes);
        match operation {
            CREATE => self.created = true,
            RENAME => self.created = false,
            _ => {}
        }
        self.answered.push(operation);
    }

    /// `struct fuse_attr`.
    fn attributes(&self, node: u64) -> Vec<u8> {
        let (mode, size) = if node == ROOT {
            (mode_of(self.file), self.file.map_or(0, <[u8]>::len))
        } else {
            (0o100_644, 0)
        };
        let mut bytes = node.to_le_bytes().to_vec();
        bytes.extend((size as u64).to_le_bytes());
        bytes.extend([0; 8 * 4 + 4 * 3]);
        bytes.extend(words(&[mode, 1, 0, 0, 0, 4096, 0]));
        bytes
    }

    /// `struct fuse_entry_out`.
    fn entry(&self) -> Vec<u8> {
        let mut bytes = CREATED.to_le_bytes().to_vec();
        bytes.extend([0; 8 * 3 + 4 * 2]);
        bytes.extend(self.attributes(CREATED));
        bytes
    }
}

fn mode_of(file: Option<&[u8]>) -> u32 {
    if file.is_some() { 0o100_644 } else { 0o040_755 }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
