import { describe, expect, it } from '@jest/globals';
import { BadRequest, ErrorInfo, RetryInfo } from '#google/rpc/error_details.js';
import { Status } from '#google/rpc/status.js';
import { AppError } from './app-error.js';
import { decodeRpcStatus, encodeRpcStatus } from './rpc-status.js';

const error = new AppError('balance_held', 'Calls in flight hold the balance.', {
  details: { available_nano_usd: '12', field: 'amount_nano_usd' },
  retryAfterMs: 1250,
});

describe('an error on the wire', () => {
  it('is a google.rpc.Status with the standard details', () => {
    const { code, message, details } = Status.decode(encodeRpcStatus(error));
    expect({ code, message }).toEqual({ code: 9, message: 'Calls in flight hold the balance.' });
    expect(details.map(({ typeUrl }) => typeUrl)).toEqual([
      'type.googleapis.com/google.rpc.ErrorInfo',
      'type.googleapis.com/google.rpc.RetryInfo',
      'type.googleapis.com/google.rpc.BadRequest',
    ]);
    expect(ErrorInfo.decode(details[0]!.value)).toEqual({
      reason: 'BALANCE_HELD',
      domain: 'tollgate',
      metadata: { available_nano_usd: '12', field: 'amount_nano_usd' },
    });
    expect(RetryInfo.decode(details[1]!.value)).toEqual({ retryDelay: { seconds: 1n, nanos: 250_000_000 } });
    expect(BadRequest.decode(details[2]!.value)).toEqual({
      fieldViolations: [{ field: 'amount_nano_usd', description: 'Calls in flight hold the balance.' }],
    });
  });

  it('arrives as it was thrown', () => {
    expect(decodeRpcStatus(encodeRpcStatus(error))).toMatchObject({
      reason: 'balance_held',
      message: error.message,
      details: error.details,
      retryAfterMs: 1250,
      remote: true,
    });
  });

  it('with a reason of a later version is internal', () => {
    const status = Status.decode(encodeRpcStatus(error));
    status.details[0]!.value = Buffer.from(ErrorInfo.encode({ reason: 'TOMORROW', domain: 'tollgate', metadata: {} }).finish());
    expect(decodeRpcStatus(Status.encode(status).finish())).toMatchObject({ reason: 'internal' });
  });

  it('from another system, or that is not a status, is not decoded', () => {
    const foreign = {
      typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo',
      value: Buffer.from(ErrorInfo.encode({ reason: 'X', domain: 'other', metadata: {} }).finish()),
    };
    expect(decodeRpcStatus(Status.encode({ code: 9, message: 'No.', details: [foreign] }).finish())).toBeUndefined();
    expect(decodeRpcStatus(Buffer.from('not a status'))).toBeUndefined();
  });
});
