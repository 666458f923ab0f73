// A process that runs one test file after another and sends the results; its modules stay loaded.
import { jestExpect } from '@jest/expect';
import { createEmptyTestResult, type TestResult } from '@jest/test-result';
import type { Circus, Config } from '@jest/types';
import { getState, resetState, run } from 'jest-circus';
import { formatExecError, formatResultsErrors } from 'jest-message-util';
import { pathToFileURL } from 'node:url';

/** A request to run a test file. */
export interface FileRequest {
  readonly path: string;
  readonly config: Config.ProjectConfig;
  readonly globalConfig: Config.GlobalConfig;
}

/** The results of a file, or why it could not be loaded. */
export type FileResponse =
  | {
      readonly result: TestResult;
      /** Whether the file has changed this process permanently, so that other files need a new one. */
      readonly isSpent: boolean;
    }
  | { readonly error: { readonly message: string; readonly stack?: string } };

/** The key of OpenTelemetry's global providers. Tracers that modules hold stay with the first provider, even when it is removed. */
const openTelemetry = Symbol.for('opentelemetry.js.api.1');

let filesRun = 0;
let strayErrors: Error[] = [];
// An error that no test awaits fails the file in which it happens.
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => strayErrors.push(error instanceof Error ? error : new Error(String(error))));
}

process.on('message', (request: FileRequest) => {
  void runFile(request).then(
    (result) => process.send!({ result, isSpent: openTelemetry in globalThis } satisfies FileResponse),
    (error: Error) => process.send!({ error: { message: error.message, stack: error.stack } } satisfies FileResponse),
  );
});
// Tests leave timers and sockets behind; whatever must be stopped listens for `exit`.
process.on('disconnect', () => process.exit());

async function runFile({ path, config, globalConfig }: FileRequest): Promise<TestResult> {
  const env = { ...process.env };
  const start = Date.now();
  strayErrors = [];
  resetState();
  const state = getState();
  state.testTimeout = globalConfig.testTimeout ?? state.testTimeout;
  if (globalConfig.testNamePattern) state.testNamePattern = new RegExp(globalConfig.testNamePattern, 'i');
  jestExpect.setState({ testPath: path, expand: globalConfig.expand });
  try {
    // The file itself and its setup are loaded again for each run.
    filesRun += 1;
    for (const file of [...config.setupFilesAfterEnv, path]) await import(`${pathToFileURL(file)}?run=${filesRun}`);
    const { testResults, unhandledErrors } = await run();
    strayErrors.push(...unhandledErrors.map((text) => Object.assign(new Error(text), { stack: text })));
    return resultOf({ path, config, globalConfig }, testResults, { start, end: Date.now() });
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
  }
}

function resultOf(
  { path, config, globalConfig }: FileRequest,
  tests: readonly Circus.TestResult[],
  { start, end }: { start: number; end: number },
): TestResult {
  const results = tests.map(assertionResult);
  const count = (status: string): number => results.filter((each) => each.status === status).length;
  const stray = strayErrors.map((error) => formatExecError(error, config, globalConfig, path));
  const [testExecError] = strayErrors;
  return {
    ...createEmptyTestResult(),
    displayName: config.displayName!,
    failureMessage: [formatResultsErrors(results, config, globalConfig, path), ...stray].filter(Boolean).join('\n') || null,
    numFailingTests: count('failed'),
    numPassingTests: count('passed'),
    numPendingTests: count('pending'),
    numTodoTests: count('todo'),
    perfStats: {
      ...createEmptyTestResult().perfStats,
      start,
      end,
      runtime: end - start,
      slow: end - start > config.slowTestThreshold * 1000,
    },
    ...(testExecError === undefined ? {} : { testExecError: { message: testExecError.message, stack: testExecError.stack } }),
    testFilePath: path,
    testResults: results,
  };
}

function assertionResult(test: Circus.TestResult): TestResult['testResults'][number] {
  // The first title is that of the root block.
  const titles = test.testPath.slice(1).map(String);
  return {
    ancestorTitles: titles.slice(0, -1),
    duration: test.duration ?? null,
    failureDetails: [],
    failureMessages: [...test.errors],
    fullName: titles.join(' '),
    invocations: test.invocations,
    location: test.location ?? null,
    numPassingAsserts: test.numPassingAsserts,
    retryReasons: [],
    status: test.status === 'skip' ? 'pending' : test.status === 'todo' ? 'todo' : test.errors.length > 0 ? 'failed' : 'passed',
    title: titles.at(-1)!,
  };
}
