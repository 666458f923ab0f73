// Requests with the fields that do not matter to a test filled in.
import { newId } from '#kit/id.js';
import {
  DepositSource,
  type DepositRequest,
  type HoldRequest,
  type LedgerService,
  type RefundRequest,
  type SettleRequest,
} from '#proto/ledger/v1/ledger.js';

/** An account with a key, as one customer. */
export interface Customer {
  readonly accountId: string;
  readonly keyId: string;
}

export function newCustomer(): Customer {
  return { accountId: newId('acct'), keyId: newId('key') };
}

export function depositRequest(customer: Customer, amountNanoUsd: bigint, fields: Partial<DepositRequest> = {}): DepositRequest {
  const { accountId } = customer;
  return { idempotencyKey: newId('deposit'), accountId, amountNanoUsd, source: DepositSource.DEPOSIT_SOURCE_CASH, reason: '', ...fields };
}

export function holdRequest(customer: Customer, amountNanoUsd: bigint, fields: Partial<HoldRequest> = {}): HoldRequest {
  return {
    holdId: newId('req'),
    accountId: customer.accountId,
    keyId: customer.keyId,
    keyLimit: { limitNanoUsd: undefined, version: 1n },
    amountNanoUsd,
    minAmountNanoUsd: amountNanoUsd,
    ttlMs: 60_000,
    budgets: [],
    timeZone: '',
    ...fields,
  };
}

export function settleRequest(customer: Customer, holdId: string, costNanoUsd: bigint): SettleRequest {
  return { ...customer, holdId, costNanoUsd };
}

export function refundRequest(
  customer: Customer,
  holdId: string,
  amountNanoUsd?: bigint,
  fields: Partial<RefundRequest> = {},
): RefundRequest {
  return { idempotencyKey: newId('refund'), accountId: customer.accountId, holdId, amountNanoUsd, reason: 'a test', ...fields };
}

/** Creates a customer with this much credit. */
export async function fundedCustomer(service: LedgerService, amountNanoUsd: bigint): Promise<Customer> {
  const customer = newCustomer();
  await service.deposit(depositRequest(customer, amountNanoUsd));
  return customer;
}

/** Returns the reason of the refusal, and its details; fails the test when the call succeeded. */
export async function refusalOf(
  call: Promise<unknown>,
): Promise<{ reason: string; details: Record<string, string>; retryAfterMs?: number; message: string }> {
  try {
    await call;
  } catch (error) {
    return error as { reason: string; details: Record<string, string>; message: string };
  }
  throw new Error('The call succeeded.');
}
