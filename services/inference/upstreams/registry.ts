// Holds the upstreams that exist, and finds those that a call may use. Stored ones are re-read at most every second, so that a change made
// through one replica takes effect on all.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import type { Target, Upstream as UpstreamMessage } from '#proto/inference/v1/inference.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import type { UpstreamRow, UpstreamStore } from '../store.js';
import { opened, type UpstreamCredential } from './credentials.js';
import { createHttpUpstream } from './create-upstream.js';
import type { HttpUpstreamDeps } from './http/http-upstream.js';
import { type KnownUpstream, managedUpstreams, type RemoteUpstream } from './managed.js';
import { isRemoteWireFormat } from './remote-format.js';
import type { Upstream } from './upstream.js';

/** How old the cached list of stored upstreams may be, in milliseconds. */
const rereadAfterMs = 1000;
/** The same for a call that no known upstream serves: one may just have been added through another replica or thread. */
const rereadForMissingAfterMs = 50;
/** How long calls wait for the list to be read; a database that does not answer must not hold them up. */
const rereadWaitMs = 1000;

/** The dependencies of the registry. */
export interface RegistryDeps extends HttpUpstreamDeps {
  readonly store: UpstreamStore;
  readonly box: SecretBox;
  /** Called whenever the stored upstreams are read, to read what else changes with them. */
  readonly onRead?: () => Promise<void>;
  /** Called for a stored upstream that was removed. */
  readonly onRemoved?: (id: string) => void;
}

/** Holds a target and the upstream behind it. */
export interface ResolvedTarget {
  readonly target: Target;
  readonly upstream: Upstream;
}

interface StoredUpstream extends KnownUpstream {
  /** Changes with every change of the row. */
  readonly fingerprint: string;
  /** How many of its credentials can be opened. */
  readonly opened: number;
}

/** Holds the upstreams, managed and stored. */
export class UpstreamRegistry {
  readonly #managed: ReadonlyMap<string, KnownUpstream>;
  #stored = new Map<string, StoredUpstream>();
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** Ends with `#reading`, or when calls have waited for long enough. */
  #waiting: Promise<void> | undefined;

  /** Raises invalid_request when a configured base url is malformed. */
  constructor(private readonly deps: RegistryDeps) {
    this.#managed = new Map(managedUpstreams(deps).map((known) => [known.shown.id, known]));
  }

  /** Returns the targets that can be tried now, in order. Raises model_unavailable if there is none. */
  async resolve(targets: readonly Target[]): Promise<ResolvedTarget[]> {
    for (const afterMs of [rereadAfterMs, rereadForMissingAfterMs]) {
      await this.#refresh(afterMs);
      const resolved = targets.flatMap((target) => {
        const known = this.#managed.get(target.upstreamId) ?? this.#stored.get(target.upstreamId);
        return known?.upstream !== undefined && known.shown.enabled ? [{ target, upstream: known.upstream }] : [];
      });
      if (resolved.length > 0) return resolved;
    }
    throw noTarget();
  }

