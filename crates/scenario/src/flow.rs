// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows: path, sender, receiver, application.

use super::kinds::Loss;
use super::sender::Sender;
use lasthop_core::law::share;
use lasthop_core::parameter::With;
use lasthop_core::units::{Amount, Bytes, Duration, PerSecond, Rate};
use lasthop_core::{kinds, parameters};

parameters! {
    /// One connection, or several alike.
    #[derive(Clone, Debug)]
    pub struct Flow {
        /// Its name; with `count` the names are `NAME-1`, `NAME-2`, …
        pub name: String;
        /// How many flows there are of this kind.
        pub count: u32 = 1;
        /// Each further flow of `count` starts so much later.
        pub stagger: Duration = Duration::ZERO;
        /// Each flow starts later by a time uniform from nothing to this, drawn from the seed.
        pub spread: Duration = Duration::ZERO;
        /// The nodes that the data crosses, joined by links; it may end at an access point or a WLAN, and start at a WLAN.
        pub path: Vec<String> = vec![];
        /// The station of the access point or WLAN at the path's end (of the only one, where there is no path) to which the
        /// data goes.
        pub station: Option<String> = None;
        /// The station of the WLAN at the path's start (of the only WLAN, where there is no path) from which the data comes.
        pub source: Option<String> = None;
        /// Two-way propagation delay of the flow's private part of the path, besides that of links and access point: at the
        /// sender, or at the receiver if the sender is a WLAN's station.
        pub rtt: Duration = Duration::ZERO;
        /// Each further flow of `count` has so much more `rtt`.
        pub rtt_step: Duration = Duration::ZERO;
        /// Rate of the sender's private access link; unlimited by default.
        pub access: Option<Rate> = None;
        /// The receiver's private access link.
        pub sink: Option<Sink> = None;
        /// Size of a full data packet on the wire, with 40 bytes of headers, 52 with `linux-reno` and `linux-cubic`.
        pub packet: Bytes = Bytes::new(1500);
        /// Each packet leaves its sender after a time uniform from nothing to this.
        pub jitter: Duration = Duration::ZERO;
        /// The sender.
        pub sender: Sender = Sender::default();
        /// The receiver.
        pub receiver: Receiver = Receiver::default();
        /// What is sent.
        pub app: App = App::default();
        /// Who reads at a constant rate what arrives; where the application writes at one, a reader wants the same.
        pub reader: Option<Reader> = None;
        /// When the flow starts.
        pub start: Duration = Duration::ZERO;
        /// When it stops sending new data, if it has not finished before; at the end of the run by default.
        pub stop: Option<Duration> = None;
    }
}

parameters! {
    /// A reader that wants a constant bit rate: in each sample it succeeds or fails (gamma §II-A).
    #[derive(Clone, Copy, Debug)]
    pub struct Reader {
        /// What it wants; the rate of a `cbr` application by default.
        pub rate: Option<Rate> = None;
        /// The share of it that must be exceeded for success; 0.9 by default.
        pub share: Option<f64> = None;
    }
}

parameters! {
    /// A receiver's private access link.
    #[derive(Clone, Debug)]
    pub struct Sink {
        /// Its rate; unlimited by default.
        pub rate: Option<Rate> = None;
        /// Its propagation delay, one way.
        pub delay: Duration = Duration::ZERO;
        /// Data packets lost on it; a handoff takes acknowledgements too.
        pub loss: Option<Loss> = None;
    }
}

kinds! {
    /// A receiver: what it advertises, and when it acknowledges.
    #[derive(Clone, Debug)]
    pub enum Receiver {
        /// Advertises its free buffer.
        Plain(Plain) = "plain",
        /// Advertises its free buffer, and acknowledges as Linux does: the first segments each, then every second one.
        Linux(Linux) = "linux",
        /// Advertises CLAMP's window (clamp eq. 14–17).
        Clamp(Clamp) = "clamp",
        /// Advertises its share of the line, and of the queue that is wanted, as routers with `price = "share"` tell it.
        Share(With<share::ReceiverKeys, Share>) = "share",
    }
    or "plain"
}

parameters! {
    /// What every receiver has.
    #[derive(Clone, Debug)]
    pub struct Plain {
        /// Its buffer: the most that it ever advertises; 4 GiB by default.
        pub buffer: Option<Bytes> = None;
        /// Acknowledge every second segment (RFC 1122); every segment at once by default.
        pub delayed_acks: Option<DelayedAcks> = None;
        /// Size of an ACK on the wire, without SACK blocks; 40 B by default, 52 B if the sender is Linux's and has timestamps.
        pub ack_size: Option<Bytes> = None;
    }
}

parameters! {
    /// The receiver of Linux.
    #[derive(Clone, Debug)]
    pub struct Linux {
        /// The most that it ever advertises; 6 MB by default (tcp_rmem).
        pub buffer: Option<Bytes> = None;
        /// How many segments one ACK is for, at least 2; more where the network card joins segments (GRO).
        pub ack_every: Option<u32> = None;
        /// How many ACKs at the start are not delayed; 300 by default, as measured with Linux 6.18: 16 by themselves
        /// (TCP_MAX_QUICKACKS), the others because a sender whose socket buffer is still growing pushes each segment. HyStart
        /// takes them for a train. After a repeated segment 16 more, if so many are allowed at the start.
        pub quick_acks: Option<u32> = None;
        /// The longest that an ACK waits for a further segment; 40 ms by default (TCP_ATO_MIN).
        pub ack_timeout: Option<Duration> = None;
        /// Size of an ACK on the wire, without SACK blocks; 40 B by default, 52 B if the sender is Linux's and has timestamps.
        pub ack_size: Option<Bytes> = None;
    }
}

