// The plain data of alerts. Pure.
import { hourMs } from '#kit/clock.js';
import type { MailLanguage } from '#rules/mail-language.js';

/** Holds an account's alert as it is stored. */
export interface AlertRecord {
  readonly accountId: string;
  readonly enabled: boolean;
  readonly thresholdNanoUsd: bigint;
  readonly emails: readonly string[];
  readonly language: MailLanguage;
  readonly fired: boolean;
  readonly firedAtMs: number;
  /** When the hour in which mails are counted began, and how many mails it has had. */
  readonly hourBeganMs: number;
  readonly hourMessages: number;
  /** Incremented with every change. */
  readonly version: number;
  readonly updatedAtMs: number;
}

/** The money of an account: settled is credited less spent, available is settled less the amount that calls hold. */
export interface Money {
  readonly settledNanoUsd: bigint;
  readonly availableNanoUsd: bigint;
}

/** Maximum number of mail addresses per alert. */
export const emailsMax = 10;

/** Maximum number of mails per account within an hour: the user who sets the addresses may not be the one who reads the mail. */
export const messagesPerHourMax = 60;

/** Returns the counts of an alert after this many more messages; undefined if there is no room for them within the hour. */
export function countMessages(
  alert: AlertRecord,
  messages: number,
  nowMs: number,
): Pick<AlertRecord, 'hourBeganMs' | 'hourMessages'> | undefined {
  // An hour that began later than now was counted while the clock was ahead.
  const isOver = Math.abs(nowMs - alert.hourBeganMs) > hourMs;
  const hourMessages = messages + (isOver ? 0 : alert.hourMessages);
  return hourMessages > messagesPerHourMax ? undefined : { hourBeganMs: isOver ? nowMs : alert.hourBeganMs, hourMessages };
}
