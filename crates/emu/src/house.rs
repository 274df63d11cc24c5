// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces of our own making: one for the servers and one for each host, each with a TUN device; and one for the gateway in
//! front of access points, where an agent stands, with two.
//!
//! Nothing is left to clean, however we end: the namespaces go with the last process in them.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use lasthop_linux::namespace::Namespace;
use lasthop_linux::netlink::{Prefix, Routing, Via, device_index};
use lasthop_linux::nftables::Masquerade;
use lasthop_linux::sysctl::{self, has_v6};
use lasthop_linux::tun::TunDevice;
use lasthop_linux::{Attempt, Error, counters};
use nix::ifaddrs::getifaddrs;

use crate::plan::{Ip, MOST_EMULATIONS, Plan};

/// Packets that a device holds while we do not look.
const DEVICE_QUEUE: u32 = 10_000;

/// The name of the TUN device in every namespace.
pub(crate) const DEVICE: &str = "lasthop";
/// The name of the gateway's other one, which leads to the servers.
const TO_SERVERS: &str = "servers";

/// The namespaces of an emulation.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) servers: Namespace,
    pub(crate) hosts: Vec<Namespace>,
    /// The router in front of access points, if there is to be one.
    pub(crate) gateway: Option<Namespace>,
    /// The servers' device, then those of the hosts, then the gateway's two: towards the servers, and towards the hosts.
    pub(crate) devices: Vec<TunDevice>,
    way: Option<Way>,
    nested: bool,
    settings: BTreeMap<String, String>,
}

/// Settings of namespaces, kept in mind.
#[derive(Debug, Default)]
struct Settings(Mutex<BTreeMap<String, String>>);

impl Settings {
    /// Sets one in the calling thread's namespace.
    fn set(&self, key: &str, value: &str) -> Result<(), Error> {
        sysctl::set(key, value)?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(format!("net.{}", key.replace('/', ".")), value.to_owned());
        Ok(())
    }

    fn all(self) -> BTreeMap<String, String> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the namespaces are fitted out.
#[derive(Clone, Debug)]
pub(crate) struct Fittings {
    pub(crate) mtu: u16,
    /// The congestion control of sockets that do not say otherwise.
    pub(crate) congestion_control: Option<String>,
    /// Whether nobody else sets it, so that a kernel that does not allow this is an error.
    pub(crate) must_be_default: bool,
    /// Whether the machine forwards what comes from inside.
    pub(crate) internet: bool,
    /// Whether there is a gateway in front of access points.
    pub(crate) has_gateway: bool,
}

impl House {
    /// Packets that the kernels could not queue for our devices.
    pub(crate) fn overruns(&self) -> u64 {
        self.namespaces().filter_map(|(namespace, own)| namespace.within(|| Ok(counters::overruns(own))).ok()).sum()
    }

    /// What the kernels have dropped at the ends, by their names for it.
    pub(crate) fn endpoint_drops(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for (namespace, devices) in self.namespaces() {
            let own = namespace.within(|| Ok(counters::endpoint_drops(devices))).unwrap_or_default();
            own.into_iter().for_each(|(name, count)| *all.entry(name).or_default() += count);
        }
        all
    }

    /// Each with its devices.
    fn namespaces(&self) -> impl Iterator<Item = (&Namespace, &'static [&'static str])> {
        let ends = std::iter::once(&self.servers).chain(&self.hosts);
        ends.map(|end| (end, &[DEVICE][..]))
            .chain(self.gateway.iter().map(|gateway| (gateway, &[TO_SERVERS, DEVICE][..])))
    }

