// Writes the descriptors of all protobuf files as a TypeScript module, for server reflection (services/kit/rpc/reflection.ts).
// A module needs no path at run time, wherever the build puts it.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const proto = new URL('../proto/', import.meta.url);
const bytes = execFileSync('buf', ['build', '--as-file-descriptor-set', '--exclude-source-info', '-o', '-'], { cwd: proto });
writeFileSync(
  new URL('gen/tollgate/descriptor-set.ts', proto),
  `// A google.protobuf.FileDescriptorSet of every protobuf file, made by scripts/descriptor-set.js.\nexport const descriptorSet =\n  '${bytes.toString('base64')}';\n`,
);
