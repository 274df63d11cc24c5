// SPDX-License-Identifier: MIT OR Apache-2.0
//! lasthop in virtual time.
#![forbid(unsafe_code)]

pub mod events;
pub mod quantity;
pub mod scenario;
