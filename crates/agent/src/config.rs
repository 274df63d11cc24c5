// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent is told: a file by the rules of scenarios, and the command line over it.

use std::net::SocketAddr;

use lasthop_core::error::ensure;
use lasthop_core::law::share;
use lasthop_core::parameter::between;
use lasthop_core::units::Duration;
use lasthop_core::{kinds, parameters};

use crate::state::Settings;

parameters! {
    /// What `lasthop-agent proxy` is told, in a file or on the command line.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// The device towards the clients.
        pub device: String = String::new();
        /// The law that gives the windows.
        pub law: Law = Law::Share(ShareConfig::default());
        /// Where the queue is.
        pub queue: QueuePlace = QueuePlace::Auto;
        /// Watch only: packets pass as they are.
        pub dry_run: bool = false;
        /// Where the page and the metrics are, an address of this machine alone such as "127.0.0.1:9469"; without it there are none.
        pub metrics: String = String::new();
    }
    check(p) {
        ensure(p.metrics.is_empty() || p.page().is_some(), "metrics", format!("{:?}", p.metrics), "an address of this machine alone and a port, such as \"127.0.0.1:9469\"")?;
    }
}

kinds! {
    /// The law that gives the windows.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Law {
        /// The share window: a flow's part of the rate, for a round trip and the queue that is wanted.
        Share(ShareConfig) = "share",
    }
    or "share"
}

kinds! {
    /// Where the queue is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum QueuePlace {
        /// In the device's qdisc, if that tells what it holds; else downstream.
        #[default]
        Auto = "auto",
        /// In the device's qdisc: a shaper there is what is slowest.
        Qdisc = "qdisc",
        /// Downstream, in a driver, a modem or another box, one for each client: known from ACKs alone.
        Outstanding = "outstanding",
    }
}

parameters! {
    /// The share window's parameters, with the defaults of the law; the domains are those of the programs' integers.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ShareConfig {
        /// T, the standing queue that is wanted: 10 ms for delay, 40 to 60 ms for throughput on rates that change.
        pub target: Duration = share::TARGET, in between(Duration::ZERO, Duration::from_secs(10));
        /// g, what part of the round trip is filled whatever the queue is.
        pub g: f64 = share::G, in 0.0..=1.0;
        /// κ, how much of a queue other than T is answered at once; from 1 on it would swing.
        pub kappa: f64 = share::KAPPA, in 0.0..1.0;
    }
}

impl Config {
    /// Where the page and the metrics are, if anywhere.
    pub fn page(&self) -> Option<SocketAddr> {
        lasthop_live::loopback(&self.metrics)
    }

    /// What the programs are told, at a device with so much before the IP header, whose queue is hidden or not.
    pub fn settings(&self, link_header_bytes: u32, is_hidden: bool) -> Settings {
        let Law::Share(share) = self.law;
        Settings {
            target_ns: share.target.as_nanos(),
            g_q10: q10(share.g),
            kappa_q10: q10(share.kappa),
            link_header_bytes,
            observe_only: self.dry_run.into(),
            is_hidden: is_hidden.into(),
            pad: 0,
        }
    }
}

/// A factor of up to 1 as the programs have it.
fn q10(factor: f64) -> u32 {
    (factor * 1024.0).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_strictly() {
        let read = |text: &str| lasthop_scenario::read::<Config>(text).map_err(|error| error.to_string());
        let config = read("device = \"eth1\"\nlaw = { kind = \"share\", target = \"10 ms\", kappa = 0.25 }").unwrap();
        assert_eq!(config.device, "eth1");
        let settings = config.settings(14, false);
        assert_eq!((settings.target_ns, settings.g_q10, settings.kappa_q10), (10_000_000, 922, 256));
        assert_eq!((settings.link_header_bytes, settings.observe_only), (14, 0));
        assert_eq!(read("dry_run = true").unwrap().settings(0, true).observe_only, 1);
        assert_eq!(read("queue = \"outstanding\"").unwrap().queue, QueuePlace::Outstanding);
        assert!(read("queue = \"modem\"").unwrap_err().contains("\"qdisc\" or \"outstanding\""));
        assert!(read("devise = \"eth1\"").unwrap_err().contains("unknown key `devise`"));
        assert_eq!(
            read("law = { kind = \"share\", kappa = 1.0 }").unwrap_err(),
            "law.kappa = 1: wanted from 0 up to, but not, 1"
        );
        assert!(read("law = { kind = \"share\", target = \"0 ms\" }").unwrap_err().starts_with("law.target = 0"));
    }

    #[test]
    fn the_files_of_the_page_are_right() {
        let page = include_str!("../../../docs/agent.md");
        let files: Vec<_> = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!files.is_empty());
        for file in files {
            let config = lasthop_scenario::read::<Config>(file);
            assert!(config.is_ok(), "{config:?}\n{file}");
        }
    }
}
