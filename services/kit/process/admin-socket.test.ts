import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { adminSocketPlace, claimAdminSocket, findAdminSocket, isListening, socketPathBytesMax } from './admin-socket.js';

let folder: string;
const servers: Server[] = [];
const paths: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
});

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((done) => server.close(done));
  for (const path of [folder, ...paths.splice(0).map(dirname)]) rmSync(path, { recursive: true, force: true });
});

async function claim(dataDir: string): Promise<string> {
  const path = await claimAdminSocket(dataDir);
  paths.push(path);
  return path;
}

async function listen(path: string): Promise<void> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((done) => server.listen(path, done));
}

describe.each([
  ['short', (root: string) => root],
  ['long', (root: string) => join(root, 'ü'.repeat(60))],
])('the operator socket of a data folder with a %s path', (_, dataDirIn) => {
  it('is found by the command once a gateway listens', async () => {
    const dataDir = dataDirIn(folder);
    expect(findAdminSocket(dataDir)).toBeUndefined();
    const path = await claim(dataDir);
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(socketPathBytesMax);
    await listen(path);
    expect(findAdminSocket(dataDir)).toBe(path);
    expect(await isListening(path)).toBe(true);
  });

  it('is refused to a second gateway and free again after the first has stopped', async () => {
    const dataDir = dataDirIn(folder);
    const path = await claim(dataDir);
    await listen(path);
    await expect(claimAdminSocket(dataDir)).rejects.toMatchObject({ reason: 'failed_precondition' });
    await new Promise((done) => servers.pop()!.close(done));
    expect(await claim(dataDir)).toBe(path);
  });
});

it.each<[string, (socketDir: string) => void]>([
  ['is open to other users', (socketDir) => chmodSync(socketDir, 0o777)],
  [
    'is a link',
    (socketDir) => {
      rmSync(socketDir, { recursive: true });
      symlinkSync(folder, socketDir);
    },
  ],
])('is not used if its folder %s, because another user may have created that folder after ours was removed', async (_, replace) => {
  const dataDir = join(folder, 'ü'.repeat(60));
  const path = await claim(dataDir);
  replace(dirname(path));
  expect(findAdminSocket(dataDir)).toBeUndefined();
  const next = await claim(dataDir);
  expect(next).not.toBe(path);
  expect(findAdminSocket(dataDir)).toBe(next);
});

it('keeps the socket in the data folder when its path is short enough, counting bytes', () => {
  expect(adminSocketPlace('/srv/data')).toEqual({ path: '/srv/data/tollgate.sock' });
  expect(adminSocketPlace(`/srv/${'ü'.repeat(45)}`)).toEqual({ pointerPath: `/srv/${'ü'.repeat(45)}/tollgate.sock.path` });
});
