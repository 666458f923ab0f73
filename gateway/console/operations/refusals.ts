// Refused calls of an account, and their counts.
import type { Refusal } from '#proto/metering/v1/metering.js';
import { renderRefusal } from '../../render/refusal.js';
import { orNull } from '../render/values.js';
import { RefusalList, RefusalSearch, RefusalTotalList, RefusalTotals, type Refusal as View } from '../schemas/refusals.js';
import { refusalTotalsOf, searchRefusals } from '../search/refusal-search.js';
import { type Area, ok, operation } from '../table/operation.js';

export const refusals: Area = {
  title: 'Refusals',
  description:
    'Calls that were refused, and why. They are free and have no usage record. All are counted, but in a flood only some are stored.',
  operations: [
    operation('GET', '/accounts/{account}/refusals', {
      summary: 'List the stored refusals, newest first.',
      who: 'see projects',
      scope: 'usage:read',
      query: RefusalSearch,
      paged: true,
      answers: [ok(RefusalList)],
      handle: async (call, { peers }) => {
        const found = await searchRefusals(call.query, call, call.page, peers, call.context());
        return { data: found.refusals.map(rendered), next: orNull(found.nextPageToken) };
      },
    }),
    operation('GET', '/accounts/{account}/refusal-totals', {
      summary: 'Count all refused calls, grouped by one field or by two.',
      who: 'see projects',
      scope: 'usage:read',
      query: RefusalTotals,
      answers: [ok(RefusalTotalList)],
      handle: async (call, { peers }) => {
        const { groups } = await peers.metering.getRefusalTotals(refusalTotalsOf(call.query, call), call.context());
        return {
          data: groups.map(({ name, thenName, calls }) => ({ name: orNull(name), then_name: orNull(thenName), calls: Number(calls) })),
        };
      },
    }),
  ],
};

function rendered(refusal: Refusal): View {
  const { rule = null, field: _field, ...params } = refusal.details;
  return { ...renderRefusal(refusal), rule, params };
}
