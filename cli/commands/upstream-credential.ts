// tollgate upstream credential: the secrets that requests to an upstream carry, if it has several.
import { Command } from 'commander';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { credentialView } from '../views/upstream.js';
import { findUpstream, readSecret, type SecretOptions } from './upstream-secret.js';

/** Returns the command. */
export function credentialCommand(cli: Cli): Command {
  const credential = new Command('credential').description(
    'The credentials of an upstream. Calls are spread over all of them. A credential that the vendor rejects is not used for a while.',
  );

  credential
    .command('list <upstream>')
    .description("List an upstream's credentials, without their secrets.")
    .action((id: string) =>
      cli.withServices(async ({ inference }) => cli.out.list(credentialView, (await findUpstream(inference, id)).credentials)),
    );

  const set = (verb: 'add' | 'rotate', description: string): Command =>
    credential
      .command(`${verb} <upstream> <credential>`)
      .description(`${description} Prompts for the secret unless an option says where to read it.`)
      .option('--secret-stdin', 'read the secret from standard input')
      .option('--secret-env <name>', 'read the secret from this environment variable')
      .action(async (upstreamId: string, credentialId: string, options: SecretOptions) => {
        const secret = await readSecret(cli, `${upstreamId} ${credentialId}`, options);
        await cli.withServices(async ({ inference }) => {
          if (verb === 'rotate') await expectCredential(inference, upstreamId, credentialId);
          const { upstream } = await inference.putCredential(
            { upstreamId, credentialId, secret, createOnly: verb === 'add' },
            operatorCall(),
          );
          cli.out.list(credentialView, upstream!.credentials);
        });
      });
  set('add', 'Add a credential, for example of another account at the vendor.');
  set('rotate', "Replace a credential's secret. Calls in flight keep the old one.");

  credential
    .command('remove <upstream> <credential>')
    .description('Remove a credential. Calls in flight continue to use it.')
    .action((upstreamId: string, credentialId: string) =>
      cli.withServices(async ({ inference }) => {
        const { upstream } = await inference.deleteCredential({ upstreamId, credentialId }, operatorCall());
        cli.out.list(credentialView, upstream!.credentials);
      }),
    );
  return credential;
}

async function expectCredential(inference: Services['inference'], upstreamId: string, id: string): Promise<void> {
  const { credentials } = await findUpstream(inference, upstreamId);
  if (credentials.some((credential) => credential.id === id)) return;
  throw new CliError(`${upstreamId} has no credential ${id}.`, { fix: `\`tollgate upstream credential list ${upstreamId}\` shows them.` });
}
