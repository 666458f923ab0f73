import { describe, expect, it, jest } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { Outcome, UsageRecord } from '#proto/metering/v1/metering.js';
import { neverAborted } from '#client/call-context.js';
import type { GatewayPeers } from '../../peers.js';
import { recordSearchOf, searchRecords } from './record-search.js';

const accountId = newId('acct');
const record = UsageRecord.fromPartial({
  call: { id: newId('req'), accountId, keyId: newId('key'), modelId: 'sandbox/echo', startedAtMs: 1_800_000_000_000n },
  outcome: Outcome.OUTCOME_TIMEOUT,
});
const page = { pageSize: 50, pageToken: '' };

const listUsageRecords = jest.fn(async (_request: unknown, _context: unknown) => ({ records: [record], nextPageToken: 'more' }));
const getUsageRecord = jest.fn(async ({ callId, accountId: of }: { callId: string; accountId: string }) => {
  if (callId !== record.call!.id || of !== accountId) throw new AppError('not_found', 'There is none.');
  return { record };
});
const peers = { metering: { listUsageRecords, getUsageRecord } } as unknown as GatewayPeers;
const context = { caller: 'gateway', signal: neverAborted };

const search = (address: string, of = accountId) => {
  return searchRecords(
    recordSearchOf(Object.fromEntries(new URLSearchParams(address)), { accountId: of, projectIds: undefined }),
    page,
    peers,
    context,
  );
};
const one = { records: [record], nextPageToken: '', newestOnly: false };
const none = { records: [], nextPageToken: '', newestOnly: false };

describe('the search for records', () => {
  it('requests a page of the filter when no call is named', async () => {
    expect(await search('model=sandbox/echo')).toEqual({ records: [record], nextPageToken: 'more' });
    expect(listUsageRecords).toHaveBeenCalledWith(
      { filter: expect.objectContaining({ accountId, modelId: 'sandbox/echo' }), ...page },
      expect.anything(),
    );
  });

  const named = `request_id=${record.call!.id}`;
  const day = (offsetMs: number): string => new Date(1_800_000_000_000 + offsetMs).toISOString();
  it.each([
    ['the call alone', '', one],
    ['it among those of its key', `&key=${record.call!.keyId}`, one],
    ['it in a time that begins with it', `&from=${day(0)}&until=${day(1)}`, one],
    ['it among those of its outcome', '&outcome=timeout', one],
    ['nothing among those of another key', `&key=${newId('key')}`, none],
    ['nothing among those of another model', '&model=sandbox/story', none],
    ['nothing after it', `&from=${day(1)}`, none],
    ['nothing before it', `&until=${day(0)}`, none],
    ['nothing among those of another outcome', '&outcome=completed', none],
  ])('finds %s', async (_what, rest, found) => expect(await search(named + rest)).toEqual(found));

  it('finds no call that does not exist or belongs to another account', async () => {
    expect(await search(`request_id=${newId('req')}`)).toEqual(none);
    expect(await search(named, newId('acct'))).toEqual(none);
  });

  it('rejects a malformed id with the name of the parameter', () => {
    expect(() => search('request_id=req_12')).toThrow(
      expect.objectContaining({ reason: 'invalid_request', details: expect.objectContaining({ field: 'request_id' }) }),
    );
  });
});
