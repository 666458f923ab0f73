// The texts of alerts, for programs and for users. Pure.
import { formatUsd } from '#rules/money.js';
import { webhookBody } from '#rules/webhook-events.js';
import { rearmAtNanoUsd } from './hysteresis.js';
import type { Money } from './model.js';

/** A low balance, or a test of its alert. */
export interface AlertEvent extends Money {
  readonly id: string;
  readonly accountId: string;
  readonly isTest: boolean;
  readonly thresholdNanoUsd: bigint;
  readonly atMs: number;
}

/** Returns the event as JSON. */
export function eventJson({ id, accountId, isTest, thresholdNanoUsd, settledNanoUsd, availableNanoUsd, atMs }: AlertEvent): string {
  const data = {
    threshold_usd: formatUsd(thresholdNanoUsd),
    settled_usd: formatUsd(settledNanoUsd),
    available_usd: formatUsd(availableNanoUsd),
  };
  return webhookBody({ id, type: 'balance.low', accountId, atMs, data }, isTest);
}

/** Returns the subject and text of a mail. Without a public address there is no link, only directions to the page. */
export function mailText(event: AlertEvent, publicUrl: string | undefined): { subject: string; text: string } {
  const { id, isTest, accountId, thresholdNanoUsd, settledNanoUsd, availableNanoUsd, atMs } = event;
  const heldNanoUsd = settledNanoUsd - availableNanoUsd;
  const held = heldNanoUsd === 0n ? '' : ` (of which calls in flight hold $${formatUsd(heldNanoUsd)})`;
  const place = publicUrl === undefined ? 'the console, under Billing' : `${publicUrl}/console/accounts/${accountId}/billing`;
  const lines = isTest
    ? [
        `This is a test of the low-balance alert of account ${accountId}. Nothing is wrong.`,
        `Left now: $${formatUsd(settledNanoUsd)}${held}. The alert fires below $${formatUsd(thresholdNanoUsd)}.`,
      ]
    : [
        `Account ${accountId} has $${formatUsd(settledNanoUsd)} left${held}, which is below your threshold of $${formatUsd(thresholdNanoUsd)}.`,
        'Calls are refused once the balance does not cover them.',
        '',
        `Add money: ${place}`,
        '',
        `You are notified once, and again only after the balance has risen to $${formatUsd(rearmAtNanoUsd(thresholdNanoUsd))}.`,
      ];
  return {
    subject: `${isTest ? 'Test: low' : 'Low'} balance: $${formatUsd(settledNanoUsd)} left`,
    text: [...lines, '', `To change this alert or switch it off: ${place}`, `${id}, ${new Date(atMs).toISOString()}`, ''].join('\n'),
  };
}
