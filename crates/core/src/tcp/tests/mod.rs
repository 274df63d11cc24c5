// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of TCP: packet scripts for each rule, properties, statistics.

mod feedback;
mod laws;
mod linux;
mod network;
mod ns2;
mod pacing;
mod properties;
mod receiver;
mod rfc5681;
mod rfc6298;
mod rfc6582;
mod rfc6675;
mod rfc8985;
mod script;
mod statistics;
mod undo;
mod unread;
mod windows;
