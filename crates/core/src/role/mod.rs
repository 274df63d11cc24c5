// SPDX-License-Identifier: MIT OR Apache-2.0
//! The roles that a law may play: what it hears, and the list of the laws that play it.
//!
//! ```text
//!   crate::law::binomial   equations ◄── Binomial ── impl SenderLaw: on_ack, on_loss
//!   crate::law::xcp        equations ◄── Xcp ─────── impl SenderLaw: on_ack, on_loss, on_timeout, on_feedback, request
//!                                          ▲
//!   sender                 SenderParams ─► AnySender: one list of all the laws, one match for each method
//!                                          ▲
//!   crate::tcp             Sender ─────────┘  calls it with a Window, an AckSample or a FeedbackSample
//! ```
//!
//! | role | where it acts | trait and list |
//! |---|---|---|
//! | sender | an end: its window | [`SenderLaw`], [`sender`] |
//! | receiver | the other end: the window that it advertises | [`ReceiverLaw`], [`receiver`] |
//! | marker | a queue: what passing packets are told | [`MarkerLaw`], [`marker`] |
//! | management | a queue: what is dropped, and the order of the rest | [`AqmLaw`], [`aqm`] |
//! | scheduler | an access point: who is served next | [`SchedulerLaw`], [`scheduler`] |
//!
//! A role is a trait whose methods are what happens at its place. All but the essential do nothing by default, so that a law
//! implements in its own file what it hears and nothing else. One list a role makes the enum of the laws' parameters and the
//! enum of the laws at work: calls are a `match`, and the compiler sees through them.

#[macro_use]
mod laws;

pub mod aqm;
pub mod marker;
pub mod receiver;
pub mod scheduler;
pub mod sender;
mod window;

pub use aqm::{AnyAqm, AqmLaw, AqmParams, Dropped};
pub use marker::{AnyMarker, Feedback, Held, MarkerLaw, MarkerParams, Passing, Price, Site};
pub use receiver::{AnyReceiver, DataSample, Pools, ReceiverLaw, ReceiverParams};
pub use scheduler::{AnyScheduler, Candidates, SchedulerLaw, SchedulerParams};
pub use sender::{AnySender, SenderLaw, SenderParams};
pub use window::{AckSample, FeedbackSample, Window};
