// tollgate key: the platform keys of an account.
import { Command } from 'commander';
import { type Key, KeyState, type ModelPermission, UpdateKeyRequest } from '#proto/auth/v1/auth.js';
import type { KeyActivity } from '#proto/metering/v1/metering.js';
import { chooseAccount, withAccount } from '../options/accounts.js';
import { type BudgetOptions, changedKeyBudgets, spendOfBudgets, withBudgets } from '../options/budgets.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { instant } from '../output.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseAddresses, parseInstant, parseLimit, parseModels, parseOverlap, parsePositiveLimit } from '../options/parse.js';
import { changedRateLimits, hasRateLimits, newRateLimits, type RateLimitOptions, withRateLimits } from '../options/rate-limits.js';
import { noteUnknownModels } from '../options/unknown-models.js';
import { unlessUnavailable } from '../unavailable.js';
import { keyView, type ShownKey } from '../views/key.js';

interface UpdateOptions extends RateLimitOptions, BudgetOptions {
  readonly project?: string;
}

interface CreateOptions extends UpdateOptions {
  readonly account?: string;
  readonly name: string;
  readonly limit?: bigint;
  readonly expires?: bigint;
  readonly models?: ModelPermission;
  readonly addresses?: string[];
  readonly idempotencyKey?: string;
}

/** The noun `key`. */
export function keyCommand(cli: Cli): Command {
  const key = new Command('key').description('Platform keys, with their models, limits and expiry.');
  const parseExpiry = (text: string): bigint => parseInstant(text, cli.world.nowMs(), 'ahead');

  withBudgets(withRateLimits(withAccount(key.command('create'))), true)
    .description('Create a key. Its secret is shown only once.')
    .requiredOption('--name <name>', 'a name to recognise the key')
    .option('--project <id>', 'the project of the key, or default; the default project unless given', parseProject)
    .option('--limit <usd>', 'the lifetime spending limit, the same as --budget lifetime:<usd>', parsePositiveLimit)
    .option('--expires <when>', 'when it expires, for example 30d or 2027-01-31', parseExpiry)
    .option('--models <ids>', 'only these models, separated by commas; all current and future models by default', parseModels)
    .option(
      '--addresses <list>',
      'only from these IP addresses and CIDR blocks, separated by commas; from anywhere by default',
      parseAddresses,
    )
    .option('--idempotency-key <key>', 'a retry with the same key creates no second key and shows no secret')
    .action((options: CreateOptions) => create(cli, options));

  withPaging(withAccount(key.command('list')))
    .description('List the keys of an account with their spending, in order of creation.')
    .option('--project <id>', 'only keys of this project')
    .action((options: { account?: string; project?: string } & PageOptions) =>
      cli.withServices(async (services) => {
        const { auth } = services;
        const accountId = await chooseAccount(auth, options.account);
        await listPages(cli, keyView, options, async (pageSize, pageToken) => {
          const response = await auth.listKeys(
            { accountId, projectId: options.project ?? '', pageSize, pageToken, newestFirst: false },
            operatorCall(),
          );
          return { items: await known(cli, services, accountId, response.keys), nextPageToken: response.nextPageToken };
        });
      }),
    );

  key
    .command('show <key>')
    .description('Show a key with its spending.')
    .action((keyId: string) => cli.withServices(async (services) => showKey(cli, services, await findKey(services, keyId))));

  withBudgets(withRateLimits(key.command('update <key>')))
    .description(
      'Change the limits, the budgets or the project of a key. Takes effect everywhere within a second. Settings without an option do not change.',
    )
    .option('--project <id>', 'move the key to this project, or to the default project; its past usage remains where it is', parseProject)
    .action((keyId: string, options: UpdateOptions) =>
      cli.withServices(async (services) => {
        const before = await findKey(services, keyId);
        const change = changeOf(before, options);
        const request = UpdateKeyRequest.fromPartial({ keyId, accountId: before.accountId, ...change });
        await showKey(cli, services, (await services.auth.updateKey(request, operatorCall())).key!);
      }),
    );

  key
    .command('rename <key> <name>')
    .description('Rename a key.')
    .action((keyId: string, name: string) => update(cli, keyId, { name }, 'name'));

  key
    .command('limit')
    .description('Change the lifetime spending limit of a key.')
    .argument('<key>')
    .argument('<usd>', 'the limit, for example 5, or none', parseLimit)
    .action((keyId: string, limit: bigint | undefined) => update(cli, keyId, { lifetimeLimitNanoUsd: limit }, 'lifetime_limit_nano_usd'));

  key
    .command('expire')
    .description('Change the expiry of a key.')
    .argument('<key>')
    .argument('<when>', 'the expiry, for example 30d or 2027-01-31, or never', (text: string) =>
      text === 'never' ? undefined : parseExpiry(text),
    )
    .action((keyId: string, expiresAtMs: bigint | undefined) => update(cli, keyId, { expiresAtMs }, 'expires_at_ms'));

  key
    .command('models')
    .description('Change which models a key may use.')
    .argument('<key>')
    .argument('<ids>', 'model ids separated by commas, or all', parseModels)
    .action((keyId: string, models: ModelPermission) => update(cli, keyId, { models }, 'models'));

  key
    .command('addresses')
    .description('Change the network addresses from which a key may be used. Takes effect everywhere within a second.')
    .argument('<key>')
    .argument('<list>', 'IP addresses and CIDR blocks separated by commas, or all', parseAddresses)
    .action((keyId: string, allowedAddresses: string[]) => update(cli, keyId, { allowedAddresses }, 'allowed_addresses'));

  key
    .command('disable <key>')
    .description('Disable a key: its calls are refused until it is enabled again.')
    .action((keyId: string) => update(cli, keyId, { state: KeyState.KEY_STATE_DISABLED }, 'state'));

  key
    .command('enable <key>')
    .description('Enable a disabled key.')
    .action((keyId: string) => update(cli, keyId, { state: KeyState.KEY_STATE_ACTIVE }, 'state'));

  key
    .command('rotate <key>')
    .description('Give a key a new secret, which is shown only once. Limit and spending are kept.')
    .option(
      '--overlap <time>',
      'how long the previous secret remains valid, for example 1h, 24h or 7d; by default not at all',
      parseOverlap,
    )
    .action((keyId: string, { overlap = 0n }: { overlap?: bigint }) => rotate(cli, keyId, overlap));

  key
    .command('revoke <key>')
    .description('Revoke a key permanently, everywhere within a second.')
    .action((keyId: string) =>
      cli.withServices(async (services) => {
        const { accountId } = await findKey(services, keyId);
        await showKey(cli, services, (await services.auth.revokeKey({ keyId, accountId }, operatorCall())).key!);
      }),
    );

  return key;
}

