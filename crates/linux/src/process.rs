// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that run in a namespace, each in a process tree that ends with us.
//!
//! `unshare` (util-linux) gives a command process numbers of its own: when its first process ends, or we do, the kernel
//! kills all that it has started. `setpriv` (util-linux) takes root's rights from it.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::unistd::{Uid, User, geteuid};

use crate::error::{Attempt, Error};
use crate::namespace::Namespace;

/// The shell between the first process, to which signals without a handler do nothing, and the command. An interrupt from
/// the terminal, which `unshare` and the shell outlive to tell the status, is the command's alone.
const FIRST_PROCESS: [&str; 6] =
    ["env", "--default-signal=INT,QUIT", "/bin/sh", "-c", "trap : INT QUIT; \"$@\"; exit $?", "lasthop"];

/// What takes root's rights: no capability, nor a way to get one but that by which `ping` pings.
const WITHOUT_RIGHTS: [&str; 5] = [
    "setpriv",
    "--inh-caps=-all",
    "--ambient-caps=-all",
    "--bounding-set=-all,+net_raw",
    "--securebits=+noroot,+noroot_locked",
];

/// As whom a command runs, and with what rights.
#[derive(Clone, Debug, Default)]
pub enum Rights {
    /// As ourselves, without root's capabilities.
    #[default]
    Plain,
    /// As another user.
    Of(Box<User>),
    /// As ourselves, with all that we have.
    All,
}

impl Rights {
    /// Those of a user by name. It takes root.
    ///
    /// # Errors
    /// If there is no such user, or we may not become another.
    pub fn of_user(name: &str) -> Result<Self, Error> {
        let user = User::from_name(name).attempt(&format!("look up the user {name}"))?;
        let user = user.ok_or_else(|| Error::new(format!("{name:?}: wanted a user of this machine")))?;
        if !geteuid().is_root() {
            return Err(Error::new(format!("{name:?}: wanted root, who alone may run commands as somebody else")));
        }
        Ok(Self::Of(Box::new(user)))
    }

    /// Those of the user who called us by `sudo`, or our own.
    pub fn of_caller() -> Self {
        let uid = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok()).map(Uid::from_raw);
        let user = uid.filter(|uid| !uid.is_root() && geteuid().is_root()).and_then(|uid| User::from_uid(uid).ok()?);
        user.map_or(Self::Plain, |user| Self::Of(Box::new(user)))
    }

    /// What stands in front of a command that has these rights.
    fn prefix(&self) -> Vec<OsString> {
        let without = WITHOUT_RIGHTS.map(OsString::from);
        match self {
            Self::All => vec![],
            Self::Plain => without.into_iter().chain(["--".into()]).collect(),
            Self::Of(user) => {
                let own = [
                    format!("--reuid={}", user.uid),
                    format!("--regid={}", user.gid),
                    "--init-groups".to_owned(),
                    "--".to_owned(),
                ];
                without.into_iter().chain(own.map(OsString::from)).collect()
            }
        }
    }

    fn variables(&self) -> Vec<(String, OsString)> {
        match self {
            Self::Plain | Self::All => vec![],
            Self::Of(user) => vec![
                ("HOME".to_owned(), user.dir.clone().into_os_string()),
                ("USER".to_owned(), user.name.clone().into()),
                ("LOGNAME".to_owned(), user.name.clone().into()),
            ],
        }
    }
}

/// Starts a command in a namespace, with `variables` in its environment. Its standard output is ours, or our standard error
/// if ours is to be kept `apart`.
///
/// # Errors
/// If the system does not start it. A command that is not to be found ends with 127, as in a shell.
pub fn start(
    arguments: &[OsString],
    namespace: &Namespace,
    variables: &[(String, String)],
    (rights, apart): (&Rights, bool),
) -> Result<Running, Error> {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--"]);
    command.args(FIRST_PROCESS).args(rights.prefix()).args(arguments);
    command.envs(rights.variables());
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    if apart {
        let ours = io::stderr().as_fd().try_clone_to_owned().attempt("share standard error")?;
        command.stdout(Stdio::from(ours));
    }
    let descriptor = namespace.as_fd().as_raw_fd();
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

/// A program that serves us until we end, however that is, and has said that it is ready. What else it says is heard, so that it never
/// waits for that; the last line of its complaints is kept.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    /// Its last line of complaint.
    complaint: Arc<Mutex<String>>,
}

impl Helper {
    /// Starts it, in a namespace if that is another one than ours, and waits for the first line that it writes.
    ///
    /// # Errors
    /// If it cannot be started, or ends before it is ready; with its last line of complaint.
    pub fn start(program: &OsStr, arguments: &[String], namespace: Option<&Namespace>) -> Result<Self, Error> {
        let what = program.to_string_lossy();
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // An interrupt from the terminal is not its matter: it serves us until we end.
        command.process_group(0);
        let descriptor = namespace.map(|namespace| namespace.as_fd().as_raw_fd());
        // SAFETY: between fork and exec nothing but system calls are made.
        unsafe {
            command.pre_exec(move || {
                let enters = descriptor.is_none_or(|descriptor| libc::setns(descriptor, libc::CLONE_NEWNET) == 0);
                match enters && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0 {
                    true => Ok(()),
                    false => Err(io::Error::last_os_error()),
                }
            });
        }
        let mut child = command.spawn().attempt(&format!("run {what}"))?;
        let mut said = child.stdout.take().map(BufReader::new);
        let complaint = Arc::<Mutex<String>>::default();
        let hearing = child.stderr.take().map(|said| {
            let last = complaint.clone();
            thread::spawn(move || keep_last_line(said, &last))
        });
        let mut helper = Self { child, complaint };
        let mut ready = String::new();
        if let Some(said) = &mut said {
            said.read_line(&mut ready).attempt(&format!("hear {what}"))?;
        }
        if ready.is_empty() {
            // All that it says, until nobody is left who could.
            let _ = hearing.map(thread::JoinHandle::join);
            let line = format!("{what}: {}", helper.last_line().unwrap_or("it ended without a word".to_owned()));
            let is_refusal = helper.child.wait().is_ok_and(|status| status.code() == Some(2));
            return Err(if is_refusal { Error::refused(line) } else { Error::new(line) });
        }
        thread::spawn(|| said.map(|mut said| io::copy(&mut said, &mut io::sink())));
        Ok(helper)
    }

    /// How it ended, if it does not run any more, and its last line of complaint.
    pub fn ended(&mut self) -> Option<String> {
        let status = match self.child.try_wait() {
            Ok(status) => status?.to_string(),
            Err(error) => return Some(error.to_string()),
        };
        Some(self.last_line().map_or(status.clone(), |line| format!("{status}: {line}")))
    }

    fn last_line(&self) -> Option<String> {
        let line = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        (!line.is_empty()).then(|| line.clone())
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // One that has ended already needs no end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hears all that is said, and keeps the last line that is not empty.
fn keep_last_line(said: impl Read, last: &Mutex<String>) {
    for line in BufReader::new(said).split(b'\n').map_while(Result::ok).filter(|line| !line.is_empty()) {
        *last.lock().unwrap_or_else(PoisonError::into_inner) = String::from_utf8_lossy(&line).into_owned();
    }
}

fn status_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(Signal::SIGKILL as i32))
}

fn display(arguments: &[OsString]) -> String {
    arguments.first().map_or(OsStr::new(""), OsString::as_os_str).to_string_lossy().into_owned()
}
