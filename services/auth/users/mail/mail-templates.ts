// What is mailed to people, as plain text. Names in it were chosen by others, and are cut to what cannot mislead. Pure.
import { Role } from '#proto/auth/v1/users.js';

/** Subject and text of a mail. */
export interface Letter {
  readonly subject: string;
  readonly text: string;
}

const nameCharsMax = 60;

/**
 * A name as it may stand in a mail: one line without control and direction characters, short, and without what mail programs make links
 * of, so that nobody has a text of theirs sent to strangers as an invitation.
 */
export function plainName(name: string): string {
  const words = name
    .replace(/[\p{C}\p{Z}\s]+/gu, ' ')
    .replace(/[<>"/\\:@]+/g, ' ')
    .replace(/(?<=\S)[.。．｡](?=\S)/gu, '·');
  const short = [...words.replace(/ +/g, ' ').trim()].slice(0, nameCharsMax).join('').trim();
  return short === '' ? 'somebody' : short;
}

/** An invitation into an account. `byEmail` is shown only if it is verified as the inviter's. */
export function invitationLetter(about: {
  accountName: string;
  role: Role;
  byName: string;
  byEmail: string | undefined;
  link: string;
  expiresAtMs: number;
  /** Whether a user has the address, which only this mail says. */
  isKnown: boolean;
}): Letter {
  const account = plainName(about.accountName);
  const by = `${plainName(about.byName)}${about.byEmail === undefined ? '' : ` (${about.byEmail})`}`;
  return {
    subject: `You are invited to ${account}`,
    text: lines(
      `${by} invites you to the account "${account}" as ${Role[about.role].replace('ROLE_', '').toLowerCase()}.`,
      '',
      `Accept, until ${instant(about.expiresAtMs)}:`,
      about.link,
      '',
      about.isKnown
        ? 'You have a password here already: choose "I have a password here" on the page.'
        : 'You are new here: choose a name and a password on the page.',
      '',
      'The link works once. If you do not expect it, do nothing: nobody learns whether you read this, and the invitation ends by itself.',
    ),
  };
}

/** A link for somebody who has forgotten their password. */
export function resetLetter({ name, link, expiresAtMs }: { name: string; link: string; expiresAtMs: number }): Letter {
  return {
    subject: 'Set a new password',
    text: lines(
      `Hello ${plainName(name)},`,
      '',
      `somebody asked for a new password for this address. Set one, until ${instant(expiresAtMs)}:`,
      link,
      '',
      'The link works once, and signs you out everywhere else. If it was not you, do nothing: without the link nobody can change your password.',
    ),
  };
}

/** A link that finishes a sign-up. The name is not used: anyone may have written it. */
export function signUpLetter({ link, expiresAtMs }: { link: string; expiresAtMs: number }): Letter {
  return {
    subject: 'Finish your sign-up',
    text: lines(
      'This address was used to sign up. If that was you, finish it here:',
      link,
      '',
      `The link works until ${instant(expiresAtMs)}, once. If it was not you, do nothing: without the link, no account is created.`,
    ),
  };
}

/** Tells the user of an address that it was used to sign up again. */
export function knownAddressLetter({ signIn, forgot }: { signIn: string; forgot: string }): Letter {
  return {
    subject: 'You already have an account',
    text: lines(
      'This address was used to sign up, but you already have an account. Sign in here:',
      signIn,
      '',
      'If you have forgotten your password:',
      forgot,
      '',
      'If it was not you, do nothing: nothing was changed.',
    ),
  };
}

/** A link that the operator has made for somebody. */
export function signInLetter({ name, link, expiresAtMs }: { name: string; link: string; expiresAtMs: number }): Letter {
  return {
    subject: 'Your sign-in link',
    text: lines(
      `Hello ${plainName(name)},`,
      '',
      `the operator has made a link that signs you in, until ${instant(expiresAtMs)}:`,
      link,
      '',
      'The link works once. In the settings you can then set a password.',
    ),
  };
}

/** An instant of UTC to the minute. */
function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function lines(...texts: readonly string[]): string {
  return `${texts.join('\n')}\n`;
}
