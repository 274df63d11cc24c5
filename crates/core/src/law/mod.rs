// SPDX-License-Identifier: MIT OR Apache-2.0
//! The laws: small pure state machines in the units of their papers.
//!
//! ```text
//!   law/<name>/equations.rs    one function of plain numbers for each equation, cited as `gamma#16`
//!   law/<name>/mod.rs          parameters, a state, and one impl: what the law hears, by the trait of its role
//! ```
//!
//! | role | laws | what they decide |
//! |---|---|---|
//! | sender ([`SenderLaw`](crate::role::SenderLaw)) | [`abc`], [`aimd`], [`binomial`], [`clamp`], [`cubic`], [`gamma`], [`linux`], [`qfcp`], [`vegas`], [`veno`], [`westwood`], [`xcp`] | the congestion window |
//! | rate-based sender | [`tfrc`] | the rate |
//! | receiver ([`ReceiverLaw`](crate::role::ReceiverLaw)) | [`clamp`], [`kernel`], [`share`], [`station`] | the advertised window |
//! | router ([`MarkerLaw`](crate::role::MarkerLaw)) | [`abc`], [`clamp`], [`kernel`], [`qfcp`], [`share`], [`station`], [`xcp`] | what passing packets are told |
//! | queue ([`AqmLaw`](crate::role::AqmLaw)) | [`codel`], [`fq_codel`], [`red`], [`two_queues`] | what is dropped before it must, and the order of the rest |
//! | scheduler ([`SchedulerLaw`](crate::role::SchedulerLaw)) | [`best_snr`], [`proportional_fair`], [`round_robin`] | who is served next |

pub mod abc;
pub mod aimd;
pub mod balance;
mod beside;
pub mod best_snr;
pub mod binomial;
pub mod clamp;
pub mod codel;
pub mod cubic;
pub mod fq_codel;
pub mod gamma;
pub mod kernel;
pub mod linux;
pub mod proportional_fair;
pub mod qfcp;
pub mod red;
pub mod round_robin;
pub mod share;
pub mod station;
pub mod tfrc;
pub mod two_queues;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod xcp;
