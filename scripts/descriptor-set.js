// Writes what the running programs read of the protobuf files as TypeScript modules: their descriptors, for server reflection
// (services/kit/rpc/grpc/reflection.ts), and who may call each RPC (services/kit/rpc/access). A module needs no path at run time, wherever
// the build puts it.
import { createFileRegistry, fromBinary, getExtension, hasExtension } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const proto = new URL('../proto/', import.meta.url);

/** A google.protobuf.FileDescriptorSet. */
const bytes = execFileSync('buf', ['build', '--as-file-descriptor-set', '--exclude-source-info', '-o', '-'], { cwd: proto });
writeFileSync(
  new URL('gen/tollgate/descriptor-set.ts', proto),
  `// A google.protobuf.FileDescriptorSet of every protobuf file, written by scripts/descriptor-set.js.\nexport const descriptorSet =\n  '${bytes.toString('base64')}';\n`,
);

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
const accessOption = registry.getExtension('tollgate.options.v1.access');
const roles = registry.getEnum('tollgate.options.v1.RequiredRole');
const faults = [];
const table = {};
// Health and reflection are open to every caller.
for (const file of [...registry.files].filter(({ proto: { package: name } }) => name.startsWith('tollgate.'))) {
  for (const service of file.services) {
    for (const method of service.methods)
      table[`${service.typeName}/${method.name}`] = ruleOf(`${service.typeName}/${method.name}`, method);
  }
}
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
writeFileSync(
  new URL('gen/tollgate/access.ts', proto),
  `// The option tollgate.options.v1.access of every RPC, made by scripts/descriptor-set.js.\nexport const accessTable = ${JSON.stringify(table, null, 2)} as const;\n`,
);

/** The access of one RPC, as it is in the table. */
function ruleOf(name, method) {
  const options = method.proto.options;
  if (options === undefined || !hasExtension(options, accessOption)) return fault(name, 'has no option (tollgate.options.v1.access)');
  const { grant, role, accountField, anyAccount, perOperation, projectField, someProject, scopes } = getExtension(options, accessOption);
  const roleName = role === 0 ? undefined : roles.values.find(({ number }) => number === role).localName.toLowerCase();
  if (perOperation !== (grant === '')) return fault(name, 'needs either a grant or per_operation');
  if (grant !== '' && !/^[a-z]+\.[a-z]+$/.test(grant)) return fault(name, `has the grant "${grant}", which is not resource.verb`);
  if (anyAccount && accountField !== '') return fault(name, 'cannot have both any_account and account_field');
  if (['member', 'viewer', 'developer', 'billing', 'admin', 'owner'].includes(roleName) && accountField === '') {
    return fault(name, `requires the role "${roleName}" in an account but has no account_field`);
  }
  if ((projectField !== '' || someProject) && !['viewer', 'developer'].includes(roleName)) {
    return fault(name, 'admits users by their roles in projects, which are viewer and developer, but requires neither');
  }
  const malformed = scopes.find((scope) => !/^[a-z]+:(read|write)$/.test(scope));
  if (malformed !== undefined) return fault(name, `has the scope "${malformed}", which is not resource:read or resource:write`);
  return {
    grant,
    ...(roleName === undefined ? {} : { role: roleName }),
    ...(accountField === '' ? {} : { accountPath: fieldPathOf(name, 'account_field', method.input, accountField.split('.')) }),
    ...(anyAccount ? { anyAccount } : {}),
    ...(perOperation ? { perOperation } : {}),
    ...(projectField === '' ? {} : { projectPath: fieldPathOf(name, 'project_field', method.input, projectField.split('.')) }),
    ...(someProject ? { someProject } : {}),
    ...(scopes.length === 0 ? {} : { scopes }),
  };
}

/** The path as the generated interfaces name it. */
function fieldPathOf(name, option, message, [first, ...rest]) {
  const field = message?.fields.find((each) => each.name === first);
  if (field === undefined || (field.oneof !== undefined && !field.proto.proto3Optional)) {
    return fault(name, `has a ${option} that names no plain field: "${first}"`);
  }
  if (rest.length > 0) return [field.localName, ...(fieldPathOf(name, option, field.message, rest) ?? [])];
  const isText = field.scalar === 9 && field.fieldKind !== 'map';
  return isText ? [field.localName] : fault(name, `has a ${option} that is no string: "${first}"`);
}

function fault(name, text) {
  faults.push(`${name} ${text}.`);
}
