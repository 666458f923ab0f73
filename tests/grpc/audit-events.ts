// Helpers for the tests of the audit trail: reading events, and making changes that cause them.
import { eventually } from '../support/systems/process.js';
import type { System } from '../support/systems/system.js';
import { grpcurlCall } from '../support/clients/grpcurl.js';

/** An event as the operator's command prints it. */
export interface Event {
  actor: string;
  actor_user_id: string | null;
  address: string | null;
  caller: string;
  account_id: string | null;
  action: string;
  target_id: string;
  detail: { reason?: string };
}

/** Returns the events that the operator's command lists, newest first. */
export async function events(system: System, ...filter: string[]): Promise<Event[]> {
  const printed = (await system.cli('audit', 'list', ...filter, '--all', '--json')).trim();
  return printed === '' ? [] : printed.split('\n').map((line) => JSON.parse(line) as Event);
}

/** Waits until an account has this many events. */
export const eventsOf = (system: System, accountId: string, count: number): Promise<Event[]> =>
  eventually(async () => {
    const found = await events(system, '--account', accountId);
    return found.length >= count ? found : undefined;
  });

/** Creates an account with grpcurl and returns its id. */
export const createAccount = async (system: System): Promise<string> =>
  (await grpcurlCall<{ account: { id: string } }>(system, 'tollgate.auth.v1.AuthService/CreateAccount', { name: 'Acme' })).account.id;

/** Returns the request of a cash deposit. */
export const deposit = (accountId: string, reason: string) => ({
  idempotency_key: reason,
  account_id: accountId,
  amount_nano_usd: '5000000000',
  source: 'DEPOSIT_SOURCE_CASH',
  reason,
});
