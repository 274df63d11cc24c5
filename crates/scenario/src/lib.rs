// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenario file: one TOML text, read by the simulator and by the emulator.
//!
//! ```text
//!   TOML ─► overrides ─► reader ─► Scenario: LinkSpec, AccessPointSpec, WlanSpec, FlowSpec, …
//!                                     │        each with parameters of lasthop-core
//!                                     ├─► the simulator, the emulator
//!                                     └─► schema ─► editors, the reference
//! ```
//!
//! These structs are its only definition: the JSON Schema for editors comes from them, and a key that no field
//! takes is refused. Values carry their units. Where a key takes one of several kinds, it is a table with the key
//! `kind`; the bare name of a kind stands for that table with nothing else in it.
//!
//! | module | what it holds |
//! |---|---|
//! | `flow`, `sender`, `kinds` | flows and their ends; radios |
//! | `wlan` | the WLAN; links and access points are here |
//! | `overrides` | values put into a text |
//! | `reader` | from TOML's values to structs |
//! | `error` | what is refused: key, value, what is wanted |
//!
//! ```
//! let text = r#"
//!     duration = "10 s"
//!     [[flow]]
//!     name = "download"
//!     rtt = "20 ms"
//! "#;
//! let scenario = lasthop_scenario::parse(text)?;
//! assert_eq!(scenario.flow[0].sender.kind(), "newreno");
//! let short = lasthop_scenario::effective(text, &[("flow[0].rtt".into(), "20 m".into())])?;
//! let refused = lasthop_scenario::parse(&short).unwrap_err();
//! assert!(refused.to_string().starts_with("flow[0].rtt = \"20 m\": wanted a time"), "{refused}");
//! # Ok::<(), lasthop_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod flow;
mod kinds;
mod overrides;
mod reader;
mod sender;
#[cfg(test)]
mod tests;
mod wlan;

pub use error::ScenarioError;
pub use flow::{FlowSpec, MOST_FLOWS, Reader, Sink};
pub use kinds::{Radio, ReceiverSpec, StationSeat, TraceFile};
pub use lasthop_core::parameter::With;
pub use overrides::effective;
pub use sender::{Kernel, SenderKeys, SenderSpec};
pub use wlan::{WlanSpec, WlanStationSpec};

use lasthop_core::error::{ParameterError, ensure};
use lasthop_core::law::kernel::ProxyParams;
use lasthop_core::loss::LossParams;
use lasthop_core::parameter::{Parameter, above};
use lasthop_core::parameters;
use lasthop_core::queue::Buffer;
use lasthop_core::role::{Feedback, Price, SchedulerParams};
use lasthop_core::tcp::{ReceiverSwitches, Rules, Switches};
use lasthop_core::units::{Duration, Rate};
use lasthop_core::wlan::MacConfig;
use serde::de::DeserializeOwned;
use toml::de::DeTable;

/// Most samples of all flows, or of all flows and queues by a probe, in one run: some 2 GB.
pub const MOST_SAMPLES: u64 = 10_000_000;

parameters! {
    /// A scenario.
    #[derive(Clone, Debug)]
    pub struct Scenario {
        /// What the scenario shows, in one line.
        pub title: String = String::new();
        /// Length of the run.
        pub duration: Duration, in above(Duration::ZERO);
        /// What is cut off at the start before anything is measured, less than the duration.
        pub warmup: Duration = Duration::ZERO;
        /// Length of the intervals in which goodput is sampled, for its variation, for fairness and for readers.
        pub sample: Duration = Duration::from_secs(1), in above(Duration::ZERO);
        /// Seed of all random streams, unless the command gives one.
        pub seed: u64 = 1;
        /// What to record over time; without it only the summary is kept.
        pub probe: Option<ProbeSpec> = None;
        /// Links that flows share.
        pub link: Vec<LinkSpec> = vec![];
        /// Wireless access points.
        pub ap: Vec<AccessPointSpec> = vec![];
        /// Wireless LANs whose stations contend.
        pub wlan: Vec<With<WlanSpec, MacConfig>> = vec![];
        /// Flows, each a connection or several alike.
        pub flow: Vec<FlowSpec>;
    }
    check(p) {
        p.check_times()?;
    }
}

