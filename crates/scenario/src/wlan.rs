// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contention WLAN.

use lasthop_core::parameters;
use lasthop_core::wlan::MacConfig;

use super::feedback::Feedback;
use super::kinds::Loss;
use super::{Queue, StationQueue};
use lasthop_core::law::clamp::Price;
use lasthop_core::parameter::With;
use lasthop_core::units::{Bytes, Duration, Rate};

parameters! {
    /// A WLAN: a base station and stations that contend for one medium by 802.11's distributed coordination function. The
    /// defaults are those of 802.11b with the long preamble.
    #[derive(Clone, Debug)]
    pub struct Wlan {
        /// Name of the WLAN and of its base station's queue; the stations' queues are `NAME/STATION`.
        pub name: String;
        /// Rate of data frames between the base station and every station that has none of its own.
        pub rate: Rate = Rate::from_bps(11_000_000);
        /// Changes of that rate while the run goes on, in order of time.
        pub rate_steps: Vec<RateStep> = vec![];
        /// Rate of RTS, CTS and ACK frames.
        pub control_rate: Rate = MacConfig::default().control_rate;
        /// Data frames of more bytes than this, 28 B of MAC header and check sum included, are sent after RTS and CTS:
        /// "0 B" for all. By default none is.
        pub rts_threshold: Option<Bytes> = None;
        /// Length of a back-off slot.
        pub slot: Duration = MacConfig::default().slot;
        /// Gap between the frames of an exchange.
        pub sifs: Duration = MacConfig::default().sifs;
        /// Idle time before back-off slots count.
        pub difs: Duration = MacConfig::default().difs;
        /// PLCP preamble and header in front of every frame.
        pub preamble: Duration = MacConfig::default().preamble;
        /// First contention window: a back-off is uniform over 0 to so many slots.
        pub cw_min: u32 = MacConfig::default().cw_min;
        /// Largest contention window, reached by doubling after each failure.
        pub cw_max: u32 = MacConfig::default().cw_max;
        /// Attempts of an RTS, or of data without RTS, before the packet is lost.
        pub short_attempts: u32 = MacConfig::default().short_attempts;
        /// Attempts of data after RTS and CTS before the packet is lost.
        pub long_attempts: u32 = MacConfig::default().long_attempts;
        /// The buffer of the base station, and of every station that has none of its own. The packet that the MAC sends
        /// has left it.
        pub queue: Queue = Queue::default();
        /// What the base station, and every station that has none of its own, writes into the packets that it sends.
        pub price: Option<Price> = None;
        /// What the base station's queue, and every station's that has none of its own, tells senders that ask; not together with
        /// a price.
        pub feedback: Option<Feedback> = None;
        /// Packets lost above the MAC, to and from every station that says nothing else: acknowledged by the MAC, and not
        /// sent again.
        pub loss: Option<Loss> = None;
        /// Data frames received in error, to and from every station that says nothing else: the MAC sends them again.
        pub frame_errors: Option<Loss> = None;
        /// The stations; by default those that flows name. Where any is listed, flows may name no other.
        pub station: Vec<With<WlanStation, StationQueue>> = vec![];
    }
}

parameters! {
    /// A change of rate.
    #[derive(Clone, Copy, Debug)]
    pub struct RateStep {
        /// When: frames that start from then on have the new rate.
        pub at: Duration;
        /// The new rate.
        pub rate: Rate;
    }
}

parameters! {
    /// A station of a WLAN with something of its own.
    #[derive(Clone, Debug)]
    pub struct WlanStation {
        /// Rate of data frames to and from it, in place of the WLAN's rate and steps.
        pub rate: Option<Rate> = None;
        /// Changes of its own rate, in order of time.
        pub rate_steps: Vec<RateStep> = vec![];
        /// What is lost above the MAC to and from it, in place of the WLAN's.
        pub loss: Option<Loss> = None;
        /// Its frame errors, in place of the WLAN's.
        pub frame_errors: Option<Loss> = None;
    }
}

impl Wlan {
    /// The medium access.
    pub fn mac(&self) -> MacConfig {
        MacConfig {
            slot: self.slot,
            sifs: self.sifs,
            difs: self.difs,
            preamble: self.preamble,
            control_rate: self.control_rate,
            cw_min: self.cw_min,
            cw_max: self.cw_max,
            short_attempts: self.short_attempts,
            long_attempts: self.long_attempts,
            rts_threshold: self.rts_threshold,
        }
    }
}
