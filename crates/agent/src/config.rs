// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent is told: a file by the rules of scenarios, and the command line over it.

use std::net::{IpAddr, SocketAddr};

use lasthop_core::error::{ParameterError, ensure};
use lasthop_core::law::kernel::{self, q10};
use lasthop_core::law::{share, station};
use lasthop_core::parameter::{above_to, between};
use lasthop_core::units::{Bytes, Duration};
use lasthop_core::{kinds, parameters};

use crate::state::{Settings, WEIGHT_RULES, WEIGHTS, WeightRule};

/// The longest name of a device (IFNAMSIZ, less the zero at its end).
const LONGEST_DEVICE: usize = 15;

/// The first port that anybody may listen at.
const FIRST_FREE: u16 = 1024;

parameters! {
    /// What `lasthop-agent proxy`, `ap` or `client` is told, in a file or on the command line.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// The device towards the clients; a client's own towards its access point.
        pub device: String = String::new();
        /// The law that gives the windows.
        pub law: Law = Law::Share(ShareConfig::default());
        /// Where the queue is.
        pub queue: QueuePlace = QueuePlace::Auto;
        /// Watch only: packets pass as they are.
        pub dry_run: bool = false;
        /// Where the page and the metrics are, an address of this machine alone such as "127.0.0.1:9469"; without it there are none.
        pub metrics: String = String::new();
        /// Connections whose weight is other than 1; the first that fits counts.
        pub weight: Vec<WeightConfig> = vec![];
    }
    check(p) {
        let is_name = p.device.len() <= LONGEST_DEVICE
            && !p.device.contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control())
            && !matches!(p.device.as_str(), "." | "..");
        ensure(is_name, "device", format!("{:?}", p.device), "the name of a network device, such as \"eth1\"")?;
        ensure(p.weight.len() <= WEIGHT_RULES, "weight", p.weight.len(), "16 of them at most")?;
        let is_free = p.page().is_none_or(|address| address.port() == 0 || address.port() >= FIRST_FREE);
        ensure(is_free, "metrics", format!("{:?}", p.metrics), "a port from 1024 on: the agent drops the right to lower ones")?;
        ensure(p.metrics.is_empty() || p.page().is_some(), "metrics", format!("{:?}", p.metrics), "an address of this machine alone and a port, such as \"127.0.0.1:9469\"")?;
    }
}

kinds! {
    /// The law that gives the windows.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Law {
        /// The share window: a flow's part of the rate, for a round trip and the queue that is wanted.
        Share(ShareConfig) = "share",
        /// CLAMP: a price on the queue beyond a, and windows that settle where each flow keeps τ in it.
        Clamp(ClampConfig) = "clamp",
        /// The station window: up to 16 connections that share a queue have their windows together, each for what slower ones will leave of
        /// the line within its own round trip. It sends window updates, so senders need selective acknowledgements.
        Station(StationConfig) = "station",
    }
    or "share"
}

kinds! {
    /// Where the queue is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum QueuePlace {
        /// In the device's qdisc, if that is a shaper; else downstream.
        #[default]
        Auto = "auto",
        /// In the device's qdisc: a shaper there is what is slowest.
        Qdisc = "qdisc",
        /// Downstream, in a driver, a modem or another box, one for each client: known from ACKs alone.
        Outstanding = "outstanding",
        /// The same, but one for all clients, as in most modems.
        Shared = "shared",
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
        /// θ, how long a queue other than T lasts by itself, about: the part θ/(θ + d) of it is answered at once.
        pub theta: Duration = share::THETA, in between(Duration::ZERO, Duration::from_secs(10));
    }
}

parameters! {
    /// The station window's parameters, with the defaults of the law. Connections beyond those have the share window, by this T and the
    /// defaults of that law.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct StationConfig {
        /// T, the standing queue that is wanted.
        pub target: Duration = share::TARGET, in between(Duration::ZERO, Duration::from_secs(10));
        /// κ, how much of a queue other than T is answered at once.
        pub kappa: f64 = station::KAPPA, in 0.0..1.0;
        /// Whether any ACK of a station moves the window of any of its connections, by window updates; otherwise each connection's own do.
        pub clock: bool = true;
    }
}

parameters! {
    /// CLAMP's parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ClampConfig {
        /// a, the queue from which on there is a price; raised where many flows share a slow link, lowered where BBR near by would lose
        /// its share.
        pub a: Bytes = Bytes::new(20_000), in between(Bytes::ZERO, Bytes::new(1 << 30));
        /// τ, what a flow of weight 1 keeps in the queue beyond it.
        pub tau: Bytes = Bytes::new(500), in between(Bytes::ZERO, Bytes::new(100_000));
        /// Over how long the queue is averaged; 500 ms in the paper. `client` averages none.
        pub average: Duration = kernel::AVERAGE, in above_to(Duration::ZERO, kernel::MOST_AVERAGE);
        /// By what share of itself a window grows in a round trip while the queue is empty: by default 3/64 at `client` and 1/16 at
        /// `proxy`, to the nearest 1024th; 0 in the paper. `ap` has no windows.
        pub refill: Option<f64> = None, in 0.0..=1.0;
    }
}

