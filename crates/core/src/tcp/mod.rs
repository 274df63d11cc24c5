// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP: one sender and one receiver, used by every window law.

pub mod receiver;
pub mod sender;
