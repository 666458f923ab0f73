// The dependencies of every command: the world outside the process, its output, and the services of a gateway.
import { type CliConfig, parseCliConfig } from './config.js';
import { connect, type Services } from './connect.js';
import { Output, type Sink } from './output.js';

/** The world outside the process; tests replace it. */
export interface World extends Sink {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads all of standard input. */
  readStdin(): Promise<string>;
  /** Prompts without echoing the input; undefined when there is no terminal. */
  askSecret(question: string): Promise<string | undefined>;
  /** Calls `work` before Ctrl-C ends the process, until the returned function is called. */
  onInterrupt(work: () => void): () => void;
  nowMs(): number;
  /** The version of the CLI. */
  readonly version: string;
}

/** One run of the CLI. */
export interface Cli {
  readonly world: World;
  readonly out: Output;
  /** Raises ConfigError. */
  config(): CliConfig;
  /** Connects, runs the work and disconnects. */
  withServices<T>(work: (services: Services) => Promise<T>): Promise<T>;
}

/** Returns a run in this world; `isJson` is called after the arguments have been parsed. */
export function createCli(world: World, isJson: () => boolean): Cli {
  let out: Output | undefined;
  const config = (): CliConfig => parseCliConfig(world.env);
  return {
    world,
    get out() {
      return (out ??= new Output(world, isJson()));
    },
    config,
    async withServices(work) {
      const services = await connect(config());
      try {
        return await work(services);
      } finally {
        services.close();
      }
    },
  };
}
