// Serves gRPC over the network in single mode, for callers on other machines, with mutual TLS and the data folder's certificate authority.
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Values } from '#kit/config/settings.js';
import type { Part } from '#kit/lifecycle.js';
import type { ProcessHost } from '#kit/process/process.js';
import { setCertificate } from '#kit/process/process-info.js';
import { grpcPart, type GrpcPartOptions } from '#kit/process/service-process.js';
import { TlsFiles } from '#client/tls-files.js';
import { observeCertificates } from '#kit/telemetry/runtime-metrics.js';
import { ensureAuthority, ensureCertificate } from '#kit/tls/certificate-files.js';
import { grpcSettings } from './config.js';

/** Returns the listener as a part, if one is configured. Uses the process's certificates if they are set, otherwise those of the data folder. */
export async function networkListener(
  { listen, hosts }: Values<typeof grpcSettings>,
  dataDir: string,
  offered: Pick<GrpcPartOptions, 'offers' | 'access'>,
  host: ProcessHost,
): Promise<Part[]> {
  const folder = join(dataDir, 'tls');
  // The authority is created even without a listener, so that callers can be added first.
  if (host.tls === undefined) await ensureAuthority(folder);
  if (listen === undefined) return [];
  const names = new Set(['localhost', '127.0.0.1', hostname(), ...hosts]);
  const own = async (): Promise<TlsFiles> => {
    const paths = await ensureCertificate(folder, 'tollgate', { isClient: false, hosts: [...names] });
    observeCertificates({ certificate: paths.cert, authority: paths.ca }, host.log);
    const files = new TlsFiles(paths);
    setCertificate(files.watch({ log: host.log }));
    return files;
  };
  const tls = host.tls ?? (await own());
  return [grpcPart({ ...offered, address: listen, setting: grpcSettings.listen.env, tls }, host)];
}
