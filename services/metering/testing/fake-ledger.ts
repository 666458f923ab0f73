// A ledger for tests: idempotent like the real one, and able to be unavailable, to refuse and to be short of money.
import { AppError } from '#client/errors/app-error.js';
import {
  CheckpointResponse,
  type CheckpointRequest,
  Hold,
  HoldState,
  type RefundRequest,
  RefundResponse,
  type SettleRequest,
  SettleResponse,
  VerifyResponse,
} from '#proto/ledger/v1/ledger.js';
import type { MeteringDeps } from '../index.js';

/** A fake ledger. Set its fields to make it misbehave; read them to see what reached it. */
export class FakeLedger {
  /** The first settlement of each hold. */
  readonly settled = new Map<string, SettleRequest>();
  /** The refund of each idempotency key. */
  readonly refunds = new Map<string, RefundRequest>();
  /** Refunds that were requested, repeats included. */
  refundDeliveries = 0;
  /** Settlements that were requested, repeats included. */
  deliveries = 0;
  readonly checkpoints: CheckpointRequest[] = [];
  /** Every call fails as if the process were down. */
  isUnavailable = false;
  /** Settlements are executed but their responses are lost. */
  losesAnswers = false;
  /** Holds whose settlement or refund is refused permanently. */
  readonly refused = new Set<string>();
  /** Holds that are no longer open. */
  readonly closedHolds = new Set<string>();
  /** The maximum of every capture. */
  capturedMaxNanoUsd = 2n ** 62n;

  /** The part that metering sees. */
  readonly client: MeteringDeps['ledger'] = {
    settle: async (request) => this.settle(request),
    refund: async (request) => this.refund(request),
    checkpoint: async (request) => this.checkpoint(request),
    batchGetHolds: async ({ items }) => {
      this.requireAvailable();
      const holds = this.holds().filter(({ id, accountId }) => items.some((item) => item.holdId === id && item.accountId === accountId));
      return { holds, archivedUntilMs: 0n };
    },
    listHolds: async () => ({ holds: this.holds(), nextPageToken: '' }),
    verify: async () => VerifyResponse.fromPartial({}),
  };

  /** Makes each settlement from now on wait until the function that it adds to the returned list is called. */
  delaySettlements(): (() => void)[] {
    const { settle } = this.client;
    const answers: (() => void)[] = [];
    this.client.settle = async (...request) => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return settle(...request);
    };
    return answers;
  }

  private requireAvailable(): void {
    if (this.isUnavailable) throw new AppError('service_unavailable', 'The ledger cannot be reached.');
  }

  private holds(): Hold[] {
    return [...this.settled.values()].map(({ holdId, accountId, keyId, costNanoUsd }) => {
      return Hold.fromPartial({ id: holdId, accountId, keyId, capturedNanoUsd: costNanoUsd, state: HoldState.HOLD_STATE_SETTLED });
    });
  }

  private settle(request: SettleRequest): SettleResponse {
    this.requireAvailable();
    this.deliveries += 1;
    if (this.refused.has(request.holdId)) throw new AppError('hold_closed', 'The hold was released.');
    const first = this.settled.get(request.holdId);
    if (first !== undefined && first.costNanoUsd !== request.costNanoUsd)
      throw new AppError('idempotency_mismatch', 'Settled at another cost.');
    this.settled.set(request.holdId, first ?? request);
    if (this.losesAnswers) throw new AppError('deadline_exceeded', 'No answer came in time.');
    const cost = request.costNanoUsd;
    const captured = cost < this.capturedMaxNanoUsd ? cost : this.capturedMaxNanoUsd;
    return SettleResponse.fromPartial({
      hold: { id: request.holdId, capturedNanoUsd: captured, shortfallNanoUsd: cost - captured },
      replayed: first !== undefined,
    });
  }

  private refund(request: RefundRequest): RefundResponse {
    this.requireAvailable();
    this.refundDeliveries += 1;
    if (this.refused.has(request.holdId)) throw new AppError('not_found', 'No charge of this call.');
    this.refunds.set(request.idempotencyKey, request);
    if (this.losesAnswers) throw new AppError('deadline_exceeded', 'No answer came in time.');
    return RefundResponse.fromPartial({});
  }

  private checkpoint(request: CheckpointRequest): CheckpointResponse {
    this.requireAvailable();
    this.checkpoints.push(request);
    return { renewed: request.items.map((item) => !this.closedHolds.has(item.holdId)) };
  }
}
