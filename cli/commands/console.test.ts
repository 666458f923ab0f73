import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Account } from '#proto/auth/v1/auth.js';
import { User } from '#proto/auth/v1/users.js';
import { type FakeGateway, startFakeGateway } from '../testing/fake-gateway.js';
import { tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

const operator = (email: string, isDisabled = false): User =>
  User.fromPartial({ id: `user_${email}`, email, isOperator: true, isDisabled });

describe('a sign-in link', () => {
  it('is created for the only operator who is not disabled', async () => {
    gateway.state.users.push(
      operator('former@example.com', true),
      operator('ada@example.com'),
      User.fromPartial({ email: 'bob@example.com' }),
    );
    expect(await tollgateJson(gateway, ['console', 'link'])).toMatchObject([{ email: 'ada@example.com', token: 'link-token' }]);
  });

  it('says which operator is disabled, and how to enable one', async () => {
    expect((await tollgate(gateway, ['console', 'link'])).stderr).toContain('There is no operator yet.');
    gateway.state.users.push(operator('ada@example.com', true));
    expect(await tollgate(gateway, ['console', 'link'])).toMatchObject({
      code: 1,
      stderr: 'error: The only operator, ada@example.com, is disabled.\nEnable one: tollgate user enable ada@example.com\n',
    });
    gateway.state.users.push(operator('bob@example.com', true));
    expect((await tollgate(gateway, ['console', 'link'])).stderr).toContain('All operators are disabled.');
  });

  it.each(['console', 'user'])('fails with the email address if no user has it: %s link', async (noun) => {
    expect((await tollgate(gateway, [noun, 'link', 'nobody@example.com'])).stderr).toBe(
      'error: There is no user with the email address nobody@example.com.\nAdd them: tollgate user add nobody@example.com\n',
    );
  });

  it.each([
    ['member', 'put', 'eve@example.com', '--account', 'acct_1', '--role', 'admin'],
    ['user', 'promote', 'eve@example.com'],
  ])('grant no rights to a user with an unverified address unless told to: %s %s', async (...args) => {
    gateway.state.accounts.push(Account.fromPartial({ id: 'acct_1' }));
    gateway.state.users.push(User.fromPartial({ id: 'user_eve', email: 'eve@example.com' }));
    expect(await tollgate(gateway, args)).toMatchObject({ code: 1, stderr: expect.stringContaining('then add --unverified.') });
    // The fake has neither RPC, so the command got past the check.
    expect((await tollgate(gateway, [...args, '--unverified'])).stderr).not.toContain('--unverified');
  });
});