  /** Returns all upstreams without their secrets: managed ones first, then stored ones by id. */
  async list(): Promise<UpstreamMessage[]> {
    await this.reload();
    const stored = [...this.#stored.values()].filter(({ shown }) => !this.isManaged(shown.id));
    return [...this.#managed.values(), ...stored].map(({ shown }) => shown);
  }

  /** Returns the current state of one upstream, enabled or not. Raises not_found, and what the database raises. */
  async find(id: string): Promise<KnownUpstream> {
    await this.reload();
    const known = this.#managed.get(id) ?? this.#stored.get(id);
    if (known === undefined) throw fault('no_such_id', { what: 'upstream' });
    return known;
  }

  /** Returns an enabled upstream as it was read last; undefined if there is none. */
  present(id: string): Upstream | undefined {
    const known = this.#managed.get(id) ?? this.#stored.get(id);
    return known?.shown.enabled === true ? known.upstream : undefined;
  }

  /** Reports whether the upstream is built in or configured. */
  isManaged(id: string): boolean {
    return this.#managed.has(id);
  }

  /** Reads the stored upstreams now, for example after a change by this process. Raises what the database raises. */
  async reload(): Promise<void> {
    const readAtMs = this.deps.clock.monotonicMs();
    const [rows] = await Promise.all([this.deps.store.list(), this.deps.onRead?.()]);
    this.#apply(rows);
    this.#readAtMs = readAtMs;
  }

  /** Lets calls in flight finish and closes all connections. */
  async close(): Promise<void> {
    const all = [...this.#managed.values(), ...this.#stored.values()];
    await Promise.all(all.map(({ upstream }) => upstream?.close()));
  }

  async #refresh(afterMs: number): Promise<void> {
    if (this.deps.clock.monotonicMs() - this.#readAtMs < afterMs) return;
    this.#reading ??= this.reload()
      .catch((error: unknown) => {
        // Calls continue with the last known state; the database is queried again in a second.
        this.deps.log.error({ err: error }, 'stored upstreams cannot be read');
        this.#readAtMs = this.deps.clock.monotonicMs();
      })
      .finally(() => {
        this.#reading = this.#waiting = undefined;
      });
    await (this.#waiting ??= Promise.race([this.#reading, sleep(rereadWaitMs, undefined, { ref: false })]));
  }

  /** A replaced upstream is not closed: calls that resolved it before may still need it, and its idle connections close by themselves. */
  #apply(rows: readonly UpstreamRow[]): void {
    const stored = new Map(rows.map((row) => [row.id, this.#reuse(this.#stored.get(row.id), row)]));
    // One with another creation time was removed and added again.
    for (const [id, { shown }] of this.#stored) if (stored.get(id)?.shown.createdAtMs !== shown.createdAtMs) this.deps.onRemoved?.(id);
    this.#stored = stored;
  }

  /** Returns the existing upstream with its connections if neither its row nor the credentials that can be opened have changed. */
  #reuse(present: StoredUpstream | undefined, row: UpstreamRow): StoredUpstream {
    const fingerprint = JSON.stringify([
      row.apiFormat,
      row.baseUrl,
      row.credentials,
      row.allowPrivateNetwork,
      row.enabled,
      row.wholeAnswers,
      row.limits,
      row.allowedFields,
      String(row.createdAtMs),
    ]);
    const isSame = present?.fingerprint === fingerprint;
    if (isSame && present.opened === row.credentials.length) return present;
    // A credential that could not be opened may be sealed with a key that this process has received since.
    const credentials = opened(row, this.deps.box);
    if (isSame && present.opened === credentials.length) return present;
    const remote = this.isManaged(row.id) ? undefined : this.#remote(row, credentials);
    const upstream = remote === undefined || !row.enabled ? undefined : createHttpUpstream(remote.format, remote.settings, this.deps);
    return { fingerprint, opened: credentials.length, shown: toMessage(row), upstream, ...(remote === undefined ? {} : { remote }) };
  }

  #remote(row: UpstreamRow, credentials: readonly UpstreamCredential[]): RemoteUpstream | undefined {
    const { id, baseUrl, allowPrivateNetwork, apiFormat, wholeAnswers, limits, allowedFields } = row;
    if (credentials.length < row.credentials.length) {
      const unreadable = row.credentials.filter((each) => !credentials.some((readable) => readable.id === each.id)).map((each) => each.id);
      this.deps.log.error(
        { upstream: id, credentials: unreadable },
        'secrets of this upstream cannot be decrypted with the current key; they are not used until this process has the key or they are set again',
      );
      if (credentials.length === 0) return undefined;
    }
    if (!isRemoteWireFormat(apiFormat)) {
      this.deps.log.error(
        { upstream: id, api_format: apiFormat },
        'the wire format of this upstream is unknown to this version; the upstream is not used',
      );
      return undefined;
    }
    return { format: apiFormat, settings: { id, baseUrl, credentials, allowPrivateNetwork, wholeAnswers, limits, allowedFields }, row };
  }
}

/** Returns the error for a model without a target that can be tried. */
export function noTarget(): AppError {
  return new AppError(
    'model_unavailable',
    'No upstream is available for this model at the moment: all of them are disabled or drained. Try again shortly.',
    { retryAfterMs: 1000 },
  );
}

/** Returns a stored upstream as it is shown. */
export function toMessage(row: UpstreamRow): UpstreamMessage {
  const credentials = row.credentials.map(({ id, lastFour, setAtMs }) => ({ id, lastFour, setAtMs: BigInt(setAtMs) }));
  const secret = { hasSecret: credentials.length > 0, secretLastFour: credentials[0]?.lastFour ?? '' };
  return { ...row, ...secret, credentials, allowedFields: [...row.allowedFields], managed: false };
}
