// Calls the services with a standard tool, grpcurl, which gets the contracts from server reflection.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { System } from '../systems/system.js';

const run = promisify(execFile);

/** The name of a service, as in settings and logs. */
export type ServiceName = 'auth' | 'catalog' | 'ledger' | 'metering' | 'inference';

/** Runs grpcurl as the operator: over the operator's socket, or over TLS with the operator's certificate. Returns its output. */
export async function grpcurl(system: System, service: ServiceName, flags: readonly string[], ...args: string[]): Promise<string> {
  return (await run('.toolchain/bin/grpcurl', [...flags, ...reach(system, service), ...args])).stdout;
}

/** Calls an RPC such as "tollgate.ledger.v1.LedgerService/Deposit" and parses the response. */
export async function grpcurlCall<T = Record<string, unknown>>(system: System, rpc: string, request: object): Promise<T> {
  const service = rpc.split('.')[1] as ServiceName;
  return JSON.parse(await grpcurl(system, service, ['-d', JSON.stringify(request)], rpc)) as T;
}

function reach(system: System, service: ServiceName): string[] {
  if (system.mode === 'single') return ['-plaintext', '-unix', join(system.dataDir, 'tollgate.sock')];
  const env = system.operatorEnv();
  const tls = ['-cacert', env['TOLLGATE_TLS_CA']!, '-cert', env['TOLLGATE_TLS_CERT']!, '-key', env['TOLLGATE_TLS_KEY']!];
  return [...tls, env[`TOLLGATE_${service.toUpperCase()}_ADDRESS`]!];
}
