import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Project } from '#proto/auth/v1/auth.js';
import { BudgetPeriod } from '#proto/budget/v1/budget.js';
import { Statement } from '#proto/ledger/v1/ledger.js';
import { GetUsageTotalsResponse } from '#proto/metering/v1/metering.js';
import { type FakeGateway, startFakeGateway } from '../testing/fake-gateway.js';
import { tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
  await tollgate(gateway, ['account', 'create', 'Acme']);
});

afterEach(() => gateway.stop());

const { BUDGET_PERIOD_LIFETIME: lifetime, BUDGET_PERIOD_MONTH: month, BUDGET_PERIOD_DAY: day } = BudgetPeriod;

describe('projects', () => {
  it('are created with models, limits and budgets, changed and deleted', async () => {
    const options = ['--models', 'a,b', '--rpm', '60', '--budget', 'month:25', '--budget', 'day:2:soft', '--alert-at', '90,100'];
    expect(await tollgateJson(gateway, ['project', 'create', 'Search', ...options])).toMatchObject([
      {
        name: 'Search',
        state: 'active',
        models: ['a', 'b'],
        rate_limits: { rpm: 60, tpm: null, concurrency: null },
        budgets: [
          { period: 'month', limit_usd: '25', spent_usd: '1.5', left_usd: '23.5', soft: false, alert_at: [90, 100] },
          { period: 'day', limit_usd: '2', soft: true, alert_at: [90, 100] },
        ],
      },
    ]);
    const { id } = gateway.state.projects[0]!;
    await tollgate(gateway, ['key', 'create', '--name', 'laptop', '--project', id]);
    expect(await tollgateJson(gateway, ['project', 'list'])).toMatchObject([{ id, keys: 1 }]);
    await tollgate(gateway, ['project', 'update', id, '--budget', 'day:none', '--tpm', '1000', '--name', 'Find']);
    expect((await tollgate(gateway, ['project', 'show', id])).stdout).toMatch(
      /name +Find\n(.*\n)+budgets +\$25 per month \(\$1.5 spent, \$23.5 left, resets 2027-01-16 08:00:00Z; alerts at 90, 100 %\)\nrate limits +60 rpm, 1000 tpm\nmodels +a,b\n/,
    );
    expect(await tollgateJson(gateway, ['project', 'update', id, '--prompt-log', '3'])).toMatchObject([{ prompt_log_days: 3 }]);
    expect(await tollgateJson(gateway, ['project', 'update', id, '--prompt-log', 'none'])).toMatchObject([{ prompt_log_days: null }]);
    expect((await tollgate(gateway, ['project', 'update', id])).code).toBe(2);
    expect(await tollgateJson(gateway, ['project', 'delete', id])).toMatchObject([{ id, state: 'deleted' }]);
  });

  it('point out models that the catalog does not have', async () => {
    expect((await tollgate(gateway, ['project', 'create', 'Search', '--models', 'acme/tow'])).stderr).toContain('no model acme/tow');
    const { id } = gateway.state.projects[0]!;
    expect((await tollgate(gateway, ['project', 'update', id, '--models', 'acme/three'])).stderr).toContain('no model acme/three');
    expect((await tollgate(gateway, ['project', 'update', id, '--name', 'Find'])).stderr).toBe('');
  });

  it('list their keys, and keys move between them', async () => {
    for (const name of ['one', 'two']) await tollgate(gateway, ['project', 'create', name]);
    const [one, two] = gateway.state.projects.map(({ id }) => id) as [string, string];
    await tollgate(gateway, ['key', 'create', '--name', 'laptop', '--project', one]);
    const keyId = gateway.state.keys[0]!.id;
    expect(await tollgateJson(gateway, ['key', 'update', keyId, '--project', two])).toMatchObject([{ project_id: two }]);
    expect(await tollgateJson(gateway, ['key', 'update', keyId, '--project', 'default'])).toMatchObject([{ project_id: '' }]);
    await tollgate(gateway, ['key', 'update', keyId, '--project', two]);
    expect(await tollgateJson(gateway, ['key', 'create', '--name', 'desktop', '--project', 'default'])).toMatchObject([{ project_id: '' }]);
    expect(await tollgateJson(gateway, ['key', 'list', '--project', one])).toEqual([]);
    expect(await tollgateJson(gateway, ['key', 'list', '--project', two])).toMatchObject([{ id: keyId }]);
  });

  it('have their names in the costs of a month, however many projects there are', async () => {
    const { state } = gateway;
    const projects = Array.from({ length: 1001 }, (_, index) => Project.fromPartial({ id: `proj_${index}`, name: `Project ${index}` }));
    state.projects.push(...projects);
    state.statements.push(Statement.fromPartial({ month: '2026-11' }));
    state.totals = GetUsageTotalsResponse.fromPartial({ groups: [{ name: 'proj_1000', chargeNanoUsd: 12_000n }] });
    expect(await tollgateJson(gateway, ['statement', 'projects', '2026-11'])).toMatchObject([{ project: 'Project 1000' }]);
  });
});

