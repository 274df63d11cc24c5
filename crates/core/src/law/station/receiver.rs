// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is left of the law at each flow's receiver: the window before any data. From there on the station's agent grants.

use super::flow::FIRST_SEGMENTS;
use crate::error::ParameterError;
use crate::role::{DataSample, ReceiverLaw};
use crate::units::Bytes;

/// One flow's receiver, which moves no window by itself.
#[derive(Clone, Copy, Debug)]
pub struct StationReceiver {
    mss: u32,
}

impl ReceiverLaw for StationReceiver {
    type Params = ();

    fn set_up((): (), mss: u32) -> Result<Self, ParameterError> {
        Ok(Self { mss })
    }

    fn first_window(&self, os_window: Bytes) -> Bytes {
        Bytes::new(u64::from(FIRST_SEGMENTS) * u64::from(self.mss)).min(os_window)
    }

    fn on_packet(&mut self, _sample: &DataSample, _os_window: Bytes) -> Bytes {
        Bytes::ZERO
    }
}
