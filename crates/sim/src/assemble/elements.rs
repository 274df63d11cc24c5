// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links, access points and WLANs: what each of their queues, radios and error models is told.

use std::path::Path;
use std::sync::Arc;

use lasthop_core::ap::{ApConfig, ApStationConfig};
use lasthop_core::error::ParameterError;
use lasthop_core::link::LinkConfig;
use lasthop_core::loss::{LossConfig, LossParams};
use lasthop_core::queue::{Buffer, QueueConfig};
use lasthop_core::radio::RadioConfig;
use lasthop_core::role::{Feedback, MarkerParams, Price, Site};
use lasthop_core::units::Rate;
use lasthop_core::wlan::{self, MacConfig, WlanConfig};

use crate::scenario::{self, ScenarioError, StationQueue, With};
use crate::trace::read_trace;

/// The law of a queue's router.
fn router(price: &Option<Price>, feedback: &Option<Feedback>) -> MarkerParams {
    price.map(MarkerParams::from).or(feedback.map(MarkerParams::from)).unwrap_or_default()
}

/// A line of one rate.
fn constant(rate: Rate) -> Site {
    Site { rate, top: rate, limit: None, knows_unused: false }
}

/// That of a radio with so many stations. What others might have used is not one's own.
fn line_of(radio: &RadioConfig, stations: usize) -> Site {
    let knows_unused = stations == 1 && matches!(radio, RadioConfig::Trace(_));
    Site { rate: radio.line_rate(), top: radio.top_rate(), limit: None, knows_unused }
}

/// A queue in front of a line.
fn queue(buffer: &Buffer, router: MarkerParams, line: Site) -> Result<QueueConfig, ScenarioError> {
    let marker = router.at(&Site { limit: buffer.limit, ..line });
    Ok(QueueConfig { buffer: *buffer, marker: marker.map_err(|e| ScenarioError::parameter("", e))? })
}

pub(super) fn link(link: &scenario::LinkSpec) -> Result<LinkConfig, ScenarioError> {
    Ok(LinkConfig {
        rate: link.rate,
        queue: queue(&link.queue, router(&link.price, &link.feedback), constant(link.rate))?,
        loss: loss(link.loss.as_ref(), &link.name),
    })
}

/// A station's queue: its own, or what the access point or WLAN has for all; it is in the table `place`, and in front of
/// `line`.
fn station_queue(
    own: Option<&StationQueue>,
    place: &str,
    (shared, shared_router): (&Buffer, MarkerParams),
    line: Site,
) -> Result<QueueConfig, ScenarioError> {
    let Some(own) = own else { return queue(shared, shared_router, line) };
    let buffer = own.queue.as_ref().unwrap_or(shared);
    match router(&own.price, &own.feedback) {
        MarkerParams::None => queue(buffer, shared_router, line),
        own => queue(buffer, own, line).map_err(|e| e.within(place)),
    }
}

/// The error model of the element `name`, whose directions share their handoffs.
pub(super) fn loss(model: Option<&LossParams>, name: &str) -> LossConfig {
    LossConfig { model: model.cloned(), chain: name.to_owned() }
}

/// The part of an error model that acknowledgements meet where they cross no link of their own: handoffs alone.
pub(super) fn loss_of_acks(model: Option<&LossParams>, name: &str) -> LossConfig {
    loss(model.filter(|model| matches!(model, LossParams::Handoff(_))), name)
}

/// An access point with a queue for each of `stations`; traces are looked for in `directory`.
pub(super) fn access_point(
    ap: &scenario::AccessPointSpec,
    stations: &[String],
    directory: &Path,
) -> Result<ApConfig, ScenarioError> {
    let shared = radio(&ap.radio, directory).map_err(|e| e.within("radio"))?;
    let shared_router = router(&ap.price, &ap.feedback);
    let station = |(i, name): (usize, &String)| {
        let (place, own) = table_of(&ap.station, i);
        let radio = match own.and_then(|station| station.own.radio.as_ref()) {
            Some(own) => radio(own, directory).map_err(|e| e.within("radio").within(&place))?,
            None => shared.clone(),
        };
        let common = own.map(|station| &station.common);
        Ok(ApStationConfig {
            name: name.clone(),
            queue: station_queue(common, &place, (&ap.queue, shared_router), line_of(&radio, stations.len()))?,
            radio,
            loss: loss(ap.loss.as_ref(), &station_name(&ap.name, name)),
        })
    };
    Ok(ApConfig {
        scheduler: ap.scheduler,
        stations: stations.iter().enumerate().map(station).collect::<Result<_, _>>()?,
    })
}

