// SPDX-License-Identifier: MIT OR Apache-2.0
//! The agent as a service: what it tells the manager of services and the log, and which rights it keeps.

use std::env;
use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, Result};
use caps::{CapSet, Capability, CapsHashSet};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::stat::fstat;
use sd_notify::NotifyState;

use crate::status::Status;

/// How often the manager is told how it is.
const TELL_NS: u64 = 5_000_000_000;

/// The rights that it takes.
pub const RIGHTS: [Capability; 3] = [Capability::CAP_NET_ADMIN, Capability::CAP_PERFMON, Capability::CAP_BPF];

/// Says what ended the command; gives its exit status: 2, or 1 where that may pass by itself, so that another start is worth it.
pub fn failed(error: &anyhow::Error) -> u8 {
    say("<3>", format_args!("{error:#}"));
    let passes = |cause: &io::Error| {
        let passing = [Errno::ENODEV, Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM];
        cause.kind() == io::ErrorKind::AddrInUse
            || passing.iter().any(|error| cause.raw_os_error() == Some(*error as i32))
    };
    if error.chain().filter_map(|cause| cause.downcast_ref()).any(passes) { 1 } else { 2 }
}

/// Those of them that this process has not.
pub fn missing_rights() -> Vec<Capability> {
    let held = caps::read(None, CapSet::Effective).unwrap_or_default();
    RIGHTS.into_iter().filter(|right| !held.contains(right)).collect()
}

/// Rights as they are told.
pub fn named(rights: &[Capability]) -> String {
    rights.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Gives up all rights but those that it takes, and the way to new ones.
///
/// # Errors
/// The kernel's.
pub fn drop_rights() -> Result<()> {
    let held = caps::read(None, CapSet::Permitted).context("cannot read this process's rights")?;
    let kept: CapsHashSet = RIGHTS.into_iter().filter(|right| held.contains(right)).collect();
    for set in [CapSet::Ambient, CapSet::Inheritable] {
        caps::clear(None, set).context("cannot give up rights")?;
    }
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &kept).context("cannot give up rights")?;
    }
    prctl::set_no_new_privs().context("cannot give up new rights")
}

/// Says what was done, and why.
pub fn note(text: impl Display) {
    say("<6>", text);
}

/// Says what is not as it should be.
pub fn warn(text: impl Display) {
    say("<4>", text);
}

/// The journal takes the level from the line's head; it knows who speaks.
fn say(level: &str, text: impl Display) {
    let head = if speaks_to_journal() { level } else { "lasthop-agent: " };
    // A log that is full, or gone, ends nothing.
    let _ = writeln!(io::stderr(), "{head}{text}");
}

/// Whether standard error is what the manager of services has connected to the journal (systemd.exec(5)), not what has been put in its place
/// since.
fn speaks_to_journal() -> bool {
    let Ok(stream) = env::var("JOURNAL_STREAM") else { return false };
    fstat(io::stderr()).is_ok_and(|found| stream == format!("{}:{}", found.st_dev, found.st_ino))
}

/// What the manager of services hears; nothing where there is none.
#[derive(Debug)]
pub struct Manager {
    /// Twice as often as it wants to hear of us.
    alive_every_ns: Option<u64>,
    alive_next_ns: u64,
    tell_next_ns: u64,
    is_there: bool,
}

impl Manager {
    /// The one that started us.
    pub fn find() -> Self {
        let patience = sd_notify::watchdog_enabled().map(|patience: Duration| patience / 2);
        Self {
            alive_every_ns: patience.map(|half| u64::try_from(half.as_nanos()).unwrap_or(u64::MAX)),
            alive_next_ns: 0,
            tell_next_ns: 0,
            is_there: env::var_os("NOTIFY_SOCKET").is_some(),
        }
    }

    /// We do what we are there for.
    pub fn ready(&self, text: &str) {
        tell(&[NotifyState::Ready, NotifyState::Status(text)]);
    }

    /// We are alive.
    pub fn alive(&mut self, now_ns: u64) {
        if let Some(every_ns) = self.alive_every_ns.filter(|_| now_ns >= self.alive_next_ns) {
            self.alive_next_ns = now_ns + every_ns;
            tell(&[NotifyState::Watchdog]);
        }
    }

    /// Whether it is to hear how we are.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.is_there && now_ns >= self.tell_next_ns
    }

    /// How we are.
    pub fn status(&mut self, status: &Status, now_ns: u64) {
        self.tell_next_ns = now_ns + TELL_NS;
        tell(&[NotifyState::Status(&status.line())]);
    }

    /// We leave.
    pub fn stopping(&self, why: &str) {
        tell(&[NotifyState::Stopping, NotifyState::Status(why)]);
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn(format_args!("cannot tell the manager of services: {error}"));
    }
}
