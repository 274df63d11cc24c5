// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that take one of several kinds: radio, scheduler, price, management of a queue, loss.

use lasthop_core::law::red::Unit;
use lasthop_core::units::{Bytes, Duration, Frequency, Rate};
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
    /// How packets are cut into transmissions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Frames {
        /// Each slot goes to one station; packets share and span slots (clamp §5.2).
        #[default]
        Shared = "shared",
        /// Packet by packet: a packet takes as many whole slots as it needs (clamp-report §V, clamp-mice §4.1).
        PerPacket = "per-packet",
        /// Packet by packet, each in one piece at the rate of the SNR at its start, whatever the slots.
        Whole = "whole",
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
    /// Who is served next.
    #[derive(Clone, Debug)]
    pub enum Scheduler {
        /// The greatest ratio of current to mean rate (clamp eq. 19).
        ProportionalFair(ProportionalFair) = "proportional-fair",
        /// The best channel.
        BestSnr = "best-snr",
        /// One after the other.
        RoundRobin = "round-robin",
    }
}

parameters! {
    /// Proportional fairness.
    #[derive(Clone, Copy, Debug)]
    pub struct ProportionalFair {
        /// Weight of the past in the moving average of rates, a slot.
        pub memory: f64 = 0.97;
        /// Whether a slot whose transmission fails counts as obtained.
        pub failed_slots_count: bool = true;
    }
}

impl Default for Scheduler {
    fn default() -> Self {
        Scheduler::ProportionalFair(ProportionalFair::default())
    }
}

kinds! {
    /// How a queue is managed.
    #[derive(Clone, Copy, Debug, Default)]
    pub enum Aqm {
        /// Packets are dropped when they find no room.
        #[default]
        DropTail = "drop-tail",
        /// Random early detection, by ns-2's rules.
        Red(Red) = "red",
        /// Controlled delay (RFC 8289).
        Codel(Codel) = "codel",
        /// Fair queueing with a CoDel for each flow (RFC 8290). Without a limit the queue holds 10240 packets; when it is full,
        /// the flow with the most bytes loses.
        FqCodel(FqCodel) = "fq-codel",
    }
}

parameters! {
    /// Random early detection. It drops and never marks. The line's rate is the link's; at an access point that of the station's
    /// radio: its constant rate, its highest rate, or its trace's mean rate.
    #[derive(Clone, Copy, Debug)]
    pub struct Red {
        /// Average queue in packets from which packets are dropped. 0: half of what the line carries in `target_delay`, and
        /// at least 5 (ns-2's `thresh_`).
        pub min_threshold: f64 = 0.0;
        /// Average queue in packets at which the probability reaches `max_p`. 0: three times the lower one (ns-2's
        /// `maxthresh_`).
        pub max_threshold: f64 = 0.0;
        /// Weight w_q of a new sample in the average, up to 1. 0: 1 - exp(-1/C), with C packets a second on the line (ns-2's
        /// `q_weight_`).
        pub queue_weight: f64 = 2e-3;
        /// Probability of a drop at the upper threshold (ns-2's 1/`linterm_`).
        pub max_p: f64 = 0.1;
        /// Whether at least 1/p packets pass between two drops (ns-2's `wait_`).
        pub wait: bool = true;
        /// Whether the probability rises to 1 up to twice the upper threshold; otherwise it jumps there (ns-2's `gentle_`).
        pub gentle: bool = true;
        /// What the queue is measured in. In bytes, a packet is dropped with a probability in proportion to its size (ns-2's
        /// `bytes_` and `queue_in_bytes_`).
        pub unit: Unit = Unit::default();
        /// Mean size of a packet: what counts as one in bytes, and while the line is idle (ns-2's `mean_pktsize_`).
        pub mean_packet: Bytes = Bytes::new(500);
        /// Delay that the automatic lower threshold aims at (ns-2's `targetdelay_`).
        pub target_delay: Duration = Duration::from_millis(5);
    }
}

parameters! {
    /// Controlled delay.
    #[derive(Clone, Copy, Debug)]
    pub struct Codel {
        /// Time that packets may always wait (RFC 8289 §4.3).
        pub target: Duration = Duration::from_millis(5);
        /// How long the wait must be above the target before a packet is dropped: about the longest round-trip time (RFC
        /// 8289 §4.2).
        pub interval: Duration = Duration::from_millis(100);
        /// Nothing is dropped with so little behind it.
        pub mtu: Bytes = Bytes::new(1500);
    }
}

parameters! {
    /// Fair queueing with a CoDel for each flow.
    #[derive(Clone, Copy, Debug)]
    pub struct FqCodel {
        /// Time that packets may always wait.
        pub target: Duration = Duration::from_millis(5);
        /// How long the wait must be above the target before a packet is dropped.
        pub interval: Duration = Duration::from_millis(100);
        /// Nothing is dropped with so little behind it in its flow's queue.
        pub mtu: Bytes = Bytes::new(1500);
        /// Queues that flows are hashed into (RFC 8290 §5.2.2).
        pub queues: u32 = 1024;
        /// Bytes that a queue may send in a round (RFC 8290 §5.2.1).
        pub quantum: Bytes = Bytes::new(1514);
        /// Most packets dropped at once, from the flow with the most bytes, when the queue is full.
        pub batch: u32 = 64;
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
