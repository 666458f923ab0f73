// Provides certificates to grpc-js, and notifies it whenever they change.
import type { experimental } from '@grpc/grpc-js';
import type { TlsFiles } from '../tls-files.js';

type Provider = experimental.CertificateProvider;

/** Returns the provider of these files, for servers and clients. */
export function certificateProvider(files: TlsFiles): Provider {
  const ends = new Map<unknown, () => void>();
  const add = (listener: unknown, give: () => void): void => {
    ends.set(listener, files.onChange(give));
    // At the next tick, as in grpc-js's own provider, because the listener is still being registered.
    process.nextTick(give);
  };
  const remove = (listener: unknown): void => {
    ends.get(listener)?.();
    ends.delete(listener);
  };
  return {
    addCaCertificateListener: (listener) => add(listener, () => listener({ caCertificate: files.ca })),
    removeCaCertificateListener: remove,
    addIdentityCertificateListener: (listener) => add(listener, () => listener({ certificate: files.cert, privateKey: files.key })),
    removeIdentityCertificateListener: remove,
  };
}