parameters! {
    /// What to record over time.
    #[derive(Clone, Debug)]
    pub struct ProbeSpec {
        /// Interval between samples of windows, queues and radios; no samples by default.
        pub every: Option<Duration> = None, in above(Duration::ZERO);
        /// When the samples start.
        pub from: Duration = Duration::ZERO;
        /// Record every packet at the senders and receivers (for pcapng).
        pub packets: bool = false;
    }
}

parameters! {
    /// A link between two nodes, shared by the flows whose path crosses it.
    #[derive(Clone, Debug)]
    pub struct LinkSpec {
        /// Name of the link and of its queue in the results.
        pub name: String, in above(String::new());
        /// The node at its start.
        pub from: String, in above(String::new());
        /// The node at its end, another than `from`.
        pub to: String, in above(String::new());
        /// Rate of the transmitter.
        pub rate: Rate, in above(Rate::from_bps(0));
        /// Propagation delay, one way.
        pub delay: Duration = Duration::ZERO;
        /// The buffer in front of the transmitter.
        pub queue: Buffer = Buffer::default();
        /// What is written into passing packets for their receivers: CLAMP's price, or a share.
        pub price: Option<Price> = None;
        /// What the router tells senders that ask; not together with a price.
        pub feedback: Option<Feedback> = None;
        /// What is lost behind the transmitter. Each direction has losses of its own, but handoffs are the same for both, and
        /// hold for acknowledgements without a link too.
        pub loss: Option<LossParams> = None;
        /// Whether acknowledgements come back over a link of the same rate, delay and buffer; otherwise they come back over
        /// another link that leads back, if there is one, or else over the delay alone.
        pub duplex: bool = true;
    }
    check(p) {
        ensure(p.from != p.to, "to", format_args!("{:?}", p.to), "another node than `from`")?;
        one_router(&p.price, &p.feedback)?;
    }
}

parameters! {
    /// An access point: a queue a station, a scheduler, a radio.
    #[derive(Clone, Debug)]
    pub struct AccessPointSpec {
        /// Name of the access point; its queues are `NAME/STATION`.
        pub name: String, in above(String::new());
        /// Propagation delay between the access point and its stations, one way.
        pub delay: Duration = Duration::ZERO;
        /// Who is served next.
        pub scheduler: SchedulerParams = SchedulerParams::default();
        /// The radio of every station that has none of its own.
        pub radio: Radio;
        /// The buffer of every station that has none of its own.
        pub queue: Buffer = Buffer::default();
        /// What is written into passing packets for their receivers: CLAMP's price, or a share.
        pub price: Option<Price> = None;
        /// What every station's queue that has none of its own tells senders that ask; not together with a price.
        pub feedback: Option<Feedback> = None;
        /// A proxy beside it, for flows whose ends know nothing of it; it sees data before they are queued, and lowers the windows of
        /// acknowledgements.
        pub proxy: Option<ProxyParams> = None;
        /// Packets lost on the radio whatever its state; each station has losses and handoffs of its own, and handoffs take its
        /// acknowledgements too.
        pub loss: Option<LossParams> = None;
        /// The way from the stations to the access point; without it they are heard after the delay alone.
        pub uplink: Option<Uplink> = None;
        /// Stations that differ from the rest. Any other station exists as soon as a flow names it.
        pub station: Vec<With<StationSpec, StationQueue>> = vec![];
    }
    check(p) {
        one_router(&p.price, &p.feedback)?;
    }
}

parameters! {
    /// The way from the stations to the access point: a buffer in each station, and a channel that all share. In the results its
    /// queues are `NAME (up)/STATION`.
    #[derive(Clone, Debug)]
    pub struct Uplink {
        /// Which station sends next.
        pub scheduler: SchedulerParams = SchedulerParams::default();
        /// The radio of every station.
        pub radio: Radio;
        /// The buffer of every station.
        pub queue: Buffer = Buffer::default();
    }
}

