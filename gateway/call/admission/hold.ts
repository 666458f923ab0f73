// Holds the worst-case cost of a call at the ledger.
import { callContext } from '#client/call-context.js';
import type { BudgetShare, HoldRequest, HoldResponse } from '#proto/ledger/v1/ledger.js';
import type { NativeRequest_VendorTool as VendorTool } from '#proto/inference/v1/inference.js';
import type { UnitCounts } from '#proto/inference/v1/tokens.js';
import type { Key, Project } from '#proto/auth/v1/auth.js';
import type { Budget } from '#proto/budget/v1/budget.js';
import type { GatewayConfig } from '../../config.js';
import type { ParsedCall } from '../../formats/format.js';
import type { GatewayPeers } from '../../peers.js';
import type { CallableModel } from '../../replicas/models.js';
import { affordableOutputTokens, explainRefusal, isRefusal, type Quote, quoteCall, unitCapsOf } from './quote.js';
import { isUnknownOutcome, type UnknownHolds } from './unknown-holds.js';

/** The call whose cost is held. */
interface HeldCall {
  readonly id: string;
  readonly key: Key;
  readonly parsed: ParsedCall;
  readonly budgets?: readonly Budget[] | undefined;
  readonly accountTimeZone?: string | undefined;
  readonly project?: Project | undefined;
}

interface HoldDeps {
  readonly peers: Pick<GatewayPeers, 'ledger'>;
  readonly unknownHolds: UnknownHolds;
  readonly config: GatewayConfig;
}

/** A hold that is granted. */
export interface Held {
  readonly amountNanoUsd: bigint;
  readonly outputCapTokens: number;
  readonly inputTokensMax: number;
  /** The most that the call may use of units that are not tokens; undefined for none but the request itself. */
  readonly unitCaps: UnitCounts | undefined;
  /** How much of the project's budgets is spent, if its calls may use a cheaper model. */
  readonly projectShare: BudgetShare | undefined;
  /** Resolves when the hold can no longer be lost; rejects with the error for the caller if it may be lost. */
  readonly durable: Promise<void>;
  /** Has the ledger write the hold, which it otherwise does with the record. Absent if the hold is written. */
  readonly write: (() => Promise<void>) | undefined;
}

/**
 * Holds the worst-case cost; without a cap from the caller, as much of it as the balance affords. Returns when the ledger has decided, which it
 * may report before the hold is durable.
 */
export async function hold(request: HeldCall, callable: CallableModel, deps: HoldDeps): Promise<Held> {
  const tools = request.parsed.request.native?.vendorTools ?? [];
  try {
    return await holdWith(tools, request, callable, deps);
  } catch (error) {
    const required = tools.filter(({ optionalToolJson }) => optionalToolJson === undefined);
    if (required.length === tools.length || !isRefusal(error)) throw error;
    // A search holds the whole context, and the call can do without it.
    return holdWith(required, request, callable, deps);
  }
}

/** Holds the cost of a call that may use these tools of its vendor. */
async function holdWith(tools: readonly VendorTool[], request: HeldCall, { model, price }: CallableModel, deps: HoldDeps): Promise<Held> {
  const { parsed } = request;
  const unitCaps = unitCapsOf(tools, price);
  const quote = quoteCall(model, price, { ...parsed, choices: Math.max(1, parsed.request.choices), unitCaps });
  const ledgerRequest = requestOf(request, quote, deps.config);
  // A function of this scope would keep the request and its prompt in memory for as long as the ledger's side keeps the function.
  let onProvisional!: (response: unknown) => void;
  const provisional = new Promise<HoldResponse>((resolve) => (onProvisional = resolve as typeof onProvisional));
  const final = requestHold(ledgerRequest, quote, deps, onProvisional);
  const { hold: granted, projectShare, unwritten } = await Promise.race([provisional, final]);
  const durable = final.then(() => undefined);
  // Its failure is raised where it is awaited.
  durable.catch(() => undefined);
  const { amountNanoUsd } = granted!;
  const outputCapTokens = affordableOutputTokens(quote, amountNanoUsd);
  const write = unwritten === true ? writerOf(ledgerRequest, deps) : undefined;
  return { amountNanoUsd, outputCapTokens, inputTokensMax: quote.inputTokensMax, unitCaps, projectShare, durable, write };
}

/** Returns the function that has the ledger write the hold. */
function writerOf(request: HoldRequest, { peers, config }: HoldDeps): () => Promise<void> {
  return async () => {
    const context = callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs });
    await peers.ledger.hold({ ...request, durableWithRecord: false }, context);
  };
}

/** Returns the request to the ledger, which does not refer to the prompt. */
function requestOf({ id, key, project, budgets, accountTimeZone, parsed }: HeldCall, quote: Quote, config: GatewayConfig): HoldRequest {
  return {
    holdId: id,
    accountId: key.accountId,
    keyId: key.id,
    keyLimit: { limitNanoUsd: key.lifetimeLimitNanoUsd, version: key.version },
    amountNanoUsd: quote.amountNanoUsd,
    minAmountNanoUsd: quote.minAmountNanoUsd,
    ttlMs: config.holdTtlMs,
    budgets: budgets === undefined ? [] : (budgets as Budget[]),
    timeZone: accountTimeZone ?? '',
    withProjectShare: project?.budgetFallback !== undefined,
    // The client of a whole answer sees nothing of it before the record is stored.
    durableWithRecord: !parsed.streaming,
  };
}

/** Returns the ledger's response once the hold is durable. Raises the error for the caller. */
async function requestHold(
  request: HoldRequest,
  quote: Quote,
  { peers, unknownHolds, config }: HoldDeps,
  onProvisional: (response: unknown) => void,
): Promise<HoldResponse> {
  try {
    const response = await peers.ledger.hold(request, callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs, onProvisional }));
    unknownHolds.answered();
    return response;
  } catch (error) {
    // The release also prevents a hold that arrives late from being granted.
    if (isUnknownOutcome(error)) throw unknownHolds.release({ holdId: request.holdId, accountId: request.accountId }, error);
    unknownHolds.answered();
    throw explainRefusal(error, quote);
  }
}
