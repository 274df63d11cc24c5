// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenario file: one TOML text, read by the simulator and by the emulator.
//!
//! These structs are its only definition: the JSON Schema for editors comes from them, and a key that no field
//! takes is refused. Values carry their units. Where a key takes one of several kinds, it is a table with the key
//! `kind`; the bare name of a kind stands for that table with nothing else in it.
#![forbid(unsafe_code)]

mod feedback;
mod flow;
mod kinds;
pub mod quantity;
mod read;
mod sender;
mod with;
mod wlan;

use schemars::JsonSchema;
use serde::Deserialize;

pub use feedback::Feedback;
pub use flow::{App, Clamp, DelayedAcks, Flow, Linux, Plain, Reader, Receiver, ReceiverSlowStart, Sink, Sizes};
pub use kinds::{
    Aqm, Average, Codel, Errors, Frames, GilbertElliott, Handoff, Jakes, Loss, Margin, Price, PriceOptions, Radio,
    Scheduler, Unit,
};
pub use read::{ScenarioError, effective, parse, schema};
pub use sender::{
    AfterTimeout, Aimd, Arming, Binomial, Cubic, GammaVariant, Kernel, LinuxCubic, Qfcp, Recovery, RttEstimator,
    Sender, SenderOptions, Tfrc, Validation, Vegas, Veno, Westwood,
};
pub use with::With;
pub use wlan::{RateStep, Wlan, WlanStation};

use crate::quantity::{Amount, BitRate, Time};

/// A scenario.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the scenario shows, in one line.
    #[serde(default)]
    pub title: String,
    /// Length of the run.
    pub duration: Time,
    /// What is cut off at the start before anything is measured.
    #[serde(default)]
    pub warmup: Time,
    /// Length of the intervals in which goodput is sampled, for its variation, for fairness and for readers.
    #[serde(default = "second")]
    pub sample: Time,
    /// Seed of all random streams, unless the command gives one.
    #[serde(default = "one")]
    pub seed: u64,
    /// What to record over time; without it only the summary is kept.
    #[serde(default)]
    pub probe: Option<Probe>,
    /// Links that flows share.
    #[serde(default)]
    pub link: Vec<Link>,
    /// Wireless access points.
    #[serde(default)]
    pub ap: Vec<AccessPoint>,
    /// Wireless LANs whose stations contend.
    #[serde(default)]
    pub wlan: Vec<Wlan>,
    /// Flows, each a connection or several alike.
    pub flow: Vec<Flow>,
}

/// What to record over time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Interval between samples of windows, queues and radios; no samples by default.
    #[serde(default)]
    pub every: Option<Time>,
    /// When the samples start.
    #[serde(default)]
    pub from: Time,
    /// Record every packet at the senders and receivers (for pcapng).
    #[serde(default)]
    pub packets: bool,
}

/// A link between two nodes, shared by the flows whose path crosses it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name of the link and of its queue in the results.
    pub name: String,
    /// The node at its start.
    pub from: String,
    /// The node at its end.
    pub to: String,
    /// Rate of the transmitter.
    pub rate: BitRate,
    /// Propagation delay, one way.
    #[serde(default)]
    pub delay: Time,
    /// The buffer in front of the transmitter.
    #[serde(default)]
    pub queue: Queue,
    /// CLAMP's price, written into passing packets.
    #[serde(default)]
    pub price: Option<Price>,
    /// What the router tells senders that ask; not together with a price.
    #[serde(default)]
    pub feedback: Option<Feedback>,
    /// What is lost behind the transmitter. Each direction has losses of its own, but handoffs are the same for both, and
    /// hold for acknowledgements without a link too.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// Whether acknowledgements come back over a link of the same rate, delay and buffer; otherwise they come back over
    /// the delay alone.
    #[serde(default = "yes")]
    pub duplex: bool,
}

/// A buffer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// How much it holds; endless by default.
    #[serde(default)]
    pub limit: Option<Amount>,
    /// Which packets are dropped before it is full.
    #[serde(default)]
    pub aqm: Aqm,
}

/// An access point: a queue a station, a scheduler, a radio.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessPoint {
    /// Name of the access point; its queues are `NAME/STATION`.
    pub name: String,
    /// Propagation delay between the access point and its stations, one way.
    #[serde(default)]
    pub delay: Time,
    /// Who is served next.
    #[serde(default)]
    pub scheduler: Scheduler,
    /// The radio of every station that has none of its own.
    pub radio: Radio,
    /// The buffer of every station that has none of its own.
    #[serde(default)]
    pub queue: Queue,
    /// CLAMP's price, written into passing packets.
    #[serde(default)]
    pub price: Option<Price>,
    /// What every station's queue that has none of its own tells senders that ask; not together with a price.
    #[serde(default)]
    pub feedback: Option<Feedback>,
    /// Packets lost on the radio whatever its state; each station has losses and handoffs of its own, and handoffs take its
    /// acknowledgements too.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// The way from the stations to the access point; without it they are heard after the delay alone.
    #[serde(default)]
    pub uplink: Option<Uplink>,
    /// Stations that differ from the rest. Any other station exists as soon as a flow names it.
    #[serde(default)]
    pub station: Vec<With<Station, StationQueue>>,
}

/// The way from the stations to the access point: a buffer in each station, and a channel that all share. In the results its
/// queues are `NAME (up)/STATION`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uplink {
    /// Which station sends next.
    #[serde(default)]
    pub scheduler: Scheduler,
    /// The radio of every station.
    pub radio: Radio,
    /// The buffer of every station.
    #[serde(default)]
    pub queue: Queue,
}

/// A station with a radio or a buffer of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Its radio, in place of the access point's.
    #[serde(default)]
    pub radio: Option<Radio>,
}

/// What a station has in place of its access point or WLAN.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationQueue {
    /// Its name.
    pub name: String,
    /// Its buffer, in place of the access point's or WLAN's.
    #[serde(default)]
    pub queue: Option<Queue>,
    /// Its price, in place of the access point's or WLAN's.
    #[serde(default)]
    pub price: Option<Price>,
    /// What its queue tells senders that ask, in place of what the access point's or WLAN's does.
    #[serde(default)]
    pub feedback: Option<Feedback>,
}

impl Scenario {
    /// Reads a scenario from TOML after `overrides` (`("flow[0].rtt", "\"80 ms\"")`) were put into it.
    ///
    /// # Errors
    /// One line that names the key, its value and what is wanted.
    pub fn from_toml(text: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        parse(&effective(text, overrides)?)
    }
}

fn one() -> u64 {
    1
}

fn second() -> Time {
    Time(lasthop_core::units::Duration::from_secs(1))
}

fn yes() -> bool {
    true
}
