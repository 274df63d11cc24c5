// SPDX-License-Identifier: MIT OR Apache-2.0
//! Theory: what the papers' equations say of steady states, throughput and fairness. Nothing here is on a packet's path;
//! figures draw it beside what was simulated, and tests compare.

pub mod dumbbell;
pub mod equilibrium;
pub mod fairness;
pub mod fluid;
pub mod settling;
pub mod standing;
pub mod throughput;
