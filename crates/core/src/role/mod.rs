// SPDX-License-Identifier: MIT OR Apache-2.0
//! The roles that a law may play: what it hears, and the list of the laws that play it.
//!
//! A role is a trait whose methods are what happens at its place; a law implements it in its own file and says only what it
//! hears. One list a role makes the enum of the laws' parameters and the enum of the laws at work, which calls them
//! without a table of pointers.

pub mod sender;
mod window;

pub use sender::{AnySender, SenderLaw, SenderParams};
pub use window::{AckSample, Feedback, Window};
