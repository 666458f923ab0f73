// Sends mails to users from the process that received the request, which alone knows the link in them: at rest there is only its hash. A mail that
// the server does not accept is retried for some minutes; if the process ends meanwhile, the mail is not sent and is reported as failed.
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { MailFailure, type Mailer, mailTimeoutMs } from '#kit/mail/mailer.js';
import type { MailBudget } from '../store/mail-budget.js';
import type { Letter } from './mail-templates.js';
import { abandoned, failed, type MailStanding, off, pending, sent } from './mail-state.js';

/** Holds a mail to be sent. */
export interface OutgoingMail {
  /** Names the mail: its Message-ID. */
  readonly id: string;
  readonly to: string;
  readonly letter: Letter;
  /** What it is, so that mails of one kind do not use up the room of another. */
  readonly kind: 'invitation' | 'link' | 'reset';
  /** Whose mails of this kind are counted, and how many of them go out within an hour; each named as "account acct_…". */
  readonly budgets: ReadonlyMap<string, number>;
  /** Done once, before the first try, when it is known that there is room for the mail. */
  prepare?(): Promise<void>;
  /** Returns false once the mail is obsolete. */
  isWanted(): Promise<boolean>;
  /** Called with each change of the mail's state. */
  note?(standing: MailStanding): Promise<void>;
}

/** Mails of one kind within an hour: of everybody together, and to one address. */
export const mailsPerHourMax = { all: 1000, address: 5 } as const;
/** Mails that this process sends at the same time. */
const atATimeMax = 50;
/** How long the caller waits for the result of the first attempt. */
const askedWaitMs = 3000;
const stopWaitMs = 5000;
/** How long to wait before each further attempt, as multiples of the setting. */
const waits = [1, 6, 30] as const;

/** Holds the dependencies of the mail sender. */
export interface MailSenderDeps {
  /** Undefined: no mail is sent. */
  readonly mailer: Mailer | undefined;
  /** The public address at which users open the console; without it nothing is sent, since addresses in requests are not trusted. */
  readonly publicUrl: string | undefined;
  readonly budget: MailBudget;
  readonly retryMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Holds the result of an attempt. */
interface Tried extends MailStanding {
  readonly mayTryAgain?: boolean;
}

/** Sends mails. */
export class MailSender {
  private readonly underWay = new Set<Promise<void>>();
  private readonly stopping = new AbortController();

  constructor(private readonly deps: MailSenderDeps) {}

  /** Returns the address of a page of the console, for example `/invitation`; undefined if no mail can be sent. */
  address(page: string): string | undefined {
    const { mailer, publicUrl } = this.deps;
    return mailer === undefined || publicUrl === undefined ? undefined : `${publicUrl}/console${page}`;
  }

  /** For how long after it was asked for a mail can be under way, in milliseconds. */
  get patienceMs(): number {
    return (waits.length + 1) * mailTimeoutMs + waits.reduce((sum, wait) => sum + wait * this.deps.retryMs, 0) + 60_000;
  }

  /** Starts to send, and returns the state after the first attempt, or while that takes longer. */
  async send(mail: OutgoingMail): Promise<MailStanding> {
    const refusal = await this.refusal(mail);
    if (refusal !== undefined) {
      await mail.note?.(refusal);
      return refusal;
    }
    await mail.prepare?.();
    await mail.note?.(pending);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(pending), askedWaitMs);
      const work = this.deliver(mail, resolve)
        .catch((error: unknown) => this.deps.log.error({ err: error, mail_id: mail.id }, 'how a mail stands could not be noted'))
        .finally(() => {
          clearTimeout(timer);
          resolve(pending);
          this.underWay.delete(work);
        });
      this.underWay.add(work);
    });
  }

  /** Runs work in the background; `stop` waits for it. */
  inBackground(work: () => Promise<void>): void {
    if (this.underWay.size >= atATimeMax || this.stopping.signal.aborted) {
      this.deps.log.warn({ underWay: this.underWay.size }, 'a mail was not begun: too many are under way, or this process ends');
      return;
    }
    const done = work()
      .catch((error: unknown) => this.deps.log.error({ err: error }, 'a mail could not be begun'))
      .finally(() => this.underWay.delete(done));
    this.underWay.add(done);
  }

  /** Waits for work in progress. */
  async idle(): Promise<void> {
    await Promise.all(this.underWay);
  }

  /** Gives up mails that wait for another attempt, and waits briefly for attempts in progress. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.race([this.idle(), pause(stopWaitMs, undefined, { ref: false })]);
    this.deps.mailer?.close();
  }

  private async refusal({ kind, to, budgets }: OutgoingMail): Promise<MailStanding | undefined> {
    const { mailer, publicUrl, budget, clock, log } = this.deps;
    if (mailer === undefined || publicUrl === undefined) return off;
    if (this.stopping.signal.aborted) return abandoned;
    if (this.underWay.size >= atATimeMax) return failed('too many mails are being sent just now');
    for (const [scope, max] of [...budgets, [`to ${to}`, mailsPerHourMax.address], ['all', mailsPerHourMax.all]] as const) {
      if (await budget.take(`${kind} ${scope}`, max, clock.nowMs())) continue;
      log.warn({ kind, scope: scope.split(' ')[0], max }, 'a mail was not sent: there were too many within an hour');
      return failed('too many mails were sent within an hour');
    }
    return undefined;
  }

  private async deliver(mail: OutgoingMail, tell: (standing: MailStanding) => void): Promise<void> {
    for (const wait of [0, ...waits]) {
      if (wait > 0) {
        tell(pending);
        await pause(wait * this.deps.retryMs, undefined, { signal: this.stopping.signal, ref: false }).catch(() => undefined);
      }
      const outcome: Tried = this.stopping.signal.aborted ? abandoned : await this.attempt(mail);
      const isLast = wait === waits.at(-1);
      if (!outcome.mayTryAgain || isLast) {
        const { state, words } = outcome;
        await mail.note?.({ state, words });
        return tell({ state, words });
      }
    }
  }

  private async attempt({ id, to, letter, isWanted }: OutgoingMail): Promise<Tried> {
    const { mailer, log } = this.deps;
    try {
      if (!(await isWanted())) return failed('it was taken back');
      await mailer!.send({ to, ...letter, id });
      return sent;
    } catch (error) {
      const isMail = error instanceof MailFailure;
      // Where the mail server is, and what it said in full, is for the operator.
      log.warn({ err: isMail ? (error.cause ?? error) : error, mail_id: id }, 'a mail was not taken');
      return { ...failed(isMail ? error.message : 'it could not be sent'), mayTryAgain: !isMail || !error.isFinal };
    }
  }
}
