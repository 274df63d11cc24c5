// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent is told: a packet of a flow has come, and what it lets know of the line and the path.

use crate::packet::StationStamp;

/// What an arrival lets know of the line and the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// The router has stamped it.
    Stamped {
        /// What the router has told.
        stamp: StationStamp,
        /// A sample of the round-trip time \[s\], if it gives one.
        rtt_s: Option<f64>,
    },
    /// No router tells anything: the agent has found it from acknowledgements.
    Found(Found),
}

/// What a packet has waited \[s\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Waits {
    /// In the queue of the line that it tells of.
    pub(super) here_s: f64,
    /// In those of other lines.
    pub(super) elsewhere_s: f64,
}

impl Waits {
    pub(super) fn all_s(self) -> f64 {
        self.here_s + self.elsewhere_s
    }
}

impl Known {
    /// The number of the line that it tells of.
    pub(super) fn line(&self) -> u8 {
        match self {
            Self::Stamped { stamp, .. } => stamp.line,
            Self::Found(_) => 0,
        }
    }

    /// What the packet has waited.
    pub(super) fn waits(&self) -> Waits {
        match self {
            Self::Stamped { stamp, .. } => {
                Waits { here_s: f64::from(stamp.waited_s), elsewhere_s: f64::from(stamp.elsewhere_s) }
            }
            Self::Found(found) => Waits { here_s: found.waited_s, elsewhere_s: 0.0 },
        }
    }
}

/// What is known of a hidden queue. Where no header is counted in rates and queues, arrivals have none either.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// μ̂ \[B/s\]; none before it is known.
    pub rate: Option<f64>,
    /// q: what the packet left behind it \[B\].
    pub queue_bytes: f64,
    /// x: what the packet has waited \[s\].
    pub waited_s: f64,
    /// d of its flow \[s\].
    pub delay_s: f64,
    /// What acknowledgements wait on their way \[s\].
    pub ack_delay_s: f64,
    /// Whether the queue is being drained, to see d.
    pub is_draining: bool,
    /// Whether its flow's receiver holds acknowledgements back.
    pub holds: bool,
    /// For how long such receivers wait for a second segment \[s\].
    pub timer_s: f64,
}

/// A data packet of a flow, as the agent sees it once the flow's receiver has taken it in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationArrival {
    /// When it came \[s\].
    pub t_s: f64,
    /// Its size on the wire \[B\].
    pub size_bytes: f64,
    /// Its payload \[B\].
    pub payload_bytes: f64,
    /// What it tells of the line.
    pub told: Known,
    /// All that the flow has received \[B of payload\], out of order or not.
    pub received: u64,
    /// The right edge of the flow's window, as a byte of payload.
    pub edge: u64,
    /// How far right its buffer lets the window end.
    pub most_edge: u64,
    /// Whether it is acknowledged at once, so that the acknowledgement can tell of a window.
    pub is_acknowledged: bool,
}
