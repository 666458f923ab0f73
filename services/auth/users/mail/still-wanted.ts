// Whether the link in a mail still works, before each attempt to send it.
import { idToBytes } from '#kit/id.js';
import type { UserDeps } from '../deps.js';
import type { UserMail } from './user-mails.js';

/** Returns the check for what a mail depends on: its kind and its subject. */
export function stillWanted({ members, sessions, resets, clock }: Pick<UserDeps, 'members' | 'sessions' | 'resets' | 'clock'>) {
  const isInFuture = async (atMs: string): Promise<boolean> => Number(atMs) > clock.nowMs();
  const always = async (): Promise<boolean> => true;
  const checks: Readonly<Record<UserMail['kind'], (subject: string) => Promise<boolean>>> = {
    invitation: (id) => members.isOpen(idToBytes('inv', id)!, clock.nowMs()),
    link: (hash) => sessions.hasLink(Buffer.from(hash, 'hex'), clock.nowMs()),
    reset: async (hash) => (await resets.find(Buffer.from(hash, 'hex'), clock.nowMs())) !== undefined,
    // The subject is when the link expires.
    'sign-up': isInFuture,
    email: isInFuture,
    // Reports of changes.
    factor: always,
    password: always,
    address: always,
    identity: always,
  };
  return (dependsOn: string): Promise<boolean> => {
    const [kind, subject] = dependsOn.split(' ') as [string, string];
    // Another process may run a newer version, which has other kinds of mails.
    const check = (checks as Readonly<Record<string, (typeof checks)[UserMail['kind']] | undefined>>)[kind] ?? always;
    return check(subject);
  };
}