parameters! {
    /// A station with a radio or a buffer of its own.
    #[derive(Clone, Debug)]
    pub struct StationSpec {
        /// Its radio, in place of the access point's.
        pub radio: Option<Radio> = None;
    }
}

parameters! {
    /// What a station has in place of its access point or WLAN.
    #[derive(Clone, Debug)]
    pub struct StationQueue {
        /// Its name.
        pub name: String, in above(String::new());
        /// Its buffer, in place of the access point's or WLAN's.
        pub queue: Option<Buffer> = None;
        /// Its price, in place of the access point's or WLAN's.
        pub price: Option<Price> = None;
        /// What its queue tells senders that ask, in place of what the access point's or WLAN's does.
        pub feedback: Option<Feedback> = None;
    }
    check(p) {
        one_router(&p.price, &p.feedback)?;
    }
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

impl Scenario {
    /// Refuses times that make no run, and samples that would fill the memory.
    fn check_times(&self) -> Result<(), ParameterError> {
        let wanted = format_args!("less than the duration, {:?}", self.duration);
        ensure(self.warmup < self.duration, "warmup", format_args!("{:?}", self.warmup), wanted)?;
        let measured = self.duration - self.warmup;
        let probed = self.probe.as_ref().and_then(|probe| probe.every);
        let sampled = [("sample", measured, Some(self.sample)), ("probe.every", self.duration, probed)];
        for (key, of, interval) in sampled {
            let Some(interval) = interval else { continue };
            let wanted = format_args!("at most {MOST_SAMPLES} samples in {of:?}");
            ensure(of.as_nanos() / interval.as_nanos() <= MOST_SAMPLES, key, format_args!("{interval:?}"), wanted)?;
        }
        Ok(())
    }
}

/// A queue has one router.
fn one_router(price: &Option<Price>, feedback: &Option<Feedback>) -> Result<(), ParameterError> {
    match (price, feedback) {
        (Some(_), Some(feedback)) => {
            Err(ParameterError::new("feedback", format!("{:?}", feedback.kind()), "no price beside it"))
        }
        _ => Ok(()),
    }
}

/// Reads a scenario.
///
/// # Errors
/// One line that names the key, its value and what is wanted.
pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    // The reader of overrides knows the line of what is no TOML.
    read(text).map_err(|error| effective(text, &[]).err().unwrap_or(error))
}

/// Reads another file of parameters by the same rules.
///
/// # Errors
/// As [`parse`].
pub fn read<T: Parameter + DeserializeOwned>(text: &str) -> Result<T, ScenarioError> {
    let no_toml = |e: toml::de::Error| ScenarioError::syntax(e.message(), None);
    // As values the text is read for messages alone: that takes as long again.
    let values = || text.parse::<toml::Table>().map_err(no_toml);
    let parsed = DeTable::parse(text).map_err(no_toml)?.into_inner();
    let parameters: T = reader::read(parsed).or_else(|error| values().and(Err(error)))?;
    if let Err(mut e) = parameters.validate() {
        // Another key may have made a default wrong.
        if !is_written(&values()?, &e.key) {
            e.value += " by default";
        }
        return Err(ScenarioError::parameter("", e));
    }
    Ok(parameters)
}

/// Whether the file itself has the key of that path, such as `ap[0].radio.slot`.
fn is_written(table: &toml::Table, path: &str) -> bool {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let mut parts = first.split('[').map(|part| part.trim_end_matches(']'));
    let found = parts.next().and_then(|name| table.get(name));
    match parts.try_fold(found, |found, index| Some(found?.as_array()?.get(index.parse::<usize>().ok()?))).flatten() {
        Some(_) if rest.is_empty() => true,
        Some(toml::Value::Table(inner)) => is_written(inner, rest),
        _ => false,
    }
}

/// The JSON Schema of scenario files; in `rules` it says what each profile of recovery holds, and which senders follow which.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    schema["rules"] = serde_json::json!({ "profiles": Rules::KINDS, "switches": Switches::profiles(), "receivers": ReceiverSwitches::profiles(), "senders": SenderSpec::habits_of_all() });
    schema
}
