// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of rate-based flows.

use lasthop_core::stats::Span;
use lasthop_core::tcp::ReceiverSwitches;
use lasthop_core::tfrc::{TfrcParams, TfrcReceiver, TfrcReceiverConfig, TfrcSender, TfrcSenderConfig};
use lasthop_core::units::{Bytes, Duration};

use super::connection::TwoEnds;
use crate::host;
use crate::scenario::{self, ScenarioError};

/// Both ends of flow `id`, with packets of `payload` bytes and their headers.
pub(super) fn ends(
    id: u32,
    &params: &TfrcParams,
    receiver: &scenario::ReceiverSpec,
    payload: Bytes,
    (span, sample): (Span, Duration),
) -> Result<TwoEnds, ScenarioError> {
    check_receiver(receiver)?;
    let sender = TfrcSenderConfig { payload: payload.get() as u32, params, ..TfrcSenderConfig::default() };
    let header_bytes = sender.header;
    let receiver = TfrcReceiverConfig {
        payload: sender.payload,
        params,
        sample_interval: Some(sample),
        ..TfrcReceiverConfig::default()
    };
    let refused = |e| ScenarioError::parameter("sender", e);
    Ok(TwoEnds {
        sender: host::SendingEnd::Tfrc(Box::new(TfrcSender::new(id, sender, span).map_err(refused)?)),
        receiver: host::ReceivingEnd::Tfrc(Box::new(TfrcReceiver::new(id, receiver, span).map_err(refused)?)),
        sender_kind: "tfrc",
        receiver_kind: "tfrc",
        header_bytes,
        sack: false,
        ahead: false,
    })
}

/// TFRC comes with a receiver of its own, which neither advertises a window nor acknowledges.
fn check_receiver(receiver: &scenario::ReceiverSpec) -> Result<(), ScenarioError> {
    let unfit = match receiver {
        scenario::ReceiverSpec::Plain(switches) if *switches == ReceiverSwitches::default() => return Ok(()),
        scenario::ReceiverSpec::Plain(_) => "a buffer, delayed ACKs or their size",
        scenario::ReceiverSpec::Linux(_) => "\"linux\"",
        scenario::ReceiverSpec::Clamp(_) => "\"clamp\"",
        scenario::ReceiverSpec::ClampKernel(_) => "\"clamp-kernel\"",
        scenario::ReceiverSpec::Share(_) => "\"share\"",
        scenario::ReceiverSpec::Station(_) => "\"station\"",
    };
    Err(ScenarioError::at("receiver", format!("{unfit}: wanted \"plain\" alone, as the sender \"tfrc\" has no window")))
}