    /// What was set in the namespaces, and the machine's default that holds in them.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        let mut all = self.settings.clone();
        if let Some(buffer) = sysctl::get("core/rmem_default") {
            all.insert("net.core.rmem_default".to_owned(), buffer);
        }
        all
    }

    /// Whether all of this is at a host of another emulation.
    pub(crate) fn is_nested(&self) -> bool {
        self.nested
    }

    /// The gateway's devices by their numbers, if there is one: towards the servers, and towards the hosts.
    pub(crate) fn gateway_devices(&self) -> Option<[u16; 2]> {
        let first = 1 + self.hosts.len() as u16;
        self.gateway.is_some().then_some([first, first + 1])
    }

    /// Whether the machine can be reached from inside.
    pub(crate) fn reaches_machine(&self) -> bool {
        self.way.is_some()
    }

    /// Builds the namespaces of a plan, whose number it may change to the first free one.
    pub(crate) fn build(plan: &mut Plan, hosts: usize, fittings: &Fittings) -> Result<Self, Error> {
        // The way to the machine comes first: its name takes the emulation's number.
        let nested = is_nested();
        let servers = Namespace::first().map_err(|error| if nested { no_rights() } else { error })?;
        let settings = Settings::default();
        let way = connect_machine(plan, &servers, fittings, &settings)?;
        let device = servers.within(|| fit_servers(plan, fittings, way.is_some(), &settings))?;
        let mut house = Self {
            servers,
            hosts: vec![],
            gateway: None,
            devices: vec![device],
            way,
            nested,
            settings: BTreeMap::new(),
        };
        for host in 0..hosts {
            let (namespace, device) = Namespace::new(|| fit_host(plan, host, fittings, &settings))?;
            house.hosts.push(namespace);
            house.devices.push(device);
        }
        if fittings.has_gateway {
            let (namespace, devices) = Namespace::new(|| fit_gateway(plan, fittings, &settings))?;
            house.gateway = Some(namespace);
            house.devices.extend(devices);
        }
        house.settings = settings.all();
        Ok(house)
    }
}

/// A pair of devices between the machine and the servers, by whose name nobody else has the emulation's number; it goes with
/// this, or with the servers' namespace at the latest.
#[derive(Debug)]
struct Way {
    name: String,
    _masquerades: Vec<Masquerade>,
    forwarding: Option<Forwarding>,
}

impl Drop for Way {
    fn drop(&mut self) {
        let _ = Routing::new().and_then(|routing| routing.remove(&self.name));
        drop(self.forwarding.take());
    }
}

/// The number, of a setting that the kernel keeps for such use, which says of a device that the machine did not forward before its
/// emulation, or before one that ran beside it.
const DID_NOT_FORWARD: &str = "1";

/// The machine forwards for as long as any of the emulations runs that want it to. Who made it do so, or came while such a one
/// ran, marks its device; the last of them puts things back. One that is killed cannot.
#[derive(Debug)]
struct Forwarding;

impl Forwarding {
    /// Lets the machine forward, for the emulation with this device; none where it did already.
    fn start(device: &str, settings: &Settings) -> Result<Option<Self>, Error> {
        let was_off = sysctl::get("ipv4/ip_forward").as_deref() == Some("0") || others_wait();
        settings.set("ipv4/ip_forward", "1")?;
        if was_off {
            sysctl::set(&tag(device), DID_NOT_FORWARD)?;
        }
        Ok(was_off.then_some(Self))
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        if !others_wait() {
            // What cannot be put back stays as it is.
            let _ = sysctl::set("ipv4/ip_forward", "0");
        }
    }
}

/// Whether an emulation is there with such a mark.
fn others_wait() -> bool {
    (0..MOST_EMULATIONS)
        .any(|number| sysctl::get(&tag(&format!("{DEVICE}{number}"))).as_deref() == Some(DID_NOT_FORWARD))
}

fn tag(device: &str) -> String {
    format!("ipv4/conf/{device}/tag")
}

/// The first number that an emulation in this namespace may have: behind that of the one whose host this is, as behind that
/// one's own. So the addresses of all through which a packet goes differ.
fn first_number() -> u8 {
    let own = getifaddrs().into_iter().flatten().filter(|one| one.interface_name == DEVICE);
    let numbers = own.filter_map(|one| Plan::number_of(one.address?.as_sockaddr_in()?.ip()));
    numbers.max().map_or(0, |number| number + 1)
}

