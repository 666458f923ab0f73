// Redemption codes, for operators.
import { fieldFault } from '#client/errors/fault.js';
import { newId } from '#kit/id.js';
import { CreateRedemptionCodesRequest, ListRedemptionCodesRequest, RedemptionCodeState } from '#proto/ledger/v1/ledger.js';
import { amountNanoUsdMax } from '#rules/money/money.js';
import { renderCode } from '../../render/statement.js';
import { nanoUsdOf, orNull } from '../../render/values.js';
import { words } from '../../render/words.js';
import { futureMs } from '../../instants.js';
import { CodeList, CodesCreated, CreateCodes, ListCodes, Voided } from '../../schemas/operator/codes.js';
import { type Area, created, ok, operation } from '../../table/operation.js';
import { assertConfirmed } from './confirm.js';

export const codes: Area = {
  title: 'Operators: redemption codes',
  description: 'Codes that can each be redeemed once, by one account, for promotional credit.',
  operations: [
    operation('GET', '/operator/codes', {
      summary: 'List the codes, newest first.',
      who: 'operator',
      query: ListCodes,
      paged: true,
      answers: [ok(CodeList)],
      handle: async ({ query, page, context }, { peers, clock }) => {
        const state =
          query.state === undefined ? RedemptionCodeState.REDEMPTION_CODE_STATE_UNSPECIFIED : words.codeState.value(query.state);
        const request = ListRedemptionCodesRequest.fromPartial({ ...page, state, batchId: query.batch ?? '' });
        const { codes: found, nextPageToken } = await peers.ledger.listRedemptionCodes(request, context());
        const nowMs = clock.nowMs();
        return { data: found.map((code) => renderCode(code, nowMs)), next: orNull(nextPageToken) };
      },
    }),
    operation('POST', '/operator/codes', {
      summary: 'Create a batch of codes; one code if `count` is absent.',
      who: 'operator',
      body: CreateCodes,
      answers: [created(CodesCreated, 'This is the only answer that contains the codes.')],
      errors: {
        invalid_request: 'Also when the total of the codes is above `confirm_above_usd` and was not repeated in `confirm_amount_usd`.',
      },
      handle: async ({ body, visitor, context }, deps) => {
        const nowMs = deps.clock.nowMs();
        const request = CreateRedemptionCodesRequest.fromPartial({
          batchId: newId('batch'),
          amountNanoUsd: nanoUsdOf('amount_usd', body.amount_usd, amountNanoUsdMax),
          count: body.count ?? 1,
          note: body.note ?? '',
          createdBy: visitor.user.email,
          ...(body.expires_at == null ? {} : { expiresAtMs: futureMs('expires_at', body.expires_at, nowMs) }),
        });
        if (request.amountNanoUsd === 0n) throw fieldFault('amount_usd', 'positive');
        assertConfirmed(request.amountNanoUsd * BigInt(request.count), body, deps);
        const { codes: made, secrets } = await deps.peers.ledger.createRedemptionCodes(request, context());
        return {
          batch_id: request.batchId,
          data: made.map((code, index) => ({ ...renderCode(code, nowMs), code: secrets[index] ?? null })),
        };
      },
    }),
    operation('POST', '/operator/codes/{id}/void', {
      summary: 'Void a code, or all unredeemed codes of a batch.',
      who: 'operator',
      answers: [ok(Voided)],
      errors: { failed_precondition: 'The code has been redeemed.' },
      handle: async ({ params: { id }, context }, deps) => {
        const { voided } = await deps.peers.ledger.voidRedemptionCodes({ id }, context());
        return { voided };
      },
    }),
  ],
};
