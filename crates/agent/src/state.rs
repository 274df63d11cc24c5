// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the programs keep and are told, as `bpf/state.h` lays it out.

use std::net::{IpAddr, Ipv6Addr};

use lasthop_fixed::estimate::{BinnedRate, RecentLeast};
use lasthop_fixed::share::{self, BusyRate, HORIZONS};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What the programs are told when they are loaded: `struct settings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Settings {
    /// T, the standing queue wanted.
    pub target_ns: u64,
    /// g, what part of the round trip is filled.
    pub g_q10: u32,
    /// κ, how much of a queue other than T is answered at once.
    pub kappa_q10: u32,
    /// 14 on Ethernet, 0 where packets begin with IP.
    pub link_header_bytes: u32,
    /// 1: nothing is written into packets.
    pub observe_only: u32,
    /// 1: the queue is downstream, known from ACKs alone.
    pub is_hidden: u32,
    /// 1: CLAMP's law; 0: the share window.
    pub is_clamp: u32,
    /// CLAMP's a.
    pub a_bytes: u32,
    /// CLAMP's τ.
    pub tau_bytes: u32,
    /// How many of the rules there are.
    pub rule_count: u32,
    /// 1: one of them goes by the DSCP.
    pub has_dscp: u32,
    /// Whose weights are other than 1; the first that fits counts.
    pub rules: [WeightRule; WEIGHT_RULES],
}

/// How many rules of weights there may be.
pub const WEIGHT_RULES: usize = 16;

/// Whose weight it is: `struct weight_rule`. What is 0 is not asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct WeightRule {
    /// Of the client's or the server's address; IPv4 as `::ffff:a.b.c.d`.
    pub prefix: [u8; 16],
    /// How much of it is asked for.
    pub prefix_bits: u32,
    /// φ.
    pub weight_q8: u32,
    /// Of either end, in network order.
    pub port: [u8; 2],
    /// The server's mark.
    pub dscp: u8,
    /// 1: it is asked for.
    pub has_dscp: u8,
    /// Nothing.
    pub pad: u32,
}

/// A connection, as a device's clients see it: `struct flow_key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FlowKey {
    client: [u8; 16],
    server: [u8; 16],
    client_port: [u8; 2],
    server_port: [u8; 2],
}

impl FlowKey {
    /// The client's end.
    pub fn client(&self) -> (IpAddr, u16) {
        (Ipv6Addr::from(self.client).to_canonical(), u16::from_be_bytes(self.client_port))
    }

    /// The server's end.
    pub fn server(&self) -> (IpAddr, u16) {
        (Ipv6Addr::from(self.server).to_canonical(), u16::from_be_bytes(self.server_port))
    }
}

/// A path to a client and back: `struct path`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PathRecord {
    /// Its least round trip.
    pub least: RecentLeast,
    look_ns: u64,
    now_ns: u64,
    last_ns: u64,
}

/// Both SYNs were seen.
pub const FLOW_ESTABLISHED: u32 = 1;
/// The window has been lowered.
pub const FLOW_LIMITED: u32 = 16;
/// A FIN was seen.
pub const FLOW_CLOSING: u32 = 32;

/// What is kept of a connection: `struct flow`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FlowRecord {
    lock: u32,
    /// `FLOW_…`.
    pub flags: u32,
    scale: u32,
    /// Largest payload of a segment \[B\].
    pub mss: u32,
    header_bytes: u32,
    sent: u32,
    ack: u32,
    edge: u32,
    epoch: u32,
    is_counted: u32,
    /// φ.
    pub weight_q8: u32,
    dscp: u32,
    /// Its last packet, by the monotonic clock.
    pub seen_ns: u64,
    /// ρ̄ \[B/s\].
    pub fair: u64,
    fair_ns: u64,
    /// w.
    pub window_bytes: u64,
    /// New payload that went to the client.
    pub forwarded_bytes: u64,
    /// What the client has acknowledged of it.
    pub acknowledged_bytes: u64,
    samples: [[u64; 2]; 8],
    there_ns: u64,
    leaves_bytes: u64,
    sampled_ns: u64,
    delivered: u32,
    window: u16,
    pad1: u16,
    clock_began_ns: u64,
    clock_first: u32,
    clock_state: u32,
    clock_offset: RecentLeast,
    /// From the agent to this connection's client and back, without the queue.
    pub path: PathRecord,
    begin_wait_ns: u64,
    /// z, what the client's ACKs have waited on their way.
    pub ack_delay_ns: u64,
    /// From the agent to the server and back.
    pub upstream: RecentLeast,
    asked_ns: u64,
    asked_stamp: u32,
    by_stamp: u32,
    /// The last round trip to the client, the queue included.
    pub rtt_ns: u64,
    delivery: u64,
    clamp_q16: u64,
    clamp_ns: u64,
    duplicates: u32,
    pad3: u32,
}

