//! A proxy between Unix sockets that counts bytes and rows.
//!
//! ```text
//! wire NAME LISTEN TARGET [NAME LISTEN TARGET ...]
//! ```
//!
//! For every connection it prints `open NAME` when it starts, and `closed NAME SENT RECEIVED ROWS` when it has ended:
//! bytes sent to the server, bytes received from it, and rows received. Used by `make demo-distributed`.

use std::fs::{Permissions, set_permissions};
use std::io::{Error, Read, Result, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

/// Counts rows in the messages of a PostgreSQL server: a type byte, a length that includes itself but not the type,
/// data.
#[derive(Default)]
struct Messages {
    head: Vec<u8>,
    /// Bytes of the current message that have not arrived yet.
    left: usize,
    rows: u64,
}

const HEAD: usize = 5;
const DATA_ROW: u8 = b'D';

impl Messages {
    fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let skipped = self.left.min(bytes.len());
                self.left -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            let taken = (HEAD - self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if let [type_, a, b, c, d] = self.head[..] {
                self.rows += u64::from(type_ == DATA_ROW);
                self.left = (u32::from_be_bytes([a, b, c, d]) as usize).saturating_sub(4);
                self.head.clear();
            }
        }
    }
}

/// Forwards data until the sender closes the connection; returns the number of bytes.
fn forward(mut from: UnixStream, mut to: UnixStream, mut observe: impl FnMut(&[u8])) -> u64 {
    let mut buffer = vec![0; 1 << 16];
    let mut count = 0;
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        count += read as u64;
        observe(&buffer[..read]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // Fails if the receiver has closed the connection already.
    let _ = to.shutdown(Shutdown::Write);
    count
}

fn connect(name: &str, client: UnixStream, target: &str) -> Result<()> {
    let server = UnixStream::connect(target)?;
    println!("open {name}");
    let (up, down) = (client.try_clone()?, server.try_clone()?);
    let sent = thread::spawn(move || forward(up, down, |_| ()));
    let mut messages = Messages::default();
    let received = forward(server, client, |bytes| messages.read(bytes));
    let sent = sent.join().map_err(|_| Error::other("forwarding to the server failed"))?;
    println!("closed {name} {sent} {received} {}", messages.rows);
    Ok(())
}

fn listen(name: &str, socket: &str, target: &str) -> Result<()> {
    let listener = UnixListener::bind(socket)?;
    // The servers may run as a different user.
    set_permissions(socket, Permissions::from_mode(0o777))?;
    let (name, target) = (name.to_owned(), target.to_owned());
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (name, target) = (name.clone(), target.clone());
            thread::spawn(move || connect(&name, client, &target).unwrap_or_else(|e| eprintln!("{name}: {e}")));
        }
    });
    Ok(())
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (wires, rest) = words.as_chunks::<3>();
    if wires.is_empty() || !rest.is_empty() {
        return Err(Error::other("usage: wire NAME LISTEN TARGET [NAME LISTEN TARGET ...]"));
    }
    for [name, socket, target] in wires {
        listen(name, socket, target)?;
    }
    println!("ready");
    loop {
        thread::park();
    }
}
