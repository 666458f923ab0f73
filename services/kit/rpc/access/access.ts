// Decorator that decides which caller may call which RPC, for which accounts and on behalf of which users. The rules come from the contracts. The
// grants are built in for the processes of the installation, and kept by auth for all other callers.
import { accessTable } from '#proto/access.js';
import { builtInCallers } from '#rules/access/callers.js';
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { systemClock } from '../../clock.js';
import { ActorVerifier } from '../actor-token.js';
import { type CallContext, changedContext, timerMsMax } from '#client/call-context.js';
import type { CallScope, Decorator } from '../chain/decorate.js';
import { idsAt } from './ids-at.js';
import { CallerDirectory, type RegisteredCaller } from './caller-directory.js';
import { includesProject, projectsOf } from './projects.js';
import { type AccessRule, type AccessTable, type BuiltInCallers, satisfies } from './rules.js';

/** The caller that every RPC admits: the command line, and the program that composes the system. */
export const operator = 'operator';

/** The rules and built-in callers; tests pass their own tables. */
export interface AccessOptions {
  readonly table?: AccessTable;
  readonly builtIn?: BuiltInCallers;
  /** How long a call with a token waits for the first keys after a start, in milliseconds. */
  readonly keysWaitMs?: number;
}

/** A registered caller that is admitted now. */
interface Admitted {
  readonly name: string;
  /** When its certificate stops being accepted (epoch ms); undefined if no such time is known. */
  readonly untilMs: number | undefined;
}

/** Decides which caller may call what in one process. */
export class Access {
  /** The registered callers, which `followCallers` keeps current; until then they are refused. */
  readonly callers = new CallerDirectory();
  /** Verifies on behalf of which user a caller acts; `followCallers` keeps its keys current too. */
  readonly actors: ActorVerifier;
  private readonly table: AccessTable;
  private readonly keysWaitMs: number;
  private readonly builtIn: ReadonlyMap<string, { readonly grants: 'all' | ReadonlySet<string>; readonly forUsers: boolean }>;

  constructor({ table = accessTable, builtIn = builtInCallers, keysWaitMs = 1500 }: AccessOptions = {}) {
    this.actors = new ActorVerifier(systemClock);
    this.table = table;
    this.keysWaitMs = keysWaitMs;
    this.builtIn = new Map(
      Object.entries(builtIn).map(([name, { grants, forUsers }]) => [
        name,
        { grants: grants === 'all' ? grants : new Set(grants), forUsers },
      ]),
    );
  }

  /**
   * Raises peer_not_permitted unless the caller holds the RPC's grant for every account that the request names; role_not_permitted
   * when the user on whose behalf it acts lacks the required role, or the user's management key lacks the scope;
   * actor_refused when the token of the user is invalid; and service_unavailable when this process cannot know whether a registered caller
   * may still call, or has no keys yet to verify the token. Throws for a method without a rule.
   */
  readonly decorator: Decorator = (method) => {
    const rule = this.table[method.fullName];
    if (rule === undefined) throw new Error(`${method.fullName} has no access option.`);
    const isStream = method.definition.responseStream;
    const accountIdsOf = (request: unknown): string[] | undefined =>
      rule.accountPath === undefined ? undefined : idsAt(request, rule.accountPath);
    return (context, request) => {
      const builtIn = context.identity === undefined ? this.builtIn.get(context.caller) : undefined;
      if (builtIn !== undefined) {
        if (builtIn.grants !== 'all' && rule.grant !== '' && !builtIn.grants.has(rule.grant))
          throw grantMissing(context.caller, rule.grant);
        return this.withActor(context, (proven) => {
          assertScope(proven, rule);
          if (builtIn.forUsers && rule.role !== undefined) assertRole(proven, rule, method.fullName, request);
          return { context: proven };
        });
      }
      const admit = (): Admitted => this.admit(context, rule, method.fullName, accountIdsOf(request));
      const { name, untilMs } = admit();
      this.callers.noteSeen(name);
      const named =
        name === context.caller ? context : changedContext(context, { caller: name, identity: context.identity ?? context.caller });
      return this.withActor(named, (proven) => {
        assertScope(proven, rule);
        return isStream ? this.whileAdmitted(proven, admit, untilMs) : { context: proven };
      });
    };
  };

