// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an emulation comes to: the figures of a run, and how well real time was kept.

use lasthop_sim::Summary;
use serde::Serialize;

/// How well an emulation kept real time.
#[derive(Clone, Debug, Serialize)]
pub struct Emulation {
    /// Packets that left the network into a kernel.
    pub packets: u64,
    /// Processor time of the thread that relays them \[s\]. What kernels do with a packet that they are handed is part of it.
    pub cpu_s: f64,
    /// How much later than due half of them left \[s\].
    pub lag_p50_s: f64,
    /// How much later than due all but one in a hundred left at most \[s\].
    pub lag_p99_s: f64,
    /// The greatest lag \[s\].
    pub lag_max_s: f64,
    /// Packets that came too fast: the kernel's queue in front of the emulator was full, or a gigabyte was under way.
    pub overruns: u64,
    /// Packets that no route knows: to or from addresses that are nobody's.
    pub strays: u64,
    /// Whether the emulator ran with real-time priority and locked memory.
    pub realtime: bool,
    /// Congestion control of the kernel, by flow.
    pub congestion_control: Vec<String>,
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
