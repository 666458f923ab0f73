// How a mail can stand.
import { MailState } from '#proto/auth/v1/users.js';

/** How a mail stands. */
export interface MailStanding {
  readonly state: MailState;
  /** Why it failed, for people; empty otherwise. */
  readonly words: string;
}

/** No mail can be sent here. */
export const off: MailStanding = { state: MailState.MAIL_STATE_UNSPECIFIED, words: '' };
export const pending: MailStanding = { state: MailState.MAIL_STATE_PENDING, words: '' };
export const sent: MailStanding = { state: MailState.MAIL_STATE_SENT, words: '' };

/** A mail that was not sent, and why. */
export function failed(words: string): MailStanding {
  return { state: MailState.MAIL_STATE_FAILED, words };
}

/** What became of a mail that nobody sends any more, though it is noted as pending. */
export const abandoned = failed('the process that was sending it ended');