  /** Continues with the actor that the call's token proves; synchronously when there is no token, as in every call of the hot path. */
  private withActor(context: CallContext, next: (proven: CallContext) => CallScope): CallScope | Promise<CallScope> {
    const { actorToken, caller } = context;
    if (actorToken === undefined) return next(context);
    if (!this.actors.hasKeys()) return this.whenKeysArrive(context, next);
    const actor = this.actors.verify(actorToken, caller);
    return actor instanceof Promise
      ? actor.then((proven) => next(changedContext(context, { actor: proven })))
      : next(changedContext(context, { actor }));
  }

  private async whenKeysArrive(context: CallContext, next: (proven: CallContext) => CallScope): Promise<CallScope> {
    await this.actors.keysOrTimeout(this.keysWaitMs);
    if (this.actors.hasKeys()) return this.withActor(context, next);
    const message = 'The acting user cannot be verified at the moment; try again.';
    throw new AppError('service_unavailable', message, { retryAfterMs: 1000 });
  }

  private admit(context: CallContext, rule: AccessRule, rpc: string, accountIds: string[] | undefined): Admitted {
    if (!this.callers.isCurrent()) {
      throw new AppError('service_unavailable', 'Grants cannot be checked at the moment; try again.', { retryAfterMs: 1000 });
    }
    const caller = this.callers.find(context.identity ?? context.caller);
    if (caller === undefined) throw unknownCaller(context, rule.grant);
    const untilMs = assertCertificate(caller, context);
    if (rule.grant !== '' && !caller.grants.has(rule.grant)) throw grantMissing(caller.name, rule.grant);
    if (caller.accountIds !== undefined && rule.perOperation !== true && rule.anyAccount !== true) {
      assertAccounts(caller, rpc, accountIds);
    }
    return { name: caller.name, untilMs };
  }

  /** Aborts a stream when its caller is no longer admitted, and raises the refusal however the method ends. Its certificate is accepted until `untilMs`. */
  private whileAdmitted(context: CallContext, admit: () => Admitted, untilMs: number | undefined): CallScope {
    const call = new AbortController();
    const onAbort = (): void => call.abort(context.signal.reason);
    let refusal: unknown;
    let timer: NodeJS.Timeout | undefined;
    const check = (): void => {
      try {
        checkAt(admit().untilMs);
      } catch (error) {
        refusal ??= error;
        call.abort(error);
      }
    };
    const checkAt = (atMs: number | undefined): void => {
      clearTimeout(timer);
      timer = atMs === undefined ? undefined : setTimeout(check, Math.min(atMs - Date.now(), timerMsMax)).unref();
    };
    checkAt(untilMs);
    const stopListening = this.callers.onChange(check);
    context.signal.addEventListener('abort', onAbort, { once: true });
    if (context.signal.aborted) onAbort();
    return {
      context: changedContext(context, { signal: call.signal }),
      end(error) {
        stopListening();
        clearTimeout(timer);
        context.signal.removeEventListener('abort', onAbort);
        return refusal ?? error;
      },
    };
  }
}

/** Returns when the certificate of the call stops being accepted (epoch ms); undefined if no such time is known. */
function assertCertificate(caller: RegisteredCaller, { certificateSha256 }: CallContext): number | undefined {
  // Without TLS there is no certificate: such a server accepts connections only from where callers are trusted without one.
  if (certificateSha256 === undefined || caller.certificates.length === 0) return undefined;
  const nowMs = Date.now();
  const accepted = caller.certificates.find(
    ({ sha256, untilMs }) => sha256 === certificateSha256 && (untilMs === undefined || nowMs < untilMs),
  );
  if (accepted !== undefined) return accepted.untilMs;
  throw new AppError(
    'peer_not_permitted',
    `This certificate of "${caller.name}" was replaced. An operator can issue a new one: ./tollgate caller rotate ${caller.name}`,
  );
}

