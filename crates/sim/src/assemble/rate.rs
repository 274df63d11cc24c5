// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of rate-based flows.

use lasthop_core::stats::Span;
use lasthop_core::tfrc::{Discounting, Receiver, ReceiverConfig, Sender, SenderConfig};
use lasthop_core::units::{Bytes, Duration};

use super::connection::TwoEnds;
use crate::host;
use crate::scenario::{self, ScenarioError, Tfrc};

/// Both ends of flow `id`, with packets of `payload` bytes and their headers.
pub(super) fn ends(
    id: u32,
    options: &Tfrc,
    receiver: &scenario::Receiver,
    payload: Bytes,
    (span, sample): (Span, Duration),
) -> Result<TwoEnds, ScenarioError> {
    check_receiver(receiver)?;
    let sender = SenderConfig {
        payload: payload.get() as u32,
        rtt_memory: options.rtt_memory,
        rto_factor: options.rto_factor,
        initial_rate: options.initial_rate,
        damping: options.damping,
        burst: options.burst,
        max_backoff: options.max_backoff,
        ..SenderConfig::default()
    };
    let header_bytes = sender.header;
    let receiver = ReceiverConfig {
        payload: sender.payload,
        rto_factor: options.rto_factor,
        discounting: if options.discounting { Discounting::Floor(options.discount_floor) } else { Discounting::Off },
        sample_interval: Some(sample),
        ..ReceiverConfig::default()
    };
    let refused = |e| ScenarioError::parameter("sender", e);
    Ok(TwoEnds {
        sender: host::Sender::Tfrc(Box::new(Sender::new(id, sender, span).map_err(refused)?)),
        receiver: host::Receiver::Tfrc(Box::new(Receiver::new(id, receiver, span).map_err(refused)?)),
        sender_kind: "tfrc",
        receiver_kind: "tfrc",
        header_bytes,
        sack: false,
        ahead: false,
    })
}

/// TFRC comes with a receiver of its own, which neither advertises a window nor acknowledges.
fn check_receiver(receiver: &scenario::Receiver) -> Result<(), ScenarioError> {
    let unfit = match receiver {
        scenario::Receiver::Plain(plain) if plain.is_bare() => return Ok(()),
        scenario::Receiver::Plain(_) => "a buffer, delayed ACKs or their size",
        scenario::Receiver::Linux(_) => "\"linux\"",
        scenario::Receiver::Clamp(_) => "\"clamp\"",
        scenario::Receiver::Share(_) => "\"share\"",
    };
    Err(ScenarioError::at("receiver", format!("{unfit}: wanted \"plain\" alone, as the sender \"tfrc\" has no window")))
}
