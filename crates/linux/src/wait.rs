// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for descriptors and for an instant in one system call.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use lasthop_core::units::Instant;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

use crate::clock::Clock;

/// Descriptors, each with a number, and a clock by which they are waited for.
#[derive(Debug)]
pub struct Waiter {
    clock: Clock,
    epoll: Epoll,
}

impl Waiter {
    /// One that watches nothing yet.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn new(clock: Clock) -> io::Result<Self> {
        Ok(Self { clock, epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)? })
    }

    /// Watches a descriptor for `events`, under this number, as long as it is open.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn watch(&self, descriptor: impl AsFd, events: EpollFlags, number: u64) -> io::Result<()> {
        Ok(self.epoll.add(descriptor, EpollEvent::new(events, number))?)
    }

    /// Waits until something is ready or `until` has come, whichever is first, to the nanosecond (`epoll_pwait2`, Linux
    /// 5.11); gives how many of `ready` are. A signal ends it early, with none.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait(&self, until: Instant, ready: &mut [EpollEvent]) -> io::Result<usize> {
        let ahead = until.saturating_since(self.clock.now()).as_nanos();
        let timeout = libc::timespec {
            tv_sec: (ahead / 1_000_000_000) as libc::time_t,
            tv_nsec: (ahead % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the kernel reads `timeout` and writes at most `ready.len()` events, which have its own layout.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.0.as_raw_fd(),
                ready.as_mut_ptr(),
                ready.len() as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        match usize::try_from(count) {
            Ok(count) => Ok(count),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
                error => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use lasthop_core::units::Duration;

    use super::*;

    #[test]
    fn what_is_ready_or_the_instant_ends_it_and_never_early() {
        let clock = Clock::starting_in(Duration::ZERO);
        let waiter = Waiter::new(clock).unwrap();
        let (mut near, far) = UnixStream::pair().unwrap();
        waiter.watch(&far, EpollFlags::EPOLLIN, 7).unwrap();
        let mut ready = [EpollEvent::empty(); 4];
        let until = clock.now() + Duration::from_micros(300);
        assert_eq!(waiter.wait(until, &mut ready).unwrap(), 0);
        assert!(clock.now() >= until);
        near.write_all(b"x").unwrap();
        assert_eq!(waiter.wait(clock.now() + Duration::from_secs(60), &mut ready).unwrap(), 1);
        assert_eq!(ready[0].data(), 7);
        // What has passed is not waited for.
        assert_eq!(waiter.wait(Instant::ZERO, &mut ready).unwrap(), 1);
    }
}
