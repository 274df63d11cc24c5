// SPDX-License-Identifier: MIT OR Apache-2.0
//! A receiver's law: the window that it advertises.

use core::fmt::Debug;

use crate::error::ParameterError;
use crate::law;
use crate::packet::Signal;
use crate::units::{Bytes, Duration, Instant};

/// What a receiver's law is told of an arrival.
#[derive(Clone, Copy, Debug)]
pub struct DataSample {
    /// When the packet came.
    pub now: Instant,
    /// Size on the wire.
    pub size: Bytes,
    /// Payload \[B\].
    pub payload: u32,
    /// What the routers on the path stamped.
    pub signal: Signal,
    /// Round-trip time that the packet's echo gives, if any.
    pub rtt: Option<Duration>,
    /// Segments that have come and are not acknowledged yet, in the mean: those of delayed acknowledgements.
    pub delayed: f64,
}

/// Where the receivers of a host meet.
#[derive(Clone, Debug, Default)]
pub struct Pools {
    /// Those of CLAMP in integers.
    pub clamp: law::kernel::Pool,
    /// Those of the share window.
    pub share: law::balance::Meeting,
}

/// What a receiver's law may hear. Windows are what it would have advertised; never is more than the operating system's.
pub trait ReceiverLaw: Sized {
    /// Its parameters.
    type Params: Copy + Debug + PartialEq;

    /// Sets the law up on a connection with segments of `mss` bytes.
    ///
    /// # Errors
    /// A parameter outside its domain.
    fn set_up(params: Self::Params, mss: u32) -> Result<Self, ParameterError>;

    /// The window of the SYN-ACK, before any data, where the operating system offers `os_window`.
    fn first_window(&self, os_window: Bytes) -> Bytes {
        os_window
    }

    /// The first data came `d0` after the SYN-ACK left.
    fn on_start(&mut self, _d0: Duration) {}

    /// A data packet came, in order or not. Gives the window to advertise, `os_window` at most.
    fn on_packet(&mut self, _sample: &DataSample, os_window: Bytes) -> Bytes {
        os_window
    }

    /// Whether a window that ends two segments further than was told, or has no room for two, is told at once, where acknowledgements
    /// are delayed.
    fn is_prompt(&self) -> bool {
        false
    }

    /// The packet that came at `now` has been heard: others of the station are met in its `pool`.
    fn meet_others(&mut self, _now: Instant, _pool: &mut Pools) {}

    /// The receiver sent its third duplicate acknowledgement in a row.
    fn on_three_duplicate_acks(&mut self) {}
}

/// Advertises what the operating system would: all the buffer that is free.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl ReceiverLaw for Plain {
    type Params = ();

    fn set_up((): (), _mss: u32) -> Result<Self, ParameterError> {
        Ok(Self)
    }
}

laws! {
    /// Which law a receiver follows when it chooses the window to advertise. [`Default`] is the operating system's.
    #[derive(Default)]
    params ReceiverParams;
    /// A receiver's law at work, whichever it is; each method is [`ReceiverLaw`]'s of that name.
    #[derive(Clone, Debug)]
    any AnyReceiver: ReceiverLaw, set_up(mss: u32) by (mss);
    bare:
        /// The operating system's: all the buffer that is free.
        #[default]
        Plain => Plain,
        /// The station window, by the agent of the station.
        Station => law::station::StationReceiver;
    in boxes:
        /// CLAMP.
        Clamp(law::clamp::ClampParams) => law::clamp::ClampReceiver,
        /// CLAMP in integers.
        ClampKernel(law::kernel::ClampKernelParams) => law::kernel::ClampKernelReceiver,
        /// The share window.
        Share(law::share::ReceiverKeys) => law::share::ShareReceiver;
}

impl AnyReceiver {
    /// Whether it is the operating system's, so that nothing need be told.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// The window of the SYN-ACK.
    pub fn first_window(&self, os_window: Bytes) -> Bytes {
        with!(ref self, law => ReceiverLaw::first_window(law, os_window))
    }

    /// The first data came.
    pub fn on_start(&mut self, d0: Duration) {
        with!(mut self, law => ReceiverLaw::on_start(law, d0));
    }

    /// A data packet came.
    #[inline]
    pub fn on_packet(&mut self, sample: &DataSample, os_window: Bytes) -> Bytes {
        with!(mut self, law => ReceiverLaw::on_packet(law, sample, os_window))
    }

    /// Whether its windows are told at once.
    pub fn is_prompt(&self) -> bool {
        with!(ref self, law => ReceiverLaw::is_prompt(law))
    }

    /// Others of the station are met in its `pool`.
    pub fn meet_others(&mut self, now: Instant, pool: &mut Pools) {
        with!(mut self, law => ReceiverLaw::meet_others(law, now, pool));
    }

    /// The receiver sent its third duplicate acknowledgement in a row.
    pub fn on_three_duplicate_acks(&mut self) {
        with!(mut self, law => ReceiverLaw::on_three_duplicate_acks(law));
    }
}
