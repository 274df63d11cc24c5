// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows: path, sender, receiver, application.

use std::fmt::Arguments;

use lasthop_core::app::AppParams;
use lasthop_core::error::{ParameterError, ensure};
use lasthop_core::loss::LossParams;
use lasthop_core::parameter::{above, given};
use lasthop_core::parameters;
use lasthop_core::tcp::{Recovery, SenderConfig, Switches};
use lasthop_core::units::{Bytes, Duration, LONGEST, MOST_PACKET, Rate};

use super::kinds::ReceiverSpec;
use super::sender::SenderSpec;

/// Most flows in one run: what a port and an event's number leave room for.
pub const MOST_FLOWS: u32 = 1_000_000;

parameters! {
    /// One connection, or several alike.
    #[derive(Clone, Debug)]
    pub struct FlowSpec {
        /// Its name; with `count` the names are `NAME-1`, `NAME-2`, …
        pub name: String, in above(String::new());
        /// How many flows there are of this kind.
        pub count: u32 = 1, in 1..=MOST_FLOWS;
        /// Each further flow of `count` starts so much later.
        pub stagger: Duration = Duration::ZERO;
        /// Each flow starts later by a time uniform from nothing to this, drawn from the seed.
        pub spread: Duration = Duration::ZERO;
        /// The nodes that the data crosses, joined by links; it may end at an access point or a WLAN, and start at a WLAN.
        pub path: Vec<String> = vec![];
        /// The station of the access point or WLAN at the path's end (of the only one, where there is no path) to which the
        /// data goes.
        pub station: Option<String> = None, in above(String::new());
        /// The station of the WLAN at the path's start (of the only WLAN, where there is no path) from which the data comes.
        pub source: Option<String> = None, in above(String::new());
        /// Two-way propagation delay of the flow's private part of the path, besides that of links and access point: at the
        /// sender, or at the receiver if the sender is a WLAN's station.
        pub rtt: Duration = Duration::ZERO;
        /// Each further flow of `count` has so much more `rtt`.
        pub rtt_step: Duration = Duration::ZERO;
        /// Rate of the sender's private access link; unlimited by default.
        pub access: Option<Rate> = None, in above(Rate::from_bps(0));
        /// The receiver's private access link.
        pub sink: Option<Sink> = None;
        /// Size of a full data packet on the wire, with 40 bytes of headers, 52 with `linux-reno` and `linux-cubic`.
        pub packet: Bytes = Bytes::new(1500), in Bytes::new(1)..=MOST_PACKET;
        /// Each packet leaves its sender after a time uniform from nothing to this.
        pub jitter: Duration = Duration::ZERO;
        /// What may leave its sender waits for a time uniform from nothing to this, and all that may leave by then goes with it
        /// (ns-2's `overhead_`); not beside `jitter`.
        pub overhead: Duration = Duration::ZERO;
        /// The sender.
        pub sender: SenderSpec = SenderSpec::default();
        /// The receiver.
        pub receiver: ReceiverSpec = ReceiverSpec::default();
        /// What is sent.
        pub app: AppParams = AppParams::default();
        /// Who reads at a constant rate what arrives; where the application writes at one, a reader wants the same.
        pub reader: Option<Reader> = None;
        /// When the flow starts.
        pub start: Duration = Duration::ZERO;
        /// When it stops sending new data, if it has not finished before; at the end of the run by default.
        pub stop: Option<Duration> = None;
    }
    check(p) {
        not_too_long("spread", (p.start, p.spread, 1), "flow starts after")?;
        not_too_long("stagger", (p.start + p.spread, p.stagger, p.count - 1), "flow starts after")?;
        not_too_long("rtt_step", (p.rtt, p.rtt_step, p.count - 1), "round trip takes")?;
        p.check_departures()?;
        p.check_ends()?;
        p.check_recovery()?;
        p.read_at()?;
    }
}

parameters! {
    /// A reader that wants a constant bit rate: in each sample it succeeds or fails (gamma §II-A).
    #[derive(Clone, Copy, Debug)]
    pub struct Reader {
        /// What it wants; the rate of a `cbr` application by default.
        pub rate: Option<Rate> = None, in above(Rate::from_bps(0));
        /// The share of it that must be exceeded for success.
        pub share: f64 = 0.9, in 0.0..=1.0;
    }
}

