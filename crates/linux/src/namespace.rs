// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces, which have no names: they go with the last process in them, so that nothing is left to clean.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid};

use crate::error::{Attempt, Error};

/// After so many attempts, one each so long, a thread that has been joined has left the kernel.
const ATTEMPTS: u32 = 500;
/// See `ATTEMPTS`.
const EVERY: Duration = Duration::from_millis(1);

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// A new one, which `set_up` fits out from inside.
    ///
    /// # Errors
    /// If the system allows none, or that of `set_up`.
    pub fn new<T: Send>(set_up: impl FnOnce() -> Result<T, Error> + Send) -> Result<(Self, T), Error> {
        in_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).attempt("make a network namespace")?;
            let own = File::open("/proc/thread-self/ns/net").attempt("open /proc/thread-self/ns/net")?;
            Ok((Self(own.into()), set_up()?))
        })
    }

    /// A new, empty one. Who may make none becomes root of a user namespace of its own first; it must then be the
    /// process's only thread.
    ///
    /// # Errors
    /// If the system allows neither.
    pub fn first() -> Result<Self, Error> {
        if is_forbidden(unshare_in_a_thread()) {
            let needs = "it takes root, or a system that lets users make user namespaces";
            become_root_of_own().map_err(|error| {
                // The kernel wants a process of one thread.
                let why = if error.raw_os_error() == Some(libc::EINVAL) { " while other threads run" } else { "" };
                Error::new(format!("cannot make a user namespace{why}: {error}: {needs}"))
            })?;
        }
        Self::new(|| Ok(())).map(|(namespace, ())| namespace)
    }

    /// Takes the calling thread into it, for good.
    ///
    /// # Errors
    /// If the system does not let it in.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(self.0.as_fd(), CloneFlags::CLONE_NEWNET)?)
    }

    /// Does something in it, in a thread of its own.
    ///
    /// # Errors
    /// If the system does not let it in, or that of `work`.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
        in_a_thread(|| {
            self.enter().attempt("enter a network namespace")?;
            work()
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A namespace is a thread's matter: what is done in one is done in a thread of its own.
fn in_a_thread<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Whether a network namespace can be made.
fn unshare_in_a_thread() -> nix::Result<()> {
    thread::scope(|scope| scope.spawn(|| unshare(CloneFlags::CLONE_NEWNET)).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn is_forbidden(result: nix::Result<()>) -> bool {
    matches!(result, Err(Errno::EPERM | Errno::EACCES))
}

/// The caller becomes root of a user namespace of its own. It must be the process's only thread.
fn become_root_of_own() -> io::Result<()> {
    let (user, group) = (Uid::effective(), Gid::effective());
    let mut attempts = 1;
    // A thread that has been joined is still the kernel's for a moment.
    while let Err(error) = unshare(CloneFlags::CLONE_NEWUSER) {
        if error != Errno::EINVAL || attempts == ATTEMPTS {
            return Err(error.into());
        }
        attempts += 1;
        thread::sleep(EVERY);
    }
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}
