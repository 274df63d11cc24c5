// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that run in a namespace, each in a process tree that ends with us.
//!
//! `unshare` (util-linux) gives a command process numbers of its own: when its first process ends, or we do, the kernel
//! kills all that it has started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};

use crate::error::Error;
use crate::namespace::Namespace;

/// The shell between the first process, to which signals without a handler do nothing, and the command. An interrupt from
/// the terminal, which `unshare` and the shell outlive to tell the status, is the command's alone.
const FIRST_PROCESS: [&str; 6] =
    ["env", "--default-signal=INT,QUIT", "/bin/sh", "-c", "trap : INT QUIT; \"$@\"; exit $?", "lasthop"];

/// Starts a command in a namespace, with `variables` in its environment.
///
/// # Errors
/// If the system does not start it. A command that is not to be found ends with 127, as in a shell.
pub fn start(arguments: &[OsString], namespace: &Namespace, variables: &[(String, String)]) -> Result<Running, Error> {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--"]);
    command.args(FIRST_PROCESS).args(arguments);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let descriptor = std::os::fd::AsFd::as_fd(namespace).as_raw_fd();
    // SAFETY: between fork and exec nothing but system calls is made.
    unsafe {
        command.pre_exec(move || {
            if libc::setns(descriptor, libc::CLONE_NEWNET) < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0
            {
                return Err(io::Error::last_os_error());
            }
            for signal in [libc::SIGINT, libc::SIGQUIT] {
                if libc::signal(signal, libc::SIG_IGN) == libc::SIG_ERR {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?)
        });
    }
    command.spawn().map(Running).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::new("cannot find `unshare`: wanted the package util-linux"),
        _ => Error::of(&format!("start {}", display(arguments)), error),
    })
}

/// A command, which ends with this at the latest, and all that it has started with it.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Its exit status as a shell gives it, if it has ended.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn status(&mut self) -> io::Result<Option<i32>> {
        Ok(self.0.try_wait()?.map(status_of))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended already needs no end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(Signal::SIGKILL as i32))
}

fn display(arguments: &[OsString]) -> String {
    arguments.first().map_or(OsStr::new(""), OsString::as_os_str).to_string_lossy().into_owned()
}