parameters! {
    /// A weight, and whose it is.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WeightConfig {
        /// φ, its part of the rate beside flows of weight 1, to the nearest 256th.
        pub weight: f64, in WEIGHTS;
        /// The port of either end; any if there is none.
        pub port: Option<u64> = None, in 1..=65_535;
        /// The mark in the server's packets; any if there is none.
        pub dscp: Option<u64> = None, in 0..=63;
        /// The first bits of the client's or the server's address, e.g. "10.0.0.0/8"; any if there is none.
        pub prefix: Option<String> = None;
    }
    check(p) {
        p.rule()?;
    }
}

impl WeightConfig {
    /// As the programs have it.
    ///
    /// # Errors
    /// A prefix that is none.
    pub fn rule(&self) -> Result<WeightRule, ParameterError> {
        let (prefix, prefix_bits) = self.prefix.as_deref().map_or(Ok(([0; 16], 0)), |text| {
            prefix(text).ok_or_else(|| {
                ParameterError::new("prefix", text, "an address and its first bits, the others zero, e.g. 10.0.0.0/8")
            })
        })?;
        Ok(WeightRule {
            prefix,
            prefix_bits,
            weight_q8: (self.weight * 256.0).round() as u32,
            port: self.port.map_or([0; 2], |port| (port as u16).to_be_bytes()),
            dscp: self.dscp.unwrap_or(0) as u8,
            has_dscp: self.dscp.is_some().into(),
            pad: 0,
        })
    }
}

/// The bits of an address as IPv6 has them, and how many; none where others are set: a host's address is no prefix.
fn prefix(text: &str) -> Option<([u8; 16], u32)> {
    let (address, bits) = text.split_once('/')?;
    let bits: u32 = bits.parse().ok()?;
    let (address, bits) = match address.parse().ok()? {
        IpAddr::V4(address) => (bits <= 32).then(|| (address.to_ipv6_mapped(), 96 + bits)),
        IpAddr::V6(address) => (bits <= 128).then_some((address, bits)),
    }?;
    let rest = u128::MAX.checked_shr(bits).unwrap_or(0);
    (address.to_bits() & rest == 0).then(|| (address.octets(), bits))
}

impl Law {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Share(_) => "share",
            Self::Clamp(_) => "clamp",
            Self::Station(_) => "station",
        }
    }

    /// T, the standing queue that is wanted; zero with CLAMP, which goes by a.
    pub fn target(self) -> Duration {
        match self {
            Self::Share(share) => share.target,
            Self::Station(station) => station.target,
            Self::Clamp(_) => Duration::ZERO,
        }
    }
}

impl Config {
    /// Where the page and the metrics are, if anywhere.
    pub fn page(&self) -> Option<SocketAddr> {
        lasthop_live::loopback(&self.metrics)
    }

