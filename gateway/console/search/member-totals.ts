// Usage by member, as sums and as a filter: metering knows the keys of calls, and auth knows which user created each key.
import { GroupBy, type GetUsageTotalsResponse_Group as Group } from '#proto/metering/v1/metering.js';
import { fault, fieldFault } from '#client/errors/fault.js';
import { isId } from '#kit/id.js';
import { pagesOf } from '#kit/pages.js';
import { roleName } from '../session/access.js';
import type { OperationDeps } from '../deps.js';
import type { Call } from '../table/operation.js';

const pageSize = 1000;
/** Maximum number of keys that are read into memory. Revoked keys count too. */
const keysReadMax = 100_000;

/**
 * Returns the creator of each key of the account by its id; "" for keys that were created without a user. Raises role_not_permitted, and
 * invalid_request for the parameter `field` if the account has too many keys.
 */
export async function keyCreators(
  call: Call,
  field: 'member' | 'group_by' | 'then_by',
  { peers }: Pick<OperationDeps, 'peers'>,
): Promise<ReadonlyMap<string, string>> {
  const { accountId, projectIds, role } = call;
  if (projectIds !== undefined) throw fault('permission', { role: roleName(role), permission: 'look' });
  const creators = new Map<string, string>();
  const listed = pagesOf((pageToken) =>
    peers.auth.listKeys({ accountId, projectId: '', pageSize, pageToken, newestFirst: true }, call.context()),
  );
  for await (const { keys } of listed) {
    for (const { id, createdByUserId } of keys) creators.set(id, createdByUserId);
    if (creators.size > keysReadMax) throw fieldFault(field, 'keys_of_member', { max: keysReadMax });
  }
  return creators;
}

/** In place of the id of a member: keys that were created without a user, for example by an operator at the command line. */
const nobody = 'none';
/** As many as metering accepts. */
const keysMax = 1000;
/** No call was made with it. */
const noKey = `key_${'0'.repeat(32)}`;

/** Returns the keys whose calls match `?member=`, at least one; empty for the keys of all users. Raises invalid_request and role_not_permitted. */
export async function keysOfMember(
  call: Call & { readonly query: { readonly member?: string | undefined } },
  deps: Pick<OperationDeps, 'peers'>,
): Promise<string[]> {
  const { member = '' } = call.query;
  if (member === '') return [];
  if (member !== nobody && !isId('user', member)) throw fieldFault('member', 'member_or_none', { none: nobody });
  const creators = await keyCreators(call, 'member', deps);
  const keys = [...creators].filter(([, userId]) => userId === (member === nobody ? '' : member)).map(([keyId]) => keyId);
  if (keys.length > keysMax) throw fieldFault('member', 'keys_of_member', { max: keysMax });
  return keys.length === 0 ? [noKey] : keys;
}

/** Returns groups by key, or groups whose second name is a key, as groups by the creators of the keys. Pure. */
export function byCreator(groups: readonly Group[], of: 'name' | 'thenName', creators: ReadonlyMap<string, string>, by: GroupBy): Group[] {
  const sums = new Map<string, Group>();
  for (const group of groups) {
    const named = { ...group, [of]: creators.get(group[of]) ?? '' };
    const id = JSON.stringify([named.name, named.thenName]);
    const sum = sums.get(id);
    sums.set(id, sum === undefined ? named : plus(sum, named));
  }
  const dearest = (a: Group, b: Group): number => Number(b.chargeNanoUsd - a.chargeNanoUsd);
  // The order of the first names stays, apart from that of members themselves.
  const charges = new Map<string, bigint>();
  for (const { name, chargeNanoUsd } of sums.values()) charges.set(name, (charges.get(name) ?? 0n) + chargeNanoUsd);
  const names = [...charges.keys()];
  if (of === 'name') names.sort((a, b) => Number(charges.get(b)! - charges.get(a)!));
  const isSlot = by === GroupBy.GROUP_BY_DAY || by === GroupBy.GROUP_BY_HOUR;
  return names.flatMap((name) => {
    const own = [...sums.values()].filter((group) => group.name === name);
    return of === 'name' && isSlot ? own.toSorted((a, b) => (a.thenName < b.thenName ? -1 : 1)) : own.toSorted(dearest);
  });
}

function plus(a: Group, b: Group): Group {
  const units = new Map(a.units.map((unit) => [unit.unit, unit]));
  for (const each of b.units) {
    const before = units.get(each.unit);
    units.set(
      each.unit,
      before === undefined
        ? each
        : { unit: each.unit, quantity: before.quantity + each.quantity, chargeNanoUsd: before.chargeNanoUsd + each.chargeNanoUsd },
    );
  }
  return {
    name: a.name,
    thenName: a.thenName,
    calls: a.calls + b.calls,
    chargeNanoUsd: a.chargeNanoUsd + b.chargeNanoUsd,
    inputTokens: a.inputTokens + b.inputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    errors: a.errors + b.errors,
    quarantined: a.quarantined + b.quarantined,
    durationMs: a.durationMs + b.durationMs,
    firstOutputCalls: a.firstOutputCalls + b.firstOutputCalls,
    firstOutputMs: a.firstOutputMs + b.firstOutputMs,
    units: [...units.values()].toSorted((one, other) => (one.unit < other.unit ? -1 : 1)),
  };
}
