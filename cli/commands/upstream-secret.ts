// Functions that the commands about upstreams share: finding one, and reading a secret. The secret is never an argument: every user of the machine can
// read the arguments of a process.
import type { Upstream } from '#proto/inference/v1/inference.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';

/** Where a secret is read from. */
export interface SecretOptions {
  readonly secretStdin?: boolean;
  readonly secretEnv?: string;
}

/** Returns the secret of `what`. Raises a CliError if it is empty. */
export async function readSecret(cli: Cli, what: string, { secretEnv, secretStdin }: SecretOptions, otherFix = ''): Promise<string> {
  const notEmpty = (secret: string | undefined, fault: string): string => {
    const trimmed = secret?.trim() ?? '';
    if (trimmed !== '') return trimmed;
    throw new CliError(fault, { fix: `Pass it with --secret-stdin or --secret-env <name>${otherFix}.`, exitCode: 2 });
  };
  if (secretEnv !== undefined) return notEmpty(cli.world.env[secretEnv], `The environment variable ${secretEnv} is not set.`);
  if (secretStdin === true) return notEmpty(await cli.world.readStdin(), 'Standard input was empty.');
  return notEmpty(await cli.world.askSecret(`Secret of ${what} (not shown): `), 'No secret was given.');
}

/** Returns an upstream. Raises a CliError if there is none with this id. */
export async function findUpstream(inference: Services['inference'], id: string): Promise<Upstream> {
  const { upstreams } = await inference.listUpstreams({ withTests: true }, operatorCall());
  const upstream = upstreams.find((each) => each.id === id);
  if (upstream === undefined) throw new CliError(`There is no upstream ${id}.`, { fix: '`tollgate upstream list` shows them.' });
  return upstream;
}
