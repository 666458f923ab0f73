// Loaded into every thread of a Tollgate with NODE_OPTIONS=--import: ends a gateway thread, as a crash would, when a test creates the file that
// TEST_END_THREAD names with the number of the thread. The operating system can only kill all threads of a process.
import { existsSync, rmSync } from 'node:fs';
import { isMainThread, workerData } from 'node:worker_threads';

const path = process.env['TEST_END_THREAD'];
const thread = (workerData as { thread?: number } | null)?.thread;

if (!isMainThread && thread !== undefined && path !== undefined) {
  const file = `${path}.${thread}`;
  setInterval(() => {
    if (!existsSync(file)) return;
    rmSync(file);
    process.exit(9);
  }, 20).unref();
}
