// Server reflection: grpcurl and other clients can list, describe and call services without the .proto files.
// https://grpc.io/docs/guides/reflection/
import { createFileRegistry, type DescFile, fromBinary, type FileRegistry, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { type handleBidiStreamingCall, type Server, status } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { descriptorSet } from '#proto/descriptor-set.js';

type Registration = Parameters<Server['addService']>;

/**
 * The requests of the protocol, as proto-loader decodes them.
 * https://github.com/grpc/grpc/blob/master/src/proto/grpc/reflection/v1/reflection.proto
 */
interface Question {
  readonly host: string;
  readonly messageRequest: string;
  readonly fileByFilename?: string;
  readonly fileContainingSymbol?: string;
  readonly fileContainingExtension?: { readonly containingType: string; readonly extensionNumber: number };
  readonly allExtensionNumbersOfType?: string;
}

/** The services that every server has besides its own. */
const standardServices = ['grpc.health.v1.Health', 'grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];

/**
 * Adds reflection to a server. It lists these services and the standard ones, and describes every type of the contracts, options and
 * imports included. The responses of @grpc/reflection itself cannot be used: proto-loader loses the imports of a file and its options.
 */
export function addReflection(server: Server, serviceNames: readonly string[]): void {
  const answer: handleBidiStreamingCall<Question, object> = (call) => {
    call.on('data', (question: Question) => call.write({ validHost: question.host, originalRequest: question, ...answerTo(question) }));
    call.on('end', () => call.end());
    call.on('error', () => call.end());
  };
  const answerTo = (question: Question): object => {
    if (question.messageRequest === 'listServices') {
      return { listServicesResponse: { service: [...serviceNames, ...standardServices].map((name) => ({ name })) } };
    }
    const found = describe(question);
    return found ?? { errorResponse: { errorCode: status.NOT_FOUND, errorMessage: 'Nothing of this name is served here.' } };
  };
  for (const [definition] of registrations()) server.addService(definition, { ServerReflectionInfo: answer });
}

/** The services of both versions of the protocol, as the library defines them. */
function registrations(): Registration[] {
  const added: Registration[] = [];
  new ReflectionService({}).addToServer({ addService: (...registration) => void added.push(registration) });
  return added;
}

// Reading all descriptors takes long and few servers are ever queried, so the first request does it.
let contracts: FileRegistry | undefined;

function describe(question: Question): object | undefined {
  contracts ??= createFileRegistry(fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSet, 'base64')));
  switch (question.messageRequest) {
    case 'fileByFilename':
      return filesFrom(contracts.getFile(question.fileByFilename ?? ''));
    case 'fileContainingSymbol':
      return filesFrom(fileOf(contracts, question.fileContainingSymbol ?? ''));
    case 'fileContainingExtension': {
      const { containingType, extensionNumber } = question.fileContainingExtension!;
      const extendee = contracts.getMessage(containingType);
      return filesFrom(extendee === undefined ? undefined : contracts.getExtensionFor(extendee, extensionNumber)?.file);
    }
    case 'allExtensionNumbersOfType': {
      const baseTypeName = question.allExtensionNumbersOfType ?? '';
      if (contracts.getMessage(baseTypeName) === undefined) return undefined;
      const extensions = [...contracts].filter((each) => each.kind === 'extension' && each.extendee.typeName === baseTypeName);
      return {
        allExtensionNumbersResponse: { baseTypeName, extensionNumber: extensions.map((each) => each.kind === 'extension' && each.number) },
      };
    }
    default:
      return undefined;
  }
}

/** Returns the file that declares a type or service, or one of its fields, values or methods. */
function fileOf(registry: FileRegistry, symbol: string): DescFile | undefined {
  return (registry.get(symbol) ?? registry.get(symbol.slice(0, Math.max(0, symbol.lastIndexOf('.')))))?.file;
}

/** Returns the file and all of its imports, each once, as written. */
function filesFrom(file: DescFile | undefined): object | undefined {
  if (file === undefined) return undefined;
  const files = new Set<DescFile>();
  const add = (each: DescFile): void => {
    if (files.has(each)) return;
    files.add(each);
    each.dependencies.forEach(add);
  };
  add(file);
  const fileDescriptorProto = [...files].map(({ proto }) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
  return { fileDescriptorResponse: { fileDescriptorProto } };
}
