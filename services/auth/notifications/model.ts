// The plain data of notifications.
import type { MailContent, NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';

/** Holds a notification as it is stored. */
export interface StoredNotification {
  readonly id: string;
  /** Undefined for mails about a user, which no account lists. */
  readonly accountId: string | undefined;
  /** What must exist for the notification to be sent, such as "invitation inv_…"; empty: nothing. */
  readonly dependsOn: string;
  readonly channel: NotificationChannel;
  /** Undefined for a mail, and for an event for every account, whose delivery creates one notification per endpoint. */
  readonly endpointId: string | undefined;
  readonly destination: string;
  readonly eventJson: string;
  readonly state: NotificationState;
  readonly attempts: number;
  readonly attemptsMax: number;
  readonly outcome: string;
  /** Undefined for a webhook, and once it is completed. */
  readonly sealedContent: string | undefined;
  /** When it is attempted next; for a completed notification, when it was completed. */
  readonly dueAtMs: number;
}

/** Holds a notification to deliver. */
export interface OutgoingNotification extends Pick<
  StoredNotification,
  'id' | 'accountId' | 'dependsOn' | 'destination' | 'eventJson' | 'attemptsMax'
> {
  /** The texts of a mail; undefined for a webhook. */
  readonly content: MailContent | undefined;
  readonly endpointId?: string;
  /** Why it is not delivered; it is stored as failed. */
  readonly refusal?: string;
}

/** What is not attempted for now. */
export interface Busy {
  /** Whether no further mail is sent. */
  readonly mails: boolean;
  /** The webhook endpoints that get no further requests: these, and those of these accounts; or all. */
  readonly endpoints: { readonly ids: readonly string[]; readonly accountIds: readonly string[] } | 'all';
}

/** Holds the outcome of an attempt: final, or with another attempt to follow. */
export type Outcome = Pick<StoredNotification, 'state' | 'outcome' | 'dueAtMs'>;

/** The `eventJson` of a mail that reports no event. */
export const noEvent = '{}';

/** Maximum number of attempts per mail: within an hour, by default. */
export const attemptsMax = 6;

/** Maximum number of attempts per webhook request: within 27 hours, by default. */
export const webhookAttemptsMax = 9;

/** Days for which completed notifications are kept, so that a repeat is recognised. */
export const keptDays = 90;
