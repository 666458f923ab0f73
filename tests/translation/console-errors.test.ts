// What the console tells refusals by in Chinese, held against the reasons and the sentences of the API that refuses.
import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '#client/errors/app-error.js';
import { type Reason, reasons } from '#rules/reasons.js';
import { inChinese, inChineseAtField, ofCode, ofField, sentences } from '../../console/src/i18n/errors.js';
import { assertAllowed } from '../../gateway/console/access.js';
import { renderConsoleError } from '../../gateway/console/errors.js';
import { balanceEmpty } from '../../services/ledger/books/refusals.js';
import { Role } from '#proto/auth/v1/users.js';

/** What a browser is told. */
function refusalOf(error: AppError): { code: string; field: string | null; message: string } {
  const { error: refusal } = renderConsoleError(error, 'req_1').body as { error: { code: string; field: string | null; message: string } };
  return refusal;
}

const codes = [...new Set((Object.keys(reasons) as Reason[]).map((reason) => refusalOf(new AppError(reason, '')).code))];
// What the console says of answers that it could not read.
const ownCodes = ['unreachable', 'unexpected_answer'];

function thrownBy(act: () => unknown): AppError {
  try {
    act();
  } catch (error) {
    return error as AppError;
  }
  throw new Error('nothing was thrown');
}

describe('refusals in Chinese', () => {
  it('has a sentence for every code that the API can answer with, and for no other', () => {
    expect(Object.keys(ofCode).toSorted()).toEqual([...codes, ...ownCodes].toSorted());
    for (const text of [...Object.values(ofCode), ...Object.values(ofField)]) expect(text).toMatch(/^\p{Script=Han}.*。$/u);
    for (const key of Object.keys(ofField)) expect(codes).toContain(key.split(' ')[0]);
  });

  it('knows only sentences that are still told', () => {
    const root = join(import.meta.dirname, '../..');
    const files = ['services', 'gateway'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
    );
    const told = files
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => readFileSync(name, 'utf8'))
      .join('\n');
    // A schema library has its own.
    const ofLibrary = /^must (not have (fewer|more) than|be (>=|<=|integer|number))/;
    const pieces = sentences
      .flatMap(([english]) => (ofLibrary.test(english) ? [] : english.split('{}').flatMap((piece) => piece.split(/(?<=[.:,]) | and /))))
      .map((piece) => piece.replace(/[.:,]? *$/, '').trim())
      .filter((piece) => piece.length > 3);
    expect(pieces.length).toBeGreaterThan(80);
    expect(pieces.filter((piece) => !told.includes(piece))).toEqual([]);
  });

  it('keeps the facts of a sentence', () => {
    const poor = balanceEmpty(
      { creditedNanoUsd: 10_000_000n, spentNanoUsd: 0n, heldNanoUsd: 0n } as Parameters<typeof balanceEmpty>[0],
      25_000_000n,
    );
    expect(inChinese(refusalOf(poor))).toEqual({ text: '账户余额不足：需要 $0.025，可用 $0.01。请为账户充值。', detail: undefined });
    const membership = { account: { id: 'acct_1' }, role: Role.ROLE_VIEWER } as Parameters<typeof assertAllowed>[0][number];
    const forbidden = refusalOf(thrownBy(() => assertAllowed([membership], false, 'acct_1', 'change keys')));
    expect(inChinese(forbidden)).toEqual({ text: '您在此账户的角色是查看者，不能更改密钥。请联系所有者或管理员。', detail: undefined });
  });

  it('shows a sentence that it does not know below its own, so that no fact is lost', () => {
    const message = 'The catalog is being painted until 5 o’clock.';
    expect(inChinese({ code: 'failed_precondition', field: null, message })).toEqual({
      text: ofCode['failed_precondition'],
      detail: message,
    });
    expect(inChinese({ code: 'of_tomorrow', field: null, message })).toEqual({ text: message, detail: undefined });
  });

  it('tells a rule at its field without the name, and elsewhere with it', () => {
    const refusal = { code: 'invalid_request', field: 'name', message: 'name must have 1 to 200 characters, not only spaces.' };
    expect(inChineseAtField(refusal)).toBe('须为 1 至 200 个字符，且不能只有空格。');
    expect(inChinese(refusal)).toEqual({ text: 'name：须为 1 至 200 个字符，且不能只有空格。', detail: undefined });
    expect(inChineseAtField({ ...refusal, field: 'limit_usd', message: 'limit_usd: must be at most 9,000,000,000' })).toBe(
      '不能大于 9,000,000,000。',
    );
    expect(
      inChineseAtField({ code: 'already_exists', field: 'email', message: 'Somebody with this e-mail address is known already.' }),
    ).toBe('已有人使用此邮箱地址。');
    expect(inChineseAtField({ ...refusal, message: 'name: must be blue' })).toBe(`${ofCode['invalid_request']}must be blue`);
  });

  it('takes the longest sentence that fits', () => {
    expect(
      inChineseAtField({
        code: 'invalid_request',
        field: 'key',
        message: 'key must have at most 200 characters and no control characters.',
      }),
    ).toBe('最多 200 个字符，且不能含控制字符。');
  });
});
