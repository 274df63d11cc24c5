// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contention WLAN.

use lasthop_core::units::Rate;
use lasthop_core::wlan::MacConfig;
use schemars::JsonSchema;
use serde::Deserialize;

use super::feedback::Feedback;
use super::kinds::{Loss, Price};
use super::with::With;
use super::{Queue, StationQueue};
use crate::quantity::{BitRate, Size, Time};

/// A WLAN: a base station and stations that contend for one medium by 802.11's distributed coordination function. The
/// defaults are those of 802.11b with the long preamble.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wlan {
    /// Name of the WLAN and of its base station's queue; the stations' queues are `NAME/STATION`.
    pub name: String,
    /// Rate of data frames between the base station and every station that has none of its own.
    #[serde(default = "rate")]
    pub rate: BitRate,
    /// Changes of that rate while the run goes on, in order of time.
    #[serde(default)]
    pub rate_steps: Vec<RateStep>,
    /// Rate of RTS, CTS and ACK frames.
    #[serde(default = "control_rate")]
    pub control_rate: BitRate,
    /// Data frames of more bytes than this, 28 B of MAC header and check sum included, are sent after RTS and CTS:
    /// "0 B" for all. By default none is.
    #[serde(default)]
    pub rts_threshold: Option<Size>,
    /// Length of a back-off slot.
    #[serde(default = "slot")]
    pub slot: Time,
    /// Gap between the frames of an exchange.
    #[serde(default = "sifs")]
    pub sifs: Time,
    /// Idle time before back-off slots count.
    #[serde(default = "difs")]
    pub difs: Time,
    /// PLCP preamble and header in front of every frame.
    #[serde(default = "preamble")]
    pub preamble: Time,
    /// First contention window: a back-off is uniform over 0 to so many slots.
    #[serde(default = "cw_min")]
    pub cw_min: u32,
    /// Largest contention window, reached by doubling after each failure.
    #[serde(default = "cw_max")]
    pub cw_max: u32,
    /// Attempts of an RTS, or of data without RTS, before the packet is lost.
    #[serde(default = "short_attempts")]
    pub short_attempts: u32,
    /// Attempts of data after RTS and CTS before the packet is lost.
    #[serde(default = "long_attempts")]
    pub long_attempts: u32,
    /// The buffer of the base station, and of every station that has none of its own. The packet that the MAC sends
    /// has left it.
    #[serde(default)]
    pub queue: Queue,
    /// What the base station, and every station that has none of its own, writes into the packets that it sends.
    #[serde(default)]
    pub price: Option<Price>,
    /// What the base station's queue, and every station's that has none of its own, tells senders that ask; not together with
    /// a price.
    #[serde(default)]
    pub feedback: Option<Feedback>,
    /// Packets lost above the MAC, to and from every station that says nothing else: acknowledged by the MAC, and not
    /// sent again.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// Data frames received in error, to and from every station that says nothing else: the MAC sends them again.
    #[serde(default)]
    pub frame_errors: Option<Loss>,
    /// The stations; by default those that flows name. Where any is listed, flows may name no other.
    #[serde(default)]
    pub station: Vec<With<WlanStation, StationQueue>>,
}

/// A change of rate.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// When: frames that start from then on have the new rate.
    pub at: Time,
    /// The new rate.
    pub rate: BitRate,
}

/// A station of a WLAN with something of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WlanStation {
    /// Rate of data frames to and from it, in place of the WLAN's rate and steps.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// Changes of its own rate, in order of time.
    #[serde(default)]
    pub rate_steps: Vec<RateStep>,
    /// What is lost above the MAC to and from it, in place of the WLAN's.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// Its frame errors, in place of the WLAN's.
    #[serde(default)]
    pub frame_errors: Option<Loss>,
}

impl Wlan {
    /// The medium access.
    pub fn mac(&self) -> MacConfig {
        MacConfig {
            slot: self.slot.0,
            sifs: self.sifs.0,
            difs: self.difs.0,
            preamble: self.preamble.0,
            control_rate: self.control_rate.0,
            cw_min: self.cw_min,
            cw_max: self.cw_max,
            short_attempts: self.short_attempts,
            long_attempts: self.long_attempts,
            rts_threshold: self.rts_threshold.map(|size| size.0),
        }
    }
}

fn rate() -> BitRate {
    BitRate(Rate::from_bps(11_000_000))
}

fn control_rate() -> BitRate {
    BitRate(MacConfig::default().control_rate)
}

fn slot() -> Time {
    Time(MacConfig::default().slot)
}

fn sifs() -> Time {
    Time(MacConfig::default().sifs)
}

fn difs() -> Time {
    Time(MacConfig::default().difs)
}

fn preamble() -> Time {
    Time(MacConfig::default().preamble)
}

fn cw_min() -> u32 {
    MacConfig::default().cw_min
}

fn cw_max() -> u32 {
    MacConfig::default().cw_max
}

fn short_attempts() -> u32 {
    MacConfig::default().short_attempts
}

fn long_attempts() -> u32 {
    MacConfig::default().long_attempts
}
