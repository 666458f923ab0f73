// Makes calls as a client, and reads what is recorded about them.
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../systems/process.js';
import type { System } from '../systems/system.js';

/** A usage record as `tollgate usage list --json` shows it. */
export interface UsageRow {
  id: string;
  key_id: string;
  model_id: string;
  format: string;
  outcome: string;
  outcome_detail: string;
  token_source: string;
  quarantined: boolean;
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_5m_tokens: number;
  cache_write_1h_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  charge_nano_usd: string;
  price_id: string;
  settled_at: string | null;
  captured_nano_usd: string | null;
  shortfall_nano_usd: string | null;
  trace_id: string | null;
}

/** A balance as `tollgate balance show --json` shows it. */
export interface BalanceRow {
  available_nano_usd: string;
  held_nano_usd: string;
  spent_nano_usd: string;
  credited_nano_usd: string;
}

/** Creates a key with the operator's command; returns its secret and id. */
export async function createKey(system: Pick<System, 'json'>, name: string, ...options: string[]): Promise<{ id: string; secret: string }> {
  const key = await system.json<{ id: string; secret: string }>('key', 'create', '--name', name, ...options);
  return { id: key.id, secret: key.secret };
}

/** Sends a POST with a JSON body and a bearer key. */
export function post(system: System, path: string, secret: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  return fetch(`${system.baseUrl}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}`, ...init.headers },
  });
}

/** Makes a chat-completions call. */
export function chat(system: System, secret: string, fields: Record<string, unknown> = {}, init: RequestInit = {}): Promise<Response> {
  return post(
    system,
    '/v1/chat/completions',
    secret,
    { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello there' }], ...fields },
    init,
  );
}

/** Sends a GET with a bearer key. */
export function get(system: System, path: string, secret: string): Promise<Response> {
  return fetch(`${system.baseUrl}${path}`, { headers: { authorization: `Bearer ${secret}` } });
}

/** Returns all usage records, optionally of one account. */
export async function usageRows(system: Pick<System, 'cli'>, ...filter: string[]): Promise<UsageRow[]> {
  const lines = (await system.cli('usage', 'list', '--all', '--json', ...filter)).trim();
  return lines === '' ? [] : lines.split('\n').map((line) => JSON.parse(line) as UsageRow);
}

/** Waits until at least `calls` calls are recorded and settled and nothing is held. Returns the rows and the balance. */
export async function settled(
  system: Pick<System, 'cli' | 'json'>,
  accountId: string,
  calls = 0,
  timeoutMs = 20_000,
): Promise<{ rows: UsageRow[]; balance: BalanceRow }> {
  const balanceNow = (): Promise<BalanceRow> => system.json<BalanceRow>('balance', 'show', '--account', accountId);
  return eventually(async () => {
    const notYet = async (what: string): Promise<never> => {
      await sleep(100);
      throw new Error(`Not settled: ${what}.`);
    };
    // What is held before the rows are read may be missing in them, and what is settled after the balance is read is missing in it.
    const before = await balanceNow();
    if (before.held_nano_usd !== '0') return notYet(`held ${before.held_nano_usd}`);
    const rows = await usageRows(system, '--account', accountId);
    const unsettled = rows.filter((row) => row.settled_at === null).length;
    if (rows.length < calls || unsettled > 0) return notYet(`${rows.length} of ${calls} records, ${unsettled} unsettled`);
    const balance = await balanceNow();
    if (balance.held_nano_usd !== '0') return notYet(`held ${balance.held_nano_usd} again`);
    return { rows, balance };
  }, timeoutMs);
}

/** Returns the sum of the charges. */
export function sumOfCharges(rows: readonly UsageRow[]): bigint {
  return rows.reduce((sum, row) => sum + BigInt(row.charge_nano_usd), 0n);
}

/** Returns an amount in decimal USD as nano-USD. */
export function nanoUsd(usd: string): bigint {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(usd)!;
  const amount = BigInt(whole! + fraction.padEnd(9, '0'));
  return sign === '-' ? -amount : amount;
}

/** Returns an amount in nano-USD as decimal USD. */
export const usdOf = (amount: bigint): string => `${amount / 1_000_000_000n}.${String(amount % 1_000_000_000n).padStart(9, '0')}`;

/** Returns the events of an SSE response with their names and parsed data ("[DONE]" unparsed). */
export async function readSse(response: Response): Promise<{ event: string; data: unknown }[]> {
  const text = await response.text();
  return text
    .split('\n\n')
    .filter((frame) => frame.includes('data:'))
    .map((frame) => {
      const event = /^event: (.*)$/m.exec(frame)?.[1] ?? '';
      const data = frame
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => line.slice(6))
        .join('\n');
      return { event, data: data === '[DONE]' ? data : JSON.parse(data) };
    });
}
