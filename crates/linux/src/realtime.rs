// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread that keeps time needs of the system.

use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};

/// Priority among real-time threads: above none, below the system's own.
const PRIORITY: i32 = 10;

/// All memory stays where it is as long as this lives.
#[derive(Debug)]
pub struct LockedMemory(bool);

impl LockedMemory {
    /// Locks it, where the system allows.
    pub fn lock() -> Self {
        Self(mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).is_ok())
    }

    /// Whether it did.
    pub fn is_locked(&self) -> bool {
        self.0
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // What cannot be unlocked stays locked: that does no harm.
        let _ = munlockall();
    }
}

/// Which of the threads that keep time goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The one that all others wait for.
    First,
    /// Those behind it.
    Second,
}

/// Makes this thread a real-time one (SCHED_FIFO), where the system allows; whether it does. Where not, its timers are made
/// as sharp as those of such a thread.
pub fn become_realtime(rank: Rank) -> bool {
    let parameters = libc::sched_param { sched_priority: PRIORITY - i32::from(rank == Rank::Second) };
    // A kernel that does not know of slack has none.
    let _ = nix::sys::prctl::set_timerslack(1);
    // SAFETY: the call reads `parameters` and changes the calling thread's scheduling alone.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters) == 0 }
}
