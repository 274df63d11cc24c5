// SPDX-License-Identifier: MIT OR Apache-2.0
//! The default buffer of sockets, which is the machine's: 200 kB, less than a burst of datagrams at a high rate.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};

use nix::fcntl::{Flock, FlockArg};

const DEFAULT: &str = "/proc/sys/net/core/rmem_default";
/// Who holds it shared wants large buffers; in it stands what the buffers were before.
const LOCK: &str = "/run/lasthop-rmem.lock";

/// Receive buffers are larger as long as this lives, and any other on this machine.
#[derive(Debug)]
pub struct LargeBuffers {
    lock: Option<Flock<File>>,
}

impl LargeBuffers {
    /// Raises the default receive buffer of the machine's sockets to so many bytes, where the system allows. The last that
    /// goes puts it back; one that was killed leaves that to the next.
    pub fn raise(bytes: u64) -> Option<Self> {
        let now: u64 = fs::read_to_string(DEFAULT).ok()?.trim().parse().ok()?;
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(LOCK).ok()?;
        if now < bytes {
            fs::write(DEFAULT, bytes.to_string()).ok()?;
            file.set_len(0).ok()?;
            file.write_all(now.to_string().as_bytes()).ok()?;
        }
        let lock = Flock::lock(file, FlockArg::LockSharedNonblock).ok()?;
        Some(Self { lock: Some(lock) })
    }
}

impl Drop for LargeBuffers {
    fn drop(&mut self) {
        let Some(lock) = self.lock.take() else { return };
        // Another still wants them: it is the one to put them back.
        let Ok(file) = lock.unlock() else { return };
        let Ok(mut last) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { return };
        let mut before = String::new();
        if last.rewind().and_then(|()| last.read_to_string(&mut before)).is_ok() && !before.is_empty() {
            // A system that no longer allows it keeps large buffers, which do no harm.
            let _ = fs::write(DEFAULT, before.trim()).and_then(|()| last.set_len(0));
        }
    }
}
