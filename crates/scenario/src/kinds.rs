// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that take one of several kinds: radio, loss.

use lasthop_core::radio::Frames;
use lasthop_core::units::{Duration, Frequency, Rate};
use lasthop_core::{kinds, parameters};

kinds! {
    /// The radio channel of a station.
    #[derive(Clone, Debug)]
    pub enum Radio {
        /// Rayleigh fading by Jakes' model, rate adaptation, link-layer ARQ (clamp §5.2).
        Jakes(Jakes) = "jakes",
        /// One rate for all stations, packet by packet.
        Constant(Constant) = "constant",
        /// Delivery opportunities of 1504 bytes at the times of a mahimahi trace.
        Trace(Trace) = "trace",
    }
}

parameters! {
    /// A fading channel.
    #[derive(Clone, Debug)]
    pub struct Jakes {
        /// Doppler frequency: 60 Hz at 10 m/s and 1.8 GHz.
        pub doppler: Frequency;
        /// Oscillators G of the model.
        pub generators: u32 = 20;
        /// Mean signal-to-noise ratio, as a plain ratio.
        pub snr: f64 = 4.0;
        /// Bandwidth W₀ of `W₀ log₂(1 + SNR)`.
        pub bandwidth: Frequency;
        /// Rate that the radio never passes.
        pub max_rate: Rate;
        /// Length of a slot: one transmission attempt.
        pub slot: Duration = Duration::from_millis(3);
        /// Attempts before the packets of a slot are lost.
        pub attempts: u32;
        /// Share of packets lost after all attempts that the margin is adapted to.
        pub packet_error_rate: f64 = 1e-3;
        /// How the back-off margin is found.
        pub margin: Margin = Margin::default();
        /// Gain of the margin's adaptation, a packet: `ln(1 − m)` falls by it on a loss.
        pub margin_gain: f64 = 0.1;
        /// How packets are cut into transmissions.
        pub frames: Frames = Frames::default();
        /// When an attempt fails.
        pub errors: Errors = Errors::default();
    }
}

kinds! {
    /// The back-off margin m of clamp eq. 18.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub enum Margin {
        /// Adapted, of either sign.
        #[default]
        Signed = "signed",
        /// Adapted, never below nothing.
        NonNegative = "non-negative",
        /// Not adapted.
        Fixed(FixedMargin) = "fixed",
    }
}

parameters! {
    /// A margin that stays.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FixedMargin {
        /// Its value, below 1.
        pub value: f64;
    }
}

kinds! {
    /// When an attempt fails.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub enum Errors {
        /// If the SNR at its end cannot carry the rate that was chosen at its start (clamp §5.2).
        #[default]
        Outage = "outage",
        /// With a probability that falls linearly with the SNR (clamp-report §V).
        Linear(LinearErrors) = "linear",
        /// Never.
        None = "none",
    }
}

parameters! {
    /// The report's frame errors.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct LinearErrors {
        /// Probability of a frame error at the lower SNR.
        pub worst: f64;
        /// SNR below which every frame fails.
        pub lower_snr: f64 = 0.004;
        /// SNR from which no frame fails.
        pub upper_snr: f64 = 4.0;
    }
}

parameters! {
    /// A radio of constant rate.
    #[derive(Clone, Debug)]
    pub struct Constant {
        /// Its rate.
        pub rate: Rate;
    }
}

parameters! {
    /// A radio that follows a recording.
    #[derive(Clone, Debug)]
    pub struct Trace {
        /// A mahimahi trace: one time stamp in ms a line; looked for beside the scenario.
        pub file: String;
    }
}

kinds! {
    /// What is lost whatever the queue.
    #[derive(Clone, Debug)]
    pub enum Loss {
        /// Each packet with the same probability.
        Bernoulli(Bernoulli) = "bernoulli",
        /// In bursts, by a chain of two states that moves with each packet.
        GilbertElliott(GilbertElliott) = "gilbert-elliott",
        /// All packets of both directions, while a handoff is on.
        Handoff(Handoff) = "handoff",
    }
}

parameters! {
    /// Independent losses.
    #[derive(Clone, Copy, Debug)]
    pub struct Bernoulli {
        /// Probability of a loss.
        pub p: f64;
    }
}

parameters! {
    /// Losses in bursts: either by the probabilities of the chain, or by `mean_loss` and `mean_burst`.
    #[derive(Clone, Copy, Debug)]
    pub struct GilbertElliott {
        /// Probability that the chain turns bad behind a packet.
        pub good_to_bad: Option<f64> = None;
        /// Probability that it turns good again.
        pub bad_to_good: Option<f64> = None;
        /// Probability of a loss in the good state; 0 by default.
        pub loss_good: Option<f64> = None;
        /// Probability of a loss in the bad state; 1 by default.
        pub loss_bad: Option<f64> = None;
        /// Share of packets lost, all in the bad state and none in the good one.
        pub mean_loss: Option<f64> = None;
        /// Mean number of packets lost in a row.
        pub mean_burst: Option<f64> = None;
    }
}

parameters! {
    /// Handoffs: either a chain with stays `on` and `off`, or fixed ones `at` instants. Both directions meet the same ones.
    #[derive(Clone, Debug)]
    pub struct Handoff {
        /// Mean length of a handoff; lengths are exponential.
        pub on: Option<Duration> = None;
        /// Mean time from the end of a handoff to the start of the next; exponential. A run starts with one.
        pub off: Option<Duration> = None;
        /// Whether the time between handoffs is always `off`.
        pub regular: bool = false;
        /// Starts of fixed handoffs, in order.
        pub at: Vec<Duration> = vec![];
        /// Length of fixed handoffs.
        pub length: Option<Duration> = None;
    }
}
