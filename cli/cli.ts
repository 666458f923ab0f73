// What every command is given: the world outside the process, its output, and the services of a gateway.
import { type CliConfig, parseCliConfig } from './config.js';
import { connect, type Services } from './connect.js';
import { Output, type Sink } from './output.js';

/** The world outside the process; tests give another. */
export interface World extends Sink {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** All of standard input. */
  readStdin(): Promise<string>;
  /** Asks without showing what is typed; undefined when nobody is there to ask. */
  askSecret(question: string): Promise<string | undefined>;
  nowMs(): number;
  /** Of this command. */
  readonly version: string;
}

/** One run of the command. */
export interface Cli {
  readonly world: World;
  readonly out: Output;
  /** Raises ConfigError. */
  config(): CliConfig;
  /** Connects, works and disconnects. */
  withServices<T>(work: (services: Services) => Promise<T>): Promise<T>;
}

/** A run in this world; `isJson` is asked once the arguments have been read. */
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
