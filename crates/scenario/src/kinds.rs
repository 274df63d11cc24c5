// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that take one of several kinds: radio, receiver.

use lasthop_core::law::clamp::ClampParams;
use lasthop_core::law::kernel::ClampKernelParams;
use lasthop_core::law::{share, station};
use lasthop_core::parameter::{With, above};
use lasthop_core::radio::{ConstantRadio, FadingRadio};
use lasthop_core::role::ReceiverParams;
use lasthop_core::tcp::{ReceiverConfig, ReceiverSwitches, Rules};
use lasthop_core::{kinds, parameters};

kinds! {
    /// The radio channel of a station.
    #[derive(Clone, Debug)]
    pub enum Radio {
        /// Rayleigh fading by Jakes' model, rate adaptation, link-layer ARQ (clamp §5.2).
        Jakes(FadingRadio) = "jakes",
        /// One rate for all stations, packet by packet.
        Constant(ConstantRadio) = "constant",
        /// Delivery opportunities of 1504 bytes at the times of a mahimahi trace.
        Trace(TraceFile) = "trace",
    }
}

parameters! {
    /// A radio that follows a recording.
    #[derive(Clone, Debug)]
    pub struct TraceFile {
        /// A mahimahi trace: one time stamp in ms a line; or rows `time_s,rate_bps` behind that heading. It is looked for beside
        /// the scenario.
        pub file: String, in above(String::new());
    }
}

kinds! {
    /// A receiver: what it advertises, and when it acknowledges.
    #[derive(Clone, Debug)]
    pub enum ReceiverSpec {
        /// Advertises its free buffer, and acknowledges each segment at once by default.
        Plain(ReceiverSwitches) = "plain",
        /// Advertises its free buffer, and acknowledges as Linux does: the first segments each, then every second one.
        Linux(ReceiverSwitches) = "linux",
        /// Advertises CLAMP's window (clamp eq. 14–17).
        Clamp(With<ClampParams, ReceiverSwitches>) = "clamp",
        /// Advertises CLAMP's window as `lasthop-agent client` reckons it: in integers, and with the agent's rules where those are others.
        ClampKernel(With<ClampKernelParams, ReceiverSwitches>) = "clamp-kernel",
        /// Advertises its share of the line, and of the queue that is wanted, as routers with `price = "share"` tell it.
        Share(With<share::ReceiverKeys, ReceiverSwitches>) = "share",
        /// One agent for all flows of a station sets their windows, at any packet of any of them, as the station's queue with
        /// `price = "station"` tells it. Window updates are acknowledgements, and cost what those cost.
        Station(With<With<station::StationKeys, StationSeat>, ReceiverSwitches>) = "station",
    }
    or "plain"
}

parameters! {
    /// A flow's place at its station's agent.
    #[derive(Clone, Debug)]
    pub struct StationSeat {
        /// φ: the flow's part of the line is φ/Σφ.
        pub weight: f64 = 1.0, in 0.001..=1000.0;
        /// The host that the flow ends at, where several share a station's queue; each has an agent that knows its own flows alone.
        pub host: Option<String> = None, in above(String::new());
    }
}

impl Default for ReceiverSpec {
    fn default() -> Self {
        Self::Plain(ReceiverSwitches::default())
    }
}

impl ReceiverSpec {
    /// What is said of its acknowledgements.
    pub fn switches(&self) -> &ReceiverSwitches {
        match self {
            Self::Plain(switches) | Self::Linux(switches) => switches,
            Self::Clamp(with) => &with.common,
            Self::ClampKernel(with) => &with.common,
            Self::Share(with) => &with.common,
            Self::Station(with) => &with.common,
        }
    }

    /// With its law, and by its rules but for what is said.
    pub fn over(&self, config: ReceiverConfig) -> ReceiverConfig {
        let (rules, law) = match self {
            Self::Plain(_) => (Rules::Rfc, ReceiverParams::Plain),
            Self::Linux(_) => (Rules::Linux, ReceiverParams::Plain),
            Self::Clamp(with) => (Rules::Rfc, ReceiverParams::Clamp(with.own)),
            Self::ClampKernel(with) => (Rules::Rfc, ReceiverParams::ClampKernel(with.own)),
            Self::Share(with) => (Rules::Rfc, ReceiverParams::Share(with.own)),
            Self::Station(_) => (Rules::Rfc, ReceiverParams::Station),
        };
        self.switches().over(rules, ReceiverConfig { law, ..config })
    }
}
