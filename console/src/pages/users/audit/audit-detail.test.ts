import { describe, expect, it } from '@jest/globals';
import { upstreamLimits } from '../../../../../proto/rules/upstreams/upstream-limits.js';
import { auditFields } from '../../../i18n/audit-fields.js';
import { detailParts, type DetailWords, targetText } from './audit-detail.js';

const project = `proj_${'0123456789abcdef'.repeat(2)}`;
const id = `key_${'0123456789abcdef'.repeat(2)}`;

describe('an entry of the audit log', () => {
  it('names the target by the best name that is known', () => {
    expect(targetText({ target_id: id, detail: { name: 'server' } }, undefined)).toBe('server');
    expect(targetText({ target_id: id, detail: { email: 'ada@example.com' } }, undefined)).toBe('ada@example.com');
    expect(targetText({ target_id: id, detail: { name: 'x' } }, 'ada@example.com')).toBe('ada@example.com');
    expect(targetText({ target_id: id, detail: {} }, undefined)).toBe('…89abcdef');
    expect(targetText({ target_id: 'sandbox/echo', detail: {} }, undefined)).toBe('sandbox/echo');
  });

  const words: DetailWords = {
    words: auditFields.en,
    time: (instant) => instant.slice(0, 10),
    duration: (count, unit) => `${count} ${unit}`,
    nameOf: (each) => (each === project ? 'Search' : undefined),
  };
  const shown = (detail: object, said = '') =>
    detailParts(detail as Record<string, unknown>, said, words).map(({ name, text }) => `${name}: ${text}`);

  it('shows the details once, with names for their fields', () => {
    expect(
      shown({ name: 'server', role: 'admin', former_role: 'viewer', limit_usd: null, models: ['a', 'b'], new_field: 'x' }, 'server'),
    ).toEqual(['Role: admin', 'Previous role: viewer', 'Models: a, b', 'New field: x']);
    expect(shown({ name: 'server', before: { state: 'active' }, after: { state: 'disabled', project } }, 'server')).toEqual([
      'State: active → disabled',
      'Project: – → Search',
    ]);
    expect(shown({})).toEqual([]);
    expect(shown({ note: 'x'.repeat(1000) })[0]).toHaveLength(207);
  });

  it('writes amounts, budgets, durations, times and ids as readers know them', () => {
    expect(
      shown({
        amount_usd: '1250.5',
        before: { available_usd: '0' },
        after: { available_usd: '1250.5' },
      }),
    ).toEqual(['Amount: $1,250.50', 'Available: $0.00 → $1,250.50']);
    expect(
      shown({
        budgets: { month: { limit_usd: '1500', alert_percents: [50, 80] }, day: { limit_usd: '5', soft: true, alert_percents: [] } },
        rate_limits: { rpm: 1200, tpm: null },
        budget_fallback: 'acme/small:80',
        prompt_log_days: 7,
        overlap_seconds: 7200,
        expires_at: '2027-06-30T12:00:00.000Z',
        enabled: false,
        changed: ['url', 'event_types'],
        invitation: id,
        usd_per_million_tokens: { input: '0.5', cache_read: null },
      }),
    ).toEqual([
      'Budgets: $1,500.00 per month (alerts at 50%, 80%); $5.00 per day (alerts only)',
      'Rate limits: Requests per minute: 1,200',
      'Cheaper model: acme/small (≥ 80%)',
      'Prompt log: 7 day',
      'Previous secret valid for: 2 hour',
      'Expires: 2027-06-30',
      'Enabled: no',
      'Changed: URL, Events',
      'Invitation: key_…89abcdef',
      'Per million tokens: Input: $0.50',
    ]);
  });

  it('names the fields of the operator’s events in both languages', () => {
    const fields = [
      ...upstreamLimits.map(({ field }) => field),
      ...'allowed_fields context_limit_tokens eject_for_ms ended failed_step has_password hedge_after_ms identity image_tokens_max'.split(
        ' ',
      ),
      ...'input_modalities language max_per_call mode ok output_limit_tokens output_modalities prefix_affinity priority retried'.split(' '),
      ...'tokenizer truncated version voided weight whole_answers withdrawn'.split(' '),
      ...Object.keys(auditFields.en),
    ];
    expect(fields.filter((field) => !Object.hasOwn(auditFields['zh-CN'], field))).toEqual([]);
    expect(shown({ connect_timeout_ms: 1500, context_limit_tokens: 128_000, has_password: true, ok: false })).toEqual([
      'Connect timeout: 1.50 s',
      'Context limit: 128,000',
      'Password set: yes',
      'Passed: no',
    ]);
  });
});