/// The way from an access point's `stations` to it.
pub(super) fn uplink(
    ap: &scenario::AccessPointSpec,
    uplink: &scenario::Uplink,
    stations: &[String],
    directory: &Path,
) -> Result<ApConfig, ScenarioError> {
    let radio = radio(&uplink.radio, directory).map_err(|e| e.within("uplink.radio"))?;
    let station = |name: &String| {
        Ok(ApStationConfig {
            name: name.clone(),
            queue: queue(&uplink.queue, MarkerParams::None, line_of(&radio, stations.len()))?,
            radio: radio.clone(),
            loss: loss_of_acks(ap.loss.as_ref(), &station_name(&ap.name, name)),
        })
    };
    Ok(ApConfig { scheduler: uplink.scheduler, stations: stations.iter().map(station).collect::<Result<_, _>>()? })
}

/// The table of its own that station `i` has, if any, and where that stands: those with tables come first.
fn table_of<T>(tables: &[With<T, StationQueue>], i: usize) -> (String, Option<&With<T, StationQueue>>) {
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
    With { own: wlan, common: mac }: &With<scenario::WlanSpec, MacConfig>,
    stations: &[String],
) -> Result<WlanConfig, ScenarioError> {
    let parameter = |e| ScenarioError::parameter("", e);
    let shared_rate = wlan.rates().map_err(parameter)?;
    let shared_router = router(&wlan.price, &wlan.feedback);
    let station = |(i, name): (usize, &String)| {
        let (place, table) = table_of(&wlan.station, i);
        let (own, common) = (table.map(|table| &table.own), table.map(|table| &table.common));
        let own_rate = own.map_or(Ok(None), scenario::WlanStationSpec::rates).map_err(parameter)?;
        let rate = own_rate.unwrap_or_else(|| shared_rate.clone());
        let model = |own: Option<&LossParams>, shared: &Option<LossParams>| {
            loss(own.or(shared.as_ref()), &station_name(&wlan.name, name))
        };
        Ok(wlan::WlanStationConfig {
            name: name.clone(),
            queue: station_queue(common, &place, (&wlan.queue, shared_router), constant(rate.highest()))?,
            rate,
            loss: model(own.and_then(|station| station.loss.as_ref()), &wlan.loss),
            frame_errors: model(own.and_then(|station| station.frame_errors.as_ref()), &wlan.frame_errors),
        })
    };
    let stations: Vec<_> = stations.iter().enumerate().map(station).collect::<Result<_, _>>()?;
    let fastest = stations.iter().map(|station| station.rate.highest()).max().unwrap_or_default();
    Ok(WlanConfig { mac: *mac, queue: queue(&wlan.queue, shared_router, constant(fastest))?, stations })
}

fn radio(radio: &scenario::Radio, directory: &Path) -> Result<RadioConfig, ScenarioError> {
    Ok(match radio {
        scenario::Radio::Jakes(fading) => RadioConfig::Fading(*fading),
        scenario::Radio::Constant(constant) => RadioConfig::Constant(*constant),
        scenario::Radio::Trace(trace) => {
            let path = directory.join(&trace.file);
            let unreadable = |what: String| ScenarioError::at("file", format!("{}: {what}", path.display()));
            RadioConfig::Trace(Arc::new(read_trace(&path).map_err(unreadable)?))
        }
    })
}

/// An error of one of several `stations`, by its name, with the key that the scenario has for it: those that it does not list
/// have the keys of all.
pub(super) fn of_station(mut error: ParameterError, stations: &[String], listed: &[&str]) -> ParameterError {
    if let Some((name, rest)) = error.key.split_once('.')
        && stations.iter().any(|station| station == name)
    {
        error.key = match listed.iter().position(|station| *station == name) {
            Some(i) => format!("station[{i}].{rest}"),
            None => rest.to_owned(),
        };
    }
    error
}
