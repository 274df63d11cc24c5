// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an agent does at its device, and by which programs.

use lasthop_linux::bpf::TcHook;
use serde::{Deserialize, Serialize};

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It lowers the windows of its clients' ACKs.
    Proxy,
    /// It writes the price of its queue into what its stations get.
    Ap,
    /// It goes by that price, at the station.
    Client,
}

impl Mode {
    /// As commands name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proxy => "proxy",
            Self::Ap => "ap",
            Self::Client => "client",
        }
    }

    /// The programs.
    pub(crate) fn object(self) -> &'static [u8] {
        match self {
            Self::Proxy => include_bytes!(concat!(env!("OUT_DIR"), "/proxy.bpf.o")),
            Self::Ap => include_bytes!(concat!(env!("OUT_DIR"), "/ap.bpf.o")),
            Self::Client => include_bytes!(concat!(env!("OUT_DIR"), "/client.bpf.o")),
        }
    }

    /// Where they are put. What hears ACKs comes last: nothing is lowered for want of what was not seen.
    pub(crate) fn places(self) -> [(&'static str, TcHook); 2] {
        match self {
            Self::Proxy | Self::Ap => [("to_client", TcHook::Egress), ("to_server", TcHook::Ingress)],
            // The station is behind the device, not before it.
            Self::Client => [("to_client", TcHook::Ingress), ("to_server", TcHook::Egress)],
        }
    }

    /// Whether it looks at a queue.
    pub fn sees_queues(self) -> bool {
        self != Self::Client
    }

    /// Whether it counts packets under this name of [`COUNTED`](crate::state::COUNTED).
    pub(crate) fn counts(self, name: &str) -> bool {
        match name {
            "stamped" | "overwritten" | "unstamped" | "mss_lowered" | "mtu_lowered" => self == Self::Ap,
            "priced" | "unpriced" => self == Self::Client,
            "updates" | "unheard" => self == Self::Proxy,
            "lowered" | "midstream" | "foreign_option" | "table_full" => self != Self::Ap,
            _ => true,
        }
    }
}