/// What is kept of a connection whose data may come with a price: `struct receiver`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ReceiverRecord {
    lock: u32,
    /// `FLOW_…`.
    pub flags: u32,
    scale: u32,
    /// Largest payload of a segment \[B\].
    pub mss: u32,
    /// φ.
    pub weight_q8: u32,
    ack: u32,
    edge: u32,
    duplicates: u32,
    /// The last price \[2⁻³⁰ s\].
    pub price_q30: u32,
    field: u32,
    /// The station's own window \[B\].
    pub own_bytes: u64,
    /// Its last packet, by the monotonic clock.
    pub seen_ns: u64,
    arrived_ns: u64,
    /// Payload that came.
    pub arrived_bytes: u64,
    /// What of it the station has acknowledged.
    pub acknowledged_bytes: u64,
    /// When the last price came; 0: none yet.
    pub priced_ns: u64,
    delay_ns: u64,
    /// w; 0: there is no price to go by.
    pub window_q16: u64,
    /// The round trip, smoothed.
    pub rtt_ns: u64,
    /// The least one of late.
    pub path: RecentLeast,
    asked_ns: u64,
    asked_stamp: u32,
    by_stamp: u32,
    round_ns: u64,
    round_bytes: u64,
    last_round_bytes: u64,
    /// At which data come.
    pub arrivals: BinnedRate,
}

/// What is kept of a connection, by whichever agent.
#[derive(Clone, Copy, Debug)]
pub enum Connection {
    /// By the proxy.
    Steered(FlowRecord),
    /// By the client.
    Priced(ReceiverRecord),
}

impl Connection {
    /// `FLOW_…`.
    pub fn flags(&self) -> u32 {
        match self {
            Self::Steered(flow) => flow.flags,
            Self::Priced(flow) => flow.flags,
        }
    }

    /// Its last packet, by the monotonic clock.
    pub fn seen_ns(&self) -> u64 {
        match self {
            Self::Steered(flow) => flow.seen_ns,
            Self::Priced(flow) => flow.seen_ns,
        }
    }
}

/// What the programs write as 0 as long as they do not know it.
pub fn known(value: u64) -> Option<u64> {
    (value > 0).then_some(value)
}

/// A price as it is written into packets \[s\].
pub fn price_s(price_q30: u32) -> f64 {
    f64::from(price_q30) / f64::from(1 << 30)
}

/// What is kept of what shares a queue: `struct station`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct StationRecord {
    lock: u32,
    chosen: u32,
    /// The last look at the queue, by the monotonic clock.
    pub seen_ns: u64,
    /// What the queue held at the last look.
    pub queue_bytes: u64,
    departed_bytes: u64,
    span_ns: u64,
    span_bytes: u64,
    rate: BusyRate,
    tick_ns: u64,
    tick_bytes: u64,
    tick_busy_ns: u64,
    tick_busy_bytes: u64,
    forecast_q16: [u64; HORIZONS],
    loss_q20: [u64; HORIZONS],
    epoch_ns: u64,
    weights_q8: u64,
    last_weights_q8: u64,
    delay_most_ns: u64,
    delay_least_ns: u64,
    last_delay_least_ns: u64,
    epoch: u32,
    /// CLAMP's price \[2⁻³⁰ s\]; 0 with another law.
    pub price_q30: u32,
    /// From the agent to the nearest client and back, without the queue.
    pub path: PathRecord,
    passed_bytes: u64,
    other_bytes: u64,
    others_q10: u64,
    average_q16: u64,
    average_ns: u64,
    /// CLAMP's a, raised where many flows share a slow link; 0 before the first ACK, and with another law.
    pub a_bytes: u64,
    due_bytes: u64,
    delivered_bytes: u64,
    slot: u64,
    probe_until_ns: u64,
    is_busy: u32,
    pad2: u32,
    ring: [u32; 512],
}

/// What shares a queue: a client's connections where it is hidden, all of them, by `::`, where it is the device's:
/// `struct station_key`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct StationKey {
    client: [u8; 16],
}

impl StationKey {
    /// The client; none if it is all of them.
    pub fn client(&self) -> Option<IpAddr> {
        let address = Ipv6Addr::from(self.client);
        (!address.is_unspecified()).then(|| address.to_canonical())
    }
}

impl StationRecord {
    /// μ̂ \[B/s\]; none as long as it is unknown.
    pub fn rate(&self) -> Option<f64> {
        known(share::rate_over(&self.rate, self.chosen)).map(|rate| rate as f64)
    }

    /// Over which time that is \[ms\].
    pub fn horizon_ms(&self) -> u32 {
        25 << self.chosen.min(6)
    }

    /// What part of the bytes towards the clients is not steered, of late.
    pub fn unsteered(&self) -> f64 {
        self.others_q10 as f64 / 1024.0
    }

    /// Φ, the weights of the flows seen of late.
    pub fn weights(&self) -> f64 {
        self.weights_q8.max(self.last_weights_q8) as f64 / 256.0
    }
}

/// Packets and bytes by what became of them: `struct count`, in the order of `enum counted`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, serde::Serialize,
)]
#[repr(C)]
pub struct Count {
    /// How many.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
}

