// Mails to users: composed here, within their limits, and delivered by the notifier. Their links hold secrets of which only hashes are kept
// elsewhere, so the notifier encrypts them, and deletes them once the mail is delivered or given up.
import { setTimeout as pause } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { NotificationState } from '#proto/auth/v1/notifications.js';
import type { Invitation } from '#proto/auth/v1/users.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { attemptsMax, noEvent, type OutgoingNotification, type StoredNotification } from '../../notifications/model.js';
import type { Notifier } from '../../notifications/notifier.js';
import type { MailBudget } from '../store/mail-budget.js';
import type { MailText } from './mail-templates.js';

/** Holds a mail to be sent. */
export interface UserMail {
  /** "ntf_…". */
  readonly id: string;
  readonly to: string;
  readonly content: MailText;
  /** Limits are counted per kind, so that mails of one kind do not use up the room of another. */
  readonly kind: 'invitation' | 'link' | 'reset' | 'sign-up' | 'email' | 'factor' | 'password' | 'address' | 'identity';
  /** What must still exist when the mail is sent, by kind: the invitation's id, or the hash of the link's token. For a report of a change it is only a name. */
  readonly subject: string;
  /** The maximum numbers of mails of this kind within an hour; each named as "account acct_…". */
  readonly budgets: ReadonlyMap<string, number>;
}

/** Maximum numbers of mails of one kind within an hour: in total, and to one address. */
export const mailsPerHourMax = { all: 1000, address: 5 } as const;
/** How long the caller waits for the result of the first attempt. */
const firstAttemptWaitMs = 3000;
const inBackgroundMax = 50;
const stopWaitMs = 5000;

/** Holds the dependencies of `UserMails`. */
export interface UserMailsDeps {
  readonly hasMailServer: boolean;
  /** The public address at which users open the console; without it nothing is sent, since addresses in requests are not trusted. */
  readonly publicUrl: string | undefined;
  readonly budget: MailBudget;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The fields of a response that describe a mail. */
export type MailState = Pick<Invitation, 'mailState' | 'mailError'>;

/** Returns the state of a mail by that of its notification, with the result of a failed attempt; unspecified if there is none. */
export function mailStateOf(notification: Pick<StoredNotification, 'state' | 'outcome'> | undefined): MailState {
  const { state: mailState, outcome } = notification ?? { state: NotificationState.NOTIFICATION_STATE_UNSPECIFIED, outcome: '' };
  return { mailState, mailError: mailState === NotificationState.NOTIFICATION_STATE_DELIVERED ? '' : outcome };
}

/** Composes mails to users. */
export class UserMails {
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly deps: UserMailsDeps) {}

  /** Returns the address of a page of the console, for example `/invitation`; undefined if no mail can be sent. */
  address(page: string): string | undefined {
    const { hasMailServer, publicUrl } = this.deps;
    return hasMailServer && publicUrl !== undefined ? `${publicUrl}/console${page}` : undefined;
  }

  /**
   * Returns the notification of a mail, to be added to the notifier in this transaction; one with a refusal if too many mails were sent. A mail whose
   * transaction fails does not count.
   */
  async compose(tx: Knex.Transaction, { id, to, content, kind, subject, budgets }: UserMail): Promise<OutgoingNotification> {
    const { budget, clock, log } = this.deps;
    const mail: OutgoingNotification = {
      id,
      accountId: undefined,
      dependsOn: `${kind} ${subject}`,
      destination: to,
      eventJson: noEvent,
      attemptsMax,
      content,
    };
    const taken: string[] = [];
    for (const [scope, max] of [...budgets, [`to ${to}`, mailsPerHourMax.address], ['all', mailsPerHourMax.all]] as const) {
      if (await budget.take(`${kind} ${scope}`, max, clock.nowMs(), tx)) {
        taken.push(`${kind} ${scope}`);
        continue;
      }
      for (const each of taken) await budget.giveBack(tx, each);
      log.warn({ kind, scope: scope.split(' ')[0], max }, 'an email was not sent: too many were sent within an hour');
      return { ...mail, refusal: finding('too_many_emails', {}) };
    }
    return mail;
  }

  /** Returns the state of a mail that was added: after the first attempt, or while that takes longer. */
  async stateOf(mail: OutgoingNotification | undefined): Promise<MailState> {
    const [notification] = mail === undefined ? [] : await this.deps.notifier.after([mail.id], firstAttemptWaitMs);
    return mailStateOf(notification);
  }

  /** Runs work in the background; `stop` waits for it. */
  inBackground(work: () => Promise<void>): void {
    if (this.underWay.size >= inBackgroundMax) {
      this.deps.log.warn({ underWay: this.underWay.size }, 'an email was not composed: too many are in progress');
      return;
    }
    const done = work()
      .catch((error: unknown) => this.deps.log.error({ err: error }, 'an email could not be composed'))
      .finally(() => this.underWay.delete(done));
    this.underWay.add(done);
  }

  /** Waits briefly for work in the background. */
  async stop(): Promise<void> {
    await Promise.race([Promise.all(this.underWay), pause(stopWaitMs, undefined, { ref: false })]);
  }
}