const parseProject = (text: string): string => (text === 'default' ? '' : text);

/** Returns what the options change of a key, with the mask of the fields. */
function changeOf(before: Key, options: UpdateOptions): Partial<UpdateKeyRequest> {
  const { budgets, lifetimeLimit } = changedKeyBudgets(before.budgets, options);
  const updateMask: string[] = [];
  const change: Partial<UpdateKeyRequest> = { updateMask };
  if (options.project !== undefined) {
    change.projectId = options.project;
    updateMask.push('project_id');
  }
  if (hasRateLimits(options)) {
    change.rateLimits = changedRateLimits(before.rateLimits, options);
    updateMask.push('rate_limits');
  }
  if (budgets !== undefined) {
    change.budgets = budgets;
    updateMask.push('budgets');
  }
  if (lifetimeLimit !== undefined) {
    change.lifetimeLimitNanoUsd = lifetimeLimit.nanoUsd;
    updateMask.push('lifetime_limit_nano_usd');
  }
  if (updateMask.length === 0)
    throw new CliError('No change was specified.', { fix: 'Specify --rpm, --tpm, --concurrency, --budget or --project.', exitCode: 2 });
  return change;
}

function create(cli: Cli, options: CreateOptions): Promise<void> {
  return cli.withServices(async (services) => {
    const { auth } = services;
    const accountId = await chooseAccount(auth, options.account);
    const { budgets = [], lifetimeLimit } = changedKeyBudgets([], options);
    if (lifetimeLimit !== undefined && options.limit !== undefined)
      throw new CliError('--limit and --budget lifetime are the same limit.', { fix: 'Specify one of them.', exitCode: 2 });
    const request = {
      accountId,
      projectId: options.project ?? '',
      budgets,
      name: options.name,
      models: options.models,
      allowedAddresses: options.addresses ?? [],
      lifetimeLimitNanoUsd: options.limit ?? lifetimeLimit?.nanoUsd,
      expiresAtMs: options.expires,
      idempotencyKey: options.idempotencyKey ?? '',
      rateLimits: newRateLimits(options),
    };
    const { key, secret } = await auth.createKey(request, operatorCall());
    const [shown] = await known(cli, services, accountId, [key!]);
    cli.out.show(keyView, shown!, { secret: secret === '' ? null : secret });
    if (secret === '') cli.out.note('\nThis key had already been created with the same idempotency key; its secret cannot be shown again.');
    else cli.out.note(`\nsecret  ${secret}\n\nCopy the secret now: it is not stored and cannot be shown again.`);
    await noteUnknownModels(cli, services, options.models);
  });
}

