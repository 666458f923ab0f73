// The plain data of alerts.
import type { AlertChannel, AlertDeliveryState } from '#proto/ledger/v1/alerts.js';

/** Holds an account's alert as it is stored. */
export interface AlertRecord {
  readonly accountId: string;
  readonly enabled: boolean;
  readonly thresholdNanoUsd: bigint;
  readonly emails: readonly string[];
  /** Empty for none. */
  readonly webhookUrl: string;
  readonly sealedSecret: string | undefined;
  readonly fired: boolean;
  readonly firedAtMs: number;
  /** Incremented with every change. */
  readonly version: number;
  readonly updatedAtMs: number;
}

/** Holds one message to one destination. */
export interface Delivery {
  readonly id: string;
  readonly accountId: string;
  readonly eventId: string;
  readonly isTest: boolean;
  readonly channel: AlertChannel;
  readonly destination: string;
  readonly state: AlertDeliveryState;
  readonly attempts: number;
  readonly outcome: string;
  readonly thresholdNanoUsd: bigint;
  readonly settledNanoUsd: bigint;
  readonly availableNanoUsd: bigint;
  readonly createdAtMs: number;
  /** When it is attempted next; for a finished message, when it finished. */
  readonly dueAtMs: number;
}

/** Holds what an account has: settled is credited less spent, available is settled less what calls hold. */
export interface Money {
  readonly settledNanoUsd: bigint;
  readonly availableNanoUsd: bigint;
}

/** Maximum number of mail addresses per alert. */
export const emailsMax = 10;

/** Maximum number of messages per account within an hour: the user who sets the addresses is not the one who reads the mail. */
export const messagesPerHourMax = 60;
export const hourMs = 3_600_000;

/** Days for which finished messages are kept. */
export const keptDays = 90;