describe('budgets', () => {
  it('of a key for its lifetime set its lifetime limit', async () => {
    await tollgate(gateway, ['key', 'create', '--name', 'laptop', '--budget', 'lifetime:25', '--budget', 'month:5']);
    const [key] = gateway.state.keys;
    expect(key).toMatchObject({ lifetimeLimitNanoUsd: 25_000_000_000n, budgets: [{ period: month, alertPercents: [50, 80, 100] }] });
    await tollgate(gateway, ['key', 'update', key!.id, '--budget', 'lifetime:none']);
    expect(key).toMatchObject({ lifetimeLimitNanoUsd: undefined, budgets: [{ period: month, limitNanoUsd: 5_000_000_000n }] });
    await tollgate(gateway, ['key', 'update', key!.id, '--budget', 'month:6:soft']);
    expect(key!.budgets).toMatchObject([{ period: month, limitNanoUsd: 6_000_000_000n, soft: true, alertPercents: [50, 80, 100] }]);
    expect(await tollgate(gateway, ['key', 'update', key!.id, '--budget', 'lifetime:5:soft'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot be soft'),
    });
    const both = ['key', 'create', '--name', 'x', '--limit', '5', '--budget', 'lifetime:6'];
    expect(await tollgate(gateway, both)).toMatchObject({ code: 2, stderr: expect.stringContaining('the same limit') });
  });

  it('of an account can be changed together with its time zone and rate limits', async () => {
    const { id } = gateway.state.accounts[0]!;
    const options = ['--budget', 'lifetime:100', '--budget', 'day:1', '--alert-at', 'none', '--time-zone', 'Europe/Berlin', '--rpm', '5'];
    await tollgate(gateway, ['account', 'update', id, ...options]);
    expect(gateway.state.accounts[0]).toMatchObject({
      timeZone: 'Europe/Berlin',
      rateLimits: { allModels: { requestsPerMinute: 5 } },
      budgets: [
        { period: lifetime, alertPercents: [] },
        { period: day, limitNanoUsd: 1_000_000_000n },
      ],
    });
    expect((await tollgate(gateway, ['account', 'show', id])).stdout).toMatch(
      /budgets +\$100 in its lifetime \(\$1.5 spent, \$98.5 left.*\), \$1 per day .*\ntime zone +Europe\/Berlin\n/,
    );
    expect(await tollgate(gateway, ['account', 'update', id, '--model', 'm', '--budget', 'day:2'])).toMatchObject({ code: 2 });
  });

  it.each([
    [['--budget', 'year:5'], 'lifetime, month, week, day'],
    [['--budget', 'month'], 'Specify a period and an amount'],
    [['--budget', 'month:5:hard'], 'Specify a period and an amount'],
    [['--budget', 'month:0'], 'above zero'],
    [['--budget', 'month:5', '--budget', 'month:6'], 'specified twice'],
    [['--alert-at', '50'], '--alert-at needs a budget'],
  ])('with %j are refused', async (options, message) => {
    expect(await tollgate(gateway, ['project', 'create', 'x', ...options])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    });
  });
});
