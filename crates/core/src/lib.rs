// SPDX-License-Identifier: MIT OR Apache-2.0
//! Laws and network elements of lasthop.
#![forbid(unsafe_code)]

pub mod ap;
pub mod app;
pub mod aqm;
pub mod capacity;
pub mod element;
pub mod error;
pub mod fading;
pub mod law;
pub mod line;
pub mod link;
pub mod loss;
pub mod marker;
pub mod model;
pub mod packet;
pub mod queue;
pub mod radio;
pub mod rng;
pub mod role;
pub mod scheduler;
pub mod stats;
pub mod tcp;
pub mod tfrc;
pub mod units;
pub mod wlan;
