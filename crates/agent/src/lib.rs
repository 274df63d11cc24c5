// SPDX-License-Identifier: MIT OR Apache-2.0
//! The laws on a stock Linux kernel: programs at the device towards the clients keep its queue short by the windows of
//! the clients' ACKs, whatever the senders are.
//!
//! ```text
//!   config ──► watch ──► load ──► to_client, to_server (bpf/proxy.bpf.c) ◄── attach ── the device
//!                │                        │
//!   control ◄────┤                      flows, stations, counts
//!   (status,     │                        │
//!    detach)     └──── status ◄───────────┘
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`cli`], [`options`] | the command line |
//! | [`config`] | what it is told, in a file or there |
//! | [`doctor`] | whether this machine can run it |
//! | [`mode`] | what an agent does, and by which programs |
//! | [`load`], [`state`] | the programs, and what they keep |
//! | [`attach`] | the device |
//! | [`watch`] | the agent's life at it |
//! | [`control`], [`status`] | what it tells, and to whom |
//! | [`service`] | the manager of services, the log, the rights that it keeps |
//! | [`page`], [`sampler`], [`metrics`] | the page of this machine, and what Prometheus reads |
//! | [`top`] | the live table |
//! | [`cc`] | the laws of senders, as congestion controls |
//! | [`feedback`] | routers that tell senders their rate, and hosts that obey |
#![forbid(unsafe_code)]

pub mod attach;
pub mod cc;
pub mod cli;
pub mod config;
pub mod control;
pub mod doctor;
mod exposition;
pub mod feedback;
pub mod load;
pub mod metrics;
pub mod mode;
pub mod options;
mod output;
pub mod page;
mod reap;
pub mod sampler;
pub mod service;
pub mod state;
pub mod status;
pub mod top;
pub mod watch;
