// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP: one sender and one receiver, used by every window law.
//!
//! ```text
//!   application ── open, write, close ──► Sender ── SYN, data ──► … network … ──► Receiver
//!                                           ▲                                        │
//!                                           └──── SYN-ACK, ACK (window, SACK) ◄──────┘
//!   Sender   = sequence space + timer (rto) + loss recovery (scoreboard) + role::AnySender
//!   Receiver = sequence space (ranges) + delayed ACKs + role::AnyReceiver, which chooses the window
//! ```
//!
//! Sequence numbers count payload bytes from 0, in 64 bits, and never wrap; a SYN takes no sequence space. The
//! window law works in segments and everything else in bytes. RFC 5681 (congestion control), 6298 (timer), 6582
//! (NewReno), 6675 (SACK), 3042 (limited transmit), 7323 (timestamps), 9293 (windows and probes); as options 8985
//! (RACK-TLP), 6937 (proportional rate reduction), 3522, 5682 and 3708 (what was no loss) and what Linux does otherwise.
//!
//! | module | what it holds |
//! |---|---|
//! | `config` | what an end is told when it is made: [`SenderConfig`], [`ReceiverConfig`] |
//! | `sender` | sequence space, windows, the timer; in it `output` (what goes next), `recovery` (duplicates, SACK, time-outs), `early` and `tracking` (rules by the times of segments), `repairs` (lost retransmissions), `reduction` (RFC 6937), `undo` (responses taken back), `timing` (round-trip times) |
//! | `receiver`, `ranges`, `delay` | what has arrived, when it is acknowledged, which window is offered |
//! | `rules` | by whose rules a sender recovers: the RFCs', ns-2's, Linux's, each switch declared once |
//! | `segment` | what a sender sends, without what its flow knows anyway |
//! | `rto`, `scoreboard`, `stats`, `wheel` | the time-out, what SACK has told, what is counted, when timers go off |
//!
//! An acknowledgement goes from [`Sender::receive`](crate::element::Element::receive) to the round-trip time, then to loss
//! recovery or, outside of it, to the law; the law sets the congestion window, and
//! [`poll_departure`](crate::element::Element::poll_departure) gives segments as long as the windows allow.
//!
//! ```
//! use lasthop_core::element::Element;
//! use lasthop_core::stats::Span;
//! use lasthop_core::tcp::{Receiver, ReceiverConfig, Sender, SenderConfig};
//! use lasthop_core::units::{Bytes, Duration, Instant};
//!
//! # fn main() -> Result<(), lasthop_core::error::ParameterError> {
//! let config = SenderConfig { mss: 1000, handshake: false, initial_window: Some(2), ..SenderConfig::default() };
//! let mut sender = Sender::new(0, config, Span::ALWAYS)?;
//! let mut receiver = Receiver::new(0, ReceiverConfig::default(), Span::ALWAYS)?;
//! let mut now = Instant::ZERO;
//! sender.open(now);
//! sender.write(now, Bytes::new(30_000));
//! sender.close(now);
//! let mut round_trips = 0;
//! while !sender.is_done() {
//!     now = now + Duration::from_millis(50); // on the way there
//!     while let Some(departure) = sender.poll_departure() {
//!         receiver.receive(now, departure.packet);
//!     }
//!     now = now + Duration::from_millis(50); // and back
//!     while let Some(departure) = receiver.poll_departure() {
//!         sender.receive(now, departure.packet);
//!     }
//!     round_trips += 1;
//! }
//! assert_eq!(receiver.delivered(), Bytes::new(30_000));
//! assert_eq!(round_trips, 4); // slow start: 2 + 4 + 8 + 16 = 30 segments
//! # Ok(())
//! # }
//! ```

mod autotuning;
mod config;
mod delay;
mod ranges;
mod receiver;
mod rto;
mod rules;
mod scoreboard;
mod segment;
mod sender;
mod stats;
#[cfg(test)]
mod tests;
mod wheel;

pub use config::{
    ASKING_OPTION, DelayedAcks, ReceiverConfig, ReceiverSwitches, Recovery, RttEstimator, SenderConfig, Switches,
    TELLING_OPTION, TIMESTAMPS_OPTION, Validation,
};
pub use receiver::Receiver;
pub use rules::{Rules, Switch};
pub use segment::Segment;
pub use sender::{Sender, State};
pub use stats::{ReceiverStats, SenderStats, WindowMeans};