/// The names of `enum counted`, as the status tells them.
pub const COUNTED: [&str; 17] = [
    "data",
    "ack",
    "lowered",
    "midstream",
    "foreign_option",
    "table_full",
    "fragment",
    "udp",
    "ipsec",
    "malformed",
    "other",
    "stamped",
    "overwritten",
    "unstamped",
    "mss_lowered",
    "priced",
    "unpriced",
];

/// How structures lie in the programs, for tests.
#[cfg(test)]
pub(crate) mod layout {
    use libbpf_rs::btf::types::{MemberAttr, Struct};
    use libbpf_rs::btf::{Btf, HasSize};

    /// The size of a structure in the programs, and where its members are \[B\].
    pub(crate) fn described(btf: &Btf<'_>, name: &str) -> (usize, Vec<(String, usize)>) {
        let found = btf.type_by_name::<Struct<'_>>(name).unwrap();
        let members = found.iter().map(|member| {
            let MemberAttr::Normal { offset } = member.attr else { panic!("{name} has a field of bits") };
            (member.name.unwrap().to_string_lossy().into_owned(), offset as usize / 8)
        });
        (found.size(), members.collect())
    }

    macro_rules! alike {
        ($btf:expr, $name:literal, $type:ty: $($theirs:literal = $ours:ident),+) => {
            let (size, members) = $crate::state::layout::described($btf, $name);
            assert_eq!(size, size_of::<$type>(), $name);
            $(assert!(members.contains(&($theirs.to_owned(), core::mem::offset_of!($type, $ours))), "{}: {members:?}", $theirs);)+
        };
    }

    pub(crate) use alike;
}

#[cfg(test)]
mod tests {
    use libbpf_rs::btf::Btf;

    use super::layout::alike;
    use super::*;

    #[test]
    fn structures_lie_as_the_programs_have_them() {
        let btf = Btf::from_path(concat!(env!("OUT_DIR"), "/proxy.bpf.o")).unwrap();
        alike!(&btf, "settings", Settings: "target_ns" = target_ns, "g_q10" = g_q10, "kappa_q10" = kappa_q10,
            "link_header_bytes" = link_header_bytes, "observe_only" = observe_only,
            "is_hidden" = is_hidden, "is_clamp" = is_clamp, "a_bytes" = a_bytes, "tau_bytes" = tau_bytes,
            "rule_count" = rule_count, "has_dscp" = has_dscp, "rules" = rules);
        alike!(&btf, "weight_rule", WeightRule: "prefix" = prefix, "prefix_bits" = prefix_bits,
            "weight_q8" = weight_q8, "port" = port, "dscp" = dscp, "has_dscp" = has_dscp);
        alike!(&btf, "flow_key", FlowKey: "client" = client, "server" = server, "client_port" = client_port,
            "server_port" = server_port);
        alike!(&btf, "recent_least", RecentLeast: "began_ns" = began_ns, "now_least_ns" = now_least_ns,
            "last_least_ns" = last_least_ns);
        alike!(&btf, "path", PathRecord: "least" = least, "look_ns" = look_ns, "now_ns" = now_ns, "last_ns" = last_ns);
        alike!(&btf, "flow", FlowRecord: "flags" = flags, "mss" = mss, "weight_q8" = weight_q8, "seen_ns" = seen_ns,
            "fair" = fair, "window_bytes" = window_bytes, "forwarded_bytes" = forwarded_bytes,
            "acknowledged_bytes" = acknowledged_bytes, "path" = path, "ack_delay_ns" = ack_delay_ns, "upstream" = upstream,
            "rtt_ns" = rtt_ns, "delivery" = delivery, "clamp_q16" = clamp_q16);
        alike!(&btf, "station", StationRecord: "chosen" = chosen, "queue_bytes" = queue_bytes, "rate" = rate,
            "weights_q8" = weights_q8, "last_weights_q8" = last_weights_q8, "path" = path, "others_q10" = others_q10, "a_bytes" = a_bytes, "price_q30" = price_q30, "ring" = ring);
        alike!(&btf, "station_key", StationKey: "client" = client);
        alike!(&btf, "share_rate", BusyRate: "busy_ns" = busy_ns, "bytes_q4" = bytes_q4);
        alike!(&btf, "count", Count: "packets" = packets, "bytes" = bytes);
        let btf = Btf::from_path(concat!(env!("OUT_DIR"), "/client.bpf.o")).unwrap();
        alike!(&btf, "receiver", ReceiverRecord: "flags" = flags, "mss" = mss, "weight_q8" = weight_q8,
            "price_q30" = price_q30, "own_bytes" = own_bytes, "seen_ns" = seen_ns, "arrived_bytes" = arrived_bytes,
            "acknowledged_bytes" = acknowledged_bytes, "priced_ns" = priced_ns, "window_q16" = window_q16,
            "rtt_ns" = rtt_ns, "path" = path, "arrivals" = arrivals);
        alike!(&btf, "binned_rate", BinnedRate: "opened_ns" = opened_ns, "bytes" = bytes, "sum_bytes" = sum_bytes,
            "last_ns" = last_ns, "packets" = packets, "running" = running, "used" = used);
    }
}
