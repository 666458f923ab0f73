// Compares the console's texts for errors with the errors that the API can send.
import { describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { AppError } from '#client/errors/app-error.js';
import { fault, fieldFault } from '#client/errors/fault.js';
import { Role } from '#proto/auth/v1/users.js';
import { fieldRules, sentences } from '#rules/errors/error-sentences.js';
import { type Finding, finding, findings } from '#rules/errors/finding-sentences.js';
import { type Reason, reasons } from '#rules/errors/reasons.js';
import { type ApiFault, chineseFieldRules, chineseSentences, wordsAtField, wordsOf } from '../../console/src/i18n/errors.js';
import { chineseFindings, findingText } from '../../console/src/i18n/findings.js';
import { assertAllowed } from '../../gateway/console/session/access.js';
import { renderConsoleError } from '../../gateway/console/table/error.js';
import { bodyReader } from '../../gateway/formats/requests/body-reader.js';
import { balanceEmpty } from '../../services/ledger/books/refusals.js';

/** What a browser receives. */
function sent(error: AppError): ApiFault {
  return (renderConsoleError(error, 'req_1').body as { error: ApiFault }).error;
}

function thrownBy(act: () => unknown): AppError {
  try {
    act();
  } catch (error) {
    return error as AppError;
  }
  throw new Error('nothing was thrown');
}

const english: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(sentences));
const rules = [
  ...Object.entries(fieldRules).map(([rule, template]) => ({
    rule,
    template,
    chinese: (chineseFieldRules as Record<string, string>)[rule],
  })),
  ...Object.entries(english).map(([rule, template]) => ({ rule, template, chinese: (chineseSentences as Record<string, string>)[rule] })),
];
const namesIn = (template: string): string[] => [...template.matchAll(/\{(\w+)(?::\w+)?\}/g)].map((match) => match[1]!).toSorted();

