import type { Mail, MailFailure, Mailer } from '#kit/mail/mailer.js';

/** A mail server that keeps what it accepts. */
export class TestMailer implements Mailer {
  mails: Mail[] = [];
  /** The failures that it returns next, instead of accepting a mail. */
  failures: (MailFailure | Promise<never>)[] = [];

  /** Delays the response to the content of each mail. */
  accept: () => Promise<void> = async () => {};

  async send(mail: Mail, onContent?: () => void): Promise<string> {
    const failure = this.failures.shift();
    if (failure !== undefined) throw await failure;
    this.mails.push(mail);
    onContent?.();
    await this.accept();
    return '250 taken';
  }
}
