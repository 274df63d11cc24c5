// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces of our own making: one for the servers and one for each host, each with a TUN device.
//!
//! They have no names: they go with the last process in them, so that nothing is left to clean, however we end.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid};

use crate::device::{self, Device};
use crate::error::{Attempt, Error};
use crate::plan::{Ip, MOST_EMULATIONS, Plan};
use crate::rtnetlink::{Prefix, Routing, Via, device_index};

/// Packets that a device holds while we do not look.
const DEVICE_QUEUE: u32 = 10_000;

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace(OwnedFd);

impl Namespace {
    /// A new one, which `set_up` fits out from inside.
    fn new<T: Send>(set_up: impl FnOnce() -> Result<T, Error> + Send) -> Result<(Self, T), Error> {
        in_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).attempt("make a network namespace")?;
            let own = File::open("/proc/thread-self/ns/net").attempt("open /proc/thread-self/ns/net")?;
            Ok((Self(own.into()), set_up()?))
        })
    }

    /// Takes the calling thread into it, for good.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(setns(self.0.as_fd(), CloneFlags::CLONE_NEWNET)?)
    }

    /// Does something in it.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
        in_a_thread(|| {
            self.enter().attempt("enter a network namespace")?;
            work()
        })
    }

    /// Packets that the kernel could not queue for our device.
    fn overruns(&self) -> u64 {
        let read = || fs::read_to_string("/proc/thread-self/net/dev").attempt("read /proc/thread-self/net/dev");
        self.within(read).map_or(0, |table| dropped(&table, device::NAME))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The column of dropped outgoing packets of /proc/net/dev.
fn dropped(table: &str, name: &str) -> u64 {
    let row = table.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    row.and_then(|row| row.split_whitespace().nth(11)?.parse().ok()).unwrap_or(0)
}

/// A namespace is a thread's matter: what is done in one is done in a thread of its own.
fn in_a_thread<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// The namespaces of an emulation.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) servers: Namespace,
    pub(crate) hosts: Vec<Namespace>,
    /// The servers' device, then those of the hosts.
    pub(crate) devices: Vec<Device>,
    way: Option<Way>,
}

/// How the namespaces are fitted out.
#[derive(Clone, Debug)]
pub(crate) struct Fittings {
    pub(crate) mtu: u16,
    pub(crate) joins: bool,
    /// The congestion control of sockets that do not say otherwise.
    pub(crate) congestion_control: Option<String>,
    /// Whether nobody else sets it, so that a kernel that does not allow this is an error.
    pub(crate) must_be_default: bool,
}

impl House {
    /// Packets that the kernels could not queue for our devices.
    pub(crate) fn overruns(&self) -> u64 {
        std::iter::once(&self.servers).chain(&self.hosts).map(Namespace::overruns).sum()
    }

    /// Whether the machine can be reached from inside.
    pub(crate) fn reaches_machine(&self) -> bool {
        self.way.is_some()
    }

    /// Builds the namespaces of a plan, whose number it may change to the first free one.
    pub(crate) fn build(plan: &mut Plan, hosts: usize, fittings: &Fittings) -> Result<Self, Error> {
        // The way to the machine comes first: its name claims the emulation's number.
        let servers = first_namespace()?;
        let way = connect_machine(plan, &servers, fittings)?;
        let device = servers.within(|| fit_servers(plan, fittings, way.is_some()))?;
        let mut house = Self { servers, hosts: vec![], devices: vec![device], way };
        for host in 0..hosts {
            let (namespace, device) = Namespace::new(|| fit_host(plan, host, fittings))?;
            house.hosts.push(namespace);
            house.devices.push(device);
        }
        Ok(house)
    }
}

