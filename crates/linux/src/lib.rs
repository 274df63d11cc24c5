// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Linux gives, behind a face that knows nothing of networks that are emulated: whoever drives packets or laws in
//! real time builds on it.
//!
//! ```text
//!        a namespace                       this process                      the kernel at large
//!   ┌──────────────────────┐
//!   │ commands   (process) │ ◄── start, status ──┐
//!   │ sockets   (tcp_info) │ ◄── what TCP knows ─┤
//!   │ addresses, routes    │ ◄── netlink ────────┼── clock, realtime, signals ──► time, priority, the end
//!   │ settings    (sysctl) │ ◄── write ──────────┤
//!   │ device         (tun) │ ◄── packets ───────►┘
//!   └──────────────────────┘
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`namespace`] | network namespaces, made and entered; root of a user namespace where that is what it takes |
//! | [`netlink`] | devices, addresses and routes of a namespace |
//! | [`bpf`] | programs of the kernel at a device |
//! | [`nftables`] | masquerading |
//! | [`sysctl`], [`buffers`] | its settings; the machine's default buffers |
//! | [`tun`] | the device through which its packets come and go |
//! | [`process`] | commands in it that end with us, without root's rights |
//! | [`tcp_info`] | what the kernel tells of a TCP connection |
//! | [`counters`] | what it dropped at its ends |
//! | [`clock`], [`wait`] | monotonic time; waiting for an instant or for what is ready |
//! | [`realtime`], [`cgroup`] | priority and locked memory; what quotas withhold |
//! | [`signals`] | what ends a run from outside |
//! | [`error`] | each failure with what was attempted |
//!
//! A namespace is a thread's matter: [`namespace::Namespace::within`] does things inside, and a socket or device that was
//! opened there stays there, wherever it is used.

pub mod bpf;
pub mod buffers;
pub mod cgroup;
pub mod clock;
pub mod counters;
pub mod error;
pub mod namespace;
pub mod netlink;
pub mod nftables;
pub mod process;
pub mod realtime;
pub mod signals;
pub mod sysctl;
pub mod tcp_info;
pub mod tun;
pub mod wait;

pub use error::{Attempt, Error};
