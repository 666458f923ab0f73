// tollgate certificate: the certificates with which the processes of an installation identify themselves to each other.
import { Command } from 'commander';
import { isHost } from '#kit/config/forms.js';
import { createInstallationCertificates, type ProcessCertificate } from '../callers/installation.js';
import type { Cli } from '../cli.js';
import { CliError } from '../errors.js';
import type { View } from '../output.js';
import { parseCount } from '../options/parse.js';

const daysDefault = 3650;

const certificateView: View<ProcessCertificate> = {
  json: ({ process, folder, isNew }) => ({ process, folder, created: isNew }),
  columns: [
    { title: 'process', text: ({ process }) => process },
    { title: 'folder', text: ({ folder }) => folder },
    { title: 'certificate', text: ({ isNew }) => (isNew ? 'created' : 'kept') },
  ],
};

/** The noun `certificate`. It does not need a running gateway. */
export function certificateCommand(cli: Cli): Command {
  const certificate = new Command('certificate').description(
    'Certificates of the processes of an installation; for other callers see `caller`.',
  );
  certificate
    .command('create')
    .description(
      'Create the authority of an installation, and a certificate for each service, the gateway and the operator, each in a folder with ' +
        'tls.crt, tls.key and ca.crt. Existing files are kept, unless a service gets another host name: its new certificate has the previous names too.',
    )
    .option('--out <folder>', 'the folder that will contain these folders', './tls')
    .option('--host <name...>', 'the host names of services besides localhost; {service} stands for the name of each', ['{service}'])
    .option(
      '--days <count>',
      'the number of days for which certificates are valid',
      (text) => parseCount(text, 1, daysDefault),
      daysDefault,
    )
    .option('--renew', 'replace the certificates, but not the authority')
    .action(async ({ out, host, days, renew }: { out: string; host: string[]; days: number; renew?: boolean }) => {
      const invalid = host.find((name) => !isHost(name.replaceAll('{service}', 'service')));
      if (invalid !== undefined) throw new CliError(`--host "${invalid}" must be a DNS name or an IP address.`, { exitCode: 2 });
      cli.out.list(certificateView, await createInstallationCertificates({ folder: out, hosts: host, days, renew: renew === true }));
      cli.out.note(`Keep ${out}/authority/ca.key secret and away from the machines of the processes: it can create any caller.`);
    });
  return certificate;
}
