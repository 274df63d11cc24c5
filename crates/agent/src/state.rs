// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the programs keep and are told, as the headers lay it out.

pub use lasthop_fixed::state::{
    FLOW_CLIENT_ENDED, FLOW_ESTABLISHED, FLOW_LIMITED, FLOW_SERVER_ENDED, FLOW_UNHEARD, FlowKey, FlowRecord,
    PathRecord, ReceiverRecord, Settings, StationKey, StationRecord, WEIGHT_RULES, WEIGHTS, WeightRule, known, price_s,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

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
pub const COUNTED: [&str; 20] = [
    "data",
    "ack",
    "lowered",
    "midstream",
    "unheard",
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
    "mtu_lowered",
    "priced",
    "unpriced",
    "updates",
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

    use lasthop_fixed::estimate::{BinnedRate, RecentLeast};
    use lasthop_fixed::share::BusyRate;
    use lasthop_fixed::state::{DeskRecord, SEATS, UpdateRecord};

    use super::layout::{alike, described};
    use super::*;

    #[test]
    fn structures_lie_as_the_programs_have_them() {
        let btf = Btf::from_path(concat!(env!("OUT_DIR"), "/proxy.bpf.o")).unwrap();
        alike!(&btf, "settings", Settings: "target_ns" = target_ns, "theta_ns" = theta_ns, "average_ns" = average_ns,
            "g_q10" = g_q10, "kappa_q10" = kappa_q10,
            "link_header_bytes" = link_header_bytes, "observe_only" = observe_only,
            "is_hidden" = is_hidden, "is_clamp" = is_clamp, "a_bytes" = a_bytes, "tau_bytes" = tau_bytes, "refill_q10" = refill_q10,
            "is_station" = is_station, "moves_others" = moves_others, "by_client" = by_client,
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
            "weights_q8" = weights_q8, "last_weights_q8" = last_weights_q8, "path" = path, "others_q10" = others_q10, "least_part_q10" = least_part_q10, "unsteered_q8" = unsteered_q8, "a_bytes" = a_bytes, "price_q30" = price_q30, "bears_ns" = bears_ns, "last_bears_ns" = last_bears_ns, "ring" = ring);
        alike!(&btf, "station_key", StationKey: "client" = client);
        // What a desk keeps is the programs' own.
        assert_eq!(described(&btf, "desk").0, size_of::<DeskRecord>());
        assert_eq!(described(&btf, "post").0, size_of::<DeskRecord>() + SEATS as usize * size_of::<u64>());
        alike!(&btf, "update", UpdateRecord: "key" = key, "seq" = seq, "ack" = ack, "stamp" = stamp, "echo" = echo,
            "window" = window, "ace" = ace);
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
