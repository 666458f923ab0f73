// The content of an audit event, and its limits. Pure.
import type { Actor, CallContext } from '#client/call-context.js';
import { operator } from '../rpc/access/access.js';

/** A change, as reported by the code that makes it. */
export interface AuditEvent {
  /** For example "key.create". */
  readonly action: string;
  /** Absent where the change concerns no account. */
  readonly accountId?: string;
  /** The id of the object that was changed. */
  readonly targetId: string;
  /** What changed, without secrets. */
  readonly detail?: object;
  /** The user who acted, where the request itself proves it (a password, the secret of a link). Absent: the actor of the call. */
  readonly actor?: Pick<Actor, 'userId' | 'email' | 'clientAddress' | 'managementKey'>;
}

/** An audit event as it is stored and shipped. */
export interface AuditRecord {
  /** "aud_" and a UUIDv7. Identifies the event while it is shipped, so that it is appended only once. */
  readonly id: string;
  readonly atMs: bigint;
  /** The id of the user or the management key. Empty when a process acted on its own behalf. */
  readonly actorUserId: string;
  /** The user's email address at that time, the management key with its user's address, or the name of the process. */
  readonly actorName: string;
  readonly clientAddress: string;
  /** The process that sent the request. */
  readonly caller: string;
  readonly accountId: string;
  readonly action: string;
  readonly targetId: string;
  readonly detailJson: string;
}

/** Maximum lengths, in characters. */
export const auditCharsMax = {
  actorUserId: 40,
  actorName: 254,
  clientAddress: 64,
  caller: 200,
  accountId: 40,
  action: 64,
  targetId: 200,
  detailJson: 16_000,
} as const;

const operatorName = 'operator CLI';

/** Returns the record of an event under this id. Texts that are too long are truncated. */
export function auditRecord(id: string, atMs: number, event: AuditEvent, context: Pick<CallContext, 'caller' | 'actor'>): AuditRecord {
  const { caller } = context;
  const actor = event.actor ?? context.actor;
  const cut = (field: keyof typeof auditCharsMax, text: string): string => cutText(text, auditCharsMax[field]);
  return {
    id,
    atMs: BigInt(atMs),
    actorUserId: actor?.managementKey?.id ?? actor?.userId ?? '',
    actorName: cut('actorName', actor === undefined ? (caller === operator ? operatorName : caller) : nameOf(actor)),
    clientAddress: cut('clientAddress', actor?.clientAddress ?? ''),
    caller: cut('caller', caller),
    accountId: event.accountId ?? '',
    action: event.action,
    targetId: cut('targetId', event.targetId),
    detailJson: detailJson(event.detail ?? {}),
  };
}

/** Returns the name of the actor. For a management key it begins with the user's address, so that a search for the address finds what the key did. */
function nameOf({ email, managementKey }: NonNullable<AuditEvent['actor']>): string {
  return managementKey === undefined ? email : `${email} (management key ${managementKey.name})`;
}

/** Truncates between characters: text cut inside a character would come back from a database changed, and so with a different hash. */
function cutText(text: string, charsMax: number): string {
  return Buffer.from(text.slice(0, charsMax)).toString();
}

function detailJson(detail: object): string {
  const json = JSON.stringify(detail, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  if (json.length <= auditCharsMax.detailJson) return json;
  // Quotes and backslashes double when they are escaped again.
  return JSON.stringify({ truncated: cutText(json, auditCharsMax.detailJson / 2 - 100) });
}

/** Returns the fields that differ, with their old and new values; undefined when none does. */
export function changedFields<T extends object>(before: T, after: T): { before: Partial<T>; after: Partial<T> } | undefined {
  const names = (Object.keys(after) as (keyof T)[]).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (names.length === 0) return undefined;
  const only = (of: T): Partial<T> => Object.fromEntries(names.map((name) => [name, of[name]])) as Partial<T>;
  return { before: only(before), after: only(after) };
}
