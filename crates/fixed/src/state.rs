// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the programs keep and are told, as `c/state.h` and `c/state_desk.h` lay it out.

mod station;

use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;

pub use station::{Ring, StationKey, StationRecord};

#[cfg(feature = "zerocopy")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::estimate::{BinnedRate, RecentLeast};

/// What the programs are told when they are loaded: `struct settings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct Settings {
    /// T, the standing queue wanted.
    pub target_ns: u64,
    /// θ: of a queue other than T the part θ/(θ + d) is answered at once.
    pub theta_ns: u64,
    /// Over how long CLAMP's queue is averaged.
    pub average_ns: u64,
    /// g, what part of the round trip is filled.
    pub g_q10: u32,
    /// κ of the station window, how much of a queue other than T is answered at once.
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
    /// And its γ, by which windows grow while the queue is empty.
    pub refill_q10: u32,
    /// 1: the station window, for as many connections of a station as its desk has seats; the others have the share window.
    pub is_station: u32,
    /// 1: it sends window updates for connections whose acknowledgement is not at hand.
    pub moves_others: u32,
    /// How many of the rules there are.
    pub rule_count: u32,
    /// 1: one of them goes by the DSCP.
    pub has_dscp: u32,
    /// Each client has a queue of its own, which is hidden; else all have one.
    pub by_client: u32,
    /// Whose weights are other than 1; the first that fits counts.
    pub rules: [WeightRule; WEIGHT_RULES],
}

/// How many rules of weights there may be.
pub const WEIGHT_RULES: usize = 16;

/// What they may give: a weight is kept to the nearest 256th.
pub const WEIGHTS: RangeInclusive<f64> = 0.01..=100.0;

/// Whose weight it is: `struct weight_rule`. What is 0 is not asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct FlowKey {
    /// The client's address; IPv4 as `::ffff:a.b.c.d`.
    pub client: [u8; 16],
    /// The server's.
    pub server: [u8; 16],
    /// The client's port, in network order.
    pub client_port: [u8; 2],
    /// The server's.
    pub server_port: [u8; 2],
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
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct PathRecord {
    /// Its least round trip.
    pub least: RecentLeast,
    /// When the running look began.
    pub look_ns: u64,
    /// The least round trip in it; 0: none.
    pub now_ns: u64,
    /// That of the one before.
    pub last_ns: u64,
}

/// Both SYNs were seen.
pub const FLOW_ESTABLISHED: u32 = 1;
/// The window has been lowered.
pub const FLOW_LIMITED: u32 = 16;
/// The server's FIN was seen: it has no more to send.
pub const FLOW_SERVER_ENDED: u32 = 32;
/// The client's was.
pub const FLOW_CLIENT_ENDED: u32 = 1_048_576;
/// Its acknowledgements take another way.
pub const FLOW_UNHEARD: u32 = 4_194_304;

/// What of its window a connection has used since it last joined an epoch: `struct use`.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct UseRecord {
    heard_ns: u64,
    used: u64,
    held: u64,
    bytes: u64,
}

/// What it takes of the line, and beside how long a queue its sender takes that: `struct bearing`.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct BearingRecord {
    used_mean: u64,
    held_mean: u64,
    known_ns: u64,
    joined_ns: u64,
    /// Over a second \[B/s\].
    pub taken: u64,
    bears_ns: u64,
    rested_ns: u64,
    asked: u32,
    lean_q10: u32,
}