parameters! {
    /// Delayed acknowledgements.
    #[derive(Clone, Copy, Debug)]
    pub struct DelayedAcks {
        /// The longest that an ACK waits for a second segment.
        pub timeout: Duration;
    }
}

parameters! {
    /// The receiver of CLAMP.
    #[derive(Clone, Debug)]
    pub struct Clamp {
        /// Bytes that the flow aims to keep in the queue.
        pub tau: Bytes;
        /// Weight: the flow's share of the queue's rate is φ/Σφ.
        pub phi: f64 = 1.0;
        /// Packets over which the received rate is measured (α).
        pub packets: u32 = 1000;
        /// Gain of the round-trip estimate (β).
        pub beta: f64 = 1e-3;
        /// Most that the window grows on one packet.
        pub max_increase: Bytes = Bytes::new(10_000);
        /// Least window; one segment by default.
        pub min_window: Option<Bytes> = None;
        /// The older law, without 1/d and with `tau` a second (clamp-report eq. 10b).
        pub unscaled: bool = false;
        /// How the window opens.
        pub slow_start: ReceiverSlowStart = ReceiverSlowStart::default();
        /// Growth is held while the window is so many times what arrives in a round trip; 0 never holds.
        pub hold: f64 = 2.0;
        /// The receiver's buffer: the most that it ever advertises; 4 GiB by default.
        pub buffer: Option<Bytes> = None;
        /// Acknowledge every second segment (RFC 1122); every segment at once by default.
        pub delayed_acks: Option<DelayedAcks> = None;
    }
}

parameters! {
    /// What the receiver of the share window has besides.
    #[derive(Clone, Debug)]
    pub struct Share {
        /// The receiver's buffer: the most that it ever advertises; 4 GiB by default.
        pub buffer: Option<Bytes> = None;
        /// Acknowledge every second segment (RFC 1122); every segment at once by default.
        pub delayed_acks: Option<DelayedAcks> = None;
    }
}

kinds! {
    /// How a CLAMP receiver's window opens.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ReceiverSlowStart {
        /// Doubles each round trip until the price or a loss ends it (clamp §4.3).
        #[default]
        On = "on",
        /// By the law alone.
        Off = "off",
    }
}

kinds! {
    /// What a flow sends.
    #[derive(Clone, Debug, Default)]
    pub enum App {
        /// Endless data.
        #[default]
        Bulk = "bulk",
        /// One transfer.
        Fixed(Fixed) = "fixed",
        /// Bursts at a rate, with pauses.
        OnOff(OnOff) = "on-off",
        /// Transfers that arrive by a Poisson process, each on a connection of its own: `NAME#1`, `NAME#2`, …
        Poisson(Poisson) = "poisson",
        /// A constant bit rate.
        Cbr(Cbr) = "cbr",
    }
}

parameters! {
    /// One transfer.
    #[derive(Clone, Debug)]
    pub struct Fixed {
        /// Its payload.
        pub size: Amount;
    }
}

parameters! {
    /// Bursts and pauses.
    #[derive(Clone, Debug)]
    pub struct OnOff {
        /// Rate of payload within a burst.
        pub rate: Rate;
        /// Mean length of a burst.
        pub on: Duration;
        /// Mean length of a pause.
        pub off: Duration;
        /// Exponential lengths; otherwise all are of the mean.
        pub exponential: bool = true;
        /// Bytes written at once; a segment by default.
        pub chunk: Option<Bytes> = None;
    }
}

parameters! {
    /// Transfers that come and go.
    #[derive(Clone, Debug)]
    pub struct Poisson {
        /// Arrivals a second.
        pub rate: PerSecond;
        /// When the last may arrive; by default at the end of the run.
        pub until: Option<Duration> = None;
        /// Their sizes.
        pub size: Sizes;
    }
}

kinds! {
    /// How sizes are distributed.
    #[derive(Clone, Debug)]
    pub enum Sizes {
        /// All alike.
        Constant(ConstantSize) = "constant",
        /// A triangle.
        Triangular(Triangular) = "triangular",
        /// Pareto.
        Pareto(Pareto) = "pareto",
    }
}

parameters! {
    /// One size.
    #[derive(Clone, Debug)]
    pub struct ConstantSize {
        /// The size.
        pub value: Amount;
    }
}

parameters! {
    /// Sizes in a triangle.
    #[derive(Clone, Debug)]
    pub struct Triangular {
        /// Least size.
        pub min: Amount;
        /// Greatest size.
        pub max: Amount;
        /// Most likely size; the middle by default.
        pub mode: Option<Amount> = None;
    }
}

parameters! {
    /// Sizes by Pareto.
    #[derive(Clone, Debug)]
    pub struct Pareto {
        /// Least size.
        pub min: Amount;
        /// Shape.
        pub shape: f64;
    }
}

parameters! {
    /// A constant bit rate.
    #[derive(Clone, Debug)]
    pub struct Cbr {
        /// Rate of payload.
        pub rate: Rate;
        /// Bytes written at once; a segment by default.
        pub chunk: Option<Bytes> = None;
    }
}

impl Plain {
    /// Whether it is told nothing.
    pub fn is_bare(&self) -> bool {
        self.buffer.is_none() && self.delayed_acks.is_none() && self.ack_size.is_none()
    }
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver::Plain(Plain::default())
    }
}
