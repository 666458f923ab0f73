// Notes in the audit log what the operator's command did, as "operator CLI". What was done stays done when the note fails, and the
// person is told.
import { AppendAuditRequest } from '#proto/auth/v1/users.js';
import { operatorCall, type Services } from './connect.js';
import { type Deed, deeds, type NotedServices } from './deeds.js';

/** Who did it, in the log. */
const cliActorName = 'operator CLI';

type Call = (request: unknown, context: unknown) => Promise<unknown>;
interface AnyNoted {
  before?(request: unknown, services: Services): Promise<unknown>;
  deed(request: unknown, response: unknown, before: unknown): Deed | undefined;
}

/** The same services, whose changes are noted. `userName` is that of the person at the machine; `warn` tells of a note that was lost. */
export function audited(services: Services, userName: string | undefined, warn: (text: string) => void): Services {
  async function note({ detail, ...done }: Deed): Promise<void> {
    const entry = {
      ...done,
      actorName: cliActorName,
      detailJson: JSON.stringify(userName === undefined ? detail : { ...detail, machine_user: userName }),
    };
    try {
      await services.users.appendAudit(AppendAuditRequest.fromPartial({ event: entry }), operatorCall());
    } catch (error) {
      warn(`It was done, but could not be noted in the audit log: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const noted = { ...services } as unknown as Record<string, unknown>;
  for (const [name, methods] of Object.entries(deeds) as [keyof NotedServices, Record<string, AnyNoted>][]) {
    const client = services[name] as unknown as Record<string, Call>;
    const wrapped = Object.entries(methods).map(([method, { before, deed }]): [string, Call] => [
      method,
      async (request, context) => {
        const was = await before?.(request, services).catch(() => undefined);
        const response = await client[method]!(request, context);
        const done = deed(request, response, was);
        if (done !== undefined) await note(done);
        return response;
      },
    ]);
    noted[name] = { ...client, ...Object.fromEntries(wrapped) };
  }
  return noted as unknown as Services;
}