/// The servers' namespace; who may make none becomes root of a user namespace first.
fn first_namespace() -> Result<Namespace, Error> {
    let make = || Namespace::new(|| Ok(())).map(|(namespace, ())| namespace);
    if is_forbidden(unshare_in_a_thread()) {
        let needs = "it takes root, or a system that lets users make user namespaces";
        become_root_of_own().map_err(|error| {
            // The kernel wants a process of one thread.
            let why = if error.raw_os_error() == Some(libc::EINVAL) { " while other threads run" } else { "" };
            Error::System(format!("cannot make a user namespace{why}: {error}: {needs}"))
        })?;
    }
    make()
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
    unshare(CloneFlags::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// An emulation's number: nobody else on this machine has it as long as this lives, however that ends.
#[derive(Debug)]
struct Claim {
    _name: UnixListener,
}

/// Claims the first free number for a plan.
fn claim(plan: &mut Plan) -> Result<Claim, Error> {
    for number in 0..MOST_EMULATIONS {
        let name = SocketAddr::from_abstract_name(format!("lasthop/{number}")).attempt("name a socket")?;
        match UnixListener::bind_addr(&name) {
            Ok(listener) => {
                plan.number = number;
                return Ok(Claim { _name: listener });
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(Error::system("claim a number for the emulation", error)),
        }
    }
    Err(Error::System(format!("{MOST_EMULATIONS} emulations run already: wanted fewer")))
}

/// A pair of devices between the machine and the servers; it goes with this.
#[derive(Debug)]
struct Way {
    name: String,
    _claim: Claim,
}

impl Drop for Way {
    fn drop(&mut self) {
        // The kernel removes it with the servers' namespace at the latest.
        let _ = Routing::new().and_then(|routing| routing.remove(&self.name));
    }
}

/// Connects the machine and the servers, where the kernel has the devices for it.
fn connect_machine(plan: &mut Plan, servers: &Namespace, fittings: &Fittings) -> Result<Option<Way>, Error> {
    let claim = claim(plan)?;
    let routing = Routing::new().attempt("open a netlink socket")?;
    let mtu = u32::from(fittings.mtu).max(1500);
    let name = format!("lasthop{}", plan.number);
    if device_index(&name).is_ok() {
        // One that was killed has left it: the number is ours.
        routing.remove(&name).attempt(&format!("remove the device {name}, which an earlier run has left"))?;
    }
    match routing.add_veth(&name, "machine", servers.as_fd(), mtu) {
        Ok(()) => {}
        // No such kind of device, or not our network: the hosts reach the servers alone.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EPERM)) => return Ok(None),
        Err(error) => return Err(Error::system(&format!("make the device {name}"), error)),
    }
    let index = device_index(&name).attempt(&format!("find the device {name}"))?;
    for ip in versions() {
        let [of_servers, of_hosts, way] = plan.prefixes(ip);
        let own = Prefix { address: plan.machine(ip), length: way.length };
        routing.add_address(index, own).attempt(&format!("give {name} its address"))?;
        routing.up(index).attempt(&format!("bring {name} up"))?;
        for prefix in [of_servers, of_hosts] {
            let via = Via::Gateway(plan.gate(ip));
            routing.add_route(prefix, via).attempt(&format!("add a route over {name}"))?;
        }
    }
    Ok(Some(Way { name, _claim: claim }))
}

fn fit_servers(plan: &Plan, fittings: &Fittings, reaches_machine: bool) -> Result<Device, Error> {
    let (routing, loopback, device, index) = fit(fittings)?;
    sysctl("ipv4/ip_forward", "1")?;
    sysctl("ipv4/conf/all/rp_filter", "0")?;
    if has_v6() {
        sysctl("ipv6/conf/all/forwarding", "1")?;
        // Of the range that is the servers' own, IPv6 lets them bind the addresses of devices alone.
        sysctl("ipv6/ip_nonlocal_bind", "1")?;
    }
    let way = if reaches_machine { Some(device_index("machine").attempt("find the device machine")?) } else { None };
    for ip in versions() {
        let [of_servers, of_hosts, between] = plan.prefixes(ip);
        let add = |to, via| routing.add_route(to, via).attempt("add a route of the servers");
        // Every address of the range is the servers' own.
        add(of_servers, Via::Local(loopback))?;
        for (host, server) in plan.default_servers().enumerate() {
            let server = plan.server(ip, server);
            let own = Prefix { address: server, length: full(ip) };
            routing.add_address(index, own).attempt("give the servers their address")?;
            // What answers a host without a look at the address that was asked answers from that of its server.
            let to = Prefix { address: plan.host(ip, host), length: full(ip) };
            add(to, Via::DeviceFrom(index, server))?;
        }
        add(of_hosts, Via::Device(index))?;
        if let Some(way) = way {
            let gate = Prefix { address: plan.gate(ip), length: between.length };
            routing.add_address(way, gate).attempt("give the servers their way to the machine")?;
            if ip == Ip::V6 {
                // Neighbours are asked for from a link-local address.
                sysctl("ipv6/conf/machine/accept_dad", "0")?;
                sysctl("ipv6/conf/machine/addr_gen_mode", "0")?;
            }
            routing.up(way).attempt("bring the device machine up")?;
            add(any(ip), Via::Gateway(plan.machine(ip)))?;
        }
    }
    Ok(device)
}

fn fit_host(plan: &Plan, host: usize, fittings: &Fittings) -> Result<Device, Error> {
    let (routing, _, device, index) = fit(fittings)?;
    for ip in versions() {
        let own = Prefix { address: plan.host(ip, host), length: full(ip) };
        routing.add_address(index, own).attempt("give a host its address")?;
        routing.add_route(any(ip), Via::Device(index)).attempt("add a route of a host")?;
    }
    Ok(device)
}

/// What all namespaces have: settings, loopback and a TUN device, both up.
fn fit(fittings: &Fittings) -> Result<(Routing, u32, Device, u32), Error> {
    // Past connections tell nothing to later ones.
    sysctl("ipv4/tcp_no_metrics_save", "1")?;
    // Buffers must not be what limits: a scenario says if they are.
    sysctl("ipv4/tcp_rmem", "4096 131072 67108864")?;
    sysctl("ipv4/tcp_wmem", "4096 65536 67108864")?;
    // What has been killed is not to be kept alive by connections that nobody answers.
    sysctl("ipv4/tcp_orphan_retries", "1")?;
    if let Some(name) = &fittings.congestion_control {
        let allowed = sysctl("ipv4/tcp_congestion_control", name).is_ok();
        if !allowed && fittings.must_be_default {
            let wanted = "wanted one of net.ipv4.tcp_allowed_congestion_control, which root may extend";
            return Err(Error::System(format!("cannot make {name} the default of what runs inside: {wanted}")));
        }
    }
    if has_v6() {
        // No traffic that nobody asked for: no link-local addresses, no solicitations.
        for (key, value) in
            [("disable_ipv6", "0"), ("addr_gen_mode", "1"), ("accept_ra", "0"), ("router_solicitations", "0")]
        {
            for which in ["all", "default"] {
                sysctl(&format!("ipv6/conf/{which}/{key}"), value)?;
            }
        }
    }
    let routing = Routing::new().attempt("open a netlink socket")?;
    let loopback = device_index("lo").attempt("find the device lo")?;
    routing.up(loopback).attempt("bring the device lo up")?;
    let device = Device::open(fittings.mtu, fittings.joins)?;
    let index = device_index(device::NAME).attempt("find the TUN device")?;
    routing.set_queue(index, DEVICE_QUEUE).attempt("set the length of the TUN device's queue")?;
    routing.up(index).attempt("bring the TUN device up")?;
    Ok((routing, loopback, device, index))
}

fn sysctl(key: &str, value: &str) -> Result<(), Error> {
    fs::write(format!("/proc/sys/net/{key}"), value).attempt(&format!("set net.{} to {value}", key.replace('/', ".")))
}

/// Whether the kernel has IPv6.
pub(crate) fn has_v6() -> bool {
    fs::exists("/proc/sys/net/ipv6").unwrap_or(false)
}

fn versions() -> impl Iterator<Item = Ip> {
    [Ip::V4].into_iter().chain(has_v6().then_some(Ip::V6))
}

fn full(ip: Ip) -> u8 {
    if ip == Ip::V4 { 32 } else { 128 }
}

fn any(ip: Ip) -> Prefix {
    let address = if ip == Ip::V4 { [0; 4].into() } else { [0; 16].into() };
    Prefix { address, length: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overruns_are_the_twelfth_column() {
        let table = "Inter-|   Receive\n face |bytes\n  tun: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(dropped(table, "tun"), 12);
        assert_eq!(dropped(table, "other"), 0);
    }
}
