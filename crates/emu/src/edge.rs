// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of the flows in real time: devices of kernels.

use std::io;
use std::sync::Arc;

use lasthop_core::packet::Parcel;
use lasthop_core::stats::LogHistogram;
use lasthop_core::units::{Bytes, Instant};
use lasthop_linux::clock::Clock;
use lasthop_linux::tun::{HEADROOM, Splitter, TunDevice};
use lasthop_sim::Recorder;
use lasthop_sim::network::{Ends, Network, Place};

use crate::exit::{ExitCounts, Exits};
use crate::frame::{Addresses, Frame, Memory};
use crate::log::Log;
use crate::plan::Plan;
use crate::price;

/// The device of the servers; that of host `h` is `h + 1`, and behind those of the hosts come a gateway's.
pub(crate) const SERVERS: u16 = 0;
/// Most bytes that may be under way: what queues without a limit must not exceed, as all memory is locked.
const MOST_UNDER_WAY: u64 = 1 << 30;

/// The devices, and what is counted at them.
pub(crate) struct Edge {
    pub(crate) clock: Clock,
    pub(crate) devices: Arc<[TunDevice]>,
    exits: Exits,
    plan: Plan,
    /// The gateway's devices towards the servers and towards the hosts, if there is one.
    pub(crate) gateway: Option<[u16; 2]>,
    /// Whether the host of each device is told prices.
    pub(crate) is_told: Vec<bool>,
    /// Whether each stream's data comes from its host.
    pub(crate) uploads: Vec<bool>,
    /// Whether there are senders that ask routers.
    pub(crate) asks: bool,
    pub(crate) splitter: Splitter,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) log: Option<Log>,
    /// What they waited at the entrance at most.
    pub(crate) waits: LogHistogram,
    /// Packets that are nobody's.
    pub(crate) strays: u64,
    /// What all packets under way may take.
    pub(crate) memory: Memory,
    /// Packets for which there was no memory left.
    pub(crate) refused: u64,
    /// Why a device could not be read or waited for.
    pub(crate) failure: Option<io::Error>,
}

impl Edge {
    pub(crate) fn new(
        clock: Clock,
        (devices, exits): (Arc<[TunDevice]>, Exits),
        splitter: Splitter,
        plan: Plan,
        uploads: Vec<bool>,
    ) -> Self {
        Self {
            clock,
            devices,
            exits,
            plan,
            gateway: None,
            is_told: vec![],
            uploads,
            asks: false,
            splitter,
            recorder: None,
            log: None,
            waits: LogHistogram::default(),
            strays: 0,
            memory: Memory::new(MOST_UNDER_WAY),
            refused: 0,
            failure: None,
        }
    }

    /// The stream of a packet that came from a device, and the device at which it is to leave.
    pub(crate) fn route(&mut self, from: u16, bytes: &[u8]) -> Option<(u32, u16, Addresses)> {
        let addresses = Addresses::of(&bytes[HEADROOM..]);
        let [to_servers, to_hosts] = self.gateway.unwrap_or([SERVERS; 2]);
        let route = addresses.and_then(|addresses| match from {
            from if from == SERVERS || from == to_hosts => {
                let (stream, host) = self.plan.stream_towards(addresses.from, addresses.to)?;
                Some((stream, host as u16 + 1, addresses))
            }
            from => {
                let host = if from == to_servers { self.plan.host_of(addresses.from)? } else { usize::from(from) - 1 };
                Some((self.plan.stream_from(host, addresses.to)?, SERVERS, addresses))
            }
        });
        // What a kernel tells to whom it may concern concerns nobody here.
        let is_for_all = addresses.is_some_and(|addresses| addresses.to.is_multicast());
        self.strays += u64::from(route.is_none() && !is_for_all);
        route
    }

    /// Whether a device is the gateway's.
    pub(crate) fn is_gateway(&self, device: u16) -> bool {
        self.gateway.is_some_and(|devices| devices.contains(&device))
    }

    /// Lets out what is to leave.
    pub(crate) fn flush(&mut self) {
        self.splitter.recycle_all(self.exits.flush());
    }

    /// Whether there is no point in going on.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some() || self.exits.has_failed()
    }

    /// Nothing leaves any more.
    pub(crate) fn close(&mut self) {
        self.exits.close();
    }

    /// What the relay has counted of what left.
    pub(crate) fn take_counts(&mut self) -> ExitCounts {
        self.exits.take_counts()
    }

    /// A device cannot be read or waited for any more: the first reason counts.
    pub(crate) fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
    }
}

impl Ends<Frame> for Edge {
    fn take(&mut self, _: &mut Network<Frame>, place: Place, due: Instant, mut packet: Frame) {
        packet.answer();
        if let (Place::Gateway(_), Some([to_servers, to_hosts])) = (place, self.gateway) {
            // What goes to the servers comes in from the hosts.
            packet.exit = if packet.exit == SERVERS { to_hosts } else { to_servers };
            return self.exits.take(due, packet);
        }
        if self.is_told.get(usize::from(packet.exit)) == Some(&true)
            && let Some(price_s) = packet.signal().price()
        {
            price::write(&mut packet.bytes, HEADROOM, price_s);
        }
        self.exits.take(due, packet);
    }

    /// Nobody is asked ahead of time in real time.
    fn answer(&mut self, _: &mut Network<Frame>, _: Instant, _: &Frame) {}

    fn wake(&mut self, network: &mut Network<Frame>, who: u32, now: Instant) {
        if let Some(recorder) = &mut self.recorder {
            recorder.sample_queues(now, network.nodes_mut());
            network.schedule_end(who, recorder.next(now));
        }
    }

    fn enters(&mut self, at: Instant, node: u32, packet: &mut Frame, _queued: Bytes) {
        if let Some(log) = &mut self.log {
            packet.entered = at;
            log.arrival(at, node, packet.size());
        }
    }

    fn drops(&mut self, at: Instant, node: u32, packets: u64, size: Bytes) {
        if packets > 0
            && let Some(log) = &mut self.log
        {
            log.drops(at, node, packets, size);
        }
    }

    fn leaves(&mut self, at: Instant, node: u32, packet: &Frame) {
        if let Some(log) = &mut self.log {
            log.departure(at, node, packet.size(), packet.entered);
        }
    }
}
