// The central guarantee: the balance decreases by exactly the recorded charges, and no account spends more than it has.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BalanceRow, chat, createKey, get, nanoUsd, post, settled, sumOfCharges, usdOf } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

describe.each(modes)('money, %s', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem(mode, { TOLLGATE_STARTING_BALANCE_USD: '0' });
  });

  afterAll(() => system?.stop());

  /** Creates an account with a balance and a key. */
  async function customer(
    name: string,
    balanceUsd: string,
    ...keyOptions: string[]
  ): Promise<{ accountId: string; secret: string; keyId: string }> {
    const { id: accountId } = await system.json<{ id: string }>('account', 'create', name);
    await system.cli('balance', 'deposit', balanceUsd, '--account', accountId);
    const { id: keyId, secret } = await createKey(system, `${name} key`, '--account', accountId, ...keyOptions);
    return { accountId, secret, keyId };
  }

  it('decreases by exactly the sum of the records, each of which is tokens × price', async () => {
    const { accountId, secret } = await customer('exact', '1');
    const text = await Promise.all(
      ['sandbox/echo', 'sandbox/story', 'sandbox/reason', 'sandbox/tool'].flatMap((model) => [
        chat(system, secret, { model, max_tokens: 60 }),
        chat(system, secret, { model, max_tokens: 60, stream: true }),
        post(system, '/v1/messages', secret, { model, max_tokens: 60, messages: [{ role: 'user', content: 'Tell me of Paris' }] }),
        post(system, '/v1/messages', secret, {
          model,
          max_tokens: 60,
          stream: true,
          messages: [{ role: 'user', content: 'Tell me of Paris' }],
        }),
      ]),
    );
    for (const response of text) {
      expect(response.status).toBe(200);
      await response.text();
    }
    const { rows, balance } = await settled(system, accountId);
    expect(rows).toHaveLength(16);
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    expect(BigInt(balance.available_nano_usd)).toBe(nanoUsd('1') - sumOfCharges(rows));
    for (const row of rows) {
      expect(BigInt(row.charge_nano_usd)).toBeGreaterThan(0n);
      expect(row.captured_nano_usd).toBe(row.charge_nano_usd);
      // Recomputed only from the price list.
      const [price] = (await system.cli('price', 'list', row.model_id, '--json'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, string | null>);
      const line = (tokens: number, perMtok: string): bigint => (BigInt(tokens) * BigInt(perMtok) + 999_999n) / 1_000_000n;
      const reasoningPrice = price!['reasoning_nano_usd_per_mtok'];
      const reasoning = reasoningPrice === null ? 0 : row.reasoning_tokens;
      const expected =
        line(row.input_tokens, price!['input_nano_usd_per_mtok']!) +
        line(row.cache_read_tokens, price!['cache_read_nano_usd_per_mtok']!) +
        line(row.output_tokens - reasoning, price!['output_nano_usd_per_mtok']!) +
        (reasoning === 0 ? 0n : line(reasoning, reasoningPrice!));
      expect(BigInt(row.charge_nano_usd)).toBe(expected);
    }
  });

  it('shows a call’s cost under its request id immediately, and what remains of the key’s limit', async () => {
    const { secret } = await customer('shown', '1', '--limit', '0.5');
    const response = await chat(system, secret, { max_tokens: 20 });
    const requestId = response.headers.get('x-request-id')!;
    const usage = (await (await get(system, `/v1/usage/${requestId}`, secret)).json()) as Record<string, string>;
    expect(usage).toMatchObject({
      request_id: requestId,
      model: 'sandbox/echo',
      outcome: 'completed',
      charge_usd: response.headers.get('x-tollgate-charge-usd'),
    });
    const other = await customer('other', '1');
    expect((await get(system, `/v1/usage/${requestId}`, other.secret)).status).toBe(404);
    const key = (await (await get(system, '/v1/key', secret)).json()) as Record<string, string>;
    expect(key['limit_usd']).toBe('0.5');
    expect(nanoUsd(key['spent_usd']!) + nanoUsd(key['held_usd']!) + nanoUsd(key['remaining_usd']!)).toBe(nanoUsd('0.5'));
  });

  /** A call of any format. */
  type AnyCall = readonly [path: string, body: object];

  /** Lasts until all concurrent calls have arrived, also on a busy machine: what ended calls did not use could pay for later ones. */
  const lasting = 'delay=60ms tokens=100';

  /** Makes concurrent calls, these in turn, on an account that affords the holds of `affordable` of them. Returns its records. */
  async function expectServed(calls: readonly AnyCall[], count: number, affordable: number) {
    const name = calls[0]![0].split('/').at(-1)!;
    const probe = await customer(`${name} probe`, '1');
    const holds = await Promise.all(
      calls.map(async ([path, body]) => {
        const response = await eventually(async () => {
          const answer = await post(system, path, probe.secret, body);
          await answer.text();
          return answer.status === 200 ? answer : undefined;
        });
        const usage = await get(system, `/v1/usage/${response.headers.get('x-request-id')}`, probe.secret);
        return nanoUsd(((await usage.json()) as { held_usd: string }).held_usd);
      }),
    );
    // The same prompt is held for in every format.
    expect(new Set(holds).size).toBe(1);
    const total = holds[0]! * BigInt(affordable);
    const { accountId, secret } = await customer(`${name} crowd`, usdOf(total));
    const statuses = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const [path, body] = calls[index % calls.length]!;
        const response = await post(system, path, secret, body);
        await response.text();
        return response.status;
      }),
    );
    expect(statuses.filter((status) => status === 402)).toHaveLength(count - affordable);
    expect(statuses.filter((status) => status === 200)).toHaveLength(affordable);
    const { rows, balance } = await settled(system, accountId);
    expect(rows).toHaveLength(affordable);
    expect(BigInt(balance.available_nano_usd)).toBe(total - sumOfCharges(rows));
    expect(BigInt(balance.available_nano_usd)).toBeGreaterThanOrEqual(0n);
    return rows;
  }

  it('serves exactly as many of 200 concurrent calls of all formats as the balance affords, and refuses the others with 402', async () => {
    // Each call is charged its tokens and the request.
    const file = join(system.dataDir, 'per-call.json');
    writeFileSync(
      file,
      JSON.stringify({
        id: 'test/per-call',
        display_name: 'Per call',
        context_limit_tokens: 1000,
        output_limit_tokens: 100,
        targets: [{ upstream_id: 'sandbox', upstream_model: 'story' }],
      }),
    );
    await system.cli('model', 'put', file);
    await system.cli('price', 'publish', 'test/per-call', '--input', '1.5', '--output', '3', '--unit', 'request=0.000777001');
    const model = 'test/per-call';
    const messages = [{ role: 'user', content: lasting }];
    const asked = { model, max_output_tokens: 100, input: messages };
    const rows = await expectServed(
      [
        ['/v1/chat/completions', { model, max_tokens: 100, messages }],
        ['/v1/responses', asked],
        ['/v1/responses', { ...asked, stream: true }],
        ['/v1/messages', { model, max_tokens: 100, messages, stream: true }],
      ],
      200,
      50,
    );
    for (const row of rows)
      expect(BigInt(row.charge_nano_usd)).toBe(BigInt(row.input_tokens) * 1500n + BigInt(row.output_tokens) * 3000n + 777_001n);
  });

  it('does the same for embeddings', async () => {
    await expectServed([['/v1/embeddings', { model: 'sandbox/embed', input: 'delay=5000ms Hello there' }]], 40, 10);
  });

  it('does the same for a key’s lifetime limit', async () => {
    const body = { model: 'sandbox/story', max_tokens: 100, messages: [{ role: 'user', content: lasting }] };
    const probe = await customer('limit probe', '1');
    const probeResponse = await chat(system, probe.secret, body);
    const { held_usd: holdUsd } = (await (
      await get(system, `/v1/usage/${probeResponse.headers.get('x-request-id')}`, probe.secret)
    ).json()) as { held_usd: string };
    const limit = nanoUsd(holdUsd) * 20n;
    const limitUsd = usdOf(limit);
    const { accountId, secret } = await customer('limited crowd', '10', '--limit', limitUsd);
    const answers = await Promise.all(
      Array.from({ length: 80 }, async () => {
        const response = await chat(system, secret, body);
        return { status: response.status, body: (await response.json()) as { error?: { code: string } } };
      }),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(new Set(refused.map(({ status, body: { error } }) => `${status} ${error?.code}`))).toEqual(new Set(['402 key_limit_reached']));
    const { rows } = await settled(system, accountId);
    expect(sumOfCharges(rows)).toBeLessThanOrEqual(limit);
  });

  it('refunds a charge to the account and to the limit of its key, only once', async () => {
    const { accountId, secret } = await customer('refunded', '1', '--limit', '0.5');
    const response = await chat(system, secret, { model: 'sandbox/story', max_tokens: 40 });
    await response.text();
    const id = response.headers.get('x-request-id')!;
    const { rows } = await settled(system, accountId, 1);
    const charge = BigInt(rows[0]!.charge_nano_usd);
    await system.cli('balance', 'refund', id, '--amount', '0.000000001', '--reason', 'a part');
    await system.cli('balance', 'refund', id, '--reason', 'the rest', '--idempotency-key', 'rest');
    await system.cli('balance', 'refund', id, '--reason', 'the rest', '--idempotency-key', 'rest');
    expect(await system.tryCli('balance', 'refund', id, '--reason', 'once more')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('At most $0 of the call'),
    });
    expect((await settled(system, accountId, 1)).balance).toMatchObject({ spent_nano_usd: '0', available_nano_usd: String(nanoUsd('1')) });
    expect(await (await get(system, '/v1/key', secret)).json()).toMatchObject({ spent_usd: '0', remaining_usd: '0.5' });
    expect(await system.json('usage', 'show', id)).toMatchObject({ charge_nano_usd: String(charge), refunded_nano_usd: String(charge) });
    const entries = (await system.cli('balance', 'entries', '--account', accountId, '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>);
    expect(entries.map(({ kind, amount_nano_usd: amount }) => [kind, amount])).toEqual([
      ['refund', String(charge - 1n)],
      ['refund', '1'],
      ['charge', String(charge)],
      ['deposit', String(nanoUsd('1'))],
    ]);
    expect(entries.slice(0, 2).map((entry) => [entry['reference'], entry['linked_entry_id']])).toEqual([
      [id, entries[2]!['id']],
      [id, entries[2]!['id']],
    ]);
    expect(await system.json('balance', 'verify', '--account', accountId)).toMatchObject({ ok: true });
  });

  it('charges any price that can be published, up to the highest', async () => {
    const { accountId, secret } = await customer('dear', '100');
    const file = join(system.dataDir, 'dear.json');
    writeFileSync(
      file,
      JSON.stringify({
        id: 'test/dear',
        display_name: 'Dear',
        context_limit_tokens: 1000,
        output_limit_tokens: 100,
        targets: [{ upstream_id: 'sandbox', upstream_model: 'echo' }],
      }),
    );
    await system.cli('model', 'put', file);
    const dearer = await system.tryCli('price', 'publish', 'test/dear', '--input', '100000.000000001', '--output', '1');
    expect(dearer).toMatchObject({ code: 2, stderr: expect.stringContaining('input_nano_usd_per_mtok') });
    await system.cli('price', 'publish', 'test/dear', '--input', '100000', '--output', '100000');
    const response = await eventually(async () => {
      const answer = await chat(system, secret, { model: 'test/dear', max_tokens: 5 });
      return answer.status === 200 ? answer : undefined;
    });
    expect(response.headers.get('x-tollgate-charge-usd')).toBe('0.8');
    const { rows } = await settled(system, accountId, 1);
    expect(rows.map((row) => row.captured_nano_usd)).toEqual(['800000000']);
  });

  it('exports a journal that adds up to the balances', async () => {
    const file = join(system.dataDir, 'journal.jsonl');
    await system.cli('ledger', 'export', '--out', file);
    const entries = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>);
    const accounts = new Map<string, bigint>();
    for (const entry of entries) {
      const amount = BigInt(entry['amount_nano_usd']!);
      const change = entry['credit'] === 'customer' ? amount : entry['debit'] === 'customer' ? -amount : 0n;
      accounts.set(entry['account_id']!, (accounts.get(entry['account_id']!) ?? 0n) + change);
    }
    expect(accounts.size).toBeGreaterThan(3);
    for (const [accountId, sum] of accounts) {
      expect((await system.json<BalanceRow>('balance', 'show', '--account', accountId)).available_nano_usd).toBe(String(sum));
    }
    expect((await system.cli('ledger', 'export', '--format', 'csv')).trim().split('\r\n')).toHaveLength(entries.length + 1);
  });

  it('keeps correct books', async () => {
    const result = await system.json('balance', 'verify');
    expect(result).toMatchObject({ ok: true, sum_nano_usd: '0', drifts: [], open_holds: 0 });
    const bill = await system.json<Record<string, number>>('ledger', 'verify');
    expect(bill).toMatchObject({ ok: true, drifts: [], open_holds: 0, settlements_checked: 0 });
    expect(bill['records_checked']).toBeGreaterThan(20);
    expect(bill['holds_checked']).toBe(bill['records_checked']);
  });
});
