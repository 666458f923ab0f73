// The ledger as a separate process for the wire benchmark: serves gRPC, and runs callers on its own store on request.
import { Access } from '#kit/rpc/access/access.js';
import { systemClock } from '#kit/clock.js';
import { createLogger } from '#kit/log.js';
import { serveGrpc } from '#kit/rpc/grpc-server.js';
import { decorateService } from '#kit/rpc/standard-chain.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { ledgerSettings } from '#services/ledger/config.js';
import { createLedger } from '#services/ledger/index.js';
import { parseSettings } from '#kit/config/settings.js';
import { type Engine, openBooks } from './books.ts';
import { callersOf, runCycles } from './cycles.ts';

/** The requests of the benchmark to this process; each has one response. */
export type Question =
  | { readonly ask: 'store'; readonly callers: number; readonly seconds: number }
  | { readonly ask: 'cpu' }
  | { readonly ask: 'end' };

const [engine, accounts, lanes] = process.argv.slice(2) as [Engine, string, string];
const log = createLogger({ name: 'ledger', level: 'warn' }, process.stderr);
const books = await openBooks(engine, Number(accounts), Number(lanes));
const config = { ...parseSettings(ledgerSettings, {}), lanes: Number(lanes) };
const access = new Access();
const ledger = createLedger(config, { db: books.db, clock: systemClock, log, access, auth: { appendAuditEvents: async () => ({}) } });
await ledger.start();
const service = decorateService(LedgerServiceDefinition, ledger.service, { access, log });
const server = await serveGrpc({ services: [{ definition: LedgerServiceDefinition, service }], address: '127.0.0.1:0', log });

process.on('message', (question: Question) => void answer(question).then((result) => process.send!({ result })));
process.send!({ result: { address: server.address, customers: books.customers } });

async function answer(question: Question): Promise<unknown> {
  if (question.ask === 'store')
    return runCycles(callersOf(books.customers, question.callers), (operation) => books.lane.add(operation), question.seconds);
  if (question.ask === 'cpu') return process.cpuUsage();
  await server.stop(1000);
  await books.verify();
  await ledger.stop();
  await books.close();
  setImmediate(() => process.exit(0));
  return 'ended';
}
