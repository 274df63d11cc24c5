// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an emulation comes to: the figures of a run, and how well real time was kept.

use std::collections::BTreeMap;

use lasthop_sim::Summary;
use serde::Serialize;

/// How well an emulation kept real time.
#[derive(Clone, Debug, Serialize)]
pub struct Emulation {
    /// Packets that left the network into a kernel.
    pub packets: u64,
    /// Processor time of the threads that relay and write them \[s\]. What kernels do with a packet that they are handed is part of it.
    pub cpu_s: f64,
    /// How much later than due half of them left \[s\], with what they waited before they were taken in.
    pub lag_p50_s: f64,
    /// How much later than due all but one in a hundred left at most \[s\], with what they waited before they were taken in.
    pub lag_p99_s: f64,
    /// The greatest lag \[s\].
    pub lag_max_s: f64,
    /// What all but one in a hundred waited at most before they were taken in \[s\]: an upper bound.
    pub wait_p99_s: f64,
    /// How often a thread of the emulator stood still for more than 1 ms.
    pub stalls: u64,
    /// The longest time for which it stood still \[s\].
    pub stall_max_s: f64,
    /// The longest that the scenario bears: the shortest round-trip time, or what the smallest buffer lasts \[s\].
    pub stall_limit_s: f64,
    /// Share of the time in which it stood still.
    pub stalled_fraction: f64,
    /// How long quotas of control groups withheld the processor from it and from what it ran \[s\].
    pub throttled_s: f64,
    /// Packets that came too fast: the kernel's queue in front of the emulator was full, or a gigabyte was under way.
    pub overruns: u64,
    /// Packets that no route knows: to or from addresses that are nobody's.
    pub strays: u64,
    /// Whether the emulator ran with real-time priority and locked memory.
    pub realtime: bool,
    /// Packets that were dropped where they arrived, by the kernel's names, such as `UdpRcvbufErrors`.
    pub endpoint_drops: BTreeMap<String, u64>,
    /// Congestion control of the kernel, by flow.
    pub congestion_control: Vec<String>,
    /// By whom receivers obeyed the scenario's laws: `lasthop-agent`'s `client` or `proxy`; null: by nobody.
    pub agent: Option<&'static str>,
    /// Settings of the kernel that were set for the run, by their names.
    pub sysctls: BTreeMap<String, String>,
    /// Why the run is not to be believed, a line for each reason; none if it is.
    pub faults: Vec<String>,
}

/// The figures of a run that may have been an emulation, as one object.
#[derive(Debug, Serialize)]
pub struct Figures<'a> {
    /// Those of any run.
    #[serde(flatten)]
    pub summary: &'a Summary,
    /// How well real time was kept; none of a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<&'a Emulation>,
}
