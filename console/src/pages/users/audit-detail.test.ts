import { describe, expect, it } from '@jest/globals';
import { detailText, targetText } from './audit-detail.js';

const id = `key_${'0123456789abcdef'.repeat(2)}`;

describe('an entry of the audit log', () => {
  it('names the target by the best name that is known', () => {
    expect(targetText({ target_id: id, detail: { name: 'server' } }, undefined)).toBe('server');
    expect(targetText({ target_id: id, detail: { email: 'ada@example.com' } }, undefined)).toBe('ada@example.com');
    expect(targetText({ target_id: id, detail: { name: 'x' } }, 'ada@example.com')).toBe('ada@example.com');
    expect(targetText({ target_id: id, detail: {} }, undefined)).toBe('…89abcdef');
    expect(targetText({ target_id: 'sandbox/echo', detail: {} }, undefined)).toBe('sandbox/echo');
  });

  it('shows the details once, in one line', () => {
    expect(
      detailText(
        {
          name: 'server',
          role: 'admin',
          former_role: 'viewer',
          limit_usd: null,
          models: ['a', 'b'],
          expires_at: '2026-12-24T05:57:32.775Z',
          before: { available_usd: '5', budgets: {} },
        },
        'server',
      ),
    ).toBe(
      'role: admin · former role: viewer · limit: – · models: a, b · expires at: 2026-12-24 05:57:32 UTC · before: available $5.00, budgets –',
    );
    expect(detailText({ name: 'server', before: { state: 'active' }, after: { state: 'disabled', project: id } }, 'server')).toBe(
      'state: active → disabled · project: – → key_…89abcdef',
    );
    expect(detailText({}, '')).toBe('');
    expect(detailText({ note: 'x'.repeat(1000) }, '')).toHaveLength(301);
  });
});
