// The texts of alerts, for programs and for users. Pure.
import type { MailLanguage } from '#rules/mail-language.js';
import { formatUsd } from '#rules/money/money.js';
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
export function mailText(event: AlertEvent, publicUrl: string | undefined, language: MailLanguage): { subject: string; text: string } {
  const { id, isTest, accountId, thresholdNanoUsd, settledNanoUsd, availableNanoUsd, atMs } = event;
  const heldNanoUsd = settledNanoUsd - availableNanoUsd;
  const [left, held, threshold] = [settledNanoUsd, heldNanoUsd, thresholdNanoUsd].map((amount) => `$${formatUsd(amount)}`) as [
    string,
    string,
    string,
  ];
  const rearmAt = `$${formatUsd(rearmAtNanoUsd(thresholdNanoUsd))}`;
  const page = publicUrl === undefined ? undefined : `${publicUrl}/console/accounts/${accountId}/billing`;
  const end = `${id}, ${new Date(atMs).toISOString()}`;
  const letters = {
    en: () => {
      const ofWhichHeld = heldNanoUsd === 0n ? '' : ` (including ${held} held by calls in flight)`;
      const place = page ?? 'the console, under Balance and billing';
      const lines = isTest
        ? [
            `This is a test of the low-balance alert of account ${accountId}. No action is needed.`,
            `Current balance: ${left}${ofWhichHeld}. The alert is sent below ${threshold}.`,
          ]
        : [
            `Account ${accountId} has ${left} left${ofWhichHeld}, which is below your threshold of ${threshold}.`,
            'Calls that the balance does not cover are refused.',
            '',
            `Add funds: ${place}`,
            '',
            `You are notified once, and again only after the balance has risen to ${rearmAt}.`,
          ];
      return {
        subject: `${isTest ? 'Test: low' : 'Low'} balance: ${left} left`,
        text: [...lines, '', `To change this alert or turn it off: ${place}`, end, ''].join('\n'),
      };
    },
    'zh-CN': () => {
      const ofWhichHeld = heldNanoUsd === 0n ? '' : `（其中 ${held} 因进行中的调用而冻结）`;
      const place = page ?? '控制台的“余额与账单”页面';
      const lines = isTest
        ? [
            `这是账户 ${accountId} 余额不足提醒的测试，无需任何操作。`,
            `当前余额：${left}${ofWhichHeld}。余额低于 ${threshold} 时发送提醒。`,
          ]
        : [
            `账户 ${accountId} 的余额为 ${left}${ofWhichHeld}，低于您设置的阈值 ${threshold}。`,
            '余额不足以支付的调用会被拒绝。',
            '',
            `充值：${place}`,
            '',
            `此提醒只发送一次；余额回升到 ${rearmAt} 之后才会再次提醒。`,
          ];
      return {
        subject: `${isTest ? '测试：' : ''}余额不足：剩余 ${left}`,
        text: [...lines, '', `更改或关闭此提醒：${place}`, end, ''].join('\n'),
      };
    },
  };
  return letters[language]();
}
