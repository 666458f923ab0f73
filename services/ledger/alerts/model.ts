// Plain data of alerts.
import type { AlertChannel, AlertDeliveryState } from '#proto/ledger/v1/alerts.js';

/** An account's alert as it is stored. */
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
  /** Moves on with every change. */
  readonly version: number;
  readonly updatedAtMs: number;
}

/** One message to one destination. */
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
  /** When it is tried next; of one that has ended, its end. */
  readonly dueAtMs: number;
}

/** What an account has: settled is credited less spent, available is settled less what calls hold. */
export interface Money {
  readonly settledNanoUsd: bigint;
  readonly availableNanoUsd: bigint;
}

/** Most mail addresses of an alert. */
export const emailsMax = 10;

/** Most messages of one account within an hour: who sets the addresses is not who reads them. */
export const messagesPerHourMax = 60;
export const hourMs = 3_600_000;

/** Days for which ended messages are kept. */
export const keptDays = 90;
