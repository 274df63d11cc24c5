// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the values of a scenario to the parameters of the core.

use std::path::Path;
use std::sync::Arc;

use lasthop_core::ap::{ApConfig, StationConfig};
use lasthop_core::app::{AppConfig, Bursts, SizeDistribution};
use lasthop_core::capacity::Trace;
use lasthop_core::fading::FadingParams;
use lasthop_core::law::clamp::{Price, ReceiverParams, Variant};
use lasthop_core::law::{qfcp, share, xcp};
use lasthop_core::link::LinkConfig;
use lasthop_core::loss::{GilbertElliott, HandoffTimes, LossConfig};
use lasthop_core::queue::{Limit, QueueConfig};
use lasthop_core::radio::{ErrorModel, FadingRadio, Margin, RadioConfig};
use lasthop_core::role::{self, AqmParams, MarkerParams};
use lasthop_core::tcp::{self, DelayedAck, ReceiverConfig, Recovery};
use lasthop_core::units::{Bytes, Duration, Instant, Rate};
use lasthop_core::wlan::{self, MacConfig, RateSteps, WlanConfig};

use crate::scenario::{self, ScenarioError, With};
use crate::summary::Reader;

pub(super) fn link(link: &scenario::Link) -> Result<LinkConfig, ScenarioError> {
    Ok(LinkConfig {
        rate: link.rate,
        queue: queue(&link.queue, Router::of(&link.price, &link.feedback)?, link.rate, link.rate)?,
        loss: loss(link.loss.as_ref(), &link.name).map_err(|e| e.within("loss"))?,
    })
}

