// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices, addresses and routes of the network namespace that the calling thread is in.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::route::{RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// A connection to the kernel's routing tables.
#[derive(Debug)]
pub struct Routing {
    socket: Socket,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Its first address, or one in it.
    pub address: IpAddr,
    /// Length of what its addresses have in common \[bit\].
    pub length: u8,
}

/// Where a route leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Out at a device.
    Device(u32),
    /// Out at a device, from an address unless the sender says otherwise.
    DeviceFrom(u32, IpAddr),
    /// To a neighbour.
    Gateway(IpAddr),
    /// To this host itself, by the device.
    Local(u32),
}

impl Routing {
    /// A connection to those of the calling thread's namespace.
    ///
    /// # Errors
    /// If the system has no socket left.
    pub fn new() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket })
    }

    /// Brings a device up.
    ///
    /// # Errors
    /// The kernel's.
    pub fn up(&self, device: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = device;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// How many packets may wait at a device. The ioctl for it wants root of the whole machine.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_queue(&self, device: u32, packets: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = device;
        link.attributes = vec![LinkAttribute::TxQueueLen(packets)];
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// A pair of Ethernet devices: `name` here, `peer` in another namespace.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_veth(&self, name: &str, peer: &str, namespace: BorrowedFd<'_>, mtu: u32) -> io::Result<()> {
        let mut far = LinkMessage::default();
        far.attributes = vec![
            LinkAttribute::IfName(peer.to_owned()),
            LinkAttribute::Mtu(mtu),
            LinkAttribute::NetNsFd(namespace.as_raw_fd()),
        ];
        let mut near = LinkMessage::default();
        near.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Mtu(mtu),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far))),
            ]),
        ];
        self.ask(RouteNetlinkMessage::NewLink(near), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Removes a device.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        self.ask(RouteNetlinkMessage::DelLink(link), 0)
    }

    /// Gives a device an address.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_address(&self, device: u32, prefix: Prefix) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(prefix.address);
        message.header.prefix_len = prefix.length;
        message.header.index = device;
        message.header.scope = AddressScope::Universe;
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = vec![AddressAttribute::Local(prefix.address), AddressAttribute::Address(prefix.address)];
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Adds a route.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_route(&self, to: Prefix, via: Via) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(to.address),
            destination_prefix_length: to.length,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: RouteScope::Universe,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        if to.length > 0 {
            message.attributes.push(RouteAttribute::Destination(to.address.into()));
        }
        match via {
            Via::Device(device) => {
                message.header.scope = RouteScope::Link;
                message.attributes.push(RouteAttribute::Oif(device));
            }
            Via::DeviceFrom(device, from) => {
                message.header.scope = RouteScope::Link;
                message.attributes.push(RouteAttribute::Oif(device));
                message.attributes.push(RouteAttribute::PrefSource(from.into()));
            }
            Via::Gateway(gateway) => message.attributes.push(RouteAttribute::Gateway(gateway.into())),
            Via::Local(device) => {
                message.header.table = RT_TABLE_LOCAL;
                message.header.kind = RouteType::Local;
                message.header.scope = RouteScope::Host;
                message.attributes.push(RouteAttribute::Oif(device));
            }
        }
        self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// What a device's packets begin with: `ARPHRD_…` of linux/if_arp.h.
    ///
    /// # Errors
    /// The kernel's.
    pub fn link_type(&self, device: u32) -> io::Result<u16> {
        let mut link = LinkMessage::default();
        link.header.index = device;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST;
        match self.send(RouteNetlinkMessage::GetLink(link), header)? {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => Ok(link.header.link_layer_type.into()),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            _ => Err(io::Error::other("no answer of the kernel's routing tables")),
        }
    }

    /// The kind of a device's root qdisc; none if it has none.
    ///
    /// # Errors
    /// The kernel's.
    pub fn root_qdisc(&self, device: u32) -> io::Result<Option<String>> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let mut message =
            NetlinkMessage::new(header, RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()).into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut found = None;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let mut rest = &answer[..];
            while !rest.is_empty() {
                let message = <NetlinkMessage<RouteNetlinkMessage>>::deserialize(rest).map_err(io::Error::other)?;
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(found),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(qdisc))
                        if qdisc.header.index == device as i32 && qdisc.header.parent == TcHandle::ROOT =>
                    {
                        found = qdisc.attributes.into_iter().find_map(|attribute| match attribute {
                            TcAttribute::Kind(kind) => Some(kind),
                            _ => None,
                        });
                    }
                    _ => {}
                }
                // Each message begins at a multiple of four.
                rest = rest.get((message.header.length as usize).next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }

    /// Sends a request and waits for its acknowledgement.
    fn ask(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        match self.send(message, header)? {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            _ => Ok(()),
        }
    }

    /// Sends a request and gives the first message of the answer.
    fn send(
        &self,
        message: RouteNetlinkMessage,
        header: NetlinkHeader,
    ) -> io::Result<NetlinkPayload<RouteNetlinkMessage>> {
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        let answer = <NetlinkMessage<RouteNetlinkMessage>>::deserialize(&answer).map_err(io::Error::other)?;
        Ok(answer.payload)
    }
}

/// The kernel's table of this host's own addresses.
const RT_TABLE_LOCAL: u8 = 255;

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// The number of a device in the namespace that the calling thread is in.
///
/// # Errors
/// If there is none by this name.
pub fn device_index(name: &str) -> io::Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}

/// The name of a device there by its number; of several names the first one, as tools print it.
///
/// # Errors
/// If there is none by this number.
pub fn device_name(index: u32) -> io::Result<String> {
    let name = nix::net::if_::if_indextoname(index)?;
    // nix takes libc's null for a name (0.31).
    if name.is_empty() {
        return Err(io::Error::last_os_error());
    }
    name.into_string().map_err(io::Error::other)
}
