// The ledger's rules as one pure function: no clock, no await, no database. The README's outcome table says what it decides.
import assert from 'node:assert/strict';
import type { Applied, Operation, ReplyTo, Touched } from '../books/model.js';
import { applyCheckpoint } from './checkpoint.js';
import { applyAdjust, applyDeposit } from './credit.js';
import { applyHold } from './hold.js';
import { applyRefund } from './refund.js';
import { applyExpire, applyRelease } from './release.js';
import { applyReverse, applyReverseRefund } from './reverse.js';
import { applySettle } from './settle.js';

/**
 * Returns the reply to the operation and its changes, given the rows it touches. Nothing is mutated: the caller applies the
 * changes, so that many operations can be applied one after another in memory and written together.
 */
export function apply<O extends Operation>(touched: Touched, operation: O, nowMs: number): Applied<ReplyTo<O>>;
export function apply(touched: Touched, operation: Operation, nowMs: number): Applied<ReplyTo<Operation>> {
  switch (operation.kind) {
    case 'hold':
      return applyHold(touched, operation, nowMs);
    case 'checkpoint':
      return applyCheckpoint(touched, operation, nowMs);
    case 'settle':
      return applySettle(touched, operation, nowMs);
    case 'release':
      return applyRelease(touched, operation, nowMs);
    case 'expire':
      return applyExpire(touched, operation, nowMs);
    case 'deposit':
      return applyDeposit(touched, operation, nowMs);
    case 'adjust':
      return applyAdjust(touched, operation, nowMs);
    case 'refund':
      return applyRefund(touched, operation, nowMs);
    case 'reverse':
      return applyReverse(touched, operation, nowMs);
    case 'reverse_refund':
      return applyReverseRefund(touched, operation, nowMs);
    default:
      throw new assert.AssertionError({ message: `There is no operation ${String(operation satisfies never)}.` });
  }
}