/// What is asked of the router that a queue belongs to: a price or feedback.
#[derive(Clone, Copy)]
enum Router<'s> {
    None,
    Price(&'s scenario::Price),
    Feedback(&'s scenario::Feedback),
}

impl<'s> Router<'s> {
    fn of(price: &'s Option<scenario::Price>, feedback: &'s Option<scenario::Feedback>) -> Result<Self, ScenarioError> {
        match (price, feedback) {
            (None, None) => Ok(Self::None),
            (Some(price), None) => Ok(Self::Price(price)),
            (None, Some(feedback)) => Ok(Self::Feedback(feedback)),
            (Some(_), Some(_)) => Err(ScenarioError::at("feedback", "wanted no price beside it")),
        }
    }
}

/// A queue in front of a line of `rate`, and of `top` at most.
fn queue(queue: &scenario::Queue, router: Router, rate: Rate, top: Rate) -> Result<QueueConfig, ScenarioError> {
    let endless = if matches!(queue.aqm, AqmParams::FqCodel(_)) { FQ_CODEL_LIMIT } else { Limit::None };
    Ok(QueueConfig {
        limit: queue.limit.map_or(endless, |limit| Some(limit).into()),
        aqm: queue.aqm,
        marker: match router {
            Router::None => MarkerParams::None,
            Router::Price(price) => priced(price),
            Router::Feedback(feedback) => told(feedback, queue, (rate, top)).map_err(|e| e.within("feedback"))?,
        },
    })
}

fn priced(price: &scenario::Price) -> MarkerParams {
    match *price {
        scenario::Price::Linear(params) => MarkerParams::Clamp(Price::Linear(params)),
        scenario::Price::Mice(params) => MarkerParams::Clamp(Price::Mice(params)),
        scenario::Price::Smooth(params) => MarkerParams::Clamp(Price::Smooth(params)),
        scenario::Price::Share(params) => MarkerParams::Share(params),
    }
}

/// A station's queue: its own, or what the access point or WLAN has for all; it is in the table `place`.
fn station_queue(
    own: Option<&scenario::StationQueue>,
    place: &str,
    (shared, router): (&scenario::Queue, Router),
    (rate, top): (Rate, Rate),
) -> Result<QueueConfig, ScenarioError> {
    let Some(own) = own else { return queue(shared, router, rate, top) };
    let buffer = own.queue.as_ref().unwrap_or(shared);
    match Router::of(&own.price, &own.feedback).map_err(|e| e.within(place))? {
        Router::None => queue(buffer, router, rate, top),
        own => queue(buffer, own, rate, top).map_err(|e| e.within(place)),
    }
}

/// RFC 8290 §5.2.3.
const FQ_CODEL_LIMIT: Limit = Limit::Packets(10_240);

/// The router of a queue, in front of a line of `rate`, and of `top` at most.
fn told(
    feedback: &scenario::Feedback,
    queue: &scenario::Queue,
    (rate, top): (Rate, Rate),
) -> Result<MarkerParams, ScenarioError> {
    use scenario::Feedback::{Qfcp, Xcp, XcpB};
    use xcp::Efficiency;
    let (efficiency, gains) = match feedback {
        Qfcp(params) => return Ok(MarkerParams::Qfcp(qfcp_router(params, rate, top)?)),
        Xcp(With { own, common }) => {
            (Efficiency::Told(xcp::Told { capacity: Some(own.capacity.unwrap_or(rate)) }), *common)
        }
        XcpB(With { own, common }) => (Efficiency::Queue(behind(own, queue)?), *common),
    };
    Ok(MarkerParams::Xcp(xcp::RouterParams { efficiency, gains }))
}

/// XCP-b's buffer is the queue's, unless it is told another.
fn behind(blind: &xcp::Blind, queue: &scenario::Queue) -> Result<xcp::Blind, ScenarioError> {
    match blind.buffer.or(queue.limit.map(|limit| limit.in_bytes(blind.packet))) {
        None => Err(ScenarioError::at("buffer", "missing: wanted, as the queue has no limit")),
        buffer => Ok(xcp::Blind { buffer, ..*blind }),
    }
}

/// QFCP's router in front of a line of `rate`, and of `top` at most, unless it is told other capacities.
fn qfcp_router(params: &qfcp::RouterParams, rate: Rate, top: Rate) -> Result<qfcp::RouterParams, ScenarioError> {
    let told = params.capacity.unwrap_or(rate);
    let (capacity, bound) = match params.max_capacity {
        Some(bound) if bound < told => {
            let mbps = |rate: Rate| rate.as_bps() as f64 / 1e6;
            let wanted = format!("at least `capacity`, {} Mbit/s", mbps(told));
            return Err(ScenarioError::refused("max_capacity", format!("\"{} Mbit/s\"", mbps(bound)), wanted));
        }
        Some(bound) => (told, bound),
        None if params.probing => (told.min(top), top),
        None => (told, top.max(told)),
    };
    Ok(qfcp::RouterParams { capacity: Some(capacity), max_capacity: Some(bound), ..*params })
}

/// The error model of the element `name`, whose directions share their handoffs.
pub(super) fn loss(loss: Option<&scenario::Loss>, name: &str) -> Result<LossConfig, ScenarioError> {
    Ok(match loss {
        None => LossConfig::None,
        Some(scenario::Loss::Bernoulli(bernoulli)) => LossConfig::Bernoulli { p: bernoulli.p },
        Some(scenario::Loss::GilbertElliott(chain)) => LossConfig::GilbertElliott(bursts(chain)?),
        Some(scenario::Loss::Handoff(spec)) => {
            LossConfig::Handoff { times: handoff_times(spec)?, chain: name.to_owned() }
        }
    })
}

/// The part of an error model that acknowledgements meet where they cross no link of their own: handoffs alone.
pub(super) fn loss_of_acks(loss: Option<&scenario::Loss>, name: &str) -> Result<LossConfig, ScenarioError> {
    match loss {
        Some(handoff @ scenario::Loss::Handoff(_)) => self::loss(Some(handoff), name),
        None | Some(scenario::Loss::Bernoulli(_) | scenario::Loss::GilbertElliott(_)) => Ok(LossConfig::None),
    }
}

fn bursts(chain: &scenario::GilbertElliott) -> Result<GilbertElliott, ScenarioError> {
    let states = [chain.loss_good, chain.loss_bad];
    match (chain.good_to_bad, chain.bad_to_good, chain.mean_loss, chain.mean_burst) {
        (Some(to_bad), Some(to_good), None, None) => Ok(GilbertElliott {
            to_bad,
            to_good,
            loss_good: chain.loss_good.unwrap_or(0.0),
            loss_bad: chain.loss_bad.unwrap_or(1.0),
        }),
        (None, None, Some(loss), Some(burst)) if states == [None, None] => {
            GilbertElliott::of_bursts(loss, burst).map_err(|e| ScenarioError::parameter("", e))
        }
        _ => {
            let wanted = "good_to_bad and bad_to_good beside it, or mean_loss and mean_burst";
            Err(ScenarioError::refused("kind", "\"gilbert-elliott\"", wanted))
        }
    }
}

fn handoff_times(spec: &scenario::Handoff) -> Result<HandoffTimes, ScenarioError> {
    match (spec.on, spec.off, spec.length) {
        (Some(on), Some(off), None) if spec.at.is_empty() => Ok(HandoffTimes::Chain { on, off, regular: spec.regular }),
        (None, None, Some(length)) if !spec.at.is_empty() && !spec.regular => {
            let starts = spec.at.iter().map(|at| Instant::ZERO + *at).collect();
            Ok(HandoffTimes::At { starts, length })
        }
        _ => Err(ScenarioError::refused("kind", "\"handoff\"", "on and off beside it, or at and length")),
    }
}

/// An access point with a queue for each of `stations`; traces are looked for in `directory`.
pub(super) fn access_point(
    ap: &scenario::AccessPoint,
    stations: &[String],
    directory: &Path,
) -> Result<ApConfig, ScenarioError> {
    let shared = radio(&ap.radio, directory).map_err(|e| e.within("radio"))?;
    let shared_router = Router::of(&ap.price, &ap.feedback)?;
    let station = |(i, name): (usize, &String)| {
        let (place, own) = table_of(&ap.station, i);
        let radio = match own.and_then(|station| station.own.radio.as_ref()) {
            Some(own) => radio(own, directory).map_err(|e| e.within("radio").within(&place))?,
            None => shared.clone(),
        };
        let common = own.map(|station| &station.common);
        Ok(StationConfig {
            name: name.clone(),
            queue: station_queue(common, &place, (&ap.queue, shared_router), (radio.line_rate(), radio.top_rate()))?,
            radio,
            loss: loss(ap.loss.as_ref(), &station_name(&ap.name, name)).map_err(|e| e.within("loss"))?,
        })
    };
    Ok(ApConfig {
        scheduler: ap.scheduler,
        stations: stations.iter().enumerate().map(station).collect::<Result<_, _>>()?,
    })
}

/// The way from an access point's `stations` to it.
pub(super) fn uplink(
    ap: &scenario::AccessPoint,
    uplink: &scenario::Uplink,
    stations: &[String],
    directory: &Path,
) -> Result<ApConfig, ScenarioError> {
    let radio = radio(&uplink.radio, directory).map_err(|e| e.within("uplink.radio"))?;
    let station = |name: &String| {
        Ok(StationConfig {
            name: name.clone(),
            queue: queue(&uplink.queue, Router::None, radio.line_rate(), radio.top_rate())?,
            radio: radio.clone(),
            loss: loss_of_acks(ap.loss.as_ref(), &station_name(&ap.name, name)).map_err(|e| e.within("loss"))?,
        })
    };
    Ok(ApConfig { scheduler: uplink.scheduler, stations: stations.iter().map(station).collect::<Result<_, _>>()? })
}

/// The table of its own that station `i` has, if any, and where that stands: those with tables come first.
fn table_of<T>(
    tables: &[With<T, scenario::StationQueue>],
    i: usize,
) -> (String, Option<&With<T, scenario::StationQueue>>) {
    match tables.get(i) {
        Some(table) => (format!("station[{i}]"), Some(table)),
        None => (String::new(), None),
    }
}

/// A station's name in the results and among the streams.
pub(super) fn station_name(ap: &str, station: &str) -> String {
    format!("{ap}/{station}")
}

/// A WLAN with `stations`.
pub(super) fn wlan(
    With { own: wlan, common: mac }: &With<scenario::Wlan, MacConfig>,
    stations: &[String],
) -> Result<WlanConfig, ScenarioError> {
    let shared_rate = rate_steps(wlan.rate, &wlan.rate_steps)?;
    let shared_router = Router::of(&wlan.price, &wlan.feedback)?;
    let station = |(i, name): (usize, &String)| {
        let (place, table) = table_of(&wlan.station, i);
        let (own, common) = (table.map(|table| &table.own), table.map(|table| &table.common));
        let within = |e: ScenarioError| e.within(&place);
        let rate = match own.map(|station| (station.rate, &station.rate_steps[..])) {
            Some((Some(rate), steps)) => rate_steps(rate, steps).map_err(within)?,
            Some((None, [_, ..])) => {
                return Err(within(ScenarioError::at("rate", "missing: wanted, as there are rate steps")));
            }
            Some((None, [])) | None => shared_rate.clone(),
        };
        let model = |own: Option<&scenario::Loss>, shared, key| match own {
            Some(_) => loss(own, &station_name(&wlan.name, name)).map_err(|e| within(e.within(key))),
            None => loss(shared, &station_name(&wlan.name, name)).map_err(|e| e.within(key)),
        };
        Ok(wlan::StationConfig {
            name: name.clone(),
            queue: station_queue(common, &place, (&wlan.queue, shared_router), (rate.highest(), rate.highest()))?,
            rate,
            loss: model(own.and_then(|station| station.loss.as_ref()), wlan.loss.as_ref(), "loss")?,
            frame_errors: model(
                own.and_then(|station| station.frame_errors.as_ref()),
                wlan.frame_errors.as_ref(),
                "frame_errors",
            )?,
        })
    };
    let stations: Vec<_> = stations.iter().enumerate().map(station).collect::<Result<_, _>>()?;
    let fastest = stations.iter().map(|station| station.rate.highest()).max().unwrap_or_default();
    Ok(WlanConfig { mac: *mac, queue: queue(&wlan.queue, shared_router, fastest, fastest)?, stations })
}

fn rate_steps(first: Rate, steps: &[scenario::RateStep]) -> Result<RateSteps, ScenarioError> {
    let mut before = Duration::ZERO;
    for (i, step) in steps.iter().enumerate() {
        let key = |key: &str| format!("rate_steps[{i}].{key}");
        if step.at <= before {
            let wanted = if i == 0 { "more than 0 s, where `rate` holds" } else { "more than that of the step before" };
            return Err(ScenarioError::refused(&key("at"), format!("\"{} s\"", step.at.as_secs_f64()), wanted));
        }
        if step.rate == Rate::from_bps(0) {
            return Err(ScenarioError::refused(&key("rate"), "\"0 bit/s\"", "more than 0 bit/s"));
        }
        before = step.at;
    }
    let later = steps.iter().map(|step| (Instant::ZERO + step.at, step.rate));
    let steps = std::iter::once((Instant::ZERO, first)).chain(later).collect();
    RateSteps::new(steps).map_err(|e| ScenarioError::parameter("", e))
}

fn radio(radio: &scenario::Radio, directory: &Path) -> Result<RadioConfig, ScenarioError> {
    Ok(match radio {
        scenario::Radio::Jakes(jakes) => RadioConfig::Fading(fading(jakes)),
        scenario::Radio::Constant(constant) => RadioConfig::Constant { rate: constant.rate },
        scenario::Radio::Trace(trace) => {
            let path = directory.join(&trace.file);
            let unreadable = |what: String| ScenarioError::at("file", format!("{}: {what}", path.display()));
            let text = std::fs::read_to_string(&path).map_err(|e| unreadable(reason(&e)))?;
            RadioConfig::Trace(Arc::new(Trace::parse(&text).map_err(|e| unreadable(e.to_string()))?))
        }
    })
}

/// What the system says of a file, without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

fn fading(jakes: &scenario::Jakes) -> FadingRadio {
    FadingRadio {
        fading: FadingParams {
            doppler_hz: jakes.doppler.as_hz(),
            generators: jakes.generators as usize,
            snr: jakes.snr,
        },
        slot: jakes.slot,
        bandwidth_hz: jakes.bandwidth.as_hz(),
        max_rate: jakes.max_rate,
        frames: jakes.frames,
        attempts: jakes.attempts,
        errors: match jakes.errors {
            scenario::Errors::Outage => ErrorModel::Outage {
                margin: match jakes.margin {
                    scenario::Margin::Signed => Margin::Signed,
                    scenario::Margin::NonNegative => Margin::NonNegative,
                    scenario::Margin::Fixed(fixed) => Margin::Fixed(fixed.value),
                },
                packet_error_rate: jakes.packet_error_rate,
                margin_gain: jakes.margin_gain,
            },
            scenario::Errors::Linear(linear) => {
                ErrorModel::Linear { p_low: linear.worst, snr_low: linear.lower_snr, snr_high: linear.upper_snr }
            }
            scenario::Errors::None => ErrorModel::None,
        },
    }
}

/// What Linux receivers do by default (see the key; TCP_ATO_MIN; the greatest of tcp_rmem).
const LINUX_QUICK_ACKS: u32 = 300;
const LINUX_ACK_TIMEOUT: Duration = Duration::from_millis(40);
const LINUX_BUFFER: Bytes = Bytes::new(6_291_456);

/// The receiver of a connection, and its kind's name; it sends SACK blocks if the sender reads them.
pub(super) fn receiver(
    receiver: &scenario::Receiver,
    sender: &scenario::Sender,
    payload: Bytes,
) -> (ReceiverConfig, &'static str) {
    let delayed = |delayed: scenario::DelayedAcks| DelayedAck { timeout: delayed.timeout, ..DelayedAck::default() };
    let (buffer, delayed, ack_size, law, kind) = match receiver {
        scenario::Receiver::Plain(plain) => {
            (plain.buffer, plain.delayed_acks.map(delayed), plain.ack_size, role::ReceiverParams::Plain, "plain")
        }
        scenario::Receiver::Linux(linux) => {
            let delayed = DelayedAck {
                every: linux.ack_every.unwrap_or(2),
                quick: linux.quick_acks.unwrap_or(LINUX_QUICK_ACKS),
                timeout: linux.ack_timeout.unwrap_or(LINUX_ACK_TIMEOUT),
            };
            let buffer = linux.buffer.unwrap_or(LINUX_BUFFER);
            (Some(buffer), Some(delayed), linux.ack_size, role::ReceiverParams::Plain, "linux")
        }
        scenario::Receiver::Clamp(clamp) => {
            let law = role::ReceiverParams::Clamp(clamp_receiver(clamp, payload));
            (clamp.buffer, clamp.delayed_acks.map(delayed), None, law, "clamp")
        }
        scenario::Receiver::Share(With { own, common }) => {
            let law = role::ReceiverParams::Share(share::ReceiverParams { keys: *own, mss: payload });
            (common.buffer, common.delayed_acks.map(delayed), None, law, "share")
        }
    };
    let defaults = ReceiverConfig::default();
    let options = sender.options_within();
    let rules = sender.over(tcp::SenderConfig::default());
    let config = ReceiverConfig {
        buffer: buffer.unwrap_or(defaults.buffer),
        ack_size: ack_size.map_or(defaults.ack_size + options, |size| size.get().min(65_535) as u32),
        delayed_ack: delayed,
        sack: rules.recovery == Recovery::Sack,
        dsack: rules.dsack,
        law,
        ..defaults
    };
    (config, kind)
}

fn clamp_receiver(clamp: &scenario::Clamp, payload: Bytes) -> ReceiverParams {
    ReceiverParams {
        tau: clamp.tau.as_f64(),
        phi: clamp.phi,
        alpha_packets: clamp.packets as usize,
        beta: clamp.beta,
        max_increase_bytes: clamp.max_increase.as_f64(),
        min_window_bytes: clamp.min_window.map_or(payload.as_f64(), |size| size.as_f64()),
        mss_bytes: payload.as_f64(),
        variant: if clamp.unscaled { Variant::Unscaled } else { Variant::Scaled },
        slow_start: clamp.slow_start == scenario::ReceiverSlowStart::On,
        hold: (clamp.hold != 0.0).then_some(clamp.hold),
    }
}

/// An application that lives on one connection.
pub(super) fn app(app: &scenario::App, payload: Bytes) -> AppConfig {
    let chunk = |size: Option<Bytes>| size.unwrap_or(payload);
    match app {
        scenario::App::Fixed(fixed) => AppConfig::Fixed { size: fixed.size.in_bytes(payload) },
        scenario::App::OnOff(spec) => AppConfig::Paced {
            rate: spec.rate,
            chunk: chunk(spec.chunk),
            bursts: Some(Bursts { on: spec.on, off: spec.off, exponential: spec.exponential }),
        },
        scenario::App::Cbr(spec) => AppConfig::Paced { rate: spec.rate, chunk: chunk(spec.chunk), bursts: None },
        // Poisson arrivals are transfers, each on a connection of its own.
        scenario::App::Bulk | scenario::App::Poisson(_) => AppConfig::Bulk,
    }
}

/// Who reads what a flow delivers: one that is asked for, or that of an application of constant bit rate.
pub(super) fn reader(flow: &scenario::Flow) -> Result<Option<Reader>, ScenarioError> {
    let wanted = match &flow.app {
        scenario::App::Cbr(spec) => Some(spec.rate),
        _ => None,
    };
    if flow.reader.is_none() && wanted.is_none() {
        return Ok(None);
    }
    let spec = flow.reader.unwrap_or_default();
    let Some(rate) = spec.rate.or(wanted) else {
        return Err(ScenarioError::at("reader.rate", "missing: wanted a rate with its unit, e.g. \"1 Mbit/s\""));
    };
    let share = spec.share.unwrap_or(0.9);
    if !(0.0..=1.0).contains(&share) {
        return Err(ScenarioError::refused("reader.share", share, "a share from 0 to 1"));
    }
    if rate.as_bps() == 0 {
        let key = if spec.rate.is_some() { "reader.rate" } else { "app.rate" };
        return Err(ScenarioError::refused(key, "0 bit/s", "more than 0 bit/s"));
    }
    Ok(Some(Reader { rate_bps: rate.as_bps() as f64, share }))
}

pub(super) fn sizes(sizes: &scenario::Sizes, payload: Bytes) -> Result<SizeDistribution, ScenarioError> {
    let distribution = match sizes {
        scenario::Sizes::Constant(spec) => SizeDistribution::Constant(spec.value.in_bytes(payload)),
        scenario::Sizes::Triangular(spec) => {
            let (min, max) = (spec.min.in_bytes(payload), spec.max.in_bytes(payload));
            let middle = Bytes::new(min.get().midpoint(max.get()));
            SizeDistribution::Triangular { min, max, mode: spec.mode.map_or(middle, |mode| mode.in_bytes(payload)) }
        }
        scenario::Sizes::Pareto(spec) => {
            SizeDistribution::Pareto { min: spec.min.in_bytes(payload), shape: spec.shape }
        }
    };
    distribution.validate().map_err(|e| ScenarioError::parameter("", e))?;
    Ok(distribution)
}