function rotate(cli: Cli, keyId: string, overlapMs: bigint): Promise<void> {
  return cli.withServices(async (services) => {
    const { accountId } = await findKey(services, keyId);
    const { key, secret } = await services.auth.rotateKey({ keyId, accountId, overlapMs: Number(overlapMs) }, operatorCall());
    const [shown] = await known(cli, services, key!.accountId, [key!]);
    cli.out.show(keyView, shown!, { secret });
    const former = key!.previousSecretsExpireAtMs;
    const fate =
      former === undefined ? 'The previous secret no longer works.' : `The previous secret remains valid until ${instant(former)}.`;
    cli.out.note(`\nsecret  ${secret}\n\nCopy the secret now: it is not stored and cannot be shown again. ${fate}`);
  });
}

function update(cli: Cli, keyId: string, change: Partial<UpdateKeyRequest>, field: string): Promise<void> {
  return cli.withServices(async (services) => {
    const { accountId } = await findKey(services, keyId);
    const request = UpdateKeyRequest.fromPartial({ ...change, keyId, accountId, updateMask: [field] });
    const { key } = await services.auth.updateKey(request, operatorCall());
    await showKey(cli, services, key!);
    await noteUnknownModels(cli, services, change.models);
  });
}

/** Returns a key of any account. */
async function findKey({ auth }: Services, keyId: string): Promise<Key> {
  return (await auth.getKey({ keyId, accountId: '' }, operatorCall())).key!;
}

async function showKey(cli: Cli, services: Services, key: Key): Promise<void> {
  const [shown] = await known(cli, services, key.accountId, [key]);
  cli.out.show(keyView, shown!);
}

/** Maximum number of keys whose last use metering returns at once. */
const activityKeysMax = 200;

/** Returns keys with what the ledger and metering know of them, as far as these are available: a change of a key has been made nevertheless. */
async function known(cli: Cli, services: Services, accountId: string, keys: readonly Key[]): Promise<ShownKey[]> {
  if (keys.length === 0) return [];
  const { auth, ledger, metering } = services;
  const keyIds = keys.map((key) => key.id);
  const { account } = await auth.getAccount({ accountId }, operatorCall());
  const spends = (await unlessUnavailable(ledger.listKeySpend({ accountId, keyIds }, operatorCall())))?.keys;
  const budgets = keys.flatMap((key) => key.budgets);
  const budgetSpend = await spendOfBudgets(services, accountId, budgets);
  const activities = await unlessUnavailable(activitiesOf(metering, accountId, keyIds));
  return keys.map((key) => ({
    key,
    spend: spends?.find(({ keyId }) => keyId === key.id),
    activity: activities?.find(({ keyId }) => keyId === key.id),
    accountState: account!.state,
    budgetSpend,
    unknown: { spend: spends === undefined, activity: activities === undefined },
    nowMs: cli.world.nowMs(),
  }));
}

async function activitiesOf(metering: Services['metering'], accountId: string, keyIds: readonly string[]): Promise<KeyActivity[]> {
  const activities: KeyActivity[] = [];
  for (let start = 0; start < keyIds.length; start += activityKeysMax) {
    const page = keyIds.slice(start, start + activityKeysMax);
    activities.push(...(await metering.batchGetKeyActivity({ accountId, keyIds: page }, operatorCall())).keys);
  }
  return activities;
}
