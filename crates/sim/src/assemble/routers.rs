// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router of a queue: what it knows of its line and its buffer unless it is told.

use lasthop_core::law::{clamp, qfcp, xcp};
use lasthop_core::queue::{Buffer, QueueConfig};
use lasthop_core::role::MarkerParams;
use lasthop_core::units::Rate;

use crate::scenario::{Feedback, Price, ScenarioError, With};

/// What is asked of the router that a queue belongs to: a price or feedback.
#[derive(Clone, Copy)]
pub(super) enum Router<'s> {
    None,
    Price(&'s Price),
    Feedback(&'s Feedback),
}

impl<'s> Router<'s> {
    pub(super) fn of(price: &'s Option<Price>, feedback: &'s Option<Feedback>) -> Self {
        match (price, feedback) {
            (None, None) => Self::None,
            (Some(price), _) => Self::Price(price),
            (None, Some(feedback)) => Self::Feedback(feedback),
        }
    }
}

/// A queue in front of a line of `rate`, and of `top` at most.
pub(super) fn queue(buffer: &Buffer, router: Router, rate: Rate, top: Rate) -> Result<QueueConfig, ScenarioError> {
    let marker = match router {
        Router::None => MarkerParams::None,
        Router::Price(price) => priced(price),
        Router::Feedback(feedback) => told(feedback, buffer, (rate, top)).map_err(|e| e.within("feedback"))?,
    };
    Ok(QueueConfig { buffer: *buffer, marker })
}

fn priced(price: &Price) -> MarkerParams {
    match *price {
        Price::Linear(params) => MarkerParams::Clamp(clamp::PriceLaw::Linear(params)),
        Price::Mice(params) => MarkerParams::Clamp(clamp::PriceLaw::Mice(params)),
        Price::Smooth(params) => MarkerParams::Clamp(clamp::PriceLaw::Smooth(params)),
        Price::Share(params) => MarkerParams::Share(params),
    }
}

/// The router of a queue, in front of a line of `rate`, and of `top` at most.
fn told(feedback: &Feedback, queue: &Buffer, (rate, top): (Rate, Rate)) -> Result<MarkerParams, ScenarioError> {
    use xcp::Efficiency;
    let (efficiency, gains) = match feedback {
        Feedback::Qfcp(params) => return Ok(MarkerParams::Qfcp(qfcp_router(params, rate, top)?)),
        Feedback::Xcp(With { own, common }) => {
            (Efficiency::Told(xcp::Told { capacity: Some(own.capacity.unwrap_or(rate)) }), *common)
        }
        Feedback::XcpB(With { own, common }) => (Efficiency::Queue(behind(own, queue)?), *common),
    };
    Ok(MarkerParams::Xcp(xcp::RouterParams { efficiency, gains }))
}

/// XCP-b's buffer is the queue's, unless it is told another.
fn behind(blind: &xcp::Blind, queue: &Buffer) -> Result<xcp::Blind, ScenarioError> {
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
