// Callers, for operators: the processes outside the installation that may call its services. The CLI adds and changes them.
import { renderCaller } from '../../render/callers.js';
import { CallerList } from '../../schemas/operator/callers.js';
import { type Area, ok, operation } from '../../table/operation.js';

export const callers: Area = {
  title: 'Operators: callers',
  description: 'Processes that call the services over gRPC under their own name.',
  operations: [
    operation('GET', '/operator/callers', {
      summary: 'List all callers by name, including revoked ones.',
      who: 'operator',
      answers: [ok(CallerList)],
      handle: async ({ context }, { peers }) => {
        const { callers: found } = await peers.callers.listCallers({}, context());
        return { data: found.map(renderCaller), next: null };
      },
    }),
  ],
};
