// The live memory of a Node process: what is left after a garbage collection. Resident memory also includes free space from earlier loads.
import { setTimeout as sleep } from 'node:timers/promises';

/** Where Node listens for a debugger after SIGUSR1 (nodejs.org/api/process.html#signal-events). */
const inspector = 'http://127.0.0.1:9229/json/list';

/** Collects the garbage of a process through its inspector, and returns the bytes of its JavaScript heap and of its buffers. */
export async function liveBytes(pid: number): Promise<number> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await inspectorUrl());
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  let calls = 0;
  const call = (method: string, params: object = {}): Promise<{ result?: { value?: number } }> =>
    new Promise((resolve) => {
      const id = (calls += 1);
      socket.addEventListener('message', ({ data }) => {
        const message = JSON.parse(String(data)) as { id?: number; result: { result?: { value?: number } } };
        if (message.id === id) resolve(message.result);
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  await call('HeapProfiler.collectGarbage');
  const { result } = await call('Runtime.evaluate', { expression: 'process.memoryUsage().heapUsed + process.memoryUsage().external' });
  const closed = new Promise((resolve) => (socket.onclose = resolve));
  // The next process can only listen once this one has stopped.
  void call('Runtime.evaluate', { expression: "setTimeout(() => process.getBuiltinModule('node:inspector').close())" });
  await closed;
  return result!.value!;
}

async function inspectorUrl(): Promise<string> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    try {
      const [target] = (await (await fetch(inspector)).json()) as { webSocketDebuggerUrl: string }[];
      return target!.webSocketDebuggerUrl;
    } catch {
      await sleep(100);
    }
  }
  throw new Error('The process did not open its inspector.');
}
