// The states of a mail to a user. Pure.
import { NotificationState } from '#proto/auth/v1/notifications.js';
import { MailState } from '#proto/auth/v1/users.js';

/** The state of a mail. */
export interface MailStanding {
  readonly state: MailState;
  /** Why it failed, for users; empty otherwise. */
  readonly words: string;
}

/** No mail was sent. */
export const off: MailStanding = { state: MailState.MAIL_STATE_UNSPECIFIED, words: '' };

/** Returns the state of a mail by the state of its notification. */
export function standingOf(state: NotificationState, outcome: string): MailStanding {
  if (state === NotificationState.NOTIFICATION_STATE_PENDING) return { state: MailState.MAIL_STATE_PENDING, words: '' };
  if (state === NotificationState.NOTIFICATION_STATE_DELIVERED) return { state: MailState.MAIL_STATE_SENT, words: '' };
  return { state: MailState.MAIL_STATE_FAILED, words: outcome };
}