/// Makes the pair of devices with the first number that is free; none where the kernel has no such kind of device, or the
/// network is not ours: then the hosts reach the servers alone.
fn add_pair(routing: &Routing, plan: &mut Plan, servers: &Namespace, mtu: u32) -> Result<Option<String>, Error> {
    for number in first_number()..MOST_EMULATIONS {
        let name = format!("{DEVICE}{number}");
        plan.number = number;
        match routing.add_veth(&name, "machine", servers.as_fd(), mtu) {
            Ok(()) => return Ok(Some(name)),
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EPERM)) => return Ok(None),
            Err(error) => return Err(Error::of(&format!("make the device {name}"), error)),
        }
    }
    Err(Error::new(format!("{MOST_EMULATIONS} emulations run already: wanted fewer")))
}

/// Connects the machine and the servers, where the kernel has the devices for it.
fn connect_machine(
    plan: &mut Plan,
    servers: &Namespace,
    fittings: &Fittings,
    settings: &Settings,
) -> Result<Option<Way>, Error> {
    let routing = Routing::new().attempt("open a netlink socket")?;
    let mtu = u32::from(fittings.mtu).max(1500);
    let Some(name) = add_pair(&routing, plan, servers, mtu)? else {
        if is_nested() {
            return Err(no_rights());
        }
        if fittings.internet {
            return Err(Error::new("cannot let what is inside out to the Internet: it takes root"));
        }
        return Ok(None);
    };
    let mut way = Way { name, _masquerades: vec![], forwarding: None };
    let name = &way.name;
    let index = device_index(name).attempt(&format!("find the device {name}"))?;
    for ip in versions() {
        let [of_servers, of_hosts, between] = plan.prefixes(ip);
        let own = Prefix { address: plan.machine(ip), length: between.length };
        routing.add_address(index, own).attempt(&format!("give {name} its address"))?;
        routing.up(index).attempt(&format!("bring {name} up"))?;
        for prefix in [of_servers, of_hosts] {
            let via = Via::Gateway(plan.gate(ip));
            routing.add_route(prefix, via).attempt(&format!("add a route over {name}"))?;
        }
    }
    // A host of another emulation forwards to its own network; the machine does if it is told to, and keeps IPv6 as it is.
    let forwards: Vec<Ip> = match (is_nested(), fittings.internet) {
        (true, _) => versions().collect(),
        (false, true) => vec![Ip::V4],
        (false, false) => vec![],
    };
    for ip in forwards {
        match ip {
            Ip::V4 if !is_nested() => way.forwarding = Forwarding::start(name, settings)?,
            Ip::V4 => settings.set("ipv4/ip_forward", "1")?,
            Ip::V6 => settings.set("ipv6/conf/all/forwarding", "1")?,
        }
        let masquerade = Masquerade::new(name, plan.machine(ip)).attempt("masquerade what comes from inside")?;
        way._masquerades.push(masquerade);
    }
    Ok(Some(way))
}

/// What an emulation inside another wants.
fn no_rights() -> Error {
    Error::new("cannot connect to the emulation around this one: wanted --privileged for that one's command")
}

/// Whether this namespace is that of a host of another emulation.
fn is_nested() -> bool {
    device_index(DEVICE).is_ok()
}

fn fit_servers(
    plan: &Plan,
    fittings: &Fittings,
    reaches_machine: bool,
    settings: &Settings,
) -> Result<TunDevice, Error> {
    let (routing, loopback, device, index) = fit(fittings, settings)?;
    forward(settings)?;
    if has_v6() {
        // Of the range that is the servers' own, IPv6 lets them bind the addresses of devices alone.
        settings.set("ipv6/ip_nonlocal_bind", "1")?;
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
                settings.set("ipv6/conf/machine/accept_dad", "0")?;
                settings.set("ipv6/conf/machine/addr_gen_mode", "0")?;
            }
            routing.up(way).attempt("bring the device machine up")?;
            add(any(ip), Via::Gateway(plan.machine(ip)))?;
        }
    }
    Ok(device)
}

/// The calling thread's namespace forwards from any of its devices to any.
fn forward(settings: &Settings) -> Result<(), Error> {
    settings.set("ipv4/ip_forward", "1")?;
    settings.set("ipv4/conf/all/rp_filter", "0")?;
    if has_v6() {
        settings.set("ipv6/conf/all/forwarding", "1")?;
    }
    Ok(())
}