/// What is kept of a connection: `struct flow`.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct FlowRecord {
    /// `FLOW_…`.
    pub flags: u32,
    /// Largest payload of a segment \[B\].
    pub mss: u32,
    header_bytes: u32,
    sent: u32,
    /// The highest sequence number acknowledged.
    pub ack: u32,
    /// The sequence number up to which bytes have arrived, as far as acknowledgements and their duplicates tell.
    pub delivered: u32,
    /// Where the window ends that was said.
    pub edge: u32,
    scale: u16,
    dscp: u16,
    epoch: u32,
    station: u32,
    /// φ.
    pub weight_q8: u32,
    duplicates: u32,
    /// Its last packet, by the monotonic clock.
    pub seen_ns: u64,
    /// What the client has acknowledged.
    pub acknowledged_bytes: u64,
    asked_ns: u64,
    asked_stamp: u32,
    opened_seq: u32,
    /// The last round trip to the client, the queue included.
    pub rtt_ns: u64,
    /// w.
    pub window_bytes: u64,
    window: u16,
    /// Its place at the desk of its station, and one; 0: none.
    pub seat: u16,
    told_bytes_q8: u32,
    /// ρ̄ \[B/s\].
    pub fair: u64,
    fair_ns: u64,
    /// z, what the client's ACKs have waited on their way.
    pub ack_delay_ns: u64,
    use_: UseRecord,
    /// From the agent to this connection's client and back, without the queue.
    pub path: PathRecord,
    /// From the agent to the server and back.
    pub upstream: RecentLeast,
    clock_began_ns: u64,
    clock_first: u32,
    /// 0: not known yet; 1: it counts milliseconds; 2: something else.
    pub clock_state: u32,
    clock_offset: RecentLeast,
    clock_base_ns: u64,
    clock_based_ns: u64,
    /// New payload that went to the client.
    pub forwarded_bytes: u64,
    sample_end: [u32; 8],
    sample: [u64; 8],
    sample_place_bytes: [u32; 8],
    sampled_ns: u64,
    /// What it takes, and beside how long a queue.
    pub bearing: BearingRecord,
    begin_ns: u64,
    begin_wait_ns: u64,
    forwarded_ns: u64,
    heard_ns: u64,
    second_end: u32,
    pass_segments: u8,
    waits_segments: u8,
    passed_segments: u16,
    second_ns: u32,
    apart_ns: u32,
    told_ns: u32,
    look_bytes: u32,
    alike: [u32; 3],
    said: u32,
    counted_q8: u32,
    pad: u32,
    /// CLAMP's μ̂ \[B/s\].
    pub delivery: u64,
    /// CLAMP's w.
    pub clamp_q16: u64,
    clamp_ns: u64,
    allowed: u64,
    pooled: u64,
    drift: i64,
}

/// What is kept of a connection whose data may come with a price: `struct receiver`.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
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
    /// Acknowledgements in a row that say nothing new.
    pub duplicates: u32,
    /// The last price \[2⁻³⁰ s\].
    pub price_q30: u32,
    field: u32,
    /// The station's own window \[B\].
    pub own_bytes: u64,
    /// Its last packet, by the monotonic clock.
    pub seen_ns: u64,
    /// When data came last.
    pub arrived_ns: u64,
    /// Payload that came.
    pub arrived_bytes: u64,
    /// What of it the station has acknowledged.
    pub acknowledged_bytes: u64,
    /// When the last price came; 0: none yet.
    pub priced_ns: u64,
    /// d.
    pub delay_ns: u64,
    /// w; 0: there is no price to go by.
    pub window_q16: u64,
    /// The round trip, smoothed.
    pub rtt_ns: u64,
    last_rtt_ns: u64,
    /// The least one of late.
    pub path: RecentLeast,
    /// When the station said something that the server will answer; 0: nothing.
    pub asked_ns: u64,
    asked_stamp: u32,
    opened_seq: u32,
    round_ns: u64,
    round_bytes: u64,
    last_round_bytes: u64,
    train_ns: u64,
    train_bytes: u64,
    surplus_bytes: u64,
    unpriced_ns: u64,
    refilled_ns: u64,
    overflown_ns: u64,
    pooled: u64,
    drift: i64,
    epoch: u32,
    arrived: u32,
    reached: u32,
    alike: [u32; 3],
    /// At which data come.
    pub arrivals: BinnedRate,
}

/// Whether a connection's segments arrive with a price: `struct trial`.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct TrialRecord {
    sent_ns: u64,
    until_ns: u64,
    sent: u32,
    has_sent: u32,
    begin: u32,
    end: u32,
    /// The payload of the one that is watched; 0: none is.
    pub segment: u32,
    /// Segments so large are doubted, and larger ones; 0: none are.
    pub doubted: u32,
    /// How many were lost in a row.
    pub lost: u32,
    sure_bytes: u32,
}

/// What an access point keeps of a connection that it lets pass: `struct passer`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PasserRecord {
    asked_ns: u64,
    told_ns: u64,
    wait_ns: u64,
    /// To its server and its station and back, without the queue; 0: not known.
    pub path_ns: u64,
    counted: u32,
    /// The largest payload of a segment.
    pub mss: u32,
    flags: u32,
    scale: u32,
    ack: u32,
    edge: u32,
    asked_stamp: u32,
    opened_seq: u32,
    use_: UseRecord,
    /// What it takes, and beside how long a queue.
    pub bearing: BearingRecord,
    /// Which of its segments bear a price.
    pub trial: TrialRecord,
}