parameters! {
    /// A receiver's private access link.
    #[derive(Clone, Debug)]
    pub struct Sink {
        /// Its rate; unlimited by default.
        pub rate: Option<Rate> = None, in above(Rate::from_bps(0));
        /// Its propagation delay, one way.
        pub delay: Duration = Duration::ZERO;
        /// Data packets lost on it; a handoff takes acknowledgements too.
        pub loss: Option<LossParams> = None;
    }
}

impl FlowSpec {
    /// Who reads what it delivers, and at what rate: one that is asked for, or that of an application of constant bit rate.
    ///
    /// # Errors
    /// One is asked for, and there is no rate.
    pub fn read_at(&self) -> Result<Option<(Rate, Reader)>, ParameterError> {
        let written = match &self.app {
            AppParams::Cbr(cbr) => Some(cbr.rate),
            _ => None,
        };
        if self.reader.is_none() && written.is_none() {
            return Ok(None);
        }
        let reader = self.reader.unwrap_or_default();
        let rate = given(reader.rate.or(written), "reader.rate", "a rate with its unit, e.g. \"1 Mbit/s\"")?;
        Ok(Some((rate, reader)))
    }
}

impl FlowSpec {
    /// Refuses keys of loss recovery of which one takes back the other, and those that nothing reads.
    fn check_recovery(&self) -> Result<(), ParameterError> {
        let Some(keys) = self.sender.options().map(|options| options.common) else { return Ok(()) };
        self.check_sack(&keys)?;
        let law = self.sender.law().unwrap_or_default();
        let sender = self.sender.over(SenderConfig { law, ..SenderConfig::default() });
        keys.refuse_unread(&sender).map_err(|refused| refused.within("sender"))
    }

    fn check_sack(&self, keys: &Switches) -> Result<(), ParameterError> {
        let Some(sack) = keys.sack else { return Ok(()) };
        let agrees = keys.recovery.is_none_or(|recovery| sack == (recovery == Recovery::Sack));
        let written = keys.recovery.map_or("", |recovery| recovery.kind());
        let wanted = format_args!("{}, or another recovery than {written:?}", !sack);
        ensure(agrees, "sender.sack", sack, wanted)?;
        // What the rules do is not what was written.
        let needs_sack = keys.rack.is_none() && self.sender.over(SenderConfig::default()).rack;
        ensure(sack || !needs_sack, "sender.sack", sack, "true, or rack = false with it")
    }

    /// Refuses two delays of what leaves the sender.
    fn check_departures(&self) -> Result<(), ParameterError> {
        let is_one = self.jitter.is_zero() || self.overhead.is_zero();
        ensure(is_one, "overhead", format_args!("{:?}", self.overhead), "0 s, or no `jitter` beside it")
    }

    /// Refuses an end that comes before the latest start, whatever the seed, and transfers of which none can arrive.
    fn check_ends(&self) -> Result<(), ParameterError> {
        let ends_later = |key: &str, end: Option<Duration>, start: Duration, wanted: Arguments<'_>| match end {
            Some(end) => ensure(end > start, key, format_args!("{end:?}"), wanted),
            None => Ok(()),
        };
        ends_later("stop", self.stop, self.start, format_args!("later than `start`"))?;
        match &self.app {
            AppParams::Poisson(poisson) => {
                ends_later("app.until", poisson.until, self.start, format_args!("later than `start`"))
            }
            _ => {
                let latest = self.start + self.spread + self.stagger * u64::from(self.count - 1);
                ends_later(
                    "stop",
                    self.stop,
                    latest,
                    format_args!("later than {latest:?}, when the last flow may start"),
                )
            }
        }
    }
}

/// Refuses a step that is so long that `first` and `steps` of it make more than a time may be.
fn not_too_long(key: &str, (first, step, steps): (Duration, Duration, u32), what: &str) -> Result<(), ParameterError> {
    let last = u128::from(first.as_nanos()) + u128::from(step.as_nanos()) * u128::from(steps);
    let wanted = format_args!("less, so that no {what} more than {LONGEST:?}");
    ensure(last <= u128::from(LONGEST.as_nanos()), key, format_args!("{step:?}"), wanted)
}
