// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two ends of a flow: a sending host, which is an application on a sender, and a receiver.
//!
//! Rate-based ends are boxed: they are rare, and must not make those of TCP larger.

use lasthop_core::app::{Action, App};
use lasthop_core::element::{Departure, Element};
use lasthop_core::packet::Packet;
use lasthop_core::tcp::{ReceiverStats, SenderStats};
use lasthop_core::units::{Duration, Instant};
use lasthop_core::{tcp, tfrc};

use crate::probe::FlowSample;

/// An application and its connection.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) sender: SendingEnd,
    pub(crate) app: App,
}

/// The sending side of a flow. Which it is stands in front, here and below, and not in some corner that is in no cache.
#[derive(Debug)]
#[repr(u8)]
pub(crate) enum SendingEnd {
    Tcp(tcp::Sender),
    Tfrc(Box<tfrc::TfrcSender>),
}

/// The receiving side of a flow.
#[derive(Debug)]
#[repr(u8)]
pub(crate) enum ReceivingEnd {
    Tcp(tcp::Receiver),
    Tfrc(Box<tfrc::TfrcReceiver>),
}

/// Calls a method of whichever end it is.
macro_rules! either {
    ($type:ident, $end:expr, $name:ident => $call:expr) => {
        match $end {
            $type::Tcp($name) => $call,
            $type::Tfrc($name) => $call,
        }
    };
}

/// An application acts as far as something is due by `now`, and then its sender if its timer is. What the actions let it send is
/// for who asks next.
macro_rules! wake {
    ($app:expr, $sender:expr, $now:expr) => {{
        while let Some((at, action)) = $app.poll($now) {
            match action {
                Action::Open => $sender.open(at),
                Action::Write(bytes) => $sender.write(at, bytes),
                Action::Close => $sender.close(at),
                Action::Stop => $sender.stop(at),
            }
        }
        if $sender.next_wake().is_some_and(|wake| wake <= $now) {
            $sender.wake($now);
        }
    }};
}

/// When an application or its sender next wakes.
#[inline]
pub(crate) fn next_wake(app: &App, sender: Option<Instant>) -> Option<Instant> {
    match (app.next_wake(), sender) {
        (Some(app), Some(sender)) => Some(app.min(sender)),
        (app, sender) => app.or(sender),
    }
}

/// A host of TCP wakes.
pub(crate) fn wake_tcp(app: &mut App, sender: &mut tcp::Sender, now: Instant) {
    wake!(app, sender, now);
}

impl SendingEnd {
    /// What was counted.
    pub(crate) fn stats(&self) -> &SenderStats {
        either!(Self, self, sender => sender.stats())
    }
}

impl ReceivingEnd {
    /// What was counted.
    pub(crate) fn stats(&self) -> &ReceiverStats {
        either!(Self, self, receiver => receiver.stats())
    }

    /// Ends the sampling of goodput.
    pub(crate) fn finish(&mut self, now: Instant) {
        either!(Self, self, receiver => receiver.finish(now));
    }
}

/// The windows of a flow at `now`.
pub(crate) fn sample(now: Instant, flow: u32, sender: &SendingEnd, receiver: &ReceivingEnd) -> FlowSample {
    match sender {
        SendingEnd::Tcp(sender) => FlowSample {
            at: now,
            flow,
            cwnd: sender.cwnd().get(),
            awnd: sender.awnd().get(),
            ssthresh: sender.ssthresh().get(),
            flight: sender.flight().get(),
            acknowledged: sender.acknowledged().get(),
            srtt_s: sender.srtt_s(),
            retransmits: sender.stats().retransmits,
        },
        // A rate has no window but its product with the round trip, and nobody bounds it. Nothing is acknowledged: what has
        // come stands for it.
        SendingEnd::Tfrc(sender) => FlowSample {
            at: now,
            flow,
            cwnd: sender.window().get(),
            awnd: u64::MAX,
            ssthresh: u64::MAX,
            flight: 0,
            acknowledged: match receiver {
                ReceivingEnd::Tfrc(receiver) => receiver.delivered().get(),
                ReceivingEnd::Tcp(_) => 0,
            },
            srtt_s: sender.rtt().map_or(0.0, Duration::as_secs_f64),
            retransmits: 0,
        },
    }
}

impl Element<Packet> for ReceivingEnd {
    #[inline]
    fn receive(&mut self, now: Instant, packet: Packet) {
        either!(Self, self, receiver => receiver.receive(now, packet));
    }

    #[inline]
    fn next_wake(&self) -> Option<Instant> {
        either!(Self, self, receiver => receiver.next_wake())
    }

    fn wake(&mut self, now: Instant) {
        either!(Self, self, receiver => receiver.wake(now));
    }

    #[inline]
    fn poll_departure(&mut self) -> Option<Departure<Packet>> {
        either!(Self, self, receiver => receiver.poll_departure())
    }
}

impl Host {
    /// What its sender was to do by itself before the end of the run is done, if it has not been [woken](Self::wake) for it.
    pub(crate) fn finish(&mut self, end: Instant) {
        if let SendingEnd::Tfrc(sender) = &mut self.sender {
            sender.wake(Instant::from_nanos(end.as_nanos().saturating_sub(1)));
        }
    }

    /// Whether it has nothing to do by itself up to `at`.
    #[inline]
    pub(crate) fn is_free_until(&self, at: Instant) -> bool {
        self.next_wake().is_none_or(|wake| wake > at)
    }
}

impl Element<Packet> for Host {
    #[inline]
    fn receive(&mut self, now: Instant, packet: Packet) {
        either!(SendingEnd, &mut self.sender, sender => sender.receive(now, packet));
    }

    #[inline]
    fn next_wake(&self) -> Option<Instant> {
        next_wake(&self.app, either!(SendingEnd, &self.sender, sender => sender.next_wake()))
    }

    fn wake(&mut self, now: Instant) {
        let Self { sender, app } = self;
        either!(SendingEnd, sender, sender => wake!(app, sender, now));
    }

    #[inline]
    fn poll_departure(&mut self) -> Option<Departure<Packet>> {
        either!(SendingEnd, &mut self.sender, sender => sender.poll_departure())
    }
}
