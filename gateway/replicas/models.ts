// The local copy of the catalog and of the list of upstreams, so that pricing and routing a call need no RPC.
import { everyAbout } from '#kit/scheduling/shared-timers.js';
import {
  type Model,
  type ModelPause,
  ModelState,
  type PriceVersion,
  type WatchCatalogResponse_Snapshot,
} from '#proto/catalog/v1/catalog.js';
import type { Target } from '#proto/inference/v1/inference.js';
import { pauseAt } from '#rules/upstreams/model-pause.js';
import type { Clock } from '#kit/clock.js';
import { nearMatch } from '#kit/config/settings.js';
import { AppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import type { GatewayPeers } from '../peers.js';
import { type FeedState, feedState, watch, type Watch } from '#kit/rpc/watch.js';

/** A model that can be called now. */
export interface CallableModel {
  readonly model: Model;
  /** The price in force when the call began. */
  readonly price: PriceVersion;
  /** The enabled upstreams that serve it, by preference. */
  readonly targets: readonly Target[];
}

/**
 * Looks up models. Without a catalog every model would seem not to exist, so `list`, `find`, `resolve` and `resolveListed` throw
 * service_unavailable until one has arrived. Without a list of upstreams no model would seem to be served, so `isServed`, `resolve` and
 * `resolveListed` throw it too.
 */
export interface ModelReplica {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Reports whether a catalog has arrived; it remains in use while the catalog service is unavailable. */
  hasCatalog(): boolean;
  /** Reports whether both the catalog and the list of upstreams have arrived. */
  canList(): boolean;
  /** Returns the status of the pushed catalog. */
  feed(): FeedState;
  /** Reports whether inference answered the latest of the regular queries for its upstreams. */
  isInferenceReached(): boolean;
  /** Returns every model that is not retired, in the catalog's order, each with the price and the pause in force now. */
  list(): Model[];
  /** Reports whether an enabled upstream serves the model. */
  isServed(model: Model): boolean;
  /** Returns a model by id or alias. Throws model_unknown, which suggests the model that was probably meant. */
  find(name: string): Model;
  /** Returns the id of the model with this id or alias; undefined if the catalog has none. */
  idOf(name: string): string | undefined;
  /**
   * Returns a routed model by id or alias, with the price in force at `atMs` (default: now). Throws model_unknown, model_unpriced, model_unavailable
   * or model_paused.
   */
  resolve(name: string, atMs?: number): CallableModel;
  /** Does the same for a model that may be paused. */
  resolveListed(name: string): CallableModel;
}

/** Creates the local copy. */
export function createModelReplica(deps: {
  catalog: GatewayPeers['catalog'];
  inference: GatewayPeers['inference'];
  clock: Clock;
  log: Logger;
  upstreamsIntervalMs: number;
  rpcTimeoutMs: number;
}): ModelReplica {
  const { catalog, inference, clock, log } = deps;
  let models: Model[] = [];
  let byName = new Map<string, Model>();
  let scheduled: PriceVersion[] = [];
  /** The prices before those of the snapshot, by model. */
  let previous = new Map<string, PriceVersion | undefined>();
  let hasSnapshot = false;
  let upstreamIds: Set<string> | undefined;
  let inferenceAnswered = false;
  let following: Watch | undefined;
  let stopPolling = (): void => {};

  function take(snapshot: WatchCatalogResponse_Snapshot): void {
    const nowMs = clock.nowMs();
    const starts = new Map(snapshot.models.map(({ id, price }) => [id, price?.effectiveFromMs]));
    // The price may have started a while before the snapshot arrived, and a call that is not priced yet may have begun before that.
    const lastMsBefore = ({ id }: Model): number => Math.min(nowMs, Number(starts.get(id) ?? Number.POSITIVE_INFINITY) - 1);
    previous = new Map(models.map((model) => [model.id, priceAt(model, lastMsBefore(model))]));
    models = snapshot.models;
    byName = new Map();
    // Ids are entered last: where an alias equals another model's id, the id wins.
    for (const model of models) for (const alias of model.aliases) byName.set(alias, model);
    for (const model of models) byName.set(model.id, model);
    scheduled = snapshot.scheduledPrices;
    hasSnapshot = true;
  }

  async function pollUpstreams(): Promise<void> {
    try {
      const { upstreams } = await inference.listUpstreams({}, callContext({ caller: 'gateway', timeoutMs: deps.rpcTimeoutMs }));
      upstreamIds = new Set(upstreams.filter((upstream) => upstream.enabled).map((upstream) => upstream.id));
      inferenceAnswered = true;
    } catch (error) {
      // The previous list stays in force: an inference service that is unavailable refuses calls by itself, and one that answers with an
      // error, because its database is unavailable, can still generate.
      inferenceAnswered = error instanceof AppError && error.remote;
      log.debug({ err: error }, 'the list of upstreams could not be read');
    }
  }

  /** Returns the price in force: scheduled prices start at their exact instant, whether or not a new snapshot has arrived. */
  function priceAt(model: Model, atMs: number): PriceVersion | undefined {
    const nowMs = BigInt(atMs);
    let inForce = model.price;
    // The catalog's clock may be ahead of ours, and a price must not apply to a call that began before it.
    if (inForce !== undefined && inForce.effectiveFromMs > nowMs && previous.has(model.id)) inForce = previous.get(model.id);
    for (const price of scheduled) {
      if (price.modelId !== model.id || price.effectiveFromMs > nowMs) continue;
      if (inForce === undefined || price.effectiveFromMs >= inForce.effectiveFromMs) inForce = price;
    }
    return inForce;
  }

  function targetsOf(model: Model): Target[] {
    const enabled = upstreamIds;
    if (enabled === undefined) throw notYet('The list of upstreams is unavailable. Try again in a few seconds.');
    return model.targets.filter(({ upstreamId }) => enabled.has(upstreamId));
  }

  function requireCatalog(): void {
    if (!hasSnapshot) throw notYet('The catalog is unavailable. Try again in a few seconds.');
  }

  function find(name: string): Model {
    requireCatalog();
    const model = byName.get(name);
    if (model === undefined || model.state === ModelState.MODEL_STATE_RETIRED) {
      const known = [...byName].flatMap(([each, { state }]) => (state === ModelState.MODEL_STATE_RETIRED ? [] : [each]));
      throw unknownModel(name, known);
    }
    return model;
  }

  function resolveListed(name: string, atMs: number): CallableModel {
    const model = find(name);
    const price = priceAt(model, atMs);
    if (price === undefined) {
      // The catalog lists the earliest first.
      const next = scheduled.find(({ modelId }) => modelId === model.id);
      const fix =
        next === undefined
          ? 'The operator can set one with `tollgate price publish`.'
          : `Its price takes effect at ${new Date(Number(next.effectiveFromMs)).toISOString()}.`;
      throw new AppError('model_unpriced', `The model "${model.id}" has no price in force, so calls to it are refused. ${fix}`, {
        details: { field: 'model' },
      });
    }
    const targets = targetsOf(model);
    if (targets.length === 0) {
      throw new AppError(
        'model_unavailable',
        `No enabled upstream serves "${model.id}". Use another model, or ask the operator to set up its upstream.`,
        {
          details: { field: 'model' },
        },
      );
    }
    return { model, price, targets };
  }

  return {
    async start() {
      following = watch({
        caller: 'gateway',
        name: 'catalog',
        open: (context) => catalog.watchCatalog({}, context),
        onMessage: (message) => {
          if (message.snapshot !== undefined) take(message.snapshot);
        },
        heartbeatMsOf: (message) => message.heartbeatIntervalMs,
        clock,
        log,
      });
      await pollUpstreams();
      stopPolling = everyAbout(deps.upstreamsIntervalMs, () => void pollUpstreams());
    },
    async stop() {
      stopPolling();
      await following?.stop();
    },
    hasCatalog: () => hasSnapshot,
    canList: () => hasSnapshot && upstreamIds !== undefined,
    feed: () => feedState(following),
    isInferenceReached: () => inferenceAnswered && upstreamIds !== undefined,
    list() {
      requireCatalog();
      return models
        .filter((model) => model.state !== ModelState.MODEL_STATE_RETIRED)
        .map((model) => ({ ...model, price: priceAt(model, clock.nowMs()), pause: pauseAt(model, clock.nowMs()) }));
    },
    isServed: (model) => targetsOf(model).length > 0,
    find,
    idOf: (name) => byName.get(name)?.id,
    resolveListed(name) {
      const nowMs = clock.nowMs();
      const callable = resolveListed(name, nowMs);
      return { ...callable, model: { ...callable.model, pause: pauseAt(callable.model, nowMs) } };
    },
    resolve(name, atMs = clock.nowMs()) {
      const callable = resolveListed(name, atMs);
      const pause = pauseAt(callable.model, atMs);
      if (pause !== undefined) throw paused(callable.model.id, pause, atMs);
      return callable;
    },
  };
}

const notYet = (message: string): AppError => new AppError('service_unavailable', message, { retryAfterMs: 5000 });

function paused(modelId: string, { untilMs, reason }: ModelPause, nowMs: number): AppError {
  const until = untilMs === 0n ? undefined : new Date(Number(untilMs)).toISOString();
  const [end, why] = [until === undefined ? '' : ` until ${until}`, reason === '' ? '' : ` (${reason.replace(/[.\s]+$/, '')})`];
  return new AppError('model_paused', `The model "${modelId}" is paused${end}${why}. Use another model, or try again later.`, {
    details: { field: 'model', ...(until === undefined ? {} : { until }) },
    ...(until === undefined ? {} : { retryAfterMs: Number(untilMs) - nowMs }),
  });
}

/** The maximum edit distance from a model's name at which a name counts as a typo. */
const slipsMax = 3;

/** Suggests the model that was probably meant; the catalog is public, so this discloses nothing. */
function unknownModel(name: string, known: readonly string[]): AppError {
  // Names are short; comparing a long text with all of them would only waste time.
  const near = name.length > 100 ? undefined : nearMatch(name, known, slipsMax);
  const hint = near === undefined ? '' : ` Did you mean "${near}"?`;
  return new AppError(
    'model_unknown',
    `The model "${name.slice(0, 200)}" does not exist.${hint} GET /v1/models lists the models of your key.`,
    { details: { field: 'model' } },
  );
}
