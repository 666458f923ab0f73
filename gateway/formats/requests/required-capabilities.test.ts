import { describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { Modality } from '#proto/catalog/v1/catalog.js';
import { AppError } from '#client/errors/app-error.js';
import { bodyReader } from './body-reader.js';
import { Demands } from './required-capabilities.js';
import { ignored, nativeOnly, optional, passedOn, unknownKind } from './fields.js';
import { fieldsWithout } from './native-fields.js';

const Body = Type.Object({
  title: Type.String(),
  bias: optional(Type.Object({}), nativeOnly),
  ...passedOn('style'),
  ...ignored('tier'),
});

describe('the required capabilities of a body', () => {
  it('distinguish fields that no upstream gets from those that only upstreams of its format get', () => {
    const demands = new Demands();
    demands.addUnhonoured({ title: 'a', bias: {}, style: 1, tier: 'x', invented: true, nothing: null, toString: 1 }, Body);
    // Some servers would read TITLE as title.
    demands.addUnhonoured({ TITLE: 'b' }, Body);
    expect(demands.dropped.names).toEqual(['tier', 'TITLE']);
    expect(demands.droppedElsewhere.names).toEqual(['bias', 'style', 'invented', 'toString']);
  });

  it('name the first field of each modality, and count every image and document', () => {
    const demands = new Demands();
    demands.addImage('messages[0]');
    demands.addImage('messages[1]');
    demands.addDocument('messages[2]');
    demands.need(Modality.MODALITY_AUDIO, 'messages[3]');
    expect(demands).toMatchObject({ images: 2, documents: 1 });
    expect(demands.needs).toEqual([
      { modality: Modality.MODALITY_IMAGE, field: 'messages[0]' },
      { modality: Modality.MODALITY_DOCUMENT, field: 'messages[2]' },
      { modality: Modality.MODALITY_AUDIO, field: 'messages[3]' },
    ]);
  });

  it('bound content without a common form by its bytes, and tools with an implied schema by more', () => {
    const demands = new Demands();
    demands.addForeign({ a: 'é' });
    expect(demands.foreignTokensMax).toBe(10);
    demands.addImpliedTool({});
    expect(demands.foreignTokensMax).toBe(10 + 2048 + 2);
  });

  it('keep a bounded number of refusals, the first ones', () => {
    const demands = new Demands();
    for (let index = 0; index < 100; index += 1) demands.refuseElsewhere(`f${index}`, 'no');
    expect(demands.refusedElsewhere).toHaveLength(8);
    expect(demands.refusedElsewhere[0]).toEqual({ field: 'f0', text: 'no' });
  });
});

describe('an object of unknown kind', () => {
  const read = bodyReader(
    Type.Object({
      parts: Type.Array(Type.Union([Type.Object({ type: Type.Literal('text'), text: Type.String() }), unknownKind(['text'])])),
    }),
    'dots',
  );
  const faultOf = (part: unknown): string => {
    try {
      read({ parts: [part] });
      return 'accepted';
    } catch (error) {
      return error instanceof AppError ? error.message : String(error);
    }
  };

  it('is accepted, and a malformed one of a known kind is not mistaken for it', () => {
    expect(faultOf({ type: 'hologram', any: [1] })).toBe('accepted');
    expect(faultOf({ type: 'text', text: 'a' })).toBe('accepted');
    expect(faultOf({ type: 'text' })).toBe('parts.0.text: Field required');
    expect(faultOf({ type: 7 })).toBe('parts.0.type: must be a string');
    expect(faultOf({})).toBe('parts.0.type: Field required');
  });
});

describe('the rest of a body', () => {
  it('is the body without our fields, in its order, including nulls', () => {
    const body: unknown = JSON.parse('{"b":1,"model":"m","__proto__":{"x":1},"a":null,"c":[{"d":2}]}');
    expect(fieldsWithout(body as object, ['model', 'stream'])).toBe('{"b":1,"__proto__":{"x":1},"a":null,"c":[{"d":2}]}');
    expect(fieldsWithout({ model: 'm' }, ['model'])).toBe('{}');
  });

  it('is copied from the text that was parsed, where it was not changed', () => {
    const body = { model: 'm', messages: [{ content: 'a' }], tools: [{ a: null }] };
    const fields = new Map([
      ['model', '"m"'],
      ['messages', ' [{"content": "\\u0061"}]'],
      ['tools', '[{"a":null}]'],
    ]);
    const text = { fields, lists: new Map([['messages', ['{"content": "\\u0061"}']]]) };
    const changed = { ...body, tools: [{}], extra: 1 };
    expect(fieldsWithout(changed, ['model'], { body, text })).toBe('{"messages": [{"content": "\\u0061"}],"tools":[{}],"extra":1}');
    const more = { ...body, messages: [{ content: 'b' }, ...body.messages] };
    expect(fieldsWithout(more, ['model', 'tools'], { body, text })).toBe('{"messages":[{"content":"b"},{"content": "\\u0061"}]}');
  });
});
