// Packs the client package (proto/client) as tollgate-client-<version>.tgz into the working directory, or into the folder given.
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = `${root}.client-package`;
const own = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

rmSync(out, { recursive: true, force: true });
execFileSync('npx', ['--no-install', 'tsc', '-p', 'proto/client/tsconfig.json'], { cwd: root, stdio: ['ignore', 2, 2] });
for (const folder of ['tollgate', 'google']) cpSync(`${root}proto/${folder}`, `${out}/proto/${folder}`, { recursive: true });
cpSync(`${root}proto/client/README.md`, `${out}/README.md`);
cpSync(`${root}LICENSE`, `${out}/LICENSE`);

const messages = {
  auth: 'auth/v1/auth',
  callers: 'auth/v1/callers',
  notifications: 'auth/v1/notifications',
  users: 'auth/v1/users',
  catalog: 'catalog/v1/catalog',
  inference: 'inference/v1/inference',
  tokens: 'inference/v1/tokens',
  ledger: 'ledger/v1/ledger',
  alerts: 'ledger/v1/alerts',
  payments: 'ledger/v1/payments',
  metering: 'metering/v1/metering',
};
const subpaths = Object.entries(messages).map(([name, file]) => [`./${name}`, `./dist/gen/tollgate/${file}.js`]);
const versionOf = (name) => own.dependencies[name];

writeFileSync(
  `${out}/package.json`,
  `${JSON.stringify(
    {
      name: '@tollgate/client',
      version: own.version,
      description: 'Typed clients of Tollgate for internal services',
      license: own.license,
      type: 'module',
      engines: { node: '>=22' },
      exports: { '.': './dist/client/index.js', ...Object.fromEntries(subpaths), './proto/*': './proto/*' },
      imports: {
        '#client/*.js': './dist/client/*.js',
        '#proto/*.js': './dist/gen/tollgate/*.js',
        '#google/*.js': './dist/gen/google/*.js',
        '#rules/*.js': './dist/rules/*.js',
      },
      files: ['dist', 'proto', 'README.md', 'LICENSE'],
      dependencies: { '@bufbuild/protobuf': versionOf('@bufbuild/protobuf'), '@grpc/grpc-js': versionOf('@grpc/grpc-js') },
      // Lower than our own version, because OpenTelemetry's SDK 2 needs an API before 1.10.
      peerDependencies: { '@opentelemetry/api': '^1.9.0' },
      peerDependenciesMeta: { '@opentelemetry/api': { optional: true } },
    },
    null,
    2,
  )}\n`,
);
const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(process.argv[2] ?? '.')], {
  cwd: out,
  encoding: 'utf8',
});
console.log(packed.trim().split('\n').at(-1));
