// SPDX-License-Identifier: MIT OR Apache-2.0
//! Active queue management: which packets a queue drops before it must, and in which order the others leave.
//!
//! ```text
//!   arrival ─► RED: drop? ─► [ first in, first out ] ───────────────────────► departure
//!   arrival ─► [ CoDel's backlog ] ─► drop at its head? ─► [ let go ] ──────► departure
//!   arrival ─► hash ─► [ FQ-CoDel's flows, each with a CoDel ] ─► [ let go ] ─► departure
//! ```
//!
//! What CoDel and FQ-CoDel have let go is being sent: it stays at the head in its order, is never dropped, and takes room
//! until it is through.

mod fq_codel;

use std::collections::VecDeque;

use crate::error::ParameterError;
use crate::law::codel::{Codel, CodelParams};
use crate::law::red::{Red, RedParams, Verdict};
use crate::packet::Parcel;
use crate::rng::Stream;
use crate::units::{Bytes, Instant, Rate};

pub(crate) use fq_codel::FqCodel;
pub use fq_codel::FqCodelParams;

/// How a queue is managed.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum AqmConfig {
    /// Packets are dropped when they find no room.
    #[default]
    DropTail,
    /// Random early detection, which drops packets on arrival.
    Red(RedParams),
    /// Controlled delay (RFC 8289), which drops packets at the head.
    Codel(CodelParams),
    /// Fair queueing with a CoDel for each flow (RFC 8290).
    FqCodel(FqCodelParams),
}

/// A queue's management, with the packets that it has not let go yet.
#[derive(Debug)]
pub(crate) enum Aqm<P> {
    DropTail,
    Red(Box<Early>),
    Codel(Box<Backlog<P>>),
    FqCodel(Box<FqCodel<P>>),
}

impl<P: Parcel> Aqm<P> {
    /// The management of an empty queue in front of a line of this rate; `stream` gives a stream by its purpose.
    pub(crate) fn new(config: &AqmConfig, rate: Rate, stream: impl Fn(&str) -> Stream) -> Result<Self, ParameterError> {
        Ok(match *config {
            AqmConfig::DropTail => Self::DropTail,
            AqmConfig::Red(params) => Self::Red(Box::new(Early {
                law: Red::new(params, rate.as_bytes_per_sec())?,
                stream: stream("red"),
                idle_since: Some(Instant::ZERO),
            })),
            AqmConfig::Codel(params) => Self::Codel(Box::new(Backlog::new(params)?)),
            AqmConfig::FqCodel(params) => Self::FqCodel(Box::new(FqCodel::new(params, &mut stream("perturbation"))?)),
        })
    }
}

/// RED with its draws: one for every packet that comes, whether or not it needs one.
#[derive(Debug)]
pub(crate) struct Early {
    law: Red,
    stream: Stream,
    /// Since when the line has had nothing to send.
    idle_since: Option<Instant>,
}

impl Early {
    /// Whether a packet of `size` may join `packets` packets of `bytes`, where there `is_room`.
    pub(crate) fn admits(&mut self, now: Instant, packets: usize, bytes: Bytes, size: Bytes, is_room: bool) -> bool {
        let idle_s = self.idle_since.take().map_or(0.0, |since| (now - since).as_secs_f64());
        let draw = self.stream.uniform();
        self.law.observe(packets, bytes.as_f64(), idle_s);
        let admits = self.law.judge(packets, bytes.as_f64(), size.as_f64(), draw) == Verdict::Admit && is_room;
        if !admits {
            self.law.dropped();
        }
        admits
    }

    /// The line has nothing to send from `now` on.
    pub(crate) fn rest(&mut self, now: Instant) {
        self.idle_since = Some(now);
    }
}

/// Packets and bytes that were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) packets: usize,
    pub(crate) bytes: Bytes,
}

impl Dropped {
    fn count(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }
}

/// A FIFO whose head CoDel watches.
#[derive(Debug)]
pub(crate) struct Backlog<P> {
    packets: VecDeque<(Instant, P)>,
    bytes: Bytes,
    law: Codel,
}

impl<P: Parcel> Backlog<P> {
    fn new(params: CodelParams) -> Result<Self, ParameterError> {
        Ok(Self { packets: VecDeque::new(), bytes: Bytes::ZERO, law: Codel::new(params)? })
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(crate) fn enqueue(&mut self, now: Instant, packet: P) {
        self.bytes += packet.size();
        self.packets.push_back((now, packet));
    }

    /// The first packet that CoDel does not drop, with the instant of its arrival; those before it are counted.
    pub(crate) fn dequeue(&mut self, now: Instant, dropped: &mut Dropped) -> Option<(Instant, P)> {
        loop {
            let (arrived, packet) = self.take_head()?;
            let waited_s = (now - arrived).as_secs_f64();
            if !self.law.drops(now.as_secs_f64(), waited_s, self.bytes.as_f64()) {
                return Some((arrived, packet));
            }
            dropped.count(packet.size());
        }
    }

    fn take_head(&mut self) -> Option<(Instant, P)> {
        let (arrived, packet) = self.packets.pop_front()?;
        self.bytes -= packet.size();
        Some((arrived, packet))
    }
}
