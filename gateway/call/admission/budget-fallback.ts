// Chooses the model of a call whose project names a cheaper one, to be used once a share of a budget is spent or the budget does not cover the requested
// model. The spent share comes with the holds of earlier calls of the project at this gateway, so it costs no RPC and is as recent as the latest hold.
import { AppError } from '#client/errors/app-error.js';
import type { ApiFormat } from '#proto/inference/v1/inference.js';
import type { BudgetShare } from '#proto/ledger/v1/ledger.js';
import type { ModelFallback } from '#proto/metering/v1/metering.js';
import type { CallableModel, ModelReplica } from '../../replicas/models.js';
import { costAtMost } from '#rules/money/pricing.js';
import type { ParsedCall } from '../../formats/format.js';
import { assertForms, assertReads, assertReturns, isPermitted, type PermittedCaller } from './model-checks.js';
import { quoteCall } from './quote.js';

/** Projects whose shares are remembered. */
const projectsMax = 10_000;
/** The highest share that is reported, as by the ledger: of a tiny limit, many times the limit may be spent, and a record holds 32 bits. */
const percentMax = 1000;

/** The model that a call uses. */
export interface ChosenModel {
  readonly callable: CallableModel;
  /** Set if it is not the requested one. */
  readonly fallback?: ModelFallback;
}

/** The parts of a call that decide its model. */
interface Call extends PermittedCaller {
  readonly parsed: ParsedCall;
  readonly format: ApiFormat;
}

/** Holds how much of their budgets projects have spent, as far as one gateway knows. */
export class BudgetFallbacks {
  private readonly shares = new Map<string, BudgetShare>();

  constructor(private readonly models: Pick<ModelReplica, 'resolve'>) {}

  /** Notes the share that the ledger returned with a hold. */
  note({ project }: Pick<Call, 'project'>, share: BudgetShare | undefined): void {
    if (project?.budgetFallback === undefined || share === undefined) return;
    if (this.shares.size >= projectsMax && !this.shares.has(project.id)) this.shares.clear();
    this.shares.set(project.id, share);
  }

  /** Returns the model that the call uses: the requested one, or the cheaper one. */
  choose(call: Call, requested: CallableModel, nowMs: number): ChosenModel {
    const fallback = call.project?.budgetFallback;
    const share = fallback === undefined ? undefined : this.shares.get(call.project!.id);
    if (fallback === undefined || share === undefined || share.spentPercent < fallback.fromPercent) return { callable: requested };
    const isPast = share.untilMs !== 0n && share.untilMs <= BigInt(nowMs);
    if (isPast || !call.project!.budgets.some(({ id }) => id === share.budgetId)) return { callable: requested };
    return this.cheaper(fallback.modelId, share, call, requested, nowMs) ?? { callable: requested };
  }

  /** Returns the model to try after a budget of the project refused the requested one; undefined for none. */
  afterRefusal(call: Call, requested: CallableModel, error: unknown, nowMs: number): ChosenModel | undefined {
    const fallback = call.project?.budgetFallback;
    if (fallback === undefined || !(error instanceof AppError) || error.reason !== 'budget_reached') return undefined;
    const { scope, budget_id: budgetId, limit_nano_usd: limit, spent_nano_usd: spent, resets_at: resetsAt } = error.details;
    if (scope !== 'project' || budgetId === undefined || limit === undefined || spent === undefined) return undefined;
    const spentPercent = limit === '0' ? 100 : Math.min(Number((BigInt(spent) * 100n) / BigInt(limit)), percentMax);
    const share = { budgetId, spentPercent, untilMs: BigInt(resetsAt === undefined ? 0 : Date.parse(resetsAt)) };
    this.note(call, share);
    // Whatever is spent: calls in flight may hold the rest, or the call may need more than is left.
    return this.cheaper(fallback.modelId, share, call, requested, nowMs);
  }

  private cheaper(
    modelId: string,
    { budgetId, spentPercent }: BudgetShare,
    call: Call,
    requested: CallableModel,
    nowMs: number,
  ): ChosenModel | undefined {
    const callable = this.usable(modelId, call, requested, nowMs);
    return callable && { callable, fallback: { requestedModelId: requested.model.id, budgetId, spentPercent } };
  }

  /** Returns the cheaper model if the call can use it and it costs no more for the same tokens. */
  private usable(modelId: string, call: Call, requested: CallableModel, nowMs: number): CallableModel | undefined {
    const { parsed, format } = call;
    // Vectors of different models cannot be compared.
    if (parsed.request.embedding !== undefined) return undefined;
    // Its upstream may have another format, which does not know what these fields mean.
    if (modelId === requested.model.id || (parsed.request.native?.refusedElsewhere.length ?? 0) > 0) return undefined;
    try {
      const cheaper = this.models.resolve(modelId, nowMs);
      if (!isPermitted(call, cheaper.model)) return undefined;
      assertReturns(cheaper.model, false);
      assertReads(cheaper.model, parsed.needs);
      assertForms(cheaper.model, parsed, format);
      const demand = { ...parsed, choices: Math.max(1, parsed.request.choices) };
      const [now, then] = [requested, cheaper].map(({ model, price }) => quoteCall(model, price, demand));
      const outputTokens = Math.min(now!.outputCapTokens, then!.outputCapTokens);
      const fits = cheaper.model.contextLimitTokens >= now!.inputTokensMax;
      return fits && costAtMost(then!.bound, outputTokens) <= costAtMost(now!.bound, outputTokens) ? cheaper : undefined;
    } catch (error) {
      // There is no such model now, or it cannot read the request.
      if (error instanceof AppError) return undefined;
      throw error;
    }
  }
}
