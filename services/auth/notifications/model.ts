// The plain data of notifications.
import type { NewNotification, NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';

/** What is delivered: a mail's texts, or a webhook's secret. */
export type Content = NonNullable<NewNotification['content']>;

/** Holds a notification as it is stored. */
export interface StoredNotification {
  readonly id: string;
  /** Undefined for mails about a user, which no account lists. */
  readonly accountId: string | undefined;
  /** What must exist for the notification to be sent, such as "invitation inv_…"; empty: nothing. */
  readonly dependsOn: string;
  readonly channel: NotificationChannel;
  readonly destination: string;
  readonly eventJson: string;
  readonly state: NotificationState;
  readonly attempts: number;
  readonly attemptsMax: number;
  readonly outcome: string;
  /** Undefined once it is completed. */
  readonly sealedContent: string | undefined;
  /** When it is attempted next; for a completed notification, when it was completed. */
  readonly dueAtMs: number;
}

/** Holds a notification to deliver. */
export interface OutgoingNotification extends Pick<
  StoredNotification,
  'id' | 'accountId' | 'dependsOn' | 'destination' | 'eventJson' | 'attemptsMax'
> {
  readonly content: Content;
  /** Why it is not delivered; it is stored as failed. */
  readonly refusal?: string;
}

/** Holds the outcome of an attempt: final, or with another attempt to follow. */
export type Outcome = Pick<StoredNotification, 'state' | 'outcome' | 'dueAtMs'>;

/** Maximum number of attempts per notification. */
export const attemptsMax = 6;

/** Days for which completed notifications are kept, so that a repeat is recognised. */
export const keptDays = 90;