    /// What the programs are told, at a device with so much before the IP header, whose queue is hidden or not.
    pub fn settings(&self, link_header_bytes: u32, is_hidden: bool) -> Settings {
        let usual = ShareConfig::default();
        let (share, clamp, station) = match self.law {
            Law::Share(share) => (share, None, None),
            // Its path is looked at as the share window's.
            Law::Clamp(clamp) => (usual, Some(clamp), None),
            Law::Station(station) => (ShareConfig { target: station.target, ..usual }, None, Some(station)),
        };
        let bytes = |of: fn(ClampConfig) -> Bytes| clamp.map_or(0, |clamp| of(clamp).get() as u32);
        let mut rules = [WeightRule::default(); WEIGHT_RULES];
        for (rule, weight) in rules.iter_mut().zip(&self.weight) {
            // What is none was refused before.
            *rule = weight.rule().unwrap_or_default();
        }
        Settings {
            target_ns: share.target.as_nanos(),
            theta_ns: share.theta.as_nanos(),
            average_ns: clamp.map_or(0, |clamp| clamp.average.as_nanos()),
            g_q10: q10(share.g),
            kappa_q10: station.map_or(0, |station| q10(station.kappa)),
            link_header_bytes,
            observe_only: self.dry_run.into(),
            is_hidden: is_hidden.into(),
            is_clamp: clamp.is_some().into(),
            a_bytes: bytes(|clamp| clamp.a),
            tau_bytes: bytes(|clamp| clamp.tau),
            refill_q10: clamp.map_or(0, |clamp| q10(clamp.refill.unwrap_or(kernel::PROXY_REFILL))),
            is_station: station.is_some().into(),
            moves_others: station.is_some_and(|station| station.clock && !self.dry_run).into(),
            rule_count: self.weight.len().min(WEIGHT_RULES) as u32,
            has_dscp: self.weight.iter().any(|weight| weight.dscp.is_some()).into(),
            by_client: (is_hidden && self.queue != QueuePlace::Shared).into(),
            rules,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_strictly() {
        let read = |text: &str| lasthop_scenario::read::<Config>(text).map_err(|error| error.to_string());
        let config =
            read("device = \"eth1\"\nlaw = { kind = \"share\", target = \"10 ms\", theta = \"20 ms\" }").unwrap();
        assert_eq!(config.device, "eth1");
        let settings = config.settings(14, false);
        assert_eq!((settings.target_ns, settings.theta_ns, settings.g_q10), (10_000_000, 20_000_000, 901));
        assert_eq!((settings.link_header_bytes, settings.observe_only), (14, 0));
        let clamp = read("law = { kind = \"clamp\", a = \"10 kB\" }").unwrap().settings(14, false);
        assert_eq!((clamp.is_clamp, clamp.a_bytes, clamp.tau_bytes), (1, 10_000, 500));
        let station = read("law = { kind = \"station\", target = \"12 ms\", kappa = 0.5 }").unwrap();
        let settings = station.settings(14, true);
        assert_eq!((settings.is_station, settings.moves_others, settings.is_hidden, settings.is_clamp), (1, 1, 1, 0));
        assert_eq!((settings.target_ns, settings.kappa_q10, settings.g_q10), (12_000_000, 512, 901));
        assert_eq!((station.law.name(), station.law.target()), ("station", Duration::from_millis(12)));
        let usual = read("law = \"station\"\ndry_run = true").unwrap().settings(14, false);
        assert_eq!((usual.target_ns, usual.kappa_q10, usual.is_station, usual.moves_others), (25_000_000, 256, 1, 0));
        let still = read("law = { kind = \"station\", clock = false }").unwrap().settings(14, true);
        assert_eq!((still.is_station, still.moves_others), (1, 0));
        assert_eq!(
            read("law = { kind = \"station\", kappa = 1 }").unwrap_err(),
            "law.kappa = 1: wanted from 0 up to, but not, 1"
        );
        let weights =
            "[[weight]]\nweight = 2\nport = 443\n[[weight]]\nweight = 0.5\nprefix = \"10.1.0.0/16\"\ndscp = 46";
        let weights = read(weights).unwrap().settings(14, false);
        let [first, second, ..] = weights.rules;
        assert_eq!((weights.rule_count, weights.has_dscp), (2, 1));
        assert_eq!((first.weight_q8, first.port, first.prefix_bits, first.has_dscp), (512, [1, 187], 0, 0));
        assert_eq!((second.weight_q8, second.prefix_bits, second.dscp, second.has_dscp), (128, 112, 46, 1));
        assert_eq!(&second.prefix[10..], &[255, 255, 10, 1, 0, 0]);
        let wrong = read("[[weight]]\nweight = 2\nprefix = \"10.1.0.0/33\"").unwrap_err();
        assert!(wrong.contains("prefix") && wrong.contains("an address and its first bits"), "{wrong}");
        for prefix in ["10.1.2.3/16", "2001:db8::1/64", "10.0.0.0"] {
            let wrong = read(&format!("[[weight]]\nweight = 2\nprefix = {prefix:?}")).unwrap_err();
            assert!(wrong.contains("the others zero"), "{wrong}");
        }
        for prefix in ["10.1.2.3/32", "0.0.0.0/0", "2001:db8::/64", "::/0", "::1/128"] {
            assert!(read(&format!("[[weight]]\nweight = 2\nprefix = {prefix:?}")).is_ok(), "{prefix}");
        }
        assert!(read("metrics = \"127.0.0.1:80\"").unwrap_err().contains("a port from 1024 on"));
        assert!(read("metrics = \"127.0.0.1:0\"").is_ok());
        assert!(read("device = \"a\\u007fb\"").unwrap_err().contains("a network device"));
        for device in ["a/b", "eth1 ", "sixteen-letters-", "e:1", ".."] {
            let wrong = read(&format!("device = {device:?}")).unwrap_err();
            assert!(wrong.starts_with("device = ") && wrong.contains("a network device"), "{wrong}");
        }
        assert_eq!(read("dry_run = true").unwrap().settings(0, true).observe_only, 1);
        assert_eq!(read("queue = \"outstanding\"").unwrap().settings(14, true).by_client, 1);
        let shared = read("queue = \"shared\"").unwrap().settings(14, true);
        assert_eq!((shared.is_hidden, shared.by_client), (1, 0));
        assert!(read("queue = \"modem\"").unwrap_err().contains("\"qdisc\" or \"outstanding\""));
        assert!(read("devise = \"eth1\"").unwrap_err().contains("unknown key `devise`"));
        assert_eq!(read("law = { kind = \"share\", g = 1.5 }").unwrap_err(), "law.g = 1.5: wanted from 0 to 1");
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
