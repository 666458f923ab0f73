// Runs test files for Jest in long-lived Node processes whose modules are loaded once, where Jest's own runner compiles every module again
// for every file in a context of its own: half of a run's CPU time. Files share module state and globals, so a test must restore what
// it changes. Reporters, the order of files and the command line are still Jest's, and time limits those of jest-circus.
import type { Test, TestResult } from '@jest/test-result';
import type { Config } from '@jest/types';
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { FileRequest, FileResponse } from './worker.js';

interface Watcher {
  isInterrupted(): boolean;
}

/** The interface that Jest expects of `runner`. */
export default class SharedModulesRunner {
  readonly supportsEventEmitters = false;

  private readonly globalConfig: Config.GlobalConfig;

  constructor(globalConfig: Config.GlobalConfig) {
    this.globalConfig = globalConfig;
  }

  async runTests(
    tests: readonly Test[],
    watcher: Watcher,
    onStart: (test: Test) => Promise<void>,
    onResult: (test: Test, result: TestResult) => Promise<void>,
    onFailure: (test: Test, error: unknown) => Promise<void>,
  ): Promise<void> {
    const queue = [...tests];
    const work = async (workerId: number): Promise<void> => {
      let worker: Worker | undefined;
      for (let test = queue.shift(); test !== undefined && !watcher.isInterrupted(); test = queue.shift()) {
        await onStart(test);
        try {
          worker ??= new Worker(test.context.config.rootDir, workerId);
          const response = await worker.run({ path: test.path, config: test.context.config, globalConfig: this.globalConfig });
          await ('error' in response ? onFailure(test, response.error) : onResult(test, response.result));
          if ('error' in response || response.isSpent) {
            await worker.end();
            worker = undefined;
          }
        } catch (error) {
          worker = undefined;
          await onFailure(test, { message: (error as Error).message, stack: '' });
        }
      }
      await worker?.end();
    };
    await Promise.all(Array.from({ length: Math.min(this.globalConfig.maxWorkers, tests.length) }, (_, index) => work(index + 1)));
  }
}

class Worker {
  private readonly child: ChildProcess;
  private readonly exited: Promise<string>;

  constructor(rootDir: string, id: number) {
    this.child = fork(join(import.meta.dirname, 'worker.ts'), {
      execArgv: ['--import', join(import.meta.dirname, 'typescript.ts'), '--enable-source-maps', '--no-warnings'],
      env: { NODE_COMPILE_CACHE: join(rootDir, 'node_modules/.cache/compile'), ...process.env, JEST_WORKER_ID: String(id) },
      serialization: 'advanced',
    });
    this.exited = new Promise((resolve) => this.child.once('exit', (code, signal) => resolve(`${signal ?? `code ${code}`}`)));
  }

  async run(request: FileRequest): Promise<FileResponse> {
    const response = new Promise<FileResponse>((resolve) => this.child.once('message', resolve));
    this.child.send(request);
    const exited = this.exited.then((how) => Promise.reject(new Error(`The test process ended unexpectedly (${how}).`)));
    return Promise.race([response, exited]);
  }

  async end(): Promise<void> {
    this.child.disconnect();
    await this.exited;
  }
}
