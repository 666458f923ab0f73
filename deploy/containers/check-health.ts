// Exits with 0 if the process at the address in the argument reports that it serves, otherwise with 1: the health check of containers, for
// addresses of TOLLGATE_<SERVICE>_HEALTH_LISTEN.
import { dialGrpc } from '#client/grpc/grpc-client.js';
import { checkHealth } from '#kit/rpc/grpc/health-client.js';

const options = { caller: 'probe', timeoutMs: 2000 };
const connection = dialGrpc(process.argv[2] ?? '', options);
try {
  await checkHealth(connection, '', options);
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
} finally {
  connection.close();
}
