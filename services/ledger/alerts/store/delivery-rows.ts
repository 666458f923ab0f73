// Conversion between rows of messages and plain data.
import type { Engine } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain-transaction.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { accountColumns, bytesOf } from '../../store/rows.js';
import type { Delivery } from '../model.js';

export const deliveryColumns = [
  'account_id',
  'id',
  'event_id',
  'is_test',
  'channel',
  'destination',
  'state',
  'attempts',
  'outcome',
  'threshold_nano_usd',
  'settled_nano_usd',
  'available_nano_usd',
  'created_at_ms',
  'due_at_ms',
] as const;

export function deliveryRow(delivery: Delivery, engine: Engine): Row {
  return {
    ...accountColumns(delivery.accountId, engine),
    id: bytesOf('adl', delivery.id),
    event_id: bytesOf('evt', delivery.eventId),
    is_test: delivery.isTest ? 1 : 0,
    channel: delivery.channel,
    destination: delivery.destination,
    state: delivery.state,
    attempts: delivery.attempts,
    outcome: delivery.outcome,
    threshold_nano_usd: delivery.thresholdNanoUsd,
    settled_nano_usd: delivery.settledNanoUsd,
    available_nano_usd: delivery.availableNanoUsd,
    created_at_ms: delivery.createdAtMs,
    due_at_ms: delivery.dueAtMs,
  };
}

export function toDelivery(row: Row): Delivery {
  return {
    id: idFromBytes('adl', asBytes(row['id'])),
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    eventId: idFromBytes('evt', asBytes(row['event_id'])),
    isTest: asNumber(row['is_test']) === 1,
    channel: asNumber(row['channel']),
    destination: asText(row['destination']),
    state: asNumber(row['state']),
    attempts: asNumber(row['attempts']),
    outcome: asText(row['outcome']),
    thresholdNanoUsd: asBigInt(row['threshold_nano_usd']),
    settledNanoUsd: asBigInt(row['settled_nano_usd']),
    availableNanoUsd: asBigInt(row['available_nano_usd']),
    createdAtMs: asNumber(row['created_at_ms']),
    dueAtMs: asNumber(row['due_at_ms']),
  };
}