function assertAccounts(caller: RegisteredCaller, rpc: string, accountIds: string[] | undefined): void {
  const { name, accountIds: permitted } = caller;
  const refused = accountIds?.find((id) => id === '' || !permitted!.has(id));
  if (accountIds !== undefined && accountIds.length > 0 && refused === undefined) return;
  const fault =
    accountIds === undefined
      ? `and ${rpc} is not about a single account`
      : refused === undefined || refused === ''
        ? 'and the request must name one of them'
        : `and "${refused}" is not one of them`;
  const fix =
    refused === undefined || refused === '' ? '' : ` An operator can add it: ./tollgate caller update ${name} --account ${refused}`;
  throw new AppError('peer_not_permitted', `"${name}" is limited to certain accounts, ${fault}.${fix}`);
}

/** RPCs that neither require a user nor concern an account are open to management keys too. */
function assertScope({ actor }: CallContext, { role, accountPath, scopes }: AccessRule): void {
  if (actor?.managementKey === undefined || (role === undefined && accountPath === undefined)) return;
  if (scopes?.some((scope) => actor.managementKey!.scopes.has(scope)) === true) return;
  if (scopes === undefined) throw fault('no_scope', {});
  throw fault('scope_missing', { scope: scopes.join(' or ') });
}

function assertRole(context: CallContext, rule: AccessRule, rpc: string, request: unknown): void {
  const { actor } = context;
  const role = rule.role!;
  if (actor === undefined) {
    throw new AppError('peer_not_permitted', `"${context.caller}" may call ${rpc} only for a signed-in user, and the call names none.`);
  }
  if (actor.isOperator || role === 'user') return;
  const accountIds = rule.accountPath === undefined ? [] : idsAt(request, rule.accountPath);
  const may = (id: string): boolean => id !== '' && (satisfies(actor.roles.get(id), role) || mayInProjects(context, rule, id, request));
  if (accountIds.length > 0 && accountIds.every(may)) return;
  throw new AppError(
    'role_not_permitted',
    role === 'operator'
      ? 'Only an operator may do this.'
      : `This requires the role "${role}" in the account${rule.projectPath === undefined && rule.someProject !== true ? '' : ' or the project'}.`,
  );
}

/** Reports whether the user's roles in projects of the account are enough. */
function mayInProjects(context: CallContext, { role, projectPath, someProject }: AccessRule, accountId: string, request: unknown): boolean {
  if (role !== 'viewer' && role !== 'developer') return false;
  const projects = projectsOf(context, accountId, role);
  if (projectPath === undefined) return someProject === true && (projects === 'all' || projects.size > 0);
  const named = idsAt(request, projectPath);
  return named.length > 0 && named.every((id) => includesProject(projects, id));
}

function grantMissing(name: string, grant: string): AppError {
  return new AppError(
    'peer_not_permitted',
    `"${name}" lacks the grant "${grant}". An operator can add it: ./tollgate caller update ${name} --may ${grant}`,
  );
}

function unknownCaller({ caller }: CallContext, grant: string): AppError {
  const may = grant === '' ? '' : ` --may ${grant}`;
  const fix = caller.startsWith('spiffe://')
    ? `./tollgate caller add NAME --identity ${printable(caller)}${may}`
    : `./tollgate caller add ${printable(caller)}${may}`;
  return new AppError('peer_not_permitted', `"${printable(caller)}" is not a known caller. An operator can add it: ${fix}`);
}

/** Returns a name from outside, safe to show. */
function printable(name: string): string {
  return name.replace(/[^\w.:/@+-]/g, '?').slice(0, 200);
}