describe('the texts for errors', () => {
  it('exist in both languages for every code', () => {
    for (const code of Object.keys(reasons) as Reason[]) {
      expect(english[code]).toMatch(/^[A-Z].*\.$/);
      expect((chineseSentences as Record<string, string>)[code]).toMatch(/^\p{Script=Han}.*。$/u);
      expect(namesIn(english[code]!)).toEqual([]);
    }
  });

  it.each(rules)('exist in both languages, with the same parameters, for the rule $rule', ({ template, chinese }) => {
    expect(chinese).toMatch(/\p{Script=Han}/u);
    // Chinese may omit a parameter that only English grammar needs, but has none that is never sent.
    expect(namesIn(template)).toEqual(expect.arrayContaining(namesIn(chinese!)));
  });

  it('have one meaning per rule', () => {
    const names = [...Object.keys(fieldRules), ...Object.values(sentences).flatMap((each) => Object.keys(each))];
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(rules)('depend only on the rule $rule and its parameters, not on the API’s own sentence', ({ rule, template }) => {
    const params = Object.fromEntries(namesIn(template).map((name) => [name, name.endsWith('_nano_usd') ? '1500000000' : '7']));
    for (const language of ['en', 'zh-CN'] as const) {
      const say = (message: string) => wordsOf({ code: 'internal', rule, params, field: null, message }, language);
      expect(say('must have at most 9 characters')).toEqual(say(''));
      expect(say('')).toEqual({ text: expect.not.stringMatching(/[{}]/), detail: undefined });
    }
  });

  it('contain the parameters of an error in both languages', () => {
    const bucket = { creditedNanoUsd: 10_000_000n, spentNanoUsd: 0n, heldNanoUsd: 0n } as Parameters<typeof balanceEmpty>[0];
    const poor = sent(balanceEmpty(bucket, 25_000_000n));
    expect(wordsOf(poor, 'zh-CN').text).toBe('账户余额不足：需要 $0.025，可用 $0.01。请为账户充值。');
    expect(wordsOf(poor, 'en').text).toBe(
      'The account balance is too low: $0.025 is needed, but only $0.01 is available. Add funds to the account.',
    );
    const membership = { account: { id: 'acct_1' }, role: Role.ROLE_VIEWER } as Parameters<typeof assertAllowed>[0][number];
    const forbidden = sent(thrownBy(() => assertAllowed([membership], false, 'acct_1', 'change keys')));
    expect(wordsOf(forbidden, 'zh-CN').text).toBe('您在此账户的角色是查看者，不能更改密钥。请联系所有者或管理员。');
  });

  it('name the field if the error is shown for the whole request, but not at the field itself', () => {
    const tooLong = sent(fieldFault('name', 'name', { max: 200 }));
    expect(wordsAtField(tooLong, 'zh-CN')).toBe('须为 1 至 200 个字符，且不能只有空格。');
    expect(wordsOf(tooLong, 'zh-CN').text).toBe('name：须为 1 至 200 个字符，且不能只有空格。');
    expect(wordsAtField(tooLong, 'en')).toBe('Must have 1 to 200 characters, not only spaces.');
    expect(wordsOf(tooLong, 'en').text).toBe('name must have 1 to 200 characters, not only spaces.');
    expect(wordsAtField(sent(fault('email_taken', {}, { details: { field: 'email' } })), 'zh-CN')).toBe('已有人使用此邮箱地址。');
  });

  it('exist for every rule of a schema', () => {
    const read = bodyReader(
      Type.Object({
        name: Type.String({ minLength: 2, maxLength: 3 }),
        count: Type.Optional(Type.Integer({ minimum: 1, maximum: 5 })),
        state: Type.Optional(Type.Enum(['on', 'off'])),
      }),
      'dots',
      { withRules: true },
    );
    const say = (body: unknown): string => wordsAtField(sent(thrownBy(() => read(body))), 'zh-CN');
    expect(say({})).toBe('此项必填。');
    expect(say({ name: 'x' })).toBe('至少 2 个字符。');
    expect(say({ name: 'xxxx' })).toBe('最多 3 个字符。');
    expect(say({ name: 'xx', count: 9 })).toBe('不能大于 5。');
    expect(say({ name: 'xx', count: 0 })).toBe('不能小于 1。');
    expect(say({ name: 'xx', count: '1' })).toBe('类型须为 integer。');
    expect(say({ name: 'xx', state: 'up' })).toBe('须为 on, off 之一。');
  });

  it('say that a field must not be empty, and otherwise count in the singular or the plural', () => {
    const schema = Type.Object({
      url: Type.String({ minLength: 1, maxLength: 1 }),
      events: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 2 })),
    });
    const read = bodyReader(schema, 'dots', { withRules: true });
    const say = (body: unknown, language: 'en' | 'zh-CN' = 'en'): string => wordsAtField(sent(thrownBy(() => read(body))), language);
    expect(say({ url: '' })).toBe('Must not be empty.');
    expect(say({ url: '' }, 'zh-CN')).toBe('不能为空。');
    expect(say({ url: 'x', events: [] })).toBe('Must not be empty.');
    expect(say({ url: 'xx' })).toBe('Must have at most 1 character.');
    expect(say({ url: 'x', events: ['a', 'b', 'c'] })).toBe('Must have at most 2 entries.');
  });

  it('show an error of a newer gateway by its code, with the API’s own sentence', () => {
    const newer = { code: 'failed_precondition', rule: 'of_tomorrow', params: {}, field: null, message: 'The catalog is being painted.' };
    expect(wordsOf(newer, 'zh-CN')).toEqual({ text: chineseSentences.failed_precondition, detail: newer.message });
    expect(wordsOf(newer, 'en')).toEqual({ text: newer.message, detail: undefined });
    expect(wordsOf({ ...newer, code: 'of_tomorrow' }, 'zh-CN')).toEqual({ text: newer.message, detail: undefined });
  });
});

describe('the texts for findings', () => {
  it.each(Object.entries(findings) as [Finding, string][])('are recognised and translated for %s', (rule, template) => {
    const params = Object.fromEntries(namesIn(template).map((name, index) => [name, String(index + 2)]));
    const text = (finding as (rule: Finding, params: Record<string, string>) => string)(rule, params);
    expect(findingText(text, 'en')).toBe(text);
    expect(namesIn(chineseFindings[rule])).toEqual(namesIn(template));
    const shown = chineseFindings[rule].replace(/\{(\w+)\}/g, (_whole, name: string) => params[name]!);
    expect(shown).toMatch(/\p{Script=Han}/u);
    expect(findingText(text, 'zh-CN')).toBe(shown);
  });

  it('are translated within other findings; texts of third parties are not changed', () => {
    const two = ['a', 'b'].map((name) => finding('credential', { name, finding: finding('secret_refused', { detail: 'status 401' }) }));
    expect(findingText(two.join('; '), 'zh-CN')).toBe('凭据 a：密钥被拒绝：status 401；凭据 b：密钥被拒绝：status 401');
    const usage = finding('usage_reported', { input: 9, output: 2 });
    expect(findingText(finding('vector', { count: 3, usage, input: 12 }), 'zh-CN')).toBe(
      '返回 3 维向量；上游报告输入 9、输出 2；最多 12 个输入 token，费用由您承担',
    );
    expect(findingText('250 2.0.0 Ok: queued as 4F2', 'zh-CN')).toBe('250 2.0.0 Ok: queued as 4F2');
  });
});
