// Builds the programs, the console and the Grafana dashboards into dist.next, and swaps it with dist when it is complete, so that a running instance never sees half
// a build. Run by `npm run build`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { build as buildConsole } from 'vite';
import { dashboards } from '../deploy/observability/grafana/dashboards.ts';
import { modelOf } from '../deploy/observability/grafana/panels.ts';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

/** What is started by its path: the processes, the operator's command, the scripts of worker threads. */
const programs = [
  'cli/main',
  'cli/program',
  'deploy/containers/check-health',
  'deploy/containers/migrate',
  'deploy/distributed/main',
  'deploy/single/gateway-thread',
  'deploy/single/main',
  'gateway/main',
  ...['auth', 'catalog', 'inference', 'ledger', 'metering'].map((name) => `services/${name}/main`),
  'services/inference/tokens/count-worker',
];

const commitChars = 10;

/** Packages that read files in their own folders, and packages for databases that Tollgate does not use. */
const external = [/^(better-sqlite3|pino)(\/|$)/, /^(cardinal|mariadb|mysql|oracledb|pg|pg-native|pg-query-stream|sqlite3|tedious)(\/|$)/];

/** Returns the commit that is built, shortened; empty if it is not known. */
function commitOf() {
  // Where there is no checkout, for example in the build of an image.
  const given = process.env['BUILD_COMMIT'] ?? '';
  if (!/^[0-9A-Za-z]*$/.test(given)) throw new Error('BUILD_COMMIT must be the hash of a commit.');
  if (given !== '') return given.slice(0, commitChars);
  // Packed sources may be in the checkout of another project.
  if (!existsSync('.git')) return '';
  return (spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).stdout ?? '').trim().slice(0, commitChars);
}

for (const folder of ['dist.next', 'dist.old']) rmSync(folder, { recursive: true, force: true });
mkdirSync('dist.next');
// One file loads in less than half the time of the hundreds that it is bundled from.
const bundle = await rolldown({
  input: Object.fromEntries(programs.map((path) => [path, `${path}.ts`])),
  platform: 'node',
  external,
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  tsconfig: 'tsconfig.json',
  transform: { define: { BUILD_COMMIT: JSON.stringify(commitOf()) } },
  onLog(level, log) {
    if (level === 'warn' && log.id?.includes('node_modules')) return;
    throw new Error(`The bundler reports: ${log.message}`);
  },
});
await bundle.write({
  dir: 'dist.next',
  format: 'esm',
  // V8 keeps the text of a program in memory.
  comments: { jsdoc: false },
  sourcemap: true,
  sourcemapExcludeSources: true,
  chunkFileNames: 'chunks/[name].js',
});
await buildConsole({ configFile: 'console/vite.config.ts', logLevel: 'warn', build: { outDir: '../dist.next/console-app' } });
mkdirSync('dist.next/grafana');
for (const dashboard of dashboards)
  writeFileSync(`dist.next/grafana/${dashboard.uid}.json`, JSON.stringify(modelOf(dashboard), undefined, 2));
writeFileSync('dist.next/.built', '');
if (existsSync('dist')) renameSync('dist', 'dist.old');
renameSync('dist.next', 'dist');
rmSync('dist.old', { recursive: true, force: true });
