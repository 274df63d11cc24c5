// SPDX-License-Identifier: MIT OR Apache-2.0
//! Laws and network elements of lasthop: no input or output, no clock, no source of randomness of its own.
//!
//! ```text
//!            law::{aimd, cubic, …}        law::{clamp, qfcp, xcp, red, codel}          law::clamp
//!                   │ window                   │ stamps, drops                            │ window to advertise
//!   app ──► tcp::Sender ──► line ──► link or access point or WLAN ──► line ──► tcp::Receiver
//!                   ▲                queue, scheduler, radio                       │
//!                   └────────── ACK: window, SACK, what the routers say ◄──────────┘
//! ```
//!
//! # The way of a packet
//!
//! An application ([`app`]) writes bytes into a sender ([`tcp::Sender`]), which cuts them into segments as long as its windows
//! allow. A segment crosses lines ([`line`](mod@line)), where nobody else is in the way, and elements that flows share: links
//! ([`link`]), access points ([`ap`]), WLANs ([`wlan`]). There it waits in a [`queue`], under a management that may drop it, and
//! routers write into it what they ask ([`packet::Signal`]). The receiver ([`tcp::Receiver`]) says what has come, how much more it
//! takes, and what the routers said. That goes back the same way, and the sender's law moves the window.
//!
//! All of them are [`Element`](element::Element)s, which are driven from outside: packets and instants go in, departures come out,
//! and [`next_wake`](element::Element::next_wake) tells when there is something to do. The simulator drives them in virtual
//! time, the emulator in real time; a late wake changes nothing.
//!
//! # The modules
//!
//! | modules | what they hold |
//! |---|---|
//! | [`law`] | the laws: equations, a state, and what each of them hears |
//! | [`role`] | what may be heard at each place, and the list of laws that play a role |
//! | [`estimator`] | rates, averages, minima: the measured values that laws are composed of |
//! | [`model`] | theory: what equations say of steady states, on no packet's path |
//! | [`tcp`], [`tfrc`] | the ends: sequence space, loss recovery, timers; rates |
//! | [`app`] | what the ends are given to send |
//! | [`link`], [`line`](mod@line), [`ap`], [`wlan`] | what is between them |
//! | [`queue`] | what those are made of |
//! | [`radio`], [`fading`], [`capacity`], [`loss`] | what the air does |
//! | [`parameter`] | what each of them is told: keys of files, declared once |
//! | [`packet`], [`element`], [`units`], [`rng`], [`stats`], [`error`] | what all of them share |
//!
//! A window law driven by hand is in [`role::sender`], a whole connection in [`tcp`].
#![forbid(unsafe_code)]

pub mod ap;
pub mod app;
pub mod capacity;
pub mod element;
pub mod error;
pub mod estimator;
pub mod fading;
pub mod law;
pub mod line;
pub mod link;
pub mod loss;
pub mod model;
pub mod packet;
pub mod parameter;
pub mod queue;
pub mod radio;
pub mod rng;
pub mod role;
pub mod stats;
pub mod tcp;
pub mod tfrc;
pub mod units;
pub mod wlan;