fn fit_gateway(plan: &Plan, fittings: &Fittings, settings: &Settings) -> Result<[TunDevice; 2], Error> {
    let (routing, _, to_hosts, towards_hosts) = fit(fittings, settings)?;
    let (to_servers, towards_servers) = open(&routing, TO_SERVERS, fittings.mtu)?;
    forward(settings)?;
    for ip in versions() {
        let [_, of_hosts, between] = plan.prefixes(ip);
        let add = |to, index| routing.add_route(to, Via::Device(index)).attempt("add a route of the gateway");
        add(of_hosts, towards_hosts)?;
        // The way to the machine is in the same range.
        add(between, towards_servers)?;
        add(any(ip), towards_servers)?;
    }
    Ok([to_servers, to_hosts])
}

fn fit_host(plan: &Plan, host: usize, fittings: &Fittings, settings: &Settings) -> Result<TunDevice, Error> {
    let (routing, _, device, index) = fit(fittings, settings)?;
    for ip in versions() {
        let own = Prefix { address: plan.host(ip, host), length: full(ip) };
        routing.add_address(index, own).attempt("give a host its address")?;
        routing.add_route(any(ip), Via::Device(index)).attempt("add a route of a host")?;
    }
    Ok(device)
}

/// What all namespaces have: settings, loopback and a TUN device, both up.
fn fit(fittings: &Fittings, settings: &Settings) -> Result<(Routing, u32, TunDevice, u32), Error> {
    // Past connections tell nothing to later ones.
    settings.set("ipv4/tcp_no_metrics_save", "1")?;
    // Buffers must not be what limits: a scenario says if they are. Nor are they larger than a stock kernel's, for the unit of the
    // advertised window grows with them: that of Linux 6.18 is 1024 B.
    settings.set("ipv4/tcp_rmem", "4096 131072 33554432")?;
    settings.set("ipv4/tcp_wmem", "4096 65536 67108864")?;
    // Commands have no rights of root: they ping, and serve at whatever port, all the same.
    let groups = ["0 2147483647", "0 0"];
    let _ = groups.iter().any(|groups| settings.set("ipv4/ping_group_range", groups).is_ok());
    settings.set("ipv4/ip_unprivileged_port_start", "0")?;
    // What has been killed is not to be kept alive by connections that nobody answers.
    settings.set("ipv4/tcp_orphan_retries", "1")?;
    if let Some(name) = &fittings.congestion_control {
        let allowed = settings.set("ipv4/tcp_congestion_control", name).is_ok();
        if !allowed && fittings.must_be_default {
            let wanted = "wanted one of net.ipv4.tcp_allowed_congestion_control, which root may extend";
            return Err(Error::new(format!("cannot make {name} the default of what runs inside: {wanted}")));
        }
    }
    if has_v6() {
        // No traffic that nobody asked for: no link-local addresses, no solicitations.
        for (key, value) in
            [("disable_ipv6", "0"), ("addr_gen_mode", "1"), ("accept_ra", "0"), ("router_solicitations", "0")]
        {
            for which in ["all", "default"] {
                settings.set(&format!("ipv6/conf/{which}/{key}"), value)?;
            }
        }
    }
    let routing = Routing::new().attempt("open a netlink socket")?;
    let loopback = device_index("lo").attempt("find the device lo")?;
    routing.up(loopback).attempt("bring the device lo up")?;
    let (device, index) = open(&routing, DEVICE, fittings.mtu)?;
    Ok((routing, loopback, device, index))
}

/// A TUN device that is up, and its number.
fn open(routing: &Routing, name: &str, mtu: u16) -> Result<(TunDevice, u32), Error> {
    let device = TunDevice::open(name, mtu)?;
    let index = device_index(name).attempt("find the TUN device")?;
    routing.set_queue(index, DEVICE_QUEUE).attempt("set the length of the TUN device's queue")?;
    routing.up(index).attempt("bring the TUN device up")?;
    Ok((device, index))
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
