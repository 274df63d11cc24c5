// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contention WLAN.

use lasthop_core::parameters;

use super::{StationQueue, one_router};
use lasthop_core::error::ParameterError;
use lasthop_core::loss::LossParams;
use lasthop_core::parameter::{With, above};
use lasthop_core::queue::Buffer;
use lasthop_core::role::{Feedback, Price};
use lasthop_core::units::Rate;
use lasthop_core::wlan::{RateStep, RateSteps};

parameters! {
    /// A WLAN: a base station and stations that contend for one medium by 802.11's distributed coordination function. The
    /// defaults are those of 802.11b with the long preamble.
    #[derive(Clone, Debug)]
    pub struct WlanSpec {
        /// Name of the WLAN and of its base station's queue; the stations' queues are `NAME/STATION`.
        pub name: String, in above(String::new());
        /// Rate of data frames between the base station and every station that has none of its own.
        pub rate: Rate = Rate::from_bps(11_000_000), in above(Rate::from_bps(0));
        /// Changes of that rate while the run goes on, in order of time.
        pub rate_steps: Vec<RateStep> = vec![];
        /// The buffer of the base station, and of every station that has none of its own. The packet that the MAC sends
        /// has left it. With `aqm = "two-queues"`, of each of the two queues that every node then has.
        pub queue: Buffer = Buffer::default();
        /// What the base station, and every station that has none of its own, writes into the packets that it sends.
        pub price: Option<Price> = None;
        /// What the base station's queue, and every station's that has none of its own, tells senders that ask; not together with
        /// a price.
        pub feedback: Option<Feedback> = None;
        /// Packets lost above the MAC, to and from every station that says nothing else: acknowledged by the MAC, and not
        /// sent again.
        pub loss: Option<LossParams> = None;
        /// Data frames received in error, to and from every station that says nothing else: the MAC sends them again.
        pub frame_errors: Option<LossParams> = None;
        /// The stations; by default those that flows name. Where any is listed, flows may name no other.
        pub station: Vec<With<WlanStationSpec, StationQueue>> = vec![];
    }
    check(p) {
        one_router(&p.price, &p.feedback)?;
        p.rates()?;
    }
}

parameters! {
    /// A station of a WLAN with something of its own.
    #[derive(Clone, Debug)]
    pub struct WlanStationSpec {
        /// Rate of data frames to and from it, in place of the WLAN's rate and steps.
        pub rate: Option<Rate> = None, in above(Rate::from_bps(0));
        /// Changes of its own rate, in order of time.
        pub rate_steps: Vec<RateStep> = vec![];
        /// What is lost above the MAC to and from it, in place of the WLAN's.
        pub loss: Option<LossParams> = None;
        /// Its frame errors, in place of the WLAN's.
        pub frame_errors: Option<LossParams> = None;
    }    check(p) {
        p.rates()?;
    }
}

impl WlanSpec {
    /// Its rate, and how it changes.
    ///
    /// # Errors
    /// A step that is not after its predecessor.
    pub fn rates(&self) -> Result<RateSteps, ParameterError> {
        RateSteps::new(self.rate, &self.rate_steps)
    }
}

impl WlanStationSpec {
    /// Its own rate, if it has one, and how that changes.
    ///
    /// # Errors
    /// Steps without a rate, or one that is not after its predecessor.
    pub fn rates(&self) -> Result<Option<RateSteps>, ParameterError> {
        match self.rate {
            Some(rate) => RateSteps::new(rate, &self.rate_steps).map(Some),
            None if self.rate_steps.is_empty() => Ok(None),
            None => Err(ParameterError::new("rate", "none", "a rate, as there are rate steps")),
        }
    }
}
