// Creates calls in the past, and many calls in flight, which is impossible or slow through the gateway: holds, records and settles them with the
// services, as the gateway does.
import { newId } from '#kit/id.js';
import { callContext } from '#client/call-context.js';
import { parseCliConfig } from '../../cli/config.js';
import { connect } from '../../cli/connect.js';
import { holdRequest } from '../../services/ledger/testing/requests.js';
import { call, report, tokens } from '../../services/metering/testing/calls.js';
import type { System } from '../support/systems/system.js';

const context = () => callContext({ caller: 'operator', timeoutMs: 15_000 });

/** Holds one nano-dollar for each of `count` calls. The returned function releases the holds. */
export async function holdCalls(
  system: System,
  { accountId, keyId }: { accountId: string; keyId: string },
  count: number,
): Promise<() => Promise<void>> {
  const services = await connect(parseCliConfig(system.operatorEnv()));
  const ids = Array.from({ length: count }, () => newId('req'));
  for (const holdId of ids) await services.ledger.hold(holdRequest({ accountId, keyId }, 1n, { holdId }), context());
  return async () => {
    for (const holdId of ids) await services.ledger.release({ holdId, accountId }, context());
    services.close();
  };
}

/** Records a call at each of these instants, each more expensive than the previous one. The account must have the funds. */
export async function recordPastCalls(
  system: System,
  { accountId, keyId }: { accountId: string; keyId: string },
  instantsMs: readonly number[],
): Promise<void> {
  const services = await connect(parseCliConfig(system.operatorEnv()));
  try {
    for (const [index, ms] of instantsMs.entries()) {
      const id = newId('req', ms);
      await services.ledger.hold(holdRequest({ accountId, keyId }, 5_000_000n, { holdId: id }), context());
      const past = call({ id, accountId, keyId, modelId: index % 3 === 0 ? 'sandbox/story' : 'sandbox/echo', startedAtMs: BigInt(ms) });
      await services.metering.recordUsage(report({ call: past, tokens: tokens({ inputTokens: index + 1, outputTokens: 1 }) }), context());
    }
  } finally {
    services.close();
  }
}
