// The import rules that keep services apart; checked by `make check`.
const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, pathNot: '\\.test\\.ts$|/testing/' },
  to: { path: '^(services|gateway|cli|deploy|tests|bench|console)/', pathNot: allowed },
});

module.exports = {
  forbidden: [
    only('kit-knows-nothing', '^services/kit/', ['^services/kit/'], 'The kit has no domain word and imports nothing of ours.'),
    ...['auth', 'catalog', 'ledger', 'metering', 'inference'].map((service) =>
      only(
        `${service}-stands-alone`,
        `^services/${service}/`,
        [`^services/${service}/`, '^services/kit/'],
        'A service sees itself, the kit and generated code.',
      ),
    ),
    only(
      'gateway-sees-interfaces',
      '^gateway/',
      ['^gateway/', '^services/kit/'],
      'The gateway knows services only as generated interfaces.',
    ),
    only(
      'cli-sees-interfaces',
      '^cli/',
      ['^cli/', '^services/kit/', '^deploy/backup/index\\.ts$'],
      'The command knows services only as generated interfaces. A restore composes them, on databases that nothing else uses.',
    ),
    only(
      'deploy-composes',
      '^deploy/',
      ['^deploy/', '^services/kit/', '^services/[a-z]+/(index|config|main)\\.ts$', '^gateway/(index|config|main)\\.ts$', '^cli/'],
      'Composition sees only the front door of each part.',
    ),
    only(
      'console-sees-http',
      '^console/',
      ['^console/', '^gateway/console/schemas/'],
      'The console knows the gateway as HTTP alone, and the types of its API from the schemas.',
    ),
    {
      name: 'console-takes-types-only',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^gateway/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'schemas-are-pure',
      comment: 'The console’s types come from them, so they must not bring the gateway along.',
      severity: 'error',
      from: { path: '^gateway/console/schemas/' },
      to: {
        path: '^(services|gateway|proto)/|node_modules/',
        pathNot: [
          '^gateway/console/schemas/',
          '^gateway/formats/(account-schema|models-schema|rule-keyword)\\.ts$',
          '^proto/rules/',
          'node_modules/typebox',
        ],
      },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'resolvable',
      severity: 'error',
      comment: 'What cannot be followed cannot be checked.',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'grpc-only-in-the-transport',
      severity: 'error',
      from: { path: '^(services|gateway|cli|deploy)/', pathNot: '^services/kit/rpc/|\\.test\\.ts$|/testing/' },
      to: { path: 'node_modules/(@grpc/|grpc-health-check)' },
    },
    {
      name: 'knex-only-in-stores',
      severity: 'error',
      from: {
        path: '^(services|gateway|cli|deploy)/',
        pathNot: '^services/kit/(db|testing)/|/store[a-z-]*\\.ts$|/store/|/migrations/|\\.test\\.ts$|/testing/',
      },
      to: { path: 'node_modules/(knex|mysql2|better-sqlite3)', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'koa-only-in-the-gateway',
      severity: 'error',
      from: { path: '^(services|cli|deploy)/' },
      to: { path: 'node_modules/(koa|@koa)' },
    },
    {
      name: 'telemetry-sdk-only-in-the-kit',
      severity: 'error',
      from: { path: '^(services|gateway|cli|deploy)/', pathNot: '^services/kit/telemetry/|\\.test\\.ts$|/testing/' },
      to: { path: 'node_modules/@opentelemetry/(?!api)' },
    },
  ],
  required: [
    {
      name: 'rules-are-not-hollow',
      severity: 'error',
      comment: 'Every service uses the kit. If that is not seen, imports are not seen, and the rules above hold for nothing.',
      module: { path: '^services/(auth|catalog|ledger|metering|inference)/index\\.ts$' },
      to: { path: '^services/kit/', reachable: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|proto/gen)/' },
    // swc reads type-only imports too; TypeScript 7 has no API that dependency-cruiser could use.
    parser: 'swc',
    webpackConfig: { fileName: 'scripts/import-aliases.cjs' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types'], extensions: ['.ts', '.tsx', '.js'] },
  },
};
