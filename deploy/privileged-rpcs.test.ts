// The gateway's certificate alone gives no privileges: every RPC whose contract requires a role is refused over mutual TLS, and changes nothing,
// without a valid token of a user with that role. The RPCs are read from the contracts, so that new ones are covered automatically.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import type { Database } from '#kit/db/open.js';
import { AppError } from '#client/errors/app-error.js';
import { Access } from '#kit/rpc/access/access.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { methodsOf, type ServiceDefinition, type UnaryHandler } from '#client/definition.js';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { type GrpcServer, serveGrpc } from '#kit/rpc/grpc/grpc-server.js';
import { followCallers } from '#kit/rpc/access/follow-callers.js';
import { localClient } from '#kit/rpc/local/local-client.js';
import { decorateService } from '#kit/rpc/chain/standard-chain.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import { fixedSecretKeys } from '#kit/secrets/secret-keys.js';
import { offer } from '#kit/process/service-process.js';
import { type ActorTokenFields, signActorToken, testActorSigner } from '#kit/testing/actor-tokens.js';
import { createTestAuthority } from '#kit/testing/certificates.js';
import { createTestDatabase, type TestDatabase } from '#kit/testing/database.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { accessTable } from '#proto/access.js';
import { AuthServiceDefinition, CreateAccountRequest } from '#proto/auth/v1/auth.js';
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { CreateUserRequest, UserServiceDefinition } from '#proto/auth/v1/users.js';
import { NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { WebhookServiceDefinition } from '#proto/auth/v1/webhooks.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { DepositSource, LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { PaymentServiceDefinition } from '#proto/ledger/v1/payments.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { builtInCallers } from '#rules/access/callers.js';
import { scopes } from '#rules/access/scopes.js';
import type { AccessRule } from '#kit/rpc/access/rules.js';
import { silentLog as log } from '#kit/testing/log.js';
import { SigningKeyStore } from '../services/auth/actors/signing-key-store.js';
import { SigningKeys } from '../services/auth/actors/signing-keys.js';
import { authSettings, createAuth } from '../services/auth/index.js';
import { catalogSettings, createCatalog } from '../services/catalog/index.js';
import { createInference, inferenceSettings } from '../services/inference/index.js';
import { createAlerts, createLedger, createPayments, ledgerSettings, paymentSettings } from '../services/ledger/index.js';
import { createMetering, meteringSettings } from '../services/metering/index.js';

/** An RPC that requires a role. */
interface Privileged {
  readonly rpc: string;
  readonly rule: AccessRule;
  readonly call: (fields: object, context: CallContext) => Promise<unknown>;
}

const clock = systemClock;
const refusals = ['peer_not_permitted', 'actor_refused', 'role_not_permitted'];

describe('the gateway’s certificate', () => {
  const databases: Record<string, TestDatabase> = {};
  const parts: { start(): Promise<void>; stop(): Promise<void> }[] = [];
  const privileged: Privileged[] = [];
  let server: GrpcServer;
  let gateway: GrpcConnection;
  let operator: GrpcConnection;
  let accountId: string;
  let sign: (fields: ActorTokenFields, key?: 'forged') => Promise<string>;

  beforeAll(async () => {
    for (const name of ['auth', 'catalog', 'ledger', 'metering', 'inference']) databases[name] = await createTestDatabase('sqlite');
    const db = (name: string): Database => databases[name]!.db;
    const secretKeys = fixedSecretKeys(randomBytes(32));
    const access = new Access();
    const chain = { access, log };
    const auth = createAuth(parseSettings(authSettings, {}), {
      db: db('auth'),
      clock,
      log,
      mailer: undefined,
      publicUrl: undefined,
      secretKeys,
    });
    const people = decorateService(UserServiceDefinition, auth.users.service, chain);
    const notifications = decorateService(NotificationServiceDefinition, auth.notifications.service, chain);
    const authFor = (caller: string) => localClient(UserServiceDefinition, people, { caller });
    const catalog = createCatalog(parseSettings(catalogSettings, {}), { db: db('catalog'), clock, log, auth: authFor('catalog') });
    const ledgerDeps = { db: db('ledger'), clock, log, access, auth: authFor('ledger') };
    const ledger = createLedger(parseSettings(ledgerSettings, {}), ledgerDeps);
    const alerts = createAlerts(parseSettings(ledgerSettings, {}), {
      ...ledgerDeps,
      auditLog: ledger.auditLog,
      notifications: localClient(NotificationServiceDefinition, notifications, { caller: 'ledger' }),
      publicUrl: undefined,
    });
    const payments = createPayments(parseSettings(paymentSettings, {}), { ledger, accounts: auth.service, clock, log });
    const metering = createMetering(parseSettings(meteringSettings, {}), {
      db: db('metering'),
      clock,
      log,
      access,
      ledger: localClient(LedgerServiceDefinition, decorateService(LedgerServiceDefinition, ledger.service, chain), { caller: 'metering' }),
      catalog: localClient(CatalogServiceDefinition, decorateService(CatalogServiceDefinition, catalog.service, chain), {
        caller: 'metering',
      }),
      auth: authFor('metering'),
    });
    const inference = createInference(parseSettings(inferenceSettings, {}), {
      db: db('inference'),
      clock,
      log,
      secretKeys,
      auth: authFor('inference'),
    });
    const following = followCallers({ access, source: auth.callers.service, caller: 'auth', clock, log });
    parts.push(auth, following, catalog, ledger, alerts, payments, metering, inference);
    for (const part of parts) await part.start();
    const offers = [
      offer(AuthServiceDefinition, auth),
      offer(CallerServiceDefinition, auth.callers),
      offer(NotificationServiceDefinition, auth.notifications),
      offer(WebhookServiceDefinition, auth.webhooks),
      offer(UserServiceDefinition, auth.users),
      offer(CatalogServiceDefinition, catalog),
      offer(LedgerServiceDefinition, ledger),
      offer(AlertServiceDefinition, alerts),
      offer(PaymentServiceDefinition, payments),
      offer(MeteringServiceDefinition, metering),
      offer(InferenceServiceDefinition, inference),
    ].map((each) => each.served(chain));
    const authority = createTestAuthority();
    server = await serveGrpc({ services: offers, address: 'localhost:0', tls: authority.issue('auth'), log });
    gateway = dialGrpc(server.address, { caller: 'gateway', tls: authority.issue('gateway') });
    operator = dialGrpc(server.address, { caller: 'operator', tls: authority.issue('operator') });
    authority.drop();
    for (const { definition } of offers) privileged.push(...privilegedOf(definition, gateway));

    const keys = new SigningKeys({
      store: new SigningKeyStore(db('auth')),
      box: new SecretBox(secretKeys),
      clock,
      log,
      lifeMs: 86_400_000,
    });
    await keys.refresh();
    const { kid, privateKey } = keys.current();
    sign = (fields, key) =>
      key === 'forged' ? testActorSigner(kid).sign(clock.nowMs(), fields) : signActorToken(privateKey, kid, clock.nowMs(), fields);
    await untilTrue(() => access.actors.hasKeys());

    const { account } = await operator
      .client(AuthServiceDefinition)
      .createAccount(CreateAccountRequest.fromPartial({ name: 'Acme' }), callContext({ caller: 'operator' }));
    accountId = account!.id;
    await operator
      .client(UserServiceDefinition)
      .createUser(
        CreateUserRequest.fromPartial({ email: 'boss@example.com', name: 'Boss', isOperator: true }),
        callContext({ caller: 'operator' }),
      );
    // The services store their audit events before they send them.
    await untilStill(contents);
  });

  afterAll(async () => {
    gateway?.close();
    operator?.close();
    await server?.stop(0);
    for (const part of parts.toReversed()) await part.stop();
    for (const database of Object.values(databases)) await database.drop();
  });

  const outcomeOf = async (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'done',
      (error: unknown) => (error instanceof AppError ? error.reason : String(error)),
    );
  const asGateway = (actorToken?: string): CallContext => callContext({ caller: 'gateway', timeoutMs: 10_000, actorToken });
  const contents = async (): Promise<string> => {
    const tables = await Promise.all(Object.entries(databases).map(async ([name, { db }]) => [name, await rowsOf(db)]));
    return JSON.stringify(tables, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  };

  it('is refused by every RPC without a valid token of a user who has its role', async () => {
    expect(privileged.length).toBeGreaterThan(50);
    const seconds = Math.floor(clock.nowMs() / 1000);
    const everything = { operator: true, roles: { [accountId]: 'owner' } };
    const tokens: Record<string, string | undefined> = {
      none: undefined,
      nonsense: 'x.y.z',
      expired: await sign({ ...everything, iat: seconds - 400, exp: seconds - 100 }),
      'for another audience': await sign({ ...everything, aud: 'somewhere' }),
      'of another caller': await sign({ ...everything, azp: 'metering' }),
      forged: await sign(everything, 'forged'),
    };
    const lesser = await sign({ operator: false, roles: { [accountId]: 'viewer' } });
    const elsewhere = await sign({ operator: false, roles: { acct_0123456789abcdef0123456789abcdef: 'owner' } });
    const inProject = await sign({
      operator: false,
      roles: { [accountId]: 'member' },
      project_roles: { [accountId]: { proj_1: 'developer' } },
    });
    const owner = (...granted: string[]): Promise<string> =>
      sign({ operator: false, roles: { [accountId]: 'owner' }, management_key: { id: 'mkey_1', name: 'CI', scopes: granted } });
    const byKey = { all: await owner(...scopes), none: await owner() };
    const before = await contents();
    const open: string[] = [];
    for (const { rpc, rule, call } of privileged) {
      const fields = fieldsNaming(rule.accountPath, accountId);
      const tries = { ...tokens };
      if (rule.role !== 'user') tries['of a member of another account'] = elsewhere;
      if (!['user', 'member', 'viewer'].includes(rule.role!)) tries['of a viewer'] = lesser;
      const managementKey = byKey[rule.scopes === undefined ? 'all' : 'none'];
      tries[`of a management key with ${rule.scopes === undefined ? 'every scope' : 'no scope'}`] = managementKey;
      // The service limits the other RPCs to the projects of the user.
      if (!['user', 'member'].includes(rule.role!) && rule.someProject !== true)
        tries['of a member with a role in one project'] = inProject;
      for (const [name, token] of Object.entries(tries)) {
        const outcome = await outcomeOf(call(fields, asGateway(token)));
        if (!refusals.includes(outcome)) open.push(`${rpc} with a token ${name}: ${outcome}`);
      }
    }
    expect(open).toEqual([]);
    expect(await contents()).toBe(before);
  }, 120_000);

  it('cannot create an operator, a sign-in link of one, or money', async () => {
    const before = await contents();
    const people = gateway.client(UserServiceDefinition);
    const ledger = gateway.client(LedgerServiceDefinition);
    const deposit = {
      accountId,
      amountNanoUsd: 1_000_000_000_000n,
      idempotencyKey: 'k',
      source: DepositSource.DEPOSIT_SOURCE_PROMOTION,
      reason: 'none',
    };
    const owner = await sign({ operator: false, roles: { [accountId]: 'owner' } });
    for (const context of [asGateway(), asGateway(owner)]) {
      const outcomes = [
        await outcomeOf(
          people.createUser(CreateUserRequest.fromPartial({ email: 'eve@example.com', name: 'Eve', isOperator: true }), context),
        ),
        await outcomeOf(people.createSignInLink({ email: 'boss@example.com', sendMail: false, language: '' }, context)),
        await outcomeOf(ledger.deposit(deposit, context)),
      ];
      for (const outcome of outcomes) expect(refusals).toContain(outcome);
    }
    expect(await contents()).toBe(before);
    // The operator's own certificate can, and so can the gateway on behalf of an operator.
    await ledger.deposit(deposit, asGateway(await sign({ operator: true })));
    await operator.client(LedgerServiceDefinition).deposit({ ...deposit, idempotencyKey: 'l' }, callContext({ caller: 'operator' }));
  });

  it('is admitted for a user who has the role', async () => {
    // An operator has every role, but may read no prompts and have none logged without a role in the account.
    const token = await sign({ operator: true, roles: { [accountId]: 'owner' } });
    const refused: string[] = [];
    const granted: readonly string[] = builtInCallers.gateway.grants;
    for (const { rpc, rule, call } of privileged.filter((each) => granted.includes(each.rule.grant))) {
      // The session of the token, for RPCs that act on it; this test does not check what else the RPC makes of the request.
      const fields = { ...fieldsNaming(rule.accountPath, accountId), sessionId: 'sess_1' };
      const outcome = await outcomeOf(call(fields, asGateway(token)));
      if (refusals.includes(outcome)) refused.push(`${rpc}: ${outcome}`);
    }
    expect(refused).toEqual([]);
  }, 60_000);
});

function privilegedOf(definition: ServiceDefinition, connection: GrpcConnection): Privileged[] {
  const client = connection.client(definition) as unknown as Record<string, UnaryHandler>;
  const table: Readonly<Record<string, AccessRule>> = accessTable;
  return methodsOf(definition).flatMap(({ key, fullName, definition: { requestType, responseStream } }) => {
    const rule = table[fullName];
    if (rule?.role === undefined) return [];
    const { fromPartial } = requestType as unknown as { fromPartial(fields: object): unknown };
    const call: Privileged['call'] = async (fields, context) => {
      const answer: unknown = client[key]!(fromPartial(fields), context);
      return responseStream ? (answer as AsyncIterable<unknown>)[Symbol.asyncIterator]().next() : answer;
    };
    return [{ rpc: fullName, rule, call }];
  });
}

/** Waits until two successive reads return the same. */
async function untilStill(read: () => Promise<string>): Promise<void> {
  for (let before = ''; ;) {
    const now = await read();
    if (now === before) return;
    before = now;
    await sleep(300);
  }
}

/** Returns the fields of a request that name the account as the contract requires, with one element if the field is repeated. */
function fieldsNaming(path: readonly string[] | undefined, accountId: string): object {
  if (path === undefined) return {};
  return path.reduceRight<unknown>((value, name) => {
    const isRepeated = name === 'items' || name.endsWith('Ids');
    return { [name]: isRepeated ? [value] : value };
  }, accountId) as object;
}

async function rowsOf({ knex }: Database): Promise<unknown[]> {
  const tables: { name: string }[] = await knex('sqlite_master').where({ type: 'table' }).orderBy('name').select('name');
  const rows: unknown[] = [];
  for (const { name } of tables) rows.push([name, await knex(name).select('*')]);
  return rows;
}
