// SPDX-License-Identifier: MIT OR Apache-2.0
//! The laws: small pure state machines in the units of their papers.

pub mod aimd;
pub mod clamp;
pub mod cubic;
