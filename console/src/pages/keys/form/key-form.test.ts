import { describe, expect, it } from '@jest/globals';
import type { ApiKey } from '../../../api/keys.js';
import { changesOf, emptyForm, expiryOf, faultsOf, formOf, type KeyForm, newKeyOf } from './key-form.js';

const nowMs = Date.UTC(2026, 10, 22, 12);
const form = (changes: Partial<KeyForm>): KeyForm => ({ ...emptyForm, name: 'server', ...changes });
const key = (changes: Partial<ApiKey>): ApiKey =>
  ({
    name: 'server',
    project_id: 'proj_1',
    limit_usd: '5',
    budgets: [{ period: 'month', limit_usd: '2', soft: false, alert_at: [80, 100] }],
    rate_limits: { rpm: 60, tpm: null, concurrency: 0 },
    expires_at: '2027-01-31T12:34:56.789Z',
    models: ['a', 'b'],
    allowed_addresses: ['192.0.2.7', '2001:db8::/32'],
    ...changes,
  }) as ApiKey;

describe('the form of a key', () => {
  it('requires only a name', () => {
    expect(faultsOf(emptyForm, 'utc', nowMs)).toEqual({ name: 'missing' });
    expect(faultsOf(form({}), 'utc', nowMs)).toEqual({});
    expect(newKeyOf(form({ name: ' server ' }), 'utc', nowMs)).toEqual({ name: 'server' });
  });

  it('sends what was filled in', () => {
    const filled = form({ limit: '$ 5.25', expiry: '30', access: 'some', models: ['sandbox/echo'] });
    expect(newKeyOf(filled, 'utc', nowMs)).toEqual({
      name: 'server',
      limit_usd: '5.25',
      expires_at: '2026-12-22T12:00:00.000Z',
      models: ['sandbox/echo'],
    });
    expect(newKeyOf(form({ rateLimits: { rpm: ' 60', tpm: '', concurrency: '0' } }), 'utc', nowMs)).toEqual({
      name: 'server',
      rate_limits: { rpm: 60, tpm: null, concurrency: 0 },
    });
    const row = { row: 0, period: 'day', limit: ' $1', soft: true, alerts: '80 %, 100' } as const;
    expect(newKeyOf(form({ project: 'proj_1', budgets: [row] }), 'utc', nowMs)).toEqual({
      name: 'server',
      project_id: 'proj_1',
      budgets: [{ period: 'day', limit_usd: '1', soft: true, alert_at: [80, 100] }],
    });
    expect(newKeyOf(form({ addresses: ' 192.0.2.7,198.51.100.0/24\n\n2001:db8::/32 ' }), 'utc', nowMs)).toEqual({
      name: 'server',
      allowed_addresses: ['192.0.2.7', '198.51.100.0/24', '2001:db8::/32'],
    });
    // Models that were chosen and then put away are not sent.
    expect(newKeyOf({ ...filled, access: 'all' }, 'utc', nowMs)).not.toHaveProperty('models');
  });

  it('interprets dates and times in the selected zone', () => {
    const custom = form({ expiry: 'custom', expiresAt: '2027-01-31T12:00' });
    expect(expiryOf(custom, 'utc', nowMs)?.toISOString()).toBe('2027-01-31T12:00:00.000Z');
    expect(expiryOf(custom, 'local', nowMs)?.getTime()).toBe(new Date(2027, 0, 31, 12).getTime());
    for (const zone of ['utc', 'local'] as const)
      expect(expiryOf(formOf(key({}), zone), zone, nowMs)?.toISOString()).toBe('2027-01-31T12:34:00.000Z');
  });

  it.each<[Partial<KeyForm>, object]>([
    [{ limit: 'five' }, { limit_usd: 'form' }],
    [{ addresses: '192.0.2.7 '.repeat(51) }, { allowed_addresses: 'many' }],
    [{ limit: '5,00' }, { limit_usd: 'form' }],
    [{ limit: '0.00' }, { limit_usd: 'zero' }],
    // The API names the limit.
    [{ limit: '0.0000000001' }, {}],
    [{ limit: '$20000000000' }, {}],
    [{ rateLimits: { rpm: '1.5', tpm: '-1', concurrency: '1000001' } }, { rate_limits: ['rpm', 'tpm', 'concurrency'] }],
    [{ expiry: 'custom', expiresAt: '' }, { expires_at: 'form' }],
    [{ expiry: 'custom', expiresAt: '2026-11-22T12:00' }, { expires_at: 'past' }],
    [{ access: 'some' }, { models: 'none' }],
    [{ budgets: [{ row: 0, period: 'month', limit: '0', soft: false, alerts: '' }] }, { budgets: 'form' }],
    [{ budgets: [{ row: 0, period: 'month', limit: '5', soft: false, alerts: 'half' }] }, { budgets: 'form' }],
    [{ budgets: [{ row: 0, period: 'month', limit: '5', soft: true, alerts: '' }] }, { budgets: 'form' }],
  ])('finds the faults of %j', (changes, faults) => {
    expect(faultsOf(form(changes), 'utc', nowMs)).toEqual(faults);
  });

  it('sends only the changed fields', () => {
    const before = formOf(key({}), 'utc');
    expect(changesOf(before, before, 'utc', nowMs)).toEqual({});
    expect(changesOf(before, { ...before, name: 'other ' }, 'utc', nowMs)).toEqual({ name: 'other' });
    expect(changesOf(before, { ...before, limit: '' }, 'utc', nowMs)).toEqual({ limit_usd: null });
    expect(changesOf(before, { ...before, limit: ' 5' }, 'utc', nowMs)).toEqual({});
    expect(changesOf(before, { ...before, rateLimits: { rpm: '', tpm: '', concurrency: '0' } }, 'utc', nowMs)).toEqual({
      rate_limits: { rpm: null, tpm: null, concurrency: 0 },
    });
    expect(changesOf(before, { ...before, project: 'proj_2' }, 'utc', nowMs)).toEqual({ project_id: 'proj_2' });
    expect(changesOf(before, { ...before, budgets: [] }, 'utc', nowMs)).toEqual({ budgets: [] });
    expect(changesOf(before, { ...before, budgets: [{ ...before.budgets[0]!, limit: '3' }] }, 'utc', nowMs)).toEqual({
      budgets: [{ period: 'month', limit_usd: '3', soft: false, alert_at: [80, 100] }],
    });
    expect(changesOf(before, { ...before, expiry: 'never' }, 'utc', nowMs)).toEqual({ expires_at: null });
    expect(changesOf(before, { ...before, access: 'all' }, 'utc', nowMs)).toEqual({ models: null });
    expect(changesOf(before, { ...before, models: ['a'] }, 'utc', nowMs)).toEqual({ models: ['a'] });
  });
});
