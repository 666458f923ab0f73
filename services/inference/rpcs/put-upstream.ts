// Creates or replaces a stored upstream, or changes the fields that a mask names. Its secret is stored sealed and is never returned.
import { type AuditEvent, changedFields } from '#kit/audit/audit-event.js';
import { fault, fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';
import {
  ApiFormat,
  type PutUpstreamRequest,
  type PutUpstreamResponse,
  type Upstream,
  UpstreamLimits,
} from '#proto/inference/v1/inference.js';
import { isAllowableField } from '#rules/wire/request-fields.js';
import { limitFields, upstreamLimits } from '#rules/upstreams/upstream-limits.js';
import type { RpcDeps } from '../deps.js';
import { type StoredCredential, storedUpstreamsMax, type UpstreamRow } from '../store.js';
import { checkSecret, credentialsMax, defaultCredentialId, resealed, sealed } from '../upstreams/credentials.js';
import { isRemoteWireFormat } from '../upstreams/remote-format.js';
import { parseBaseUrl } from '../upstreams/http/base-url.js';
import { toMessage, type UpstreamRegistry } from '../upstreams/registry.js';

/** Maximum number of allowed fields, and of characters in one. */
const allowedFieldsMax = 32;
const fieldCharsMax = 64;

/** Implements InferenceService.PutUpstream. */
export async function putUpstream(
  { upstream, secret, updateMask, createOnly }: PutUpstreamRequest,
  context: CallContext,
  deps: RpcDeps,
): Promise<PutUpstreamResponse> {
  if (upstream === undefined) throw fieldFault('upstream', 'required');
  if (updateMask === undefined) checkUpstream(upstream);
  else if (updateMask.length > 0) checkedUpdateMask(updateMask, maskablePaths);
  checkSecret(secret ?? '');
  const refuseExisting = (exists: boolean): void => {
    if (createOnly === true && exists) throw fault('upstream_exists', { id: upstream.id }, { details: { field: 'upstream.id' } });
  };
  refuseExisting(deps.registry.isManaged(upstream.id));
  refuseManaged(upstream.id, deps.registry);
  const change = (present: UpstreamRow | undefined, stored: number): UpstreamRow => {
    refuseExisting(present !== undefined);
    if (present === undefined && stored >= storedUpstreamsMax) {
      throw fault('upstreams_full', { max: storedUpstreamsMax });
    }
    const wanted = checkUpstream(updateMask === undefined ? upstream : changedUpstream(present, upstream, updateMask));
    return { ...wanted, credentials: credentialsOf(secret, wanted, present, deps), createdAtMs: BigInt(deps.clock.nowMs()) };
  };
  const row = await deps.store.put(upstream.id, change, async (tx, before, after) => {
    const event = upstreamEvent(before, after!, secret);
    if (event !== undefined) await deps.audit.append(tx, context, event);
  });
  await deps.registry.reload();
  return { upstream: toMessage(row) };
}

/** Raises failed_precondition for an upstream that can only be changed in the configuration. */
export function refuseManaged(id: string, registry: UpstreamRegistry): void {
  if (!registry.isManaged(id)) return;
  throw fault('upstream_locked', { id });
}

/** Returns the audit event, which says only whether the secret was set or removed; undefined if nothing changed. */
function upstreamEvent(before: UpstreamRow | undefined, after: UpstreamRow, secret: string | undefined): AuditEvent | undefined {
  const targetId = after.id;
  const secretWord = secret === undefined ? {} : { secret: secret === '' ? 'removed' : 'set' };
  if (before === undefined) return { action: 'upstream.create', targetId, detail: { ...auditDetail(after), ...secretWord } };
  const changed = changedFields(auditDetail(before), auditDetail(after));
  if (changed === undefined && secret === undefined) return undefined;
  return { action: 'upstream.update', targetId, detail: { ...secretWord, ...changed } };
}

function auditDetail({ apiFormat, baseUrl, allowPrivateNetwork, enabled, wholeAnswers, allowedFields, limits }: UpstreamRow): object {
  return {
    api_format: ApiFormat[apiFormat].slice('API_FORMAT_'.length).toLowerCase(),
    base_url: baseUrl,
    allow_private_network: allowPrivateNetwork,
    enabled,
    whole_answers: wholeAnswers,
    allowed_fields: allowedFields,
    ...limitFields(limits, undefined),
  };
}

type CheckedUpstream = Pick<
  UpstreamRow,
  'id' | 'apiFormat' | 'baseUrl' | 'allowPrivateNetwork' | 'enabled' | 'wholeAnswers' | 'allowedFields' | 'limits'
>;

/** The fields that an update mask can name, apart from limits. */
const maskable = {
  api_format: 'apiFormat',
  base_url: 'baseUrl',
  allow_private_network: 'allowPrivateNetwork',
  enabled: 'enabled',
  whole_answers: 'wholeAnswers',
  allowed_fields: 'allowedFields',
} as const satisfies Readonly<Record<string, keyof Upstream>>;

const maskablePaths = [...Object.keys(maskable), ...upstreamLimits.map(({ field }) => `limits.${field}`)];

/** Returns the present upstream with these fields of another one. Raises not_found. */
function changedUpstream(present: UpstreamRow | undefined, wanted: Upstream, mask: readonly string[]): Upstream {
  if (present === undefined) throw fault('no_such_id', { what: 'upstream' });
  const fields = Object.entries(maskable).filter(([path]) => mask.includes(path));
  const limits = upstreamLimits.filter(({ field }) => mask.includes(`limits.${field}`));
  return {
    ...toMessage(present),
    ...Object.fromEntries(fields.map(([, name]) => [name, wanted[name]])),
    limits: { ...present.limits, ...Object.fromEntries(limits.map(({ name }) => [name, wanted.limits?.[name]])) },
  };
}

function checkUpstream(upstream: Upstream): CheckedUpstream {
  const { id, apiFormat, allowPrivateNetwork, enabled, wholeAnswers, allowedFields } = upstream;
  if (!/^[a-z0-9_-]{1,64}$/.test(id)) throw fieldFault('upstream.id', 'upstream_id', { max: 64 });
  if (!isRemoteWireFormat(apiFormat))
    throw fieldFault('upstream.api_format', 'one_of', { values: 'chat-completions, messages, responses' });
  checkAllowedFields(allowedFields);
  const baseUrl = parseBaseUrl(upstream.baseUrl, allowPrivateNetwork);
  return { id, apiFormat, baseUrl, allowPrivateNetwork, enabled, wholeAnswers, allowedFields, limits: checkLimits(upstream.limits) };
}

function checkLimits(limits: UpstreamLimits | undefined): UpstreamLimits {
  for (const { name, field, min, max } of upstreamLimits) {
    const value = limits?.[name];
    if (value !== undefined && (value < min || value > max)) throw fieldFault(`upstream.limits.${field}`, 'range', { min, max });
  }
  return limits ?? UpstreamLimits.fromPartial({});
}

function checkAllowedFields(fields: readonly string[]): void {
  if (fields.length <= allowedFieldsMax && fields.every((field) => field.length <= fieldCharsMax && isAllowableField(field))) return;
  throw fieldFault('upstream.allowed_fields', 'field_paths', { max: allowedFieldsMax, chars: fieldCharsMax });
}

/** Returns the credentials of the new row: with a new secret, without any, or the current ones. */
function credentialsOf(
  secret: string | undefined,
  wanted: CheckedUpstream,
  present: UpstreamRow | undefined,
  { box, clock }: RpcDeps,
): readonly StoredCredential[] {
  const isElsewhere = present !== undefined && originOf(present.baseUrl) !== originOf(wanted.baseUrl);
  const has = present !== undefined && present.credentials.length > 0;
  // Otherwise a user who may change an address could have the secret sent to their own server and read it.
  if (secret === undefined && has && isElsewhere) throw fieldFault('secret', 'new_secret');
  if (secret === '') return [];
  const remaining = (present?.credentials ?? []).filter(({ id }) => secret === undefined || id !== defaultCredentialId);
  const kept = has && !isElsewhere ? resealed({ ...present, credentials: remaining }, wanted, box) : [];
  if (secret === undefined) return kept;
  if (kept.length >= credentialsMax) throw fault('credentials_full', { max: credentialsMax });
  return [sealed(defaultCredentialId, secret, wanted, clock.nowMs(), box), ...kept];
}

function originOf(baseUrl: string): string {
  return new URL(baseUrl).origin;
}
