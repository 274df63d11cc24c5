// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a command speaks with the agent of a device: a socket with an abstract name. It belongs to the network namespace,
//! as the device does, only one process has it, and it goes with that process.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::RangeInclusive;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use caps::{CapSet, Capability};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;

/// Users are people from this one on, but for those that systemd makes for services (its UIDS-GIDS.md).
const FIRST_PERSON: u32 = 1000;
const SERVICES: RangeInclusive<u32> = 61184..=65519;

/// How long the other side may take, and how long to ask, which is a line.
const PATIENCE: Duration = Duration::from_secs(10);
const ASKING: Duration = Duration::from_secs(1);

/// So many are answered at a look: who asks without end keeps the agent from nothing else.
const AT_ONCE: usize = 16;

/// What the agent is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// To tell how it is.
    Status,
    /// To leave.
    Detach,
}

/// The agent's end.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    /// Who wants an end hears of it once that is there: when this goes, behind the socket.
    leaving: Vec<UnixStream>,
}

impl Listener {
    /// The one of a device, or of what else an agent is at; this command ends who has it.
    ///
    /// # Errors
    /// If another agent has it.
    pub fn bind(device: &str, way: &str) -> Result<Self> {
        let socket = match UnixListener::bind_addr(&address(device)?) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let other = UnixStream::connect_addr(&address(device)?);
                demand_agent(
                    &other.with_context(|| format!("another process has the name of the agent at {device}"))?,
                    device,
                )?;
                bail!("an agent is at {device} already: `lasthop-agent {way}` ends it")
            }
            other => other.context("cannot listen for commands")?,
        };
        socket.set_nonblocking(true)?;
        Ok(Self { socket, leaving: vec![] })
    }

    /// Answers those who have asked, and gives whether one of them wants an end.
    pub fn answer(&mut self, status: impl Fn() -> Result<String>) -> bool {
        for _ in 0..AT_ONCE {
            let Ok((stream, _)) = self.socket.accept() else { break };
            // Who goes before the answer is there does not want it.
            self.leaving.extend(answer_one(stream, &status).ok().flatten());
        }
        !self.leaving.is_empty()
    }
}

/// Whether an agent, or a process by its name, is at a device.
pub fn is_taken(device: &str) -> bool {
    address(device).is_ok_and(|address| UnixStream::connect_addr(&address).is_ok())
}

/// Answers one who asks; gives the way back to who wants an end.
fn answer_one(stream: UnixStream, status: impl Fn() -> Result<String>) -> Result<Option<UnixStream>> {
    let asker = getsockopt(&stream, PeerCredentials)?.uid();
    if asker != 0 && asker != geteuid().as_raw() {
        bail!("user {asker} may not ask");
    }
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(ASKING))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&stream).take(64)).read_line(&mut line)?;
    let wants_end = line == "detach\n";
    (&stream).write_all(status()?.as_bytes())?;
    Ok(wants_end.then_some(stream))
}

/// Asks the agent of a device; gives its status, and where it is to leave, once it has left.
///
/// # Errors
/// If there is none, or it does not answer.
pub fn ask(device: &str, request: Request) -> Result<String> {
    let mut stream = UnixStream::connect_addr(&address(device)?).map_err(|_| anyhow!("no agent is at {device}"))?;
    demand_agent(&stream, device)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(match request {
        Request::Status => b"status\n",
        Request::Detach => b"detach\n",
    })?;
    let mut answer = String::new();
    match stream.read_to_string(&mut answer) {
        // It closes at once where it does not answer, with our question unread.
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => {
            return Err(error).with_context(|| format!("the agent at {device} does not answer"));
        }
        _ if answer.is_empty() => bail!("the agent at {device} does not answer: only root may ask"),
        _ => {}
    }
    Ok(answer)
}

/// Anybody may take a name that is free: no person's process is believed to be an agent, but one's own and those with the agent's rights.
fn demand_agent(stream: &UnixStream, device: &str) -> Result<()> {
    let peer = getsockopt(stream, PeerCredentials)?;
    let (user, own) = (peer.uid(), geteuid().as_raw());
    if user < FIRST_PERSON || user == own || SERVICES.contains(&user) || may_steer(peer.pid()) {
        return Ok(());
    }
    bail!("process {} of user {user} has the name of the agent at {device} and is none: end it", peer.pid());
}

/// Whether a process has the right to steer this device, as far as this one may know. In a user namespace of its own everybody has all
/// rights, which count there alone.
fn may_steer(process: i32) -> bool {
    let users = |of: &str| fs::read_link(format!("/proc/{of}/ns/user")).ok();
    let theirs = users(&process.to_string());
    // 0: of another namespace of processes.
    process > 0
        && caps::has_cap(Some(process), CapSet::Effective, Capability::CAP_NET_ADMIN).unwrap_or(false)
        && (theirs.is_none() || theirs == users("self"))
}

fn address(device: &str) -> Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("lasthop-agent/{device}"))
        .map_err(|_| anyhow!("no agent is at {device:?}: wanted a shorter name"))
}
