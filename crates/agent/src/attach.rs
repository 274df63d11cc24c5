// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device, and the programs' links to it.

use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result, bail};
use lasthop_linux::bpf;
use lasthop_linux::netlink::{self, Routing};
use libbpf_rs::Program;
use nix::errno::Errno;

use crate::load::Programs;

/// What a device's packets begin with, by `ARPHRD_…` of linux/if_arp.h.
const LINK_HEADERS: [(u16, u32); 9] = [
    (1, 14),    // Ethernet
    (512, 0),   // PPP
    (519, 0),   // raw IP: wwan
    (65534, 0), // none: TUN
    (768, 0),   // IP in IP
    (769, 0),   // IPv6 in IPv6
    (776, 0),   // IPv6 in IPv4
    (772, 14),  // loopback
    (65535, 0), // void
];

/// Root qdiscs that are given a rate: the queue is theirs. Others are as fast as the device, and what is slowest may be
/// downstream; or they hold nothing themselves, or count it by processor.
const SHAPERS: [&str; 5] = ["tbf", "htb", "hfsc", "cake", "netem"];

/// A device of the calling thread's network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// What stands before the IP header \[B\].
    pub link_header_bytes: u32,
}

/// The name by which the agent of a device is found, whichever of the device's names that is; the same where there is none.
pub fn own_name(name: &str) -> String {
    netlink::device_index(name).and_then(netlink::device_name).unwrap_or_else(|_| name.to_owned())
}

impl Device {
    /// Finds it.
    ///
    /// # Errors
    /// If there is none by this name, or of a kind whose packets are not known.
    pub fn find(name: &str) -> Result<Self> {
        if name.is_empty() {
            bail!("no device: --dev DEV, or `device = \"DEV\"` in the file");
        }
        let index = match netlink::device_index(name) {
            Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => bail!("--dev {name}: no such device"),
            found => found.with_context(|| format!("--dev {name}: the kernel does not look for it"))?,
        };
        let kind = Routing::new().and_then(|routing| routing.link_type(index));
        let kind = kind.with_context(|| format!("--dev {name}: the kernel does not tell what it is"))?;
        let Some(&(_, link_header_bytes)) = LINK_HEADERS.iter().find(|(known, _)| *known == kind) else {
            bail!(
                "--dev {name}: its packets begin with a header of type {kind}; wanted Ethernet, PPP, TUN or another device of IP"
            );
        };
        Ok(Self { name: own_name(name), index, link_header_bytes })
    }

    /// Its root qdisc, and whether that is a shaper, which holds the queue and tells of it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn queue(&self) -> Result<(String, bool)> {
        let qdisc = Routing::new().and_then(|routing| routing.root_qdisc(self.index));
        let qdisc = qdisc.with_context(|| format!("--dev {}: the kernel does not tell its qdisc", self.name))?;
        let qdisc = qdisc.unwrap_or_else(|| "noqueue".into());
        let shapes = SHAPERS.contains(&qdisc.as_str());
        Ok((qdisc, shapes))
    }

    /// Why it is not what it was, if so: gone, or of another name.
    pub fn left(&self) -> Option<String> {
        match netlink::device_name(self.index) {
            Ok(name) if name == self.name => None,
            Ok(name) => Some(format!("the device has another name, {name}")),
            Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) => Some("the device is gone".into()),
            // What the system cannot tell just now says nothing of it.
            Err(_) => None,
        }
    }
}

/// The links; the programs are at the device as long as this lives.
#[derive(Debug)]
pub struct Links {
    _links: [OwnedFd; 2],
}

impl Links {
    /// Puts both programs at the device. ACKs are heard before data are counted, so that no window is lowered for want
    /// of what was not seen.
    ///
    /// # Errors
    /// The kernel's.
    pub fn attach(programs: &Programs, device: &Device) -> Result<Self> {
        let link = |(name, direction)| {
            bpf::attach(programs.program(name)?.as_fd(), device.index, direction).map_err(|error| {
                let is_gone = error.raw_os_error() == Some(Errno::ENODEV as i32);
                let takes = if is_gone { "it has just gone" } else { "tcx: Linux 6.6 or newer" };
                anyhow::Error::new(error).context(format!("cannot put a program at {} ({takes})", device.name))
            })
        };
        let [first, second] = programs.mode().places();
        Ok(Self { _links: [link(first)?, link(second)?] })
    }

    /// Whether both are still at the device: another may have taken them away.
    ///
    /// # Errors
    /// The kernel's.
    pub fn are_there(programs: &Programs, device: &Device) -> Result<bool> {
        for (name, direction) in programs.mode().places() {
            let program = Program::id_from_fd(programs.program(name)?.as_fd())?;
            let there = bpf::attached(device.index, direction);
            if !there.with_context(|| format!("cannot look for programs at {}", device.name))?.contains(&program) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
