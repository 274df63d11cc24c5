// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals that wait to be looked at.

use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
pub use nix::sys::signal::Signal;
use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::error::{Attempt, Error};

/// Signals that wait to be looked at, as long as this lives.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    before: SigSet,
}

/// Whence a signal comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From the terminal: to all processes in front of it.
    Terminal,
    /// From a process, to us.
    Process,
}

impl Signals {
    /// Holds back those that end a process, and `others`, from the calling thread and those it starts.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn block(others: &[Signal]) -> Result<Self, Error> {
        let mut watched = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT].iter().chain(others) {
            watched.add(*signal);
        }
        let mut before = SigSet::empty();
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&watched), Some(&mut before)).attempt("block signals")?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let descriptor = SignalFd::with_flags(&watched, flags).attempt("watch signals")?;
        Ok(Self { descriptor, before })
    }

    /// The next signal, if one comes within so many milliseconds, and whence it comes.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait(&self, most_ms: u8) -> Result<Option<(Signal, Origin)>, Error> {
        self.next(most_ms).attempt("wait for signals")
    }

    fn next(&self, most_ms: u8) -> nix::Result<Option<(Signal, Origin)>> {
        let mut watched = [PollFd::new(self.descriptor.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, PollTimeout::from(most_ms)) {
            Err(Errno::EINTR) | Ok(0) => return Ok(None),
            other => other?,
        };
        let Some(signal) = self.descriptor.read_signal()? else { return Ok(None) };
        let origin = if signal.ssi_code == libc::SI_KERNEL { Origin::Terminal } else { Origin::Process };
        Ok(Signal::try_from(signal.ssi_signo as i32).ok().map(|signal| (signal, origin)))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // What is pending has been looked at; should the mask stay, the process ends all the same.
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}