/// What is kept of a station's connections, taken together: `struct pool`.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct PoolRecord {
    lock: u32,
    epoch: u32,
    began_ns: u64,
    /// How long the running epoch is.
    pub length_ns: u64,
    rates: u64,
    weights_q8: u64,
    rtt_ns: u64,
    queue_ns: u64,
    /// The mean rate in the one before, for a weight of 1 \[B/s\].
    pub mean: u64,
    last_queue_ns: u64,
}

/// Connections whose windows one desk sets together.
pub const SEATS: u32 = 16;

/// Words of a desk: its own and its round's, 28 of each seat, and the edges of all seats in each of 256 rows. A test compares them with C's.
const DESK_WORDS: usize = 29 + SEATS as usize * (28 + 256 / 2);

/// What a desk keeps of the connections whose windows it sets: `struct desk`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(transparent)]
pub struct DeskRecord([u64; DESK_WORDS]);

impl Default for DeskRecord {
    fn default() -> Self {
        Self([0; DESK_WORDS])
    }
}

/// A window update: `struct update`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct UpdateRecord {
    /// Its connection.
    pub key: FlowKey,
    /// Its client's sequence number.
    pub seq: u32,
    /// What it acknowledges, as its last acknowledgement did.
    pub ack: u32,
    /// TSval and TSecr of that.
    pub stamp: u32,
    /// See `stamp`.
    pub echo: u32,
    /// The window's field.
    pub window: u16,
    /// AE, CWR and ECE.
    pub ace: u8,
    pad: u8,
}

/// What the programs write as 0 as long as they do not know it.
pub fn known(value: u64) -> Option<u64> {
    (value > 0).then_some(value)
}

/// A price as it is written into packets \[s\].
pub fn price_s(price_q30: u32) -> f64 {
    f64::from(price_q30) / f64::from(1 << 30)
}

/// The same the other way, up to 4 s.
pub fn price_q30(price_s: f64) -> u32 {
    (price_s * f64::from(1 << 30)) as u32
}

/// What of a packet matters: `struct packet`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PacketRecord {
    /// Its connection.
    pub key: FlowKey,
    /// Where the IP header begins.
    pub ip_at: u32,
    /// And TCP's.
    pub tcp_at: u32,
    /// Where the option is that tells `mss`, if that is not 0.
    pub mss_at: u32,
    /// Payload, of all segments of a super-packet \[B\].
    pub payload: u32,
    /// Payload of the largest segment \[B\].
    pub segment: u32,
    /// What precedes the payload, once \[B\].
    pub header_bytes: u32,
    /// On the wire, as a qdisc counts it \[B\].
    pub size_bytes: u32,
    /// Its first sequence number.
    pub seq: u32,
    /// What it acknowledges.
    pub ack: u32,
    /// TSval.
    pub stamp: u32,
    /// TSecr.
    pub echo: u32,
    /// Where an access point's price is; 0: there is none.
    pub price_at: u32,
    /// \[2⁻³⁰ s\].
    pub price_q30: u32,
    /// The window's field.
    pub window: u16,
    /// The same in network order.
    pub window_raw: u16,
    /// The checksum, as it stands there.
    pub check_raw: u16,
    /// What its option says; 0: nothing.
    pub mss: u16,
    /// SYN and others.
    pub flags: u8,
    /// The window's scale that its option says.
    pub scale: u8,
    /// 1: it has that option.
    pub has_scale: u8,
    /// 1: it has a time stamp.
    pub has_stamp: u8,
    /// 1: it has an option that forbids to touch it.
    pub is_foreign: u8,
    /// 0: none that is known.
    pub ip_version: u8,
    /// Of its IP header.
    pub dscp: u8,
    /// 1: nothing is between the fixed part of its IP header and TCP's.
    pub is_plain: u8,
    /// AE, CWR and ECE (RFC 9768, 3).
    pub ace: u8,
    /// Nothing.
    pub pad: [u8; 3],
}

/// A SYN.
pub const TCP_SYN: u8 = 2;
/// An acknowledgement.
pub const TCP_ACK: u8 = 16;
