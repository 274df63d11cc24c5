// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routers that tell senders what they may have, and hosts that obey: `lasthop-agent qfcp` and `lasthop-agent xcp`.
//!
//! ```text
//!   senders                    routers                      receivers
//!   qfcp host ──── asks ────► qfcp router ──── granted ────► qfcp host
//!     bpf/feedback_host.bpf.c   bpf/feedback_router.bpf.c      │
//!     ▲                                                        │
//!     └──────────────────────── echo ◄─────────────────────────┘
//! ```
//!
//! XCP has the same programs. All of it is in one TCP option. The routers' laws are those of the simulator, by their integer
//! twins in `lasthop-fixed`.

pub mod cli;
pub mod host;
pub mod page;
pub mod router;
pub mod shared;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, anyhow};
use lasthop_core::law::qfcp::QfcpRouterParams;
use lasthop_core::law::xcp::{Gains, Told};
use lasthop_core::parameter::With;
use lasthop_core::units::Rate;
use lasthop_linux::clock;
use lasthop_linux::signals::Signals;
use serde::Serialize;

use self::page::FeedbackPage;
use crate::control::Listener;
use crate::output::print;
use crate::service;

/// How often commands are looked for.
const LOOK_MS: u8 = 100;
/// The highest gain that the integers hold.
const MOST_GAIN: f64 = 16.0;
/// How often it is looked whether what it is at is still there.
const CHECK: Duration = Duration::from_secs(2);

/// Which law routers and hosts follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackLaw {
    /// One fair rate for all flows.
    Qfcp,
    /// By how much each flow's rate is to change.
    Xcp,
}

impl FeedbackLaw {
    /// As commands and files name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qfcp => "qfcp",
            Self::Xcp => "xcp",
        }
    }

    /// The one beside it.
    pub fn other(self) -> Self {
        match self {
            Self::Qfcp => Self::Xcp,
            Self::Xcp => Self::Qfcp,
        }
    }

    /// What tells its option from those of other experiments (RFC 6994).
    pub fn exid(self) -> u16 {
        match self {
            Self::Qfcp => 0x4c51,
            Self::Xcp => 0x4c58,
        }
    }
}

/// A QFCP router's parameters, with `keys` set to values as in a file, at a device that is so fast.
///
/// # Errors
/// The key, its value and what is wanted.
pub fn qfcp_params(keys: &[(String, String)], top: Rate) -> Result<QfcpRouterParams> {
    let text = lasthop_scenario::effective("", keys).map_err(|error| anyhow!("{error}"))?;
    let read: QfcpRouterParams = lasthop_scenario::read(&text).map_err(|error| anyhow!("{error}"))?;
    for (key, is_set) in [("airtime", !read.airtime), ("simplex", !read.simplex)] {
        if is_set {
            return Err(anyhow!(
                "{key} = false: wanted to leave it: it counts on a WLAN alone, a device has one direction"
            ));
        }
    }
    let max = read.max_capacity.unwrap_or_else(|| top.max(read.capacity.unwrap_or(top)));
    let capacity = read.capacity.unwrap_or(shared::FIRST_CAPACITY.min(max));
    if max < capacity {
        return Err(anyhow!("max_capacity = {max}: wanted at least `capacity`, {capacity}"));
    }
    Ok(QfcpRouterParams { capacity: Some(capacity), max_capacity: Some(max), ..read })
}

/// An XCP router's parameters, with `keys` set to values as in a file, at a device that is so fast, if it tells.
///
/// # Errors
/// The key, its value and what is wanted.
pub fn xcp_params(keys: &[(String, String)], top: Option<Rate>) -> Result<With<Told, Gains>> {
    let text = lasthop_scenario::effective("", keys).map_err(|error| anyhow!("{error}"))?;
    let read: With<Told, Gains> = lasthop_scenario::read(&text).map_err(|error| anyhow!("{error}"))?;
    for (key, gain) in [("alpha", read.common.alpha), ("beta", read.common.beta)] {
        if gain > MOST_GAIN {
            return Err(anyhow!("{key} = {gain}: wanted at most {MOST_GAIN}"));
        }
    }
    let wanted =
        "--capacity: wanted a rate, such as \"10 Mbit/s\": the device does not tell its speed, and XCP does not probe";
    let capacity = read.own.capacity.or(top).ok_or_else(|| anyhow!("{wanted}"))?;
    Ok(With { own: Told { capacity: Some(capacity) }, common: read.common })
}

/// Answers commands, and shows the page, until a signal, a command, or until `is_there` says no longer; gives why it ends.
fn watch<S: Serialize>(
    (signals, listener): (&Signals, &mut Listener),
    mut page: Option<FeedbackPage>,
    status: impl Fn() -> Result<S>,
    is_there: impl Fn() -> Result<Option<String>>,
) -> Result<String> {
    let every_ns = u64::try_from(CHECK.as_nanos()).unwrap_or(u64::MAX);
    let mut checked_ns = clock::monotonic_ns();
    loop {
        if let Some((signal, _)) = signals.wait(LOOK_MS)? {
            return Ok(signal.to_string());
        }
        if listener.answer(|| Ok(serde_json::to_string(&status()?)?)) {
            return Ok("detach".into());
        }
        let now_ns = clock::monotonic_ns();
        if let Some(page) = page.as_mut().filter(|page| page.is_due(now_ns)) {
            page.show(serde_json::to_value(status()?)?, now_ns);
        }
        if now_ns - checked_ns >= every_ns {
            checked_ns = now_ns;
            if let Some(why) = is_there()? {
                return Ok(why);
            }
        }
    }
}

/// Says that it has begun, to who reads the log and to who waits for it.
///
/// # Errors
/// If the latter cannot be told.
fn begun(manager: &service::Manager, what: &str) -> Result<()> {
    service::note(what);
    manager.ready(what);
    print("ready\n")
}

/// What a status says, a line each.
fn lines(status: &serde_json::Value) -> String {
    let fields: BTreeMap<String, serde_json::Value> = serde_json::from_value(status.clone()).unwrap_or_default();
    fields.iter().fold(String::new(), |text, (key, value)| match value {
        serde_json::Value::String(value) => format!("{text}{key:24} {value}\n"),
        value => format!("{text}{key:24} {value}\n"),
    })
}
